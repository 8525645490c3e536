"""How well match and mismatch are told apart, option by option."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bciigl.base.errors import BciiglError
from bciigl.base.registry import LEARNERS
from bciigl.report import style
from bciigl.report.direct import darker, say
from bciigl.report.drawing import Drawing
from bciigl.report.results import trusted
from bciigl.report.views import SessionView

HEIGHT = 3.3
BINS = 27
CLEAR = 60.0
"""Percent right, of matches and mismatches alike, below which it is as good as guessing."""
LOOKS = {
    "match": {"facecolor": "#f6b48a", "edgecolor": style.ORANGE},
    "mismatch": {"facecolor": "#d7e6f2", "edgecolor": style.BLUE, "hatch": "/////"},
    "trials": {"facecolor": "#ced4da", "edgecolor": style.GREY},
}


def rewards_drawing(view: SessionView) -> Drawing:
    """Return the figure as a drawing."""
    options = _shown(view)
    figure = style.new_figure(1.3 + 0.72 * len(options))
    draw_rewards(figure.subplots(), view)
    trials, truth = view.sessions["train"]
    name, odds = _main(view).short_name, view.log_odds(_main(view).id)
    known = truth is not None and truth.match is not None
    kinds = (
        "Upwards: guesses that were a match; downwards, hatched, on a scale of their own: those "
        "that were not, by the truth that the learner did not have. At the right: how many percent "
        "of each it decodes rightly."
        if known
        else "Which of them were matches is not known."
    )
    return Drawing(
        "decoded_rewards",
        figure,
        f"What {name} decodes from the brain's answer to each guess that it learned from, one row "
        f"for each option guessed: log-odds of a match, of which 0 is even and 4.6 is 99 %. {kinds}"
        f"{style.first_options(view.dataset.protocol.task.options)}",
        f"{finding(view)}.",
        {
            "option": [str(view.dataset.protocol.task.options[each]) for each in trials.action],
            "log_odds": odds.tolist(),
            "probability": view.decoded[_main(view).id].tolist(),
            "match": np.asarray(truth.match, float).tolist() if known else [None] * trials.trials,
        },
    )


def draw_rewards(ax: Axes, view: SessionView) -> Axes:
    """Draw how the decoded log-odds of a match are distributed, one row for each option guessed.

    Matches are drawn upwards and mismatches downwards, where it is known which is which.
    """
    spec, options = _main(view), _shown(view)
    odds = view.log_odds(spec.id)
    trials, truth = view.sessions["train"]
    match = None if truth is None or truth.match is None else np.asarray(truth.match) >= 0.5
    # The outermost are drawn at the edge, so that the others can be seen.
    reach = max(np.quantile(np.abs(odds), 0.98), 1.0)
    edges = np.linspace(-reach, reach, BINS + 1)
    groups = {
        (row, name): np.histogram(odds[of].clip(-reach, reach), edges)[0]
        for row in range(len(options))
        for name, of in _kinds(trials.action == row, match).items()
    }
    # Of many options few guesses match: each kind has a scale of its own.
    highest: dict[str, int] = {}
    for (_, name), counts in groups.items():
        highest[name] = max(highest.get(name, 1), *counts)
    for (row, name), counts in groups.items():
        up = -1 if name == "mismatch" else 1
        heights = -row + up * 0.44 * counts / highest[name]
        ax.stairs(heights, edges, baseline=-row, fill=True, lw=0.8, **LOOKS[name])
        if match is not None:
            share = percent_right(odds, match, trials.action == row)[name]
            color = darker(LOOKS[name]["edgecolor"])
            where = {"xytext": (6, up * 7), "textcoords": "offset points", "va": "center"}
            words = f"{name}: " + ("none" if share is None else f"{share:.0f} % right")
            place = {"xycoords": ("axes fraction", "data"), "fontsize": style.SMALL}
            ax.annotate(words, (1, -row), color=color, **where, **place)
    for row in range(len(options)):
        ax.axhline(-row, color=style.GREY, lw=0.5, zorder=0.5)
    ax.axvline(0, color="black", lw=1, ls=(0, (4, 2)))
    ax.set(xlim=(-reach, reach), ylim=(0.5 - len(options), 0.72))
    ax.set_yticks(-np.arange(len(options)), [f"guess {style.in_figure(each)}" for each in options])
    ax.set_xlabel("decoded log-odds of a match")
    for side, words in ((-1, "taken for mismatches"), (1, "taken for matches")):
        where = {"xytext": (5 * side, -1), "textcoords": "offset points", "va": "top"}
        where |= {"xycoords": ("data", "axes fraction"), "fontsize": style.SMALL}
        ax.annotate(words, (0, 1), ha="left" if side > 0 else "right", **where)
    style.plain(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    say(ax, finding(view))
    return ax


def finding(view: SessionView) -> str:
    """Return what the figure shows, without a full stop."""
    trials, truth = view.sessions["train"]
    name, odds = _main(view).short_name, view.log_odds(_main(view).id)
    if truth is None or truth.match is None:
        share = 100 * np.mean(odds > 0)
        if not trusted(view.main):
            return f"{name} cannot be trusted here: what it takes for a match may be none"
        return f"{name} takes {share:.0f} % of the guesses for matches"
    right = percent_right(odds, np.asarray(truth.match) >= 0.5)
    found = [f"{share:.0f} % of {name}" for name, share in _plural(right) if share is not None]
    shares = [share for share in right.values() if share is not None]
    verb = (
        "recognises" if np.mean(shares) >= CLEAR else "hardly tells match from mismatch: right in"
    )
    return f"{name} {verb} {' and '.join(found)}"


def percent_right(
    odds: np.ndarray, match: np.ndarray, among: np.ndarray | None = None
) -> dict[str, float | None]:
    """Return how many percent of matches and of mismatches are taken for that; None of none."""
    among = np.ones(len(odds), bool) if among is None else among
    right = (odds > 0) == match
    found = {name: right[of] for name, of in _kinds(among, match).items()}
    return {name: 100 * float(each.mean()) if len(each) else None for name, each in found.items()}


def _plural(right: dict[str, float | None]) -> list[tuple[str, float | None]]:
    return [(f"{name}es", share) for name, share in right.items()]


def _kinds(among: np.ndarray, match: np.ndarray | None) -> dict[str, np.ndarray]:
    return (
        {"trials": among} if match is None else {"match": among & match, "mismatch": among & ~match}
    )


def _shown(view: SessionView) -> Sequence[object]:
    return view.dataset.protocol.task.options[: style.MOST_OPTIONS]


def _main(view: SessionView) -> object:
    if view.main is None:
        raise BciiglError(f"{view.dataset.folder}: no learner without labels learned from it")
    return LEARNERS.get(view.main.learner_id)
