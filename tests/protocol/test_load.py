"""Files, names and round trips."""

import os

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import well_typed

from bciigl.protocol import Protocol, ProtocolError, check, dump, load, shipped
from bciigl.protocol.explain import validate
from bciigl.protocol.load import MOST_BYTES
from bciigl.protocol.text import parse, render

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


@pytest.mark.parametrize(("name", "path"), shipped().items())
def test_shipped_protocols_open_with_advice_and_carry_their_name(name, path):
    assert load(path).name == name
    assert "change" in path.read_text().lower().split("name:")[0]


def test_shipped_protocols_are_what_their_names_say():
    assert load("table2").study.noise == (0.01, 0.05, 0.1)
    assert load("table2").study.repeats == 20
    assert len(load("table2").learners) == 5
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
    assert str(caught.value) == f"{path}:5:5: timing.isi: should be greater than 0, got -3"


def test_problems_come_all_at_once_in_the_order_of_the_file(write):
    path = write("name: x\nname: y\ntask:\n  options: [a, b]\n  trails: 3\nseed: -1\n")
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
    both = path.read_text().replace("7, 8, 9", "a, b")
    assert [each.path for each in check(write(both)).problems] == [
        "task.options",
        "brain.subject",
        "brain.region.file",
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
    loaded, findings = validate(parse(dump(protocol)).data)
    assert not findings
    assert loaded == protocol
    assert loaded.content_hash == protocol.content_hash


@pytest.mark.parametrize("name", shipped())
@given(random=st.randoms(use_true_random=False))
def test_hash_is_stable_across_key_order_and_comments(name, random, write):
    def shuffled(part):
        if not isinstance(part, dict):
            return part
        keys = random.sample(list(part), len(part))
        return {key: shuffled(part[key]) for key in keys}

    protocol = load(name)
    text = render(shuffled(protocol.model_dump()), {("task",): "a comment"})
    assert load(write(text)).content_hash == protocol.content_hash
