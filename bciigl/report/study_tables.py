"""The tables of a study: the same words on a terminal, in a notebook and in a page."""

from collections.abc import Callable, Sequence

from bciigl.base.registry import LEARNERS
from bciigl.report.table import INDENT, Table
from bciigl.study.published import Published
from bciigl.study.rows import Row, Scored
from bciigl.study.statistics import Chance, Difference, Mean

Details = Sequence[tuple[str, Callable[[Scored], str]]]
"""Names of what is told below a learner's mean, and how it is shown."""


def learner_name(learner_id: str) -> str:
    """Return a learner's short name; one that is not installed keeps its id."""
    return LEARNERS.get(learner_id).short_name if learner_id in LEARNERS else learner_id


def row_name(row: Row) -> str:
    """Return the learner of a row, and its control."""
    return ", ".join(filter(None, [learner_name(row.learner), row.control]))


def accuracy_tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Return a table of accuracies at each noise, by the name of the varied fields' values."""
    return {name: _accuracy_table(mine) for name, mine in by_setting(rows).items()}


def difference_tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Return tables of how much better the first learner is than the others, session by session."""
    tables = {}
    for name, mine in by_setting(rows).items():
        first = [row for row in mine if row.label == mine[0].label]
        lines = []
        for other in first[0].paired:
            found = [row.paired.get(other) for row in first]
            lines += [
                [learner_name(other), *(_shown(each and each.mean, "+.1f") for each in found)],
                [f"{INDENT}95 % interval", *map(interval, found)],
                [f"{INDENT}p", *(_shown(each and each.p, ".2g") for each in found)],
            ]
        if lines:
            levels = (f"{row.noise:g}" for row in first)
            tables[name] = Table([f"{row_name(first[0])} minus", *levels], lines)
    return tables


def by_setting(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each combination of varied fields, by its name."""
    settings: dict[str, list[Row]] = {}
    for row in rows:
        settings.setdefault(row.setting, []).append(row)
    return settings


def over_repeats(rows: Sequence[Scored], what: str = "session") -> str:
    """Return what the numbers of a table are means over."""
    repeats = sorted({row.repeats for row in rows})
    if repeats == [1]:
        return f"accuracy in percent, of one {what}"
    counted = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    return f"accuracy in percent, mean ± standard error over {counted} {what}s"


def learner_lines(label: str, rows: Sequence[Scored | None], details: Details) -> list[list[str]]:
    """Return the lines of a learner: its means, and below them the details that some rows have."""
    details = [
        ("95 % interval", lambda row: interval(row.accuracy)),
        ("published", lambda row: published(row.published)),
        ("difference", lambda row: _shown(row.difference, "+.1f")),
        *details,
    ]
    lines = [[label, *("-" if row is None else mean(row.accuracy) for row in rows)]]
    for name, shown in details:
        cells = ["-" if row is None else shown(row) for row in rows]
        if set(cells) != {"-"}:
            lines.append([f"{INDENT}{name}", *cells])
    return lines


def _accuracy_table(rows: list[Row]) -> Table:
    noise = list(dict.fromkeys(row.noise for row in rows))
    details = [
        ("failed sessions", lambda row: percent(row.failed)),
        ("trusted sessions", lambda row: percent(row.trusted)),
        ("objective (truth's)", _objectives),
    ]
    lines = []
    for label in dict.fromkeys(row.label for row in rows):
        of_level = {row.noise: row for row in rows if row.label == label}
        name = row_name(next(iter(of_level.values())))
        lines += learner_lines(name, [of_level.get(level) for level in noise], details)
    first = {row.noise: row.chance for row in reversed(rows)}
    chances = [first[level] for level in noise]
    lines.append(["chance (labels permuted)", *(f"{each.mean:.1f}" for each in chances)])
    lines.append([f"{INDENT}95 % interval", *map(interval, chances)])
    return Table(["noise", *(f"{level:g}" for level in noise)], lines)


def mean(value: Mean, digits: int = 1) -> str:
    """Return a mean with its standard error."""
    shown = [each for each in (value.mean, value.standard_error) if each is not None]
    return " ± ".join(f"{each:.{digits}f}" for each in shown)


def interval(value: Mean | Difference | Chance | None) -> str:
    """Return an interval, or a dash."""
    known = value is not None and value.interval is not None
    return "{:.1f} to {:.1f}".format(*value.interval) if known else "-"


def in_full(row: Scored, what: str = "session") -> str:
    """Return a mean with all that belongs to it."""
    if row.repeats == 1:
        return f"of one {what}"
    return f"{mean(row.accuracy)} (standard error), 95 % interval {interval(row.accuracy)}"


def published(value: Published | None) -> str:
    """Return a published figure with its standard error."""
    return "-" if value is None else "{:.2f} ± {:.2f}".format(*value)


def percent(value: float | None) -> str:
    """Return a share that is in percent."""
    return "-" if value is None else f"{value:.0f} %"


def sentence(note: str, names: Sequence[str] = ()) -> str:
    """Return a note that begins as a sentence does, unless it begins with one of some names."""
    named = note.startswith(tuple(f"{name}{end}" for name in names for end in " :"))
    return note if named else f"{note[:1].upper()}{note[1:]}"


def _objectives(row: Row) -> str:
    if row.objective is None:
        return "-"
    return f"{row.objective:.2f} ({_shown(row.truth_objective, '.2f')})"


def _shown(value: float | None, how: str) -> str:
    return "-" if value is None else format(value, how)
