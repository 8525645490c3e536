"""The brain as a whole: determinism, whole-brain frames, motion."""

import os
import pickle
import shutil
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import digests
import numpy as np
import pytest
from digests import digest, protocol
from heads import head

from bciigl.base.errors import BciiglError
from bciigl.base.seeds import Seed
from bciigl.brain import Brain, Event, Trials
from bciigl.brain.noise import RunPlan, motion_spikes
from bciigl.protocol import load
from bciigl.protocol.model import Motion


@pytest.fixture
def small(tmp_path):
    """Return brains of a small head, by protocol sections."""
    head().save(tmp_path / "head")

    def build(**sections) -> Brain:
        brain = {
            "subject": "head",
            "region": {"center": [8, 10, 8], "size": 3},
            "noise": 1.0,
            **sections.pop("brain", {}),
        }
        return Brain(protocol(brain=brain, **sections), tmp_path)

    return build


def test_same_protocol_and_seed_give_the_same_bytes_in_any_order():
    forwards = [digest(run) for run in (1, 2, 3)]
    backwards = [digest(run) for run in (3, 2, 1)]
    assert forwards == backwards[::-1]
    assert len(set(forwards)) == 3


@pytest.mark.slow
def test_same_bytes_in_another_process_with_another_number_of_threads():
    here = [digest(1), digest(2), Brain(protocol()).fingerprint]
    code = "from digests import *; print(digest(1), digest(2), Brain(protocol()).fingerprint)"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "3")
    environment = {**os.environ, **threads, "PYTHONPATH": os.path.dirname(digests.__file__)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == here


@pytest.mark.parametrize("engine", ["exact", "fmrisim"])
def test_global_random_state_neither_matters_nor_changes(engine, tmp_path):
    head().save(tmp_path / "head")
    np.random.seed(1)  # noqa: NPY002
    first = digest(1, engine, tmp_path)
    np.random.seed(2)  # noqa: NPY002
    np.random.randn(3)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    assert digest(1, engine, tmp_path) == first
    after = np.random.get_state()  # noqa: NPY002
    assert before[2:] == after[2:]
    np.testing.assert_array_equal(before[1], after[1])


def test_sessions_and_runs_have_noise_of_their_own_but_the_same_patterns():
    brain = Brain(protocol(brain={"noise": 1.0}))
    runs = [brain.scan(s, r).play([]) for s in ("train", "test") for r in (1, 2)]
    correlations = np.corrcoef([run[:, 0] - run[:, 0].mean() for run in runs])
    # 80 frames with an autocorrelation of 0.33: a standard error of about 0.13
    assert np.abs(correlations[np.triu_indices(4, 1)]).max() < 0.5
    other = Brain(protocol(brain={"noise": 1.0}, seed=1))
    same = Brain(protocol(brain={"noise": 0.1}))
    np.testing.assert_array_equal(same.patterns["judgment", True], brain.patterns["judgment", True])
    assert (other.patterns["judgment", True] != brain.patterns["judgment", True]).all()


def test_runs_are_as_long_as_the_protocol_plans():
    brain = Brain(protocol(task={"trials": 10}, evaluation={"test_trials": 5}))
    assert [brain.scan(run=run).frames for run in (1, 2, 3)] == [80, 80, 44]  # 4, 4, 2 trials
    assert brain.scan("test", 2).frames == 26
    assert brain.scan(run=3, trials=4).frames == 80
    assert brain.scan(run=99, trials=4).frames == 80


def test_runs_that_the_protocol_does_not_have_are_refused():
    brain = Brain(protocol(task={"trials": 10}))
    cases = [
        ({"run": 4}, "run should be from 1 to 3, got 4: the protocol plans 10 trials"),
        ({"run": 0}, "run should be from 1 to 3, got 0"),
        ({"run": 0.5}, "run should be from 1 to 3"),
        ({"run": -1, "trials": 4}, "run should be from 1 to 1000000, got -1"),
        ({"session": "tests"}, "train or test, got 'tests'; did you mean 'test'"),
        ({"trials": 0}, "trials should be 1 or more"),
        ({"trials": 10**6}, "fit into 32767 frames, got 1000000"),
    ]
    for arguments, message in cases:
        with pytest.raises(BciiglError, match=message):
            brain.scan(**arguments)
    with pytest.raises(BciiglError, match="perception: it needs a simulated person"):
        brain.scan().announce(Event("perception", 1.0, None))


def test_files_are_looked_for_beside_the_protocol(tmp_path, monkeypatch):
    head().save(tmp_path / "a" / "head")
    head(snr=9.0).save(tmp_path / "b" / "head")
    brain = "{subject: head, region: {center: [8, 10, 8]}}"
    content = f"name: x\ntask: {{options: [1, 2, 3]}}\nbrain: {brain}\n"
    (tmp_path / "a" / "mine.yaml").write_text(content)
    monkeypatch.chdir(tmp_path / "b")  # where another head lies
    assert Brain.from_file(tmp_path / "a" / "mine.yaml").subject.noise.snr == 60
    with pytest.raises(BciiglError, match="brain.subject: 'head' is relative to the protocol's"):
        Brain(load(tmp_path / "a" / "mine.yaml"))
    absolute = {"subject": str(tmp_path / "a" / "head"), "region": {"center": [8, 10, 8]}}
    assert Brain(protocol(brain=absolute)).subject.noise.snr == 60
    with pytest.raises(BciiglError, match="brain.region.file: 'region.nii.gz' is relative"):
        Brain(protocol(brain={"region": {"shape": "mask"}}))


def test_file_that_cannot_be_used_is_refused_with_its_line(write):
    path = write("name: x\ntask: {options: [1, 2, 3]}\nbrain: {region: {center: [0, 0, 0]}}\n")
    with pytest.raises(BciiglError, match="mine.yaml:3:18: brain.region.center: 64 of 64"):
        Brain.from_file(path)


def test_switching_a_source_off_leaves_the_others_as_they_were(small):
    everything = small().scan().play([])
    off = dict.fromkeys(["arma", "physiological", "task"], False)
    calm = small(brain={"noise_sources": off}).scan().play([])
    no_drift = small(brain={"noise_sources": {**off, "drift": False}}).scan().play([])
    drift = calm - no_drift
    np.testing.assert_allclose(drift, drift[:, :1] * np.ones(27), atol=1e-9)
    assert drift[:, 0].std() == pytest.approx(head().noise.drift_sigma)
    assert everything.std() > calm.std()


def test_engines_are_chosen_by_the_protocol(small):
    stock = small(brain={"engine": "fmrisim"}).scan().play([])
    exact = small().scan().play([])
    assert stock.shape == exact.shape
    assert not np.allclose(stock, exact)
    # one run of 80 frames each: SDs over 27 correlated voxels, within 25 %
    assert stock.std(axis=0).mean() == pytest.approx(exact.std(axis=0).mean(), rel=0.25)
    base = head().base[8, 10, 8]
    assert stock.mean(axis=0)[13] == pytest.approx(base, rel=0.1)


def test_signal_does_not_depend_on_engine_or_sources(small):
    event = [Event("perception", 3.0, 7)]

    def signal(**brain):
        return small(brain=brain).scan().play(event) - small(brain=brain).scan().play([])

    expected = signal()
    np.testing.assert_allclose(signal(engine="fmrisim"), expected, atol=1e-9)
    off = dict.fromkeys(["arma", "drift", "physiological", "task", "system"], False)
    np.testing.assert_allclose(signal(noise_sources=off), expected, atol=1e-9)


def test_motion_spikes_come_at_their_rate_and_size():
    plan = RunPlan(1.5, np.zeros(40_000, bool))
    spikes = motion_spikes(Motion(spikes_per_minute=4.0, size=5.0), 10.0, plan, Seed(0))
    assert set(np.unique(spikes)) == {-50.0, 0.0, 50.0}
    # a frame is hit with probability 0.1; four standard errors are 0.006
    assert (spikes != 0).mean() == pytest.approx(0.1, abs=0.006)
    assert (spikes > 0).sum() == pytest.approx(2000, abs=200)
    assert not motion_spikes(Motion(), 10.0, plan, Seed(0)).any()
    always = motion_spikes(Motion(spikes_per_minute=60.0), 10.0, plan, Seed(0))
    assert always.all()


def test_motion_shifts_whole_frames(small):
    moved = small(brain={"motion": {"spikes_per_minute": 6.0, "size": 8.0}})
    shift = moved.scan().play([]) - small().scan().play([])
    np.testing.assert_allclose(shift, shift[:, :1] * np.ones(27), atol=1e-9)
    expected = {-8 * head().noise_sd, 0.0, 8 * head().noise_sd}
    assert set(np.unique(shift[:, 0].round(6))) <= {round(each, 6) for each in expected}
    assert shift.any()


def test_region_of_a_whole_volume_shows_the_events(small):
    event = Event("perception", 3.0, 7)
    quiet = small(brain={"noise": 0.0})
    volumes = quiet.scan(whole_brain=True).play([event])
    np.testing.assert_allclose(
        volumes[(slice(None), *quiet.region.index)], quiet.scan().play([event]), atol=1e-9
    )
    elsewhere = np.ones(quiet.subject.shape, bool)
    elsewhere[quiet.region.index] = False
    expected = np.broadcast_to(quiet.subject.base[elsewhere], (80, elsewhere.sum()))
    np.testing.assert_array_equal(volumes[:, elsewhere], expected)


def test_run_of_volumes_is_causal_and_the_same_step_by_step(small):
    brain = small()
    events = Trials((7, 8, 9, 7), (7, 7, 9, 8)).events(brain.protocol)
    expected = brain.scan(whole_brain=True).play(events)
    scanner = brain.scan(whole_brain=True)
    taken = []
    for event in events:
        taken.extend(scanner.until(event.onset))
        scanner.announce(event)
    taken.extend(scanner)
    np.testing.assert_array_equal(np.array(taken), expected)
    without = brain.scan(whole_brain=True).play([])
    np.testing.assert_array_equal(without[:8], expected[:8])  # the first event is at 12 s


def test_stock_engine_gives_whole_volumes_too(small):
    brain = small(brain={"engine": "fmrisim"})
    volumes = brain.scan(whole_brain=True).play([])
    np.testing.assert_allclose(
        volumes[(slice(None), *brain.region.index)], brain.scan().play([]), atol=1e-9
    )


def test_memory_does_not_grow_with_the_frames(small):
    def peak(trials):
        scanner = small(task={"trials_per_run": trials}).scan(whole_brain=True)
        tracemalloc.start()
        for _ in scanner:
            pass
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    few, many = peak(4), peak(9)
    # one volume has 50 kB; 90 more frames may cost a few numbers each, not a volume
    assert many - few < 90 * 100


def test_motion_shifts_the_brain_of_whole_volumes(small):
    moved = small(brain={"motion": {"spikes_per_minute": 6.0, "size": 8.0}})
    still, shaken = (each.scan(whole_brain=True).play([]) for each in (small(), moved))
    mask = head().mask
    shift = (shaken - still)[:, mask]
    np.testing.assert_allclose(shift, np.outer(shift[:, 0], np.ones(mask.sum())), atol=1e-9)
    np.testing.assert_array_equal(shaken[:, ~mask], still[:, ~mask])
    assert shift[:, 0].max() == pytest.approx(8 * moved.subject.noise_sd)


def test_brain_can_be_handed_to_another_process(small):
    brain = pickle.loads(pickle.dumps(small()))  # noqa: S301
    np.testing.assert_array_equal(brain.scan().play([]), small().scan().play([]))


def test_no_voxel_is_negative(small):
    assert small(brain={"noise": 10.0}).scan(whole_brain=True).play([]).min() == 0


def test_task_noise_follows_the_planned_events(small):
    off = dict.fromkeys(["arma", "drift", "physiological", "system"], False)
    noise = small(brain={"noise_sources": off}).scan().play([])
    times = (np.arange(80) + 0.5) * 1.5 - 12
    on = (times >= 0) & (times % 9 < 2)
    rest = noise[~on]
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape), atol=1e-9)
    assert (noise[on].std(axis=0) > 0).all()
    # 39 s hold 24.4 frames of 1.6 s; the 25th is sampled after the trial, at 39.2 s
    cut_off = small(brain={"noise_sources": off}, timing={"tr": 1.6}).scan(trials=1).play([])
    np.testing.assert_allclose(cut_off[-1], cut_off[0], atol=1e-9)


def test_fingerprint_is_of_subject_and_region_and_of_nothing_else(small, tmp_path):
    known = small().fingerprint
    assert small().fingerprint == known
    for sections in (
        {"brain": {"noise": 0.1, "cnr": 2.0, "similarity": 0.5}},
        {"seed": 5},
        {"timing": {"isi": 9.0}},
    ):
        assert small(**sections).fingerprint == known
    others = [
        small(brain={"region": {"center": [8, 10, 8], "size": 2}}).fingerprint,
        small(brain={"region": {"center": [8, 10, 9], "size": 3}}).fingerprint,
    ]
    subject = head()
    noise = subject.noise.model_copy(update={"sfnr": subject.noise.sfnr + 1})
    template = np.where(subject.mask, 0.99, 1.0) * subject.template
    for changes in ({"noise": noise}, {"template": template}):
        shutil.rmtree(tmp_path / "head")
        replace(subject, **changes).save(tmp_path / "head")
        brain = {
            "subject": "head",
            "region": {"center": [8, 10, 8], "size": 3},
        }
        others.append(Brain(protocol(brain=brain), tmp_path).fingerprint)
    assert len({known, *others}) == 5
