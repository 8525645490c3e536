"""Learners on disk: a folder with JSON for what can be read and NPZ for arrays, never pickle."""

import json
import os
from dataclasses import fields
from operator import itemgetter, methodcaller
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError, did_you_mean, shortened
from bciigl.base.files import named_errors, written_folder
from bciigl.base.json_files import first_problem, read_json
from bciigl.base.registry import LEARNERS, Specification
from bciigl.learn.diagnose import VERDICTS, Verdict
from bciigl.learn.interactions import MOST_ACTIONS, InputError, Scaling

_SETTINGS, _ARRAYS = "learner.json", "learner.npz"


class _Settings(BaseModel):
    """What learner.json has."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1, 2]
    learner: str
    parameters: dict[str, Any]
    n_actions: Annotated[int, Field(ge=2, le=MOST_ACTIONS)]
    diagnosis: dict[str, Any] | None


def check_saveable(learner: str | BaseEstimator) -> None:
    """Raise `InputError` unless a learner, or the learner of an id, can be saved."""
    if isinstance(learner, str):
        learner = LEARNERS.get(learner).make()
    _specification(learner)


def _kind(learner: Specification) -> type:
    make = getattr(learner.make, "func", learner.make)  # of a partial
    return make if isinstance(make, type) else type(make())


def _saveable() -> dict[str, Specification]:
    return {each.id: each for each in LEARNERS.all() if hasattr(_kind(each), "_learned")}


def _specification(learner: BaseEstimator) -> Specification:
    """Return which of the learners that can be saved it is: the one that fixes most of it."""
    found, parameters, fits = _saveable(), learner.get_params(), []
    for each in found.values():
        fixed = getattr(each.make, "keywords", {})  # of a partial
        if _kind(each) is type(learner) and fixed.items() <= parameters.items():
            fits.append((len(fixed), each))
    if not fits:
        raise InputError(f"only {', '.join(found)} can be saved, got {type(learner).__name__}")
    return max(fits, key=itemgetter(0))[1]


def _find(name: str, version: int) -> Specification:
    """Return the learner that a file names: by its id, or in version 1 by its class."""
    found = _saveable()
    if version == 1:
        found = {_kind(each).__name__: each for each in reversed(found.values())}
    if name not in found:
        near = did_you_mean(name, found)
        raise InputError(f"learner: should be one of {', '.join(found)}, got {name!r}{near}")
    return found[name]


def save_learner(learner: BaseEstimator, folder: str | os.PathLike) -> None:
    """Write a fitted learner to a new folder, as learner.json and learner.npz.

    Parameters
    ----------
    learner : estimator
        Fitted; one of the registered learners that declare what they learn (`LinearPolicy`). The
        supervised ceiling is for comparison, not a policy to keep.
    folder : path-like
        Absent or empty.
    """
    check_saveable(learner)
    check_is_fitted(learner)
    with written_folder(folder) as temporary:
        write_learner(learner, temporary)


def write_learner(learner: BaseEstimator, folder: Path) -> None:
    """Write the two files of a fitted learner into a folder."""
    diagnosis = getattr(learner, "diagnosis_", None)
    settings = {
        "version": 2,
        "learner": _specification(learner).id,
        "parameters": learner.get_params(),
        "n_actions": learner.n_actions_,
        "diagnosis": None if diagnosis is None else diagnosis.as_dict(),
    }
    arrays = {name: getattr(learner, name) for name in learner._learned}
    for side in _sides(learner):
        scaling = getattr(learner, f"{side}_scaling_")
        arrays |= {f"{side}_{name}": each for name, each in scaling._asdict().items()}
    # Numbers and arrays of numpy become plain ones.
    text = json.dumps(settings, indent=2, default=methodcaller("tolist")) + "\n"
    with named_errors(folder):
        (folder / _SETTINGS).write_text(text, encoding="utf-8")
        np.savez(folder / _ARRAYS, **arrays)


def load_learner(folder: str | os.PathLike) -> BaseEstimator:
    """Return a learner that `save_learner` wrote.

    Raises
    ------
    InputError
        If the folder is not such a one, is of another version, or its parts do not fit.
    """
    path = Path(folder) / _SETTINGS
    settings = read_json(path, _Settings, error=InputError)
    try:
        found = _find(settings.learner, settings.version)
        diagnosis = _diagnosis(settings, _kind(found)._diagnoses)
        try:
            learner = found.make(**settings.parameters)
        except TypeError as error:
            raise InputError(f"parameters: {error}") from error
        path = Path(folder) / _ARRAYS
        arrays = read_arrays(path)
        sizes = {"a": settings.n_actions, "?": None}
        for side in _sides(learner):
            mean = _numbers(arrays, f"{side}_mean", (None,))
            # Infinite for a feature that did not vary.
            scale = _numbers(arrays, f"{side}_scale", mean.shape, finite=False)
            if not (scale > 0).all():
                raise InputError(f"{side}_scale should be above 0")
            setattr(learner, f"{side}_scaling_", Scaling(mean, scale))
            sizes[side[0]] = len(mean) + 1
        for name, shape in learner._learned.items():
            values = _numbers(arrays, name, tuple(sizes[axis] for axis in shape))
            setattr(learner, name, values if shape else float(values))
    except BciiglError as error:
        # What is wrong with the arrays as such is told with their path.
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    learner.n_actions_, learner.n_features_in_ = settings.n_actions, sizes["c"] - 1
    if diagnosis is not None:
        learner.diagnosis_ = diagnosis
    return learner


def _sides(learner: BaseEstimator) -> list[str]:
    """Return what is scaled: context, and feedback where the learner decodes it."""
    decodes = any("f" in shape for shape in learner._learned.values())
    return ["context", "feedback"] if decodes else ["context"]


def _numbers(
    arrays: dict[str, np.ndarray], name: str, shape: tuple[int | None, ...], *, finite: bool = True
) -> np.ndarray:
    """Return an array of the right type and shape, where None stands for any size."""
    values = arrays.get(name, np.array(None))
    fits = values.dtype == float and values.ndim == len(shape)
    fits = fits and all(map(lambda wanted, size: wanted in (None, size), shape, values.shape))
    if not fits or (finite and not np.isfinite(values).all()):
        got = f"{values.dtype} of shape {values.shape}" if name in arrays else "nothing"
        wanted = tuple("any" if size is None else size for size in shape)
        raise InputError(f"{name} should be finite numbers of shape {wanted}, got {got}")
    return values


def _diagnosis(settings: _Settings, kinds: tuple[type[Verdict], ...]) -> Verdict | None:
    """Return the diagnosis of the kind that the learner makes and that has the same fields."""
    values = settings.diagnosis
    if values is None and not kinds:
        return None
    for kind in kinds:
        if values is not None and set(values) == {each.name for each in fields(kind)}:
            try:
                found = TypeAdapter(kind).validate_json(json.dumps(values), strict=True)
            except ValidationError as error:
                raise InputError(first_problem(error, "diagnosis")) from error
            if found.verdict in VERDICTS:
                return found
    raise InputError(f"diagnosis: should be that of {settings.learner}, got {shortened(values)}")
