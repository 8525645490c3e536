"""The report of a study of labelled data."""

import base64
import csv
import json
import re
import shlex
from dataclasses import replace

import pytest
from labelled_files import (
    all_made_up,
    dataset,
    digits,
    rows_of,
    several,
    write_images,
    write_npz,
)
from tables import html_tables

from bciigl.labelled import LabelledStudy, labelled_rows, learnable
from bciigl.labelled.learnable import TABLE4, learnability, published_forests
from bciigl.labelled.meta_features import NAMES
from bciigl.labelled.paper import labelled_notes, table1
from bciigl.labelled.rows import averages
from bciigl.labelled.rules import RULES
from bciigl.labelled.sources import find_sources
from bciigl.labelled.study import describe
from bciigl.report.labelled import (
    average_table,
    dataset_tables,
    labelled_lead,
    labelled_sections,
    learner_table,
    row_columns,
)
from bciigl.report.methods import REFERENCES
from bciigl.report.page import page_text
from bciigl.report.results import told as told_words
from bciigl.study import open_study, run_study

TITLES = ["What to know", "Methods", "How to do it again"]
SEVERAL, DIGITS = several(), digits(samples=20_000)


def sections_of(mine, results=None, features=None):
    """Return the sections of a report by their titles, by default of made-up results."""
    rows = rows_of(mine) if results is None else labelled_rows(mine, results)
    results = all_made_up(mine) if results is None else results
    found = learnability(rows, features) if features else []
    return {each.title: each for each in labelled_sections(mine, results, rows, found)}


def drawings(sections):
    return {each.name: each for section in sections.values() for each in section.drawings}


def measured(mine, without=()):
    """Return meta-features of datasets, made up."""
    return {
        each.digest: {
            **{name: (place + 1.0) * number for number, name in enumerate(NAMES, 1)},
            "n": float(each.n),
            "n_by_k": each.n / each.k,
        }
        for place, each in enumerate(mine.datasets)
        if each not in without
    }


@pytest.fixture(scope="module")
def table():
    """Return the rows of several datasets."""
    return rows_of(SEVERAL)


@pytest.fixture(scope="module")
def parts():
    """Return the report of several datasets."""
    return sections_of(SEVERAL)


@pytest.fixture(scope="module")
def digit_parts():
    """Return the report of one."""
    return sections_of(DIGITS)


@pytest.fixture(scope="module", autouse=True)
def few_trees():
    """Grow fewer trees, which are enough here."""
    with pytest.MonkeyPatch.context() as patch:
        learnable.published_forests.cache_clear()
        yield patch.setattr(learnable, "TREES", 3)
    learnable.published_forests.cache_clear()


@pytest.fixture(scope="module")
def learnable_parts(few_trees):
    """Return the report of several datasets whose meta-features are known."""
    return sections_of(SEVERAL, features=measured(SEVERAL))


def test_sections_come_in_this_order(parts, digit_parts, learnable_parts):
    assert list(parts) == ["At a glance", "On average", "Dataset by dataset", *TITLES]
    assert list(digit_parts) == ["At a glance", "The table", *TITLES]
    found = ["action_reward", "coded", "published", TABLE4]
    titles = [f"What makes a dataset learnable: {each}" for each in found]
    assert list(learnable_parts) == [*list(parts)[:3], *titles, *TITLES]


def test_up_to_three_datasets_are_told_in_one_table():
    for count, titles in ((3, ["The table"]), (4, ["On average", "Dataset by dataset"])):
        assert list(sections_of(several(count, repeats=1)))[1:-3] == titles


def test_what_is_learnable_with_other_results_is_not_shown():
    found = labelled_sections(DIGITS, all_made_up(DIGITS), rows_of(DIGITS), None)
    (section,) = (each for each in found if each.title == "What makes a dataset learnable")
    assert section.paragraphs[0].endswith("run bciigl reproduce features again.")


def test_figures_have_words_and_columns_of_one_length(parts, digit_parts, learnable_parts):
    assert list(drawings(parts)) == ["against_bandit"]
    assert list(drawings(digit_parts)) == ["accuracy"]
    names = list(drawings(learnable_parts))
    assert names[0] == "against_bandit" and len(names) == len(set(names))
    assert {"learnable_action_reward", "learnable_coded", "learnable_published"} <= set(names)
    assert all(re.fullmatch(r"\w+", name) for name in names)
    for sections in (parts, digit_parts, learnable_parts):
        for drawing in drawings(sections).values():
            assert drawing.caption.endswith(".") and drawing.alt.endswith(".")
            assert len({len(column) for column in drawing.columns.values()}) == 1


def test_the_head_of_one_dataset_has_the_accuracies_of_ai_igl(digit_parts):
    rows = rows_of(DIGITS)
    *numbers, last = digit_parts["At a glance"].numbers
    mine = [row for row in rows if row.learner == "ai_igl"]
    for number, row in zip(numbers, mine, strict=True):
        mean = row.accuracy
        assert number.value == f"{mean.mean:.1f} %"
        assert (
            number.label == f"accuracy of AI-IGL ({told_words('ai_igl')}), feedback {row.feedback}"
        )
        interval = "95 % interval {:.1f} to {:.1f}".format(*mean.interval)
        shown = f"{mean.mean:.1f} ± {mean.standard_error:.1f} (standard error), {interval}"
        assert number.note == shown
    assert (last.value, last.label) == ("4", "finished repeats")
    assert digit_parts["At a glance"].notices == []


def test_the_head_of_several_datasets_has_means_over_them(parts, table):
    *numbers, last = parts["At a glance"].numbers
    for number, rule in zip(numbers, ("action_reward", "coded"), strict=True):
        mean = {
            learner: sum(
                row.accuracy.mean for row in table if (row.feedback, row.learner) == (rule, learner)
            )
            / 5
            for learner in ("ai_igl", "cb")
        }
        assert number.value == f"{mean['ai_igl']:.1f} %"
        assert number.label == f"mean accuracy of AI-IGL ({told_words('ai_igl')}), feedback {rule}"
        assert (
            number.note == f"{100 * mean['ai_igl'] / mean['cb']:.1f} % of the contextual bandit's"
        )
    assert last.value == "20"


def test_one_repeat_is_no_mean():
    sections = sections_of(digits(repeats=1))
    assert [each.note for each in sections["At a glance"].numbers] == ["of one repeat"] * 2 + [""]
    assert sections["The table"].paragraphs == ["Accuracy in percent, of one repeat."]
    (text,) = sections["Methods"].paragraphs
    assert "accuracies are of one repeat." in text and "bootstrap" not in text
    assert not any("Bootstrap" in each for each in sections["Methods"].references)


def test_tables_and_figures_are_those_of_the_rows(parts, digit_parts, table):
    (average,) = parts["On average"].tables
    assert average == average_table(averages(table))
    found = dataset_tables(table)
    assert [(each.caption, each.rows) for each in parts["Dataset by dataset"].tables] == [
        (rule, each.rows) for rule, each in found.items()
    ]
    assert drawings(parts)["against_bandit"].columns == row_columns(table)
    rows = rows_of(DIGITS)
    assert digit_parts["The table"].tables == [learner_table(rows)]
    assert drawings(digit_parts)["accuracy"].columns == row_columns(rows)


def test_what_to_know_is_the_notes_as_sentences_with_names_as_they_are():
    noted = [
        dataset("iris", openml_id=61, notes=("a column was left out",)),
        dataset("mine", notes=("2 rows were left out",)),
    ]
    mine = table1(noted, repeats=1)
    told = sections_of(mine)["What to know"].paragraphs
    assert [each.lower() for each in told] == [each.lower() for each in labelled_notes(mine)]
    assert told[0].startswith("action_reward: Answer") and told[1].startswith("coded: Answer")
    assert told[2].startswith("Tested on a random 10 %")
    assert any(each.startswith("The contextual bandit is told the rewards") for each in told)
    assert any(each.startswith("Published figures are") for each in told)
    assert told[-2:] == ["61 (iris): a column was left out", "mine (mine): 2 rows were left out"]


@pytest.mark.parametrize("name", ["parts", "digit_parts", "learnable_parts"])
def test_all_that_is_cited_is_among_the_references(request, name):
    sections = request.getfixturevalue(name)
    methods = sections["Methods"]
    cited = set(re.findall(r"\w+(?: et al\.)?, (?:2\d{3})", " ".join(methods.paragraphs)))
    assert {"Xie et al., 2022", "Xie et al., 2021", "Hesterberg, 2015"} <= cited
    assert sorted(methods.references) == sorted(REFERENCES[each] for each in cited)
    others = [each for each in sections.values() if each is not methods]
    assert "et al." not in "".join(words for each in others for words in each.paragraphs)


def test_methods_name_data_rules_tests_and_seed(parts):
    (text,) = sections_of(digits(seed=7))["Methods"].paragraphs
    assert "labelled data (digits)" in text
    assert "With the rule action_inclusive, it was an image of the digit (a + 6 r - 3)" in text
    assert "With the rule action_exclusive, it was an image of the digit r." in text
    assert "tested on the part of the data that comes for testing;" in text
    assert "means over 2 repeats" in text and text.endswith("The random seed was 7.")
    (text,) = parts["Methods"].paragraphs
    assert "labelled data (set 0, set 1, set 2, set 3 and set 4)" in text
    assert "tested on a random 10 % of the examples;" in text
    assert "the pair of action and reward" in text and "a random code of the action" in text
    (text,) = sections_of(several(13, repeats=1))["Methods"].paragraphs
    assert "labelled data (13 datasets)" in text


def test_methods_tell_both_kinds_of_test_where_there_are_both():
    mine = table1([dataset("whole"), dataset("parted", own_test=True)], repeats=1)
    (text,) = sections_of(mine)["Methods"].paragraphs
    both = "comes for testing or, where there is none, on a random 10 % of the examples;"
    assert both in text


def test_below_the_title_it_says_how_much_there_is():
    assert labelled_lead(SEVERAL) == (
        "Table 1 of the paper: labels of OpenML's datasets, guessed without labels. 5 datasets, "
        "2 feedback rules, 2 repeats."
    )
    assert labelled_lead(digits(repeats=1, feedback=("action_exclusive",))) == (
        "Table 3 of the paper: MNIST, answered with images of other digits. 1 dataset, 1 feedback "
        "rule, 1 repeat."
    )
    own = LabelledStudy([dataset("mine")], ["coded"], repeats=1)
    assert labelled_lead(own).startswith("Labels guessed without labels. 1 dataset, ")


def test_seed_versions_and_data_are_told(parts):
    about, data = parts["How to do it again"].tables
    values = dict(about.rows)
    assert values["seed"] == "0"
    assert values["learned with"].endswith("numpy 1.2.3, scikit-learn 4.5.6")
    for line, each in zip(data.rows, SEVERAL.datasets, strict=True):
        assert line == [
            str(each.id),
            each.name,
            str(each.n),
            str(each.features),
            str(each.k),
            each.digest[:12],
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("table1", ["--feedback", "coded", "--seed", 3]),
        ("table3", ["--feedback", "action_exclusive"]),
    ],
)
def test_the_command_makes_the_same_study_again(bciigl, tmp_path, table, options):
    data = tmp_path / "where data are"
    write_npz(data / "flowers.npz", rows=60)
    if table == "table3":
        write_images(data / "flowers.npz")
    arguments = ("--data", data, *options, "--repeats", 1, "--jobs", 1, "--out", tmp_path / "one")
    assert bciigl("reproduce", table, *arguments).exit_code == 0
    mine, results = open_study(tmp_path / "one", [LabelledStudy])
    section = sections_of(mine, results)["How to do it again"]
    assert "DATA is where the datasets are" in section.paragraphs[0]
    program, *words = shlex.split(section.preformatted)
    assert program == "bciigl"
    words = [str(data) if word == "DATA" else word for word in words]
    assert bciigl(*words, "--jobs", 1, "--out", tmp_path / "two").exit_code == 0
    again, repeated = open_study(tmp_path / "two", [LabelledStudy])
    assert again == mine
    assert {key: each.results for key, each in repeated.items()} == {
        key: each.results for key, each in results.items()
    }


def test_where_no_command_makes_the_study_none_is_shown():
    for mine in (
        replace(SEVERAL, table=None),
        replace(SEVERAL, samples=50),
        replace(SEVERAL, learners=("cb", "ai_igl")),
        replace(SEVERAL, feedback=("my_own",)),
        digits(samples=200),
    ):
        section = sections_of(mine)["How to do it again"]
        assert section.preformatted == ""
        assert section.paragraphs[0].startswith("No command makes this study again")
        values = dict(section.tables[0].rows)
        assert values["feedback"] == ", ".join(mine.feedback)
        assert values["learners"] == ", ".join(mine.learners)
        assert values["repeats"] == "2"
        assert values["samples"] == ("all" if mine.samples is None else str(mine.samples))


def test_unfinished_studies_say_so_and_what_begins_is_told():
    results = all_made_up(SEVERAL)
    del results[SEVERAL.cells[0].key], results[SEVERAL.cells[7].key]
    told, rows = [], labelled_rows(SEVERAL, results)
    found = labelled_sections(SEVERAL, results, rows, report=told.append)
    assert told == ["drawing"]
    (notice,) = found[0].notices
    assert (notice.mood, notice.title) == ("unsure", "Not all is here")
    assert notice.text.startswith("Of 20 repeats 2 are not there")
    assert found[0].numbers[-1].value == "18"
    words = {each.title: each.paragraphs for each in found}["Dataset by dataset"]
    assert words == ["Accuracy in percent, mean ± standard error over 1 to 2 repeats."]


def test_a_single_finished_repeat_has_a_report():
    results = all_made_up(SEVERAL)
    last = SEVERAL.cells[-1]
    sections = sections_of(SEVERAL, {last.key: results[last.key]})
    numbers = sections["At a glance"].numbers
    assert [each.label.split()[-1] for each in numbers] == [last.feedback, "repeats"]
    assert [each.caption for each in sections["Dataset by dataset"].tables] == [last.feedback]
    assert set(drawings(sections)["against_bandit"].columns["name"]) == {last.dataset.name}


def test_rules_that_are_not_registered_can_be_reported(bciigl, tmp_path, monkeypatch):
    data = write_npz(tmp_path / "data" / "flowers.npz", rows=60)
    with monkeypatch.context() as patch:
        patch.setitem(RULES, "my_own", lambda guesses, rng: RULES["coded"](guesses, rng))
        mine = LabelledStudy([describe(each) for each in find_sources(data)], ["my_own"], repeats=1)
        assert run_study(mine, tmp_path / "out", jobs=1).missing == 0
    result = bciigl("report", tmp_path / "out")
    assert result.exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "my_own: a rule of your own." in page
    assert "With the rule my_own, it was of our own making." in page
    assert "<h1>labelled data: report of a study</h1>" in page
    with (tmp_path / "out" / "report_figures" / "accuracy.tsv").open() as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    assert [line["feedback"] for line in lines] == ["my_own"] * 3


def test_studies_without_the_bandit_have_a_report_too():
    mine = replace(SEVERAL, learners=("ai_igl",))
    sections = sections_of(mine, features=measured(mine))
    assert "On average" in sections and "against_bandit" not in drawings(sections)
    assert sections["At a glance"].numbers[0].note == ""
    # No share of what was not learned can be drawn.
    assert "learnable_coded" not in drawings(sections)
    assert "What makes a dataset learnable: coded" in sections


def test_what_is_learnable_is_told_with_our_results_and_the_published(learnable_parts, table):
    for rule in ("action_reward", "coded"):
        section = learnable_parts[f"What makes a dataset learnable: {rule}"]
        columns = drawings(learnable_parts)[f"learnable_{rule}"].columns
        mine = [row.relative for row in table if (row.feedback, row.learner) == (rule, "ai_igl")]
        ours = [
            value
            for value, kind in zip(columns["relative"], columns["drawn_as"], strict=True)
            if kind != "published"
        ]
        assert sorted(ours) == sorted(mine)
        # Grey points are there once.
        assert columns["drawn_as"].count("published") == (271 if rule == "action_reward" else 0)
        assert section.tables[0].rows[0][1:3] == ["5", str(sum(each >= 0.7 for each in mine))]
        assert section.paragraphs[0].startswith("F1 of random forests")
    last = learnable_parts[f"What makes a dataset learnable: {TABLE4}"]
    (drawing,) = last.drawings
    expected = published_forests()[0].importances
    found = dict(zip(drawing.columns["feature"], drawing.columns["importance"], strict=True))
    assert found == expected
    assert last.tables[0].rows[0][:3] == ["K ≥ 3", "271", "97"]


def test_datasets_that_are_not_measured_are_not_among_the_learnable():
    mine = several(4, repeats=1)
    sections = sections_of(mine, features=measured(mine, without=mine.datasets[:1]))
    line = sections["What makes a dataset learnable: coded"].tables[0].rows[0]
    assert line[1] == "3"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parts", "digit_parts", "learnable_parts"])
def test_the_page_needs_nothing_else(request, name):
    sections = request.getfixturevalue(name)
    text = page_text("t", list(sections.values()), lead=labelled_lead(SEVERAL))
    for address in re.findall(r'(?:src|href)="([^"]*)"', text):
        assert address.startswith(("data:image/svg+xml;base64,", "#")), address
    assert not re.search(r"<script|<link|@import|url\(|https?:", text)
    images = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"[^>]* alt="([^"]+)"', text)
    assert len(images) == len(drawings(sections)) == text.count("<img ")
    assert all(b"<svg" in base64.b64decode(each) for each, _ in images)
    shown = {len(table.rows) + 1 for section in sections.values() for table in section.tables}
    assert {len(each) for each in html_tables(text)} == shown


def test_names_of_datasets_cannot_do_harm(tmp_path, bciigl):
    data = tmp_path / "data"
    write_npz(data / "<script>alert(1)<&$_$>.npz".replace("/", ""), rows=60)
    out = tmp_path / "out"
    arguments = ("--data", data, "--repeats", 1, "--jobs", 1, "--feedback", "coded", "--out", out)
    document = json.loads(bciigl("reproduce", "table1", *arguments, "--json").stdout)
    assert document[0]["dataset"] == "<script>alert(1)<&$_$>"
    assert bciigl("report", out).exit_code == 0
    page = (out / "report.html").read_text()
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;&amp;$_$&gt;" in page
