"""What must be known to read a study's table, in sentences."""

from collections.abc import Iterable, Sequence

from bciigl.protocol.recorded import caveat
from bciigl.study.controls import CONTROLS
from bciigl.study.grid import Study, in_words
from bciigl.study.rows import Row
from bciigl.study.table2 import NAME, departures


def notes(study: Study, rows: Sequence[Row]) -> list[str]:
    """Return what is real, what sessions would cost, what controls should show, departures."""
    found = [*caveats(study), *scanner_notes(rows), *control_notes(study.controls)]
    return found + (departures(study.protocol) if study.table == NAME else [])


def caveats(study: Study) -> list[str]:
    """Return what must be said of a recorded subject, in each setting where it differs."""
    return list(filter(None, dict.fromkeys(caveat(each.protocol) for each in study.settings)))


def scanner_notes(rows: Sequence[Row]) -> list[str]:
    """Return what the sessions of a table would cost in a real scanner.

    Where settings differ in it, it is the range, with the settings that cost least and most. A
    control has a note of its own where its sessions differ from the others.
    """
    costs: dict[str | None, dict[tuple[float, float], Row]] = {}
    seen: set[tuple[float, float]] = set()
    for control in dict.fromkeys(row.control for row in rows):
        for row in rows:
            learning, testing = row.scanner_hours, row.test_scanner_hours
            if learning is None or testing is None or row.control != control:
                continue
            if (cost := (learning, testing)) not in seen:
                costs.setdefault(control, {}).setdefault(cost, row)
        seen |= set(costs.get(control, ()))
    return [_cost(list(mine.values())) for mine in costs.values()]


def _cost(rows: Sequence[Row]) -> str:
    """Return the cost of rows that are of the same control and all differ in it."""
    least, most = (of(rows, key=_hours) for of in (min, max))
    control = f" ({most.control})" if most.control else ""
    if least is most:
        mean = f", {_rounded(_total(most))} h for {most.repeats} sessions"
        return (
            f"in a real scanner: {most.scanner_hours:.1f} h to learn and "
            f"{most.test_scanner_hours:.1f} h to test for each session"
            f"{mean if most.repeats > 1 else ''}{control}"
        )
    apart = [name for name, value in least.varied.items() if value != most.varied[name]]
    where = [in_words({name: row.varied[name] for name in apart}) for row in (least, most)]
    total = f"{_rounded(_total(least))} to {_rounded(_total(most))}"
    means = f"; {total} h for {most.repeats} sessions"
    return (
        f"in a real scanner: from {least.scanner_hours:.1f} h to learn and "
        f"{least.test_scanner_hours:.1f} h to test for each session ({where[0]}) to "
        f"{most.scanner_hours:.1f} h and {most.test_scanner_hours:.1f} h ({where[1]})"
        f"{means if most.repeats > 1 else ''}{control}"
    )


def _hours(row: Row) -> float:
    return (row.scanner_hours or 0.0) + (row.test_scanner_hours or 0.0)


def _total(row: Row) -> float:
    """Return the hours of all repeats."""
    return row.repeats * _hours(row)


def _rounded(hours: float) -> str:
    return f"{hours:.0f}" if hours >= 9.95 else f"{hours:.1f}"


def control_notes(names: Iterable[str]) -> list[str]:
    """Return what controls should show."""
    return [f"{name}: should be {CONTROLS[name].expected}" for name in names]
