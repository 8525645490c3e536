"""An agent that guesses the options in turn, and now and then at random."""

from bciigl.base.registry import Specification
from bciigl.loop import Agent, Choice


class RoundRobin(Agent):
    """Guesses the next option half of the time, otherwise uniformly."""

    turn = 0

    def act(self, context):
        """Return a guess."""
        self.turn = (self.turn + 1) % self.n_actions
        drawn = self.explore()
        explored = bool(self.rng.random() < 0.5)
        action = drawn.action if explored else self.turn
        return Choice(action, 0.5 / self.n_actions + 0.5 * (action == self.turn), explored)


ROUND_ROBIN = Specification(
    "round_robin",
    lambda settings, n_actions, n_features, **_: RoundRobin(n_actions),
    "options in turn",
    "guessed the options in turn, or uniformly",
)
