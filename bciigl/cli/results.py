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
    options = None if dataset is None else dataset.protocol.task.options
    found = _document(sessions, results, options)
    lines = [_about(found), *_table(results), *_verdicts(results, options)]
    if dataset is None:
        found = {"arrays": source, **found, "normalised": _normalised(sessions), **further}
        lines[1:1] = _about_arrays(found)
    else:
        found = _session_document(dataset, sessions, found) | further
        lines = list(_session_in_words(found, lines))
    echo(as_json, found, *lines)


def echo_blinded(dataset: Dataset, as_json: bool, **further: Any) -> None:
    """Print that a session is recorded, and nothing that tells in which condition."""
    found = {
        "protocol": dataset.protocol.name,
        "trials": dataset.protocol.task.trials,
        **further,
        "out": str(dataset.folder),
    }
    echo(
        as_json,
        found,
        f"{found['protocol']}: {found['trials']} trials, in a condition that is not shown here",
        *_lateness(found),
        f"recorded in {found['out']}; bciigl learn and bciigl report show results",
    )


def echo_people(
    people: dict[str, Sessions], results: dict[str, list[Result]], source: str, as_json: bool
) -> None:
    """Print the results of people who were learned from and tested apart, and their means."""
    from bciigl.study.learning import mean_over_people

    own = {person: _document(people[person], each, None) for person, each in results.items()}
    first = next((each for each in people if "test" in people[each]), next(iter(people)))
    means = mean_over_people(results.values())
    found = {
        "arrays": source,
        "trials": sum(each["trials"] for each in own.values()),
        **{name: own[first][name] for name in ("actions", "chance")},
        "test_trials": sum(each["test_trials"] for each in own.values()),
        "centred": own[first]["centred"],
        "normalised": _normalised(people[first]),
        "people": own,
        "mean": {
            each.learner_id: {"accuracy": each.accuracy, "interval": each.interval}
            for each in means
        },
    }
    apart = f"{len(people)} people, each learned from and tested apart"
    rows = {**results, "mean": means} if found["test_trials"] else results
    lines = [_about(found), apart, *_about_arrays(found), *_table_of_people(rows)]
    for person, each in results.items():
        lines += (f"{person}: {line}" for line in _verdicts(each, None))
    echo(as_json, found, *lines)


def _document(sessions: Sessions, results: list[Result], options: Any) -> dict[str, Any]:
    """Return results as plain data."""
    trials, test = sessions["train"].interactions, sessions.get("test")
    # By the means of their own runs is transductive.
    by_run = test is not None and test.interactions.run is not None
    return {
        "trials": trials.trials,
        "actions": trials.n_actions,
        "chance": 100 / trials.n_actions,
        "test_trials": 0 if test is None or test.truth is None else test.interactions.trials,
        "centred": f"centred by the {'means of their runs' if by_run else 'training mean'}",
        "learners": {each.learner_id: each.as_dict(options) for each in results},
    }


def _session_document(dataset: Dataset, sessions: Sessions, found: dict) -> dict[str, Any]:
    """Return the results of a recorded session as plain data."""
    from bciigl.protocol.recorded import caveat
    from bciigl.protocol.summary import summary
    from bciigl.study.learning import matches_by_fifths

    about, protocol = summary(dataset.protocol), dataset.protocol
    of_participant = dataset.group == "participant"
    return {
        "protocol": protocol.name,
        "group": dataset.group,
        "live": bool(dataset.arrivals("train", 1)),
        **({"caveat": said} if (said := caveat(protocol)) else {}),
        **({} if of_participant else {"noise": protocol.brain.noise}),
        "seed": protocol.seed,
        "agent": protocol.agent.policy,
        **found,
        "matches_by_fifths": matches_by_fifths(sessions["train"]),
        "scanner_hours": about["scanner_hours"],
        "test_scanner_hours": about["test_scanner_hours"],
        "out": str(dataset.folder),
    }


def _normalised(sessions: Sessions) -> list[str]:
    """Return which features of recorded arrays are in SDs of the noise."""
    trials = sessions["train"].interactions
    if trials.whitening is None:
        return []
    same = trials.feedback.shape[1] == trials.context.shape[1]
    return ["context", "feedback"] if same else ["context"]


def _about_arrays(about: dict[str, Any]) -> Iterator[str]:
    """Say what was done to recorded arrays before they were learned from."""
    if about.get("mixed_people"):
        people = len(about["mixed_people"])
        yield f"{people} people mixed in training and test; verdicts assume one person"
    if about["normalised"]:
        other = "; feedback is not: it has another number of features"
        left = "" if "feedback" in about["normalised"] else other
        yield f"{' and '.join(about['normalised'])} normalised by noise{left}"


def _about(found: dict[str, Any]) -> str:
    """Say what was learned from and tested on."""
    tested = found["test_trials"]
    return (
        f"{found['trials']} trials, {found['actions']} actions (chance {found['chance']:.1f} %)"
        + (f"; {tested} test contexts, {found['centred']}" if tested else "; no test labels")
    )


def _table(results: list[Result]) -> Iterator[str]:
    """Give a short table of results."""
    from bciigl.report.results import cells

    head = ("learner", "accuracy", "95 % interval", "verdict", "decoded match rates")
    for learner, accuracy, interval, verdict, rates in (head, *map(cells, results)):
        yield f"{learner:<14}{accuracy:>10}{interval:>17}  {verdict:<12}{rates}"


def _table_of_people(results: dict[str, list[Result]]) -> Iterator[str]:
    """Give a short table of results by person."""
    width = max(map(len, (*results, "person"))) + 2
    for place, (person, each) in enumerate(results.items()):
        head, *rows = _table(each)
        if not place:
            yield f"{'person':<{width}}{head}"
        yield from (f"{person:<{width}}{row}" for row in rows)


def _verdicts(results: list[Result], options: Any) -> Iterator[str]:
    """Give each verdict with its reason."""
    for each in results:
        if each.diagnosis:
            yield f"{each.learner_id}: {each.diagnosis.named(options)}"


def _session_in_words(about: dict[str, Any], table: list[str]) -> Iterator[str]:
    """Give the table of a recorded session, and what it would cost in a scanner."""
    who = "a participant"
    if "noise" in about:
        rehearsal = "a rehearsal, " if about["live"] else ""
        who = f"{rehearsal}noise {about['noise']:g}, seed {about['seed']}"
    yield f"{about['protocol']}: {who}, {about['agent']} guesses"
    if "person" in about:
        values = ", ".join(f"{name} {value:g}" for name, value in about["person"].items())
        yield f"a person drawn from the population: {values}"
    if "caveat" in about:
        yield about["caveat"]
    if about.get("lost_trials"):
        lost, all_of_them = about["lost_trials"], about["lost_trials"] + about["trials"]
        yield f"{lost} of {all_of_them} trials were lost: without a cue, a guess or enough volumes"
    yield from table
    if (fifths := about["matches_by_fifths"]) is not None:
        rates = " ".join("-" if each is None else f"{each:.0f}" for each in fifths)
        yield f"the agent's guesses that matched, by fifths of the session: {rates} %"
    yield from _lateness(about)
    if "caveat" not in about:  # its trials are shorter than any task's
        yield _scanner(about)
    yield f"recorded in {about['out']}"


def _lateness(about: dict[str, Any]) -> Iterator[str]:
    if "lateness_seconds" in about:
        late = {name: 1000 * value for name, value in about["lateness_seconds"].items()}
        yield (
            f"guesses came {late['median']:.1f} ms after the decision was due (median), "
            f"{late['largest']:.1f} ms at most"
        )


def _scanner(about: dict[str, Any]) -> str:
    if about["live"]:  # without a test session
        where = "a real scanner" if "noise" in about else "the scanner"
        return f"in {where}, as planned: {about['scanner_hours']:.1f} h"
    return (
        f"in a real scanner: {about['scanner_hours']:.1f} h to learn, "
        f"{about['test_scanner_hours']:.1f} h more to test"
    )
