"""Tables in text files: separators, quotes, missing cells, which column is the label, bad files."""

import numpy as np
import pytest

from bciigl.labelled.rules import LabelledError
from bciigl.labelled.tables import read_csv

PLAIN = "x,z,class\n1,5,a\n2.5,3,b\n3,5,a\n"


def check_plain(data) -> None:
    np.testing.assert_array_equal(data.features, [[1, 5], [2.5, 3], [3, 5]])
    np.testing.assert_array_equal(data.label, [0, 1, 0])
    assert data.classes == ("a", "b")
    assert data.notes == ()


def test_all_usual_ways_to_write_a_table_are_read(write):
    for text in [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", ";").replace("2.5", "2,5"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "\t").replace("2.5", "2,5"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        "\n  \n" + PLAIN + "\n\n",
        PLAIN.replace(",", ", ").replace("\n", "  \n"),
        '"x","z","class"\n"1","5","a"\n"2.5","3","b"\n"3","5","a"\n',
        PLAIN.rstrip("\n"),
    ]:
        check_plain(read_csv(write(text, "61_plain.csv")))


def test_a_file_of_tab_separated_values_may_have_commas_in_names(write):
    data = read_csv(write("a, b, c\tclass\n1\tu\n2\tv\n3\tu\n", "x.tsv"))
    assert data.features.shape == (3, 1)


def test_the_name_of_the_file_is_that_of_the_dataset(write):
    data = read_csv(write(PLAIN, "61_iris.csv"))
    assert (data.name, data.openml_id) == ("iris", 61)


def test_quoted_cells_may_hold_anything(write):
    data = read_csv(write('"x, \n1";class\n1;"a ""b""; c"\n2;b\n3;"a ""b""; c"\n', "a.csv"))
    assert data.classes == ('a "b"; c', "b")


def test_the_label_column_is_known_by_its_name(write):
    for name in ["class", "Label", "TARGET", "Y"]:
        check_plain(read_csv(write(PLAIN.replace("class", name), "a.csv")))


def test_y_is_a_feature_where_another_column_is_called_class(write):
    check_plain(read_csv(write(PLAIN.replace("z", "y"), "a.csv")))


def test_any_column_can_be_the_label(write):
    data = read_csv(write(PLAIN, "a.csv"), label="z")
    assert data.classes == ("3", "5")
    assert data.features.shape == (3, 3)


def test_the_same_number_written_in_two_ways_is_one_class(write):
    data = read_csv(write("x,class\n1,1\n2,1.0\n3,10\n4,2\n5, 2.00\n6,\n", "a.csv"))
    assert data.classes == ("1", "2", "10")
    np.testing.assert_array_equal(data.label, [0, 0, 2, 1, 1])
    assert data.notes == ("left out: 1 of 6 examples, which have no label",)


def test_words_beside_numbers_are_classes_of_their_own(write):
    data = read_csv(write("x,class\n1,1\n2,1.0\n3,None\n4,1\n", "a.csv"))
    assert data.classes == ("1", "1.0", "None")


def test_missing_cells_are_filled(write):
    data = read_csv(write("x,c,class\n1,u,a\n?,v,b\n3,,a\nNA,u,b\n", "a.csv"))
    np.testing.assert_array_equal(data.features[:, 0], [1, 2, 3, 2])
    np.testing.assert_array_equal(data.features[2], [3, 0, 0, 1])
    assert len(data.notes) == 3


def test_columns_with_one_name_are_both_features(write):
    data = read_csv(write("x,x,class\n1,5,a\n2.5,3,b\n3,5,a\n", "a.csv"))
    check_plain(data)


def test_files_that_cannot_be_used_are_refused(write):
    for text, label, message in [
        ("", None, "^is empty; its first line should name the columns"),
        ("\n \n", None, "^is empty"),
        (",,\n1,2,3\n", None, "^is empty"),
        ("x,class\n", None, "names the columns, and no rows"),
        (b"\x89PNG\0\0\1", None, "is not a text file"),
        ("x,class\n1,\xe4\n".encode("latin-1"), None, r"is not text in UTF-8 \(line 2\)"),
        ("x,z,kind\n1,2,a\n", None, "called class, label, target or y; .* columns are x, z, kind$"),
        ("5.1,3.5,Iris\n1,2,a\n", None, "columns are 5.1, 3.5, Iris; should the first line name"),
        (PLAIN, "klass", "has no column 'klass'; did you mean 'class'.; columns are x, z, class"),
        (PLAIN, "Class", "has no column 'Class'; did you mean 'class'"),
        (PLAIN.replace("z", "class"), None, "which column has the labels, class or class"),
        (PLAIN.replace("z", "Target"), None, "which column has the labels, Target or class"),
        (PLAIN.replace("z", "x"), "x", "has 2 columns called 'x'"),
        ("x,class\n1,a\n2,b,3\n", None, "line 3 has 3 cells, and there are 2 columns"),
        ("x,class\n1,a,3\n2,b,3\n", None, "rows have more cells than the 2 columns"),
        ('x,class\n1,"a\n2,b\n', None, "is not a table: EOF inside string"),
        ("class\na\nb\na\n", None, "no features to tell labels by"),
        ("x,class\n1,a\ninf,b\n3,a\n", None, "column 'x' should have finite numbers, got inf"),
        ("x,class\n1,a\n2,a\n", None, "all labels are 'a'"),
        ("x,class\n1,a\n2,b\n", None, "2 classes in 2 examples: is the label column right"),
        ("x,class\n1,\n2,?\n", None, "no examples with a label"),
    ]:
        with pytest.raises(LabelledError, match=message):
            read_csv(write(text, "a.csv"), label)


@pytest.mark.slow
def test_a_wide_table_is_read_and_its_columns_are_not_all_listed(write):
    names = [f"feature number {i}" for i in range(8_000)]
    rows = "".join("\t".join(["1"] * 7_999 + [each, each]) + "\n" for each in "121")
    text = "\t".join([*names, "class"]) + "\n" + rows
    data = read_csv(write(text, "a.csv"))
    assert data.features.shape == (3, 1)
    with pytest.raises(LabelledError, match="feature number 19 and 7,981 more$"):
        read_csv(write(text, "a.csv"), "zzz")
