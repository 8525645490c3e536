"""How well match and mismatch are told apart, action by action."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bciigl.recording.truth import Session
from bciigl.report.drawing import Drawing
from bciigl.report.style import BLUE, GREY, ORANGE, SMALL, in_figure, new_figure, plain
from bciigl.study.session_results import LearnerResult

BINS = 20
MOST_OPTIONS = 12
ACROSS = 3
STYLES = {
    "mismatch": {"facecolor": "#b9d7ea", "edgecolor": BLUE},
    "match": {"facecolor": "#f6cdb0", "edgecolor": ORANGE, "hatch": "////"},
    "trials": {"facecolor": "#ced4da", "edgecolor": GREY},
}


def rewards_drawing(
    session: Session, result: LearnerResult, decoded: np.ndarray, options: Sequence[object]
) -> Drawing:
    """Return histograms of the reward that a learner decodes from feedback.

    Parameters
    ----------
    session : Session
        What it learned from; where rewards are known, match and mismatch are shown apart.
    result : LearnerResult
    decoded : array, (trials,)
        The reward that the learner decoded from each trial's feedback.
    options : sequence
        What the actions are called.
    """
    trials, truth = session
    rewards = None if truth is None else truth.match
    shown = list(enumerate(options))[:MOST_OPTIONS]
    rows = math.ceil(len(shown) / ACROSS)
    across = min(len(shown), ACROSS)
    figure = new_figure(0.6 + 1.9 * rows)
    axes = figure.subplots(rows, across, sharex=True, sharey="row", squeeze=False)
    columns: dict[str, list] = {"option": [], "from": [], "to": []}
    for axis, (action, option) in zip(axes.flat, shown, strict=False):
        rows_of = trials.action == action
        reward = None if rewards is None else rewards[rows_of]
        counts = histogram(decoded[rows_of], reward)
        _bars(axis, counts)
        axis.set_title(_title(option, action, result), fontsize=SMALL)
        plain(axis)
        edges = np.linspace(0, 1, BINS + 1)
        columns["option"] += [str(option)] * BINS
        columns["from"] += edges[:-1].tolist()
        columns["to"] += edges[1:].tolist()
        for name, values in counts.items():
            columns.setdefault(name, []).extend(values.tolist())
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    figure.supxlabel("decoded probability of a match", fontsize=SMALL + 0.5)
    figure.supylabel("trials", fontsize=SMALL + 0.5)
    if rewards is not None:
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=SMALL,
                      frameon=False)  # fmt: skip
    return Drawing(
        f"decoded_rewards_{result.learner_id}",
        figure,
        _caption(rewards is not None, result, len(options)),
        f"Histograms of the reward that {result.learner_id} decodes, one for each option guessed.",
        columns,
    )


def histogram(decoded: np.ndarray, reward: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return how many trials fall into each bin from 0 to 1; apart by reward, if it is known."""
    groups = {"trials": decoded}
    if reward is not None:
        matched = reward.astype(bool)
        groups = {"mismatch": decoded[~matched], "match": decoded[matched]}
    return {
        name: np.histogram(values, BINS, range=(0.0, 1.0))[0] for name, values in groups.items()
    }


def _bars(axis: Axes, counts: dict[str, np.ndarray]) -> None:
    bottom, width = np.zeros(BINS), 1 / BINS
    for name, values in counts.items():
        left = np.arange(BINS) * width
        axis.bar(left, values, width, bottom, align="edge", lw=0.6, label=name, **STYLES[name])
        bottom = bottom + values
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axis.yaxis.get_major_locator().set_params(integer=True)


def _title(option: object, action: int, result: LearnerResult) -> str:
    title = f"guess {in_figure(option)}"
    if result.match_rates is not None:
        title += f"\nmatch rate {result.match_rates[action]:.2f}"
    return title


def _caption(rewarded: bool, result: LearnerResult, options: int) -> str:
    some = f" Only the first {MOST_OPTIONS} of {options} options." if options > MOST_OPTIONS else ""
    known = (
        "Which trials were matches is not known."
        if not rewarded
        else "Bars are stacked: mismatches plain, matches hatched, by the truth that the learner "
        "did not have."
    )
    return (
        f"How probably each guess was a match, as {result.learner_id} decodes it from the feedback "
        f"of the trials it learned from. {known} The match rates above are decoded from feedback "
        f"and contexts together.{some}"
    )
