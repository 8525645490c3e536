"""A report as one HTML file that needs nothing else: no network, no script, no file beside it."""

import base64
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from bciigl import __version__
from bciigl.base.errors import BciiglError
from bciigl.base.files import write_text
from bciigl.report.drawing import Drawing
from bciigl.report.table import Table


class KeyNumber(NamedTuple):
    """One of the few numbers that a report is read for, such as ``"95.4 %"``."""

    value: str
    label: str
    note: str = ""


class Notice(NamedTuple):
    """A thing to be seen before all else; its mood is ``"good"``, ``"unsure"`` or ``"bad"``."""

    mood: str
    title: str
    text: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a page; all but its title may be missing, and comes in this order."""

    title: str
    paragraphs: Sequence[str] = ()
    notices: Sequence[Notice] = ()
    numbers: Sequence[KeyNumber] = ()
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    preformatted: str = ""
    references: Sequence[str] = ()

    @property
    def anchor(self) -> str:
        """What links to the section call it."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


def again_section(words: Sequence[str], facts: Mapping[str, str], command: str) -> Section:
    """Return the section that says how to do it again: facts in a table, and the command."""
    rows = [*facts.items(), ("Python", platform.python_version())]
    table = Table(("what", "value"), rows)
    return Section("How to do it again", words, tables=[table], preformatted=command)


def page_text(title: str, sections: Sequence[Section], *, lead: str = "") -> str:
    """Return a page as HTML; the lead is below its title, and the first section is its head."""
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("bciigl.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["base64"] = lambda image: base64.b64encode(image).decode("ascii")
    template = environment.get_template("report.html")
    return template.render(title=title, lead=lead, sections=sections, version=__version__) + "\n"


def write_report(
    path: str | os.PathLike,
    figures: str | os.PathLike,
    title: str,
    sections: Sequence[Section],
    *,
    lead: str = "",
) -> dict[str, dict[str, Path]]:
    """Write a page, and into a folder that is there its figures with their numbers.

    Figures that an earlier report at this path had, and that this one has not, are deleted. Returns
    the files of each figure, by its name and then by their ending.
    """
    refuse_others_file(path)
    drawings = [each for section in sections for each in section.drawings]
    before = set(figures_in(path))
    for name in {each.name for each in drawings} - before:
        for file in Path(figures).glob(f"{name}.*"):
            raise BciiglError(f"{file}: exists already and is not of an earlier report")
    written = {each.name: each.save(figures) for each in drawings}
    write_text(path, page_text(title, sections, lead=lead), overwrite=True)
    for name in before - set(written):
        for ending in ("svg", "tsv"):
            Path(figures, f"{name}.{ending}").unlink(missing_ok=True)
    return written


def figures_in(path: str | os.PathLike) -> list[str]:
    """Return the names of the figures in a page; none if it is not there."""
    text = Path(path).read_text("utf-8", "replace") if Path(path).is_file() else ""
    return re.findall(r'<figure id="figure-(\w+)">', text)


def refuse_others_file(path: str | os.PathLike) -> None:
    """Raise an error unless a report can be written to a path without harm to anything else."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise BciiglError(f"{path}: a report is an HTML file; its name should end in .html")
    if path.is_dir():
        raise BciiglError(f"{path}: is a folder; name the HTML file to write")
    if path.is_file():
        with path.open("rb") as file:
            if b'<meta name="generator" content="bciigl ' in file.read(4096):
                return
    if os.path.lexists(path):
        raise BciiglError(f"{path}: exists already and is no report of bciigl; it is left alone")
