"""What learners made of recorded interactions, in words and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo, echo_json, table_text, verbose, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    if dataset is None:
        found = {"arrays": source, **found, "normalised": _normalised(sessions), **further}
    else:
        found = _session_document(dataset, sessions, found) | further
    if as_json:
        echo_json(found)
        return
    from bciigl.cli import results_in_words as said
    from bciigl.report.results import results_table

    if dataset is None:
        about = [said.trials(found), *said.about_arrays(found)]
        details, after = [], said.more(source)
    else:
        about = [*said.about_session(found), said.trials(found), *said.lost(found)]
        details, after = said.details_of_session(found), said.after_session(found)
    table = results_table(results)
    details = [said.centred(found), *details, *said.details_of_learners(results, options)]
    _echo_parts(
        said.verdict(results, found, options),
        map(wrapped, about),
        [table_text(table._replace(rows=[*table.rows, said.chance_row(found)]))],
        (wrapped(each, then="  ") for each in details if verbose()),
        after,
    )


def _echo_parts(*parts: Iterable[str]) -> None:
    """Print lines of several parts, with a blank line between parts."""
    texts = ("\n".join(each) for each in parts)
    click.echo("\n\n".join(filter(None, texts)))


def echo_blinded(dataset: Dataset, as_json: bool, **further: Any) -> None:
    """Print that a session is recorded, and nothing that tells in which condition."""
    from bciigl.cli.results_in_words import lateness

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
        *(lateness(found) if verbose() else ()),
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
    if as_json:
        echo_json(found)
        return
    from bciigl.cli import results_in_words as said

    apart = f"{len(people)} people, each learned from and tested apart"
    details = [
        said.centred(found),
        *(
            f"{person}: {line}"
            for person, each in results.items()
            for line in said.details_of_learners(each, None)
        ),
    ]
    rows = {**results, "mean": means} if found["test_trials"] else results
    _echo_parts(
        said.verdict_of_people(results, means),
        map(wrapped, [said.trials(found), apart, *said.about_arrays(found)]),
        [table_text(said.table_of_people(rows, found))],
        (wrapped(each, then="  ") for each in details if verbose()),
        said.more(source),
    )


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
