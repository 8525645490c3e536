"""What must be known to read the tables of labelled data."""

from dataclasses import replace

import pytest
from labelled_data import echo, known, study

from bciigl.labelled.notes import data_notes, labelled_notes, left_out
from bciigl.labelled.rules import RULES
from bciigl.labelled.table1 import table1
from bciigl.labelled.table3 import table3

PLAIN = known(150, 3)
APART = known(160, 3, own_test=True)
DIGITS = known(70_000, 10, own_test=True)


def said(mine, *words: str) -> bool:
    """Tell whether a note has all these words."""
    return any(all(word in note for word in words) for note in labelled_notes(mine))


def test_every_rule_is_described_and_one_of_one_s_own_is_said_to_be(monkeypatch):
    notes = labelled_notes(study(PLAIN, feedback=("coded", "mine")))
    assert notes[0] == (
        "coded: Answer with a code of the action in noise, moved in a direction of its own by a "
        "reward."
    )
    assert notes[1] == "mine: a rule of your own."
    monkeypatch.setitem(RULES, "mine", echo)
    assert labelled_notes(study(PLAIN, feedback=("mine",)))[0] == (
        "mine: Answer in the clear, with some noise: a rule of one's own."
    )
    monkeypatch.setitem(RULES, "mine", lambda guesses, rng: None)
    assert labelled_notes(study(PLAIN, feedback=("mine",)))[0] == "mine: a rule of your own."


@pytest.mark.parametrize("rule", RULES)
def test_description_of_a_rule_is_a_whole_sentence(rule):
    first = labelled_notes(study(PLAIN, feedback=(rule,)))[0]
    assert first.startswith(f"{rule}: Answer with ") and first.endswith(".")


def test_part_that_is_tested_on_is_told():
    apart = "the part of the data that comes for testing"
    assert said(study(PLAIN), "a random 10 % of the examples, another part in each repeat.")
    assert not said(study(PLAIN), apart)
    assert said(study(APART), apart) and not said(study(APART), "a random 10 %")
    both = study(PLAIN, APART, known(170, 3))
    assert said(both, "in each repeat (2 of 3 datasets).") and said(both, apart)


def test_samples_and_reduction_are_told_where_there_are():
    assert not said(study(PLAIN), "trials in each repeat")
    assert said(study(PLAIN, samples=20_000), "20,000 trials in each repeat")
    reduced = "reduced to so many principal components of the training data"
    wide, narrow = (replace(PLAIN, features=each) for each in (65, 64))
    assert said(study(wide), "more than 64 features", reduced)
    assert not said(study(narrow), reduced)


def test_what_the_skyline_is_told_is_said():
    assert said(study(PLAIN), "cb is told the rewards")


def test_departures_are_those_of_the_table():
    of_table1, of_table3 = table1([PLAIN]), table3([DIGITS])
    assert said(of_table1, "Table 4", "means over 271 sets", "fitted to the end")
    assert said(of_table3, "published figures are of MNIST")
    assert said(of_table3, "principal components")
    assert not said(of_table1, "MNIST") and not said(of_table3, "Table 4")
    assert not said(study(PLAIN), "published figures")


def test_what_was_done_to_data_is_told_by_their_name():
    noted = known(150, 3, openml_id=61, name="iris", notes=("left out: 2 columns", "scaled"))
    expected = ["61 (iris): left out: 2 columns", "61 (iris): scaled"]
    assert data_notes([PLAIN, noted]) == expected
    assert labelled_notes(study(PLAIN, noted))[-2:] == expected


def test_datasets_that_are_left_out_are_told_with_the_reason():
    assert left_out([PLAIN, known(100, 2, name="two"), known(90, 3, 0.8, openml_id=7)]) == [
        "left out: two (two): it has 2 classes; 3 are needed",
        "left out: 7 (90 of 3): 80.0 % of its labels are the same; half is the most",
    ]
