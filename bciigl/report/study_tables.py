"""The tables of a study: the same words on a terminal, in a notebook and in a page."""

from collections.abc import Sequence

from bciigl.report.table import Table
from bciigl.study.rows import Row
from bciigl.study.statistics import Chance, Difference, Mean


def accuracy_tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Return a table of accuracies for each combination of varied fields, by its name.

    Columns are noise levels. Below each learner's mean and standard error are its interval, the
    published figure and the difference to it, how many sessions failed whole options, and the
    objective of full-CI IGL beside the truth's.
    """
    return {name: _accuracy_table(mine) for name, mine in by_setting(rows).items()}


def difference_tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Return tables of how much better the first learner is than the others, session by session."""
    tables = {}
    for name, mine in by_setting(rows).items():
        first = [row for row in mine if row.label == mine[0].label]
        others = list(first[0].paired)
        if others:
            lines = [_differences(other, first) for other in others]
            tables[name] = Table(
                [f"{first[0].label} minus", *(_level(row.noise) for row in first)],
                [line for pair in lines for line in pair],
            )
    return tables


def by_setting(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each combination of varied fields, by its name."""
    settings: dict[str, list[Row]] = {}
    for row in rows:
        settings.setdefault(row.setting, []).append(row)
    return settings


def _accuracy_table(rows: list[Row]) -> Table:
    noise = list(dict.fromkeys(row.noise for row in rows))
    table = Table(["noise", *map(_level, noise)], [])
    for label in dict.fromkeys(row.label for row in rows):
        of_level = {row.noise: row for row in rows if row.label == label}
        mine = [of_level.get(level) for level in noise]
        table.rows.append([label, *("-" if row is None else mean(row.accuracy) for row in mine)])
        details = [
            ("95 % interval", lambda row: interval(row.accuracy)),
            ("published", _published),
            ("difference", lambda row: _signed(row.difference)),
            ("failed sessions", lambda row: _percent(row.failed)),
            ("trusted sessions", lambda row: _percent(row.trusted)),
            ("objective (truth's)", _objectives),
        ]
        for name, shown in details:
            cells = ["-" if row is None else shown(row) for row in mine]
            if set(cells) != {"-"}:
                table.rows.append([f"  {name}", *cells])
    first = {row.noise: row.chance for row in reversed(rows)}
    table.rows.append(
        ["chance (labels permuted)", *(f"{first[level].mean:.1f}" for level in noise)]
    )
    table.rows.append(["  95 % interval", *(interval(first[level]) for level in noise)])
    return table


def _differences(other: str, rows: list[Row]) -> list[list[str]]:
    found = [row.paired.get(other) for row in rows]
    return [
        [other, *("-" if each is None else _signed(each.mean) for each in found)],
        ["  95 % interval", *("-" if each is None else interval(each) for each in found)],
        ["  p", *("-" if each is None or each.p is None else f"{each.p:.2g}" for each in found)],
    ]


def mean(value: Mean) -> str:
    """Return a mean with its standard error."""
    error = value.standard_error
    return f"{value.mean:.1f}" + ("" if error is None else f" ± {error:.1f}")


def interval(value: Mean | Difference | Chance) -> str:
    """Return an interval, or a dash."""
    return "-" if value.interval is None else "{:.1f} to {:.1f}".format(*value.interval)


def _published(row: Row) -> str:
    return "-" if row.published is None else "{:.2f} ± {:.2f}".format(*row.published)


def _objectives(row: Row) -> str:
    if row.objective is None:
        return "-"
    truth = "-" if row.truth_objective is None else f"{row.truth_objective:.2f}"
    return f"{row.objective:.2f} ({truth})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} %"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f}"


def _level(noise: float) -> str:
    return f"{noise:g}"
