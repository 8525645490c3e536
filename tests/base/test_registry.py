"""The registry: bciigl's own entries, and what is said about others."""

import pytest

from bciigl.base.errors import BciiglError
from bciigl.base.registry import AGENTS, LEARNERS, Registry


def test_learners_are_listed_by_what_they_are_told():
    found = [(each.id, each.told) for each in LEARNERS.all()]
    assert found == [
        ("ai_igl", ""),
        ("ai_igl_network", ""),
        ("ai_igl_paper", ""),
        ("igl_full_ci", ""),
        ("igl_full_ci_network", ""),
        ("transfer", ""),
        ("cb", "reward"),
        ("ceiling", "label"),
    ]
    assert set(LEARNERS.own_ids) == {each for each, _ in found}
    slow = {each.id for each in LEARNERS.all()} - {each.id for each in LEARNERS.usual()}
    assert slow == {"ai_igl_network", "igl_full_ci_network"}


def test_parameters_reach_the_learner():
    made = LEARNERS.get("ai_igl_paper").make(n_actions=4, random_state=7)
    assert (made.method, made.n_actions, made.random_state) == ("paper", 4, 7)
    assert LEARNERS.get("ai_igl").make().method == "robust"


def test_agents_are_there_and_one_is_given_a_policy():
    assert {each.id for each in AGENTS.all() if each.told == "policy"} == {"fixed"}
    assert set(AGENTS.own_ids) == {"uniform", "fixed", "explore-then-commit", "epsilon-greedy"}


def test_an_unknown_id_is_refused_with_the_nearest():
    with pytest.raises(BciiglError, match="one of ai_igl, .* got 'ai_ilg'; did you mean 'ai_igl'"):
        LEARNERS.get("ai_ilg")


class Point:
    """An entry point of another package."""

    def __init__(self, name: str, value: str, found: object) -> None:
        self.name, self.value, self.found = name, value, found

    def __lt__(self, other: "Point") -> bool:
        """Sort by name."""
        return self.name < other.name

    def load(self) -> object:
        """Return what it leads to."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def test_entry_points_that_are_broken_are_named_and_left_out_of_lists(monkeypatch, caplog):
    points = [
        Point("cb", "other:CB", None),
        Point("cb", "bciigl.learn.bandit:BANDIT", LEARNERS.get("cb")),
        Point("odd", "other:ODD", LEARNERS.get("cb")),
        Point("gone", "other:GONE", ImportError("no module named other")),
    ]
    monkeypatch.setattr("bciigl.base.registry.entry_points", lambda group: points)
    registry = Registry("learner", "bciigl.learners")
    assert registry.ids == ("cb", "gone", "odd")
    assert [each.id for each in registry.all()] == ["cb"]
    assert "learner 'gone' cannot be loaded: no module named other" in caplog.text
    with pytest.raises(BciiglError, match="other:ODD should be a Specification with that id"):
        registry.get("odd")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("supervised", "ceiling"),
        ("Perception transfer, no labels", "transfer"),
        ("nobody", None),
    ],
)
def test_a_plain_name_leads_to_the_id(name, expected):
    with pytest.raises(BciiglError) as error:
        LEARNERS.get(name)
    assert ("its id is" in str(error.value)) is bool(expected)
    assert not expected or f"its id is '{expected}'" in str(error.value)
