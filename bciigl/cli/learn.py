"""`bciigl learn`."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import json_option, path_option, warn
from bciigl.cli.progress import steps
from bciigl.cli.results import echo_people, echo_results


def runs(value: str) -> frozenset[int]:
    """Return the run numbers in a text such as 0-39 or 0,2,5-9."""
    found: set[int] = set()
    for part in value.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        first, last = (int(each or match[1]) for each in match.groups()) if match else (1, 0)
        if first > last:
            raise click.BadParameter(f"{value!r} should be run numbers such as 0-39 or 0,2,5-9")
        found.update(range(first, last + 1))
    return frozenset(found)


@click.command()
@click.argument("source", metavar="SOURCE", type=click.Path())
@click.option("--train-runs", type=runs, help="Learn from these runs only, such as 0-39.")
@click.option("--test-runs", type=runs, help="Test on these runs only, such as 40-49.")
@click.option(
    "--learner",
    "learners",
    multiple=True,
    help="Only this one, by its id such as ai_igl; may be repeated.",
)
@click.option(
    "--mix-people", is_flag=True, help="Learn from all people together, and test on all of them."
)
@click.option("--several-right", is_flag=True, help="Several actions may be right, or none.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of random starts; the dataset's own, or 0."
)
@path_option("--out", "Keep the first learner in this new folder.")
@json_option
def learn(
    source: str,
    train_runs: frozenset[int] | None,
    test_runs: frozenset[int] | None,
    learners: tuple[str, ...],
    mix_people: bool,
    several_right: bool,
    seed: int | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Learn from recorded interactions, without labels and rewards.

    SOURCE is a dataset that `bciigl simulate` recorded, or one of the same layout; or an NPZ file
    with the arrays context, action (numbers from 0) and feedback, one row a trial. Optional are
    run, propensity (if guesses were not uniform), catch (which trials have a known match rate)
    with match_rate (one number, or one for each action), and test_context, test_label and test_run.
    With noise, frames of the same features, and noise_run, features are normalised by the noise.
    With person, test_person and noise_person (ids), each person is learned from and tested apart.
    With reward and label, which no IGL learner gets, a contextual bandit that is told the rewards
    and supervised learning are shown beside. A folder of NPY files of these names will do as well.

    Prints for each learner its accuracy on the test set, where there is one, its verdict about
    itself and the match rate it decoded for each action. Without options the results are kept in
    the dataset, for its report; with --out they are kept in that folder, or in one in it for each
    person.
    """
    from bciigl.base.files import written_folder
    from bciigl.estimate import Calibration
    from bciigl.learn.persistence import check_saveable, write_learner
    from bciigl.recording import is_dataset, open_dataset
    from bciigl.recording.calibration import write_calibration
    from bciigl.recording.layout import CALIBRATION, ESTIMATES
    from bciigl.study import learning
    from bciigl.study.recorded import by_person, people_of
    from bciigl.study.session_results import keep_results

    dataset = open_dataset(source) if is_dataset(source) else None
    sessions = learning.load_arrays(source) if dataset is None else learning.load_sessions(dataset)
    for name in filter(dataset.has, ("train", "test")) if dataset is not None else ():
        if missing := dataset.missing_runs(name):
            planned = f"the runs that the protocol plans for ses-{name}"
            warn(f"{source}: {missing} of {planned} are missing")
    try:
        usual = not (train_runs or test_runs or learners or several_right or seed is not None)
        sessions = learning.select(sessions, train_runs, test_runs)
        people = by_person(sessions, mix=mix_people)
        if dataset is not None:
            learners = learners or learning.session_learners(dataset.protocol, sessions)
            seed = dataset.protocol.seed if seed is None else seed
        wanted = learning.learners_for(sessions, learners)
        if out is not None:
            check_saveable(wanted[0])
        # The folder is made first: work should not end at a place that cannot be written.
        with nullcontext() if out is None else written_folder(out) as temporary, steps() as report:
            how = {"seed": seed or 0, "one_right": not several_right, "report": report}
            results = {
                person: learning.learn_with(own, wanted, **how) for person, own in people.items()
            }
            for person, own in people.items():
                whitening = own["train"].interactions.whitening
                of_arrays = Calibration(whitening=whitening)
                how["calibration"] = of_arrays if dataset is None else dataset.calibration
                if out is not None:
                    folder = Path(temporary) / (person or "")
                    folder.mkdir(exist_ok=True)
                    write_learner(results[person][0].learner, folder)
                    write_calibration(folder / CALIBRATION, how["calibration"])
                    keep_results(folder, own, results[person], **how)
                if dataset is not None and usual:
                    try:
                        keep_results(dataset.folder / ESTIMATES, own, results[person], **how)
                    except OSError as error:  # it can only be read
                        warn(f"results are not kept: {error.filename}: {error.strerror}")
    except BciiglError as error:
        raise BciiglError(f"{source}: {error}") from error
    if None in people:
        mixed = {"mixed_people": people_of(sessions)} if mix_people else {}
        echo_results(people[None], results[None], dataset, source, as_json, **mixed)
    else:
        echo_people(people, results, source, as_json)
    if out is not None and not as_json:
        whose = "" if None in people else " of each person"
        click.echo(f"wrote {wanted[0]}{whose} to {out}")
