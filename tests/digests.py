"""Runs as hashes, for tests in several processes."""

import hashlib

import numpy as np

from bciigl.brain import Brain, Trials
from bciigl.protocol import Protocol


def protocol(**sections) -> Protocol:
    task = {"options": [7, 8, 9], "trials_per_run": 4, **sections.pop("task", {})}
    return Protocol.model_validate({"name": "x", "task": task, **sections})


def digest(run: int, engine: str = "exact", folder: str = ".") -> str:
    settings = {"noise": 1.0, "engine": engine}
    if engine == "fmrisim":
        settings |= {"subject": "head", "region": {"center": [8, 10, 8], "size": 3}}
    brain = Brain(protocol(brain=settings), folder)
    truth = Trials.random(brain.protocol, 4, np.random.default_rng(run))
    frames = brain.scan(run=run).play(truth.events(brain.protocol))
    return hashlib.sha256(frames.tobytes()).hexdigest()
