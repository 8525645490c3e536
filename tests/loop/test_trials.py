"""One run, trial by trial: nothing later changes what was seen, and who is shown what."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import Losing, small

from bciigl.base.errors import BciiglError
from bciigl.estimate import contexts, feedback_so_far
from bciigl.loop import Agent, Choice, SimulatedPerson, Volunteer
from bciigl.loop.session import run_steps
from bciigl.loop.trials import Decision, run_trials
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import frames_complete
from bciigl.protocol.timetable import timetable
from bciigl.recording.journal import JournalError
from bciigl.recording.trial import RunId, Shown, Trial
from bciigl.source import SimulatedSource, Source

TRIALS = 4
NOISY = {"noise": 1.0, "motion": {"spikes_per_minute": 5.0}}
SHARED = {
    "usual": small(brain=NOISY),
    "frame": small(brain=NOISY, estimate="frame"),
    "tr 0.7, latency": small(brain=NOISY, timing={"tr": 0.7, "latency": 1.3}),
    # a trial of 26.1 s is no whole number of frames
    "tr 2": small(brain=NOISY, timing={"tr": 2.0, "isi": 6.7}),
    "early": small(brain=NOISY, timing={"decision": 5.6, "burn_in": 0.0}),
    "two events": small(brain=NOISY, task={"events": ["imagination", "judgment"]}),
    "quiet": small(brain={"noise": 0.0}),
}
CATCH = {"share": 0.4}
CAUGHT = {
    "shared": small(task={"catch": CATCH}),
    "separate": small(task={"catch": CATCH}, recording="separate"),
    "separate, frame": small(task={"catch": CATCH}, recording="separate", estimate="frame"),
    "separate, no perception": small(
        task={"events": ["imagination", "judgment"], "catch": CATCH}, recording="separate"
    ),
}
each_shared = pytest.mark.parametrize("name", SHARED)
each_caught = pytest.mark.parametrize("mine", CAUGHT.values(), ids=CAUGHT)
GUESSES, MEANT = (1, 0, 2, 1), (0, 0, 2, 1)
PLACE = RunId("train", 1)


@cache
def source_of(name: str) -> SimulatedSource:
    return SimulatedSource(SHARED[name])


def person(
    mine: Protocol,
    meant: Sequence[int] = MEANT,
    imagined: Sequence[int] | None = None,
    lapses: Sequence[bool] | None = None,
) -> SimulatedPerson:
    """Return a person of whom all is known."""
    found = SimulatedPerson(mine, len(meant), np.random.default_rng(0))
    found.meant = np.array(meant)
    found.imagined = np.array(meant if imagined is None else imagined)
    found._lapses = np.array([False] * len(meant) if lapses is None else lapses)
    return found


def live(source: Source, who, guesses: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the contexts and the feedback of a run as they came, and its frames."""
    steps = run_steps(source.brain.protocol, source, who, PLACE)
    seen, answers, step = [], [], next(steps)
    while True:
        if isinstance(step, Decision):
            assert step.trial == len(answers)
            seen.append(step.context)
            shown = Shown(guesses[step.trial], 1 / 3, explored=True)
        else:
            answers.append(step.feedback)
            shown = None
        try:
            step = steps.send(shown)
        except StopIteration as end:
            frames, status, _ = end.value
            assert status == {}
            return np.array(seen), np.array(answers), frames


options = st.lists(st.integers(0, 2), min_size=TRIALS, max_size=TRIALS)
lapses = st.lists(st.booleans(), min_size=TRIALS, max_size=TRIALS)


@given(st.sampled_from(list(SHARED)), st.integers(0, 3), options, options, options, lapses)
@settings(max_examples=30)
def test_nothing_later_changes_what_was_seen(name, trial, meant, imagined, guesses, lapsed):
    source, mine, past = source_of(name), SHARED[name], trial + 1
    context, feedback, frames = live(source, person(mine), GUESSES)
    # The person lapses in judging this trial's guess, and is another one from then on.
    thoughts = [*MEANT[:past], *meant[past:]], [*MEANT[:past], *imagined[past:]]
    other = person(mine, *thoughts, [*[False] * trial, *lapsed[trial:]])
    found = live(source, other, [*GUESSES[:trial], *guesses[trial:]])
    np.testing.assert_array_equal(found[0][:past], context[:past])
    known = frames_complete(timetable(mine, trial + 1).decisions[trial], mine.timing.tr)
    np.testing.assert_array_equal(found[2][:known], frames[:known])
    # Feedback may depend on this trial's guess, and on nothing after its trial.
    other = person(mine, *thoughts, [*[False] * past, *lapsed[past:]])
    found = live(source, other, [*GUESSES[:past], *guesses[past:]])
    np.testing.assert_array_equal(found[1][:past], feedback[:past])


def test_number_of_trials_to_come_changes_nothing():
    """Without noise, which is drawn for a run of a certain length."""
    source, mine = source_of("quiet"), SHARED["quiet"]
    expected = live(source, person(mine), GUESSES)
    for trials in (1, 3):
        other = SimulatedSource(small(brain={"noise": 0.0}, task={"trials_per_run": trials}))
        found = live(other, person(other.brain.protocol, MEANT[:trials]), GUESSES[:trials])
        for some, all_ in zip(found[:2], expected[:2], strict=True):
            np.testing.assert_array_equal(some, all_[:trials])


@each_shared
def test_what_comes_before_does_matter(name):
    """The tests above could fail."""
    source, mine = source_of(name), SHARED[name]
    context, feedback, _ = live(source, person(mine), GUESSES)
    imagined = live(source, person(mine, MEANT, [0, 0, 1, 1]), GUESSES)
    assert (imagined[0][2] != context[2]).any()
    judged = live(source, person(mine, lapses=[False, False, True, False]), GUESSES)
    assert (judged[1][2] != feedback[2]).any()
    np.testing.assert_array_equal(judged[0][:3], context[:3])
    guessed = live(source, person(mine), [1, 0, 0, 1])
    assert (guessed[1][2] != feedback[2]).any()


@each_shared
def test_frames_and_estimates_are_those_of_the_scanner_with_all_events(name):
    source, mine = source_of(name), SHARED[name]
    who = person(mine)
    context, feedback, frames = live(source, who, GUESSES)
    events = [
        event
        for trial, guess in enumerate(GUESSES)
        for event in (who.imagine(trial), *who.answer(trial, guess))
    ]
    expected = source.brain.scan("train", 1, trials=TRIALS).play(events)
    # as the image keeps them
    np.testing.assert_array_equal(frames, expected.astype(np.float32).astype(float), strict=True)
    np.testing.assert_array_equal(contexts(frames, mine), context, strict=True)
    later = [feedback_so_far(frames, mine, trial) for trial in range(TRIALS)]
    np.testing.assert_array_equal(later, feedback)


@each_shared
def test_no_frame_is_read_before_it_is_complete(name):
    mine, stops = SHARED[name], []

    class Watched(SimulatedSource):
        def read(self, stop):
            stops.append(stop)
            return super().read(stop)

    live(Watched(mine), person(mine), GUESSES)
    when = timetable(mine, TRIALS)
    times = [
        seconds
        for trial in range(TRIALS)
        for seconds in (when.decisions[trial], when.starts[trial + 1])
    ]
    assert stops[:-1] == [frames_complete(each, mine.timing.tr) for each in times]
    assert stops[-1] >= stops[-2]


class Diary(Agent):
    """Guesses uniformly, and writes down what it is asked and shown."""

    def __init__(self, n_actions: int = 3) -> None:
        super().__init__(n_actions)
        self.pages: list[tuple] = []
        self.begin_run(np.random.default_rng(7))

    def act(self, context: np.ndarray) -> Choice:
        """Guess."""
        choice = super().act(context)
        self.pages.append(("act", context, choice))
        return choice

    def observe(self, context, action, feedback, propensity, *, catch=False) -> None:
        """Look on."""
        self.pages.append(("observe", context, action, feedback, propensity, catch))

    def named(self, name: str) -> list[tuple]:
        """Return the pages of that name, without it."""
        return [page[1:] for page in self.pages if page[0] == name]


def someone(mine: Protocol) -> SimulatedPerson:
    return SimulatedPerson(mine, TRIALS, np.random.default_rng(6))


def run(mine: Protocol, agent: Agent, past: Sequence[Trial] = (), keep=None, source=None):
    """Return the series, the trials, and what was kept."""
    kept: list[tuple[int, Trial]] = []
    source, who = source or SimulatedSource(mine), someone(mine)
    steps = run_steps(mine, source, who, PLACE, past=len(past))
    keep = keep or (lambda *each: kept.append(each))
    series, trials = run_trials(steps, agent, who, past=past, keep=keep)
    return series, trials, kept


def same(some: Sequence[Trial], others: Sequence[Trial]) -> bool:
    return all(mine.same_as(other) for mine, other in zip(some, others, strict=True))


@each_caught
def test_agent_acts_where_the_experimenter_does_not_and_observes_all(mine):
    agent, who = Diary(), someone(mine)
    (frames, *_), trials, kept = run(mine, agent)
    assert 0 < who.catch.sum() < TRIALS
    assert [each.catch for each in trials] == who.catch.tolist()
    for number, trial in enumerate(trials):
        if trial.catch:
            assert who.shown(number) == (trial.action, 1 / 3, False, True)
            assert (trial.propensity, trial.explored) == (1 / 3, False)
    asked = [trial for trial in trials if not trial.catch]
    for (context, choice), trial in zip(agent.named("act"), asked, strict=True):
        np.testing.assert_array_equal(context, trial.context)
        assert choice == (trial.action, trial.propensity, trial.explored)
    assert [number for number, _ in kept] == list(range(TRIALS))
    assert same([trial for _, trial in kept], trials)
    for trial, seen in zip(trials, agent.named("observe"), strict=True):
        context, action, feedback, propensity, catch = seen
        np.testing.assert_array_equal(context, trial.context)
        np.testing.assert_array_equal(feedback, trial.feedback)
        assert (action, propensity, catch) == (trial.action, trial.propensity, trial.catch)
    # Estimates are those of the run's recording.
    np.testing.assert_array_equal(contexts(frames, mine), [each.context for each in trials])
    for number, trial in enumerate(trials):
        np.testing.assert_array_equal(feedback_so_far(frames, mine, number), trial.feedback)
    for each in frames.values() if isinstance(frames, dict) else [frames]:
        np.testing.assert_array_equal(each.astype(np.float32), each)


def test_trial_is_kept_before_the_agent_sees_what_came_of_it():
    order: list[str] = []
    agent, mine = Diary(), CAUGHT["shared"]
    agent.act = lambda context: order.append("act") or Agent.act(agent, context)
    agent.observe = lambda *_, **__: order.append("observe")
    run(mine, agent, keep=lambda number, trial: order.append("keep"))
    assert order == [
        step
        for catch in someone(mine).catch
        for step in (("keep", "observe") if catch else ("act", "keep", "observe"))
    ]


@each_caught
def test_agent_that_scribbles_on_what_it_is_given_changes_nothing(mine):
    class Vandal(Agent):
        def act(self, context):
            choice = super().act(context)
            context[:] = np.nan
            return choice

        def observe(self, context, action, feedback, propensity, *, catch=False):
            context[:], feedback[:] = np.nan, np.nan

    vandal = Vandal(3)
    vandal.begin_run(np.random.default_rng(7))
    assert same(run(mine, vandal)[1], run(mine, Diary())[1])


@each_caught
def test_past_trials_happen_again_and_are_not_kept_twice(mine):
    (frames, *_), trials, _ = run(mine, Diary())
    for known in (1, TRIALS):
        agent = Diary()
        (again, *_), found, kept = run(mine, agent, past=trials[:known])
        assert [number for number, _ in kept] == list(range(known, TRIALS))
        assert len(agent.named("observe")) == TRIALS
        assert same(found, trials)
        np.testing.assert_equal(again, frames)
    for field in ("context", "action", "propensity", "explored", "catch", "feedback"):
        value = getattr(trials[2], field)
        changed = not value if isinstance(value, bool) else value + 1e-9 if field != "action" else 9
        past = [*trials[:2], trials[2]._replace(**{field: changed}), trials[3]]
        with pytest.raises(JournalError, match="trial 3 of the run does not come out"):
            run(mine, Diary(), past=past)


def test_what_an_agent_must_not_choose_is_told():
    for choice in [(3, 0.5, True), (-1, 0.5, True), (0.5, 1, True), (0, 0, True), (0, 1.1, True)]:
        agent = Agent(3)
        agent.act = lambda context, choice=choice: choice
        with pytest.raises(BciiglError, match="action should be from 0 to 2, and its propensity"):
            run(small(), agent)


def test_decision_with_too_few_frames_is_guessed_uniformly_and_not_observed():
    # Trial 2 begins after 39 s, 26 frames; its guess is due 6 frames later.
    mine = small(estimate="glm")
    lost = {(*PLACE, index): "missing" for index in (28, 29, 30, 31)}
    lost |= {(*PLACE, 5): "corrupt", (*PLACE, 6): "late", (*PLACE, 7): "duplicate"}

    class Sure(Diary):
        def act(self, context):
            assert np.isfinite(context).all()
            super().act(context)
            return Choice(2, 0.9, False)

    agent = Sure()
    (frames, status, _), trials, kept = run(mine, agent, source=Losing(mine, lost=lost))
    # A duplicate is one that is there already: this one never came.
    assert status == {
        5: "corrupt", 6: "late", 7: "missing", **dict.fromkeys((28, 29, 30, 31), "missing")
    }  # fmt: skip
    assert np.flatnonzero(np.isnan(frames).all(axis=1)).tolist() == [5, 7, 28, 29, 30, 31]
    assert np.isfinite(np.delete(frames, [5, 7, 28, 29, 30, 31], axis=0)).all()
    usable = [each.usable for each in trials]
    assert usable == [True, False, True, True]
    assert np.isnan(trials[1].context).all() and np.isfinite(trials[1].feedback).all()
    assert (trials[1].propensity, trials[1].explored) == (1 / 3, True)
    assert all(trials[each][1:4] == (2, 0.9, False) for each in (0, 2, 3))
    assert len(agent.named("act")) == len(agent.named("observe")) == 3
    assert len(kept) == TRIALS
    again = run(mine, Sure(), past=trials[:2], source=Losing(mine, lost=lost))
    assert same(again[1], trials)


def test_volunteer_has_events_without_content_and_no_truth():
    mine = small()
    who = Volunteer(mine, 2)
    known = person(mine, MEANT[:2])
    for trial in range(2):
        mine_events = [who.imagine(trial), *who.answer(trial, 1)]
        times = [(each.kind, each.onset) for each in mine_events]
        expected = [known.imagine(trial), *known.answer(trial, 1)]
        assert times == [(each.kind, each.onset) for each in expected]
        assert [each.content for each in mine_events] == [None, "b", None]
        assert who.shown(trial) is None
    assert who.truth([0, 1]) is None
