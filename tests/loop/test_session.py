"""Whole recordings: the same bytes however often they were stopped, and what is refused."""

import json
import shutil
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kills import digests
from recordings import small, some_policy

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain, load_subject
from bciigl.brain.images import read_image
from bciigl.loop import Agent, Choice, Clock, record, resume
from bciigl.protocol import Protocol
from bciigl.recording import open_dataset
from bciigl.recording.journal import JournalError
from bciigl.recording.layout import JOURNAL, POLICY

# What is learned from so many trials of eight voxels can be trusted, with this seed at once.
LEARNS = {
    "agent": {"policy": "epsilon-greedy", "uniform_runs": 1, "epsilon": 0.5},
    "task": {"trials": 160, "trials_per_run": 75},
    "evaluation": {"test_trials": 1},
    "brain": {"region": {"size": 2}, "noise": 0.01},
    "seed": 3,
}
KINDS = {
    "uniform": small(),
    "catch": small(task={"catch": {"share": 0.4}}, human={"judgment_lapse": 0.3}),
    "separate": small(recording="separate", task={"catch": {"share": 0.3}}),
    "two events": small(task={"events": ["imagination", "judgment"]}, estimate="frame"),
    "fixed": small(agent={"policy": "fixed"}),
    "epsilon-greedy": small(**LEARNS),
    "epsilon-greedy, separate": small(**LEARNS, recording="separate"),
}


class Stopped(Exception):
    """Stops a recording."""


def stop_after(calls: int) -> Callable[[int, int], None]:
    """Return what stops a recording when it has reported progress so often."""
    left = iter(range(calls - 1, -1, -1))

    def progress(trials: int, total: int) -> None:
        if not next(left):
            raise Stopped

    return progress


def policy_of(mine: Protocol):
    return some_policy(len(mine.task.options)) if mine.agent.policy == "fixed" else None


def whole(mine: Protocol, out: Path) -> Path:
    """Record without a stop."""
    record(mine, out, policy=policy_of(mine))
    return out


def stopped(mine: Protocol, out: Path, calls: int = 3) -> Path:
    """Record, and stop when progress was reported so often."""
    with pytest.raises(Stopped):
        record(mine, out, policy=policy_of(mine), progress=stop_after(calls))
    assert (out / JOURNAL).exists()
    return out


def reports(mine: Protocol, out: Path) -> list[tuple[int, int]]:
    """Record without a stop, and return how progress was reported."""
    found: list[tuple[int, int]] = []
    record(mine, out, policy=policy_of(mine), progress=lambda *each: found.append(each))
    return found


@pytest.mark.parametrize("mine", KINDS.values(), ids=KINDS)
def test_recording_stopped_after_any_trial_ends_as_one_that_was_not(mine, tmp_path):
    calls = len(reports(mine, tmp_path / "whole"))
    expected = digests(tmp_path / "whole")
    assert JOURNAL not in expected
    # Long ones are stopped here and there, and at every trial around a pause.
    for stop in range(1, calls + 1) if calls < 20 else (7, 75, 76, 100, calls):
        out = stopped(mine, tmp_path / str(stop), stop)
        resume(out)
        assert digests(out) == expected


def test_recording_may_be_stopped_again_and_again(tmp_path):
    mine = KINDS["catch"]
    out, times = stopped(mine, tmp_path / "out", 1), 0
    while (out / JOURNAL).exists():
        try:
            # Known runs are reported too, but no more than two of three: each time a trial is new.
            resume(out, progress=stop_after(4))
        except Stopped:
            times += 1
    assert times > 1
    assert digests(out) == digests(whole(mine, tmp_path / "whole"))


def test_half_a_line_of_the_journal_is_dropped(tmp_path):
    mine = KINDS["uniform"]
    expected = digests(whole(mine, tmp_path / "whole"))
    for cut in (1, 100, 2000):
        out = stopped(mine, tmp_path / str(cut), 3)
        text = (out / JOURNAL).read_bytes()
        (out / JOURNAL).write_bytes(text[:-cut])
        resume(out)
        assert digests(out) == expected


def test_epsilon_greedy_sessions_here_do_learn(tmp_path):
    """The test above is of an agent whose guesses depend on what it has observed."""
    dataset = open_dataset(whole(KINDS["epsilon-greedy"], tmp_path / "out"))
    propensity = dataset.interactions("train")["propensity"]
    np.testing.assert_allclose(propensity[:75], 1 / 3)
    later = [pytest.approx(0.5 / 3), pytest.approx(0.5 + 0.5 / 3)]
    assert all(each in later for each in propensity[75:])
    assert len(set(dataset.interactions("train")["action"][75:])) == 3
    np.testing.assert_allclose(dataset.interactions("test")["propensity"], 1 / 3)


def test_progress_counts_trials_to_the_end(tmp_path):
    # Runs of 4, 3 and 3 trials; the end of each run is told once more.
    trials = [1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10]
    assert reports(small(), tmp_path / "out") == [(each, 10) for each in trials]


def test_finished_dataset_is_left_as_it_is(tmp_path):
    mine = small()
    out = whole(mine, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    resume(out)
    resume(out, expected=mine, progress=stop_after(1))
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 5}, "seed is 0 there, 5 here"),
        ({"timing": {"isi": 8.0}}, "timing.isi is 7.0 there, 8.0 here"),
        ({"task": {"catch": {"share": 0.2}}}, "task.catch.share is 0.0 there, 0.2 here"),
        (
            {"brain": {"region": {"shape": "sphere"}}},
            "brain.region.shape is cube there, sphere here",
        ),
        ({"timing": {"decision": 7.0}}, "timing.decision is None there, 7.0 here"),
    ],
)
def test_recording_of_another_protocol_is_refused_by_the_field_that_differs(
    finished, change, message, tmp_path
):
    out = whole(small(), tmp_path / "a") if finished else stopped(small(), tmp_path / "a")
    before = digests(out)
    with pytest.raises(BciiglError, match="was begun with another protocol: ") as error:
        resume(out, expected=small(**change))
    assert message in str(error.value)
    assert digests(out) == before


def test_recording_of_the_protocol_expected_goes_on(tmp_path):
    out = stopped(small(), tmp_path / "out")
    resume(out, expected=small(timing={"isi": 7.0}))
    assert digests(out) == digests(whole(small(), tmp_path / "whole"))


def tamper(out: Path, line: int, change: Callable[[dict], None]) -> None:
    """Change an entry of a journal, and its checksum with it."""
    lines = (out / JOURNAL).read_bytes().splitlines()
    entry = json.loads(lines[line].partition(b" ")[2])
    change(entry)
    text = json.dumps(entry, separators=(",", ":")).encode()
    lines[line] = b"%08x %s" % (zlib.crc32(text), text)
    (out / JOURNAL).write_bytes(b"\n".join(lines) + b"\n")


@pytest.mark.parametrize("recording", ["shared", "separate"])
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("action", lambda action: (action + 1) % 3),
        ("propensity", lambda propensity: 0.5),
        ("explored", lambda explored: not explored),
        ("catch", lambda catch: not catch),
        ("context", lambda context: [context[0] + 1e-12, *context[1:]]),
        ("feedback", lambda feedback: [*feedback[:-1], feedback[-1] + 1e-9]),
    ],
)
def test_trial_that_was_tampered_with_is_refused(recording, name, changed, tmp_path):
    out = stopped(small(recording=recording), tmp_path / "out", 3)
    tamper(out, 2, lambda entry: entry.update({name: changed(entry[name])}))
    with pytest.raises(JournalError, match="trial 2 of the run does not come out"):
        resume(out)


def test_journal_tampered_with_and_put_back_goes_on(tmp_path):
    """The test above refuses what it should, not how it is written."""
    out = stopped(small(), tmp_path / "out", 3)
    tamper(out, 2, lambda entry: None)
    resume(out)
    assert digests(out) == digests(whole(small(), tmp_path / "whole"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trial": 7}, "its trials are not in order"),
        ({"run": 1}, "its runs are not in order"),
        ({"session": "test"}, "its runs are not in order"),
        ({"context": "none"}, "is not a journal of a session"),
        ({"run": [0]}, "in order|is not a journal of a session"),
    ],
)
def test_journal_that_makes_no_sense_is_refused(change, message, tmp_path):
    out = stopped(small(), tmp_path / "out", 1)
    tamper(out, 1, lambda entry: entry.update(change))
    with pytest.raises(JournalError, match=message):
        resume(out)


def test_damaged_line_within_the_journal_is_refused(tmp_path):
    out = stopped(small(), tmp_path / "out", 3)
    lines = (out / JOURNAL).read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"trial":1', b'"trial":2')
    (out / JOURNAL).write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match="line 3 is damaged"):
        resume(out)


def test_changed_subject_is_refused_and_the_restored_one_goes_on(tmp_path):
    subject = load_subject("brainiak")
    subject.save(tmp_path / "subject")
    mine = small(brain={"subject": "subject"})
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


@pytest.mark.parametrize("harm", ["missing", "damaged"])
@pytest.mark.parametrize("ending", ["bold.nii.gz", "events.tsv", "interactions.npz", "truth.tsv"])
def test_files_of_whole_runs_that_came_to_harm_are_written_again(tmp_path, ending, harm):
    mine = KINDS["catch"]
    expected = digests(whole(mine, tmp_path / "whole"))
    out = stopped(mine, tmp_path / "out", 7)
    (path,) = out.rglob(f"*ses-train*run-01_{ending}")
    path.unlink() if harm == "missing" else path.write_bytes(b"?")
    with pytest.raises(Stopped):
        resume(out, progress=stop_after(4))
    resume(out)
    assert digests(out) == expected


class Contrary(Agent):
    """An agent as anyone might write it: never guesses the same twice."""

    def begin_run(self, rng):
        """Begin anywhere."""
        super().begin_run(rng)
        self.last = int(rng.integers(self.n_actions))

    def act(self, context):
        """Guess anything but the last."""
        self.last = (self.last + int(self.rng.integers(1, self.n_actions))) % self.n_actions
        return Choice(self.last, 1 / (self.n_actions - 1), False)


def test_agent_of_one_s_own_guesses_and_is_gone_on_with(tmp_path):
    record(small(), tmp_path / "whole", agent=Contrary(3))
    trials = open_dataset(tmp_path / "whole").interactions("train")
    assert (trials["propensity"] == 0.5).all()
    with pytest.raises(Stopped):
        record(small(), tmp_path / "out", agent=Contrary(3), progress=stop_after(3))
    for other in (None, Agent(3)):
        with pytest.raises(JournalError, match="was begun with another agent: Contrary"):
            resume(tmp_path / "out", agent=other)
    resume(tmp_path / "out", agent=Contrary(3))
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


@pytest.mark.parametrize("choice", [(3, 0.5, True), (-1, 0.5, True), (0.5, 1, True), (0, 0, True)])
def test_what_an_agent_of_one_s_own_must_not_choose_is_told(tmp_path, choice):
    class Astray(Agent):
        def act(self, context):
            return choice

    with pytest.raises(BciiglError, match="action should be from 0 to 2, and its propensity"):
        record(small(), tmp_path / "out", agent=Astray(3))


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path):
    def peak(runs):
        tracemalloc.start()
        record(small(task={"trials": 4 * runs}), tmp_path / str(runs))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2)  # caches are filled
    # The journal and files of a run, not of all of them: 40 runs have 2 MB of frames alone.
    assert peak(40) < peak(4) + 500_000


def test_lost_policy_of_a_fixed_agent_is_told(tmp_path):
    out = stopped(KINDS["fixed"], tmp_path / "out")
    shutil.rmtree(out / POLICY)
    with pytest.raises(BciiglError, match="learner.json: no such file"):
        resume(out)


@pytest.mark.parametrize("policy", [None, some_policy(4)], ids=["none", "other actions"])
def test_fixed_agent_without_a_fitting_policy_leaves_no_folder(policy, tmp_path):
    with pytest.raises(BciiglError, match="policy"):
        record(KINDS["fixed"], tmp_path / "out", policy=policy)
    assert not (tmp_path / "out").exists()


def test_folder_with_anything_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(FileExistsError, match="exists already and is not an empty folder"):
        record(small(), tmp_path)
    assert set(digests(tmp_path)) == {"mine.txt"}


def test_empty_folder_will_do_and_so_will_one_that_is_not_there(tmp_path):
    (tmp_path / "empty").mkdir()
    new = whole(small(), tmp_path / "not" / "there")
    assert digests(whole(small(), tmp_path / "empty")) == digests(new)


def test_folder_with_a_recording_in_it_is_to_be_resumed(tmp_path):
    out = stopped(small(), tmp_path / "out")
    before = digests(out)
    with pytest.raises(BciiglError, match="a recording was begun there; resume it"):
        record(small(), out)
    assert digests(out) == before


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_there_must_be_something_to_resume(name, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(JournalError, match="there is no session to go on with"):
        resume(tmp_path / name)
    assert not digests(tmp_path)


def test_file_that_a_killed_write_left_is_gone_in_the_end(tmp_path):
    out = stopped(small(), tmp_path / "out", 6)
    left = [
        out / ".12345.tmp.README.md",
        out / "sub-01/ses-train/func/.99.tmp.sub-01_ses-train_task-small_run-02_bold.nii.gz",
        out / "derivatives/truth/.7.tmp.dataset_description.json",
    ]
    for path in left:
        path.write_text("half of a fi")
    resume(out)
    assert not any(path.exists() for path in left)
    assert digests(out) == digests(whole(small(), tmp_path / "whole"))


def test_real_time_makes_no_separate_recordings(tmp_path):
    mine = small(recording="separate")
    with pytest.raises(BciiglError, match="recording: separate is not made in real time"):
        record(mine, tmp_path / "out", clock=Clock())
    assert not (tmp_path / "out").exists()
    out = stopped(mine, tmp_path / "out")
    with pytest.raises(BciiglError, match="recording: separate is not made in real time"):
        resume(out, clock=Clock())


def test_paced_recording_is_the_same(tmp_path):
    # 0.4 s a run: short events, all frames at once before a decision.
    mine = small(
        task={"trials": 1, "events": ["imagination", "judgment"]},
        timing={"tr": 0.1, "event": 0.1, "isi": 0.1, "burn_in": 0.0},
        evaluation={"test_trials": 1},
    )
    clock = Clock()
    record(mine, tmp_path / "paced", clock=clock)
    assert digests(tmp_path / "paced") == digests(whole(mine, tmp_path / "whole"))
    assert len(clock.lateness) == 2


def test_seed_fixes_every_byte(tmp_path):
    mine = KINDS["catch"]
    one, same = (digests(whole(mine, tmp_path / name)) for name in "ab")
    assert one == same
    other = digests(whole(mine.model_copy(update={"seed": 1}), tmp_path / "other"))
    assert set(other) == set(one)
    for ending in ("bold.nii.gz", "events.tsv", "interactions.npz", "truth.tsv"):
        # the guesses and options of a few trials might be the same by chance in one run
        assert any(other[name] != one[name] for name in one if name.endswith(ending))
    assert all(other[name] != one[name] for name in one if name.endswith("bold.nii.gz"))


def test_folder_s_place_is_not_in_the_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record(small(), "here")
    record(small(), tmp_path / "there", folder=tmp_path)
    assert digests(tmp_path / "here") == digests(tmp_path / "there")


def test_test_session_has_the_same_patterns(tmp_path):
    """Without noise, the context of a run's first trial follows from what is imagined alone."""
    runs = {"trials": 15, "trials_per_run": 1}
    mine = small(task=runs, brain={"noise": 0.0}, evaluation={"test_trials": 15})
    dataset = open_dataset(whole(mine, tmp_path / "out"))
    train, test = (dataset.interactions(session)["context"] for session in ("train", "test"))
    meant, tested = (dataset.truth(session).meant for session in ("train", "test"))
    assert set(meant) == set(tested) == {0, 1, 2}
    for option in range(3):
        both = np.concatenate([train[meant == option], test[tested == option]])
        np.testing.assert_array_equal(both, np.broadcast_to(both[0], both.shape))
    assert len(np.unique(train, axis=0)) == 3


def test_test_session_has_other_noise_other_options_and_no_catch_trials(tmp_path):
    task = {"trials": 20, "trials_per_run": 20, "catch": {"share": 0.5}}
    mine = small(task=task, evaluation={"test_trials": 20}, brain={"noise": 1.0})
    dataset = open_dataset(whole(mine, tmp_path / "out"))
    meant, tested = (dataset.truth(session).meant for session in ("train", "test"))
    assert not np.array_equal(meant, tested)
    train, test = (dataset.interactions(session) for session in ("train", "test"))
    assert train["catch"].any() and not test["catch"].any()
    assert not np.array_equal(train["action"], test["action"])
    rest = []
    for session in ("train", "test"):
        (image,) = (tmp_path / "out").glob(f"sub-01/ses-{session}/func/*_bold.nii.gz")
        rest.append(np.asarray(read_image(image)[0])[..., :8].ravel())  # 12 s before any event
    assert (rest[0] != rest[1]).all()


def test_brain_of_a_recording_is_that_of_its_protocol(tmp_path):
    mine = small()
    dataset = open_dataset(whole(mine, tmp_path / "out"))
    assert dataset.protocol == mine
    patterns = Brain(dataset.protocol).patterns
    assert all(np.array_equal(patterns[key], each) for key, each in Brain(mine).patterns.items())
