"""What an operator is told of a session, from the lines of its journal."""

import base64
import json
import math

import numpy as np
import pytest
from recordings import small

from bciigl.live.state import MOST_WARNINGS, SessionState
from bciigl.protocol.timetable import timetable
from bciigl.recording.trial import NO_GUESS, RunId, Shown, Trial

OPTIONS = ["apple", "brick", "cloud"]
PLACE = {"session": "train", "run": 1}
HIDDEN = ("propensity", "explored", "probabilities", "match")
GOOD = np.array([1.0, 2.0])
BAD = np.full(2, np.nan)


def state_of(kind: str = "session", speed: float = 1.0, sections=None, **how) -> SessionState:
    """Return the state of a session of runs of four and three trials."""
    sections = sections or {}
    task = {"options": OPTIONS, **sections.pop("task", {})}
    return SessionState(small(task=task, **sections), kind, speed, **how)


def when(state: SessionState):
    return timetable(state.protocol, 4, "train", 1)


def volume(index: int, values=(100.0, 102.0), behind: float = 0.1, **about) -> dict:
    """Return the line of a volume, which comes some seconds after it is complete."""
    arrived = (index + 1) * 1.5 + behind
    return {**PLACE, "volume": index, "values": list(values), "arrived": arrived, **about}


def shown(state: SessionState, kind: str, trial: int = 0, late: float | None = 0.0) -> dict:
    """Return the line of an event that was seen some seconds late; None for not at all."""
    planned = float(when(state).onsets[kind][trial])
    return {
        **PLACE,
        "shown": kind,
        "planned": planned,
        "onset": None if late is None else planned + late,
    }


def decision(trial: int, action: int, **about) -> dict:
    line = Trial(GOOD, *Shown(action, 0.5, False), feedback=np.empty(0)).as_dict()
    return {**PLACE, "decision": trial, **line, **about}


def over(trial: int, action: int, context=GOOD, feedback=GOOD) -> dict:
    line = Trial(context, action, 0.5, False, False, feedback).as_dict()
    return {**PLACE, "trial": trial, **line}


def fault(what: str, number: int | None = None) -> dict:
    return {**PLACE, "fault": what, "number": number, "seconds": 3.25}


def told(state: SessionState, *lines: dict) -> dict:
    """Return what a monitor gets after some lines, as it gets it."""
    for line in lines:
        state.take(line)
    return json.loads(json.dumps(state.snapshot(), allow_nan=False))


def test_before_a_session_begins_it_is_known_what_is_to_come():
    state = state_of("rehearsal", 5.0)
    found = told(state)
    whole = sum(timetable(state.protocol, n, "train", run).seconds for run, n in ((1, 4), (2, 3)))
    names = ("protocol", "kind", "speed", "tr", "options", "session", "run", "runs", "phase")
    assert {name: found[name] for name in names} == {
        **{"protocol": "small", "kind": "rehearsal", "speed": 5.0, "tr": 1.5, "options": OPTIONS},
        **{"session": "train", "run": 1, "runs": 2, "phase": "ready"},
    }
    assert (found["trial"], found["trials"], found["now"]) == (None, 4, None)
    assert found["length"] == when(state).seconds
    assert found["seconds_left"] == pytest.approx(whole)
    assert found["volumes"]["due"] == when(state).frames(1.5)
    assert found["volumes"]["arrived"] == found["elapsed"] == 0
    for empty in ("signal", "expected", "events", "guesses", "warnings"):
        assert found[empty] == []
    assert found["learning"] is found["movement"] is None


def test_volumes_are_on_time_late_or_lost():
    state = state_of(sections={"live": {"dummies": 2}})
    found = told(state, {**PLACE, "begun": True}, volume(0))
    assert found["phase"] == "running"
    assert found["volumes"]["status"] == "o"
    # Numbers are those of files, dummies first.
    found = told(state, volume(2, behind=1.7, late=True), fault("missing when it was needed", 4))
    assert found["volumes"]["status"] == "oml"
    assert found["volumes"]["delay"] == [0.1, None, 1.7]
    counts = {name: found["volumes"][name] for name in ("arrived", "late", "lost")}
    assert counts == {"arrived": 2, "late": 1, "lost": 1}
    found = told(state, volume(1, behind=4.0, late=True))  # it comes after all
    assert found["volumes"]["status"] == "oll"
    assert found["volumes"]["lost"] == 0
    assert found["warnings"] == [
        {"run": 1, "seconds": 3.25, "words": "volume 4 missing when it was needed"}
    ]


def test_a_volume_that_is_not_there_yet_is_no_lost_one():
    found = told(state_of(), volume(0), volume(2))
    assert found["volumes"]["status"] == "o.o"
    assert found["signal"][1] is None
    assert (found["volumes"]["arrived"], found["volumes"]["lost"]) == (2, 0)


def test_volumes_lost_in_a_simulation_have_no_dummies_before_them():
    sections = {"live": {"dummies": 2}}
    lost = fault("missing when it was needed", 1)
    found = told(state_of("simulation", sections=sections), lost, volume(1))
    assert found["volumes"]["status"] == "mo"


def test_delays_are_in_seconds_of_the_operator():
    assert told(state_of(speed=10.0), volume(0, behind=0.5))["volumes"]["delay"] == [0.05]
    assert told(state_of(), volume(0, behind=-0.5))["volumes"]["delay"] == [0.0]


def test_the_signal_is_the_change_of_the_region_s_mean():
    lines = [volume(0, (99, 99)), volume(1, (100, 102)), volume(3, (98, 102))]
    assert told(state_of(), *lines)["signal"] == [-1.0, 1.0, None, 0.0]
    # As a journal keeps values, and where the mean is no base to divide by.
    packed = base64.b64encode(np.array([1, 3], "<f4").tobytes()).decode()
    lines = [volume(0, (-2.0, -2.0)), {**volume(1), "values": packed}]
    assert told(state_of(), *lines)["signal"] == [-2.0, 2.0]
    assert told(state_of(), volume(0, (np.nan, 1.0)))["signal"] == [None]


def test_events_are_told_with_the_response_that_is_expected():
    state = state_of()
    lines = [volume(index) for index in range(12)]
    cue, guess = shown(state, "imagination", late=0.25), shown(state, "perception", late=None)
    found = told(state, cue, decision(0, 1), guess, *lines)
    assert found["events"] == [
        {
            **{"kind": "imagination", "onset": cue["onset"], "trial": 0, "seconds": 2.0},
            **{"seen": True, "words": ""},
        },
        {
            **{"kind": "perception", "onset": guess["planned"], "trial": 0, "seconds": 2.0},
            **{"seen": False, "words": "brick"},
        },
    ]
    # What was not seen evokes nothing; what is expected goes on beyond the last volume.
    peak = 1.5 * (int(np.argmax(found["expected"])) + 0.5)
    assert 4 < peak - cue["onset"] < 8
    assert len(found["expected"]) == len(lines) + 10
    assert max(found["expected"]) <= 1


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("imagination", "imagines an option"),
        ("perception", "sees the guess: cloud"),
        ("judgment", "judges the guess"),
    ],
)
def test_what_the_person_does_is_said_while_it_lasts(kind, words):
    clock = [0.0]
    state = state_of(elapsed=lambda: clock[0])
    onset = float(when(state).onsets[kind][0])
    clock[0] = onset + 1
    found = told(state, volume(0), decision(0, 2), shown(state, kind))
    assert found["now"] == {"kind": kind, "words": words, "since": onset}
    clock[0] = onset + 2.5
    assert told(state)["now"] == {"kind": "rest", "words": "rests", "since": onset + 2.0}


def test_guesses_are_told_with_what_became_of_their_trials():
    state = state_of()
    lines = [decision(trial, trial % 3, explored=trial == 1) for trial in range(3)]
    found = told(state, *lines, over(0, 0), over(1, 1, feedback=BAD), over(3, NO_GUESS, BAD, BAD))
    first, second, third, fourth = found["guesses"]
    assert first == {
        **PLACE,
        **{"trial": 1, "option": "apple", "propensity": 0.5, "explored": False, "catch": False},
        **{"probabilities": None, "match": None, "left_out": "", "truth": None},
    }
    assert (second["option"], second["explored"]) == ("brick", True)
    assert second["left_out"] == "volumes missing"
    assert (third["option"], third["left_out"]) == ("cloud", "")
    assert (fourth["trial"], fourth["option"], fourth["left_out"]) == (4, None, "not shown")


def test_a_trial_whose_judgment_was_not_shown_lacks_no_volumes():
    state = state_of()
    planned = float(timetable(state.protocol, 4, "train", 1).onsets["judgment"][0])
    unseen = {**PLACE, "shown": "judgment", "planned": planned, "onset": None}
    (found,) = told(state, decision(0, 0), unseen, over(0, 0, feedback=BAD))["guesses"]
    assert found["left_out"] == "not shown"


def test_trials_are_left_out_and_taken_back_in():
    state = state_of()
    out = {**PLACE, "left_out": 0, "why": "marked bad"}
    found = told(state, decision(0, 0), out, fault("trial 1 is left out: marked bad"))
    assert found["guesses"][0]["left_out"] == "marked bad"
    assert found["warnings"][0]["words"] == "trial 1 is left out: marked bad"
    assert state.run.when.left_out == {0: "marked bad"}
    # The reason stands, whatever else there is to say of the trial.
    assert told(state, over(0, 0, feedback=BAD))["guesses"][0]["left_out"] == "marked bad"
    assert told(state, {**out, "why": ""})["guesses"][0]["left_out"] == ""
    assert state.run.when.left_out == {}
    # Before there is a guess, too.
    found = told(state, {**PLACE, "left_out": 2, "why": "unseen"})
    assert (found["guesses"][1]["option"], found["guesses"][1]["left_out"]) == (None, "unseen")


def test_faults_are_warnings_of_which_the_newest_are_kept():
    lines = [fault(f"fault {number}") for number in range(MOST_WARNINGS + 5)]
    found = told(state_of(), *lines)["warnings"]
    assert len(found) == MOST_WARNINGS
    assert found[-1] == {"run": 1, "seconds": 3.25, "words": f"fault {MOST_WARNINGS + 4}"}


def test_head_motion_is_told_where_volumes_are_realigned():
    still, moved = [0.0] * 6, [0.5, 0, 0, 0, 0, math.radians(1.0)]
    found = told(state_of(), volume(0, movement=still), volume(1, movement=moved), volume(3))
    motion = found["movement"]
    assert motion["displacement"][0] is None and motion["displacement"][3] is None
    assert motion["displacement"][1] == pytest.approx(0.5 + 50 * math.radians(1.0), abs=0.01)
    assert motion["translation"][:2] == [[0, 0, 0], [0.5, 0, 0]]
    assert motion["rotation"][1] == [0, 0, 1.0]
    assert motion["translation"][3] == [None] * 3


def test_motion_is_regressed_out_where_the_protocol_asks_for_it():
    moved = [0.5, 0, 0, 0, 0, 0]
    state = state_of(sections={"estimate": {"motion": True}})
    told(state, volume(1, movement=moved))
    assert state.run.when.confounds[1].tolist() == moved
    state = state_of()
    told(state, volume(1, movement=moved))
    assert state.run.when.confounds is None


def test_time_left_is_that_of_this_run_and_those_after():
    clock = [-1.0]
    state = state_of(elapsed=lambda: clock[0])
    second = timetable(state.protocol, 3, "train", 2).seconds
    length = when(state).seconds
    found = told(state, {**PLACE, "begun": True})
    assert (found["phase"], found["elapsed"]) == ("waiting", 0.0)
    assert found["seconds_left"] == pytest.approx(length + second)
    # Before the run's time is known, volumes tell it.
    found = told(state, volume(0), volume(1))
    assert found["elapsed"] == 3.0
    clock[0] = 10.0
    found = told(state)
    assert found["elapsed"] == 10.0
    assert found["seconds_left"] == pytest.approx(length + second - 10)
    clock[0] = 1e6
    assert told(state)["elapsed"] == length
    found = told(state, {**PLACE, "written": {}})
    assert (found["phase"], found["seconds_left"]) == ("waiting", pytest.approx(second))


def test_the_present_trial_follows_the_time():
    clock = [0.0]
    state = state_of(elapsed=lambda: clock[0])
    assert told(state, {**PLACE, "begun": True})["trial"] is None
    assert told(state, volume(0))["trial"] == 1
    for trial, start in enumerate(when(state).starts[:-1].tolist(), start=1):
        clock[0] = start + 1
        assert told(state)["trial"] == trial
    clock[0] = when(state).seconds
    assert told(state)["trial"] == 4


def test_runs_follow_each_other_and_the_last_ends_the_session():
    state = state_of(sessions=("train", "test"))
    places = [RunId("train", 1), RunId("train", 2), RunId("test", 1)]
    phases, counts = [], []
    for place in places:
        found = told(state, {**place._asdict(), "begun": True})
        assert (found["session"], found["run"], found["phase"]) == (*place, "waiting")
        counts.append((found["runs"], found["trials"]))
        assert told(state, {**volume(0), **place._asdict()})["phase"] == "running"
        phases.append(told(state, {**place._asdict(), "written": {}})["phase"])
    assert counts == [(2, 4), (2, 3), (1, 3)]
    assert phases == ["waiting", "waiting", "over"]
    assert told(state)["seconds_left"] == 0


def test_guesses_of_earlier_runs_stay():
    state = state_of()
    later = {**decision(0, 2), "run": 2}
    found = told(state, decision(0, 1), later)["guesses"]
    assert [(each["run"], each["trial"], each["option"]) for each in found] == [
        (1, 1, "brick"),
        (2, 1, "cloud"),
    ]


LEARNING = {
    **{"learner": "AI-IGL", "trials": 1, "verdict": "trust", "words": "", "match_rate": 0.3},
    **{"chance": 1 / 3, "accuracy": [0.9, 0.8, 1.0]},
    "history": [{"trials": 1, "verdict": "trust", "accuracy": 0.9, "true_accuracy": 0.7}],
}


def learned(state: SessionState) -> SessionState:
    """Have something known that only some may see."""
    told(state, decision(0, 1))
    guess = state.run.guesses[0]
    guess.probabilities, guess.match, guess.truth = [0.2, 0.5, 0.3], 0.8, "cloud"
    state.learning = LEARNING
    return state


def test_in_a_blinded_session_nothing_tells_whose_guesses_are_shown():
    (open_guess,) = told(learned(state_of()))["guesses"]
    found = told(learned(state_of(blinded=True)))
    (guess,) = found["guesses"]
    assert found["blinded"] and found["learning"] is None
    assert all(guess[name] is None for name in HIDDEN)
    assert all(open_guess[name] is not None for name in HIDDEN)
    assert guess["option"] == "brick"


def test_the_truth_is_told_only_while_it_is_asked_for():
    state = learned(state_of("rehearsal"))
    for asked in (False, True, False):
        state.truth_shown = asked
        found = told(state)
        assert found["truth_shown"] == asked
        assert found["guesses"][0]["truth"] == ("cloud" if asked else None)
        learning = found["learning"]
        # How often the learner is right is known from the truth alone.
        true = 0.7 if asked else None
        assert learning["true_accuracy"] == learning["history"][0]["true_accuracy"] == true
        assert learning["accuracy"] == [0.9, 0.8, 1.0]


def test_a_snapshot_does_not_change_when_the_session_goes_on():
    state = learned(state_of())
    state.learning = {**LEARNING, "history": [dict(each) for each in LEARNING["history"]]}
    found = state.snapshot()
    before = json.dumps(found)
    state.learning["history"].append({"trials": 2})
    state.learning["history"][0]["accuracy"] = 0.1
    told(state, volume(0), decision(1, 0), fault("x"))
    assert json.dumps(found) == before


def test_changes_are_told_when_they_are_there():
    state, seen = state_of(), []
    state.changed = lambda: seen.append((state.snapshot()["phase"], state.snapshot()["note"]))
    state.say("waiting for the scanner")
    state.enter("waiting")
    state.take(volume(0))
    assert seen == [(phase, "waiting for the scanner") for phase in ("ready", "waiting", "running")]


def test_keys_and_lines_of_no_interest_change_nothing_else():
    state = state_of()
    before = told(state, volume(0))
    key = {**PLACE, "key": 29.5, "match": True, "seconds": 0.5}
    assert told(state, key, {**PLACE, "zero": 12.5}) == before
    assert state.run.answers == {29.5: True}
