"""Plans: designs, people and answers; results made up without a brain."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from plans import LEARNERS, made, results
from studies import tiny

from bciigl.loop import simulate
from bciigl.study import StudyError
from bciigl.study.plan import Plan
from bciigl.study.plan_answer import Answer, difference, ranks
from bciigl.study.plan_person import Person
from bciigl.study.planning import Planned, plan, stopped_designs
from bciigl.study.store import checked


def test_ranks_cover_the_quantile_of_any_distribution():
    rng = np.random.default_rng(2)
    for people, power in ((40, 0.9), (100, 0.9), (60, 0.5)):
        place, low, high = ranks(people, power)
        assert place == math.ceil(power * people)
        drawn = np.sort(rng.random((20_000, people)), axis=1)
        inside = (drawn[:, low - 1] <= power) & (power <= drawn[:, high - 1])
        # Exact intervals cover 95 % or more; 4 SDs of 20,000 draws are 0.6 points.
        assert inside.mean() >= 0.944
    assert ranks(35, 0.9)[2] is None and ranks(36, 0.9)[2] == 36
    assert ranks(10, 0.9)[0] == 9


def test_an_answer_has_trials_hours_and_an_honest_interval():
    mine = made(people=40)
    needs = [24] * 30 + [40] * 5 + [48] * 5
    (answer,) = mine.rows(results(mine, [needs]))
    assert (answer.trials, answer.hours, answer.reached, answer.limit) == (48, 0.48, True, None)
    low, high = answer.interval
    # Ranks 32 and 40 of 40 people.
    assert (low, high) == (0.4, 0.48)
    assert answer.sentence.startswith("9 in 10 people reach 80 % after 48 trials, 0.48 scanner")
    assert answer.verdicts == (40, 40, 40)
    few = made(people=12)
    (answer,) = few.rows(results(few, [[24] * 12]))
    assert (
        answer.interval.high is None and "not bounded with fewer than 36 people" in answer.sentence
    )


@pytest.mark.parametrize(("ceiling", "limit"), [(70.0, "signal"), (90.0, "learning")])
def test_what_limits_a_plan_is_said(ceiling, limit):
    mine = made(people=10)
    (answer,) = mine.rows(results(mine, [[24] * 8 + [None] * 2], ceiling=ceiling))
    assert not answer.reached and answer.limit == limit and answer.trials is None
    assert answer.interval.high is None
    words = {"signal": "the signal: supervised", "learning": "learning without labels"}
    assert words[limit] in answer.sentence and "within 3 scanner hours: 8 of 10" in answer.sentence


def test_uniform_guesses_cannot_match_more_than_by_chance():
    mine = made(people=2, measure="match-rate")
    found = {each.key: checked(each, each.run()) for each in mine.cells}  # nothing is simulated
    assert mine.rows(found)[0].limit == "exploration"
    greedy = made(measure="match-rate", sections={"agent": {"policy": "epsilon-greedy"}})
    # (1 - 0.2) x 91.67 % + 0.2 / 3 are 80 %.
    assert greedy.cells[0].goal.needed == pytest.approx(91.67, abs=0.01)


def test_designs_are_ranked_and_compared_in_the_same_people():
    mine = made(people=60, vary={"timing.isi": [5, 7]})
    assert [each.protocol.seed for each in mine.cells[::2]] == [
        each.protocol.seed for each in mine.cells[1::2]
    ]
    rng = np.random.default_rng(3)
    slow = rng.choice([40, 44, 48, 52], 60).tolist()
    fast = [each - 16 for each in slow]
    best, worse = mine.rows(results(mine, [slow, fast]))
    assert best.varied == {"timing.isi": 7} and best.difference is None
    assert worse.difference.clear and worse.difference.hours == pytest.approx(0.16)
    best, other = mine.rows(results(mine, [slow, slow[::-1]]))
    assert not other.difference.clear
    found = Planned(mine, [best, other], {}).as_dict()
    assert found["best"] == best.varied and len(found["designs"]) == 2
    assert json.loads(json.dumps(found)) == found


def test_designs_that_are_clearly_worse_get_no_more_people():
    mine = made(people=20, vary={"timing.isi": [5, 6, 7]})
    found = results(mine, [[24, 28] * 10, [28, 24] * 10, [52, 56] * 10])
    assert stopped_designs(mine, found, looks=2) == {2: 20}
    more = replace(mine, people=40, stopped={2: 20})
    assert [more.people_of(each) for each in range(3)] == [40, 40, 20]
    assert len(more.cells) == 100
    assert Plan.read(json.loads(json.dumps(more.document()))) == more


def test_a_difference_of_nothing_is_not_clear():
    rng = np.random.default_rng(4)
    clear = 0
    for _ in range(200):
        pair = rng.choice(np.arange(1.0, 2.0, 0.08), (2, 60))
        clear += difference(*(dict(enumerate(each)) for each in pair), 0.9).clear
    # Of 200, 5 % are 10; 4 SDs more are 22.
    assert clear <= 22


def test_an_answer_is_read_as_it_was_written():
    mine = made(people=40, vary={"timing.isi": [5, 7]})
    for each in mine.rows(results(mine, [[24] * 40, [48] * 40])):
        assert Answer.read(json.loads(json.dumps(each.as_dict()))) == each


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"target": 0.8}, "above chance"),
        ({"target": 101}, "at most 100"),
        ({"power": 1.0}, "between 0 and 1"),
        ({"hours": 0.01}, "the shortest session"),
        ({"people": 0}, "1 or more"),
        ({"measure": "acuracy"}, "accuracy"),
        ({"noise": -1.0}, "from 0 to 10"),
        ({"vary": {"task.trials": [1, 2]}}, "--hours"),
        ({"vary": {"timing.isis": [1, 2]}}, "unknown key"),
        ({"sections": {"learners": ["ceiling"]}}, "told neither labels"),
    ],
)
def test_what_cannot_be_planned_is_refused(wanted, said):
    sections = {**LEARNERS, **wanted.pop("sections", {})}
    with pytest.raises(StudyError, match=said) as caught:
        Plan(tiny(**sections), **wanted)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_plan_is_the_same_whoever_runs_it_and_is_resumed(tmp_path):
    wanted = {"people": 4, "hours": 0.7, "noise": 0.3}
    changes = {"task.trials_per_run": 30}
    one = plan("number_guessing", changes=changes, out=tmp_path / "a", jobs=1, **wanted)
    two = plan("number_guessing", changes=changes, jobs=2, **wanted)
    assert one.as_dict() == two.as_dict() and one.reached
    files = {each: each.read_bytes() for each in (tmp_path / "a/cells").iterdir()}
    more = plan("number_guessing", changes=changes, out=tmp_path / "a", **{**wanted, "people": 5})
    assert more.people == 5 and all(each.read_bytes() == text for each, text in files.items())
    # The session that grew is that which would have been simulated with so many trials.
    cell = one.plan.cells[0]
    trials = 60  # two whole runs: the noise of a shorter run would be another one
    task = cell.protocol.task.model_copy(update={"trials": trials})
    whole = simulate(cell.protocol.model_copy(update={"task": task}))
    mine = Person(cell.protocol).sessions(trials)
    for name in ("train", "test"):
        # Whitened after all else is estimated, where a session's own estimates are at once.
        np.testing.assert_allclose(
            mine[name].interactions.context, whole[name].interactions.context, atol=1e-9
        )
