"""How often the agent's own guesses matched, while the session went on."""

from typing import NamedTuple

import numpy as np

from bciigl.recording import Dataset
from bciigl.report.drawing import Drawing
from bciigl.report.style import BLUE, GREY, SMALL, new_figure, plain
from bciigl.study.learning import share_with_interval


class RunMatches(NamedTuple):
    """How many percent of the guesses of a run matched, with the 95 % interval.

    Attributes
    ----------
    run : int
        As in file names, from 1.
    guesses : int
        Of the agent, in this run.
    uniform : bool
        Whether the agent guessed uniformly in the whole run.
    matched, low, high : float
        Percent.
    """

    run: int
    guesses: int
    uniform: bool
    matched: float
    low: float
    high: float


def matches_by_run(dataset: Dataset) -> list[RunMatches]:
    """Return how often guesses matched in each run of the training session.

    Catch trials, in which the agent is not asked, are left out; so are runs of nothing else. The
    dataset must have its truth.
    """
    trials, truth = dataset.sessions["train"]
    guessed = np.ones(trials.trials, bool) if trials.catch is None else ~trials.catch
    chance = 1 / trials.n_actions
    found = []
    for run in np.unique(trials.run):
        mine = guessed & (trials.run == run)
        if mine.any():
            share, (low, high) = share_with_interval(truth.match[mine])
            uniform = bool(np.allclose(trials.propensity[mine], chance))
            found.append(RunMatches(int(run), int(mine.sum()), uniform, share, low, high))
    return found


def guesses_drawing(found: list[RunMatches], chance: float) -> Drawing:
    """Return the share of matches in each run as a drawing, with `chance` in percent."""
    figure = new_figure(2.7)
    axis = figure.subplots()
    axis.axhline(chance, color=GREY, lw=1, ls="-.", label="chance")
    for uniform, fill, label in ((True, "white", "uniform guesses"), (False, BLUE, "by a policy")):
        mine = [each for each in found if each.uniform == uniform]
        if mine:
            run, _, _, matched, low, high = (np.array(each) for each in zip(*mine, strict=True))
            reach = np.maximum([matched - low, high - matched], 0)
            axis.errorbar(run, matched, reach, fmt="o", ms=5, color=BLUE, mfc=fill, elinewidth=0.9,
                          capsize=2, label=label)  # fmt: skip
    axis.set(xlabel="run", ylabel="guesses that matched (%)", ylim=(-3, 104))
    axis.xaxis.get_major_locator().set_params(integer=True)
    plain(axis)
    figure.legend(loc="outside upper center", ncols=3, fontsize=SMALL, frameon=False)
    return Drawing(
        "agents_guesses",
        figure,
        "Share of the agent's own guesses that matched in each run of the session, with 95 % "
        "intervals; catch trials aside. Open circles: runs in which it guessed uniformly.",
        "Share of the agent's guesses that matched, run by run.",
        {name: [getattr(each, name) for each in found] for name in RunMatches._fields},
    )
