"""Results as the rows of a table."""

import numpy as np

from bciigl.learn.diagnose import Verdict
from bciigl.report.results import cells, told
from bciigl.study.learning import Result


class Learner:
    """What a learner might have found."""

    diagnosis_ = Verdict("trust", "why", "")


def test_numbers_are_rounded_in_one_place():
    assert cells(Result("ai_igl", Learner(), 94.783, (92.36, 96.46))) == (
        "ai_igl",
        "94.8 %",
        "92.4 to 96.5",
        "trust",
        "-",
    )


def test_what_is_not_known_is_a_dash():
    assert cells(Result("cb", object(), None, None)) == ("cb", "-", "-", "-", "-")


def test_it_is_said_of_every_learner_what_it_is_told():
    assert told("ai_igl") == told("igl_full_ci") == "no labels, no rewards"
    assert (told("cb"), told("ceiling")) == ("told the rewards", "told the labels")


def test_match_rates_are_shown_only_with_trust():
    for verdict, shown in (("trust", "0.30 0.40"), ("doubtful", "-"), ("do not use", "-")):
        learner = Learner()
        learner.diagnosis_, learner.match_rate_ = Verdict(verdict, "", ""), np.array([0.3, 0.4])
        assert cells(Result("ai_igl", learner, None, None)).match_rates == shown
