"""`bciigl learn`."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from interactions import CLEAR, arrays_of, session

from bciigl.base.registry import LEARNERS
from bciigl.learn import ActionInclusiveIGL, load_learner
from bciigl.recording.calibration import read_calibration

TRAIN, TEST = (session(seed, trials=trials, **CLEAR) for seed, trials in ((0, 240), (1, 60)))
DATA = arrays_of(TRAIN, TEST)
BLIND = {name: DATA[name] for name in ("context", "action", "feedback")}
TESTED = {**DATA, "reward": None, "label": None}


def document(text: str) -> dict:
    """Return the one JSON document in a text, all of whose numbers are finite."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def document_of(bciigl, npz) -> dict:
    """Return the document of all arrays."""
    return document(bciigl("learn", npz(**DATA), "--json").stdout)


def table_of(text: str) -> dict[str, list[str]]:
    """Return the words of each row of the table in a text, by the name the row begins with."""
    (table,) = (part for part in text.split("\n\n") if "  accuracy  " in part.splitlines()[0])
    head, *rows = table.splitlines()
    width = head.index("  accuracy")
    return {row[:width].strip(): row[width:].split() for row in rows}


def refused(result, *words: str) -> None:
    """Assert that a command told what is wrong in a few lines, and did nothing."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for each in words:
        assert each in result.stderr


def test_accuracy_verdict_and_match_rates_are_printed(bciigl, npz):
    result = bciigl("learn", npz(**DATA))
    assert result.exit_code == 0
    verdict, about, _, more = result.stdout.split("\n\n")
    assert verdict.startswith("Trust: without labels or rewards, AI-IGL decodes ")
    assert "\nWhy: its choices are estimated to be right in " in verdict and "(t = " not in verdict
    assert about == "240 trials of 3 options to learn from, 60 others to test"
    assert more == f"Details: bciigl learn {npz(**DATA)} -v\n"
    rows = table_of(result.stdout)
    names = [LEARNERS.get(each).name for each in document_of(bciigl, npz)["learners"]]
    assert list(rows) == [*names, "guessing by chance"]
    accuracy, percent, low, _, high, verdict = rows["AI-IGL, no labels"]
    assert float(low) < float(accuracy) <= float(high)
    assert float(accuracy) > 95
    assert (percent, verdict) == ("%", "trust")
    told = ("contextual bandit, told the rewards", "supervised, told the labels")
    assert [rows[each][-1] for each in told] == ["-", "-"]
    assert rows["plain AI-IGL, no labels"][-1] == "doubtful"
    assert rows["guessing by chance"] == ["33.3", "%"]


def test_match_rates_and_statistics_are_details(bciigl, npz):
    told = " ".join(bciigl("learn", npz(**DATA), "-v").stdout.split())
    assert re.search(r"AI-IGL: trust: .* \(t = \d", told)
    assert re.search(r"AI-IGL: decoded match rates by option: 0 0\.\d\d, 1 0\.\d\d, 2 0", told)
    # a learner that is not trusted does not say how often it thinks that guesses matched
    assert "plain AI-IGL: decoded match rates" not in told
    assert "Contexts and feedback are centred by the means of their runs." in told


def test_truth_is_needed_for_skyline_and_ceiling_alone(bciigl, npz):
    learners = document(bciigl("learn", npz(**BLIND), "--json").stdout)["learners"]
    assert list(learners) == ["ai_igl", "ai_igl_paper", "igl_full_ci", "transfer"]
    few = {name: each[:60] for name, each in BLIND.items()}
    with_reward = npz(**few, reward=DATA["reward"][:60])
    assert list(document(bciigl("learn", with_reward, "--json").stdout)["learners"])[4:] == ["cb"]


def test_truth_never_changes_what_is_learned_without_it(bciigl, npz):
    rng = np.random.default_rng(0)
    lies = {"reward": rng.integers(2, size=240), "label": rng.integers(3, size=240)}
    told = [
        document(bciigl("learn", npz(**{**TESTED, **truth}), "--json").stdout)["learners"]
        for truth in ({}, lies)
    ]
    for each in ("ai_igl", "ai_igl_paper", "igl_full_ci"):
        assert told[0][each] == told[1][each]


@pytest.mark.slow
def test_json_is_one_document_and_progress_goes_to_standard_error(npz):
    command = [sys.executable, "-m", "bciigl", "learn", str(npz(**DATA)), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = document(result.stdout)
    assert found["trials"] == 240
    assert found["actions"] == 3
    assert found["chance"] == pytest.approx(100 / 3)
    assert found["test_trials"] == 60
    assert found["centred"] == "centred by the means of their runs"
    assert found["learners"]["ai_igl"]["diagnosis"]["verdict"] == "trust"
    assert len(found["learners"]["ai_igl"]["match_rates"]) == 3
    assert found["learners"]["igl_full_ci"]["objective"] > 0
    assert found["learners"]["cb"]["match_rates"] is None
    steps = [f"learning with {LEARNERS.get(each).name} ..." for each in found["learners"]]
    assert result.stderr.splitlines() == steps


@pytest.mark.slow
@pytest.mark.parametrize(
    "arrays",
    [
        {"context": np.zeros((240, 6))},
        {"feedback": np.ones((240, 6))},
        {"feedback": DATA["context"]},
        {"action": np.zeros(240, int)},
        {"context": 1e97 * DATA["context"]},
        {"feedback": 1e-200 * DATA["feedback"]},
        {"run": np.arange(240)},
    ],
    ids=["no context", "no feedback", "copied", "one action", "large", "small", "short runs"],
)
def test_numbers_are_finite_even_where_nothing_can_be_learned(bciigl, npz, arrays):
    result = bciigl("learn", npz(**{**TESTED, **arrays}), "--json")
    assert result.exit_code == 0
    for each in document(result.stdout)["learners"].values():
        assert 0 <= each["accuracy"] <= 100


def test_without_test_set_there_is_no_accuracy(bciigl, npz):
    path = npz(**BLIND)
    text = bciigl("learn", path, "--learner", "ai_igl").stdout
    assert "no labelled test trials" in text and "the arrays test_context and test_label" in text
    found = document(bciigl("learn", path, "--learner", "ai_igl", "--json").stdout)
    assert found["learners"]["ai_igl"]["accuracy"] is None
    assert found["test_trials"] == 0


def test_folder_of_arrays_will_do(bciigl, npz, tmp_path):
    (tmp_path / "folder").mkdir()
    for name, array in DATA.items():
        np.save(tmp_path / "folder" / f"{name}.npy", array)
    found = [
        document(bciigl("learn", path, "--learner", "ai_igl", "--json").stdout)
        for path in (npz(**DATA), tmp_path / "folder")
    ]
    assert found[0].pop("arrays") != found[1].pop("arrays")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("runs", "trials"), [("0", 40), ("0-3", 160), ("0,2,4-5", 160), (" 1 , 2 ", 80), ("3-3", 40)]
)
def test_runs_to_learn_from_are_chosen(bciigl, npz, runs, trials):
    arguments = ("--learner", "ai_igl", "--json", "--train-runs", runs)
    assert document(bciigl("learn", npz(**TESTED), *arguments).stdout)["trials"] == trials


def test_runs_to_be_tested_on_are_chosen(bciigl, npz):
    arguments = ("--learner", "ai_igl", "--json", "--train-runs", "0-3", "--test-runs", "4,5")
    found = document(bciigl("learn", npz(**TESTED), *arguments).stdout)
    assert (found["trials"], found["test_trials"]) == (160, 20)
    same = {"test_context": DATA["context"], "test_label": DATA["label"], "test_run": None}
    found = document(bciigl("learn", npz(**{**TESTED, **same}), *arguments).stdout)
    assert (found["test_trials"], found["centred"]) == (80, "centred by the means of their runs")
    unknown = document(bciigl("learn", npz(**{**TESTED, "test_run": None}), *arguments[:3]).stdout)
    assert unknown["centred"] == "centred by the training mean"


@pytest.mark.parametrize(
    "runs",
    [
        *("", "x", "1-x", "-3", "1--2", "0,,1", "1.5", "1 2", "0-1-2", "0;1"),
        *("5-3", "3-", "0,5-3", "0-1,", "1_0", "0x1", "+1", "9" * 7, "9" * 5000, "0-9999999999"),
    ],
)
def test_runs_that_are_no_numbers_are_refused(bciigl, npz, runs):
    for option in ("--train-runs", "--test-runs"):
        result = bciigl("learn", npz(**TESTED), option, runs)
        refused(result, f"Invalid value for '{option}'", "run numbers such as 0-39 or 0,2,5-9")


def test_runs_that_are_not_there_are_refused(bciigl, npz):
    refused(bciigl("learn", npz(**TESTED), "--train-runs", "4-9"), "run: there is no run 6")
    refused(bciigl("learn", npz(**TESTED), "--test-runs", "6"), "test_run: there is no run 6")
    refused(bciigl("learn", npz(**BLIND), "--train-runs", "0"), "there is no array run")
    refused(bciigl("learn", npz(**BLIND), "--test-runs", "0"), "there is no array test_context")
    unknown = npz(**{**TESTED, "test_run": None})
    refused(bciigl("learn", unknown, "--test-runs", "0"), f"{unknown}: there is no array test_run")


def test_learner_is_chosen_by_its_id(bciigl, npz):
    arguments = ("--learner", "cb", "--learner", "ai_igl", "--json")
    found = document(bciigl("learn", npz(**DATA), *arguments).stdout)
    assert list(found["learners"]) == ["cb", "ai_igl"]
    unknown = bciigl("learn", npz(**DATA), "--learner", "ai-igl")
    refused(
        unknown,
        "learner must be one of ai_igl, ai_igl_network, ai_igl_paper",
        "did you mean 'ai_igl'?",
    )
    refused(bciigl("learn", npz(**BLIND), "--learner", "cb"), "cb needs the array reward")
    refused(bciigl("learn", npz(**BLIND), "--learner", "ceiling"), "ceiling needs the array label")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"contexts": DATA["context"]}, ["unknown array 'contexts'; did you mean 'context'?"]),
        ({"feedback": None}, ["array feedback is missing"]),
        (
            {"context": np.full((240, 6), np.nan)},
            ["context must be finite numbers, got nan at (0, 0)"],
        ),
        ({"feedback": np.zeros(240)}, ["feedback must be of shape (trials, features)"]),
        ({"action": DATA["action"].astype(object)}, ["is not readable as arrays of numbers"]),
        ({"match_rate": np.array(1.5)}, ["match_rate must be one or 3 numbers between 0 and 1"]),
        ({"catch": np.ones(240)}, ["match_rate must be given"]),
        ({"match_rate": np.array("abc")}, ["match_rate must be"]),
        ({"context": DATA["context"] + 1j}, ["context must be numbers"]),
        ({"action": DATA["action"] + 10**7}, ["there can be at most 1000 actions"]),
        ({"test_label": DATA["test_label"] - 1}, ["test_label must be actions from 0 to 999"]),
        ({"label": DATA["label"] + 10**7}, ["label must be actions from 0 to 999"]),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(bciigl, npz, arrays, words):
    path = npz(**{**TESTED, **arrays})
    refused(bciigl("learn", path), f"{path}: ", *words)


def test_file_that_is_none_is_refused(bciigl, write, tmp_path):
    refused(bciigl("learn", write("hello", "a.npz")), "a.npz: is not readable as arrays of numbers")
    refused(bciigl("learn", write("", "a.npz")), "a.npz: is not readable as arrays of numbers")
    refused(bciigl("learn", tmp_path / "none.npz"), "none.npz: no such file")
    np.save(tmp_path / "one.npy", DATA["context"])
    refused(bciigl("learn", tmp_path / "one.npy"), "one.npy: is a single array")
    (tmp_path / "empty").mkdir()
    refused(bciigl("learn", tmp_path / "empty"), "array context is missing")


@pytest.mark.slow
def test_first_learner_is_kept(bciigl, npz, tmp_path):
    arguments = ("--learner", "ai_igl", "--learner", "cb", "--out", tmp_path / "kept")
    result = bciigl("learn", npz(**DATA), *arguments)
    assert result.stdout.splitlines()[-1] == f"wrote ai_igl to {tmp_path / 'kept'}"
    learner = load_learner(tmp_path / "kept")
    assert type(learner) is ActionInclusiveIGL
    chosen = learner.predict(DATA["test_context"], run=DATA["test_run"])
    accuracy = 100 * np.mean(chosen == DATA["test_label"])
    assert table_of(result.stdout)["AI-IGL, no labels"][0] == f"{accuracy:.1f}"
    silent = bciigl("learn", npz(**DATA), *arguments[:-1], tmp_path / "again", "--json")
    document(silent.stdout)
    load_learner(tmp_path / "again")


def test_folder_that_has_something_in_it_is_left_alone(bciigl, npz, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "diary.txt").write_text("")
    result = bciigl("learn", npz(**BLIND), "--learner", "ai_igl", "--out", tmp_path / "kept")
    refused(result, "exists already")
    ceiling = ("--learner", "ceiling", "--out", tmp_path / "new")
    refused(bciigl("learn", npz(**DATA), *ceiling), "can be saved, got SupervisedCeiling")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--learner", "ai_igl", "--learner", "nonsense"), "learner must be one of ai_igl"),
        (("--learner", "ai_igl", "--learner", "cb"), "cb needs the array reward"),
        (("--learner", "ai_igl", "--train-runs", "0-6"), "run: there is no run 6"),
        (("--learner", "ai_igl", "--out", "{full}"), "exists already"),
        (("--learner", "ai_igl", "--out", "{full}/file"), "exists already"),
        (("--learner", "ai_igl", "--out", "{full}/file/kept"), "cannot be made"),
    ],
)
def test_what_cannot_be_is_told_before_any_work(bciigl, npz, tmp_path, arguments, words):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    filled = [each.format(full=tmp_path / "full") for each in arguments]
    result = bciigl("learn", npz(**TESTED), *filled)
    refused(result, words)
    assert "learning with" not in result.stderr
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["file"]


def test_learner_that_cannot_be_kept_is_told_before_any_work(bciigl, npz, tmp_path):
    arguments = ("--learner", "ceiling", "--learner", "cb", "--out", tmp_path / "new")
    result = bciigl("learn", npz(**DATA), *arguments)
    refused(result, "can be saved, got SupervisedCeiling")
    assert "learning with" not in result.stderr


def test_nothing_is_kept_where_learning_fails(bciigl, npz, tmp_path):
    path = npz(**{**DATA, "label": np.zeros(240)})
    arguments = ("--learner", "ai_igl", "--learner", "ceiling", "--out", tmp_path / "kept")
    refused(bciigl("learn", path, *arguments), f"{path}: ceiling: there must be 2 classes or more")
    assert [each.name for each in tmp_path.iterdir()] == ["arrays.npz"]


@pytest.mark.parametrize("trials", [1, 3, 12])
@pytest.mark.filterwarnings("ignore:Only one sample available")
def test_few_trials_are_told_as_such(bciigl, npz, trials):
    few = {name: DATA[name][:trials] for name in ("context", "action", "feedback", "run")}
    result = bciigl("learn", npz(**{**TESTED, **few}), "--json")
    for each in document(result.stdout)["learners"].values():
        assert each["diagnosis"]["verdict"] in ("doubtful", "do not use")


def test_several_actions_may_be_right(bciigl, npz, tmp_path):
    path = npz(**TESTED)
    arguments = ("--learner", "ai_igl", "--out", tmp_path / "kept", "--several-right")
    result = bciigl("learn", path, *arguments)
    assert load_learner(tmp_path / "kept").one_right is False
    assert float(table_of(result.stdout)["AI-IGL, no labels"][0]) > 90


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes(bciigl, npz, tmp_path):
    path = npz(**TESTED)
    one, two = (bciigl("learn", path, "--json", "--seed", 7).stdout for _ in range(2))
    assert one == two
    bciigl("learn", path, "--seed", 7, "--learner", "igl_full_ci", "--out", tmp_path / "kept")
    assert load_learner(tmp_path / "kept").random_state == 7
    refused(bciigl("learn", path, "--seed", "-1"), "--seed")


def of_people() -> dict[str, np.ndarray]:
    """Return the arrays of two people who imagine the same things by different patterns."""
    anna = {name: each for name, each in TESTED.items() if each is not None}
    ben = {**anna, **{name: -anna[name] for name in ("context", "test_context")}}
    both = {name: np.concatenate([anna[name], ben[name]]) for name in anna}
    frames = np.random.default_rng(0).standard_normal((100, 6))
    ids = {"person": 240, "test_person": 60, "noise_person": 50}
    named = {name: np.repeat(["anna", "ben"], rows) for name, rows in ids.items()}
    return {**both, **named, "noise": frames}


def test_people_have_a_row_each_and_a_mean(bciigl, npz):
    arguments = ("--learner", "ai_igl", "--learner", "transfer")
    result = bciigl("learn", npz(**of_people()), *arguments)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == "person anna: learning with AI-IGL, no labels ..."
    verdict, about, table, _ = result.stdout.split("\n\n")
    assert verdict.startswith(
        "Trust: learned by AI-IGL, without labels or rewards, in 2 of 2 people"
    )
    assert about.splitlines() == [
        "480 trials of 3 options to learn from, 120 others to test",
        "2 people, each learned from and tested apart",
        "context and feedback normalised by noise",
    ]
    head, *rows, chance = table.splitlines()
    assert head.split()[:3] == ["person,", "learner", "accuracy"]
    names = ["  AI-IGL, no labels", "  perception transfer, no labels"]
    assert [row.split("   ")[0].rstrip() for row in rows] == [
        name for person in ("anna", "ben", "mean") for name in (person, *names)
    ]
    assert all(float(row.split()[3]) > 95 for row in rows if "AI-IGL" in row)
    details = bciigl("learn", npz(**of_people()), *arguments, "-v").stdout
    assert "\nanna: AI-IGL: trust: " in details
    found = document(bciigl("learn", npz(**of_people()), *arguments, "--json").stdout)
    assert found["normalised"] == ["context", "feedback"]
    own = [each["learners"]["ai_igl"]["accuracy"] for each in found["people"].values()]
    assert found["mean"]["ai_igl"]["accuracy"] == pytest.approx(np.mean(own))
    assert [each["trials"] for each in found["people"].values()] == [240, 240]


def test_people_are_mixed_where_it_is_asked_for_and_said(bciigl, npz):
    arguments = ("--learner", "ai_igl", "--mix-people")
    lines = bciigl("learn", npz(**of_people()), *arguments).stdout.splitlines()
    assert "2 people mixed in training and test; verdicts assume one person" in lines
    found = document(bciigl("learn", npz(**of_people()), *arguments, "--json").stdout)
    assert found["mixed_people"] == ["anna", "ben"]
    assert found["learners"]["ai_igl"]["accuracy"] < 90
    refused(bciigl("learn", npz(**DATA), *arguments), "there is no array person")
    unknown = npz(**{**of_people(), "test_person": None})
    refused(bciigl("learn", unknown), f"{unknown}: array test_person is missing")


def test_feedback_that_is_not_normalised_is_said(bciigl, npz):
    more = np.hstack([DATA["feedback"], DATA["feedback"][:, :2]])
    noise = np.random.default_rng(0).standard_normal((100, 6))
    path = npz(**{**TESTED, "feedback": more, "noise": noise})
    lines = bciigl("learn", path, "--learner", "ai_igl").stdout.splitlines()
    other = "feedback is not: it has another number of features"
    assert f"context normalised by noise; {other}" in " ".join(lines)


def test_learners_of_people_are_kept_apart_with_what_normalised_their_contexts(
    bciigl, npz, tmp_path
):
    arrays = of_people()
    arguments = ("--learner", "ai_igl", "--out", tmp_path / "kept")
    result = bciigl("learn", npz(**arrays), *arguments)
    assert result.stdout.splitlines()[-1] == f"wrote ai_igl of each person to {tmp_path / 'kept'}"
    for person in ("anna", "ben"):
        folder = tmp_path / "kept" / person
        whitening = read_calibration(folder / "calibration.npz").whitening
        mine = arrays["test_person"] == person
        chosen = load_learner(folder).predict(
            arrays["test_context"][mine] @ whitening, run=arrays["test_run"][mine]
        )
        assert np.mean(chosen == arrays["test_label"][mine]) > 0.95
