"""What was true, beside what an agent saw: for scorers, and for learners that are told it."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from bciigl.learn.interactions import Interactions, MaybeArray


@dataclass(frozen=True)
class Truth:
    """What is true of trials: arrays of shape (trials,), or None where it is not known.

    `meant` is the option, by number, that each guess was judged against, `imagined` that which was
    imagined: another one in a lapse. `match` says whether the guess was the option meant, from 0 to
    1 where it is not sure, `judged` whether the person said so: the other way in a lapse.
    """

    meant: MaybeArray
    match: MaybeArray = None
    imagined: MaybeArray = None
    judged: MaybeArray = None

    def rows(self, index: np.ndarray) -> "Truth":
        """Return the truth about some of the trials."""
        arrays = (getattr(self, each.name) for each in fields(self))
        return Truth(*(None if each is None else np.asarray(each)[index] for each in arrays))


class Session(NamedTuple):
    """A session that happened, and the truth about it where it is known."""

    interactions: Interactions
    truth: Truth | None = None

    def rows(self, index: np.ndarray) -> "Session":
        """Return some of the trials."""
        truth = None if self.truth is None else self.truth.rows(index)
        return Session(self.interactions.rows(index), truth)
