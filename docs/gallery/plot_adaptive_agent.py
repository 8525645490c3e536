"""
An agent that learns during the session
=======================================

After one run of uniform guesses this agent learns between runs, and guesses what it has learned in
four trials of five. One guess in five stays uniform, so that match and mismatch can still be told
apart.
"""

import matplotlib.pyplot as plt

import bciigl

uniform = bciigl.simulate("number_guessing", noise=0.5, trials=322)
adaptive = bciigl.simulate("number_guessing", noise=0.5, trials=322, agent="epsilon-greedy")

# %%
# How often guesses matched, run by run. In a scanner nobody knows this; here the truth is kept
# beside the recording.

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for session, name, color in (
    (adaptive, "learns between runs", "#d55e00"),
    (uniform, "guesses uniformly", "#777777"),
):
    trials = session.to_dataframe().query("session == 'train'")
    matches = 100 * trials.groupby("run").match.mean()
    ax.plot(matches.index, matches, "o-", color=color)
    ax.text(matches.index[-1] + 0.15, matches.iloc[-1], name, color=color, va="center")
ax.axhline(100 / 3, color="black", linestyle=":")
ax.set(
    xlabel="run (46 trials, 21 minutes)",
    ylabel="guesses that matched (%)",
    ylim=(0, 100),
    xlim=(0.7, 9.2),
)
ax.set_xticks(matches.index)
ax.set_title("From the second run on, most guesses match, and nobody told the agent so")
ax.spines[["top", "right"]].set_visible(False)
