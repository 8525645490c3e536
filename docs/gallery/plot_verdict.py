"""
When to trust a policy
======================

In a scanner nobody knows the truth. So the learner judges itself, without labels: trust, doubtful,
or do not use. Here are three sessions: one that works, one that is too short, and one of a person
who judges at random.
"""

import matplotlib.pyplot as plt

import bciigl

at_random = {"human.judgment_lapse": 0.49, "brain.similarity": 0}
sessions = {
    "one scanner hour": bciigl.simulate(noise=1.0, trials=138),
    "ten minutes": bciigl.simulate(noise=1.0, trials=23),
    "judgments\nat random": bciigl.simulate(noise=1.0, trials=138, changes=at_random),
}
found = {name: session.learn() for name, session in sessions.items()}

# %%
# The verdict of the first, in words:

print(found["one scanner hour"].diagnosis)

# %%
# And of the last:

print(found["judgments\nat random"].diagnosis)

# %%
# The bars are the truth, which the verdicts above them did not know.

colors = {"trust": "#0072b2", "doubtful": "#e69f00", "do not use": "#999999"}
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for place, results in enumerate(found.values()):
    ax.bar(place, results.accuracy, width=0.6, color=colors[results.verdict])
    ax.text(place, max(results.accuracy, 100 / 3) + 4, results.verdict, ha="center")
ax.axhline(100 / 3, color="black", linestyle=":", zorder=0)
ax.text(2.35, 100 / 3 + 2, "chance")
ax.set_xticks(range(len(found)), found)
ax.set_ylim(0, 108)
ax.set_ylabel("test trials decoded right (%)")
ax.set_title("Only the policy that works is trusted, and no label was needed for that")
ax.spines[["top", "right"]].set_visible(False)
