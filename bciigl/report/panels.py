"""Which rows of a study share a panel of a figure, and what is on its x axis."""

from collections.abc import Mapping, Sequence
from typing import Any

from bciigl.study.grid import in_words, is_number
from bciigl.study.rows import Row

NOISE = "noise"
MOST_PANELS = 6
PanelKey = tuple[float, str]
"""The noise and the title of a panel; 0 where noise is on the x axis."""


def across(rows: Sequence[Row]) -> str:
    """Return what accuracy is drawn against: the varied field with most values, or else noise.

    Fields of numbers go before others. A field that has one value only is not varied.
    """
    values = {name: values_of(rows, name) for name in rows[0].varied}
    several = {name: found for name, found in values.items() if len(found) > 1}
    numbers = [name for name, found in several.items() if all(map(is_number, found))]
    return max(numbers or several, key=lambda name: len(several[name]), default=NOISE)


def place_of(row: Row, against: str) -> Any:
    """Return the value that a row has on the x axis."""
    return row.noise if against == NOISE else row.varied[against]


def values_of(rows: Sequence[Row], against: str) -> list[Any]:
    """Return the values on the x axis: numbers in their order, others as they were given."""
    found: list[Any] = []
    for row in rows:
        if place_of(row, against) not in found:  # it may be a list, which has no hash
            found.append(place_of(row, against))
    return sorted(found) if all(map(is_number, found)) else found


def panels_of(rows: Sequence[Row], against: str) -> dict[PanelKey, list[Row]]:
    """Return the rows of each panel by noise and title: of each setting but for what it shows."""
    groups: dict[PanelKey, list[Row]] = {}
    for row in rows:
        key = (0.0, row.setting)
        if against != NOISE:
            others = in_words({name: row.varied[name] for name in row.varied if name != against})
            key = (row.noise, ", ".join(filter(None, [f"noise {row.noise:g}", others])))
        groups.setdefault(key, []).append(row)
    return groups


def drawn_panels(groups: Mapping[PanelKey, Any]) -> list[PanelKey]:
    """Return which panels are drawn: those of the highest noise levels, at most `MOST_PANELS`."""
    kept: list[PanelKey] = []
    for noise in sorted({key[0] for key in groups}, reverse=True):
        level = [key for key in groups if key[0] == noise]
        if kept and len(kept) + len(level) > MOST_PANELS:
            break
        kept += level[:MOST_PANELS]
    return [key for key in groups if key in kept]
