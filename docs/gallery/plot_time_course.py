"""
What the scanner sees
=====================

At a tenth of a real brain's noise, the response to each event can be seen in the region's signal.
At the noise of a real brain it cannot, and yet the same learner reads it.
"""

import bciigl

quiet = bciigl.simulate("number_guessing", noise=0.1, trials=138)
quiet.plot_time_course()

# %%
# The same person at the noise of a real brain:

real = bciigl.simulate("number_guessing", noise=1.0, trials=138)
real.plot_time_course()

# %%
# What AI-IGL decodes from each:

for session in (quiet, real):
    accuracy = session.learn().accuracy
    print(f"noise {session.protocol.brain.noise:g}: {accuracy:.0f} % of the test trials are right")
