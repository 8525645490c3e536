"""Controls: what they take away, and what they leave."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from interactions import flat
from studies import study

from bciigl.learn.interactions import Interactions
from bciigl.recording.truth import Session, Truth
from bciigl.study.cell import run_cell
from bciigl.study.controls import (
    CONTROLS,
    MEAN_REMOVED,
    PERMUTED,
    SILENCED,
    permute_rewards,
    remove_region_mean,
)
from bciigl.study.statistics import accuracy

TRIALS, TEST, FEATURES = 90, 20, 5


def recorded(seed: int = 0, **changes) -> dict[str, Session]:
    """Return sessions in which each row of feedback tells its reward and its trial."""
    rng = np.random.default_rng(seed)
    reward = (rng.random(TRIALS) < 0.4).astype(float)
    feedback = rng.normal(3, 1, (TRIALS, FEATURES))
    feedback[:, 0], feedback[:, 1] = reward, np.arange(TRIALS)
    train = Interactions(
        rng.normal(2, 1, (TRIALS, FEATURES)),
        rng.integers(3, size=TRIALS),
        feedback,
        run=np.repeat([1, 2, 3], 30),
        propensity=rng.random(TRIALS),
    )
    truth = Truth(rng.integers(3, size=TRIALS), reward)
    test = Interactions(rng.normal(-1, 1, (TEST, FEATURES)))
    tested = Truth(rng.integers(3, size=TEST))
    return {"train": Session(replace(train, **changes), truth), "test": Session(test, tested)}


def permuted(sessions: dict[str, Session], seed: int) -> SimpleNamespace:
    return flat(permute_rewards(sessions, np.random.default_rng(seed)))


GUESS = ("action", "propensity", "catch", "feedback", "reward")


@pytest.mark.parametrize("runs", [None, 3, 45], ids=["no runs", "long runs", "runs of 2 trials"])
def test_guesses_are_dealt_out_anew_within_runs_with_all_that_belongs_to_them(runs):
    run = None if runs is None else np.repeat(np.arange(runs), TRIALS // runs)
    sessions = recorded(run=run, catch=np.arange(TRIALS) % 7 == 0)
    before, after = flat(sessions), permuted(sessions, 1)
    moved = after.feedback[:, 1].astype(int)
    assert sorted(moved) == list(range(TRIALS))
    assert np.mean(moved != np.arange(TRIALS)) > (0.3 if runs == 45 else 0.8)
    for name in GUESS:
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name)[moved])
    if run is not None:
        np.testing.assert_array_equal(run[moved], run)


@pytest.mark.parametrize("length", [2, 6, 30])
def test_centred_by_run_what_is_permuted_is_uncorrelated_on_average(length):
    run = np.repeat(np.arange(TRIALS // length), length)

    def centred(values):
        return values - (np.bincount(run, values) / np.bincount(run))[run]

    before = recorded(run=run)
    context = centred(flat(before).reward)  # as if contexts told the reward
    products = [context @ centred(permuted(before, seed).reward) for seed in range(400)]
    # Five standard errors: by chance in one of a million.
    assert abs(np.mean(products)) < 5 * np.std(products) / np.sqrt(len(products))
    assert context @ context > 10 * np.std(products) / np.sqrt(len(products))


def test_permuting_leaves_everything_else_alone_and_its_input_too():
    sessions = recorded()
    after = permuted(sessions, 1)
    before, untouched = flat(sessions), flat(recorded())
    for name in vars(before):
        np.testing.assert_array_equal(getattr(before, name), getattr(untouched, name))
        if name not in GUESS:
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_permuting_depends_on_the_random_numbers_alone():
    one, same, other = (permuted(recorded(), seed).feedback for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_rewards_that_are_not_known_are_not_made_up():
    sessions = recorded()
    blind = {**sessions, "train": Session(sessions["train"].interactions)}
    assert permute_rewards(blind, np.random.default_rng(1))["train"].truth is None


def test_without_the_region_s_mean_no_array_has_one_and_patterns_stay():
    sessions = recorded()
    before, after = flat(sessions), flat(remove_region_mean(sessions, np.random.default_rng(0)))
    for name in ("context", "feedback", "test_context"):
        np.testing.assert_allclose(getattr(after, name).mean(axis=1), 0, atol=1e-12)
        differences = [np.diff(getattr(each, name), axis=1) for each in (before, after)]
        np.testing.assert_allclose(*differences, atol=1e-12)
    for name in set(vars(before)) - {"context", "feedback", "test_context"}:
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_there_may_be_no_test_contexts():
    bare = {"train": recorded()["train"]}
    assert set(remove_region_mean(bare, np.random.default_rng(0))) == {"train"}


def test_a_silenced_judgment_changes_the_experiment_and_not_the_interactions():
    before = recorded()
    assert CONTROLS[SILENCED].apply(before, np.random.default_rng(0)) is before
    assert set(CONTROLS) == {SILENCED, PERMUTED, MEAN_REMOVED}
    assert not CONTROLS[PERMUTED].changes and not CONTROLS[MEAN_REMOVED].changes


@pytest.mark.slow
def test_controls_show_what_they_should():
    """The same people: near 100 % as it is and without the mean, near chance otherwise."""
    mine = study(
        task={"trials": 200, "trials_per_run": 50},
        evaluation={"test_trials": 90},
        learners=["ai_igl"],
        study={"noise": [0.02], "repeats": 7},
        controls=tuple(CONTROLS),
    )
    found: dict[str | None, list[float]] = {}
    for cell in mine.cells:
        for each in run_cell(cell)["results"]:
            found.setdefault(each["control"], []).append(accuracy(np.array(each["confusion"])))
    assert min(found[None]) > 95 and min(found[MEAN_REMOVED]) > 95
    # Contexts may still be told apart, but not what each of them means: one session is then right
    # in 0, 33 or 100 %, and the mean of seven has a standard error of about 13 around 33.
    for control in (SILENCED, PERMUTED):
        assert np.mean(found[control]) < 65
