"""Datasets of OpenML: read from a cache as scikit-learn keeps it, and what happens without one."""

import gzip
import hashlib
import io
import json
import warnings
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
from sklearn.datasets import _openml

from bciigl.labelled.rules import LabelledError
from bciigl.labelled.sources import Source

COLUMNS = {"length": "numeric", "colour": "nominal", "kind": "nominal"}
VALUES = {"colour": "{red,blue}", "kind": "{b,a}", "length": "real"}
ROWS = "1.5,red,b\n?,blue,a\n2.5,red,a\n0.5,red,b\n"
API = "openml/openml.org/api/v1/json/data"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Return an empty folder for scikit-learn's data, with no network beyond it."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))

    def no_network(request):
        raise URLError("no route to host")

    monkeypatch.setattr(_openml, "urlopen", no_network)
    monkeypatch.setattr(_openml.time, "sleep", lambda seconds: None)
    return tmp_path


def keep(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(content.encode()))


def cache(home: Path, targets=("kind",), status="active", rows=ROWS, form="ARFF") -> None:
    """Put a dataset into the cache."""
    header = "".join(f"@ATTRIBUTE {name} {VALUES[name]}\n" for name in COLUMNS)
    arff = f"@RELATION small\n{header}@DATA\n{rows}"
    description = {
        "id": "7",
        "name": "small",
        "version": "1",
        "description": "made up",
        "format": form,
        "status": status,
        "url": "https://www.openml.org/data/v1/download/7",
        "file_id": "7",
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),  # noqa: S324
    }
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": kind,
            "is_target": str(name in targets).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, kind) in enumerate(COLUMNS.items())
    ]
    keep(home / API / "7", json.dumps({"data_set_description": description}))
    keep(home / API / "features/7", json.dumps({"data_features": {"feature": features}}))
    keep(home / API / "qualities/7", json.dumps({"data_qualities": {"quality": []}}))
    keep(home / "openml/openml.org/data/v1/download/7", arff)


def test_a_dataset_in_the_cache_is_read_without_the_network(home):
    cache(home)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = Source("openml", "7").load()
    np.testing.assert_array_equal(
        data.features, [[1.5, 0, 1], [1.5, 1, 0], [2.5, 0, 1], [0.5, 0, 1]]
    )
    np.testing.assert_array_equal(data.label, [1, 0, 0, 1])
    assert (data.name, data.openml_id, data.classes) == ("small", 7, ("a", "b"))
    assert data.notes[0].startswith("missing: 1 of 4 numbers")


def test_another_column_can_be_the_label(home):
    cache(home)
    data = Source("openml", "7", "colour").load()
    assert data.classes == ("blue", "red")
    with pytest.raises(LabelledError, match="^OpenML 7: cannot be read .Could not find .*'color'"):
        Source("openml", "7", "color").load()


def test_what_openml_says_of_a_dataset_is_told(home):
    cache(home, status="deactivated")
    assert "Version 1 of dataset small is inactive" in Source("openml", "7").load().notes[0]


def test_datasets_that_cannot_be_used_are_refused(home):
    for changes, message in [
        ({"targets": ()}, "OpenML names no column of labels; name it with --label"),
        (
            {"targets": ("colour", "kind")},
            r"has several columns of labels \(colour, kind\); choose",
        ),
        ({"rows": "1,red,a\n2,blue,a\n3,red,a\n"}, "all labels are 'a'"),
        ({"form": "Sparse_ARFF"}, "cannot be read .Sparse ARFF.*--data FOLDER"),
    ]:
        cache(home, **changes)
        with pytest.raises(LabelledError, match=f"^OpenML 7: {message}"):
            Source("openml", "7").load()


def test_without_a_network_the_error_says_what_to_do(home):
    with warnings.catch_warnings(), pytest.raises(LabelledError) as caught:
        warnings.simplefilter("error")
        Source("openml", "61").load()
    assert str(caught.value) == (
        "OpenML 61: is not in scikit-learn's cache, and OpenML cannot be reached (no route to "
        "host); files of datasets can be given with --data FOLDER"
    )


def test_an_id_that_openml_does_not_know_is_refused(home, monkeypatch):
    def unknown(request):
        raise HTTPError(request.full_url, 412, "Precondition Failed", Message(), io.BytesIO())

    monkeypatch.setattr(_openml, "urlopen", unknown)
    with pytest.raises(LabelledError, match="^OpenML 99: cannot .*data_id 99 not found.; files of"):
        Source("openml", "99").load()


def test_a_damaged_cache_is_refused_where_it_cannot_be_renewed(home):
    cache(home)
    (home / API / "7.gz").write_bytes(b"damaged")
    with pytest.raises(LabelledError, match="^OpenML 7: is not in scikit-learn's cache"):
        Source("openml", "7").load()
