"""The same numbers wherever they are shown."""

import csv
import json
import re
from pathlib import Path

import pytest
from labelled_files import write_images, write_npz
from studies import TINY_OPTIONS
from tables import by_detail, cells, html_tables, text_tables

from bciigl.report.as_published import outcome_tables, published_tables
from bciigl.report.study_tables import learner_name
from bciigl.report.table import Table
from bciigl.study.as_published import read_table

ROOT = Path(__file__).parents[1]
COMMAND = "bciigl reproduce table2"


@pytest.mark.slow
def test_a_study_has_the_same_accuracies_in_all_forms(bciigl, tmp_path):
    more = "--noise 0.4 --repeats 2 --learner cb --vary timing.isi=7,8 --jobs 1".split()
    command = ("sweep", *TINY_OPTIONS, *more, "--out", tmp_path / "out")
    document = json.loads(bciigl(*command, "--json").stdout)
    printed = text_tables(bciigl(*command, "-v").stdout, "noise")
    told = bciigl("report", tmp_path / "out").stdout
    assert told.startswith(f"wrote {tmp_path / 'out' / 'report.html'}\n")
    page = (tmp_path / "out" / "report.html").read_text()
    shown = [each for each in html_tables(page) if each[0][0] == "noise"]
    with (tmp_path / "out" / "report_figures" / "accuracy.tsv").open() as file:
        drawn = list(csv.DictReader(file, delimiter="\t"))
    assert (len(document), len(drawn), len(printed)) == (8, 8, 2)
    assert printed == shown
    learners = [learner_name("ceiling"), learner_name("cb"), "chance (labels permuted)"]
    for row, line in zip(document, drawn, strict=True):
        (low, high), varied = row["interval"], row["varied"]["timing.isi"]
        assert (line["learner"], float(line["noise"])) == (row["learner"], row["noise"])
        assert float(line["timing.isi"]) == varied
        names = {"accuracy": row["accuracy"], "interval_low": low, "interval_high": high}
        assert {name: float(line[name]) for name in names} == names
        table = printed[varied == 8]
        found, level = by_detail(table, learners), f"{row['noise']:g}"
        accuracy = f"{row['accuracy']:.1f} ± {row['standard_error']:.1f}"
        name = learner_name(row["learner"])
        assert found[name, ""][level] == accuracy
        assert found[name, "95 % interval"][level] == f"{low:.1f} to {high:.1f}"
    text = f"{max(document, key=lambda row: row['noise'])['accuracy']:.1f} %"
    assert f"<dd>{text}</dd>" in page


def drawn_in(folder: Path, name: str) -> list[dict[str, str]]:
    """Return the numbers of a figure, line by line."""
    with (folder / "report_figures" / f"{name}.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def assert_drawn(document: list[dict], lines: list[dict[str, str]]) -> None:
    """See to it that a figure of labelled data has the numbers of the rows."""
    names = ("accuracy", "standard_error", "published", "published_standard_error")
    for row, line in zip(document, lines, strict=True):
        assert [line[name] for name in ("dataset", "feedback", "learner")] == [
            str(row[name]) for name in ("dataset", "feedback", "learner")
        ]
        shown = {name: "n/a" if row[name] is None else str(row[name]) for name in names}
        shown |= dict(
            zip(("interval_low", "interval_high"), map(str, row["interval"]), strict=True)
        )
        assert {name: line[name] for name in shown} == shown


@pytest.mark.slow
def test_labelled_datasets_have_the_same_accuracies_in_all_forms(bciigl, tmp_path):
    for place, number in enumerate((61, None, 9, None)):
        path = tmp_path / "data" / f"set_{place}.npz"
        write_npz(path, rows=40, classes=3 + place % 2, seed=place, openml_id=number)
    command = ("reproduce", "table1", "--data", tmp_path / "data", "--repeats", 2, "--jobs", 1)
    command += ("--out", tmp_path / "out")
    document = json.loads(bciigl(*command, "--json").stdout)
    text = bciigl(*command, "-v").stdout
    printed = [*text_tables(text, "subset, feedback, learner"), *text_tables(text, "dataset")]
    assert bciigl("report", tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    shown = html_tables(page)
    assert printed == shown[:3]
    assert_drawn(document, drawn_in(tmp_path / "out", "against_bandit"))
    for row in document:
        (head, *lines) = printed[1 if row["feedback"] == "action_reward" else 2]
        (line,) = (each for each in lines if each[0].split()[-1] == row["name"])
        place = head.index(learner_name(row["learner"]))
        assert line[place] == f"{row['accuracy']:.1f} ± {row['standard_error']:.1f}"
        if row["published"] is not None:
            paper = "{published:.2f} ± {published_standard_error:.2f}".format(**row)
            assert (head[place + 1], line[place + 1]) == ("published", paper)
        if row["learner"] == "ai_igl":
            assert line[-1] == f"{100 * row['relative_to_cb']:.1f} %"
    for rule in ("action_reward", "coded"):
        mine = [r for r in document if (r["feedback"], r["learner"]) == (rule, "ai_igl")]
        mean = f"{sum(row['accuracy'] for row in mine) / 4:.1f}"
        (line,) = (each for each in printed[0] if each[0] == f"K>=3, {rule}, AI-IGL")
        assert line[2].split(" ± ")[0] == mean
        assert f"<dd>{mean} %</dd>" in page


@pytest.mark.slow
def test_images_have_the_same_accuracies_in_all_forms(bciigl, tmp_path):
    data = write_images(tmp_path / "digits.npz", rows=240)
    command = ("reproduce", "table3", "--data", data, "--repeats", 2, "--jobs", 1)
    command += ("--out", tmp_path / "out")
    document = json.loads(bciigl(*command, "--json").stdout)
    (printed,) = text_tables(bciigl(*command, "-v").stdout, "feedback")
    assert bciigl("report", tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert html_tables(page)[0] == printed
    assert_drawn(document, drawn_in(tmp_path / "out", "accuracy"))
    found = by_detail(printed, [learner_name(each) for each in ("cb", "igl_full_ci", "ai_igl")])
    for row in document:
        name = learner_name(row["learner"])
        rule, (low, high) = row["feedback"], row["interval"]
        shown = f"{row['accuracy']:.1f} ± {row['standard_error']:.1f}"
        assert found[name, ""][rule] == shown
        assert found[name, "95 % interval"][rule] == f"{low:.1f} to {high:.1f}"
        paper = "{published:.2f} ± {published_standard_error:.2f}".format(**row)
        assert found[name, "published"][rule] == paper
        assert found[name, "difference"][rule] == f"{row['difference']:+.1f}"
        if row["learner"] == "ai_igl":
            assert f"<dd>{row['accuracy']:.1f} %</dd>" in page


def shown_after_the_command(text: str) -> str | None:
    """Return what a page says that the command prints: in its own block, or in the next one."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for place, (kind, block) in enumerate(blocks):
        found = re.search(rf"{COMMAND}(?: -v| --(?:jobs|out) \S+)*(?: +#.*)?\n", block)
        if found and kind == "console" and block[found.end() :].strip():
            return block[found.end() :].split("\n$ ")[0]
        if found and [each[0] for each in blocks[place + 1 : place + 2]] == ["console"]:
            return blocks[place + 1][1]
    return None


def notebook_html() -> list[list[list[str]]]:
    """Return the tables that the notebook shows."""
    notebook = json.loads((ROOT / "notebooks" / "table2.ipynb").read_text())
    html = [
        "".join(output.get("data", {}).get("text/html", ""))
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
    ]
    return [table for each in html for table in html_tables(each, indents=True)]


def notebook_tables() -> dict[str, list[list[str]]]:
    """Return the longest of these tables by the first word of their heads."""
    return {table[0][0]: table for table in sorted(notebook_html(), key=len)}


def missing_from(text: str, tables: dict[str, list[list[str]]]) -> tuple[int, list[str]]:
    """Return how many cells of printed tables are among these, and all that are not.

    A printed table may leave out rows (with ``...`` in their place) and noise levels.
    """
    count, missing, known, head, label = 0, [], None, [], ""
    for line in text.splitlines():
        name, *values = cells(line) if line.strip() else [""]
        if name in tables:
            known, head = tables[name], values
            missing += [f"{name}: {each}" for each in head if each not in known[0]]
            rows = by_detail(known, {row[0] for row in known if row[0] == row[0].strip()})
        elif not name:
            known = None
        elif known is not None and name != "...":
            detail = line.startswith(" ")
            label = label if detail else name
            key = (label, name if detail else "")
            for level, value in zip(head, values, strict=True):
                count += 1
                if rows.get(key, {}).get(level) != value:
                    missing.append(f"{', '.join(filter(None, key))} at {level}: {value}")
    return count, missing


def test_notebook_and_documentation_show_the_kept_table_of_the_published_procedure():
    kept = read_table()
    tables = [*published_tables(kept), *outcome_tables(kept)]
    shown = [[[row[0].strip(), *row[1:]] for row in each] for each in notebook_html()]
    page = (ROOT / "docs" / "studies.md").read_text()
    for table in tables:
        rows = [[label.strip(), *values] for label, *values in table.rows]
        assert [list(table.head), *rows] in shown
        for row in rows:
            assert f"{' | '.join(row)} |" in page


def test_the_documentation_shows_the_table_of_the_notebook():
    text = shown_after_the_command((ROOT / "docs" / "studies.md").read_text())
    count, missing = missing_from(text, notebook_tables())
    assert missing == []
    assert count, "there is no table below the command"


TABLE = Table(
    ["noise", "0.05", "1"],
    [
        ["ai_igl", "99.0 ± 0.1", "90.0 ± 1.0"],
        ["  95 % interval", "98.0 to 99.5", "88.0 to 92.0"],
        ["cb", "99.5 ± 0.1", "93.0 ± 1.0"],
        ["  95 % interval", "99.0 to 99.9", "92.0 to 94.0"],
    ],
)
PAGE = """
`bciigl reproduce table2` is the command:

```sh
pip install .
bciigl reproduce table2
```

```console
accuracy in percent

noise                      1
cb                93.0 ± 1.0
  95 % interval  92.0 to 94.0
...
```
"""


@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        ("", "", []),
        ("93.0 ± 1.0", "93.1 ± 1.0", ["cb at 1: 93.1 ± 1.0"]),
        ("92.0 to 94.0", "88.0 to 92.0", ["cb, 95 % interval at 1: 88.0 to 92.0"]),
        ("cb  ", "xy  ", ["xy at 1: 93.0 ± 1.0", "xy, 95 % interval at 1: 92.0 to 94.0"]),
        (" 1\n", " 0.05\n", ["cb at 0.05: 93.0 ± 1.0", "cb, 95 % interval at 0.05: 92.0 to 94.0"]),
    ],
)
def test_a_wrong_cell_in_a_page_would_be_found(old, new, missing):
    text = shown_after_the_command(PAGE.replace(old, new, 1) if old else PAGE)
    (table,) = html_tables(TABLE._repr_html_(), indents=True)
    assert missing_from(text, {"noise": table}) == (2, missing)


def test_commands_and_their_output_may_share_a_block():
    block = f"```console\n$ {COMMAND}\nnoise  1\ncb     2\n$ ls\n```\n"
    assert shown_after_the_command(block) == "noise  1\ncb     2"
    assert shown_after_the_command(f"```sh\n{COMMAND}\n```\n") is None
    assert shown_after_the_command(f"Use `{COMMAND}`.\n```console\nother\n```\n") is None
