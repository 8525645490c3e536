"""What a learner is given: recorded interactions, checked and made comparable between runs."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from bciigl.base.errors import BciiglError, shortened

FEWEST_TRIALS = 10  # with fewer there is nothing to learn from
FEWEST_TRIALS_TO_CENTRE = 10  # the own mean of a shorter run is noise: that of all is used instead
FEWEST_TRIALS_OF_ACTION = 20  # with fewer of a known match rate, all count by importance
FOLDS = 5
MOST_ACTIONS = 1000
LARGEST_WEIGHT = 20.0  # a larger one would tell more of one trial than of the policy
FARTHEST = 4.0  # from a feature's median, in SDs by the quartiles of a normal distribution
LARGEST_VALUE = 1e100  # squares of larger numbers are no numbers any more


# An array, or None where it is not there: of what code may rely on without asking each time.
MaybeArray: TypeAlias = np.ndarray | Any


class InputError(BciiglError, ValueError):
    """Arrays that cannot be learned from: wrong shapes, missing or infinite values."""


@dataclass(frozen=True)
class Interactions:
    """All that a learner without labels may see, one row a trial: see `DiagnosedPolicy.fit`."""

    context: np.ndarray  # may stand alone, to be tested on
    action: MaybeArray = None
    feedback: MaybeArray = None
    propensity: np.ndarray | None = None
    run: MaybeArray = None  # by its own number
    person: MaybeArray = None  # whose trial it is; no learner gets it
    catch: np.ndarray | None = None
    match_rate: Any = None  # of catch trials, one number or one for each action
    n_actions: int | Any = None  # by default one more than the largest action
    whitening: np.ndarray | None = None  # that made features of voxels, (voxels, features)

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return len(self.context)

    def rows(self, index: np.ndarray) -> "Interactions":
        """Return some of the trials."""
        names = ("context", "action", "feedback", "propensity", "run", "person", "catch")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        changes: dict[str, Any] = {name: each[index] for name, each in given.items()}
        some = replace(self, **changes)
        if self.catch is not None and np.any(self.catch) and not np.any(some.catch):
            # A match rate that is known of catch trials says nothing where there are none.
            return replace(some, catch=None, match_rate=None)
        return some


class Prepared(NamedTuple):
    """Interactions as learners compute with them, one row a trial."""

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    weight: np.ndarray  # importance: how much more often a uniform policy would have acted so
    uniform: np.ndarray  # whether all actions were equally probable
    certain: np.ndarray  # whether no other action was possible
    run: np.ndarray  # from 0
    catch: np.ndarray  # whether the match rate is known
    n_actions: int

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return len(self.action)

    @property
    def taken(self) -> np.ndarray:
        """How often each action was taken, (n_actions,)."""
        return np.bincount(self.action, minlength=self.n_actions)

    def means(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values over the trials of each action, (n_actions, ...)."""
        return group_means(values, self.action, self.n_actions)

    def rows(self, index: np.ndarray) -> "Prepared":
        """Return some of the trials."""
        return Prepared._make([*(each[index] for each in self[:-1]), self.n_actions])


def prepare(
    context: np.ndarray,
    action: np.ndarray,
    feedback: np.ndarray,
    *,
    propensity: np.ndarray | None = None,
    run: np.ndarray | None = None,
    catch: np.ndarray | None = None,
    n_actions: int | None = None,
) -> Prepared:
    """Return arrays as learners compute with them, or raise `InputError` if they cannot be used."""
    context = check_matrix(context, "context")
    trials = len(context)
    action = check_whole(action, "action", trials)
    n_actions = check_actions(action, n_actions)
    feedback = check_matrix(feedback, "feedback", trials)
    catch = check_vector(np.zeros(trials) if catch is None else catch, "catch", trials)
    if not np.isin(catch, (0, 1)).all():
        raise InputError("catch must be a mask: true or false for each trial")
    given = np.full(trials, 1 / n_actions) if propensity is None else propensity
    propensity = check_vector(given, "propensity", trials)
    low, high = propensity.min(), propensity.max()
    if low <= 0 or high > 1:
        raise InputError(f"propensity must be above 0 and at most 1, got {low:g} to {high:g}")
    weight = importance(propensity, n_actions)
    uniform = np.isclose(n_actions * propensity, 1.0, rtol=1e-3)
    certain = propensity > 1 - 1e-6
    run = run_codes(run, trials)
    return Prepared(context, action, feedback, weight, uniform, certain, run, catch == 1, n_actions)


def check_actions(action: np.ndarray, n_actions: int | None) -> int:
    """Return how many actions there are: as given, or one more than the largest, at least 2."""
    first, last = action.min(), action.max()
    count = max(int(last) + 1, 2) if n_actions is None else n_actions
    if not isinstance(count, (int, np.integer)) or count < 2:
        raise InputError(f"n_actions must be a whole number of 2 or more, got {count!r}")
    if count > MOST_ACTIONS:
        raise InputError(f"there can be at most {MOST_ACTIONS} actions, got {count}")
    if n_actions is None and first > 0:
        got = f"got {first} to {last}: subtract {first}, or give n_actions if 0 was never taken"
        raise InputError(f"action must start at 0, {got}")
    if first < 0 or last >= count:
        raise InputError(f"action must be from 0 to {count - 1}, got {first} to {last}")
    return int(count)


def check_whole(
    values: np.ndarray, name: str, rows: int | None = None, unit: str = "trials"
) -> np.ndarray:
    """Return whole numbers, one per trial, as int, or raise `InputError`."""
    values = check_vector(values, name, rows, unit=unit)
    odd = (values % 1 != 0) | (np.abs(values) > 2**53)  # larger ones are not told apart
    if odd.any():
        raise InputError(f"{name} must be whole numbers, got {values[odd][0]:g}")
    return values.astype(int)


def _checked(
    values: np.ndarray,
    name: str,
    rows: int | None = None,
    axes: int = 1,
    unit: str = "trials",
) -> np.ndarray:
    """Return finite numbers, a row or one of them per trial, as float64, or raise `InputError`."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "buif":
            raise TypeError
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {shortened(values)}") from None
    array = array.astype(float)
    odd = ~(np.abs(array) < LARGEST_VALUE)  # true of nan as well
    if odd.any():
        place = tuple(np.argwhere(odd)[0].tolist())
        raise InputError(f"{name} must be finite numbers, got {array[place]} at {place}")
    if array.ndim != axes or 0 in array.shape:
        shape = f"({unit},)" if axes == 1 else f"({unit}, features)"
        raise InputError(f"{name} must be of shape {shape}, got {array.shape}")
    if rows not in (None, len(array)):
        raise InputError(f"{name} must have one row for each of {rows} {unit}, got {len(array)}")
    return array


check_vector, check_matrix = _checked, partial(_checked, axes=2)


def generator(random_state: int) -> np.random.Generator:
    """Return a generator of random numbers, from a seed that can be kept in a file."""
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(f"random_state must be 0 or a larger whole number, got {random_state!r}")
    return np.random.default_rng(random_state)


def importance(propensity: np.ndarray, n_actions: int) -> np.ndarray:
    """Return how much more often a uniform policy would have acted so, 1 on average, (trials,)."""
    weight = np.minimum(1 / (n_actions * propensity), LARGEST_WEIGHT)
    return weight / weight.mean()


def run_codes(run: np.ndarray | None, trials: int) -> np.ndarray:
    """Return runs as numbers from 0; without any, all trials are of one."""
    if run is None:
        return np.zeros(trials, int)
    return np.unique(check_vector(run, "run", trials), return_inverse=True)[1].ravel()


def folds(run: np.ndarray) -> np.ndarray:
    """Return a fold for each trial, (trials,): whole runs, or stretches of trials if too few."""
    if run.max() + 1 >= FOLDS:
        return run % FOLDS
    return np.arange(len(run)) * min(FOLDS, len(run)) // len(run)


def of_action(values: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return each trial's value for its action, (trials,), of values for all, (trials, actions)."""
    return np.take_along_axis(values, action[:, None], axis=1)[:, 0]


def group_means(values: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return the mean of values over the trials of each group, (groups, ...); 0 of an empty one."""
    count = np.maximum(np.bincount(group, minlength=groups), 1)
    if values.ndim == 1:
        return np.bincount(group, values, groups) / count
    # One 1 a row: memory does not grow with the number of groups.
    places = (np.ones(len(group)), group, np.arange(len(group) + 1))
    return csr_array(places, shape=(len(group), groups)).T @ values / count[:, None]


def less_means(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return values less the mean of their group, (trials, features)."""
    return values - group_means(values, group, group.max() + 1)[group]


class Scaling(NamedTuple):
    """How features are centred and scaled."""

    mean: np.ndarray  # of the training trials
    scale: np.ndarray  # SD within runs; infinite for a feature that does not vary: it becomes 0

    @classmethod
    def of(cls, values: np.ndarray, run: np.ndarray) -> "Scaling":
        """Return the scaling that training values ask for."""
        mean = values.mean(axis=0)
        spread = (values - run_means(values, run, mean)).std(axis=0)
        # A constant such as 0.1 has an SD of about 1e-17.
        varies = spread > 1e-12 * np.abs(values).max(axis=0)
        return cls(mean, np.where(varies, spread, np.inf))

    def apply(self, values: np.ndarray, run: np.ndarray | None = None) -> np.ndarray:
        """Return values centred by the training mean, or by their own runs', and scaled."""
        mean = self.mean if run is None else run_means(values, run, self.mean)
        return (values - mean) / self.scale

    def check_and_apply(self, values: np.ndarray, name: str, run: np.ndarray | None) -> np.ndarray:
        """Return what `apply` does, of values and runs that were not checked yet."""
        values = check_matrix(values, name)
        if values.shape[1] != len(self.mean):
            raise InputError(f"{name} must have {len(self.mean)} features, got {values.shape[1]}")
        return self.apply(values, None if run is None else run_codes(run, len(values)))


class Scalings(NamedTuple):
    """How both views are centred and scaled."""

    context: Scaling
    feedback: Scaling

    @classmethod
    def of(cls, data: Prepared) -> "Scalings":
        """Return those that recorded interactions ask for."""
        return cls(Scaling.of(data.context, data.run), Scaling.of(data.feedback, data.run))

    def apply(self, data: Prepared) -> Prepared:
        """Return interactions centred by their own runs' means, and scaled."""
        context = self.context.apply(data.context, data.run)
        return data._replace(context=context, feedback=self.feedback.apply(data.feedback, data.run))


def run_means(values: np.ndarray, run: np.ndarray, overall: np.ndarray) -> np.ndarray:
    """Return the mean of each trial's run, or `overall` if it is too short, (trials, features)."""
    short = (np.bincount(run) < FEWEST_TRIALS_TO_CENTRE)[:, None]
    return np.where(short, overall, group_means(values, run, len(short)))[run]


def without_outliers(values: np.ndarray) -> np.ndarray:
    """Return features, (trials, features), whose largest values are cut off."""
    low, middle, high = np.percentile(values, [25, 50, 75], axis=0)
    # Where most values are the same, nothing tells how far is far.
    reach = np.where(high > low, FARTHEST * (high - low) / 1.349, np.inf)
    return np.clip(values, middle - reach, middle + reach)
