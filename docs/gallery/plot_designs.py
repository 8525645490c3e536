"""
Which design needs fewer scanner hours
======================================

How much an estimated response varies follows from the times of events alone, so that designs can be
compared before anything is simulated.
"""

import matplotlib.pyplot as plt

import bciigl
from bciigl.estimate.efficiency import efficiency

designs = {
    "7 s pauses (default)": {},
    "3 s pauses": {"timing.isi": 3.0},
    "9 s pauses": {"timing.isi": 9.0},
    "up to 2 s of jitter": {"timing.jitter": 2.0},
    "shorter after the guess": {"timing.perception.pause": 3.0, "timing.judgment.pause": 3.0},
    "judged while seen": {"timing.together": True},
}
per_hour = {
    name: efficiency(bciigl.load("number_guessing", changes=changes))
    for name, changes in designs.items()
}

# %%
# The agent's guess rests on imagination, which must be read before the guess is shown. So its pause
# is needed, and those after the guess can be shorter.

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
names = sorted(designs, key=lambda name: per_hour[name]["imagination"].per_hour, reverse=True)
for kind, marker, color in (("imagination", "o", "#0072b2"), ("judgment", "s", "#d55e00")):
    ax.plot(
        [per_hour[name][kind].per_hour for name in names], names, marker, color=color, label=kind
    )
ax.set_xscale("log")
ticks = [0.003, 0.005, 0.01, 0.02, 0.03]
ax.set_xticks(ticks, ticks, minor=False)
ax.set_xticks([], minor=True)
ax.set_xlabel("variance of the mean of one scanner hour (less is better)")
ax.set_title("Shorter pauses after the guess make an hour worth more")
ax.grid(axis="y", alpha=0.3)
ax.legend(title="estimate of", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
