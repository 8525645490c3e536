"""
A first session
===============

Simulate one scanner hour at the noise of a real brain, and learn from it without labels and
rewards.
"""

import bciigl

# One hour is 138 trials. Nobody ever tells the learner which number was imagined.
session = bciigl.simulate("number_guessing", noise=1.0, trials=138)
session

# %%
# `RecordedSession.learn` lets all learners of the protocol learn from it. The first needs no labels
# and no rewards; it also says itself how far it can be trusted. The others are told more, and are
# there to compare with.

session.learn()

# %%
# How accurate the policy would have been if the session had ended earlier:

session.plot()

# %%
# Everything is in tables as well. The columns `meant`, `imagined`, `match` and `judged` are the
# truth, which only scorers see; `decoded` is the probability of a match that was read from the
# brain's response.

session.to_dataframe().query("session == 'train'").head()
