"""What learners made of recorded interactions, in words and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bciigl.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    trials, test = sessions["train"].interactions, sessions.get("test")
    options = None if dataset is None else dataset.protocol.task.options
    # By the means of their own runs is transductive.
    by_run = test is not None and test.interactions.run is not None
    found = {
        "trials": trials.trials,
        "actions": trials.n_actions,
        "chance": 100 / trials.n_actions,
        "test_trials": 0 if test is None or test.truth is None else test.interactions.trials,
        "centred": f"centred by the {'means of their runs' if by_run else 'training mean'}",
        "learners": {each.learner_id: each.as_dict(options) for each in results},
    }
    lines = list(_in_words(found, results, options))
    if dataset is None:
        found = {"arrays": source, **found}
    else:
        found = _session_document(dataset, sessions, found) | further
        lines = list(_session_in_words(found, lines))
    echo(as_json, found, *lines)


def _session_document(dataset: Dataset, sessions: Sessions, found: dict) -> dict[str, Any]:
    """Return the results of a recorded session as plain data."""
    from bciigl.protocol.recorded import caveat
    from bciigl.protocol.summary import summary
    from bciigl.study.learning import matches_by_fifths

    about, protocol = summary(dataset.protocol), dataset.protocol
    return {
        "protocol": protocol.name,
        **({"caveat": said} if (said := caveat(protocol)) else {}),
        "noise": protocol.brain.noise,
        "seed": protocol.seed,
        "agent": protocol.agent.policy,
        **found,
        "matches_by_fifths": matches_by_fifths(sessions["train"]),
        "scanner_hours": about["scanner_hours"],
        "test_scanner_hours": about["test_scanner_hours"],
        "out": str(dataset.folder),
    }


def _in_words(about: dict[str, Any], results: list[Result], options: Any) -> Iterator[str]:
    """Give a short table of results, and each verdict with its reason."""
    from bciigl.report.results import cells

    tested = about["test_trials"]
    yield (
        f"{about['trials']} trials, {about['actions']} actions (chance {about['chance']:.1f} %)"
        + (f"; {tested} test contexts, {about['centred']}" if tested else "; no test labels")
    )
    head = ("learner", "accuracy", "95 % interval", "verdict", "decoded match rates")
    for learner, accuracy, interval, verdict, rates in (head, *map(cells, results)):
        yield f"{learner:<14}{accuracy:>10}{interval:>17}  {verdict:<12}{rates}"
    for each in results:
        if each.diagnosis:
            yield f"{each.learner_id}: {each.diagnosis.named(options)}"


def _session_in_words(about: dict[str, Any], table: list[str]) -> Iterator[str]:
    """Give the table of a recorded session, and what it would cost in a scanner."""
    noise, agent = f"noise {about['noise']:g}", f"{about['agent']} guesses"
    yield f"{about['protocol']}: {noise}, seed {about['seed']}, {agent}"
    if "caveat" in about:
        yield about["caveat"]
    yield from table
    if (fifths := about["matches_by_fifths"]) is not None:
        rates = " ".join("-" if each is None else f"{each:.0f}" for each in fifths)
        yield f"the agent's guesses that matched, by fifths of the session: {rates} %"
    if "lateness_seconds" in about:
        late = {name: 1000 * value for name, value in about["lateness_seconds"].items()}
        yield (
            f"guesses came {late['median']:.1f} ms after the decision was due (median), "
            f"{late['largest']:.1f} ms at most"
        )
    if "caveat" not in about:  # its trials are shorter than any task's
        yield _scanner(about)
    yield f"recorded in {about['out']}"


def _scanner(about: dict[str, Any]) -> str:
    return (
        f"in a real scanner: {about['scanner_hours']:.1f} h to learn, "
        f"{about['test_scanner_hours']:.1f} h more to test"
    )
