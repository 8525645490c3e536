"""Whole sessions: in memory or recorded, stopped or not, with frames missing or not, the same."""

import json
import os
import shutil
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from heads import head
from kills import digests
from recordings import (
    LEARNS,
    Losing,
    Stopped,
    small,
    some_policy,
    stop_after,
    stopped,
    use_source,
    whole,
)

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain
from bciigl.brain.images import read_image
from bciigl.loop import (
    Agent,
    Choice,
    FixedAgent,
    LearningAgent,
    Volunteer,
    record,
    resume,
    simulate,
)
from bciigl.loop.session import agent_of, participant_of, simulate_run
from bciigl.recording import open_dataset
from bciigl.recording.journal import JournalError
from bciigl.recording.layout import ESTIMATES, JOURNAL, POLICY, TRUTH
from bciigl.recording.trial import RunId
from bciigl.source import Frame, SimulatedSource

KINDS = {
    "uniform": small(),
    "catch": small(
        task={"catch": {"share": 0.4}},
        human={"judgment_lapse": 0.3, "imagination_lapse": 0.3},
    ),
    "separate": small(recording="separate", task={"catch": {"share": 0.3}}),
    "two events": small(task={"events": ["imagination", "judgment"]}, estimate="frame"),
    "fixed": small(agent={"policy": "fixed"}),
    "learning": small(**LEARNS),
    "learning, separate": small(**LEARNS, recording="separate"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Callable[[str], Path]:
    """Return the folder of a recording that was not stopped, by its kind; not to be changed."""
    root = tmp_path_factory.mktemp("finished")

    def of(kind: str) -> Path:
        out = root / kind
        return out if out.exists() else whole(KINDS[kind], out)

    return of


def assert_same_session(found, expected) -> None:
    """Compare two sessions bit by bit."""
    assert list(found) == list(expected)
    for name, session in expected.items():
        for mine, other in zip(found[name], session, strict=True):
            assert (mine is None) == (other is None)
            for each in fields(other) if other is not None else ():
                np.testing.assert_array_equal(
                    getattr(mine, each.name), getattr(other, each.name), strict=True
                )


@pytest.mark.parametrize(
    "kind", [each for each in KINDS if each not in ("fixed", "learning, separate")]
)
def test_what_is_simulated_is_what_would_be_recorded(kind, finished):
    assert_same_session(simulate(KINDS[kind]), open_dataset(finished(kind)).sessions)


@pytest.mark.parametrize("kind", ["learning", "learning, separate"])
def test_agents_here_do_learn(kind, finished):
    """The tests of this file are of agents whose guesses depend on what they have observed."""
    sessions = open_dataset(finished(kind)).sessions
    train = sessions["train"].interactions
    np.testing.assert_allclose(train.propensity[:75], 1 / 3)
    assert set(np.round(train.propensity[75:], 6)) == {0.166667, 0.666667}
    assert len(set(train.action[75:])) == 3
    np.testing.assert_allclose(sessions["test"].interactions.propensity, 1 / 3)


def test_runs_are_counted_from_one_and_progress_is_told_after_each_trial(tmp_path):
    told = []
    mine = small(task={"trials": 10}, evaluation={"test_trials": 6})
    sessions = simulate(mine, progress=lambda *each: told.append(each))
    np.testing.assert_array_equal(sessions["train"].interactions.run, [1] * 4 + [2] * 4 + [3] * 2)
    np.testing.assert_array_equal(sessions["test"].interactions.run, [1] * 4 + [2] * 2)
    # The end of each run is told once more.
    done = [1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 10, 11, 12, 13, 14, 14, 15, 16, 16]
    assert told == [(each, 16) for each in done]
    again = []
    record(mine, tmp_path / "out", progress=lambda *each: again.append(each))
    assert again == told


# Progress is told 13 times in short ones: after each of 4, 3 and 3 trials, and after each run. With
# catch trials all places that differ are there; a pause is between the runs of those that learn.
STOPS = {
    "catch": (1, 4, 5, 7, 9, 12, 13),
    "separate": (4, 5),
    "two events": (7,),
    "fixed": (7,),
    "learning": (76,),
    "learning, separate": (90,),
}


@pytest.mark.parametrize("kind", STOPS)
def test_recording_that_was_stopped_ends_as_one_that_was_not(kind, finished, tmp_path):
    mine, expected = KINDS[kind], digests(finished(kind))
    assert JOURNAL not in expected
    for stop in STOPS[kind]:
        out = stopped(mine, tmp_path / str(stop), stop)
        resume(out)
        assert digests(out) == expected


def test_recording_may_be_stopped_again_and_again(finished, tmp_path):
    out, times = stopped(KINDS["catch"], tmp_path / "out", 1), 0
    while (out / JOURNAL).exists():
        try:
            # Known runs are told too, but no more than two of three: each time a trial is new.
            resume(out, progress=stop_after(4))
        except Stopped:
            times += 1
    assert times > 1
    assert digests(out) == digests(finished("catch"))


def test_half_a_line_of_the_journal_and_half_a_file_are_dropped(finished, tmp_path):
    begun = stopped(KINDS["uniform"], tmp_path / "begun", 6)
    for cut in (1, 100, 2000):
        out = shutil.copytree(begun, tmp_path / str(cut))
        text = (out / JOURNAL).read_bytes()
        (out / JOURNAL).write_bytes(text[: len(text) - cut])
        for name in (
            ".12345.tmp.README.md",
            "sub-01/ses-train/func/.99.tmp.sub-01_ses-train_task-small_run-02_bold.nii.gz",
            "derivatives/truth/.7.tmp.dataset_description.json",
        ):
            (out / name).write_text("half of a fi")
        resume(out, expected=small(timing={"isi": 7.0}))
        assert digests(out) == digests(finished("uniform"))


def test_finished_dataset_is_left_as_it_is(finished):
    out = finished("uniform")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    resume(out)
    resume(out, expected=KINDS["uniform"], progress=stop_after(1))
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_recording_of_another_protocol_is_refused_by_the_field_that_differs(finished, tmp_path):
    for out in (finished("uniform"), stopped(small(), tmp_path / "out")):
        before = digests(out)
        for change, message in [
            ({"seed": 5}, "seed is 0 there, 5 here"),
            ({"timing": {"isi": 8.0}}, "timing.isi is 7.0 there, 8.0 here"),
            ({"task": {"catch": {"share": 0.2}}}, "task.catch.share is 0.0 there, 0.2 here"),
            ({"brain": {"region": {"shape": "sphere"}}}, "region.shape is cube there, sphere here"),
            ({"timing": {"decision": 7.0}}, "timing.decision is None there, 7.0 here"),
        ]:
            with pytest.raises(BciiglError, match="was begun with another protocol: ") as error:
                resume(out, expected=small(**change))
            assert message in str(error.value)
        assert digests(out) == before


def tamper(out: Path, line: int, change: Callable[[dict], None]) -> None:
    """Change an entry of a journal, and its checksum with it."""
    lines = (out / JOURNAL).read_bytes().splitlines()
    entry = json.loads(lines[line].partition(b" ")[2])
    change(entry)
    text = json.dumps(entry, separators=(",", ":")).encode()
    lines[line] = b"%08x %s" % (zlib.crc32(text), text)
    (out / JOURNAL).write_bytes(b"\n".join(lines) + b"\n")


DIFFERS = "trial 2 of the run does not come out"
BRAIN_DIFFERS = [
    ("context", lambda context: [context[0] + 1e-12, *context[1:]], DIFFERS),
    ("feedback", lambda feedback: [*feedback[:-1], feedback[-1] + 1e-9], DIFFERS),
]
TAMPERED = [
    *BRAIN_DIFFERS,
    ("action", lambda action: (action + 1) % 3, DIFFERS),
    ("propensity", lambda propensity: 0.5, DIFFERS),
    ("explored", lambda explored: not explored, DIFFERS),
    ("catch", lambda catch: not catch, DIFFERS),
    ("context", lambda context: [None, *context[1:]], DIFFERS),
    ("trial", lambda trial: 7, "its trials are not in order"),
    ("run", lambda run: 2, "its trials are not in order"),
    ("session", lambda session: "test", "in order"),
    ("context", lambda context: "none", "is not a journal of a session"),
    ("run", lambda run: [1], "in order|is not a journal of a session"),
]


# What is recorded separately has its own way to the estimates, and the same one to all else.
@pytest.mark.parametrize(
    ("recording", "tampered"), [("shared", TAMPERED), ("separate", BRAIN_DIFFERS)]
)
def test_journal_that_was_tampered_with_is_refused(recording, tampered, tmp_path):
    out = stopped(small(recording=recording), tmp_path / "out", 3)
    untouched = (out / JOURNAL).read_bytes()
    for name, changed, message in tampered:
        tamper(out, 2, lambda entry: entry.update({name: changed(entry[name])}))  # noqa: B023
        with pytest.raises(JournalError, match=message):
            resume(out)
        (out / JOURNAL).write_bytes(untouched)
    for name, value in (("run", 2), ("session", "test")) if recording == "shared" else ():
        tamper(out, 1, lambda entry: entry.update({name: value}))  # noqa: B023
        with pytest.raises(JournalError, match="in order"):
            resume(out)
        (out / JOURNAL).write_bytes(untouched)
    tamper(out, 2, lambda entry: None)
    resume(out)
    assert not (out / JOURNAL).exists()


def test_changed_subject_is_refused_and_the_restored_one_is_resumed(tmp_path):
    subject = head()
    subject.save(tmp_path / "subject")
    mine = small(brain={"subject": "subject", "region": {"center": [8, 10, 8], "size": 3}})
    record(mine, tmp_path / "whole", folder=tmp_path)
    with pytest.raises(Stopped):
        record(mine, tmp_path / "out", folder=tmp_path, progress=stop_after(3))
    (tmp_path / "subject").rename(tmp_path / "kept")
    noise = subject.noise.model_copy(update={"sfnr": subject.noise.sfnr + 1})
    replace(subject, noise=noise).save(tmp_path / "subject")
    with pytest.raises(JournalError, match="the subject or the region is not what it was"):
        resume(tmp_path / "out")
    shutil.rmtree(tmp_path / "subject")
    (tmp_path / "kept").rename(tmp_path / "subject")
    resume(tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


@pytest.mark.slow
def test_damaged_files_of_earlier_runs_are_written_again(finished, tmp_path):
    expected = digests(finished("catch"))
    begun = stopped(KINDS["catch"], tmp_path / "begun", 7)
    for ending in ("bold.nii.gz", "events.tsv", "interactions.npz", "truth.tsv"):
        for harm in (Path.unlink, lambda path: path.write_bytes(b"?")):
            out = tmp_path / "out"
            shutil.copytree(begun, out)
            (path,) = out.rglob(f"*ses-train*run-01_{ending}")
            harm(path)
            with pytest.raises(Stopped):
                resume(out, progress=stop_after(4))
            resume(out)
            assert digests(out) == expected, ending
            shutil.rmtree(out)


class Contrary(Agent):
    """A custom agent: never guesses the same twice."""

    def begin_run(self, rng):
        """Begin anywhere."""
        super().begin_run(rng)
        self.last = int(rng.integers(self.n_actions))

    def act(self, context):
        """Guess anything but the last."""
        self.last = (self.last + int(self.rng.integers(1, self.n_actions))) % self.n_actions
        return Choice(self.last, 1 / (self.n_actions - 1), False)


def test_custom_agent_guesses_and_is_resumed(tmp_path):
    record(small(), tmp_path / "whole", agent=Contrary(3))
    trials = open_dataset(tmp_path / "whole").sessions["train"].interactions
    assert (trials.propensity == 0.5).all()
    with pytest.raises(Stopped):
        record(small(), tmp_path / "out", agent=Contrary(3), progress=stop_after(3))
    for other in (None, Agent(3)):
        with pytest.raises(JournalError, match="was begun with another agent: Contrary"):
            resume(tmp_path / "out", agent=other)
    resume(tmp_path / "out", agent=Contrary(3))
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")
    assert_same_session(
        simulate(small(), agent=Contrary(3)), open_dataset(tmp_path / "whole").sessions
    )


def test_agent_is_the_one_that_the_protocol_asks_for():
    for settings, kind in [
        ({}, Agent),
        ({"policy": "epsilon-greedy"}, LearningAgent),
        ({"policy": "explore-then-commit", "uniform_runs": 2}, LearningAgent),
    ]:
        agent = agent_of(small(agent=settings, task={"options": [1, 2, 3, 4]}), 64)
        assert (type(agent), agent.n_actions) == (kind, 4)
    fixed = small(agent={"policy": "fixed"})
    assert isinstance(agent_of(fixed, 64, some_policy()), FixedAgent)
    with pytest.raises(BciiglError, match="needs a saved policy"):
        agent_of(fixed, 64)
    with pytest.raises(BciiglError, match="agent.policy is fixed: it needs a saved policy"):
        simulate(fixed)
    with pytest.raises(BciiglError, match="for 3 options and 8 voxels"):
        agent_of(fixed, 64, some_policy(features=8))
    with pytest.raises(BciiglError, match="takes no saved policy"):
        agent_of(small(), 64, some_policy())


def test_person_and_agent_of_a_run_have_their_own_streams():
    lapses = {"judgment_lapse": 0.4, "imagination_lapse": 0.4}
    mine = small(human=lapses, task={"trials_per_run": 40, "catch": {"share": 0.4}, "trials": 80})
    source, place = SimulatedSource(mine), RunId("train", 2)
    run, again = (simulate_run(mine, source, Agent(3), place, 40) for _ in range(2))
    np.testing.assert_array_equal(run.frames, again.frames)
    who = participant_of(mine, source, place, 40)
    actions = np.array([each.action for each in run.trials])
    np.testing.assert_array_equal(run.truth.meant, who.meant)
    np.testing.assert_array_equal(run.truth.imagined, who.imagined)
    np.testing.assert_array_equal(run.truth.match, actions == who.meant)
    np.testing.assert_array_equal(run.truth.judged, run.truth.match != who._lapses)
    assert (run.truth.judged != run.truth.match).any()
    assert (run.truth.meant != run.truth.imagined).any()
    others = (RunId("train", 1), RunId("test", 1))
    for other in others:
        found = simulate_run(mine, source, Agent(3), other, 3)
        assert (
            not np.array_equal([each.action for each in found.trials], actions[:3])
            or (found.frames[:8] != run.frames[:8]).all()
        )


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_runs(tmp_path):
    def peak(runs, name=""):
        tracemalloc.start()
        record(small(task={"trials": runs, "trials_per_run": 1}), tmp_path / f"{name}{runs}")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(20, "first")  # caches are filled
    # The journal and files of a run, not of all of them: 20 runs have 0.27 MB of frames alone.
    assert peak(20) < peak(4) + 100_000


def test_policy_of_a_fixed_agent_must_be_there_and_fit(tmp_path):
    out = stopped(KINDS["fixed"], tmp_path / "out")
    shutil.rmtree(out / POLICY)
    with pytest.raises(BciiglError, match="needs a saved policy"):
        resume(out)
    for policy in (None, some_policy(4)):
        with pytest.raises(BciiglError, match="policy"):
            record(KINDS["fixed"], tmp_path / "none", policy=policy)
        assert not (tmp_path / "none").exists()


def test_folder_that_is_no_place_for_a_recording_is_left_alone(finished, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(FileExistsError, match="exists already and is not an empty folder"):
        record(small(), tmp_path)
    for name in ("absent", "."):
        with pytest.raises(JournalError, match="there is no session to resume"):
            resume(tmp_path / name)
    assert set(digests(tmp_path)) == {"mine.txt"}
    out = stopped(small(), tmp_path / "out")
    before = digests(out)
    with pytest.raises(BciiglError, match="a recording was begun there; resume it"):
        record(small(), out)
    assert digests(out) == before
    (tmp_path / "empty").mkdir()
    for name in ("empty", "not/there"):
        assert digests(whole(small(), tmp_path / name)) == digests(finished("uniform"))


def test_killed_before_its_first_journal_line_it_is_begun_again(finished, tmp_path, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    out, mine = tmp_path / "out", KINDS["fixed"]
    with monkeypatch.context() as patch:
        patch.setattr("bciigl.recording.journal.written_file", killed)
        with pytest.raises(KeyboardInterrupt):
            whole(mine, out)
    assert (out / POLICY).exists() and not (out / JOURNAL).exists()
    (out / ".0123456789abcdef.tmp.journal.txt").write_text("half")
    assert digests(whole(mine, out)) == digests(finished("fixed"))


def test_two_processes_cannot_record_in_one_folder(tmp_path):
    def other(*_):
        if not tried:
            tried.append(os.getpid())
            with pytest.raises(JournalError, match="another process is recording there"):
                resume(tmp_path / "out")
            with pytest.raises(JournalError, match="another process is recording there"):
                record(small(), tmp_path / "out")

    tried = []
    record(small(), tmp_path / "out", progress=other)
    assert tried


def test_paced_recording_is_the_same_and_its_lateness_is_told(tmp_path):
    # 0.4 s a run, five times as fast.
    mine = small(
        task={"trials": 1, "events": ["imagination", "judgment"]},
        timing={"tr": 0.1, "event": 0.1, "isi": 0.1, "burn_in": 0.0},
        evaluation={"test_trials": 1},
    )
    late = []
    record(mine, tmp_path / "paced", speed=5.0, lateness=late.append)
    assert digests(tmp_path / "paced") == digests(whole(mine, tmp_path / "whole"))
    assert len(late) == 2 and min(late) >= 0
    with pytest.raises(BciiglError, match="speed should be a number above 0, got 0"):
        record(mine, tmp_path / "none", speed=0)
    separate = small(recording="separate")
    with pytest.raises(BciiglError, match="separate is simulated, and not in real time"):
        record(separate, tmp_path / "none", speed=1.0)
    assert not (tmp_path / "none").exists()
    out = stopped(separate, tmp_path / "out")
    with pytest.raises(BciiglError, match="separate is simulated, and not in real time"):
        resume(out, speed=1.0)
    resume(out)


def test_seed_fixes_every_byte_and_the_folder_s_place_none(finished, tmp_path, monkeypatch):
    mine, one = KINDS["catch"], digests(finished("catch"))
    monkeypatch.chdir(tmp_path)
    record(mine, "here", folder=tmp_path)
    assert digests(tmp_path / "here") == one
    other = digests(whole(mine.model_copy(update={"seed": 1}), tmp_path / "other"))
    assert set(other) == set(one)
    for ending in ("bold.nii.gz", "events.tsv", "interactions.npz", "truth.tsv"):
        # the guesses and options of a few trials might be the same by chance in one run
        assert any(other[name] != one[name] for name in one if name.endswith(ending))
    assert all(other[name] != one[name] for name in one if name.endswith("bold.nii.gz"))


def test_test_session_has_the_same_patterns():
    """Without noise, the context of a run's first trial follows from what is imagined alone."""
    runs = {"trials": 15, "trials_per_run": 1}
    mine = small(task=runs, brain={"noise": 0.0}, evaluation={"test_trials": 15})
    (train, meant), (test, tested) = simulate(mine).values()
    assert set(meant.meant) == set(tested.meant) == {0, 1, 2}
    for option in range(3):
        both = np.concatenate(
            [train.context[meant.meant == option], test.context[tested.meant == option]]
        )
        np.testing.assert_array_equal(both, np.broadcast_to(both[0], both.shape))
    assert len(np.unique(train.context, axis=0)) == 3


def test_test_session_has_other_noise_other_options_and_no_catch_trials(tmp_path):
    task = {"trials": 20, "trials_per_run": 20, "catch": {"share": 0.5}}
    mine = small(task=task, evaluation={"test_trials": 20}, brain={"noise": 1.0})
    dataset = open_dataset(whole(mine, tmp_path / "out"))
    assert dataset.protocol == mine
    (train, truth), (test, tested) = dataset.sessions.values()
    assert not np.array_equal(truth.meant, tested.meant)
    assert train.catch.any() and test.catch is None
    assert not np.array_equal(train.action, test.action)
    rest = [dataset.frames(session, 1)[:8] for session in ("train", "test")]  # before any event
    assert (rest[0] != rest[1]).all()
    patterns = Brain(dataset.protocol).patterns
    assert all(np.array_equal(patterns[key], each) for key, each in Brain(mine).patterns.items())


# A run of 20 trials has 368 frames, 18 to a trial after a rest of 8. Of the training session, trial
# 5 of run 2 has too few frames at its decision, and trial 7 when it ends.
GAPS = small(
    task={"trials": 60, "trials_per_run": 20},
    evaluation={"test_trials": 20},
    brain={"noise": 0.05},
    learners=["ai_igl", "cb", "ceiling"],
)
LOST = {("train", 2, 8 + 18 * 4 + each): "missing" for each in range(1, 6)}
LOST |= {("train", 2, 8 + 18 * 6 + each): "corrupt" for each in range(7, 18)}
LOST |= {("train", 1, 30): "late", ("test", 1, 50): "missing", ("test", 1, 200): "missing"}


@pytest.mark.slow
def test_session_that_lost_frames_is_recorded_resumed_and_learned_from(
    tmp_path, monkeypatch, bciigl
):
    out, bad = tmp_path / "out", [24, 26]
    intact = whole(GAPS, tmp_path / "intact")
    expected = open_dataset(intact).sessions
    use_source(monkeypatch, partial(Losing, lost=LOST))
    with pytest.raises(Stopped):
        record(GAPS, out, progress=stop_after(28))  # in run 2, after a trial without a context
    resume(out)
    assert digests(out) == digests(whole(GAPS, tmp_path / "whole"))
    dataset = open_dataset(out)
    assert_same_session(simulate(GAPS), dataset.sessions)

    frames = dataset.frames("train", 2)
    lost = [index for session, run, index in LOST if (session, run) == ("train", 2)]
    assert np.flatnonzero(np.isnan(frames).all(axis=1)).tolist() == lost
    assert np.isfinite(np.delete(frames, lost, axis=0)).all()
    (path,) = (out / ESTIMATES).rglob("*ses-train*run-02_frames.tsv")
    told = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    assert told == [[str(index + 1), LOST["train", 2, index]] for index in lost]
    assert len(list((out / ESTIMATES).rglob("*_frames.tsv"))) == 3

    train, truth = dataset.sessions["train"]
    assert len(train.action) == len(truth.meant) == 58
    left = np.delete(np.arange(60), bad)
    np.testing.assert_array_equal(truth.meant, expected["train"].truth.meant[left])
    np.testing.assert_array_equal(train.run, np.repeat([1, 2, 3], 20)[left])
    assert len(dataset.sessions["test"].interactions.action) == 20
    with np.load(next((out / ESTIMATES).rglob("*ses-train*run-02_interactions.npz"))) as arrays:
        assert np.isnan(arrays["context"]).all(axis=1).tolist() == [each == 4 for each in range(20)]
        missing = np.isnan(arrays["feedback_so_far"]).any(axis=1)
        assert missing.tolist() == [each == 6 for each in range(20)]
    event = next(each for each in dataset.events("train", 2) if each.trial == 5)
    assert (event.propensity, event.explored) == (1 / 3, True)
    # Before the first frame was lost, all is as it was.
    found, known = (
        next((each / ESTIMATES).rglob("*ses-train*run-01_interactions.npz")).read_bytes()
        for each in (out, intact)
    )
    assert found == known
    document = json.loads(bciigl("learn", out, "--json").stdout)
    assert set(document["learners"]) == {"ai_igl", "cb", "ceiling"}


class NoiseSource(SimulatedSource):
    """A scanner with a person in it of whom nothing is known: here, noise."""

    group = "participant"

    def announce(self, event) -> None:
        """Ignore what happens."""

    def participant(self, session, run, trials) -> Volunteer:
        """Return someone who keeps their thoughts to themselves."""
        return Volunteer(self.brain.protocol, trials)

    def read(self, stop) -> list[Frame]:
        """Return frames, each a little later than it was acquired."""
        return [each._replace(arrived=each.acquired + 0.2) for each in super().read(stop)]


def test_volunteer_without_truth_is_recorded_resumed_and_learned_from(
    tmp_path, monkeypatch, bciigl
):
    mine = small(
        task={"trials": 20, "trials_per_run": 10, "catch": {"share": 0.3}}, learners=["ai_igl"]
    )
    use_source(monkeypatch, NoiseSource)
    out = stopped(mine, tmp_path / "out", 14)
    resume(out)
    assert digests(out) == digests(whole(mine, tmp_path / "whole"))
    assert not (out / TRUTH).exists()
    assert "\tparticipant\n" in (out / "participants.tsv").read_text()
    dataset = open_dataset(out)
    assert_same_session(simulate(mine), dataset.sessions)
    assert all(session.truth is None for session in dataset.sessions.values())
    assert dataset.sessions["train"].interactions.catch is None
    found = json.loads(bciigl("learn", out, "--json").stdout)
    assert found["learners"]["ai_igl"]["accuracy"] is None
    image = read_image(dataset.bold("train", 1))
    assert np.isfinite(image.data).all()


def test_simulated_brain_needs_a_person_whose_thoughts_are_known(tmp_path, monkeypatch):
    monkeypatch.setattr(NoiseSource, "announce", SimulatedSource.announce)
    use_source(monkeypatch, NoiseSource)
    with pytest.raises(BciiglError, match="imagination: it needs a simulated person"):
        record(small(), tmp_path / "out")
