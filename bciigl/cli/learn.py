"""`bciigl learn`."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from bciigl.cli.output import echo_json, json_option
from bciigl.cli.progress import steps

if TYPE_CHECKING:
    from bciigl.tasks.arrays import Recorded, Result


class _Runs(click.ParamType):
    """Run numbers such as 0-39 or 0,2,5-9."""

    name = "runs"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[int]:
        """Return the numbers in a text."""
        runs: set[int] = set()
        for part in value.split(","):
            match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
            first, last = (int(each or match[1]) for each in match.groups()) if match else (1, 0)
            if first > last:
                self.fail(f"{value!r} should be run numbers such as 0-39 or 0,2,5-9", param, ctx)
            runs.update(range(first, last + 1))
        return frozenset(runs)


@click.command()
@click.argument("arrays", metavar="ARRAYS.npz", type=click.Path())
@click.option("--train-runs", type=_Runs(), help="Learn from these runs only, such as 0-39.")
@click.option("--test-runs", type=_Runs(), help="Test on these runs only, such as 40-49.")
@click.option(
    "--learner",
    "learners",
    multiple=True,
    help="Only ai_igl, ai_igl_paper, igl_full_ci, cb or ceiling; may be repeated.",
)
@click.option("--several-right", is_flag=True, help="Several actions may be right, or none.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of random starts."
)
@click.option(
    "--out", metavar="FOLDER", type=click.Path(), help="Keep the first learner in this new folder."
)
@json_option
def learn(
    arrays: str,
    train_runs: frozenset[int] | None,
    test_runs: frozenset[int] | None,
    learners: tuple[str, ...],
    several_right: bool,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Learn from recorded interactions, without labels and rewards.

    ARRAYS.npz has the arrays context, action (numbers from 0) and feedback, one row a trial.
    Optional are run, propensity (if guesses were not uniform), baseline (which trials have a known
    match rate) with match_rate (one number, or one for each action), and test_context, test_label
    and test_run. With reward and label, which no IGL learner gets, the skyline cb and
    the ceiling are shown beside. A folder of NPY files of these names will do as well.

    Prints for each learner its accuracy on the test set, where there is one, its verdict about
    itself and the match rate it decoded for each action.
    """
    from bciigl.base.errors import BciiglError
    from bciigl.base.files import written_folder
    from bciigl.learn.saved import check_saveable, write_learner
    from bciigl.tasks.arrays import learn_from, learners_for, load_arrays

    recorded = load_arrays(arrays)
    try:
        recorded = recorded.select(train_runs, test_runs)
        wanted = learners_for(recorded, learners)
        if out is not None:
            check_saveable(wanted[0])
        # The folder is made first: work should not end at a place that cannot be written.
        with nullcontext() if out is None else written_folder(out) as temporary, steps() as report:
            results = []
            for each in wanted:
                report(f"learning with {each}")
                results.append(learn_from(recorded, each, one_right=not several_right, seed=seed))
            if out is not None:
                write_learner(results[0].learner, temporary)
    except BciiglError as error:
        raise BciiglError(f"{arrays}: {error}") from error
    if as_json:
        echo_json(_document(arrays, recorded, results))
    else:
        click.echo(_in_words(recorded, results))
        if out is not None:
            click.echo(f"wrote {results[0].learner_id} to {out}")


def _document(arrays: str, recorded: Recorded, results: list[Result]) -> dict:
    return {
        "arrays": arrays,
        "trials": len(recorded.action),
        "actions": recorded.n_actions,
        "chance": 100 / recorded.n_actions,
        "test_trials": _test_trials(recorded),
        "centred": _centred(recorded),
        "learners": {each.learner_id: each.as_dict() for each in results},
    }


def _in_words(recorded: Recorded, results: list[Result]) -> str:
    tested = _test_trials(recorded)
    lines = [
        f"{len(recorded.action)} trials, {recorded.n_actions} actions"
        f" (chance {100 / recorded.n_actions:.1f} %)"
        + (f"; {tested} test contexts, {_centred(recorded)}" if tested else "; no test set"),
        f"{'learner':<14}{'accuracy':>10}  {'verdict':<12}decoded match rates",
    ]
    for each in results:
        accuracy = "-" if each.accuracy is None else f"{each.accuracy:.1f} %"
        verdict = each.diagnosis.verdict if each.diagnosis else "-"
        rates = " ".join(f"{rate:.2f}" for rate in each.match_rates or ()) or "-"
        lines.append(f"{each.learner_id:<14}{accuracy:>10}  {verdict:<12}{rates}")
    lines += [f"{each.learner_id}: {each.diagnosis}" for each in results if each.diagnosis]
    return "\n".join(lines)


def _test_trials(recorded: Recorded) -> int:
    return 0 if recorded.test_label is None else len(recorded.test_label)


def _centred(recorded: Recorded) -> str:
    """Return how test contexts are centred: by their own runs' means is transductive."""
    return "centred by the " + (
        "training mean" if recorded.test_run is None else "means of their runs"
    )
