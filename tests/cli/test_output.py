"""One JSON document on standard output and nothing else, from every command."""

import json

import pytest


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "number_guessing"),
        ("check", "no_such_file"),
        ("list",),
        ("new", "mine"),
        ("schema",),
        ("show", "number_guessing"),
    ],
    ids=" ".join,
)
def test_json(arguments, bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = bciigl("protocol", *arguments, "--json")
    json.loads(result.stdout)
    assert not result.stderr
