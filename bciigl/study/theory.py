"""Theorem 1, Example 3 and Assumption 4 of the paper (Xie, Saran et al., NeurIPS 2022), measured.

Made-up interactions keep to its assumptions. Contexts are Gaussian around each option's mean;
feedback is a code of the action, moved in a match, and tells match from mismatch in 99.9 %.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from bciigl import __version__
from bciigl.base.files import make_folder, write_text
from bciigl.base.json_files import read_json
from bciigl.base.progress import Progress, silent
from bciigl.base.registry import LEARNERS
from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.learn.action_inclusive import AI_IGL, AI_IGL_PAPER
from bciigl.learn.diagnose import TRUST
from bciigl.learn.full_conditional import FULL_CI
from bciigl.study.cell import versions
from bciigl.study.grid import StudyError

RESULTS = "theory.json"
REPEATS = 8
OPTIONS, TRIALS = (3, 4, 6, 8), (50, 100, 200, 400, 800, 1600, 3200)
ARMS = ((AI_IGL_PAPER.id, False), (AI_IGL.id, False), (AI_IGL.id, True))
"""Who learns, and whether a match moves feedback in the same direction for all options."""
MATCH_RATES = (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)
RATE_TRIALS = (25, 50, 100, 200, 400, 800)
EXAMPLE_TRIALS, EXAMPLE_LEARNERS = 1000, (FULL_CI.id, AI_IGL_PAPER.id, AI_IGL.id)
CONTEXT_FEATURES, FEEDBACK_FEATURES = 8, 12
DISTANCE, STRENGTH, CODE = 3.0, 6.0, 3.0
"""SDs of the noise: of mean contexts from 0, of match from mismatch, of the actions' codes."""
TESTED = 2000
LEAST_ERROR, MOST_OF_CHANCE = 0.001, 0.8
"""Errors between these are neither 0 nor chance: slopes are fitted to them."""
WRONG = 0.5
"""A session whose error is a larger share of that of chance was not learned."""

Tick = Callable[[], object]


@dataclass(frozen=True)
class Errors:
    """1 - V/V* of repeated sessions; `chance` is that of guessing."""

    learner: str
    alike: bool
    options: int
    trials: int
    chance: float
    errors: list[float]
    trusted: list[bool]

    @property
    def mean(self) -> float:
        """The mean over repeats."""
        return float(np.mean(self.errors))

    @property
    def bound(self) -> float:
        """The bound of Theorem 1 but for a constant."""
        return float(np.sqrt(self.options**3 / self.trials))


@dataclass(frozen=True)
class Fit:
    """Where errors are neither chance nor 0, they go with trials^slope and (K^power / trials).

    Standard errors are by jackknife over repeats. `constant` is the largest error in units of the
    bound, `last` the largest of those with most trials.
    """

    learner: str
    alike: bool
    cells: int
    slope: float | None
    slope_error: float | None
    power: float | None
    power_error: float | None
    constant: float
    last: float


@dataclass(frozen=True)
class Reached:
    """What a learner made of data of Example 3: V, and of full-CI the objective, in each repeat."""

    learner: str
    value: list[float]
    objective: list[float]
    trusted: list[bool]


@dataclass(frozen=True)
class Example:
    """Full-CI's objective in Example 3, exactly.

    Of the optimal policy it is the same for all `decoders`, from `optimal_least` to `optimal_most`.
    `best` is the largest of any policy and decoder, `best_value` the largest V that comes with it.
    """

    decoders: int
    optimal_least: float
    optimal_most: float
    constant_psi_2: float
    constant_psi_1: float
    best: float
    best_value: float


@dataclass(frozen=True)
class Region:
    """How many of the sessions at a match rate were learned upside down, and trusted so."""

    learner: str
    match_rate: float
    trials: int
    repeats: int
    upside_down: int
    trusted: int


@dataclass(frozen=True)
class Theory:
    """All that is measured."""

    bciigl: str
    versions: dict[str, str]
    seed: int
    repeats: int
    errors: list[Errors]
    fits: list[Fit]
    example: Example
    reached: list[Reached]
    regions: list[Region]


class World(NamedTuple):
    """What sessions of a repeat share."""

    means: np.ndarray  # (options, CONTEXT_FEATURES)
    codes: np.ndarray  # (options, FEEDBACK_FEATURES)
    judged: np.ndarray  # the same: match less mismatch


def theory(
    folder: str | Path, *, seed: int = 0, repeats: int = REPEATS, progress: Progress = silent
) -> Theory:
    """Measure all, and keep it in a folder; what is there is not measured again."""
    if repeats < 1 or seed < 0:
        raise StudyError(f"repeats should be 1 or more and seed 0 or more, got {repeats}, {seed}")
    path, mine = Path(folder, RESULTS), (__version__, seed, repeats)
    if path.exists():
        found = read_theory(folder)
        if (found.bciigl, found.seed, found.repeats) == mine:
            return found
        was = f"version {found.bciigl}, seed {found.seed} and {found.repeats} repeats"
        raise StudyError(f"{path}: is of {was}; give another folder")
    make_folder(folder)
    done, parts = 0, len(ARMS) * len(OPTIONS) * len(TRIALS) + len(EXAMPLE_LEARNERS)
    total = repeats * (parts + 2 * len(MATCH_RATES) * len(RATE_TRIALS))

    def tick() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    with one_thread():
        errors = sample_errors(Seed(seed), repeats, tick=tick)
        reached = learned_example(Seed(seed), repeats, tick=tick)
        regions = match_rate_region(Seed(seed), repeats, tick=tick)
    which = dict.fromkeys((row.learner, row.alike) for row in errors)
    fits = [fitted([row for row in errors if (row.learner, row.alike) == arm]) for arm in which]
    common = (__version__, versions(), seed, repeats)
    found = Theory(*common, errors, fits, exact_example(), reached, regions)
    write_text(path, json.dumps(asdict(found), indent=1) + "\n")
    return found


def read_theory(folder: str | Path) -> Theory:
    """Return what is kept in a folder."""
    return read_json(Path(folder, RESULTS), Theory, error=StudyError)


def sample_errors(
    seed: Seed,
    repeats: int,
    *,
    arms: Iterable[tuple[str, bool]] = ARMS,
    options: Sequence[int] = OPTIONS,
    trials: Sequence[int] = TRIALS,
    tick: Tick = silent,
) -> list[Errors]:
    """Return the error of learners by the numbers of options and trials: Theorem 1."""
    table = []
    for learner, alike in arms:
        for k in options:
            for n in trials:
                errors, trusted, bests = [], [], []
                for repeat in range(repeats):
                    rng = seed.rng("theorem", int(alike), k, n, repeat)
                    world = make_world(rng, k, alike)
                    made = _make(learner, repeat, k).fit(*make_session(rng, world, n))
                    value, best = policy_value(made, rng, world)
                    errors.append(1 - value / best)
                    bests.append(best)
                    trusted.append(made.diagnosis_.verdict == TRUST)
                    tick()
                chance = float(np.mean(1 - 1 / k / np.array(bests)))
                table.append(Errors(learner, alike, k, n, chance, errors, trusted))
    return table


def fitted(rows: Sequence[Errors]) -> Fit:
    """Return how the errors of a learner go with trials and options."""
    fit = [r for r in rows if LEAST_ERROR < r.mean < MOST_OF_CHANCE * r.chance]
    found = errors = None
    if len({r.trials for r in fit}) > 1 and len({r.options for r in fit}) > 1:
        repeated = np.array([r.errors for r in fit])
        sizes = np.log([(np.e, r.trials, r.options) for r in fit])

        def exponents(some: np.ndarray) -> list[float]:
            _, slope, by_options = np.linalg.lstsq(sizes, np.log(some.mean(axis=1)))[0]
            return [float(slope), float(-by_options / slope)]

        found, repeats = exponents(repeated), repeated.shape[1]
        if repeats > 1:
            without = [exponents(np.delete(repeated, each, axis=1)) for each in range(repeats)]
            errors = (np.sqrt(repeats - 1) * np.std(without, axis=0)).tolist()
    slope, power = found or (None, None)
    slope_error, power_error = errors or (None, None)
    longest = max(r.trials for r in rows)
    constant = max(r.mean / r.bound for r in rows)
    last = max(r.mean / r.bound for r in rows if r.trials == longest)
    common = (rows[0].learner, rows[0].alike, len(fit))
    return Fit(*common, slope, slope_error, power, power_error, constant, last)


def exact_example() -> Example:
    """Return the objectives of Example 3 by enumeration: all decoders, all policies.

    The objective is linear in policy and decoder, so that decoders of 0 and 1, and deterministic
    policies, have all its extremes. Numbers are as in the paper, but options and y = 10 are 0.
    """
    x, a = np.indices((10, 10))
    y = (a + (x == a)) % 10
    decoders = np.arange(2**10)[:, None] >> np.arange(10) & 1
    decoded = decoders[:, y]  # (decoders, contexts, actions)
    # Sums over contexts are ten times means, so that all is exact until the last division.
    bad = decoded.sum(axis=(1, 2))
    optimal = 10 * np.trace(decoded, axis1=1, axis2=2) - bad
    constant = 10 * decoded[:, :, 1].sum(axis=1) - bad
    highest = decoded.max(axis=2)
    best = 10 * highest.sum(axis=1) - bad
    right = (np.diagonal(decoded, axis1=1, axis2=2) == highest).sum(axis=1)
    return Example(
        len(decoders),
        float(optimal.min() / 100),
        float(optimal.max() / 100),
        float(constant[2**2] / 100),
        float(constant[2**1] / 100),
        float(best.max() / 100),
        float(right[best == best.max()].max() / 10),
    )


def learned_example(
    seed: Seed,
    repeats: int,
    *,
    learners: Iterable[str] = EXAMPLE_LEARNERS,
    trials: int = EXAMPLE_TRIALS,
    tick: Tick = silent,
) -> list[Reached]:
    """Return what learners reach on data of Example 3."""
    one_hot, table = np.eye(10), []
    for learner in learners:
        value, objective, trusted = [], [], []
        for repeat in range(repeats):
            meant, action = seed.rng("example", repeat).integers(10, size=(2, trials))
            feedback = one_hot[(action + (meant == action)) % 10]
            made = _make(learner, repeat, 10).fit(one_hot[meant], action, feedback)
            value.append(made.score(one_hot, np.arange(10)))
            objective += [float(made.objective_)] if learner == FULL_CI.id else []
            trusted.append(made.diagnosis_.verdict == TRUST)
            tick()
        table.append(Reached(learner, value, objective, trusted))
    return table


def match_rate_region(
    seed: Seed,
    repeats: int,
    *,
    learners: Iterable[str] = (AI_IGL_PAPER.id, AI_IGL.id),
    match_rates: Sequence[float] = MATCH_RATES,
    trials: Sequence[int] = RATE_TRIALS,
    tick: Tick = silent,
) -> list[Region]:
    """Return how often two options are learned upside down: Assumption 4.

    Upside down is a policy that is right less often than guessing. The agent guesses right at the
    match rate, whichever option is meant. Learners are given that rate; the paper's rule, a flip
    where the mean decoded reward is above 1/2, does not use it.
    """
    table = []
    for learner in learners:
        for rate in match_rates:
            for n in trials:
                wrong, trusted = [], []
                for repeat in range(repeats):
                    rng = seed.rng("assumption", round(1000 * rate), n, repeat)
                    world = make_world(rng, 2, True)
                    made = _make(learner, repeat, 2, match_rate=rate)
                    made.fit(*make_session(rng, world, n, rate))
                    wrong.append(policy_value(made, rng, world)[0] < 0.5)
                    trusted.append(wrong[-1] and made.diagnosis_.verdict == TRUST)
                    tick()
                table.append(Region(learner, rate, n, repeats, sum(wrong), sum(trusted)))
    return table


def make_world(rng: np.random.Generator, options: int, alike: bool) -> World:
    """Draw the options' contexts and codes, and how a match shows: for all `alike`, or each."""
    square = rng.standard_normal((CONTEXT_FEATURES, CONTEXT_FEATURES))
    means = DISTANCE * np.linalg.qr(square)[0][:options]
    codes = CODE * rng.standard_normal((options, FEEDBACK_FEATURES))
    judged = rng.standard_normal((1 if alike else options, FEEDBACK_FEATURES))
    judged *= STRENGTH / np.linalg.norm(judged, axis=1, keepdims=True)
    return World(means, codes, np.broadcast_to(judged, codes.shape))


def make_session(
    rng: np.random.Generator, world: World, trials: int, match_rate: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw contexts, actions and feedback; actions are uniform, or right at a match rate."""
    options = len(world.means)
    meant = rng.integers(options, size=trials)
    other = (meant + rng.integers(1, options, size=trials)) % options
    rate = 1 / options if match_rate is None else match_rate
    action = np.where(rng.random(trials) < rate, meant, other)
    context = world.means[meant] + rng.standard_normal((trials, CONTEXT_FEATURES))
    feedback = world.codes[action] + (action == meant)[:, None] * world.judged[action]
    return context, action, feedback + rng.standard_normal(feedback.shape)


def policy_value(learner: Any, rng: np.random.Generator, world: World) -> tuple[float, float]:
    """Return V of a policy, and V* of the best, by how probable each option is for contexts."""
    context = make_session(rng, world, TESTED)[0]
    probable = softmax(context @ world.means.T, axis=1)
    value = probable[np.arange(TESTED), learner.predict(context)].mean()
    return float(value), float(probable.max(axis=1).mean())


def _make(learner: str, repeat: int, options: int, **known: float) -> Any:
    return LEARNERS.get(learner).make(n_actions=options, random_state=repeat, **known)
