"""The kinds of study: what differs between them where they are run, kept and gone on with."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

from bciigl import __version__
from bciigl.brain.simulated import relative_paths
from bciigl.protocol import Protocol
from bciigl.protocol.compare import first_difference
from bciigl.study.cell import run_cell
from bciigl.study.grid import UNIMPORTANT, Cell, Study
from bciigl.study.results import CellResult, LabelledResult

AnyStudy = Any
AnyCell = Any
Unlike = tuple[str, Any, Any]
"""What two studies differ in, and its value in each."""


class Kind(NamedTuple):
    """What is particular to a kind of study.

    Attributes
    ----------
    name : str
    run : function
        From a cell to its result, as plain data.
    result : class
        What that is checked by.
    document : function
        From a study to the plain data that describe it in its folder.
    read : function
        The way back.
    difference : function
        From two studies to what makes them different, if anything does: then they cannot share a
        folder. More repeats and the like do not.
    """

    name: str
    run: Callable[[Any], dict[str, Any]]
    result: type[BaseModel]
    document: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], Any]
    difference: Callable[[Any, Any], Unlike | None]


def kind_of(thing: AnyStudy | AnyCell) -> Kind:
    """Return the kind of a study, or of a cell of it."""
    return SIMULATED if isinstance(thing, (Study, Cell)) else labelled_kind()


def read_document(document: dict[str, Any]) -> AnyStudy:
    """Return the study that plain data describe."""
    return (labelled_kind() if "datasets" in document else SIMULATED).read(document)


def _simulated_document(study: Study) -> dict[str, Any]:
    needed = any(relative_paths(each.protocol) for each in study.settings)
    return {
        "bciigl": __version__,
        "protocol": study.protocol.model_dump(mode="json"),
        # Where bciigl is installed is nobody's concern.
        "folder": study.folder if needed else None,
        "vary": {name: list(values) for name, values in study.vary.items()},
        "controls": list(study.controls),
        "table": study.table,
    }


def _read_simulated(document: dict[str, Any]) -> Study:
    return Study(
        Protocol.model_validate(document["protocol"]),
        document["folder"],
        document["vary"],
        tuple(document["controls"]),
        document["table"],
    )


def _simulated_difference(ours: Study, theirs: Study) -> Unlike | None:
    for name, here, there in (
        ("table", ours.table, theirs.table),
        ("controls", ", ".join(ours.controls), ", ".join(theirs.controls)),
    ):
        if here != there:
            return name, here or "none", there or "none"
    return first_difference(_experiment(ours), _experiment(theirs))


def _experiment(study: Study) -> Protocol:
    """Return what makes a study the same: its experiment but for noise and size."""
    unimportant = {name: Protocol.model_fields[name].default for name in UNIMPORTANT - {"name"}}
    protocol = study.protocol.model_copy(update=unimportant)
    # Noise levels are the study's; the protocol's own is not used.
    return protocol.model_copy(update={"brain": protocol.brain.model_copy(update={"noise": 0.0})})


SIMULATED = Kind(
    "simulated",
    run_cell,
    CellResult,
    _simulated_document,
    _read_simulated,
    _simulated_difference,
)


def labelled_kind() -> Kind:
    """Return the kind of studies of labelled data."""
    from bciigl.labelled.cell import run_labelled_cell
    from bciigl.labelled.study import LabelledStudy

    return Kind(
        "labelled",
        run_labelled_cell,
        LabelledResult,
        LabelledStudy.document,
        LabelledStudy.read,
        LabelledStudy.difference,
    )
