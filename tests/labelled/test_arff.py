"""ARFF files: quotes, cases, kinds of columns, missing values, and files that are not right."""

import numpy as np
import pytest

from bciigl.labelled.rules import LabelledError
from bciigl.labelled.tables import cells, read_arff

HEADER = "@relation r\n@attribute x real\n@attribute c {u,v}\n@attribute class {p,q}\n@data\n"
PLAIN = HEADER + "1,u,p\n2.5,v,q\n3,u,q\n"


def check_plain(data) -> None:
    np.testing.assert_array_equal(data.features, [[1, 1, 0], [2.5, 0, 1], [3, 1, 0]])
    np.testing.assert_array_equal(data.label, [0, 1, 1])
    assert data.classes == ("p", "q")


def test_all_usual_ways_to_write_the_same_data_are_read(write):
    for text in [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        "% a comment\n\n" + PLAIN.replace("@data\n", "@data\n% another, 'quoted\n\n"),
        HEADER.upper().replace("U,V", "u,v").replace("P,Q", "p,q") + "1,u,p\n2.5,v,q\n3,u,q",
        PLAIN.replace("class {p,q}", '"class"{ p , "q" }'),
        PLAIN.replace("attribute x", "attribute 'x of y'").replace(",p", ",'p'"),
        PLAIN.replace("real", "NUMERIC [0, 9]"),
        PLAIN.replace("{u,v}", "string").replace(",", " , "),
        "\ufeff" + PLAIN,
    ]:
        check_plain(read_arff(write(text, "a.arff")))


def test_cells_are_taken_out_of_a_line():
    for line, expected in [
        ("1,a", ["1", "a"]),
        (" 1 ,\ta b ,", ["1", "a b", ""]),
        ("'a, b',\"c, 'd'\",e", ["a, b", "c, 'd'", "e"]),
        (r"'it\'s', don't", ["it's", "don't"]),
        ("", [""]),
        ("'open, 2", ["'open", "2"]),
    ]:
        assert cells(line) == expected


def test_values_with_commas_spaces_and_other_letters_are_classes(write):
    header = "@attribute x real\n@attribute last {'p, p', \"q q\", ä, 'it\\'s'}\n@data\n"
    data = read_arff(write(header + "1,'p, p'\n2,\"q q\"\n3,ä\n4,'it\\'s'\n5,'q q'\n", "a.arff"))
    assert data.classes == ("it's", "p, p", "q q", "ä")
    np.testing.assert_array_equal(data.label, [1, 2, 3, 0, 2])


def test_the_label_is_the_column_called_class_or_else_the_last(write):
    text = "@attribute Class {p,q}\n@attribute x real\n@data\np,1\nq,2\nq,1\n"
    assert read_arff(write(text, "a.arff")).classes == ("p", "q")
    assert read_arff(write(text.replace("Class", "first"), "a.arff")).classes == ("1", "2")
    assert read_arff(write(text, "a.arff"), label="x").classes == ("1", "2")


def test_values_that_never_occur_are_no_classes(write):
    assert read_arff(write(PLAIN.replace("{p,q}", "{p,zz,q}"), "a.arff")).classes == ("p", "q")


def test_missing_values_are_filled_and_examples_without_label_left_out(write):
    data = read_arff(write(HEADER + "1,u,p\n?,v,q\n3,?,q\n4,u,?\n", "a.arff"))
    np.testing.assert_array_equal(data.features, [[1, 1, 0, 0], [2, 0, 1, 0], [3, 0, 0, 1]])
    assert data.notes == (
        "left out: 1 of 4 examples, which have no label",
        "missing: 1 of 3 numbers, filled with the mean of their column over all rows",
        "nominal: 1 column, made 3 columns of 0 and 1",
        "missing: 1 of 3 nominal values, taken as one more value",
    )


def test_files_that_cannot_be_used_are_refused(write):
    for text, message in [
        ("", "is not an ARFF file: it has no line @data"),
        ("hello\n", "line 1: should be @relation, @attribute or @data, got 'hello'"),
        (b"\0\1", "is not a text file"),
        ("@data\n1\n", "line 1: there is no @attribute before @data"),
        (HEADER, "has no rows after @data"),
        (PLAIN + "4,u,p,7\n", "line 9: has 4 cells, and there are 3 columns"),
        (PLAIN + "4,'u'\n", "line 9: has 2 cells, and there are 3 columns"),
        (PLAIN + "{0 4, 2 p}\n", "line 9: sparse rows, in braces, are not read"),
        (PLAIN + "4,w,p\n", "column 'c' should have values of its list, got 'w' in row 4"),
        (PLAIN + "four,u,p\n", "column 'x' should have numbers, got 'four' in row 4"),
        (HEADER + "True,u,p\nFalse,v,q\n", "column 'x' should have numbers, got 'True' in row 1"),
        (PLAIN.replace("real", "relational"), "line 2: columns of the kind 'relational' are not"),
        (PLAIN.replace("{u,v}", "{u,v"), "line 3: a list of values has no end, }"),
        (PLAIN.replace(" real", ""), "line 2: should have a name and a kind, got '@attribute x'"),
        (PLAIN.replace(" x ", " Class "), "which column has the labels, Class or class"),
    ]:
        with pytest.raises(LabelledError, match=message):
            read_arff(write(text, "a.arff"))


def test_a_wrong_label_is_refused_with_the_columns(write):
    with pytest.raises(LabelledError, match="no column 'clas'; did you mean 'class'.; .* x, c, cl"):
        read_arff(write(PLAIN, "a.arff"), label="clas")
