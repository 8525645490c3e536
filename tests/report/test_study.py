"""The report of a study."""

import re
import shlex

import numpy as np
import pytest
from heads import head
from studies import all_made_up, study, tiny

from bciigl.base.registry import LEARNERS
from bciigl.brain.images import write_image
from bciigl.cli.reproduce import table2 as table2_command
from bciigl.protocol import dump
from bciigl.report.accuracy import accuracy_columns
from bciigl.report.findings import finding
from bciigl.report.methods import REFERENCES, methods_paragraph
from bciigl.report.results import told as told_words
from bciigl.report.study import lead, study_sections
from bciigl.report.study_tables import accuracy_tables, difference_tables
from bciigl.study import Study, open_study, rows
from bciigl.study.controls import CONTROLS, PERMUTED, SILENCED
from bciigl.study.example import keep_example, open_example
from bciigl.study.grid import in_words
from bciigl.study.table2 import departures, table2

SECTIONS = [
    "At a glance",
    "The table",
    "Learners compared",
    "Controls",
    "Where this is not the paper's experiment",
    "Learning",
    "Decoded rewards",
    "The recorded signal",
    "Region and patterns",
    "Methods",
    "How to do it again",
    "Protocol",
]
FIGURES = [
    "accuracy",
    "learners",
    "controls",
    "learning_curve",
    "decoded_rewards",
    "time_course",
    "region",
    "patterns",
]


def sections_of(mine, results=None, example=None):
    """Return the sections of a report by their titles, by default of made-up results."""
    results = all_made_up(mine) if results is None else results
    found = study_sections(mine, results, rows(mine, results), example)
    return {each.title: each for each in found}


def drawings(sections):
    return {each.name: each for section in sections.values() for each in section.drawings}


@pytest.fixture(scope="module")
def table(finished_study):
    """Return the rows of the study that was run."""
    return finished_study[2]


@pytest.fixture(scope="module")
def varied():
    """Return a study of fields that are not easily written, and the sections of its report."""
    vary = {
        "task.options": [["a, b", "7", "no"], ["x", "y=z", "true"]],
        "estimate": ["glm", "frame"],
        "timing.isi": [7.0],
    }
    mine = study(vary=vary, study={"noise": [0.123456789, 0.3], "repeats": 1})
    return mine, sections_of(mine)


def test_sections_come_in_this_order(study_parts):
    assert list(study_parts) == [each for each in SECTIONS if "not the paper's" not in each]
    assert list(drawings(study_parts)) == FIGURES
    for drawing in drawings(study_parts).values():
        assert drawing.caption.endswith(".") and drawing.alt.endswith(".")
        assert len({len(column) for column in drawing.columns.values()}) == 1


def test_the_head_has_the_numbers_of_the_hardest_rows(finished_study, study_parts, table):
    numbers = study_parts["At a glance"].numbers
    at = {row.label: row for row in table if row.noise == 0.4}
    for number, learner in zip(numbers, ("ai_igl", "ceiling"), strict=False):
        accuracy = at[learner].accuracy
        assert number.value == f"{accuracy.mean:.1f} %"
        name = {"ai_igl": "AI-IGL", "ceiling": "supervised"}[learner]
        assert number.label == f"accuracy of {name} ({told_words(learner)}) at noise 0.4"
        assert f"{accuracy.mean:.1f} ± {accuracy.standard_error:.1f} (stand" in number.note
        assert number.note.endswith("95 % interval {:.1f} to {:.1f}".format(*accuracy.interval))
    assert numbers[2].value == f"{at['ai_igl'].chance.mean:.1f} %"
    # Two levels, two repeats, and as many with the judgment silenced.
    assert numbers[3].value == "8"
    assert numbers[3].label == "simulated sessions, 4 of them of a control"
    assert "in a real scanner: " in numbers[3].note and "h for 2 sessions" in numbers[3].note
    assert len(numbers) == 4
    assert study_parts["At a glance"].notices == []


def test_tables_and_figure_are_those_of_the_rows(study_parts, table):
    (shown,) = study_parts["The table"].tables
    (expected,) = accuracy_tables(table).values()
    assert (shown.head, shown.rows) == (expected.head, expected.rows)
    (shown,) = study_parts["Learners compared"].tables
    (expected,) = difference_tables(table).values()
    assert (shown.head, shown.rows) == (expected.head, expected.rows)
    shown = drawings(study_parts)
    assert [each.name for each in study_parts["At a glance"].drawings] == ["accuracy"]
    for name, labels in (
        ("accuracy", {"ai_igl", "ceiling"}),
        ("learners", {"ai_igl", "cb"}),
        ("controls", {"ai_igl", f"ai_igl, {SILENCED}", f"ai_igl, {PERMUTED}"}),
    ):
        assert shown[name].columns == accuracy_columns(
            [row for row in table if row.label in labels]
        )


def test_tables_of_varied_fields_say_of_which(varied):
    mine, sections = varied
    expected = accuracy_tables(rows(mine, all_made_up(mine)))
    assert {each.caption: each.rows for each in sections["The table"].tables} == {
        name: each.rows for name, each in expected.items()
    }
    assert len(expected) == 4
    # One learner alone is compared with nobody.
    assert "Learners compared" not in sections


def test_controls_say_what_they_should_show(study_parts):
    text = study_parts["Controls"].paragraphs
    assert text[1:] == [
        f"{name.capitalize()}: should be {CONTROLS[name].expected}."
        for name in (SILENCED, PERMUTED)
    ]


def test_the_example_is_the_first_session_at_the_highest_noise(finished_study, study_parts):
    mine, *_ = finished_study
    (cell,) = (
        cell
        for cell in mine.cells
        if (cell.setting.noise, cell.repeat) == (0.4, 0) and cell.entries[0].control is None
    )
    words = f"An example: the session of repeat 1 at noise 0.4 (seed {cell.protocol.seed})."
    for title in ("Decoded rewards", "Learning", "The recorded signal", "Region and patterns"):
        assert study_parts[title].paragraphs[0] == words
    text = study_parts["Methods"].paragraphs[0]
    assert text == methods_paragraph(cell.protocol, alone=False)
    assert "seed" not in text and "Wilson" not in text


def test_the_example_is_learned_from_as_the_study_did(finished_study, study_parts):
    """The policy of all runs has the accuracy that the study kept of the same session."""
    mine, results, *_ = finished_study
    (row,) = (row for row in finished_study[2] if (row.label, row.noise) == ("ai_igl", 0.4))
    curve = drawings(study_parts)["learning_curve"].columns
    whole = [
        accuracy
        for learner, trials, accuracy in zip(
            curve["learner_id"], curve["trials"], curve["accuracy"], strict=True
        )
        if (learner, trials) == ("ai_igl", mine.protocol.task.trials)
    ]
    assert whole == [pytest.approx(row.accuracies[0])]


def test_methods_name_levels_repeats_and_what_was_varied(study_parts, varied):
    text = " ".join(study_parts["Methods"].paragraphs)
    assert "noise weights of 0.05 and 0.4, each with 2 simulated sessions" in text
    assert "was varied" not in text
    mine, sections = varied
    text = " ".join(sections["Methods"].paragraphs)
    assert "noise weights of 0.123457 and 0.3, each with 1 simulated session," in text
    for name, values in mine.vary.items():
        assert f" {name} was varied (" in text
        for value in values:
            assert str(value).removesuffix(".0") in text
    assert "timing.isi was varied (7 s)." in text
    assert f"This describes one session with {in_words(mine.settings[0].varied)}." in text


def assert_cited(sections):
    """See to it that all that is cited is among the references, and nothing else."""
    methods = sections["Methods"]
    cited = set(re.findall(r"\w+(?: et al\.)?, \d{4}", " ".join(methods.paragraphs)))
    assert {"Ellis et al., 2020", "Hesterberg, 2015"} <= cited
    assert sorted(methods.references) == sorted(REFERENCES[each] for each in cited)
    others = [each for each in sections.values() if each is not methods]
    assert "et al." not in "".join(words for each in others for words in each.paragraphs)


def test_all_that_is_cited_is_among_the_references(study_parts, varied):
    assert_cited(study_parts)
    assert_cited(varied[1])


def test_seeds_and_versions_are_told(finished_study, study_parts):
    mine, results, *_ = finished_study
    values = dict(study_parts["How to do it again"].tables[0].rows)
    assert values["seed"] == "0"
    seeds = [cell.protocol.seed for cell in mine.cells]
    assert values["seeds of the repeats"] == f"{seeds[0]}, {seeds[-1]}"
    assert values["protocol, SHA-256"] == mine.protocol.content_hash
    versions = next(iter(results.values())).versions
    for name, version in versions.items():
        assert f"{name} {version}" in values["simulated with"]
    assert study_parts["Protocol"].preformatted == dump(mine.protocol)


def test_the_command_makes_the_same_sweep_again(varied, tmp_path, bciigl, monkeypatch):
    mine, sections = varied
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(sections["Protocol"].preformatted)
    program, command, *arguments = shlex.split(sections["How to do it again"].preformatted)
    assert (program, command, arguments[0]) == ("bciigl", "sweep", "study.yaml")
    assert any("study.yaml" in words for words in sections["How to do it again"].paragraphs)
    # The first of its sessions are enough to see that they are the same.
    few = ("--jobs", "1", "--cell", "1/8", "--out", "out")
    assert bciigl(command, *arguments, *few).exit_code == 0
    again, results = open_study("out")
    assert [cell.key for cell in again.cells] == [cell.key for cell in mine.cells]
    assert set(results) == {mine.cells[0].key}


def same_table(text):
    """Return the study that a command for Table 2 would run."""
    words = shlex.split(text)
    assert words[:3] == ["bciigl", "reproduce", "table2"]
    given = table2_command.make_context("table2", words[3:]).params
    return table2(**{name: given[name] for name in ("noise", "repeats", "seed", "separate")})


def test_the_command_has_levels_in_full_and_separate_recordings():
    changes = {"recording": "separate", "estimate": "frame", "seed": 5}
    noise = [0.123456789, 1.0]
    mine = Study(tiny(**changes, study={"noise": noise}), table="table2")
    sections = sections_of(mine)
    again = same_table(sections["How to do it again"].preformatted)
    assert again == table2(noise=tuple(noise), repeats=2, seed=5, separate=True)
    # What the paper has too is no departure.
    text = " ".join(sections["Where this is not the paper's experiment"].paragraphs)
    assert "Recording: one BOLD series" not in text and "Test: a session of its own" in text


def test_table_2_has_its_command_its_departures_and_the_published_figures():
    mine = table2(noise=(0.1,), repeats=1, seed=3)
    sections = sections_of(mine)
    views = ["Decoded rewards", "Learning", "The recorded signal", "Region and patterns"]
    assert list(sections) == [
        "An example" if each == views[0] else each for each in SECTIONS if each not in views[1:]
    ]
    assert same_table(sections["How to do it again"].preformatted) == mine
    assert not any("study.yaml" in words for words in sections["How to do it again"].paragraphs)
    words = sections["Where this is not the paper's experiment"].paragraphs
    assert [each.lower() for each in words] == [each.lower() for each in departures(mine.protocol)]
    assert all(each[0].isupper() and each.endswith(".") for each in words)
    labels = {row[0]: row[1:] for row in sections["The table"].tables[0].rows}
    assert labels["  published"] != ["-"]
    assert "Stars are the figures of the paper" in drawings(sections)["accuracy"].caption
    assert_cited(sections)


def test_unfinished_studies_say_so():
    mine = study(study={"noise": [0.05, 0.4], "repeats": 2})
    results = all_made_up(mine)
    del results[mine.cells[0].key]
    table = rows(mine, results)
    sections = {each.title: each for each in study_sections(mine, results, table)}
    # No session was recorded, and that is said.
    assert sections["An example"].paragraphs[0].startswith("No recorded session of this study")
    (notice,) = sections["At a glance"].notices
    assert (notice.mood, notice.title) == ("unsure", "Not all is here")
    assert notice.text.startswith("Of 4 sessions 1 are not there")
    assert sections["At a glance"].numbers[-1].value == "3"
    assert sections["At a glance"].numbers[-1].label == "simulated sessions"


def controls_only(mine, results, levels):
    """Return results without those of sessions that are no control, at some noise levels."""
    return {
        cell.key: results[cell.key]
        for cell in mine.cells
        if cell.entries[0].control == SILENCED or cell.setting.noise not in levels
    }


def test_where_controls_alone_reach_the_highest_noise_the_head_is_of_the_level_below(
    finished_study, table
):
    mine, results, *_ = finished_study
    sections = sections_of(mine, controls_only(mine, results, [0.4]))
    first = next(row for row in table if (row.label, row.noise) == ("ai_igl", 0.05))
    numbers = sections["At a glance"].numbers
    assert numbers[0].value == f"{first.accuracy.mean:.1f} %"
    assert numbers[0].label.endswith("at noise 0.05")
    assert mine.example(controls_only(mine, results, [0.4])).setting.noise == 0.05
    assert set(drawings(sections)["accuracy"].columns["noise"]) == {0.05}
    assert set(drawings(sections)["controls"].columns["noise"]) == {0.05, 0.4}


def test_where_controls_alone_are_finished_there_is_a_report_too(finished_study, table):
    mine, results, *_ = finished_study
    sections = sections_of(mine, controls_only(mine, results, [0.05, 0.4]))
    silenced = next(row for row in table if (row.control, row.noise) == (SILENCED, 0.4))
    number = sections["At a glance"].numbers[0]
    assert number.value == f"{silenced.accuracy.mean:.1f} %"
    assert f"AI-IGL, {SILENCED}" in number.label
    assert sections["At a glance"].notices[0].text.startswith("Of 8 sessions 4 ")
    assert set(drawings(sections)["accuracy"].columns["learner"]) == {f"ai_igl, {SILENCED}"}


def test_studies_without_ai_igl_have_a_report(varied):
    blind = study(learners=["igl_full_ci", "ceiling"], study={"repeats": 1})
    for mine, sections in ((blind, sections_of(blind)), varied):
        hardest = max(mine.protocol.study.noise)
        table = rows(mine, all_made_up(mine))
        first = next(row for row in table if row.noise == hardest)
        *numbers, _, _ = sections["At a glance"].numbers
        assert numbers[0].value == f"{first.accuracy.mean:.1f} %"
        for number, learner in zip(numbers, mine.protocol.learners, strict=True):
            name = LEARNERS.get(learner).short_name
            assert f"accuracy of {name} ({told_words(learner)}) at noise" in number.label
            # One session has neither standard error nor interval.
            assert number.note == "of one session"
    # Numbers of the head are of the first combination of the varied fields, and say so.
    assert f"at noise 0.3, {first.setting}" in numbers[0].label
    assert sections["At a glance"].numbers[-2].label.endswith(f"at noise 0.3, {first.setting}")


def test_the_head_has_the_finding_and_the_range_of_hours():
    mine = study(vary={"timing.isi": [7.0, 14.0]}, study={"noise": [0.05, 0.3]})
    sections = sections_of(mine)
    head, table = sections["At a glance"], sections["The table"]
    assert head.numbers[0].label.endswith("at noise 0.3, timing.isi = 7 s")
    for note in (head.numbers[-1].note, table.paragraphs[-1]):
        assert "(timing.isi = 7 s) to 0.3 h and 0.2 h (timing.isi = 14 s)" in note


def test_own_masks_and_subjects_are_found_in_the_protocols_folder(tmp_path, monkeypatch):
    for name in ("mine", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    subject = head()
    subject.save(tmp_path / "mine" / "me")
    mask = np.zeros(subject.shape, np.uint8)
    mask[8:10, 10:12, 7:8] = 1
    write_image(tmp_path / "mine" / "mask.nii.gz", mask, subject.affine)
    brain = {"subject": "me", "region": {"shape": "mask", "file": "mask.nii.gz"}}
    mine = Study(tiny(brain=brain), str(tmp_path / "mine"))
    keep_example(mine, tmp_path, all_made_up(mine))
    sections = sections_of(mine, example=open_example(mine, tmp_path))
    assert {"region", "patterns"} <= set(drawings(sections))
    region = drawings(sections)["region"].columns
    assert sorted(zip(*(region[name] for name in "ijk"), strict=True)) == [
        (8, 10, 7),
        (8, 11, 7),
        (9, 10, 7),
        (9, 11, 7),
    ]


def test_below_the_title_it_says_how_much_there_is():
    one = study(study={"noise": [0.1], "repeats": 1})
    table = rows(one, all_made_up(one))
    said = "A study of 1 setting, each with 1 simulated session."
    assert lead(one, table) == f"{finding(table)}. {said}"
    mine = study(
        description=" Mine. ", vary={"timing.isi": [7, 8]}, study={"noise": [0.1, 0.2, 1.0]}
    )
    said = "Mine. A study of 6 settings, each with 2 simulated sessions."
    table = rows(mine, all_made_up(mine))
    assert lead(mine, table) == f"{finding(table)}. {said} Settings differ in noise and timing.isi."
