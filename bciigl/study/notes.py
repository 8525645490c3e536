"""What must be known to read a study's table, in sentences."""

from collections.abc import Iterable, Sequence

from bciigl.protocol.recorded import caveat
from bciigl.study.controls import CONTROLS
from bciigl.study.grid import Study
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
    """Return what the sessions of a table would cost in a real scanner."""
    costs: dict[tuple[float, float], Row] = {}
    for row in rows:
        if row.scanner_hours is not None:
            costs.setdefault((row.scanner_hours, row.test_scanner_hours), row)
    found = []
    for (learn, test), row in costs.items():
        words = (
            f"in a real scanner: {learn:.1f} h to learn and {test:.1f} h to test for each session"
        )
        if row.repeats > 1:
            words += f", {row.repeats * (learn + test):.0f} h for each mean of {row.repeats}"
        which = ", ".join(filter(None, [row.setting, row.control]))
        found.append(f"{words} ({which})" if which and len(costs) > 1 else words)
    return found


def control_notes(names: Iterable[str]) -> list[str]:
    """Return what controls should show."""
    return [f"{name}: should be {CONTROLS[name].expected}" for name in names]
