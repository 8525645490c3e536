"""When everything in a run happens: planned by the seed, known to scanner and analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.seeds import Seed, run_seed
from bciigl.protocol import schedule
from bciigl.protocol.model import Protocol


@dataclass(frozen=True, eq=False)
class Timetable:
    """The times of a run, in seconds from its beginning; trials are counted from 0.

    Attributes
    ----------
    starts : array, (trials + 1,)
        When each trial begins and, last, when the last one ends.
    onsets : dict of arrays, (trials,)
        When each kind of event begins; of a recorded run, not a number for one that was not seen.
    decisions : array, (trials,)
        When the agent guesses.
    nulls : array, (null trials,)
        When null trials begin, in which nothing happens.
    seconds : float
        How long the run is.
    confounds : array, (frames, regressors), or None
        What else than events changes the frames of a recorded run, such as the head's movement.
    left_out : dict
        Trials of a recorded run that happened, but are not learned from, and why.
    """

    starts: np.ndarray
    onsets: dict[str, np.ndarray]
    decisions: np.ndarray
    nulls: np.ndarray
    seconds: float
    confounds: np.ndarray | None = None
    left_out: dict[int, str] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return len(self.decisions)

    def frames(self, tr: float) -> int:
        """Return how many frames the run has."""
        # Rounded first: 0.3 / 0.1 is a little less than 3.
        return int(np.ceil(round(self.seconds / tr, 6)))

    def copy(self) -> "Timetable":
        """Return these times with onsets that may be changed to those that were recorded."""
        return replace(self, onsets={kind: each.copy() for kind, each in self.onsets.items()})

    def missed(self, trial: int) -> bool:
        """Tell whether an event of a trial was not seen."""
        return any(np.isnan(each[trial]) for each in self.onsets.values())

    def first(self, trials: int) -> "Timetable":
        """Return the times of a run that ends with the end of that many trials."""
        end = self.starts[trials]
        return replace(
            self,
            starts=self.starts[: trials + 1],
            onsets={kind: each[:trials] for kind, each in self.onsets.items()},
            decisions=self.decisions[:trials],
            nulls=self.nulls[self.nulls < end],
            seconds=float(end),
        )


def timetable(
    protocol: Protocol, trials: int, session: str | None = None, run: int = 1
) -> Timetable:
    """Return the times of a run of the session ``"train"`` or ``"test"``; runs count from 1.

    Without a session all runs must have the same times, without jitter and null trials.
    """
    regular, timing = schedule.is_regular(protocol), protocol.timing
    offsets: Mapping[str, float | np.ndarray]
    first: float | np.ndarray
    if regular:
        starts = timing.burn_in + np.arange(trials + 1) * schedule.trial_seconds(protocol)
        offsets, nulls = schedule.event_offsets(protocol), np.zeros(0)
        first = schedule.steps(protocol)[0].seconds
    elif session is None:
        raise BciiglError(
            "times differ from run to run (jitter or null trials): give the session and the run, "
            "or when=timetable(protocol, trials, session, run)"
        )
    else:
        seed = run_seed(protocol.seed, session, run)
        starts, offsets, nulls = _irregular(protocol, trials, seed)
        first = offsets[protocol.task.events[1]]
    decisions = first - timing.latency if timing.decision is None else timing.decision
    return Timetable(
        starts,
        {kind: starts[:-1] + each for kind, each in offsets.items()},
        starts[:-1] + decisions,
        nulls,
        float(starts[-1]) + timing.cool_down,
    )


def _irregular(
    protocol: Protocol, trials: int, seed: Seed
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Return when trials begin and end, the offsets of their events, and when null trials begin.

    The same seed gives a longer run the same jitter, but other places of null trials. Times are in
    whole milliseconds.
    """
    timing, steps = protocol.timing, schedule.steps(protocol)
    share = seed.rng("jitter").random((trials, len(steps)))
    if timing.jitter_distribution == "exponential":
        share = -np.log1p(share * np.expm1(-schedule.DECAYS)) / schedule.DECAYS
    seconds = [step.seconds for step in steps] + np.round(share * [s.jitter for s in steps], 3)
    ends = np.cumsum(seconds, axis=1)
    null = np.zeros(trials, bool)  # whether a null trial follows
    places = seed.rng("null trials").permutation(trials)[: schedule.null_trials(protocol, trials)]
    null[places] = True
    length = np.round(schedule.trial_seconds(protocol), 3)
    starts = timing.burn_in + np.append(0.0, np.cumsum(ends[:, -1] + null * length))
    offsets = {
        kind: ends[:, number - 1] if number else np.zeros(trials)
        for number, step in enumerate(steps)
        for kind in step.kinds
    }
    return np.round(starts, 3), offsets, np.round((starts[:-1] + ends[:, -1])[null], 3)
