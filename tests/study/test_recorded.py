"""Recorded arrays made ready to learn from: people apart, features normalised by noise."""

import numpy as np
import pytest
from interactions import CLEAR, arrays_of, session

from bciigl.estimate.noise import Scatter
from bciigl.learn import InputError
from bciigl.study.learning import ArraysError, check_arrays, learn_from, mean_over_people, select
from bciigl.study.recorded import by_person, normalise

DATA = arrays_of(*(session(seed, trials=n, **CLEAR) for seed, n in ((0, 240), (1, 60))))
RNG = np.random.default_rng(0)
FRAME_RUN = np.arange(300) // 50
# Features of different units that share noise, and whose frames have an offset in each run.
MIXING = RNG.standard_normal((6, 6)) * np.logspace(-2, 3, 6)
FRAMES = (RNG.standard_normal((300, 6)) + 20 * RNG.standard_normal((6, 6))[FRAME_RUN]) @ MIXING
NOISE = {"noise": FRAMES, "noise_run": FRAME_RUN}
VIEWS = ("context", "feedback", "test_context")
NOISY = {**DATA, **{name: DATA[name] @ MIXING for name in VIEWS}, **NOISE}


def people(**ids: int) -> dict[str, np.ndarray]:
    """Return the arrays of people, each with patterns of its own, one after the other."""
    parts = []
    for name, subject in ids.items():
        given = {**CLEAR, "subject": subject}
        train, test = (session(2 * subject + n, trials=t, **given) for n, t in enumerate((120, 60)))
        frames = np.random.default_rng(subject).standard_normal((100, 6)) * (1 + subject)
        part = {**arrays_of(train, test), "noise": frames, "noise_run": np.arange(100) // 50}
        for prefix, rows in (("", 120), ("test_", 60), ("noise_", 100)):
            part[f"{prefix}person"] = np.full(rows, name)
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


PEOPLE = people(anna=1, ben=2)


def without(arrays: dict, *names: str) -> dict[str, np.ndarray]:
    return {name: each for name, each in arrays.items() if name not in names}


def test_noise_has_an_sd_of_1_and_no_correlation_afterwards():
    found = normalise(check_arrays(NOISY))
    assert list(found) == ["train", "test"]
    whitening = found["train"].interactions.whitening
    left = FRAMES - np.stack([FRAMES[FRAME_RUN == run].mean(axis=0) for run in range(6)])[FRAME_RUN]
    covariance = (left @ whitening).T @ (left @ whitening) / (300 - 6)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-8)
    # Shrinking makes the least of the components smaller, and the largest hardly larger.
    assert np.diag(covariance).max() == pytest.approx(1, abs=0.05)


def test_whitening_is_that_of_sessions():
    frames = FRAMES[FRAME_RUN == 0]
    frames = frames / frames.std(axis=0)
    scatter = Scatter(6)
    scatter.add(frames - frames.mean(axis=0), len(frames) - 1)
    found = normalise(check_arrays({**DATA, "noise": frames}))["train"].interactions.whitening
    np.testing.assert_allclose(found, scatter.whitening(scatter))


def test_contexts_feedback_and_test_contexts_are_normalised_by_the_same_matrix():
    found = normalise(check_arrays(NOISY))
    train, test = found["train"].interactions, found["test"].interactions
    assert test.whitening is train.whitening
    np.testing.assert_allclose(train.context, NOISY["context"] @ train.whitening)
    np.testing.assert_allclose(train.feedback, NOISY["feedback"] @ train.whitening)
    np.testing.assert_allclose(test.context, NOISY["test_context"] @ train.whitening)
    assert learn_from(check_arrays(NOISY), "ai_igl").accuracy > 95


def test_units_of_features_do_not_matter():
    units = np.logspace(-100, 90, 6)
    scaled = {**NOISY, **{name: NOISY[name] * units for name in (*VIEWS, "noise")}}
    one, two = (normalise(check_arrays(each))["test"].interactions for each in (NOISY, scaled))
    np.testing.assert_allclose(np.abs(one.context), np.abs(two.context), rtol=1e-6, atol=1e-8)


def test_feedback_with_other_features_is_left_as_it_is():
    more = np.hstack([NOISY["feedback"], NOISY["feedback"][:, :1]])
    found = normalise(check_arrays({**NOISY, "feedback": more}))
    np.testing.assert_array_equal(found["train"].interactions.feedback, more)


def test_noise_of_many_features_will_do():
    wide = {name: np.tile(NOISY[name], 170) for name in (*VIEWS, "noise")}
    found = normalise(check_arrays({**NOISY, **wide}))
    assert found["train"].interactions.whitening.shape == (1020,)
    assert np.isfinite(found["test"].interactions.context).all()


def test_noise_is_that_of_the_runs_to_learn_from():
    sessions = check_arrays(NOISY)
    chosen = select(sessions, {1, 2}, None)["noise"].interactions
    np.testing.assert_array_equal(chosen.context, FRAMES[50:150])
    other = check_arrays({**NOISY, "noise_run": FRAME_RUN + 10})
    with pytest.raises(ArraysError, match="noise_run: there are no frames of the runs to learn"):
        select(other, {1, 2}, None)
    unknown = check_arrays(without(NOISY, "noise_run"))
    assert select(unknown, {1, 2}, None)["noise"].interactions.trials == 300


CONSTANT = np.where(np.arange(6) == 4, 0.1, FRAMES)
NOT_A_NUMBER = np.where(np.arange(6) == 4, np.nan, FRAMES)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"noise": FRAMES[:1], "noise_run": [0]}, "noise must have 2 frames or more, got 1"),
        ({"noise": FRAMES[:, 1:]}, "noise must have 6 features, got 5"),
        ({"noise": FRAMES[:, 0]}, r"noise must be of shape \(frames, features\), got \(300,\)"),
        ({"noise": NOT_A_NUMBER}, r"noise must be finite numbers, got nan at \(0, 4\)"),
        ({"noise": CONSTANT}, r"noise must vary .* in each feature, but feature 4 \(from 0\) is c"),
        ({"noise_run": np.arange(300)}, "noise must vary within its runs"),
        ({"noise_run": FRAME_RUN[1:]}, "noise_run must have one row for each of 300 frames, got 2"),
        ({"noise_run": FRAME_RUN + 0.5}, "noise_run must be whole numbers, got 0.5"),
    ],
)
def test_noise_that_cannot_be_used_is_named(arrays, message):
    with pytest.raises(InputError, match=message):
        by_person(check_arrays({**NOISY, **arrays}))


def test_runs_of_noise_need_noise():
    with pytest.raises(InputError, match="array noise is missing"):
        check_arrays({**DATA, "noise_run": FRAME_RUN})


def test_people_are_apart():
    found = by_person(check_arrays(PEOPLE))
    assert list(found) == ["anna", "ben"]
    for person, own in found.items():
        (alone,) = by_person(
            check_arrays(people(**{person: {"anna": 1, "ben": 2}[person]}))
        ).values()
        for name in ("train", "test"):
            one, other = own[name].interactions, alone[name].interactions
            # Neither trials nor frames of another person change anything.
            np.testing.assert_array_equal(one.context, other.context)
            np.testing.assert_array_equal(own[name].truth.meant, alone[name].truth.meant)
        assert learn_from(own, "ai_igl").accuracy > 95


def test_people_are_mixed_only_where_it_is_asked_for():
    sessions = check_arrays(PEOPLE)
    with pytest.raises(InputError, match="the trials are of 2 people"):
        learn_from(sessions, "ai_igl")
    strange = {**sessions, "train": by_person(sessions)["anna"]["train"]}
    with pytest.raises(InputError, match="the trials are of 2 people"):
        learn_from(strange, "ai_igl")
    ((person, mixed),) = by_person(sessions, mix=True).items()
    assert person is None
    assert mixed["train"].interactions.trials == 240
    # Their runs have the same numbers, but are not the same.
    assert len(np.unique(mixed["train"].interactions.run)) == 12
    # What is right for one is wrong for another here.
    assert learn_from(mixed, "ai_igl").accuracy < 90


def test_people_without_runs_are_mixed_as_runs():
    arrays = without(PEOPLE, "run", "noise_run")
    run = by_person(check_arrays(arrays), mix=True)[None]["train"].interactions.run
    np.testing.assert_array_equal(run, np.repeat([0, 1], 120))


@pytest.mark.parametrize(
    "ids", [(7, 12), (7.0, 12.0), (b"sub-1", b"sub-2"), ("Zo\u00eb B.", "anna")]
)
def test_ids_are_whole_numbers_or_text(ids):
    names = ("person", "test_person", "noise_person")
    arrays = {name: np.where(PEOPLE[name] == "anna", *map(np.array, ids)) for name in names}
    found = by_person(check_arrays({**PEOPLE, **arrays}))
    texts = [each.decode() if isinstance(each, bytes) else each for each in ids]
    assert list(found) == [str(each).removesuffix(".0") for each in texts]


def other(name: str, value: str) -> dict[str, np.ndarray]:
    return {name: np.where(np.arange(len(PEOPLE[name])) == 5, value, PEOPLE[name])}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (without(PEOPLE, "test_person"), "array test_person is missing: if one of the arrays has"),
        (without(PEOPLE, "noise_person"), "array noise_person is missing"),
        (without(PEOPLE, "person"), "array person is missing"),
        ({**PEOPLE, **other("test_person", "cara")}, "test_person: cara has no trials to learn fr"),
        ({**PEOPLE, **other("noise_person", "cara")}, "noise_person: cara has no trials to learn"),
        (
            {**PEOPLE, "noise_person": np.full(200, "ben")},
            "noise_person: there are no frames of an",
        ),
        ({**PEOPLE, "person": PEOPLE["person"][1:]}, "person must have one id for each of 240 tri"),
        ({**PEOPLE, "noise_person": np.zeros(9)}, "noise_person must have one row for each of 200"),
        ({**PEOPLE, "person": np.full(240, 0.5)}, "person must be whole numbers, got 0.5"),
        ({**PEOPLE, "person": np.full(240, np.nan)}, "person must be finite numbers, got nan"),
        ({**PEOPLE, **other("person", "")}, "person must be whole numbers, or up to 64 .* got ''"),
        ({**PEOPLE, **other("person", "../x")}, "person must be whole numbers, or .*got '../x'"),
        ({**PEOPLE, **other("person", "a/b")}, "person must be whole numbers, or .*got 'a/b'"),
        ({**PEOPLE, **other("person", "a\x1b")}, "person must be whole numbers, or .*x1b"),
        (
            {**PEOPLE, "noise": PEOPLE["noise"] * (PEOPLE["noise_person"] == "ben")[:, None]},
            "person anna: noise must vary within its runs",
        ),
    ],
)
def test_people_that_cannot_be_used_are_named(arrays, message):
    with pytest.raises(InputError, match=message):
        by_person(check_arrays(arrays))


def test_nobody_can_be_mixed_where_people_are_not_known():
    with pytest.raises(InputError, match="there is no array person"):
        by_person(check_arrays(DATA), mix=True)


def test_person_who_is_not_tested_has_no_accuracy_and_no_part_in_the_mean():
    tested = PEOPLE["test_person"] == "ben"
    names = ("test_context", "test_label", "test_run", "test_person")
    arrays = {**PEOPLE, **{name: PEOPLE[name][tested] for name in names}}
    results = [[learn_from(own, "transfer")] for own in by_person(check_arrays(arrays)).values()]
    assert results[0][0].accuracy is None
    (mean,) = mean_over_people(results)
    assert (mean.accuracy, mean.interval) == (results[1][0].accuracy, None)


def test_match_rate_of_catch_trials_is_not_that_of_a_person_without_any():
    catch = (PEOPLE["person"] == "ben") & (np.arange(240) % 2 == 0)
    arrays = {**PEOPLE, "catch": catch, "match_rate": np.array(0.8)}
    found = {
        name: own["train"].interactions for name, own in by_person(check_arrays(arrays)).items()
    }
    assert found["anna"].catch is found["anna"].match_rate is None
    assert (found["ben"].catch.sum(), found["ben"].match_rate) == (60, 0.8)
