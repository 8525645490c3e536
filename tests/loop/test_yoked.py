"""Sham sessions: another session's guesses are shown, and nothing tells who runs them."""

import json
import logging
import re
import shutil
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO

import numpy as np
import pytest
from live_recordings import short
from loop.test_peeking import keeps, leads_to_truth
from page_clients import Client, until
from reachable import reachable
from recordings import Stopped, stop_after, write_made_up
from rehearsals import SPEED, scanning
from websockets.exceptions import ConnectionClosed

from bciigl.base.errors import BciiglError
from bciigl.base.progress import silent
from bciigl.cli.pages import Terminal, watching
from bciigl.cli.results import echo_blinded
from bciigl.learn.interactions import Interactions
from bciigl.live.stage import Stage
from bciigl.live.state import SessionState
from bciigl.loop import Agent, Choice, LearningAgent
from bciigl.loop.live import Watching, record_live, resume_live
from bciigl.loop.timely import TimelyAgent
from bciigl.loop.yoked import (
    CONDITION,
    ConditionError,
    YokedAgent,
    in_condition,
    read_condition,
    write_condition,
)
from bciigl.protocol import dump
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.trial import NO_GUESS
from bciigl.source.triggers import Triggers
from bciigl.testing import check_agent

SEED = 987_654_323
TIMING = {"tr": 1.0, "event": 1.0, "isi": 1.0, "burn_in": 1.0}
"""Of rehearsals, which take no time at all."""


class Spy(Agent):
    """Guesses the last option, and writes down what it is asked and told."""

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions)
        self.calls = []

    def recall(self, past: Interactions) -> bool:
        """Refuse new units."""
        self.calls.append("recall")
        return False

    def act(self, context: np.ndarray) -> Choice:
        """Return the last option."""
        self.calls.append("act")
        return Choice(self.n_actions - 1, 1.0, explored=False)

    def observe(self, context, action, feedback, propensity, *, catch=False) -> None:
        """Write it down."""
        self.calls.append(("observe", action, propensity, catch))

    def end_run(self) -> None:
        """Write it down."""
        self.calls.append("end_run")


class Counting(YokedAgent):
    """Counts trials itself, where every trial is asked for."""

    def __init__(self) -> None:
        guesses = np.random.default_rng(3).integers(3, size=(4, 100)).tolist()
        super().__init__(Agent(3), guesses)
        self._run, self._trial = 0, 0

    def begin_run(self, rng: np.random.Generator) -> None:
        """Begin with the first trial."""
        super().begin_run(rng)
        self._run, self._trial = self._run + 1, 0

    def act(self, context: np.ndarray) -> Choice:
        """Go on to the next trial."""
        self.begin_trial(self._run, self._trial)
        self._trial += 1
        return super().act(context)


def test_a_yoked_agent_is_an_agent():
    check_agent(Counting)


def test_guesses_of_the_other_session_are_shown_trial_by_trial():
    spy = Spy(3)
    agent = YokedAgent(spy, [[0, 1, NO_GUESS], [1, 0, 0]])
    agent.begin_run(np.random.default_rng(0))
    shown = {}
    for place in ((1, 1), (1, 0), (2, 0), (2, 2)):
        agent.begin_trial(*place)
        shown[place] = agent.act(np.zeros(4))
        assert agent.explore() == shown[place]  # where there are too few frames to guess from
    third = {"propensity": 1 / 3, "explored": True}
    wanted = {(1, 1): 1, (1, 0): 0, (2, 0): 1, (2, 2): 0}
    assert shown == {place: Choice(action, **third) for place, action in wanted.items()}
    assert spy.calls == ["act"] * 4


@pytest.mark.parametrize("place", [(1, 2), (1, 3)])
def test_it_guesses_uniformly_where_the_other_session_has_no_guess(place):
    agent = YokedAgent(Agent(3), [[0, 1, NO_GUESS]])
    agent.begin_run(np.random.default_rng(0))
    agent.begin_trial(*place)
    found = [agent.act(np.zeros(4)) for _ in range(60)]
    assert {each.action for each in found} == {0, 1, 2}
    assert {(each.propensity, each.explored) for each in found} == {(1 / 3, True)}


def test_the_agent_whose_guesses_are_not_shown_learns_as_it_would():
    spy = Spy(3)
    agent = YokedAgent(spy, [[0]])
    assert agent.recall(None) is False
    agent.observe(np.zeros(4), 0, np.zeros(4), 1 / 3, catch=True)
    agent.end_run()
    assert spy.calls == ["recall", ("observe", 0, 1 / 3, True), "end_run"]
    assert in_condition(spy, None) is in_condition(spy, {"yoked": None, "guesses": None}) is spy


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of another session of the same experiment; not to be changed."""
    folder = tmp_path_factory.mktemp("made") / "other"
    write_made_up(folder, mine())
    return folder


@pytest.fixture
def other(made, tmp_path):
    """Return a copy of it beside the test's own files."""
    return open_dataset(shutil.copytree(made, tmp_path / "other"))


def mine(**sections):
    return short(
        timing=TIMING,
        **{"task": {"trials": 9, "trials_per_run": 5, "catch": {"share": 0.3}}, **sections},
    )


def guesses_of(dataset):
    return [[each.action for each in dataset.shown("train", run)] for run in (1, 2)]


@pytest.mark.parametrize("text", ["yoked: other", '{"yoked": "other"}', "yoked: ./other\n"])
def test_conditions_are_read_from_yaml_and_json(tmp_path, other, text):
    (tmp_path / "condition").write_text(text)
    found = read_condition(tmp_path / "condition", mine())
    assert found["guesses"] == guesses_of(other)
    (tmp_path / "condition").write_text("yoked: null")
    assert read_condition(tmp_path / "condition", mine()) == {"yoked": None, "guesses": None}


WRONG = {
    "": "should have the one key yoked, got None",
    "yoked: null\nsham: true": "should have the one key yoked, got 'yoked', 'sham'",
    "other": "should have the one key yoked, got 'other'",
    "[yoked": "is not YAML",
    "yoked: true": "yoked should be a folder or null, got True",
    "yoked: ''": "yoked should be a folder or null, got ''",
    "yoked: elsewhere": "elsewhere: is not a dataset",
}


@pytest.mark.parametrize("text", WRONG)
def test_other_conditions_are_refused(tmp_path, text):
    (tmp_path / "condition").write_text(text)
    with pytest.raises(ConditionError, match=re.escape(WRONG[text])):
        read_condition(tmp_path / "condition", mine())


def test_files_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xff")
    (tmp_path / "large").write_text("#" * 20_000)
    for name, reason in {"bytes": "not UTF-8", "large": "larger than", "none": "No such"}.items():
        with pytest.raises(BciiglError, match=f"{name}: .*{reason}"):
            read_condition(tmp_path / name, mine())


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({"options": ["a", "b"]}, r"has the options \['a', 'b', 'c'\], but"),
        ({"trials_per_run": 6}, "run 1 should have at least 6 trials, got 5"),
        ({"trials": 12, "trials_per_run": 4}, "run-03_events.tsv: no such file"),
    ],
)
def test_the_other_session_should_fit(tmp_path, other, task, reason):
    (tmp_path / "condition").write_text("yoked: other")
    task = {"trials": 9, "trials_per_run": 5, **task}
    with pytest.raises(ConditionError, match=reason):
        read_condition(tmp_path / "condition", mine(task=task))


def asked_and_shown(dataset, wanted):
    """Return what should be shown and what was, in trials in which the agent guessed."""
    shown = [each for run in (1, 2) for each in dataset.shown("train", run)]
    pairs = zip(sum(wanted, []), shown, strict=True)
    return [(a, each) for a, each in pairs if not each.catch and each.action != NO_GUESS]


def test_a_session_shows_the_other_ones_guesses_but_in_catch_trials(tmp_path, other):
    (tmp_path / "condition").write_text("yoked: other")
    with scanning(mine(), tmp_path / "volumes"):
        out = tmp_path / "out"
        record_live(mine(), tmp_path / "volumes", out, condition=tmp_path / "condition")
    dataset = open_dataset(out)
    found = asked_and_shown(dataset, guesses_of(other))
    assert 3 < len(found) < 9
    assert all(wanted == each.action for wanted, each in found)
    assert {(each.propensity, each.explored) for _, each in found} == {(1 / 3, True)}
    assert json.loads((out / CONDITION).read_text()) == {"yoked": True}


def test_a_session_that_is_resumed_goes_on_with_the_guess_of_its_trial(tmp_path, other):
    (tmp_path / "condition").write_text("yoked: other")
    out, stop = tmp_path / "out", Watching(progress=stop_after(2))
    with scanning(mine(), tmp_path / "volumes"):
        with pytest.raises(Stopped):
            how = {"condition": tmp_path / "condition", "watching": stop}
            record_live(mine(), tmp_path / "volumes", out, **how)
        (tmp_path / "condition").unlink()
        other.folder.rename(tmp_path / "elsewhere")
        resume_live(out)
    dataset = open_dataset(out)
    found = asked_and_shown(dataset, guesses_of(Dataset(tmp_path / "elsewhere", mine())))
    assert len(found) > 2
    assert all(wanted == each.action for wanted, each in found)
    assert (out / CONDITION).exists()


def any_port(said):
    """Leave out at which port pages are: any, if another session has the usual one."""
    return re.sub(r"(?<=127\.0\.0\.1:)\d+", "0", said)


@pytest.fixture
def run(bciigl, tmp_path, write, caplog):
    """Run a session in a condition, and return its exit code and all that it says."""

    def run_it(condition, *options, name):
        caplog.clear()
        (tmp_path / name).write_text(condition)
        few = mine(task={"trials": 4, "trials_per_run": 2, "catch": {"share": 0.3}})
        protocol, volumes = write(dump(few)), tmp_path / f"volumes {name}"
        with scanning(few, volumes):
            given = ("--volumes", volumes, "--out", tmp_path / f"out {name}")
            done = bciigl("run", protocol, *given, "--condition", tmp_path / name, *options)
        logged = [each.getMessage() for each in caplog.records]
        said = "\n".join([done.stdout, done.stderr, *logged])
        # How late guesses are differs from session to session.
        said = any_port(said.replace(name, "name"))
        return done.exit_code, re.sub(r"[\d.]+(?= ms|,?\n)", "0", said)

    return run_it


def test_nothing_that_is_said_tells_the_condition(run, other, caplog):
    caplog.set_level(logging.DEBUG, logger="bciigl")
    sham, real = run("yoked: other", name="c1"), run("yoked: null", name="c2")
    assert sham[0] == real[0] == 0
    assert sham == real
    assert "yoked" not in sham[1]
    assert "4 trials, in a condition that is not shown here" in sham[1]


def test_nor_does_the_json_document(other):
    documents = []
    for condition in ({"yoked": "other"}, {"yoked": None}):
        with redirect_stdout(StringIO()) as said:
            write_condition(other.folder, condition)
            echo_blinded(other, as_json=True, lateness_seconds={"median": 0.1, "largest": 0.2})
        documents.append(json.loads(said.getvalue()))
    assert documents[0] == documents[1]
    assert set(documents[0]) == {"protocol", "trials", "lateness_seconds", "out"}


def test_what_is_wrong_with_a_condition_is_not_said_to_who_runs_it(bciigl, tmp_path, write):
    said = set()
    for number, text in enumerate(("yoked: elsewhere", "yoked: null\nother: 1")):
        (tmp_path / f"c{number}").write_text(text)
        given = ("--volumes", tmp_path, "--out", tmp_path / "out")
        done = bciigl("run", write(dump(mine())), *given, "--condition", tmp_path / f"c{number}")
        assert done.exit_code == 2
        said.add(any_port(done.stderr).replace(f"c{number}", "c"))
        assert "does not fit this experiment" in done.stderr
        assert not (tmp_path / "out").exists()
    assert len(said) == 1


class Answering(Client):
    """A participant's screen that says it has drawn each view, and answers by keys at random."""

    def _read(self) -> None:
        rng = np.random.default_rng(SEED)
        with suppress(ConnectionClosed):
            for text in self.socket:
                message = json.loads(text)
                if message.get("view") == "judge":  # first: in a fast rehearsal it is soon too late
                    self.say(key="12"[rng.integers(2)], ago=0.5)
                if "id" in message:
                    self.messages.append(message)
                    self.say(seen=message["id"], delay=1.0)


@contextmanager
def watched(protocol):
    """Give who watches a rehearsal whose pages are open, and say whatever they can."""
    state = SessionState(protocol, "rehearsal", SPEED)
    with Stage(state, port=0, truth=lambda place: None) as stage, Triggers(stage.draw) as triggers:
        with Answering(stage.server, "screen") as screen, Client(stage.server, "monitor") as page:
            until(lambda: stage.screen.visible)
            page.say(command="truth", truth=1, reward=1)
            yield watching(stage, Terminal(state, silent), triggers)
            views = {each["view"] for each in screen.messages}
            assert views >= {"imagine", "guess", "judge"} and stage.is_drawn()
            assert page.messages[-1]["truth_shown"]


@contextmanager
def unwatched(protocol):
    yield Watching()


@pytest.mark.parametrize("pages", [unwatched, pytest.param(watched, marks=pytest.mark.slow)])
def test_nothing_leads_an_agent_of_a_live_session_to_truth_or_keys(tmp_path, pages):
    # Long runs: a sequence of guesses is hardly ever by chance the one meant.
    protocol = mine(
        seed=SEED,
        task={"trials": 24, "trials_per_run": 12, "catch": {"share": 0.2}},
        agent={"policy": "epsilon-greedy", "uniform_runs": 1},
        human={"imagination_lapse": 0.2, "judgment_lapse": 0.2, "key_press": True},
    )
    write_made_up(tmp_path / "other", protocol)
    (tmp_path / "condition").write_text("yoked: other")
    given: dict[str, list] = {}
    with (
        pytest.MonkeyPatch.context() as patch,
        scanning(protocol, tmp_path / "volumes"),
        pages(protocol) as who,
    ):
        patch.setattr("bciigl.loop.agent.LearningAgent", keeps(LearningAgent, given))
        patch.setattr("bciigl.loop.live.TimelyAgent", keeps_itself(TimelyAgent, given))
        patch.setattr("bciigl.loop.yoked.YokedAgent", keeps_itself(YokedAgent, given))
        how = {"condition": tmp_path / "condition", "watching": who}
        record_live(protocol, tmp_path / "volumes", tmp_path / "out", **how)
    assert [type(each) for each in given["self"]] == [TimelyAgent, YokedAgent]
    assert len(given["context"]) > 12
    truths = [*told(Dataset(tmp_path / "volumes", protocol), open_dataset(tmp_path / "out"))]
    objects = reachable(*(thing for things in given.values() for thing in things))
    assert leads_to_truth(objects, truths, tmp_path, SEED) == []
    # The walk could fail: the display has the keys.
    keys = open_dataset(tmp_path / "out").keys("train", 1)
    assert leads_to_truth(reachable([each.match for each in keys]), truths, tmp_path, SEED)


def keeps_itself(kind, given):
    """Return an agent's class whose agents are kept when they are made."""

    def make(*args):
        agent = kind(*args)
        given.setdefault("self", []).append(agent)
        return agent

    return make


def told(volumes, dataset):
    """Yield what was true in each run, and what keys said of it, as numbers."""
    for run in (1, 2):
        truth = volumes.run_truth("train", run)
        for name in ("meant", "imagined", "match", "judged"):
            yield np.asarray(getattr(truth, name), float)
        keys = [each for each in dataset.keys("train", run) if each is not None]
        assert len(keys) == 12
        yield np.array([each.match for each in keys], float)
        yield np.array([each.seconds for each in keys])
