"""Recorded arrays made ready to learn from: people kept apart, features in SDs of the noise."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bciigl.base.errors import shortened
from bciigl.base.threads import one_thread
from bciigl.estimate.noise import Scatter, normalised
from bciigl.learn.interactions import InputError, Interactions, check_whole, less_means, run_codes
from bciigl.recording.truth import Session

Sessions = Mapping[str, Session]
"""What is learned from, ``"train"``, what it is tested on, ``"test"``, and frames to normalise
features by, ``"noise"``, if there are such."""


def array_name(session: str, field: str) -> str:
    """Return what an array of a session is called in files."""
    if session == "train":
        return field
    return "noise" if (session, field) == ("noise", "context") else f"{session}_{field}"


def check_person(values: np.ndarray, name: str, rows: int, unit: str = "trials") -> np.ndarray:
    """Return ids of people, (rows,), as text; they may be whole numbers."""
    ids = np.asarray(values)
    if ids.dtype.kind not in "US":
        return check_whole(ids, name, rows, unit).astype(str)
    if ids.shape != (rows,):
        raise InputError(f"{name} must have one id for each of {rows} {unit}, got {ids.shape}")
    if ids.dtype.kind == "S":
        ids = np.char.decode(ids, "utf-8", "replace")
    for each in np.unique(ids).tolist():
        if not re.fullmatch(r"\w[\w .+-]{0,63}", each):  # ids are printed, and name folders
            ask = "whole numbers, or up to 64 letters, digits and -_.+"
            raise InputError(f"{name} must be {ask}, got {shortened(each)}")
    return ids


def people_of(sessions: Sessions) -> list[str]:
    """Return whose trials there are, in their order; nobody if it is not known."""
    ids = [each.interactions.person for each in sessions.values()]
    return list(dict.fromkeys(one for each in ids if each is not None for one in each.tolist()))


def by_person(sessions: Sessions, *, mix: bool = False) -> dict[str | None, dict[str, Session]]:
    """Return what is learned from and tested on together, normalised, for each person.

    Where people are not known, or are to be mixed, it is all for one whose id is None. If they are
    mixed, runs of the same number are different ones in different people.
    """
    missing = [name for name in sessions if sessions[name].interactions.person is None]
    if len(missing) == len(sessions):
        if mix:
            raise InputError("there is no array person, and so there are no people to mix")
        return {None: normalise(sessions)}
    if missing:
        needed = "if one of the arrays has ids of people, all must have them"
        raise InputError(f"array {array_name(missing[0], 'person')} is missing: {needed}")
    if mix:
        return {None: normalise({name: _mixed(each) for name, each in sessions.items()})}
    people = people_of({"train": sessions["train"]})
    for name, (given, _) in sessions.items():
        there = set(given.person.tolist())
        if strangers := sorted(there - set(people)):
            raise InputError(
                f"{array_name(name, 'person')}: {strangers[0]} has no trials to learn from; there "
                f"are those of {shortened(', '.join(people))} (people are mixed only if asked for)"
            )
        if name == "noise" and (without := [each for each in people if each not in there]):
            raise InputError(f"noise_person: there are no frames of {without[0]}")
    found: dict[str | None, dict[str, Session]] = {}
    for person in people:
        own = {
            name: each.rows(each.interactions.person == person) for name, each in sessions.items()
        }
        try:
            found[person] = normalise({name: own[name] for name in own if own[name][0].trials})
        except InputError as error:
            raise InputError(f"person {person}: {error}") from error
    return found


def _mixed(session: Session) -> Session:
    """Return a session of people who are not told apart any more, but for their runs."""
    given = session.interactions
    person = np.unique(given.person, return_inverse=True)[1].ravel()
    pairs = np.stack([person, run_codes(given.run, given.trials)])
    run = np.unique(pairs, axis=1, return_inverse=True)[1].ravel()
    return session._replace(interactions=replace(given, person=None, run=run))


def normalise(sessions: Sessions) -> dict[str, Session]:
    """Return sessions in SDs of the noise and uncorrelated, as far as there are frames of it.

    All contexts are multiplied by the same matrix, and so is feedback with as many features.
    """
    found = dict(sessions)
    if (noise := found.pop("noise", None)) is None:
        return found
    whitening = _whitening(noise.interactions)
    for name, (given, truth) in found.items():
        views: dict[str, Any] = {
            "context": normalised(given.context, whitening),
            "whitening": whitening,
        }
        if given.feedback is not None and given.feedback.shape[1] == len(whitening):
            views["feedback"] = normalised(given.feedback, whitening)
        found[name] = Session(replace(given, **views), truth)
    return found


def _whitening(noise: Interactions) -> np.ndarray:
    """Return what makes frames uncorrelated, with an SD of 1, when they have no mean in a run."""
    frames, run = noise.context, run_codes(noise.run, noise.trials)
    if len(frames) < 2:
        raise InputError(f"noise must have 2 frames or more, got {len(frames)}")
    left = less_means(frames, run)
    largest = np.abs(left).max(axis=0)
    # A constant such as 0.1 differs from its mean by about 1e-17.
    constant = largest <= 1e-12 * np.abs(frames).max(axis=0)
    if constant.any():
        where = f"feature {constant.argmax()} (from 0) is constant"
        raise InputError(f"noise must vary within its runs in each feature, but {where}")
    # Features may have different units, unlike voxels: a covariance must not be shrunk across them.
    scale = largest * (left / largest).std(axis=0)
    with one_thread():
        scatter = Scatter(frames.shape[1])
        scatter.add(left / scale, len(frames) - run.max() - 1)
        whitening: Any = scatter.whitening(scatter)  # not None: features vary
        return (whitening.T / scale).T
