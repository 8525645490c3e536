"""Every public name has an example, and all of them run."""

import doctest
import importlib

import pytest

import bciigl
from bciigl import api

PUBLIC = {
    **{name: getattr(api, name) for name in api.__all__},
    **{name: getattr(bciigl, name) for name in bciigl.__all__ if name not in api.__all__},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_examples_of_public_names_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs={})
    examples = [each for test in found for each in test.examples]
    assert examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        assert runner.run(test).failed == 0


@pytest.mark.slow
def test_the_package_says_what_it_does_by_an_example():
    found = doctest.testmod(bciigl)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", bciigl.__all__)
def test_public_names_are_found_by_name_and_listed(name):
    assert getattr(bciigl, name) is not None
    assert name in dir(bciigl)


def test_packages_that_can_be_called_are_still_packages():
    assert importlib.import_module("bciigl.learn").ActionInclusiveIGL is bciigl.ActionInclusiveIGL
    assert callable(bciigl.learn)
    assert callable(bciigl.report)
