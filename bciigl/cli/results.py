"""What learners made of recorded interactions, in words and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bciigl.recording import Dataset
    from bciigl.study.learning import Result, Sessions


def echo_results(
    sessions: Sessions,
    results: list[Result],
    dataset: Dataset | None,
    source: str,
    as_json: bool,
    **further: Any,
) -> None:
    """Print results, of a dataset or of the arrays at `source`, and what else goes with them."""
    if dataset is not None:
        found = _session_document(dataset, sessions, results) | further
        options = dataset.protocol.task.options
        words = _in_words(sessions, results, options)
        echo_json(found) if as_json else click.echo(_session_in_words(found, words))
    elif as_json:
        echo_json({"arrays": source, **_document(sessions, results)})
    else:
        click.echo(_in_words(sessions, results))


def _document(
    sessions: Sessions, results: list[Result], options: Sequence[object] | None = None
) -> dict[str, Any]:
    """Return results as plain data."""
    trials = sessions["train"].interactions
    return {
        "trials": trials.trials,
        "actions": trials.n_actions,
        "chance": 100 / trials.n_actions,
        "test_trials": _test_trials(sessions),
        "centred": _centred(sessions),
        "learners": {each.learner_id: each.as_dict(options) for each in results},
    }


def _session_document(
    dataset: Dataset, sessions: Sessions, results: list[Result]
) -> dict[str, Any]:
    """Return the results of a recorded session as plain data."""
    from bciigl.protocol.summary import summary
    from bciigl.study.learning import matches_by_fifths

    about, protocol = summary(dataset.protocol), dataset.protocol
    return {
        "protocol": protocol.name,
        "noise": protocol.brain.noise,
        "seed": protocol.seed,
        "agent": protocol.agent.policy,
        **_document(sessions, results, protocol.task.options),
        "matches_by_fifths": matches_by_fifths(sessions["train"]),
        "scanner_hours": about["scanner_hours"],
        "test_scanner_hours": about["test_scanner_hours"],
        "out": str(dataset.folder),
    }


def _in_words(
    sessions: Sessions, results: list[Result], options: Sequence[object] | None = None
) -> str:
    """Return a short table of results, and each verdict with its reason."""
    from bciigl.report.results import cells

    trials, tested = sessions["train"].interactions, _test_trials(sessions)
    chance = 100 / trials.n_actions
    lines = [
        f"{trials.trials} trials, {trials.n_actions} actions (chance {chance:.1f} %)"
        + (f"; {tested} test contexts, {_centred(sessions)}" if tested else "; no test labels"),
        f"{'learner':<14}{'accuracy':>10}{'95 % interval':>17}  {'verdict':<12}decoded match rates",
    ]
    for each in results:
        learner, accuracy, interval, verdict, rates = cells(each)
        lines.append(f"{learner:<14}{accuracy:>10}{interval:>17}  {verdict:<12}{rates}")
    verdicts = {each.learner_id: each.diagnosis for each in results if each.diagnosis}
    lines += [f"{name}: {found.named(options)}" for name, found in verdicts.items()]
    return "\n".join(lines)


def _session_in_words(about: dict[str, Any], table: str) -> str:
    """Return the table of a recorded session, and what it would cost in a scanner."""
    lines = [
        f"{about['protocol']}: noise {about['noise']:g}, seed {about['seed']}, "
        f"{about['agent']} guesses",
        table,
    ]
    if about["matches_by_fifths"] is not None:
        rates = " ".join(
            "-" if each is None else f"{each:.0f}" for each in about["matches_by_fifths"]
        )
        lines.append(f"the agent's guesses that matched, by fifths of the session: {rates} %")
    if "lateness_seconds" in about:
        late = {name: 1000 * value for name, value in about["lateness_seconds"].items()}
        lines.append(
            f"guesses came {late['median']:.1f} ms after the decision was due (median), "
            f"{late['largest']:.1f} ms at most"
        )
    lines += [
        f"in a real scanner: {about['scanner_hours']:.1f} h to learn, "
        f"{about['test_scanner_hours']:.1f} h more to test",
        f"recorded in {about['out']}",
    ]
    return "\n".join(lines)


def _test_trials(sessions: Sessions) -> int:
    test = sessions.get("test")
    return 0 if test is None or test.truth is None else test.interactions.trials


def _centred(sessions: Sessions) -> str:
    """Return how test contexts are centred: by their own runs' means is transductive."""
    by_run = "test" in sessions and sessions["test"].interactions.run is not None
    return f"centred by the {'means of their runs' if by_run else 'training mean'}"
