"""No agent can peek: nothing that it is given leads to the truth."""

import functools
import inspect
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reachable import holds, reachable, sequences
from recordings import small, some_policy
from tables import cells

from bciigl.base.seeds import Seed
from bciigl.brain import Brain, Event, Scanner, Trials
from bciigl.loop import Agent, Choice, FixedAgent, LearningAgent, SimulatedPerson, Volunteer, record
from bciigl.loop.trials import Decision
from bciigl.protocol import Protocol
from bciigl.protocol.model import Section
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.journal import Journal
from bciigl.recording.layout import TRUTH
from bciigl.recording.sink import DatasetSink, MemorySink
from bciigl.recording.trial import RecordedRun, RunId, Trial
from bciigl.recording.truth import Session, Truth
from bciigl.source import Source

FORBIDDEN = (
    *(SimulatedPerson, Volunteer, Brain, Source, Scanner, Event, Trials, Truth, Session),
    *(Protocol, Section, Seed, RunId, Decision, Trial, RecordedRun),
    *(Journal, Dataset, DatasetSink, MemorySink, os.PathLike),
)
SEED = 987_654_323
# Long runs: that a sequence of guesses is by chance the one meant has a probability of 3^-12.
LONG = {"trials": 36, "trials_per_run": 12}


def keeps(kind: type[Agent], given: dict[str, list]) -> type[Agent]:
    """Return an agent's class whose agents keep whatever they are given, by its name."""

    def keep(**things: Any) -> None:
        for name, thing in things.items():
            given.setdefault(name, []).append(thing)

    class Peeking(kind):
        def __init__(self, *args: Any, **settings: Any) -> None:
            keep(args=args, settings=settings)
            super().__init__(*args, **settings)

        def begin_run(self, rng: np.random.Generator) -> None:
            keep(rng=rng)
            super().begin_run(rng)

        def act(self, context: np.ndarray) -> Choice:
            keep(act_context=context)
            choice = super().act(context)
            keep(choice=choice)
            return choice

        def observe(self, context, action, feedback, propensity, *, catch=False) -> None:
            keep(context=context, action=action, feedback=feedback)
            keep(propensity=propensity, catch=catch, agent=self)
            super().observe(context, action, feedback, propensity, catch=catch)

    return Peeking


AGENTS = {
    ("uniform", "shared"): (Agent, {}),
    ("epsilon-greedy", "shared"): (LearningAgent, {"uniform_runs": 1}),
    ("epsilon-greedy", "separate"): (LearningAgent, {"uniform_runs": 1}),
    ("fixed", "separate"): (FixedAgent, {}),
}


@pytest.fixture(scope="module", params=AGENTS, ids=", ".join)
def peeked(request, tmp_path_factory) -> tuple[dict[str, list], Path]:
    """Return all that agents were given in a session, by the names it came by; and the dataset."""
    given: dict[str, list] = {}
    (policy, recording), (kind, settings) = request.param, AGENTS[request.param]
    out = tmp_path_factory.mktemp("peeked") / "out"
    mine = small(
        seed=SEED,
        recording=recording,
        agent={"policy": policy, **settings},
        task={**LONG, "catch": {"share": 0.2}},
        human={"imagination_lapse": 0.2, "judgment_lapse": 0.2},
        evaluation={"test_trials": 12},
        brain={"region": {"size": 2}},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"bciigl.loop.agent.{kind.__name__}", keeps(kind, given))
        patch.setattr("bciigl.loop.session.Agent", keeps(Agent, given))
        record(mine, out, policy=some_policy(3, 8) if policy == "fixed" else None)
    return given, out


def told(out: Path) -> list[np.ndarray]:
    """Return each run's truths as numbers: what was meant, imagined, matched and judged."""
    found = []
    for interactions, truth in open_dataset(out).sessions.values():
        run = interactions.run
        for name in ("meant", "imagined", "match", "judged"):
            found += [getattr(truth, name)[run == each].astype(float) for each in np.unique(run)]
    return found


def leads_to_truth(objects: list[Any], truths: list[np.ndarray], out: Path, seed: int) -> list:
    """Return what among objects should not be there."""
    found = [one for one in objects if isinstance(one, FORBIDDEN)]
    found += [one for one in objects if isinstance(one, str) and str(out) in one]
    found += [one for one in objects if isinstance(one, (int, np.integer)) and one == seed]
    for flat in sequences(objects):
        found += [flat for each in [*truths, np.array([seed])] if holds(flat, each)]
    return found


def test_nothing_an_agent_is_ever_given_leads_to_the_truth(peeked):
    given, out = peeked
    assert len(given["context"]) == len(given["feedback"]) == 48
    assert len(given["rng"]) == 4
    objects = reachable(*(thing for things in given.values() for thing in things))
    assert any(isinstance(one, np.random.SeedSequence) for one in objects)
    assert leads_to_truth(objects, told(out), out, SEED) == []
    # Nor is it in the order in which things were given.
    series = [np.array(given[name], float) for name in ("action", "propensity", "catch")]
    assert not any(holds(each, truth) for each in series for truth in told(out))


def test_arrays_that_an_agent_is_given_are_its_own(peeked):
    given, _ = peeked
    arrays = [*given["act_context"], *given["context"], *given["feedback"]]
    assert all(type(each) is np.ndarray and each.base is None for each in arrays)
    assert len({id(each) for each in arrays}) == len(arrays)


def test_random_numbers_of_an_agent_are_not_those_of_the_person(peeked):
    given, out = peeked
    (train, truth), (_, tested) = open_dataset(out).sessions.values()
    meant = [truth.meant[train.run == run] for run in np.unique(train.run)]
    for rng, truth in zip(given["rng"], [*meant, tested.meant], strict=True):
        again = np.random.default_rng(rng.bit_generator.seed_seq)
        assert not np.array_equal(again.integers(3, size=len(truth)), truth)
        assert rng.bit_generator.seed_seq.spawn_key == ()


class Slotted:
    """Holds something without a `__dict__`."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def method(self) -> None:
        """Do nothing."""


PLANTS = {
    "attribute": lambda thing: SimpleNamespace(deep=[{"er": (thing,)}]),
    "slot": Slotted,
    "method": lambda thing: Slotted(thing).method,
    "closure": lambda thing: lambda: thing,
    "default": lambda thing: lambda given=thing: given,
    "partial": lambda thing: functools.partial(print, thing),
    "iterator": lambda thing: iter([thing]),
    "generator": lambda thing: (each for each in [thing]),
    "object array": lambda thing: np.array([None, [thing]], dtype=object),
}


def test_walk_finds_a_person_and_labels_wherever_they_are():
    """The test above could fail."""
    person = SimulatedPerson(small(seed=SEED), 12, np.random.default_rng(0))
    labels = person.meant.copy()
    for name, plant in PLANTS.items():
        for thing in (person, labels, labels.tolist(), np.append(labels.astype(float), 9.0)):
            objects = reachable(Agent(3), plant(thing))
            assert leads_to_truth(objects, [labels], Path("/nowhere"), SEED), name
        objects = reachable(plant(np.arange(12)))
        assert leads_to_truth(objects, [labels], Path("/nowhere"), SEED) == [], name


def test_walk_finds_what_an_array_is_a_view_of_and_what_a_stream_is_seeded_with():
    labels = np.array([2.0, 0, 1, 1, 2, 0, 0, 1])
    assert leads_to_truth(reachable(labels[3:4]), [labels], Path("/nowhere"), SEED)
    stream = Seed(SEED).rng("agent")
    assert leads_to_truth(reachable(stream), [labels], Path("/nowhere"), SEED)
    assert leads_to_truth(reachable("/nowhere/at/all"), [labels], Path("/nowhere"), SEED)
    assert leads_to_truth(reachable([Path("x")]), [labels], Path("/nowhere"), SEED)


def test_interface_of_agents_has_no_place_for_the_truth():
    names = {
        "begin_run": ["self", "rng"],
        "act": ["self", "context"],
        "observe": ["self", "context", "action", "feedback", "propensity", "catch"],
        "end_run": ["self"],
    }
    telling = ("reward", "label", "match", "truth", "meant", "imagined", "judged", "right")
    for kind in (Agent, FixedAgent, LearningAgent):
        for method, expected in names.items():
            found = list(inspect.signature(getattr(kind, method)).parameters)
            assert found == expected
            assert not any(word in name for word in telling for name in found)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Return a dataset that there is something to be learned from."""
    out = tmp_path_factory.mktemp("recorded") / "out"
    mine = small(
        task={"trials": 60, "trials_per_run": 20, "catch": {"share": 0.2}},
        brain={"region": {"size": 2}},
        learners=["ai_igl", "cb", "ceiling"],
        agent={"policy": "epsilon-greedy", "uniform_runs": 2},
    )
    record(mine, out)
    return out


def test_label_free_policy_is_the_same_where_the_truth_is_deleted(bciigl, recorded, tmp_path):
    blind = tmp_path / "blind"
    shutil.copytree(recorded, blind)
    shutil.rmtree(blind / TRUTH)
    for source, out in ((recorded, "seen"), (blind, "unseen")):
        done = bciigl("learn", source, "--learner", "ai_igl", "--out", tmp_path / out)
        assert done.exit_code == 0
    for name in ("learner.json", "learner.npz"):
        assert (tmp_path / "seen" / name).read_bytes() == (tmp_path / "unseen" / name).read_bytes()


def test_without_the_truth_there_is_nothing_to_score_with(bciigl, recorded, tmp_path):
    blind = tmp_path / "blind"
    shutil.copytree(recorded, blind)
    told = ("supervised", "contextual bandit", "by fifths", "others to test")
    with_truth = bciigl("learn", blind, "-v").stdout
    assert all(each in with_truth for each in told)
    found = json.loads(bciigl("learn", blind, "--json").stdout)
    assert set(found["learners"]) == {"ai_igl", "cb", "ceiling"}
    shutil.rmtree(blind / TRUTH)
    found = json.loads(bciigl("learn", blind, "--json").stdout)
    assert set(found["learners"]) == {"ai_igl"}
    assert found["learners"]["ai_igl"]["accuracy"] is None
    assert found["learners"]["ai_igl"]["interval"] is None
    assert found["matches_by_fifths"] is None
    table = bciigl("learn", blind, "-v").stdout
    rows = [line for line in table.splitlines() if line.startswith("AI-IGL, no labels ")]
    assert [cells(row)[1:3] for row in rows] == [["-", "-"]]
    assert not any(each in table for each in told)
