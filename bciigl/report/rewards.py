"""How well match and mismatch are told apart, action by action."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bciigl.recording.truth import Session
from bciigl.report import style
from bciigl.report.drawing import Drawing
from bciigl.report.results import trusted
from bciigl.study.session_results import LearnerResult

BINS = 20
EDGES = np.linspace(0, 1, BINS + 1)
STYLES = {
    "mismatch": {"facecolor": "#b9d7ea", "edgecolor": style.BLUE},
    "match": {"facecolor": "#f6cdb0", "edgecolor": style.ORANGE, "hatch": "////"},
    "trials": {"facecolor": "#ced4da", "edgecolor": style.GREY},
}


def rewards_drawing(
    session: Session, result: LearnerResult, decoded: np.ndarray, options: Sequence[object]
) -> Drawing:
    """Return histograms of the reward that a learner decoded, by match where that is known."""
    trials, truth = session
    rates = result.match_rates if trusted(result) else None
    shown = options[: style.MOST_OPTIONS]
    figure, axes = style.panels(len(shown), 3, 1.9, margin=0.6, sharex=True, sharey="row")
    columns: dict[str, list] = {"option": [], "from": [], "to": []}
    for action, (axis, option) in enumerate(zip(axes.flat, shown, strict=False)):
        mine = trials.action == action
        counts = histogram(decoded[mine], None if truth is None else truth.match[mine])
        _bars(axis, counts)
        title = f"guess {style.in_figure(option)}"
        if rates is not None:
            title += f"\nmatch rate {rates[action]:.2f}"
        axis.set_title(title, fontsize=style.SMALL)
        style.plain(axis)
        columns["option"] += [str(option)] * BINS
        columns["from"] += EDGES[:-1].tolist()
        columns["to"] += EDGES[1:].tolist()
        for name, values in counts.items():
            columns.setdefault(name, []).extend(values.tolist())
    figure.supxlabel("decoded probability of a match", fontsize=style.SMALL + 0.5)
    figure.supylabel("trials", fontsize=style.SMALL + 0.5)
    known = "Which trials were matches is not known."
    if truth is not None:
        style.legend_below(figure, loc="outside upper center")
        known = (
            "Bars are stacked: mismatches plain, matches hatched, by the truth that the learner "
            "did not have."
        )
    if rates is not None:
        known += " Match rates are decoded from feedback and contexts together."
    return Drawing(
        f"decoded_rewards_{result.learner_id}",
        figure,
        f"How probably each guess was a match, as {result.learner_id} decodes it from the feedback "
        f"of the trials it learned from. {known}{style.first_options(options)}",
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
