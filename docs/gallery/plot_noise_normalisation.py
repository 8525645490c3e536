"""
Why the noise between voxels matters
====================================

Neighbouring voxels share noise. Frames tell how, long before trials could: normalising by it is
what makes one scanner hour enough.
"""

import matplotlib.pyplot as plt

import bciigl

trials = (46, 92, 138)
accuracy = {}
for normalise, name in ((True, "normalised by the frames' noise"), (False, "as measured")):
    accuracy[name] = []
    for number in trials:
        session = bciigl.simulate(
            "number_guessing", noise=1.0, trials=number, changes={"estimate.normalise": normalise}
        )
        accuracy[name].append(bciigl.learn(session, ["ai_igl"]).accuracy)

# %%
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for (name, values), color in zip(accuracy.items(), ("#d55e00", "#777777"), strict=True):
    ax.plot(trials, values, "o-", color=color)
    ax.text(trials[-1] + 2, values[-1], name, color=color, va="center")
ax.axhline(100 / 3, color="black", linestyle=":")
ax.text(trials[-1] + 2, 100 / 3 + 2, "chance", va="bottom")
ax.set(xlabel="trials", xticks=trials, xlim=(42, 195))
ax.set(ylabel="AI-IGL: test trials right (%)", ylim=(0, 105))
ax.set_title("Noise normalisation makes few trials enough (one simulated person)")
ax.spines[["top", "right"]].set_visible(False)
