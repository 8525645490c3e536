"""Agents: honest propensities, when they learn and from what, and what they are refused."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interactions import Session, session
from recordings import some_policy
from sklearn.exceptions import NotFittedError

from bciigl.base.errors import BciiglError
from bciigl.estimate import Calibration
from bciigl.learn import ActionInclusiveIGL, SupervisedCeiling, save_learner
from bciigl.learn.interactions import Interactions
from bciigl.loop import Agent, Choice, FixedAgent, LearningAgent
from bciigl.loop.agent import make_agent
from bciigl.protocol.model import Agent as Settings

RUN = 80
# 9 runs of 80 trials, features as clear as day: what is learned from the first can be trusted.
LIVED = session(3, trials=9 * RUN, runs=9)


@cache
def learned() -> ActionInclusiveIGL:
    """Return what is learned from the whole session."""
    return ActionInclusiveIGL(3).fit(*LIVED.seen, run=LIVED.run)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def committed(epsilon: float, seed: int = 0) -> LearningAgent:
    """Return an agent that has learned."""
    agent = LearningAgent(3, uniform_runs=1, epsilon=epsilon)
    agent.begin_run(rng(seed))
    agent.policy = learned()
    return agent


def before(lived: Session, run: int, catch: np.ndarray | None = None) -> Interactions:
    """Return the runs before one, as the session loop has an agent recall them."""
    mine = lived.run < run
    arrays = {name: getattr(lived, name)[mine] for name in ("context", "action", "feedback")}
    arrays |= {"propensity": lived.propensity[mine], "run": lived.run[mine] + 1}
    return Interactions(**arrays, catch=None if catch is None else catch[mine])


def go_on(agent: Agent, lived: Session, run: int, catch: np.ndarray | None = None) -> bool:
    """Let an agent begin a run, with what was before; return whether it changes units."""
    changes = agent.recall(before(lived, run, catch)) if run else True
    agent.begin_run(rng(run))
    return changes


def watch(agent: Agent, lived: Session, run: int, catch: np.ndarray | None = None) -> None:
    """Let an agent observe a run to its end."""
    for trial in np.flatnonzero(lived.run == run):
        agent.observe(
            lived.context[trial],
            int(lived.action[trial]),
            lived.feedback[trial],
            float(lived.propensity[trial]),
            catch=catch is not None and bool(catch[trial]),
        )
    agent.end_run()


def saved(policy: ActionInclusiveIGL, folder: Path) -> list[bytes]:
    """Return every bit of a policy."""
    save_learner(policy, folder)
    return [(folder / name).read_bytes() for name in ("learner.json", "learner.npz")]


def test_agent_that_learns_nothing_guesses_uniformly():
    agent = Agent(3)
    agent.begin_run(rng())
    choices = [agent.act(np.zeros(2)) for _ in range(9000)]
    assert {each[1:] for each in choices} == {(1 / 3, True)}
    shares = np.bincount([each.action for each in choices]) / 9000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.025)  # 5 standard errors
    watch(agent, LIVED, 0)
    assert agent.act(LIVED.context[0]).explored


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_each_action_is_taken_as_often_as_its_propensity_says(epsilon):
    agent, context = committed(epsilon), LIVED.context[5]
    choices = [agent.act(context) for _ in range(3000)]
    shares = np.bincount([each.action for each in choices], minlength=3) / 3000
    logged = {each.action: each.propensity for each in choices}
    assert len({(each.action, each.propensity) for each in choices}) == len(logged)
    assert sum(logged.values()) == pytest.approx(1.0)
    for action, propensity in logged.items():
        # 5 standard errors, and none where there is no chance
        error = np.sqrt(propensity * (1 - propensity) / 3000)
        assert shares[action] == pytest.approx(propensity, abs=5 * error + 1e-12)


@given(st.floats(0, 1), st.integers(0, 2**32), st.integers(0, len(LIVED.context) - 1))
@settings(max_examples=50)
def test_propensity_is_what_epsilon_and_the_policy_make_of_it(epsilon, seed, trial):
    agent, context = committed(epsilon, seed), LIVED.context[trial]
    best = int(learned().predict(context[None])[0])
    for _ in range(10):
        choice = agent.act(context)
        greedy = choice.action == best
        assert choice.propensity == pytest.approx(epsilon / 3 + (1 - epsilon) * greedy)
        assert 0 < choice.propensity <= 1 + 1e-12
        # What was not drawn uniformly is what the policy chooses.
        assert choice.explored or greedy


def test_explored_marks_every_uniform_draw_also_those_that_hit_the_policy_s_choice():
    agent, context = committed(0.3), LIVED.context[5]
    choices = [agent.act(context) for _ in range(6000)]
    drawn = np.array([each.action for each in choices if each.explored])
    assert len(drawn) / 6000 == pytest.approx(0.3, abs=0.03)  # 5 standard errors
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), 1 / 3, atol=0.056)  # 5 of them


def test_policy_s_choice_does_not_depend_on_the_random_numbers():
    actions = {committed(0.0, seed).act(LIVED.context[5]).action for seed in range(20)}
    assert actions == {int(learned().predict(LIVED.context[5:6])[0])}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uniform_runs", "learn_every", "learns_before"),
    [
        (1, 1, [1, 2, 3, 4, 5, 6, 7, 8]),
        (3, 1, [3, 4, 5, 6, 7, 8]),
        (2, 3, [2, 5, 8]),
        (3, 100, [3]),
        (9, 1, []),
    ],
)
def test_agent_learns_after_its_uniform_runs_and_then_every_so_many(
    uniform_runs, learn_every, learns_before
):
    agent = LearningAgent(3, uniform_runs=uniform_runs, learn_every=learn_every)
    learned, policy = [], None
    for run in range(9):
        changes = go_on(agent, LIVED, run)
        # It changes units with its policy, and as long as it has none.
        assert changes == (agent.policy is None or agent.policy is not policy)
        if agent.policy is not policy:
            learned.append(run)
            policy = agent.policy
        choices = [agent.act(each) for each in LIVED.context[LIVED.run == run]]
        assert all(each.explored == (run < uniform_runs) for each in choices)
        watch(agent, LIVED, run)
    assert learned == learns_before


def test_what_is_learned_is_what_the_learner_makes_of_all_runs_before(tmp_path):
    lived = session(3, trials=9 * RUN, runs=9, epsilon=0.4)
    agent = LearningAgent(3, uniform_runs=2, learn_every=3, epsilon=0.4)
    for run in range(6):
        go_on(agent, lived, run)
        watch(agent, lived, run)
    past = before(lived, 5)
    how = {"propensity": past.propensity, "run": past.run}
    expected = ActionInclusiveIGL(3).fit(past.context, past.action, past.feedback, **how)
    assert saved(agent.policy, tmp_path / "a") == saved(expected, tmp_path / "b")
    assert lived.accuracy(agent.policy) > 0.9


def test_between_policies_an_agent_keeps_to_its_units_and_to_what_it_saw_in_them():
    agent = LearningAgent(3, uniform_runs=1, learn_every="100 trials")
    for run in range(2):
        go_on(agent, LIVED, run)
        watch(agent, LIVED, run)
    first = agent.policy
    past = before(LIVED, 2)
    scaled = replace(past, context=5 * past.context, feedback=5 * past.feedback)
    assert not agent.recall(scaled)
    kept = agent._so_far()
    for name in ("context", "action", "feedback", "propensity", "run"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(past, name))
    for trial in np.flatnonzero(LIVED.run == 2)[:20]:  # 80 trials before, in run 1
        assert agent.policy is first
        agent.observe(LIVED.context[trial], int(LIVED.action[trial]), LIVED.feedback[trial], 1 / 3)
    assert agent.policy is not first


@pytest.mark.slow
def test_agent_learns_within_a_run_each_time_that_some_trials_are_over():
    agent = LearningAgent(3, uniform_runs=1, learn_every="30 trials")
    watch(agent, LIVED, 0)
    assert agent.policy is None
    go_on(agent, LIVED, 1)
    learned, policy = [], agent.policy
    for number, trial in enumerate(np.flatnonzero(LIVED.run == 1), start=1):
        agent.observe(LIVED.context[trial], int(LIVED.action[trial]), LIVED.feedback[trial], 1 / 3)
        if agent.policy is not policy:
            learned.append(number)
            policy = agent.policy
    assert learned == [30, 60]


def test_explore_then_commit_never_explores_after_its_uniform_runs():
    agent = make_agent(Settings(policy="explore-then-commit", uniform_runs=2, epsilon=0.9), 3, 8)
    for run in range(4):
        go_on(agent, LIVED, run)
        choices = [agent.act(each) for each in LIVED.context[LIVED.run == run]]
        expected = {(1 / 3, True)} if run < 2 else {(1.0, False)}
        assert {each[1:] for each in choices} == expected
        watch(agent, LIVED, run)


def test_epsilon_greedy_explores_as_often_as_the_protocol_says():
    agent = make_agent(Settings(policy="epsilon-greedy", uniform_runs=1, epsilon=0.25), 3, 8)
    assert isinstance(agent, LearningAgent)
    watch(agent, LIVED, 0)
    go_on(agent, LIVED, 1)
    explored = [agent.act(LIVED.context[0]).explored for _ in range(3000)]
    assert np.mean(explored) == pytest.approx(0.25, abs=0.04)  # 5 standard errors


def test_agent_with_nothing_to_learn_from_goes_on_guessing():
    agent = LearningAgent(3, uniform_runs=1)
    agent.end_run()
    assert agent.recall(before(LIVED, 0))
    agent.begin_run(rng())
    assert agent.policy is None
    assert agent.act(np.zeros(8))[1:] == (1 / 3, True)
    watch(agent, LIVED, 0)
    go_on(agent, LIVED, 1)
    assert agent.policy is not None


def test_fixed_agent_keeps_to_the_policy_it_was_given():
    policy = some_policy(3, 8)
    agent = make_agent(Settings(policy="fixed"), 3, policy.n_features_in_, policy=policy)
    for run in range(3):
        agent.begin_run(rng(run))
        for context in LIVED.context[LIVED.run == run]:
            assert agent.act(context) == Choice(int(policy.predict(context[None])[0]), 1.0, False)
        watch(agent, LIVED, run)
    assert agent.policy is policy


def test_fixed_agent_refuses_a_policy_for_other_options_or_voxels():
    with pytest.raises(BciiglError, match="is for 4 options and 8 voxels, but .* 3 and 8"):
        FixedAgent(3, 8, some_policy(4, 8))
    with pytest.raises(BciiglError, match="is for 3 options and 8 voxels, but .* 3 and 64"):
        FixedAgent(3, 64, some_policy(3, 8))


def test_fixed_agent_has_the_calibration_of_its_policy():
    policy, calibration = some_policy(3, 8), Calibration((0.1, 0.2, 0.3), np.eye(8), 0.2)
    how = {"policy": policy, "calibration": calibration}
    assert make_agent(Settings(policy="fixed"), 3, 8, **how).calibration is calibration
    with pytest.raises(BciiglError, match="calibration is for 64 voxels, but .* 8"):
        FixedAgent(3, 8, policy, Calibration(whitening=np.eye(64)))


def test_fixed_agent_takes_nothing_but_a_policy_that_was_learned():
    with pytest.raises(NotFittedError):
        FixedAgent(3, 8, ActionInclusiveIGL())
    with pytest.raises(BciiglError, match="can be saved, got SupervisedCeiling"):
        FixedAgent(3, 8, SupervisedCeiling().fit(LIVED.context, LIVED.action))


def test_agent_goes_on_exploring_while_what_it_learned_should_not_be_used():
    few = LIVED.rows(np.arange(len(LIVED.run)) % RUN < 3)
    agent = LearningAgent(3, uniform_runs=1)
    for run in range(3):
        assert go_on(agent, few, run)
        assert agent.act(LIVED.context[0])[1:] == (1 / 3, True)
        watch(agent, few, run)
    seen = few.rows(few.run < 3)
    verdict = ActionInclusiveIGL(3).fit(*seen.seen, run=seen.run).diagnose().verdict
    assert verdict == "do not use"
    watch(agent, LIVED, 3)
    go_on(agent, LIVED, 4)
    assert agent.act(LIVED.context[0])[1:] == (1.0, False)


def test_fixed_agent_needs_a_policy():
    with pytest.raises(BciiglError, match="fixed: it needs a saved policy"):
        make_agent(Settings(policy="fixed"), 3, 8)


@pytest.mark.parametrize("name", ["uniform", "explore-then-commit", "epsilon-greedy"])
def test_other_agents_take_no_policy(name):
    with pytest.raises(BciiglError, match=f"agent.policy is {name}: it takes no saved policy"):
        make_agent(Settings(policy=name), 3, 8, policy=some_policy(3, 8))


def test_uniform_agent_is_the_plain_one():
    assert type(make_agent(Settings(), 4, 8)) is Agent


@pytest.mark.parametrize(("told", "right"), [(0.9, True), (0.1, False)])
def test_with_two_options_catch_trials_tell_match_from_mismatch(told, right):
    """Guesses match half of the time: only what is known of catch trials breaks the symmetry."""
    catch = np.arange(240) % 3 == 0
    lived = session(trials=240, runs=8, n_actions=2, catch=catch, match_rate=0.9)
    agent = LearningAgent(2, uniform_runs=8, catch_match_rate=told)
    for run in range(8):
        watch(agent, lived, run, catch)
    go_on(agent, lived, 8, catch)
    accuracy = lived.accuracy(agent.policy)
    # Told the opposite of how catch trials were made, it learns the opposite.
    assert accuracy > 0.9 if right else accuracy < 0.1


def test_with_two_options_and_no_catch_trial_there_is_nothing_to_act_on():
    """What is learned is right or exactly wrong, and the learner says that it cannot know."""
    lived = session(trials=240, runs=3, n_actions=2)
    agent = LearningAgent(2, uniform_runs=1, catch_match_rate=0.9)
    for run in range(3):
        go_on(agent, lived, run)
        assert agent.act(lived.context[0])[1:] == (0.5, True)
        watch(agent, lived, run)


def test_doubtful_policy_does_not_take_the_place_of_a_trusted_one():
    agent = LearningAgent(3, uniform_runs=1)
    watch(agent, LIVED, 0)
    go_on(agent, LIVED, 1)
    trusted = agent.policy
    watch(agent, LIVED, 1)
    past = before(LIVED, 2)
    nonsense = rng().standard_normal((2, *past.context.shape)) * 50
    assert not agent.recall(replace(past, context=nonsense[0], feedback=nonsense[1]))
    assert agent.policy is trusted


def test_known_match_rate_is_of_no_use_where_no_catch_trial_was_seen(tmp_path):
    told, untold = (LearningAgent(3, uniform_runs=1, catch_match_rate=r) for r in (0.9, None))
    for agent in (told, untold):
        watch(agent, LIVED, 0)
        go_on(agent, LIVED, 1)
    assert told.policy.match_rate is None
    assert saved(told.policy, tmp_path / "a") == saved(untold.policy, tmp_path / "b")
