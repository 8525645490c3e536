"""A figure with all that belongs to it: words for it, and the numbers that are drawn."""

import io
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bciigl.base.files import written_file
from bciigl.recording.layout import write_table
from bciigl.report.figures import render


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure with its words, of which `alt` is for those who cannot see it, and its numbers."""

    name: str
    figure: Figure = field(repr=False)
    caption: str
    alt: str = field(repr=False)
    columns: Mapping[str, Sequence[Any]] = field(repr=False)

    @cached_property
    def svg(self) -> bytes:
        """The figure as an SVG image; the same figure gives the same bytes."""
        return self._image(".svg")

    def _repr_png_(self) -> bytes:
        """Return the figure as a notebook shows it."""
        return self._image(".png")

    def _image(self, ending: str) -> bytes:
        image = io.BytesIO()
        render(self.figure, image, ending)
        return image.getvalue()

    def save(self, folder: str | os.PathLike) -> dict[str, Path]:
        """Write NAME.svg and NAME.tsv into a folder that is there; return their paths."""
        paths = {ending: Path(folder) / f"{self.name}.{ending}" for ending in ("svg", "tsv")}
        with written_file(paths["svg"]) as temporary:
            temporary.write_bytes(self.svg)
        cells = {name: [_cell(each) for each in column] for name, column in self.columns.items()}
        write_table(paths["tsv"], cells)
        return paths


def _cell(value: Any) -> str:
    """Return a value as a table has it: numbers in full, and n/a, as BIDS has it, for none."""
    if value is None or value != value:
        return "n/a"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    # What would end a cell or a row cannot be in one.
    return " ".join(str(value).split())
