"""
Imagining resembles seeing
==========================

Every option has a pattern over the region's voxels when it is imagined, and a similar one when it
is seen. How similar is a field of the protocol. A learner that reads no judgment at all, perception
transfer, lives on that alone.
"""

import bciigl

session = bciigl.simulate("number_guessing", trials=138, noise=1.0)
session.plot_patterns()

# %%
# Without the resemblance perception transfer is at chance, while AI-IGL, which reads the judgment,
# is not.

alike = bciigl.learn(session)
different = bciigl.simulate(
    "number_guessing", trials=138, noise=1.0, changes={"brain.similarity": 0}
)
unlike = bciigl.learn(different)
for found in (alike, unlike):
    for learner in ("ai_igl", "transfer"):
        row = found.to_dataframe().loc[learner]
        print(f"{row.learner}: {row.accuracy:.0f} %")
    print()
