"""Files, names and round trips."""

import os

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import well_typed

from bciigl.base.errors import BciiglError
from bciigl.protocol import Protocol, ProtocolError, check, dump, load, parse_change, shipped
from bciigl.protocol.load import MOST_BYTES
from bciigl.protocol.model import Cube
from bciigl.protocol.validation import validate
from bciigl.protocol.yaml_reader import Document, render

MINIMAL = "name: x\ntask:\n  options: [7, 8, 9]\n"


def problem(source) -> str:
    (found,) = check(source).problems
    return str(found)


def test_file_without_problems_is_a_protocol(write):
    assert load(write(MINIMAL)) == Protocol(name="x", task={"options": [7, 8, 9]})


def test_shipped_protocol_is_found_by_name_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "number_guessing").mkdir()
    assert load("number_guessing").name == "number_guessing"


def test_shipped_protocols_open_with_advice_and_carry_their_name():
    for name, path in shipped().items():
        assert load(path).name == name
        assert "change" in path.read_text().lower().split("name:")[0], name


def test_shipped_protocols_are_what_their_names_say():
    assert load("table2").study.noise == (0.01, 0.05, 0.1)
    assert load("table2").study.repeats == 20
    assert len(load("table2").learners) == 6
    yes_no = load("yes_no_with_catch_trials").task
    assert yes_no.options == ("yes", "no")
    assert yes_no.catch.share > 0
    typing = load("gaze_typing")
    assert (len(typing.task.options), typing.task.trials) == (6, 2000)
    assert typing.human.judgment_lapse > 0


def test_error_names_file_line_column_path_and_values(write):
    path = write(MINIMAL + "timing:\n    isi: -3\n")
    with pytest.raises(ProtocolError) as caught:
        load(path)
    assert (
        str(caught.value) == f"{path}:5:5: timing.isi: should be greater than or equal to 0, got -3"
    )


def test_problems_come_all_at_once_in_the_order_of_the_file(write):
    path = write("name: x\nname: y\ntask:\n  options: [a, a]\n  trails: 3\nseed: -1\n")
    lines = [each.line for each in check(path).problems]
    assert lines == [2, 4, 5, 6]


def test_what_is_missing_is_told_at_its_section(write):
    assert problem(write("name: x\ntask: {}\n")).endswith(":2:1: task.options: is required")


def test_alias_is_told_once(write):
    assert "aliases" in problem(write(MINIMAL + "seed: *x\n"))
    assert "aliases" in problem(write(MINIMAL + "brain: {region: {shape: *x}}\n"))
    assert "object" not in str(ProtocolError(check(write("- *x\n")).problems))


def test_keys_cannot_command_the_terminal(write):
    assert ": \\x1b[31m: unknown key" in problem(write(MINIMAL + '"\\e[31m": 1\n'))


def test_change_within_a_section_for_which_there_is_a_word_keeps_the_word(write):
    file = write("name: mine\ntask: {options: [1, 2, 3]}\nestimate: frame\n")
    changed = load(file, changes={"estimate.normalise": False}).estimate
    assert (changed.method, changed.normalise) == ("frame", False)


def test_very_many_problems_are_cut_short(write):
    path = write(MINIMAL + "".join(f"key{i}: 1\n" for i in range(150)))
    problems = check(path).problems
    assert len(problems) == 101
    assert problems[-1].message == "and 50 more problems"


def test_list_items_are_named_by_number(write):
    assert ":3:19: task.options[2]: " in problem(write(MINIMAL.replace("9", "[]")))


def test_missing_file_suggests_a_shipped_one(tmp_path):
    assert "did you mean 'number_guessing'?" in problem("number_guesing")
    (tmp_path / "my_task.yaml").touch()
    assert "did you mean 'my_task.yaml'?" in problem(tmp_path / "my_task")
    assert "shipped are gaze_typing" in problem(tmp_path / "zzz.yaml")


def test_folders_devices_and_unreadable_files_are_refused(tmp_path, write):
    assert "is a folder" in problem(tmp_path)
    assert "not a regular file" in problem("/dev/zero")
    assert "cannot be read" in problem("x\0y")
    assert "cannot be read" in problem("x" * 5000)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in problem(tmp_path / "pipe")


def test_large_files_are_refused_before_parsing(write):
    comment = "#" * (MOST_BYTES - len(MINIMAL))
    assert check(write(MINIMAL + comment)).protocol
    assert "larger than 256 kB" in problem(write(MINIMAL + comment + "#"))
    # were it parsed, the text would be called broken
    assert "larger than 256 kB" in problem(write("[" * 300_000))


def test_other_encodings_are_refused_and_a_mark_is_ignored(write):
    assert "byte 0xe9 in line 2" in problem(write("a: b\nname: caf\xe9".encode("latin-1")))
    assert "is not UTF-8" in problem(write(MINIMAL.encode("utf-16")))
    assert check(write(MINIMAL.encode("utf-8-sig"))).protocol
    assert ":1:1: nme: " in problem(write(f"nme: 1\n{MINIMAL}".encode("utf-8-sig")))


def test_subject_and_mask_are_looked_for_beside_the_protocol(write, tmp_path):
    path = write(MINIMAL + "brain: {subject: anna, region: {shape: mask, file: roi.nii.gz}}\n")
    assert [each.path for each in check(path).problems] == ["brain.subject", "brain.region.file"]
    both = path.read_text() + "feedback: {perception: 0, judgment: 0}\n"
    assert sorted(each.path for each in check(write(both)).problems) == [
        "brain.region.file",
        "brain.subject",
        "feedback",
    ]
    near = "should be brainiak or a folder, got 'brianiak'; did you mean 'brainiak'?"
    assert problem(write(MINIMAL + "brain: {subject: brianiak}\n")).endswith(near)
    long = MINIMAL + f"brain: {{subject: {'x' * 900}}}\n"
    assert "should be brainiak or a folder" in problem(write(long))
    path = write(MINIMAL + "brain: {subject: anna, region: {shape: mask, file: roi.nii.gz}}\n")
    (tmp_path / "anna").mkdir()
    (tmp_path / "roi.nii.gz").touch()
    assert check(path).protocol


def test_warnings_leave_a_protocol_valid(write):
    report = check(write(MINIMAL + "timing: {isi: 3}\n"))
    assert report.protocol
    assert [(each.line, each.path) for each in report.warnings] == [(4, "timing.isi")]


@given(well_typed())
def test_load_dump_load_changes_nothing(write, data):
    try:
        protocol = Protocol.model_validate(data)
    except ValidationError:
        assume(False)
    loaded, findings = validate(Document(dump(protocol)).data)
    assert not findings
    assert loaded == protocol
    assert loaded.content_hash == protocol.content_hash


@given(name=st.sampled_from(sorted(shipped())), random=st.randoms(use_true_random=False))
def test_hash_is_stable_across_key_order_and_comments(name, random, write):
    def shuffled(part):
        if not isinstance(part, dict):
            return part
        keys = random.sample(list(part), len(part))
        return {key: shuffled(part[key]) for key in keys}

    protocol = load(name)
    text = render(shuffled(protocol.model_dump()), {("task",): "a comment"})
    assert load(write(text)).content_hash == protocol.content_hash


def test_change_is_read_as_a_file_would_be():
    for text, field, value in [
        ("timing.isi=8", "timing.isi", 8),
        ("timing.isi=8.5", "timing.isi", 8.5),
        (" seed = 3 ", "seed", 3),
        ("task.options=[a, 7, '7']", "task.options", ["a", 7, "7"]),
        (
            "brain.region={shape: sphere, radius: 5}",
            "brain.region",
            {"shape": "sphere", "radius": 5},
        ),
        ("timing.decision=null", "timing.decision", None),
        ("brain.noise_sources.arma=false", "brain.noise_sources.arma", False),
        ("description=a=b", "description", "a=b"),
        ("description=''", "description", ""),
        ("description='7'", "description", "7"),
        ("description=né", "description", "né"),
    ]:
        found = parse_change(text)
        assert found == (field, value)
        assert type(found[1]) is type(value), text


def test_change_that_cannot_be_read_is_shown():
    for text, message in [
        ("", ": should be field=value, such as timing.isi=8"),
        ("timing.isi", "timing.isi: should be field=value"),
        ("=8", "=8: should be field=value"),
        ("  =8", "should be field=value"),
        ("timing.isi=", "timing.isi=: has no value"),
        ("timing.isi=  ", "has no value"),
        ("task.options=[a", r"task.options=\[a: "),
        ("seed=*x", "seed=.x: .*aliases"),
        ("seed={a: 1, a: 2}", "seed={a: 1, a: 2}: "),
    ]:
        with pytest.raises(BciiglError, match=message):
            pytest.fail(f"{text}: {parse_change(text)}")


def test_change_cannot_command_the_terminal():
    with pytest.raises(BciiglError) as error:
        parse_change("seed=\x1b[31m")
    assert "\x1b" not in str(error.value)
    with pytest.raises(BciiglError) as error:
        parse_change("\x1b[31m")
    assert "\x1b" not in str(error.value)


def test_changes_take_the_place_of_what_the_file_says(write):
    path = write(MINIMAL + "seed: 1\nbrain:\n  noise: 0.5\n")
    changes = {
        "seed": 2,
        "brain.cnr": 2.0,
        "task.catch.share": 0.5,
        "task.options": ["a", "b"],
        "timing.isi": 8,
    }
    changed = load(path, changes=changes)
    assert (changed.seed, changed.brain.cnr, changed.timing.isi) == (2, 2.0, 8.0)
    assert changed.task.catch.share == 0.5
    assert changed.task.options == ("a", "b")
    assert (changed.name, changed.brain.noise) == ("x", 0.5)  # what is not changed stays
    assert load(path).seed == 1
    assert load(path, changes={}) == load(path, changes=None) == load(path)


def test_change_makes_sections_that_the_file_does_not_have(write):
    path = write("name: x\n")
    assert load(path, changes={"task.options": [1, 2, 3]}).task.options == (1, 2, 3)
    # A change replaces what is no section, too.
    path = write("name: x\ntask: 7\n")
    assert load(path, changes={"task.options": [1, 2, 3]}).task.options == (1, 2, 3)


def test_later_change_wins_over_the_section_it_is_in(write):
    changes = {"brain.region": {"shape": "sphere"}, "brain.region.radius": 5.0}
    assert load(write(MINIMAL), changes=changes).brain.region.radius == 5.0
    assert changes["brain.region"] == {"shape": "sphere"}  # the caller's own is left alone


def test_a_centre_in_mm_takes_the_place_of_one_in_voxels_and_vice_versa():
    in_mm = load("number_guessing", changes={"brain.region.mni": [1, 2, 3]})
    assert in_mm.brain.region == Cube(mni=(1, 2, 3))
    changes = {"brain.region.mni": [1, 2, 3], "brain.region.center": [4, 5, 6]}
    assert load("number_guessing", changes=changes).brain.region == Cube(center=(4, 5, 6))


def test_change_mends_a_file(write):
    path = write(MINIMAL + "seed: -1\n")
    assert check(path).protocol is None
    assert load(path, changes={"seed": 1}).seed == 1


def test_problem_of_a_change_is_told_by_the_change_and_not_by_a_line(write):
    path = write(MINIMAL)
    for changes, where, message in [
        ({"seed": -1}, "seed=-1: seed", "should be greater than or equal to 0, got -1"),
        ({"timing.isi": "x"}, "timing.isi=x: timing.isi", "should be a number, got 'x'"),
        ({"timing.issi": 3}, "timing.issi=3: timing.issi", "unknown key; did you mean 'isi'?"),
        ({"sed": 3}, "sed=3: sed", "unknown key; did you mean 'seed'?"),
        ({"tming.isi": 3}, "tming.isi=3: tming", "unknown key; did you mean 'timing'?"),
        ({"task.options": ["a", []]}, "task.options=['a', []]: task.options[1]", "should be"),
        ({"seed.x": 1}, "seed.x=1: seed", "should be"),
        ({"": 1}, "=1: ", "unknown key"),
        ({"brain.": 1}, "brain.=1: brain.", "unknown key"),
    ]:
        (found,) = check(path, changes=changes).problems
        assert str(found).startswith(f"{path} with {where}")
        assert message in str(found)
        assert found.line is found.column is None


def test_problems_of_file_and_changes_are_told_together(write):
    path = write(MINIMAL + "timing: {isi: -3}\n")
    problems = check(path, changes={"seed": -1}).problems
    assert {(each.path, each.line) for each in problems} == {("timing.isi", 4), ("seed", None)}


def test_warning_about_a_change_is_told_by_the_change(write):
    path = write(MINIMAL)
    report = check(path, changes={"timing.isi": 3})
    assert report.protocol
    (warning,) = report.warnings
    assert str(warning).startswith(f"{path} with timing.isi=3: timing.isi: ")


def test_file_that_is_no_protocol_stays_none_with_changes(write):
    for content in ("", "- 1\n", "7"):
        assert check(write(content), changes={"seed": 1}).protocol is None
    assert check("nowhere.yaml", changes={"seed": 1}).protocol is None
