"""Learners on disk: a folder with JSON for what can be read and NPZ for arrays, never pickle."""

import json
import os
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.base.errors import shortened
from bciigl.base.files import written_folder
from bciigl.learn.action_inclusive import ActionInclusiveIGL
from bciigl.learn.bandit import ContextualBandit
from bciigl.learn.diagnose import ActionDiagnosis, Diagnosis, Verdict
from bciigl.learn.full_conditional import FullConditionalDiagnosis, FullConditionalIGL
from bciigl.learn.interactions import InputError, Scaling

VERSION = 1
LEARNERS = {
    each.__name__: each for each in (ActionInclusiveIGL, ContextualBandit, FullConditionalIGL)
}
_DIAGNOSES = {each.__name__: each for each in (Verdict, Diagnosis, FullConditionalDiagnosis)}
_SETTINGS, _ARRAYS = "learner.json", "learner.npz"
_FITTED = ("match_rate_", "objective_", "restart_objectives_")


def save_learner(learner: BaseEstimator, folder: str | os.PathLike) -> None:
    """Write a fitted learner to a new folder, as learner.json and learner.npz.

    Parameters
    ----------
    learner : ActionInclusiveIGL, FullConditionalIGL or ContextualBandit
        Fitted. The supervised ceiling is a yardstick, not a policy to keep.
    folder : path-like
        Absent or empty.
    """
    kind = type(learner).__name__
    if LEARNERS.get(kind) is not type(learner):
        raise InputError(f"only {', '.join(LEARNERS)} can be saved, got {kind}")
    check_is_fitted(learner)
    arrays = {
        "policy": learner.policy_,
        "context_mean": learner.context_scaling_.mean,
        "context_scale": learner.context_scaling_.scale,
    }
    if kind != ContextualBandit.__name__:
        arrays["decoder"] = learner.decoder_
        arrays["feedback_mean"] = learner.feedback_scaling_.mean
        arrays["feedback_scale"] = learner.feedback_scaling_.scale
    diagnosis = getattr(learner, "diagnosis_", None)
    settings = {
        "version": VERSION,
        "learner": kind,
        "parameters": _plain(learner.get_params()),
        "n_actions": learner.n_actions_,
        "fitted": {
            name: _plain(getattr(learner, name)) for name in _FITTED if hasattr(learner, name)
        },
        "diagnosis": None
        if diagnosis is None
        else {"kind": type(diagnosis).__name__, **diagnosis.as_dict()},
    }
    with written_folder(folder) as temporary:
        text = json.dumps(settings, indent=2) + "\n"
        (temporary / _SETTINGS).write_text(text, encoding="utf-8")
        np.savez(temporary / _ARRAYS, **arrays)


def load_learner(folder: str | os.PathLike) -> BaseEstimator:
    """Return a learner that `save_learner` wrote.

    Raises
    ------
    InputError
        If the folder is not such a one, is of another version, or its parts do not fit.
    """
    folder = Path(folder)
    settings, arrays = _read_settings(folder / _SETTINGS), _read_arrays(folder / _ARRAYS)
    try:
        return _restored(settings, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{folder}: is not a saved learner: {error}") from error


def _restored(settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> BaseEstimator:
    kind, n_actions = settings["learner"], settings["n_actions"]
    if kind not in LEARNERS:
        raise InputError(f"learner should be one of {', '.join(LEARNERS)}, got {shortened(kind)}")
    learner = LEARNERS[kind](**settings["parameters"])
    learner.context_scaling_ = _scaling(arrays, "context")
    learner.policy_ = _shaped(arrays, "policy", len(learner.context_scaling_.mean) + 1, n_actions)
    learner.n_actions_ = n_actions
    learner.n_features_in_ = len(learner.context_scaling_.mean)
    if kind != ContextualBandit.__name__:
        learner.feedback_scaling_ = _scaling(arrays, "feedback")
        size = len(learner.feedback_scaling_.mean) + 1
        per_action = () if kind == FullConditionalIGL.__name__ else (n_actions,)
        learner.decoder_ = _shaped(arrays, "decoder", size, *per_action)
    for name, value in settings["fitted"].items():
        if name not in _FITTED:
            raise InputError(f"unknown fitted value {shortened(name)}")
        setattr(learner, name, np.array(value) if isinstance(value, list) else value)
    if settings["diagnosis"] is not None:
        learner.diagnosis_ = _diagnosis(settings["diagnosis"])
    return learner


def _diagnosis(values: dict[str, Any]) -> Verdict:
    kind = _DIAGNOSES[values["kind"]]
    values = {name: value for name, value in values.items() if name != "kind"}
    wanted = {each.name for each in fields(kind)}
    if set(values) != wanted:
        raise InputError(f"diagnosis should have {', '.join(sorted(wanted))}")
    if "actions" in wanted:
        actions = [{**each, "interval": tuple(each["interval"])} for each in values["actions"]]
        values = {**values, "actions": tuple(ActionDiagnosis(**each) for each in actions)}
    return kind(**values)


def _scaling(arrays: dict[str, np.ndarray], side: str) -> Scaling:
    mean = arrays[f"{side}_mean"]
    if mean.ndim != 1:
        raise InputError(f"{side}_mean should be of shape (features,), got {mean.shape}")
    scale = _shaped(arrays, f"{side}_scale", len(mean), finite=False)
    if not (scale > 0).all():
        raise InputError(f"{side}_scale should be above 0")
    return Scaling(mean, scale)


def _shaped(
    arrays: dict[str, np.ndarray], name: str, *shape: int, finite: bool = True
) -> np.ndarray:
    values = arrays[name]
    if values.shape != shape or values.dtype != float or (finite and not np.isfinite(values).all()):
        raise InputError(
            f"{name} should be finite numbers of shape {shape}, got {values.dtype} {values.shape}"
        )
    return values


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not readable as JSON: {error}") from error
    if not isinstance(settings, dict) or settings.get("version") != VERSION:
        got = settings.get("version") if isinstance(settings, dict) else settings
        raise InputError(f"{path}: version should be {VERSION}, got {shortened(got)}")
    return settings


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: is not readable as NPZ: {error}") from error


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
