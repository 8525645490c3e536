"""
An agent of your own
====================

An agent has two methods: `act` on a context, and `observe` what came back. There is no reward in
this interface. This one prefers the option that it has guessed least often so far, so that all are
shown about equally often.
"""

import numpy as np

import bciigl
from bciigl.loop import Agent, Choice
from bciigl.testing import check_agent


class Balanced(Agent):
    """Guesses the rarest option in half of the trials, and uniformly in the others."""

    def __init__(self, n_actions):
        super().__init__(n_actions)
        self.counts = np.zeros(n_actions)

    def act(self, context):
        """Return a guess, and the probability with which it was made."""
        probability = np.full(self.n_actions, 0.5 / self.n_actions)
        probability[self.counts.argmin()] += 0.5
        action = int(self.rng.choice(self.n_actions, p=probability))  # self.rng can be resumed
        return Choice(action, probability[action], explored=True)

    def observe(self, context, action, feedback, propensity, *, catch=False):
        """Count the guesses, and learn nothing; `recall` and `end_run` are there for that, too."""
        self.counts[action] += 1


check_agent(lambda: Balanced(n_actions=3))  # says what is wrong, if anything is

# %%
# It takes the place of the protocol's agent. Propensities are recorded, and learners use them.

session = bciigl.simulate("number_guessing", noise=1.0, trials=138, agent=Balanced(n_actions=3))
session.to_dataframe().query("session == 'train'").guess.value_counts()

# %%
session.learn()

# %%
session.plot_rewards()
