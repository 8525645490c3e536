"""
Where the signal comes from
===========================

The default region is a cube of 64 voxels in the left parietal cortex. A protocol may name another
place: in mm of MNI space, in voxels, as a mask, or as a label of an atlas.
"""

import bciigl

session = bciigl.simulate("number_guessing", trials=46)
session.plot_region()

# %%
# A sphere of 8 mm on the other side. `bciigl.check` says what a protocol will measure before
# anything is simulated.

sphere = {"brain.region": {"shape": "sphere", "mni": [38, -47, 45], "radius": 8}}
other = bciigl.simulate("number_guessing", trials=46, changes=sphere)
other.plot_region()
