"""The person: what is meant, imagined, shown and judged, and when."""

import numpy as np
import pytest
from recordings import small

from bciigl.brain.events import trial_events
from bciigl.loop import SimulatedPerson
from bciigl.protocol import Protocol

MANY = 20_000
LAPSES = {"imagination_lapse": 0.3, "judgment_lapse": 0.2}
CATCH = {"catch": {"share": 0.25, "match_rate": 0.7}}


def person_in(mine: Protocol, trials: int = MANY, seed: int = 0, **how: bool) -> SimulatedPerson:
    """Return a person in a run."""
    return SimulatedPerson(mine, trials, np.random.default_rng(seed), **how)


def rate(value: float, of: int = MANY) -> object:
    """Return what a share of trials should be near: within 5 standard errors."""
    return pytest.approx(value, abs=5 * np.sqrt(value * (1 - value) / of))


@pytest.mark.parametrize("recording", ["shared", "separate"])
@pytest.mark.parametrize(
    "kinds",
    [
        ["imagination", "perception", "judgment"],
        ["imagination", "judgment"],
        ["imagination", "perception"],
    ],
    ids=["three", "no perception", "no judgment"],
)
def test_events_are_the_protocol_s_at_its_times(kinds, recording):
    mine = small(
        task={"events": kinds},
        recording=recording,
        human=LAPSES,
        feedback={"perception": 0.5, "judgment": 0.5},
        timing={"tr": 0.7, "isi": 8.1},
    )
    person, options = person_in(mine, 30), mine.task.options
    for trial in range(30):
        for guess in range(3):
            expected = trial_events(
                person.when,
                trial,
                options[person.imagined[trial]],
                options[guess],
                bool(person.truth([guess] * 30).judged[trial]),
            )
            assert [person.imagine(trial), *person.answer(trial, guess)] == expected


def test_options_that_are_numbers_are_imagined_as_numbers():
    mine = small(task={"options": [7, 8, 9]})
    person = person_in(mine, 5)
    for trial in range(5):
        assert person.imagine(trial).content == 7 + person.imagined[trial]
        assert person.answer(trial, 2)[0].content == 9


def test_all_options_are_meant_equally_often():
    counts = np.bincount(person_in(small()).meant, minlength=3)
    assert (counts / MANY).tolist() == [rate(1 / 3)] * 3


def test_without_lapses_what_is_meant_is_imagined_and_judged():
    person = person_in(small())
    np.testing.assert_array_equal(person.imagined, person.meant)
    for guess in range(3):
        truth = person.truth([guess] * MANY)
        np.testing.assert_array_equal(truth.meant, person.meant)
        np.testing.assert_array_equal(truth.imagined, person.meant)
        np.testing.assert_array_equal(truth.match, person.meant == guess)
        np.testing.assert_array_equal(truth.judged, truth.match)


def test_imagination_lapses_as_often_as_stated_and_to_any_other_option():
    person = person_in(small(human=LAPSES))
    lapsed = person.imagined != person.meant
    assert lapsed.mean() == rate(0.3)
    steps = (person.imagined - person.meant)[lapsed] % 3
    assert (steps == 1).mean() == rate(0.5, lapsed.sum())


def test_imagination_differs_from_what_is_meant_in_lapses_alone():
    """The same draws at a higher rate: what lapsed before lapses still, all else is the same."""
    never, seldom, often = (
        person_in(small(human={"imagination_lapse": lapse})) for lapse in (0.0, 0.1, 0.4)
    )
    np.testing.assert_array_equal(seldom.meant, never.meant)
    np.testing.assert_array_equal(often.meant, never.meant)
    lapsed = seldom.imagined != seldom.meant
    np.testing.assert_array_equal(often.imagined[lapsed], seldom.imagined[lapsed])
    assert (seldom.imagined != seldom.meant).sum() < (often.imagined != often.meant).sum()


def test_judgment_lapses_as_often_as_stated_whatever_is_guessed():
    person = person_in(small(human=LAPSES))
    truths = [person.truth([guess] * MANY) for guess in range(3)]
    lapsed = np.array([truth.match != truth.judged for truth in truths])
    assert lapsed[0].mean() == rate(0.2)
    assert (lapsed == lapsed[:1]).all()
    matches = truths[1].match
    np.testing.assert_array_equal(matches, person.meant == 1)
    # A lapse is as likely after a match as after a mismatch, and after a lapse of imagination.
    assert lapsed[1, matches].mean() == rate(0.2, matches.sum())
    dreamt = person.imagined != person.meant
    assert lapsed[0, dreamt].mean() == rate(0.2, dreamt.sum())


def test_guess_is_judged_against_what_was_meant_not_what_was_imagined():
    person = person_in(small(human={"imagination_lapse": 0.4}), 200)
    assert (person.imagined != person.meant).any()
    assert person.truth(person.meant).judged.all()
    np.testing.assert_array_equal(
        person.truth(person.imagined).match, person.imagined == person.meant
    )


def test_catch_trials_are_as_many_and_match_as_often_as_stated():
    person = person_in(small(task=CATCH))
    assert person.catch.mean() == rate(0.25)
    given = [person.shown(trial) for trial in np.flatnonzero(person.catch)]
    assert {each[1:] for each in given} == {(1 / 3, False, True)}
    shown = np.array([each.action for each in given])
    meant = person.meant[person.catch]
    assert (shown == meant).mean() == rate(0.7, len(shown))
    steps = (shown - meant)[shown != meant] % 3
    assert (steps == 1).mean() == rate(0.5, len(steps))
    # Each option is shown equally often: the propensity written for catch trials.
    assert (np.bincount(shown) / len(shown)).tolist() == [rate(1 / 3, len(shown))] * 3
    assert all(person.shown(trial) is None for trial in np.flatnonzero(~person.catch))


def test_there_are_no_catch_trials_where_none_are_wanted_and_all_else_is_the_same():
    with_catch, without = (
        person_in(small(task=CATCH, human=LAPSES), catch=c) for c in (True, False)
    )
    assert not without.catch.any()
    assert all(without.shown(trial) is None for trial in range(MANY))
    np.testing.assert_array_equal(without.meant, with_catch.meant)
    np.testing.assert_array_equal(without.imagined, with_catch.imagined)


def test_what_is_meant_does_not_depend_on_guesses():
    mine = small(task=CATCH, human=LAPSES)
    asked, silent = person_in(mine, 50), person_in(mine, 50)
    for trial in range(50):
        assert asked.imagine(trial) == silent.imagine(trial)
        asked.answer(trial, trial % 3)
        asked.shown(trial)
    asked.truth([0] * 50)
    for name in ("meant", "imagined", "catch"):
        np.testing.assert_array_equal(getattr(asked, name), getattr(silent, name))
    assert asked.answer(3, 1) == silent.answer(3, 1)
