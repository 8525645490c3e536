"""What learners made of recorded interactions, in words and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo_json

if TYPE_CHECKING:
    from bciigl.recording import Dataset
    from bciigl.study.arrays import Recorded, Result


def echo_results(
    recorded: Recorded,
    results: list[Result],
    dataset: Dataset | None,
    source: str,
    as_json: bool,
    **further: Any,
) -> None:
    """Print results, of a dataset or of the arrays at `source`, and what else goes with them."""
    if dataset is not None:
        found = _session_document(dataset, recorded, results) | further
        echo_json(found) if as_json else click.echo(_session_in_words(found, recorded, results))
    elif as_json:
        echo_json({"arrays": source, **_document(recorded, results)})
    else:
        click.echo(_in_words(recorded, results))


def _document(recorded: Recorded, results: list[Result]) -> dict[str, Any]:
    """Return results as plain data."""
    return {
        "trials": len(recorded.action),
        "actions": recorded.n_actions,
        "chance": 100 / recorded.n_actions,
        "test_trials": _test_trials(recorded),
        "centred": _centred(recorded),
        "learners": {each.learner_id: each.as_dict() for each in results},
    }


def _session_document(
    dataset: Dataset, recorded: Recorded, results: list[Result]
) -> dict[str, Any]:
    """Return the results of a recorded session as plain data."""
    from bciigl.protocol.summary import summary
    from bciigl.study.sessions import matches_by_fifths

    about, protocol = summary(dataset.protocol), dataset.protocol
    return {
        "protocol": protocol.name,
        "noise": protocol.brain.noise,
        "seed": protocol.seed,
        "agent": protocol.agent.policy,
        **_document(recorded, results),
        "matches_by_fifths": matches_by_fifths(dataset),
        "scanner_hours": about["scanner_hours"],
        "test_scanner_hours": about["test_scanner_hours"],
        "out": str(dataset.folder),
    }


def _in_words(recorded: Recorded, results: list[Result]) -> str:
    """Return a short table of results, and each verdict with its reason."""
    from bciigl.report.results import cells

    tested = _test_trials(recorded)
    lines = [
        f"{len(recorded.action)} trials, {recorded.n_actions} actions"
        f" (chance {100 / recorded.n_actions:.1f} %)"
        + (f"; {tested} test contexts, {_centred(recorded)}" if tested else "; no test labels"),
        f"{'learner':<14}{'accuracy':>10}{'95 % interval':>17}  {'verdict':<12}decoded match rates",
    ]
    for each in results:
        learner, accuracy, interval, verdict, rates = cells(each)
        lines.append(f"{learner:<14}{accuracy:>10}{interval:>17}  {verdict:<12}{rates}")
    lines += [f"{each.learner_id}: {each.diagnosis}" for each in results if each.diagnosis]
    return "\n".join(lines)


def _session_in_words(about: dict[str, Any], recorded: Recorded, results: list[Result]) -> str:
    """Return the table of a recorded session, and what it would cost in a scanner."""
    lines = [
        f"{about['protocol']}: noise {about['noise']:g}, seed {about['seed']}, "
        f"{about['agent']} guesses",
        _in_words(recorded, results),
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


def _test_trials(recorded: Recorded) -> int:
    return 0 if recorded.test_label is None else len(recorded.test_label)


def _centred(recorded: Recorded) -> str:
    """Return how test contexts are centred: by their own runs' means is transductive."""
    return "centred by the " + (
        "training mean" if recorded.test_run is None else "means of their runs"
    )
