"""At which lengths a plan looks, and when it stops; on curves without a brain."""

from itertools import pairwise

import numpy as np
import pytest

from bciigl.study.plan_search import (
    LEAST_STEP,
    STEP,
    Goal,
    Look,
    accuracy_bounds,
    first_reached,
    lengths,
    search,
)

GRID = lengths(400)
GOAL = Goal(80.0, 920)


def searched(curve, goal=GOAL, trusted_from=0):
    """Return the looks of a search over a curve, accuracy by trials, and what it found."""
    asked = []

    def look(trials):
        asked.append(trials)
        verdict = "trust" if trials >= trusted_from else "doubtful"
        return Look(trials, trials / 100, float(curve(trials)), 90.0, verdict)

    looks, decided = search(GRID, goal, look)
    assert [each.trials for each in looks] == sorted(asked) and len(set(asked)) == len(asked)
    return looks, decided, first_reached(looks, goal)


@pytest.mark.parametrize("most", [16, 17, 21, 60, 396, 3000])
def test_lengths_grow_by_small_steps_up_to_the_most(most):
    found = lengths(most)
    assert found[0] == 16 or most < 20
    assert found[-1] == most
    for one, other in pairwise(found):
        # A last step may be longer by what would have been a step of less than 4 trials.
        assert 0 < other - one <= max(LEAST_STEP, round(STEP * one)) + LEAST_STEP


def test_the_first_length_is_found_as_if_all_had_been_looked_at():
    rng = np.random.default_rng(0)
    fewer = 0
    for _ in range(200):
        centre, slope, noise = rng.uniform(20, 500), rng.uniform(5, 40), rng.uniform(0, 6)
        bumps = dict(zip(GRID, rng.normal(0, noise, len(GRID)), strict=True))

        def curve(trials, centre=centre, slope=slope, bumps=bumps):
            plain = 33 + 55 / (1 + np.exp((centre - trials) / slope))
            return np.clip(plain + bumps[trials], 0, 100)

        looks, decided, found = searched(curve)
        every = [Look(each, 0.0, curve(each), 90.0) for each in GRID]
        wanted = first_reached([each for each in every if each.trials <= looks[-1].trials], GOAL)
        assert (found and found.trials) == (wanted and wanted.trials)
        if not decided:
            assert looks[-1].trials == GRID[-1]
        fewer += len(GRID) - len(looks)
    assert fewer / 200 > len(GRID) / 2  # what it is for


def test_a_person_who_drops_below_the_target_has_not_stayed():
    _, decided, found = searched(lambda trials: 20.0 if trials in (52, 56) else 82.5)
    assert found.trials == 60 and not decided  # 82.5 % is not surely above 80 %


def test_a_person_is_decided_after_five_lengths_surely_above():
    looks, decided, found = searched(lambda trials: 90.0 if trials >= 100 else 50.0)
    above = [each.trials for each in looks if each.accuracy == 90]
    assert decided and found.trials == 104 and len(above) == 5


def test_the_search_goes_on_until_the_learner_is_trusted():
    looks, decided, found = searched(lambda trials: 90.0, trusted_from=200)
    assert decided and found.trials == 16
    assert looks[-1].trials >= 200 and looks[-2].trials < 200


def test_in_the_closed_loop_only_trusted_policies_count_and_are_kept():
    goal = GOAL._replace(trusted=True)
    _, _, found = searched(lambda trials: 90.0, goal, trusted_from=100)
    assert found.trials == 104
    accurate = [Look(10, 0, 50, 90, "trust"), Look(20, 0, 95, 90, "doubtful")]
    assert goal.reached(accurate) == [False, False]
    kept = [Look(10, 0, 90, 90, "trust"), Look(20, 0, 40, 90, "doubtful")]
    assert goal.reached(kept) == [True, True]


def test_bounds_are_exact():
    low, high = accuracy_bounds(80.0, 920)
    rng = np.random.default_rng(1)
    # At the bounds, 736 of 920 or more (fewer) have a probability of 0.5 %: 4 SDs of 40,000 draws.
    assert np.mean(rng.binomial(920, low / 100, 40_000) >= 736) == pytest.approx(0.005, abs=0.0015)
    assert np.mean(rng.binomial(920, high / 100, 40_000) <= 736) == pytest.approx(0.005, abs=0.0015)
    assert accuracy_bounds(0.0, 100)[0] == 0 and accuracy_bounds(100.0, 100)[1] == 100


def test_no_policy_is_in_force_while_guesses_are_uniform():
    goal = Goal(80.0, 920, trusted=True, uniform=46)
    looks = [Look(40, 0, 90, 90, "trust"), Look(50, 0, 90, 90, "trust")]
    assert goal.reached(looks) == [False, True]


def test_people_simulated_to_the_end_show_whether_deciding_was_right():
    def falls_back(trials):
        return 95.0 if trials < 200 else 20.0

    looked = {each: Look(each, each / 100, falls_back(each), 96.0, "trust") for each in GRID}
    early, decided = search(GRID, GOAL, looked.get)
    assert first_reached(early, GOAL).trials == GRID[0] and decided == early[-1].trials < 200
    whole, again = search(GRID, GOAL, looked.get, to_end=True)
    assert again == decided and whole[-1].trials == GRID[-1]
    assert first_reached(whole, GOAL) is None
