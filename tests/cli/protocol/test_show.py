"""`bciigl protocol show`."""

import pytest

from bciigl.protocol import load, shipped


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_is_shown_is_the_same_protocol_in_full(name, options, bciigl, write):
    shown = bciigl("protocol", "show", name, *options).stdout
    assert "burn_in" in shown
    assert load(write(shown)) == load(name)


def test_bad_protocol_is_told_like_in_check(bciigl, write):
    path = write("name: x\n")
    result = bciigl("protocol", "show", path)
    assert result.exit_code == 2
    assert result.stderr == f"{path}:1:1: task: is required\n"
    assert not result.stdout
