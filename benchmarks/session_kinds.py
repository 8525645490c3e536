"""Kinds of sessions on which verdicts are tested: good, bad and treacherous ones."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import shift
from sessions import Guess, Recording, Scan, Session, plain_scan, record

from bciigl.brain import Brain
from bciigl.brain.events import Event
from bciigl.loop import SimulatedPerson
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import run_count
from bciigl.source.interface import Participant

TEST_TRIALS = 920
VOXELS = 64
CATCH_MATCH_RATE = 0.8
KINDS = {
    "easy": "noise 0.05 to 0.7",
    "hard": "noise 0.9 to 2",
    "hopeless": "noise 4 to 10, or judgments without weight in the feedback",
    "drifting": "a random walk within each run, shared by context and feedback",
    "leaking": "the context added to the feedback, as it is, rotated, or along one direction",
    "smooth": "patterns smoothed by 2 to 8 mm",
    "lapsing": "5 to 40 % wrong judgments, up to 30 % wrong imaginations",
    "two options": "K = 2 without catch trials, similarity 0 to 0.894",
    "two options, catch": "K = 2 with 10 to 40 % catch trials",
    "swapped": "what patterns of imagination mean changes half-way",
    "graded": "neighbouring options count as a match in 30 to 90 % of the trials",
    "generous": "a mismatch is judged a match in 30 to 90 % of the trials",
    "silent, leaking": "judgments evoke the same, and the context leaks into the feedback",
    "silent, aroused": "judgments evoke the same, and arousal shows in context and feedback",
    "frequent": "one option is imagined 60 % of the time",
    "silent runs": "every third run has no signal at all",
    "many options": "K = 10",
    "few trials": "46 to 138 trials",
    "late or early": "the response 1 s earlier to 2 s later, narrower or wider",
    "spikes": "0.5 to 4 motion spikes a minute",
    "changing": "patterns turn by 10 to 70 degrees during the session",
    "jump": "the head moves by 0.2 to 0.6 voxels at some run",
    "heavy tails": "noise with rare large values, in single voxels or in whole frames",
    "repeated": "the agent guesses one option 50 to 70 % of the time, with its propensity",
    "similarity 0": "imagining an option does not resemble seeing it",
    "similarity -0.8": "imagining an option resembles the contrary of seeing it",
    "not normalised": "estimates in the scanner's units, as of arrays without frames",
}
PURE_NOISE = {
    "noise, brain": "the brain's noise at full strength, no signal",
    "noise, not normalised": "the same, in the scanner's units",
    "noise, white": "white noise in place of contexts and feedback",
}
SILENT = ("silent, leaking", "silent, aroused")
# What of the protocol is drawn for a kind, given the session's random numbers.
_BRAIN: dict[str, Callable[[np.random.Generator], dict[str, Any]]] = {
    "smooth": lambda rng: {"smoothness": rng.uniform(2, 8)},
    "two options": lambda rng: {"similarity": float(rng.choice([0.0, 0.5, 0.894]))},
    "late or early": lambda rng: {
        "hrf_delay": rng.uniform(-1, 2),
        "hrf_dispersion": rng.uniform(0.8, 1.25),
    },
    "spikes": lambda rng: {"motion": {"spikes_per_minute": rng.uniform(0.5, 4)}},
    "similarity 0": lambda rng: {"similarity": 0.0},
    "similarity -0.8": lambda rng: {"similarity": -0.8},
    "noise, brain": lambda rng: {"cnr": 1e-6},
    "noise, not normalised": lambda rng: {"cnr": 1e-6},
}
_NOISE = {"easy": (0.05, 0.7), "hard": (0.9, 2.0)}
_NOISE |= {"noise, brain": (1.0, 1.0), "noise, not normalised": (1.0, 1.0)}
_NOISE_OTHERWISE = (0.3, 1.1)
_RUNS = {"many options": (15.0, 30.0), "few trials": (1.0, 1.5, 2.0, 3.0)}
_RUNS_OTHERWISE = (3.0, 5.0, 8.0, 10.0, 15.0)


@dataclass(frozen=True)
class Plan:
    """What happens in a session."""

    protocol: Protocol
    catch: bool = False
    person: Callable[..., SimulatedPerson] = SimulatedPerson
    guess: Guess | None = None
    scan: Scan = plain_scan
    spoil: Callable[[Session], Session] = lambda session: session  # estimates in scanner units


class Judge(SimulatedPerson):
    """A person with a habit.

    Parameters
    ----------
    habit : str
        ``"frequent"``, ``"graded"`` or ``"generous"``, as in `KINDS`.
    level : float
        How often it shows, as a share of the trials.
    """

    def __init__(
        self,
        protocol: Protocol,
        trials: int,
        rng: np.random.Generator,
        *,
        habit: str,
        level: float,
        catch: bool = False,
    ) -> None:
        super().__init__(protocol, trials, rng, catch=catch)
        self._habit, options = habit, len(self._protocol.task.options)
        self._gives_in = rng.random(trials) < level
        if habit == "frequent":
            others = rng.integers(1, options, size=trials)
            self.meant = self.imagined = np.where(self._gives_in, 0, others)

    def answer(self, trial: int, guess: int) -> list[Event]:
        """Return what a guess evokes."""
        distance = abs(int(self.meant[trial]) - guess)
        judged = distance == 0
        if self._habit == "generous" or (self._habit == "graded" and distance == 1):
            judged = judged or bool(self._gives_in[trial])
        return Participant.answer(self, trial, guess, judged)


def draw(kind: str, rng: np.random.Generator, seed: int) -> Plan:
    """Return what happens in a session of some kind."""
    protocol = _protocol(kind, rng, seed)
    options = len(protocol.task.options)
    how: dict[str, Any] = {"catch": "catch" in kind, "scan": _scan(kind, protocol, rng)}
    if kind in ("frequent", "graded", "generous"):
        level = 0.6 if kind == "frequent" else rng.uniform(0.3, 0.9)
        how["person"] = partial(Judge, habit=kind, level=level)
    elif kind == "repeated":
        often = rng.uniform(0.5, 0.7)
        share = np.full(options, (1 - often) / (options - 1))
        share[rng.integers(options)] = often
        how["guess"] = partial(_guess, share)
    elif kind in ("drifting", "leaking", *SILENT):
        how["spoil"] = partial(_spoil, kind, rng)
    return Plan(protocol, **how)


def recordings(kind: str, rng: np.random.Generator, seed: int) -> tuple[Plan, Recording, Recording]:
    """Return a training and a test session of some kind, and what happened in them."""
    plan = draw(kind, rng, seed)
    brain = Brain(plan.protocol)
    if kind in SILENT:
        same = brain.patterns["judgment", True]
        brain = _with_patterns(brain, {**brain.patterns, ("judgment", False): same})
    how = {"person": plan.person, "guess": plan.guess, "scan": plan.scan}
    train = record(brain, "train", plan.protocol.task.trials, rng, catch=plan.catch, **how)
    test = record(brain, "test", TEST_TRIALS, rng, catch=False, **how)
    return plan, train, test


def white_noise(rng: np.random.Generator) -> tuple[Session, int]:
    """Return a session of noise alone, and how many options it has."""
    options, trials = int(rng.choice([3, 3, 4, 5, 10])), int(46 * rng.choice(_RUNS_OTHERWISE))
    context, feedback = rng.normal(size=(2, trials, VOXELS))
    action, label = rng.integers(options, size=(2, trials))
    run, catch = 1 + np.arange(trials) // 46, np.zeros(trials, bool)
    uniform = np.full(trials, 1 / options)
    return Session(context, action, feedback, run, catch, label, uniform), options


def _protocol(kind: str, rng: np.random.Generator, seed: int) -> Protocol:
    options = int(rng.choice([3, 3, 3, 4, 5]))
    options = 2 if kind.startswith("two") else 10 if kind == "many options" else options
    trials = int(46 * rng.choice(_RUNS.get(kind, _RUNS_OTHERWISE)))
    low, high = _NOISE.get(kind, _NOISE_OTHERWISE)
    human, feedback, catch = {}, {}, {}
    if kind == "hopeless":
        if rng.random() < 0.5:
            feedback = {"perception": 1.0, "judgment": 0.0}
        else:
            low, high = 4.0, 10.0
    elif kind == "lapsing":
        lapses = {"judgment_lapse": rng.uniform(0.05, 0.4)}
        human = {**lapses, "imagination_lapse": rng.uniform(0, 0.3)}
    elif options == 2:
        # Without catch trials two options are refused; they are left out when it is recorded.
        share = rng.uniform(0.1, 0.4) if "catch" in kind else 0.0101
        catch = {"share": share, "match_rate": CATCH_MATCH_RATE}
    brain = _BRAIN[kind](rng) if kind in _BRAIN else {}
    return Protocol(
        name="verdict",
        task={"options": list(range(options)), "trials": trials, "catch": catch},
        brain={"noise": rng.uniform(low, high), **brain},
        human=human,
        feedback=feedback,
        seed=seed,
    )


def _guess(
    share: np.ndarray, trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return guesses of which some are more probable than others."""
    action = rng.choice(len(share), size=trials, p=share)
    return action, share[action]


def _scan(kind: str, protocol: Protocol, rng: np.random.Generator) -> Scan:
    """Return what gives the frames of a run.

    The test session is of the brain as it is at the end of the training session.
    """
    runs = run_count(protocol, protocol.task.trials)
    changed = int(rng.integers(1, runs)) + 1 if kind == "jump" else runs // 2 + 1
    move = rng.normal(size=3)
    move *= rng.uniform(0.2, 0.6) / np.linalg.norm(move)
    turned, others = rng.uniform(10, 70), np.random.default_rng([protocol.seed, 7])
    target = {}

    def scan(brain: Brain, name: str, run: int, trials: int, events: list[Event]) -> np.ndarray:
        over = name == "test" or run >= changed
        if kind == "silent runs" and name == "train" and run % 3 == 0:
            events = []
        elif kind == "swapped" and over:
            brain = _swapped(brain)
        elif kind == "jump" and over:
            brain = _moved(brain, move)
        elif kind == "changing":
            for each, pattern in brain.patterns.items():
                target.setdefault(each, others.random(len(pattern)))
            done = 1.0 if name == "test" else (run - 1) / max(runs - 1, 1)
            brain = _turned(brain, target, np.deg2rad(turned * done))
        frames = plain_scan(brain, name, run, trials, events)
        return _with_heavy_tails(frames, rng) if kind == "heavy tails" else frames

    return scan


def _with_patterns(brain: Brain, patterns: dict) -> Brain:
    changed = copy(brain)
    changed.patterns = patterns
    return changed


def _swapped(brain: Brain) -> Brain:
    """Return a brain in which imagining an option looks as imagining the next one did."""
    options, patterns = brain.protocol.task.options, dict(brain.patterns)
    for option, following in zip(options, (*options[1:], options[0]), strict=True):
        patterns["imagination", option] = brain.patterns["imagination", following]
    return _with_patterns(brain, patterns)


def _moved(brain: Brain, move: np.ndarray) -> Brain:
    """Return a brain of which other places are recorded, some voxels away."""
    patterns = {
        each: shift(pattern.reshape(4, 4, 4), move, order=1, mode="nearest").ravel()
        for each, pattern in brain.patterns.items()
    }
    return _with_patterns(brain, patterns)


def _turned(brain: Brain, target: dict, angle: float) -> Brain:
    """Return a brain whose patterns have turned towards others."""
    patterns = {
        each: 0.5 + np.cos(angle) * (pattern - 0.5) + np.sin(angle) * (target[each] - 0.5)
        for each, pattern in brain.patterns.items()
    }
    return _with_patterns(brain, patterns)


def _with_heavy_tails(frames: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shape = (len(frames), frames.shape[1] if rng.random() < 0.5 else 1)
    return frames + 0.3 * frames.std(axis=0) * rng.standard_t(2.2, size=shape)


def _spoil(kind: str, rng: np.random.Generator, session: Session) -> Session:
    """Return a session in which context and feedback have something in common besides the reward.

    Its size is in SDs of the estimates.
    """
    context, feedback = session.context, session.feedback
    voxels, sizes = context.shape[1], (context.std(), feedback.std())
    if kind == "drifting":
        walk = np.concatenate(
            [
                np.cumsum(rng.normal(0, 0.15, ((session.run == run).sum(), 3)), axis=0)
                for run in np.unique(session.run)
            ]
        )
        size, places = 10 ** rng.uniform(-1, 0.2), rng.normal(size=(2, 3, voxels))
        context = context + size * sizes[0] * walk @ places[0]
        feedback = feedback + size * sizes[1] * walk @ places[1]
    if kind == "silent, aroused":
        aroused, places = rng.normal(size=(len(context), 1)), rng.normal(size=(2, voxels))
        context = context + rng.uniform(0, 1) * sizes[0] * aroused * places[0]
        feedback = feedback + 10 ** rng.uniform(-1, 0.2) * sizes[1] * aroused * places[1]
    if "leaking" in kind:
        ways = (
            np.eye(voxels),
            np.linalg.qr(rng.normal(size=(voxels, voxels)))[0],
            np.outer(rng.normal(size=voxels), rng.normal(size=voxels)) / voxels,
        )
        leak = (context - context.mean(axis=0)) / sizes[0] @ ways[rng.integers(len(ways))]
        feedback = feedback + 10 ** rng.uniform(-1, 0.5) * sizes[1] * leak
    return session._replace(context=context, feedback=feedback)
