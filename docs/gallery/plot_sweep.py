"""
Accuracy against noise
======================

A sweep simulates an experiment over noise levels, repeats, and any fields of the protocol. Every
repeat is another person, the same one at each level.
"""

import bciigl

study = bciigl.sweep(
    "number_guessing",
    noise=[0.1, 0.5, 1.0],
    repeats=4,
    trials=138,
    learners=["ai_igl", "transfer", "ceiling"],
    jobs=1,
)
study

# %%
study.plot()

# %%
# The same as a table, for figures of your own:

study.to_dataframe()[["noise", "learner", "accuracy", "low", "high", "trusted"]]
