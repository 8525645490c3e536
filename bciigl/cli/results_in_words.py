"""What learners made of recorded interactions, in words for a terminal."""

import shlex
from collections.abc import Iterator
from typing import Any

import click

from bciigl.base.registry import AGENTS, LEARNERS
from bciigl.cli.output import verbose, wrapped
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST
from bciigl.report.results import results_table, trusted
from bciigl.report.table import INDENT, Table
from bciigl.study.grid import in_words
from bciigl.study.learning import Result

_COLOURS = {TRUST: "green", DOUBTFUL: "yellow", DO_NOT_USE: "red"}
_NO_VERDICT = "No verdict: only learners that are told rewards or labels have learned."
UNIFORM = "uniform"
"""The agent that does not learn."""


def about_arrays(about: dict[str, Any]) -> Iterator[str]:
    """Say what was done to recorded arrays before they were learned from."""
    if about.get("mixed_people"):
        people = len(about["mixed_people"])
        yield f"{people} people mixed in training and test; verdicts assume one person"
    if not about["test_trials"]:
        yield "accuracies need labelled test trials: the arrays test_context and test_label"
    if about["normalised"]:
        other = "; feedback is not: it has another number of features"
        left = "" if "feedback" in about["normalised"] else other
        yield f"{' and '.join(about['normalised'])} normalised by noise{left}"


def trials(found: dict[str, Any]) -> str:
    """Say what was learned from and tested on."""
    tested = found["test_trials"]
    said = f"{found['trials']} trials of {found['actions']} options to learn from"
    return f"{said}, {tested} others to test" if tested else f"{said}, no labelled test trials"


def centred(found: dict[str, Any]) -> str:
    """Say how contexts and feedback were centred."""
    return f"Contexts and feedback are {found['centred']}."


def chance_row(found: dict[str, Any]) -> list[str]:
    """Return the row of a table that says what guessing would reach."""
    return ["guessing by chance", f"{found['chance']:.1f} %", "", ""]


def verdict(results: list[Result], found: dict[str, Any], options: Any) -> Iterator[str]:
    """Say how far the main learner can be trusted, how often it is right, and why."""
    if (result := _main(results)) is None:
        yield _NO_VERDICT
        return
    name, diagnosis = LEARNERS.get(result.learner_id).short_name, result.diagnosis.named(options)
    chance = f"chance {found['chance']:.0f} %"
    if result.accuracy is not None:
        sure = "95 % interval {:.1f} to {:.1f} %".format(*result.interval)
        right = (
            f"without labels or rewards, {name} decodes {result.accuracy:.1f} % of "
            f"{found['test_trials']} test trials ({sure}, {chance})"
        )
    else:
        right = f"{name} learned without labels or rewards, and was not tested ({chance})"
    yield _headline(diagnosis.verdict, f"{right}.")
    plain = diagnosis.plain
    yield wrapped(" ".join(filter(None, (plain.reason, plain.remedy))), "Why: ", "  ")


def verdict_of_people(results: dict[str, list[Result]], means: list[Result]) -> Iterator[str]:
    """Say in how many people the main learner can be trusted, and how often it is right."""
    mains = [main for each in results.values() if (main := _main(each)) is not None]
    if not mains:
        yield _NO_VERDICT
        return
    learner, trusted = mains[0].learner_id, sum(each.diagnosis.verdict == TRUST for each in mains)
    mean = next(each.accuracy for each in means if each.learner_id == learner)
    name = LEARNERS.get(learner).short_name
    right = f"learned by {name}, without labels or rewards, in {trusted} of {len(mains)} people"
    if mean is not None:
        right += f"; it decodes {mean:.1f} % of the test trials of all people on average"
    whole = TRUST if trusted == len(mains) else DOUBTFUL if trusted else DO_NOT_USE
    yield _headline(whole, f"{right}.")


def _main(results: list[Result]) -> Result | None:
    """Return that of the first learner which has a verdict."""
    return next((each for each in results if each.diagnosis is not None), None)


def _headline(verdict: str, words: str) -> str:
    """Return a sentence that begins with a verdict in its colour."""
    begin, colon, rest = wrapped(words, f"{verdict.capitalize()}: ", "  ").partition(":")
    return click.style(begin, fg=_COLOURS[verdict], bold=True) + colon + rest


def table_of_people(results: dict[str, list[Result]], found: dict[str, Any]) -> Table:
    """Return a table of results by person."""
    rows: list[list[str]] = []
    for person, each in results.items():
        table = results_table(each)
        rows.append([person, *[""] * (len(table.head) - 1)])
        rows += ([f"{INDENT}{name}", *cells] for name, *cells in table.rows)
    return Table(["person, learner", *table.head[1:]], [*rows, chance_row(found)])


def details_of_learners(results: list[Result], options: Any) -> Iterator[str]:
    """Give each verdict with its reason and statistics, and the match rates that were decoded."""
    for each in results:
        name = LEARNERS.get(each.learner_id).short_name
        if each.diagnosis:
            yield f"{name}: {each.diagnosis.named(options)}"
        if each.match_rates and trusted(each):
            names = range(len(each.match_rates)) if options is None else options
            pairs = zip(names, each.match_rates, strict=True)
            rates = ", ".join(f"{option} {rate:.2f}" for option, rate in pairs)
            yield f"{name}: decoded match rates by option: {rates}"


def about_session(about: dict[str, Any]) -> Iterator[str]:
    """Say whose session it was."""
    who = "a participant"
    if "noise" in about:
        how = "a rehearsal" if about["live"] else "simulated"
        who = f"{how}, noise {about['noise']:g} (real brain: 1), seed {about['seed']}"
    yield f"{about['protocol']}: {who}, {AGENTS.get(about['agent']).name}"
    if "person" in about:
        values = {name: float(f"{value:.3g}") for name, value in about["person"].items()}
        yield f"A person drawn from the population: {in_words(values)}"
    if "caveat" in about:
        yield about["caveat"]


def lost(about: dict[str, Any]) -> Iterator[str]:
    """Say how many trials cannot be learned from, if there are any."""
    if about.get("lost_trials"):
        lost, all_of_them = about["lost_trials"], about["lost_trials"] + about["trials"]
        yield f"{lost} of {all_of_them} trials were lost: without a cue, a guess or enough volumes"


def details_of_session(about: dict[str, Any]) -> Iterator[str]:
    """Say what few people want to know of a session."""
    if about["agent"] == UNIFORM:
        yield from _matches(about)
    yield from lateness(about)


def after_session(about: dict[str, Any]) -> Iterator[str]:
    """Say what a recorded session would cost in a scanner, where it is, and how to see more."""
    if about["agent"] != UNIFORM:  # others learn to guess
        yield from map(wrapped, _matches(about))
    if "caveat" not in about:  # its trials are shorter than any task's
        yield _scanner(about)
    yield f"Recorded in {about['out']}"
    folder = shlex.quote(about["out"])
    yield from more(about["out"])
    yield f"Report:  bciigl report {folder} --open"


def more(source: str) -> Iterator[str]:
    """Say how to see details, where they are not shown."""
    if not verbose():
        yield f"Details: bciigl learn {shlex.quote(source)} -v"


def _matches(about: dict[str, Any]) -> Iterator[str]:
    if (fifths := about["matches_by_fifths"]) is not None:
        rates = " ".join("-" if each is None else f"{each:.0f}" for each in fifths)
        yield f"The agent's guesses that matched, by fifths of the session: {rates} %"


def lateness(about: dict[str, Any]) -> Iterator[str]:
    """Say how late guesses came, if that was measured."""
    if "lateness_seconds" in about:
        late = {name: 1000 * value for name, value in about["lateness_seconds"].items()}
        yield (
            f"Guesses came {late['median']:.1f} ms after the decision was due (median), "
            f"{late['largest']:.1f} ms at most"
        )


def _scanner(about: dict[str, Any]) -> str:
    if about["live"]:  # without a test session
        where = "a real scanner" if "noise" in about else "the scanner"
        return f"In {where}, as planned: {about['scanner_hours']:.1f} h"
    return (
        f"In a real scanner: {about['scanner_hours']:.1f} h to learn, "
        f"{about['test_scanner_hours']:.1f} h more to test"
    )
