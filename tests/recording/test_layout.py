"""Names of files, and tables."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import small

from bciigl.recording.layout import (
    DESCRIPTION,
    JOURNAL,
    DatasetError,
    beside,
    is_finished,
    read_table,
    run_stem,
    task_label,
    words,
    write_table,
)


def test_task_is_named_by_letters_and_digits_alone():
    labels = {"a-b_c": "abc", "small": "small", "7": "7", "A_-": "A", "x" * 64: "x" * 64}
    for name, label in labels.items():
        protocol = small(name=name)
        assert task_label(protocol) == label
        stem = run_stem(protocol, "train", 2)
        assert stem == Path(f"sub-01/ses-train/func/sub-01_ses-train_task-{label}_run-02")
        assert str(beside(Path("x"), stem, "bold.json")).endswith(f"task-{label}_run-02_bold.json")


def test_separate_recordings_are_told_apart_by_their_kind():
    stem = run_stem(small(), "test", 1, "judgment")
    assert stem.name == "sub-01_ses-test_task-small_acq-judgment_run-01"


def test_run_numbers_are_as_long_as_the_longest_so_that_names_sort():
    for runs, first, last in [(99, "01", "99"), (100, "001", "100"), (1234, "0001", "1234")]:
        protocol = small(task={"trials": runs, "trials_per_run": 1})
        assert run_stem(protocol, "train", 1).name.endswith(f"_run-{first}")
        assert run_stem(protocol, "train", runs).name.endswith(f"_run-{last}")
        # Each session by its own runs.
        assert run_stem(protocol, "test", 3).name.endswith("_run-03")
        names = [run_stem(protocol, "train", run).name for run in range(1, min(runs, 120))]
        assert names == sorted(set(names))


def test_dataset_is_finished_when_it_has_no_journal(tmp_path):
    assert not is_finished(tmp_path)
    (tmp_path / JOURNAL).touch()
    assert not is_finished(tmp_path)
    (tmp_path / DESCRIPTION).touch()
    assert not is_finished(tmp_path)
    (tmp_path / JOURNAL).unlink()
    assert is_finished(tmp_path)


# What an option can be: printable, with no blank at either end.
CELLS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1).filter(
    lambda text: text.isprintable() and text.strip() == text
)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_table_is_read_as_it_was_written(tmp_path, rows):
    columns = {"one": [row[0] for row in rows], "two": [row[1] for row in rows]}
    write_table(tmp_path / "table.tsv", columns)
    assert read_table(tmp_path / "table.tsv", ("two", "one")) == columns
    assert read_table(tmp_path / "table.tsv", ("two",)) == {"two": columns["two"]}


def test_table_is_plain_lines(tmp_path):
    write_table(tmp_path / "table.tsv", {"a": ["1", "é"], "b": words([True, False])})
    assert (tmp_path / "table.tsv").read_bytes() == "a\tb\n1\ttrue\né\tfalse\n".encode()


def test_tables_saved_by_other_programs_are_read(tmp_path):
    for content in (
        b"a\tb\r\n1\t2\r\n3\t4\r\n",
        b"\xef\xbb\xbfa\tb\n1\t2\n3\t4",
        b"a\tb\n1\t2\n3\t4\n",
    ):
        (tmp_path / "table.tsv").write_bytes(content)
        assert read_table(tmp_path / "table.tsv", ("a", "b")) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_what_is_no_table_is_refused_by_name(tmp_path):
    path = tmp_path / "table.tsv"
    for content, message in [
        (None, ": no such file"),
        (b"", ": has no column a"),
        (b"A\tb\n1\t2\n", ": has no column a"),
        (b"a,b\n1,2\n", ": has no column a"),
        (b"a\tb\n1\t2\n3\n", ":3: has 1 columns, not 2"),
        (b"a\tb\n1\t2\t3\n", ":2: has 3 columns, not 2"),
        (b"a\tb\n1\t2\n\n1\t2\n", ":3: has 1 columns, not 2"),
        ("a\tb\né\t2\n".encode("latin-1"), ": is not UTF-8 text"),
        ("a\tb\n1\t2\n".encode("utf-16"), ": is not UTF-8 text"),
    ]:
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DatasetError) as error:
            read_table(path, ("a", "b"))
        assert str(error.value) == f"{path}{message}", content


def test_columns_of_different_lengths_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="zip"):
        write_table(tmp_path / "table.tsv", {"a": ["1", "2"], "b": ["1"]})
    assert not list(tmp_path.iterdir())
