"""AI-IGL and full-CI IGL as the code does it that the paper's authors released: with networks.

Its procedure is followed, not improved: raw features, 4000 passes over the trials with tiny steps,
and a flip where the mean decoded reward is above 1/2. It is for reproducing published figures;
`ActionInclusiveIGL` needs a hundredth of the time and finds more.
"""

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from bciigl.base.arrays import read_arrays
from bciigl.base.files import written_file
from bciigl.base.progress import Progress, silent
from bciigl.base.registry import Specification
from bciigl.learn.diagnose import DOUBTFUL, Verdict
from bciigl.learn.interactions import (
    InputError,
    Prepared,
    Scaling,
    Scalings,
    check_actions,
    check_whole,
    generator,
)
from bciigl.learn.network import Layers, Networks, flip, forward, views
from bciigl.learn.policy import DiagnosedPolicy

HIDDEN = (250, 100)
BATCH = 128
EPOCHS, RATE = 4000, 1e-5
KEPT_EVERY = 100  # epochs


class NetworkIGL(DiagnosedPolicy):
    """Networks trained by the spectral contrastive loss; a subclass says on what, and when to flip.

    Parameters
    ----------
    n_actions : int, optional
        How many actions there are; by default one more than the largest in the data.
    epochs : int
        Passes over the trials, of each action where they are trained one by one.
    rate : float
        Adam's learning rate.
    centre : bool
        Whether features are centred and scaled as `ActionInclusiveIGL` does it, rather than raw.
    hidden : sequence of int
        Units of the hidden layers; without any, f and psi are linear-logistic.
    random_state : int
        Of first weights and of the order of trials.

    Attributes
    ----------
    policy_, decoder_ : array, (features + 1, units)
        The first layer of f and of psi, biases last.
    policy_rest_, decoder_rest_ : array
        The weights and biases of their other layers, one after the other.
    flipped_ : array, (decoded outputs,)
        1 where psi decodes mismatches, 0 elsewhere.
    match_rate_ : array, (n_actions,)
        Mean decoded reward of each action's trials.
    stages_ : list of array
        All weights of f after each stage of training: those of actions are one after the other.
    """

    _learned: ClassVar[dict[str, str]] = {
        "policy_": "c?",
        "policy_rest_": "?",
        "decoder_": "f?",
        "decoder_rest_": "?",
        "flipped_": "?",
        "match_rate_": "a",
    }

    def __init__(
        self,
        n_actions: int | None = None,
        epochs: int = EPOCHS,
        rate: float = RATE,
        centre: bool = False,
        hidden: Sequence[int] = HIDDEN,
        random_state: int = 0,
    ) -> None:
        self.n_actions = n_actions
        self.epochs = epochs
        self.rate = rate
        self.centre = centre
        self.hidden = hidden
        self.random_state = random_state

    def fit(
        self,
        context: np.ndarray,
        action: np.ndarray,
        feedback: np.ndarray,
        *,
        propensity: np.ndarray | None = None,
        run: np.ndarray | None = None,
        catch: np.ndarray | None = None,
        checkpoint: str | os.PathLike | None = None,
        progress: Progress = silent,
    ) -> "NetworkIGL":
        """Learn from recorded interactions.

        Parameters
        ----------
        context, action, feedback, run
            As in `DiagnosedPolicy.fit`; `run` matters only if features are centred.
        propensity, catch
            Not used: the procedure assumes uniform guesses.
        checkpoint : path-like, optional
            A file that keeps the training while it lasts. If it was stopped, the same call resumes
            it, and gives the same networks.
        progress : function, optional
            Called with how many epochs are done, and how many there are.
        """
        self._checkpoint, self._progress = checkpoint, progress
        try:
            super().fit(context, action, feedback, propensity=propensity, run=run, catch=catch)
        finally:
            del self._checkpoint, self._progress
        return self

    def _learn(self, data: Prepared) -> None:
        if not isinstance(self.epochs, (int, np.integer)) or self.epochs < 1:
            raise InputError(f"epochs must be a whole number of 1 or more, got {self.epochs!r}")
        sizes = data.context.shape[1], data.feedback.shape[1]
        scalings = Scalings(*(Scaling(np.zeros(size), np.ones(size)) for size in sizes))
        if self.centre:
            scalings = Scalings.of(data)
            data = scalings.apply(data)
        self.context_scaling_, self.feedback_scaling_ = scalings
        data = data._replace(
            context=data.context.astype(np.float32), feedback=data.feedback.astype(np.float32)
        )
        rng = generator(self.random_state)
        outputs = data.n_actions, self._decoded(data.n_actions)
        networks = Networks(*sizes, *outputs, self.hidden, rng, self.rate)
        training = _Training(networks, np.zeros(outputs[1]), rng, self._digest(data))
        if self._checkpoint is not None:
            training.resume(self._checkpoint)
        total = self._stages(data.n_actions) * self.epochs
        while training.epochs < total:
            stage, epoch = divmod(training.epochs, self.epochs)
            self._epoch(training, data, stage, epoch)
            training.epochs += 1
            if epoch == self.epochs - 1:
                training.stages.append(networks.weights[networks.of_f].copy())
            self._progress(training.epochs, total)
            if self._checkpoint is not None and training.epochs % KEPT_EVERY == 0:
                training.keep(self._checkpoint)
        self.policy_, self.policy_rest_ = _parts(networks.f)
        self.decoder_, self.decoder_rest_ = _parts(networks.psi)
        self.flipped_, self.stages_ = training.flipped, training.stages
        decoded = self._decode(data.feedback, data.action)
        self.match_rate_ = data.means(decoded)
        untested = "the procedure of the paper's released code does not test what it has learned."
        self.diagnosis_ = Verdict(DOUBTFUL, untested, "Use AI-IGL.")
        if self._checkpoint is not None:
            training.forget(self._checkpoint)

    def _digest(self, data: Prepared) -> str:
        """Return what tells whether a kept training is of the same settings and trials."""
        found = hashlib.sha256(repr((type(self).__name__, self.get_params())).encode())
        for each in (data.context, data.action, data.feedback):
            found.update(np.ascontiguousarray(each).tobytes())
        return found.hexdigest()

    def decode(
        self, feedback: np.ndarray, action: np.ndarray, *, run: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the probability that each action was rewarded, from its feedback, (trials,)."""
        check_is_fitted(self)
        run = run if self.centre else None
        scaled = self.feedback_scaling_.check_and_apply(feedback, "feedback", run)
        action = check_whole(action, "action", len(scaled))
        check_actions(action, self.n_actions_)
        return self._decode(scaled.astype(np.float32), action)

    def _decode(self, feedback: np.ndarray, action: np.ndarray) -> np.ndarray:
        layers = self._layers(self.decoder_, self.decoder_rest_, len(self.flipped_))
        decoded = expit(forward(layers, feedback)[-1].astype(float))
        output = np.minimum(action, decoded.shape[1] - 1)
        decoded = np.where(self.flipped_ > 0, 1 - decoded, decoded)
        return decoded[np.arange(len(output)), output]

    def scores_by_stage(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return each action's score after each stage of training, (stages, trials, actions)."""
        sizes = (self.n_features_in_, *self.hidden, self.n_actions_)
        return np.array([self._of(views(each, sizes), context, run) for each in self.stages_])

    def _scores(self, context: np.ndarray, run: np.ndarray | None) -> np.ndarray:
        check_is_fitted(self)
        layers = self._layers(self.policy_, self.policy_rest_, self.n_actions_)
        return self._of(layers, context, run)

    def _of(self, layers: Layers, context: np.ndarray, run: np.ndarray | None) -> np.ndarray:
        run = run if self.centre else None
        scaled = self.context_scaling_.check_and_apply(context, "context", run)
        return forward(layers, scaled.astype(np.float32))[-1].astype(float)

    def _layers(self, first: np.ndarray, rest: np.ndarray, outputs: int) -> Layers:
        vector = np.concatenate([first.ravel(), rest]).astype(np.float32)
        return views(vector, (len(first) - 1, *self.hidden, outputs))

    @abstractmethod
    def _decoded(self, n_actions: int) -> int:
        """Return how many outputs psi has."""

    @abstractmethod
    def _stages(self, n_actions: int) -> int:
        """Return how often the networks are trained, one after the other."""

    @abstractmethod
    def _epoch(self, training: "_Training", data: Prepared, stage: int, epoch: int) -> None:
        """Train the networks for an epoch, counted from 0 in each stage."""


class ActionInclusiveNetwork(NetworkIGL):
    """AI-IGL by networks that the actions share, trained for one action after the other.

    See `NetworkIGL` for parameters and attributes.
    """

    def _decoded(self, n_actions: int) -> int:
        return n_actions

    def _stages(self, n_actions: int) -> int:
        return n_actions

    def _epoch(self, training: "_Training", data: Prepared, stage: int, epoch: int) -> None:
        networks, rows = training.networks, np.flatnonzero(data.action == stage)
        output = np.full(min(BATCH, len(rows)), stage)
        if epoch == 0:
            networks.forget()
        contrasts = epoch < 2 * self.epochs / 3 + 1
        target = None if contrasts else training.decoded(data.feedback, rows, stage)
        for some in training.batches(rows):
            outputs = output[: len(some)]
            if target is None:
                networks.contrast(data.context[some], data.feedback[some], outputs, outputs)
            else:
                networks.imitate(data.context[some], target[some], outputs)
        if epoch == self.epochs - 1 and len(rows):
            decoded = expit(forward(networks.psi, data.feedback[rows])[-1][:, stage])
            if decoded.mean() > 0.5:
                flip(networks.f, stage)
                training.flipped[stage] = 1


class FullConditionalNetwork(NetworkIGL):
    """Full-CI IGL by a network for all actions, and one that decodes rewards without the action.

    See `NetworkIGL` for parameters and attributes.
    """

    def _decoded(self, n_actions: int) -> int:
        return 1

    def _stages(self, n_actions: int) -> int:
        return 1

    def _epoch(self, training: "_Training", data: Prepared, stage: int, epoch: int) -> None:
        networks, rows = training.networks, np.arange(data.trials)
        for some in training.batches(rows):
            only = np.zeros(len(some), int)
            networks.contrast(data.context[some], data.feedback[some], data.action[some], only)
        odds = forward(networks.f, data.context)[-1][rows, data.action]
        if expit(odds).mean() > 0.5:
            for action in range(data.n_actions):
                flip(networks.f, action)
        if expit(forward(networks.psi, data.feedback)[-1]).mean() > 0.5:
            flip(networks.psi, 0)


def _parts(layers: Layers) -> tuple[np.ndarray, np.ndarray]:
    """Return the first layer, biases last, and the numbers of the others."""
    first, *rest = layers
    numbers = [each.ravel() for layer in rest for each in layer]
    return np.vstack(first).astype(float), np.concatenate([[], *numbers])


class _Training:
    """Networks on the way, and all that resuming needs."""

    def __init__(
        self, networks: Networks, flipped: np.ndarray, rng: np.random.Generator, digest: str
    ) -> None:
        self.networks, self.flipped, self.rng, self._digest = networks, flipped, rng, digest
        self.epochs = 0
        self.stages: list[np.ndarray] = []
        self._frozen: dict[int, np.ndarray] = {}

    def batches(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Give the trials of each minibatch, in a new order."""
        order = rows[self.rng.permutation(len(rows))]
        for begin in range(0, len(order), BATCH):
            yield order[begin : begin + BATCH]

    def decoded(self, feedback: np.ndarray, rows: np.ndarray, output: int) -> np.ndarray:
        """Return what psi, which does not change any more, decodes of an action's trials."""
        if output not in self._frozen:
            values = np.full(len(feedback), 0.5, np.float32)
            values[rows] = expit(forward(self.networks.psi, feedback[rows])[-1][:, output])
            self._frozen = {output: values}
        return self._frozen[output]

    def keep(self, path: str | os.PathLike) -> None:
        """Write everything to a file."""
        networks, state = self.networks, self.rng.bit_generator.state
        words = json.dumps({"digest": self._digest, "rng": state})
        with written_file(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                weights=networks.weights,
                mean=networks.mean,
                square=networks.square,
                counts=np.array([self.epochs, networks.steps]),
                flipped=self.flipped,
                stages=np.array(self.stages),
                words=np.frombuffer(words.encode(), np.uint8),
            )

    def resume(self, path: str | os.PathLike) -> None:
        """Read what `keep` wrote, if it is there and of the same settings and trials."""
        if not os.path.exists(path):
            return
        kept, networks = read_arrays(path), self.networks
        try:
            words = json.loads(kept["words"].tobytes())
            if words["digest"] != self._digest:
                raise InputError(f"{path}: is of other settings or trials; delete it to begin anew")
            self.epochs, networks.steps = (int(each) for each in kept["counts"])
            for name in ("weights", "mean", "square"):
                getattr(networks, name)[:] = kept[name]
            self.flipped[:] = kept["flipped"]
            self.stages = list(kept["stages"])
            self.rng.bit_generator.state = words["rng"]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: is no kept training; delete it to begin anew") from error

    def forget(self, path: str | os.PathLike) -> None:
        """Delete the file of a training that is over."""
        if os.path.exists(path):
            os.unlink(path)


AI_IGL_NETWORK = Specification(
    "ai_igl_network",
    ActionInclusiveNetwork,
    "AI-IGL by the released code's procedure, no labels",
    "by the procedure of the code released with the paper on AI-IGL (Xie et al., 2022), with its "
    "networks",
    published_as="ai_igl",
    style={"color": "#e69f00", "marker": "P", "linestyle": (0, (4, 1))},
    minutes=True,
)
FULL_CI_NETWORK = Specification(
    "igl_full_ci_network",
    FullConditionalNetwork,
    "full-CI IGL by the released code's procedure, no labels",
    "by interaction-grounded learning under full conditional independence, by the procedure of the "
    "code released with the paper on AI-IGL (Xie et al., 2022), with its networks",
    published_as="igl_full_ci",
    style={"color": "#56b4e9", "marker": "X", "linestyle": (0, (1, 2))},
    minutes=True,
)
