"""
Reading the judgment
====================

The person's judgment, match or mismatch, is decoded from the brain's response to each guess. The
learner was never told which guesses matched.
"""

import bciigl

session = bciigl.simulate("number_guessing", noise=1.0, trials=138)
session.learn()
session.plot_rewards()

# %%
# The same as numbers: how often the decoded judgment is right, which only a simulation can tell.

trials = session.to_dataframe().query("session == 'train'")
right = (trials.decoded > 0.5) == trials.match
print(f"{right.mean():.0%} of the judgments were read correctly")
