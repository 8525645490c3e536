"""Learners on disk: a folder with JSON for what can be read and NPZ for arrays, never pickle."""

import json
import os
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, Field
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError, shortened
from bciigl.base.files import named_errors, written_folder
from bciigl.base.json_files import parse_json, read_json
from bciigl.base.registry import LEARNERS
from bciigl.learn.diagnose import VERDICTS, Verdict
from bciigl.learn.interactions import MOST_ACTIONS, InputError, Scaling

_SETTINGS, _ARRAYS = "learner.json", "learner.npz"


def _check_version(version: int) -> int:
    if version != 2:
        raise ValueError(f"should be 2, got {version} (bciigl 0.1 wrote 1): fit the learner again")
    return version


class _Settings(BaseModel, extra="forbid"):
    """What learner.json has."""

    version: Annotated[int, AfterValidator(_check_version)]
    learner: str
    parameters: dict[str, Any]
    n_actions: Annotated[int, Field(ge=2, le=MOST_ACTIONS)]
    diagnosis: dict[str, Any] | None


def check_saveable(learner: str | BaseEstimator) -> str:
    """Return the id that a learner, or the learner of an id, is saved by, or raise `InputError`."""
    if isinstance(learner, str):
        learner = LEARNERS.get(learner).make()
    own, known, fits = learner.get_params().items(), [], {}
    for each in LEARNERS.all():
        make = partial(each.make)  # a class, as a rule, with the parameters that are fixed
        kind = make.func if isinstance(make.func, type) else type(make())
        if hasattr(kind, "_learned"):
            known.append(each.id)
            if kind is type(learner) and make.keywords.items() <= own:
                fits[each.id] = len(make.keywords)
    if not fits:
        raise InputError(f"only {', '.join(known)} can be saved, got {type(learner).__name__}")
    return max(fits, key=lambda each: fits[each])


def save_learner(learner: BaseEstimator, folder: str | os.PathLike) -> None:
    """Write a fitted learner to a new or empty folder, as learner.json and learner.npz.

    It must be registered and declare what it learns (see `LinearPolicy`).
    """
    with written_folder(folder) as temporary:
        write_learner(learner, temporary)


def write_learner(learner: BaseEstimator, folder: Path) -> None:
    """Write the two files of a fitted learner into a folder."""
    settings = {"version": 2, "learner": check_saveable(learner)}
    check_is_fitted(learner)
    settings |= {
        "parameters": learner.get_params(),
        "n_actions": learner.n_actions_,
        "diagnosis": learner.diagnosis_.as_dict() if learner._diagnoses else None,
    }
    arrays = {name: getattr(learner, name) for name in learner._learned}
    for side in _sides(learner):
        arrays[f"{side}_mean"], arrays[f"{side}_scale"] = getattr(learner, f"{side}_scaling_")
    # Numbers and arrays of numpy become plain ones.
    text = json.dumps(settings, indent=2, default=lambda each: each.tolist()) + "\n"
    with named_errors(folder):
        (folder / _SETTINGS).write_text(text, encoding="utf-8")
        np.savez(folder / _ARRAYS, **arrays)


def load_learner(folder: str | os.PathLike) -> BaseEstimator:
    """Return a learner that `save_learner` wrote, or raise `InputError` if it is not one."""
    path = Path(folder) / _SETTINGS
    settings = read_json(path, _Settings, error=InputError)
    try:
        learner = LEARNERS.get(settings.learner).make(**settings.parameters)
        check_saveable(learner)
        if learner._diagnoses or settings.diagnosis is not None:
            learner.diagnosis_ = _diagnosis(settings, learner._diagnoses)
        arrays = read_arrays(path := Path(folder) / _ARRAYS)
        sizes = {"a": settings.n_actions, "?": "any"}
        for side in _sides(learner):
            mean = _numbers(arrays, f"{side}_mean", ("any",))
            scale = _numbers(arrays, f"{side}_scale", mean.shape)
            setattr(learner, f"{side}_scaling_", Scaling(mean, scale))
            sizes[side[0]] = len(mean) + 1
        for name, shape in learner._learned.items():
            values = _numbers(arrays, name, tuple(sizes[axis] for axis in shape))
            setattr(learner, name, values if shape else float(values))
    except (BciiglError, TypeError) as error:  # a type error tells of an unknown parameter
        # What is wrong with the arrays as such is told with their path.
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    learner.n_actions_, learner.n_features_in_ = settings.n_actions, sizes["c"] - 1
    return learner


def _sides(learner: BaseEstimator) -> list[str]:
    """Return what is scaled: context, and feedback where the learner decodes it."""
    axes = "".join(learner._learned.values())
    return [side for side in ("context", "feedback") if side[0] in axes]


def _numbers(arrays: dict[str, np.ndarray], name: str, shape: tuple) -> np.ndarray:
    """Return an array that has the shape, in which a size may be "any", and usable numbers."""
    values = arrays.get(name, np.array(None))
    fits = values.dtype == float and values.ndim == len(shape)
    fits = fits and all(map(lambda wanted, size: wanted in ("any", size), shape, values.shape))
    scale = name.endswith("_scale")  # infinite for a feature that did not vary
    if not fits or not (values > 0 if scale else np.isfinite(values)).all():
        wanted = f"{'numbers above 0' if scale else 'finite numbers'} of shape {shape}"
        got = f"{values.dtype} of shape {values.shape}" if name in arrays else "nothing"
        raise InputError(f"{name} should be {wanted}, got {got}")
    return values


def _diagnosis(settings: _Settings, kinds: tuple[type[Verdict], ...]) -> Verdict:
    """Return the diagnosis of the kind that the learner makes and that has the same fields."""
    values = settings.diagnosis
    for kind in kinds:
        if set(values or ()) == {each.name for each in fields(kind)}:
            found = parse_json(json.dumps(values), kind, name="diagnosis", error=InputError)
            if found.verdict in VERDICTS:
                return found
    raise InputError(f"diagnosis: should be that of {settings.learner}, got {shortened(values)}")
