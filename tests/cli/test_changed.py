"""A protocol with changes, as commands take it."""

import pytest

from bciigl.cli.output import protocol_of
from bciigl.protocol import ProtocolError


def test_changes_take_the_place_of_what_is_in_the_file(capsys):
    protocol = protocol_of("number_guessing", {"brain.noise": 0.7, "task.trials": 700})
    assert (protocol.brain.noise, protocol.task.trials) == (0.7, 700)
    assert capsys.readouterr() == ("", "")


def test_what_is_unwise_is_told_on_standard_error(capsys):
    protocol_of("number_guessing", {"timing.isi": 3.0})
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("warning: number_guessing with timing.isi=3.0:")


def test_what_cannot_be_is_refused_and_so_is_a_region_outside_the_brain():
    with pytest.raises(ProtocolError, match="timing.isi: should be greater than or equal to 0"):
        protocol_of("number_guessing", {"timing.isi": -3.0})
    with pytest.raises(ProtocolError, match="outside the brain"):
        protocol_of("number_guessing", {"brain.region": {"center": [0, 0, 0]}})
