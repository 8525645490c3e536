"""Results as the cells of a table."""

from bciigl.learn.diagnose import Verdict
from bciigl.report.results import cells, results_table, told
from bciigl.study.learning import Result


class Learner:
    """What a learner might have found."""

    diagnosis_ = Verdict("trust", "why", "")


def test_numbers_are_rounded_in_one_place():
    found = cells(Result("ai_igl", Learner(), 94.783, (92.36, 96.46)))
    assert found == ("94.8 %", "92.4 to 96.5", "trust")


def test_what_is_not_known_is_a_dash():
    assert cells(Result("cb", object(), None, None)) == ("-", "-", "-")


def test_learners_have_plain_names():
    (row,) = results_table([Result("ai_igl", Learner(), 94.783, (92.36, 96.46))]).rows
    assert row == ["AI-IGL, no labels", "94.8 %", "92.4 to 96.5", "trust"]


def test_it_is_said_of_every_learner_what_it_is_told():
    assert told("ai_igl") == told("igl_full_ci") == "no labels, no rewards"
    assert (told("cb"), told("ceiling")) == ("told the rewards", "told the labels")
