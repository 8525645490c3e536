"""
How many scanner hours
======================

A plan simulates people until a share of them reaches a target. This one is small, with 4 people, to
take seconds; plan real experiments with the default of 100.
"""

import bciigl

plan = bciigl.plan("number_guessing", target=80, power=0.75, people=4, noise=1.0, hours=0.5, jobs=1)
print(plan.sentence)

# %%
plan.plot()
