"""The procedure of the released code as learners."""

import json
from functools import partial, partialmethod

import numpy as np
import pytest
from interactions import session

from bciigl.learn.interactions import InputError
from bciigl.learn.network import Networks
from bciigl.learn.network_igl import ActionInclusiveNetwork, FullConditionalNetwork
from bciigl.testing import check_learner

TOLD = session(trials=240)
# Fast ones: larger steps on centred features.
FAST = {"epochs": 60, "rate": 1e-3, "centre": True, "hidden": (16, 8)}
KINDS = pytest.mark.parametrize("kind", [ActionInclusiveNetwork, FullConditionalNetwork])


class Stopped(Exception):
    """The training was stopped."""


@KINDS
def test_it_is_a_learner_as_others_are(kind):
    check_learner(kind(epochs=3))
    check_learner(kind(**FAST))


def test_ai_igl_finds_the_rewards_where_there_is_something_to_see():
    told = session(trials=600)
    settings = {**FAST, "epochs": 150}
    learners = [
        ActionInclusiveNetwork(**settings, random_state=n).fit(*told.seen) for n in range(4)
    ]
    scores = [each.score(told.context, told.right.argmax(axis=1)) for each in learners]
    # Some draws miss one of three options: that is the procedure. Chance is 0.33 +- 0.02.
    assert np.median(scores) > 0.9
    best = learners[np.argmax(scores)]
    decoded = best.decode(told.feedback, told.action) > 0.5
    assert np.mean(decoded == told.reward) > 0.8
    assert best.diagnose().verdict == "doubtful"
    assert len(best.stages_) == 3


@KINDS
def test_networks_are_trained_again_to_the_same_bytes(kind):
    first, second = (kind(**FAST, random_state=3).fit(*TOLD.seen) for _ in range(2))
    other = kind(**FAST, random_state=4).fit(*TOLD.seen)
    assert first.policy_.tobytes() == second.policy_.tobytes() != other.policy_.tobytes()


@KINDS
def test_a_training_that_is_stopped_and_resumed_gives_the_same_bytes(kind, tmp_path):
    settings = {**FAST, "epochs": 160}
    whole, kept = kind(**settings).fit(*TOLD.seen), tmp_path / "training.npz"
    stops = [130, 250, 300, 470] if kind is ActionInclusiveNetwork else [105, 150]
    seen = []

    def stop(done, total):
        seen.append(done)
        if stops and done == stops[0]:
            raise Stopped(stops.pop(0))

    while stops:
        with pytest.raises(Stopped):
            kind(**settings).fit(*TOLD.seen, checkpoint=kept, progress=stop)
    again = kind(**settings).fit(*TOLD.seen, checkpoint=kept, progress=stop)
    assert not kept.exists()
    assert len(seen) < 2 * max(seen)  # it began anew at what was kept
    for name in ("policy_", "policy_rest_", "decoder_", "decoder_rest_", "flipped_"):
        assert getattr(again, name).tobytes() == getattr(whole, name).tobytes()
    np.testing.assert_array_equal(again.stages_, whole.stages_)


def test_a_kept_training_of_something_else_is_refused(tmp_path):
    kept = tmp_path / "training.npz"

    def stop(done, total):
        if done == 150:
            raise Stopped

    settings = {**FAST, "epochs": 160}
    with pytest.raises(Stopped):
        ActionInclusiveNetwork(**settings).fit(*TOLD.seen, checkpoint=kept, progress=stop)
    for changes in ({"random_state": 1}, {"rate": 2e-3}):
        other = ActionInclusiveNetwork(**{**settings, **changes})
        with pytest.raises(InputError, match="of other settings or trials; delete it"):
            other.fit(*TOLD.seen, checkpoint=kept)
    whole = kept.read_bytes()
    with np.load(kept) as file:
        arrays = dict(file)
    words = json.loads(arrays["words"].tobytes())
    for damaged in (
        {**arrays, "weights": arrays["weights"][:-1]},
        {name: each for name, each in arrays.items() if name != "stages"},
        {**arrays, "words": np.frombuffer(json.dumps({**words, "rng": 3}).encode(), np.uint8)},
    ):
        np.savez(kept, **damaged)
        with pytest.raises(InputError, match="no kept training; delete it"):
            ActionInclusiveNetwork(**settings).fit(*TOLD.seen, checkpoint=kept)
    kept.write_bytes(whole)
    ActionInclusiveNetwork(**settings).fit(*TOLD.seen, checkpoint=kept)


def test_psi_is_frozen_and_f_imitates_it_in_the_last_third(monkeypatch):
    called = []
    for name in ("contrast", "imitate"):
        done = getattr(Networks, name)
        note = partial(lambda name, done, *given: called.append(name) or done(*given), name, done)
        monkeypatch.setattr(Networks, name, partialmethod(note))
    ActionInclusiveNetwork(**{**FAST, "epochs": 9}).fit(*TOLD.seen)
    # 80 trials of each action are a single minibatch; epochs 0 to 6 are below 2 / 3 * 9 + 1.
    assert called == 3 * [*["contrast"] * 7, *["imitate"] * 2]


@pytest.mark.parametrize("epochs", [0, -1, 1.5, "many"])
def test_epochs_that_cannot_be_are_refused(epochs):
    with pytest.raises(InputError, match="epochs must be a whole number of 1 or more"):
        ActionInclusiveNetwork(epochs=epochs).fit(*TOLD.seen)
