"""`bciigl reproduce table1` and `bciigl reproduce table3`."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from click.testing import CliRunner
from kills import digests
from labelled_files import write_csv, write_images, write_npz
from tables import by_detail, text_tables

from bciigl.cli.main import cli
from bciigl.labelled import LabelledStudy, labelled_rows
from bciigl.report.study_tables import learner_name
from bciigl.study import open_study

LEARNERS = ["cb", "igl_full_ci", "ai_igl"]
PUBLISHED = Path(__file__).parents[2] / "data"
KEYS = "dataset n k feedback learner accuracy standard_error repeats published".split()
IRIS = 61


def published(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader((PUBLISHED / f"{table}.csv").read_text().splitlines()))


def write_two(folder: Path) -> Path:
    """Write two datasets, of which the paper has one."""
    write_npz(folder / "flowers.npz", rows=60, openml_id=IRIS)
    write_csv(folder / "letters.csv", rows=60, classes=4, seed=1)
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return write_two(tmp_path_factory.mktemp("labelled") / "two")


@pytest.fixture(scope="module")
def once(two, tmp_path_factory):
    """Run a repeat once for all tests; return the folder, which they copy, and the result."""
    out = tmp_path_factory.mktemp("once") / "out"
    arguments = ["reproduce", "table1", "--data", two, "--repeats", 1, "--jobs", 1, "--json"]
    arguments = [str(each) for each in (*arguments, "--out", out)]
    return out, CliRunner().invoke(cli, arguments, catch_exceptions=False)


@pytest.fixture
def table1(bciigl, two, tmp_path):
    """Run the command on two small datasets."""

    def run(*arguments: object, data: Path = two, out: Path = tmp_path / "out"):
        given = ("--jobs", 1, "--out", out, *arguments)
        return bciigl("reproduce", "table1", "--data", data, *given)

    return run


def rows_in(folder: Path) -> list[dict]:
    return json.loads(
        json.dumps([row.as_dict() for row in labelled_rows(*open_study(folder, [LabelledStudy]))])
    )


def refusal(result) -> str:
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    told = [line for line in result.stderr.splitlines() if not line.startswith("reading datasets:")]
    (line,) = told
    return line


def test_table1_is_one_document_with_a_row_for_each_learner(once):
    folder, result = once
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document == rows_in(folder)
    assert [(each["dataset"], each["feedback"], each["learner"]) for each in document] == [
        (dataset, feedback, learner)
        for dataset in (IRIS, "letters")
        for feedback in ("action_reward", "coded")
        for learner in LEARNERS
    ]
    assert all(set(KEYS) <= set(each) for each in document)
    assert {(each["dataset"], each["n"], each["k"], each["repeats"]) for each in document} == {
        (IRIS, 60, 3, 1),
        ("letters", 60, 4, 1),
    }
    # One repeat has no standard error; six examples are tested on.
    assert {each["standard_error"] for each in document} == {None}
    assert all(each["accuracy"] * 6 / 100 == pytest.approx(round(each["accuracy"] * 6 / 100))
               for each in document)  # fmt: skip


def test_published_figures_are_those_of_the_same_dataset_and_feedback(once):
    (line,) = (each for each in published("table4") if int(each["openml_id"]) == IRIS)
    for each in json.loads(once[1].stdout):
        if (each["dataset"], each["feedback"]) == (IRIS, "action_reward"):
            assert each["published"] == float(line[each["learner"]])
            assert each["published_standard_error"] == float(line[f"{each['learner']}_se"])
        else:
            assert each["published"] is each["published_standard_error"] is None


@pytest.mark.slow
def test_what_is_printed_has_tables_averages_notes_and_where_results_are(once, table1, tmp_path):
    shutil.copytree(once[0], tmp_path / "out")
    result = table1("--repeats", 2, "-v")
    assert result.exit_code == 0
    text = result.stdout
    document = rows_in(tmp_path / "out")
    heading = "accuracy in percent, mean ± standard error over 2 repeats"
    for rule in ("action_reward", "coded"):
        assert f"feedback {rule}: {heading}" in " ".join(text.split())
    clear, coded = text_tables(text, "dataset")
    assert clear[0][4:6] == [learner_name("cb"), "published"] and "published" not in coded[0]
    assert [line[0] for line in coded[1:]] == [f"{IRIS} flowers", "letters"]
    for each in document:
        table, step = (clear, 2) if each["feedback"] == "action_reward" else (coded, 1)
        line = table[1 + (each["dataset"] == "letters")]
        place = 4 + step * LEARNERS.index(each["learner"])
        assert line[place] == f"{each['accuracy']:.1f} ± {each['standard_error']:.1f}"
    ((_, *averages),) = text_tables(text, "subset, feedback, learner")
    assert [line[0] for line in averages] == [
        f"K>=3, {feedback}, {learner}"
        for feedback in ("action_reward", "coded")
        for learner in ("best constant", *map(learner_name, LEARNERS))
    ]
    mine = [
        each["accuracy"]
        for each in document
        if (each["feedback"], each["learner"]) == ("coded", "ai_igl")
    ]
    assert averages[-1][2].split(" ± ")[0] == f"{np.mean(mine):.1f}"
    assert "\n- coded: Answer with a code of the action" in text
    assert "\n- tested on a random 10 % of the examples" in text
    out = tmp_path / "out"
    assert text.endswith(f"Results in {out}\nReport:  bciigl report {out} --open\n")
    assert "reading datasets: 2 of 2" in result.stderr and "learning: 8 of 8" in result.stderr


def test_feedback_can_be_chosen_and_data_given_twice(bciigl, once, two, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(once[0], tmp_path / "table1")
    document = json.loads(
        bciigl(
            *("reproduce", "table1", "--data", two / "letters.csv", "--data", two / "flowers.npz"),
            *("--feedback", "coded", "--feedback", "coded", "--repeats", 1, "--jobs", 1, "--json"),
        ).stdout
    )
    assert [(each["dataset"], each["feedback"]) for each in document] == [
        *[("letters", "coded")] * 3,
        *[(IRIS, "coded")] * 3,
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["table1"]


def test_the_label_column_can_be_named(bciigl, tmp_path):
    data = write_csv(tmp_path / "mine.csv", rows=60, label="species")
    arguments = ("reproduce", "table1", "--data", data, "--out", tmp_path / "out", "--repeats", 1)
    arguments += ("--feedback", "coded", "--jobs", 1, "--json")
    assert "no column is called class, label, target or y" in refusal(bciigl(*arguments))
    document = json.loads(bciigl(*arguments, "--label", "species").stdout)
    assert [each["k"] for each in document] == [3, 3, 3]


@pytest.mark.slow
def test_the_same_command_again_runs_nothing_anew_and_more_repeats_add(once, table1, tmp_path):
    shutil.copytree(once[0], tmp_path / "out")
    printed = once[1].stdout
    cells = digests(tmp_path / "out" / "cells")
    assert len(cells) == 4
    before = digests(tmp_path / "out")
    assert table1("--repeats", 1, "--json").stdout == printed
    assert digests(tmp_path / "out") == before
    more = json.loads(table1("--repeats", 2, "--json").stdout)
    assert {each["repeats"] for each in more} == {2}
    for first, both in zip(json.loads(printed), more, strict=True):
        assert both["accuracies"][:1] == first["accuracies"]
    after = digests(tmp_path / "out" / "cells")
    assert len(after) == 8 and cells.items() <= after.items()
    less = table1("--repeats", 1, "--json")
    assert less.stdout == printed
    said = f"4 finished repeats in {tmp_path / 'out'} are of other settings"
    assert said in less.stderr


def test_shares_and_processes_add_up_to_the_same(once, table1, tmp_path):
    arguments = ("--repeats", 1, "--feedback", "coded", "--cell")
    first = table1(*arguments, "1/2", "--jobs", 1)
    assert (first.exit_code, "dataset" in first.stdout) == (0, False)
    assert f"1 of 2 cells are still to be run in {tmp_path / 'out'}" in first.stderr
    assert len(digests(tmp_path / "out" / "cells")) == 1
    second = table1(*arguments, "2/2", "--json")
    assert second.exit_code == 0
    expected = [each for each in json.loads(once[1].stdout) if each["feedback"] == "coded"]
    assert json.loads(second.stdout) == expected
    assert "still to be run" not in second.stderr
    cells = digests(tmp_path / "out" / "cells")
    assert len(cells) == 2 and cells.items() <= digests(once[0] / "cells").items()


def test_the_folder_of_another_study_is_refused_and_left_alone(once, bciigl, table1, tmp_path):
    shutil.copytree(once[0], tmp_path / "out")
    before = digests(tmp_path / "out")
    line = refusal(table1("--repeats", 1, "--seed", 3))
    assert "has the results of another study: seed is 0 there, 3 here" in line
    images = write_images(tmp_path / "digits.npz")
    arguments = ("--data", images, "--out", tmp_path / "out", "--repeats", 1, "--jobs", 1)
    line = refusal(bciigl("reproduce", "table3", *arguments))
    assert "table is table1 there, table3 here" in line
    line = refusal(bciigl("reproduce", "table2", "--out", tmp_path / "out", "--noise", 0.1))
    assert "kind is labelled there, simulated here" in line
    assert digests(tmp_path / "out") == before


@pytest.mark.slow
def test_another_seed_has_other_guesses_and_with_data_no_network_is_asked(once, table1, offline):
    other = json.loads(table1("--repeats", 1, "--feedback", "coded", "--seed", 1, "--json").stdout)
    one = [each for each in json.loads(once[1].stdout) if each["feedback"] == "coded"]
    assert [each["accuracy"] for each in one] != [each["accuracy"] for each in other]
    assert offline == []


def test_data_that_have_changed_are_another_dataset(once, table1, tmp_path):
    shutil.copytree(once[0], tmp_path / "out")
    data = write_two(tmp_path / "data")
    write_csv(data / "letters.csv", rows=63, classes=4, seed=1)
    result = table1("--repeats", 1, "--feedback", "coded", "--json", data=data)
    assert [each["n"] for each in json.loads(result.stdout)] == [60] * 3 + [63] * 3
    # That of the former letters, and both of the other feedback.
    assert "3 finished repeats" in result.stderr
    assert len(digests(tmp_path / "out" / "cells")) == 5


def test_datasets_that_are_not_fit_are_told_and_the_others_run(table1, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    write_npz(data / "flowers.npz", rows=60, openml_id=IRIS)
    write_npz(data / "coins.npz", rows=60, classes=2)
    features, label = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    np.savez(data / "mostly.npz", X=features, y=np.where(np.arange(60) < 36, 0, label))
    result = table1("--repeats", 1, "--feedback", "coded", "--json", data=data)
    assert {each["dataset"] for each in json.loads(result.stdout)} == {IRIS}
    told = [line for line in result.stderr.splitlines() if line.startswith("left out: ")]
    assert told == [
        "left out: coins (coins): it has 2 classes; 3 are needed",
        "left out: mostly (mostly): 60.0 % of its labels are the same; half is the most",
    ]


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """Return a folder of data that cannot be learned from."""
    folder = tmp_path_factory.mktemp("bad")
    write_npz(folder / "coins.npz", classes=2)
    np.savez(folder / "one_class.npz", X=np.eye(9), y=np.ones(9))
    np.savez(folder / "all_differ.npz", X=np.eye(9), y=np.arange(9))
    np.savez(folder / "no_labels.npz", X=np.eye(9))
    write_npz(folder / "three.npz")
    write_csv(folder / "letters.csv")
    (folder / "broken.npz").write_bytes(b"PK\3\4 is no archive")
    (folder / "thesis.pdf").write_bytes(b"%PDF")
    (folder / "iris.cvs").write_text("a,class\n1,b\n")
    (folder / "empty").mkdir()
    (folder / "twins").mkdir()
    for name in ("a", "b"):
        write_npz(folder / "twins" / f"{name}.npz", rows=60)
    return folder


def test_what_cannot_be_learned_from_is_refused_and_leaves_nothing(
    bciigl, bad, tmp_path, monkeypatch
):
    monkeypatch.chdir(bad)
    before = digests(bad)
    for arguments, message in (
        (["nothing"], "nothing: no such file or folder"),
        (["empty"], "empty: no datasets in this folder; known are .npz"),
        (["thesis.pdf"], "thesis.pdf: unknown kind of file; known are .npz"),
        (["iris.cvs"], "iris.cvs: unknown kind of file; did you mean '.csv'?"),
        (["broken.npz"], "broken.npz: "),
        (["no_labels.npz"], "no_labels.npz: array y is missing"),
        (["one_class.npz"], "one_class.npz: all labels are '1': there is nothing to guess"),
        (["all_differ.npz"], "all_differ.npz: has 9 classes in 9 examples"),
        (["coins.npz"], "no dataset is fit: of coins, it has 2 classes; 3 are needed"),
        (["twins"], "two datasets are the same: b is made of the same data as a, too"),
        (["three.npz", "--data", "three.npz"], "two datasets are the same: three is called three"),
        (["letters.csv", "--label", "clas"], "has no column 'clas'; did you mean 'class'?"),
        (["three.npz", "--label", "y"], "a label column ('y') cannot be chosen"),
        (["three.npz", "--feedback", "codde"], "unknown feedback rule 'codde'; did you mean 'cod"),
        (["three.npz", "--repeats", "0"], "repeats should be 1 or more, got 0"),
        (["three.npz", "--seed", "-1"], "seed should be 0 or more, got -1"),
        (["three.npz", "--jobs", "2", "--cluster", "tcp://127.0.0.1:1"], "give one"),
    ):
        result = bciigl("reproduce", "table1", "--out", tmp_path / "out", "--data", *arguments)
        assert message in refusal(result), arguments
        assert list(tmp_path.iterdir()) == []
    assert digests(bad) == before


def test_wrong_options_are_told(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (["--openml", "0"], "0 is not in the range x>=1"),
        (["--cell", "3/2"], "'3/2' should be a share such as 3/10"),
        (["--repeats", "many"], "'many' is not a valid integer"),
    ):
        for table in ("table1", "table3", "features"):
            result = bciigl("reproduce", table, *arguments)
            assert (result.exit_code, result.stdout) == (2, "")
            assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """Give scikit-learn an empty cache and no network; return what was asked of the network."""
    asked = []

    def refuse(request, *rest, **options):
        asked.append(getattr(request, "full_url", request))
        raise URLError("no network here")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", refuse)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    return asked


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["table1"], 6),
        (["table1", "--openml", "61"], 61),
        (["table3"], 554),
        (["features"], 6),
    ],
)
def test_without_data_and_network_it_says_what_to_do(bciigl, tmp_path, offline, arguments, first):
    result = bciigl("reproduce", *arguments, "--out", tmp_path / "out")
    line = refusal(result)
    assert line.startswith(f"OpenML {first}: is not in scikit-learn's cache")
    assert "no network here" in line
    assert line.endswith("files of datasets can be given with --data FOLDER")
    assert offline and not (tmp_path / "out").exists()
    # The others would fail the same way, each after a while.
    assert {re.search(r"\d+$", each)[0] for each in offline} == {str(first)}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "digits.npz")


@pytest.mark.slow
def test_table3_stands_beside_the_published_figures(bciigl, images, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("reproduce", "table3", "--data", images, "--repeats", 1, "--jobs", 1)
    result = bciigl(*arguments, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert [each.name for each in tmp_path.iterdir()] == ["table3"]
    assert document == rows_in(tmp_path / "table3")
    lines = {(each["feedback"], each["learner"]): each for each in published("table3")}
    assert [(each["feedback"], each["learner"]) for each in document] == list(lines)
    for each in document:
        line = lines[each["feedback"], each["learner"]]
        assert (each["dataset"], each["n"], each["k"]) == ("digits", 300, 10)
        assert each["published"] == float(line["accuracy"])
        assert each["published_standard_error"] == float(line["standard_error"])
        assert each["difference"] == pytest.approx(each["accuracy"] - each["published"])
    accuracy = {(each["feedback"], each["learner"]): each["accuracy"] for each in document}
    assert accuracy["action_exclusive", "cb"] == accuracy["action_inclusive", "cb"] > 90
    before = digests(tmp_path)
    text = bciigl(*arguments, "-v").stdout
    assert digests(tmp_path) == before
    assert text.startswith("accuracy in percent, of one repeat\n\nfeedback  ")
    (table,) = text_tables(text, "feedback")
    found = by_detail(table, [learner_name(each) for each in LEARNERS])
    for each in document:
        rule, name = each["feedback"], learner_name(each["learner"])
        assert found[name, ""][rule] == f"{each['accuracy']:.1f}"
        shown = "{published:.2f} ± {published_standard_error:.2f}".format(**each)
        assert found[name, "published"][rule] == shown
        assert found[name, "difference"][rule] == f"{each['difference']:+.1f}"
    assert "- tested on the part of the data that comes for testing." in text
    assert "- 20,000 trials in each repeat" in text
    assert "- published figures are of MNIST." in text


def test_table3_needs_ten_classes(bciigl, tmp_path):
    data = write_npz(tmp_path / "three.npz")
    line = refusal(bciigl("reproduce", "table3", "--data", data, "--out", tmp_path / "out"))
    assert line.startswith("three: should have 10 classes, as digits have, got 3")
    assert not (tmp_path / "out").exists()


def test_repeats_that_fail_are_told_and_the_exit_code_is_1(bciigl, tmp_path):
    # Of six classes, images answer right and wrong guesses alike.
    data = write_npz(tmp_path / "six.npz", rows=60, classes=6)
    arguments = ("--feedback", "action_inclusive", "--feedback", "coded", "--repeats", 1)
    out = tmp_path / "out"
    result = bciigl("reproduce", "table1", "--data", data, *arguments, "--jobs", 1, "--out", out)
    assert result.exit_code == 1
    (failed,) = (out / "failed").iterdir()
    assert f"1 of 2 cells failed; the first: {failed}" in result.stderr
    assert "with 6 classes right and wrong guesses are both answered" in failed.read_text()
    assert "Traceback" not in result.stderr and "feedback coded: " in result.stdout


@pytest.mark.parametrize("arguments", [["reproduce", "table1"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import json, sys\nfrom bciigl.cli.main import cli\n"
        f"try: cli([*{arguments}, '--help'])\n"
        "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: " in result.stdout
    heavy = {"numpy", "pandas", "scipy", "sklearn", "joblib", "matplotlib", "pydantic", "rich"}
    assert not heavy & set(json.loads(result.stderr))
