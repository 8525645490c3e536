"""Figures with their words and numbers, as files."""

import math

import numpy as np
from matplotlib.figure import Figure

from bciigl.report.drawing import Drawing


def drawing(**columns):
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    return Drawing("some_name", figure, "What is seen.", "A line.", columns)


def test_files_are_an_image_and_its_numbers_in_full(tmp_path):
    values = np.array([1 / 3, 1e-17, -2.5])
    paths = drawing(place=[1, 2, 3], value=values).save(tmp_path)
    assert {ending: path.name for ending, path in paths.items()} == {
        "svg": "some_name.svg",
        "tsv": "some_name.tsv",
    }
    head, *rows = [line.split("\t") for line in paths["tsv"].read_text().splitlines()]
    assert head == ["place", "value"]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [float(row[1]) for row in rows] == values.tolist()
    assert paths["svg"].read_bytes().startswith(b"<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["some_name.svg", "some_name.tsv"]


def test_cells_hold_no_tabs_and_unknown_numbers_are_told(tmp_path):
    columns = {"word": ["a\tb\nc", None], "number": [math.nan, np.int64(3)], "is": [True, False]}
    text = drawing(**columns).save(tmp_path)["tsv"].read_text()
    assert text == "word\tnumber\tis\na b c\tn/a\t1\nn/a\t3\t0\n"


def test_the_same_figure_gives_the_same_bytes_without_date():
    first, second = drawing(x=[1]), drawing(x=[1])
    assert first.svg == second.svg
    assert b"<dc:date>" not in first.svg
