"""What was done, as a paper would tell it: every clause follows from the protocol."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bciigl import __version__
from bciigl.base.registry import AGENTS, LEARNERS
from bciigl.brain.patterns import IMAGERY_SD
from bciigl.brain.subject import BUILT_IN
from bciigl.protocol import Protocol
from bciigl.protocol.model import Atlas, Cube, Sphere
from bciigl.protocol.schedule import (
    decision_time,
    durations,
    estimate_frames,
    is_regular,
    run_count,
    steps,
    trial_seconds,
)

REFERENCES = {
    "Xie et al., 2022": (
        "T. Xie, A. Saran, D. J. Foster, L. Molu, I. Momennejad, N. Jiang, P. Mineiro, "
        "J. Langford. Interaction-Grounded Learning with Action-Inclusive Feedback. NeurIPS 2022. "
        "arXiv:2206.08364"
    ),
    "Xie et al., 2021": (
        "T. Xie, J. Langford, P. Mineiro, I. Momennejad. Interaction-Grounded Learning. ICML 2021."
    ),
    "Ellis et al., 2020": (
        "C. T. Ellis, C. Baldassano, A. C. Schapiro, M. B. Cai, J. D. Cohen. Facilitating "
        "open-science with realistic fMRI simulation: validation and application. PeerJ 8:e8564, "
        "2020."
    ),
    "Ros et al., 2020": (
        "T. Ros et al. Consensus on the reporting and experimental design of clinical and "
        "cognitive-behavioural neurofeedback studies (CRED-nf checklist). Brain 143(6), 2020. "
        "doi:10.1093/brain/awaa009"
    ),
    "Conover, 1999": "W. J. Conover. Practical Nonparametric Statistics. 3rd ed., Wiley, 1999.",
    "Hesterberg, 2015": (
        "T. C. Hesterberg. What Teachers Should Know About the Bootstrap. The American "
        "Statistician 69(4), 2015."
    ),
    "Kumar et al., 2021": (
        "M. Kumar et al. BrainIAK: The Brain Imaging Analysis Kit. Aperture Neuro, 2021."
    ),
    "Power et al., 2012": (
        "J. D. Power, K. A. Barnes, A. Z. Snyder, B. L. Schlaggar, S. E. Petersen. Spurious but "
        "systematic correlations in functional connectivity MRI networks arise from subject "
        "motion. NeuroImage 59(3), 2012."
    ),
    "Pedregosa et al., 2011": (
        "F. Pedregosa et al. Scikit-learn: Machine Learning in Python. Journal of Machine Learning "
        "Research 12, 2011."
    ),
}
"""What can be cited, by how it is cited."""

MOST_NAMED = 12
"""Options up to which all of them are named."""

_SOURCES = {
    "arma": "autoregressive noise",
    "drift": "drift",
    "physiological": "physiological noise",
    "task": "task-related noise",
    "system": "system noise",
}


class LiveMethods(NamedTuple):
    """What the methods of a live session tell besides: of whom it is, and how volumes came."""

    rehearsed: bool
    """Whether the scanner and the person were simulated."""
    in_condition: bool
    """Whether it was recorded in one of two conditions (`bciigl.loop.yoked`)."""
    volumes: Sequence[str]
    """How volumes came, in sentences."""


def methods_paragraph(
    protocol: Protocol,
    *,
    voxels: int | None = None,
    learners: Sequence[str] | None = None,
    tested: bool = True,
    own_agent: bool = False,
    alone: bool = True,
    live: LiveMethods | None = None,
) -> str:
    """Return what was done in one session, in full sentences to be put into a paper.

    Learners are those that did learn. An `own_agent` is not the protocol's; a session is `alone` if
    it is not one of a study, and `live` if volumes came from a scanner, real or simulated.
    """
    recorded = protocol.brain.responses == "recorded"
    simulated = live is None or live.rehearsed
    sentences = [
        *_task(protocol, live),
        *([] if recorded else _timing(protocol)),
        *(_lapses(protocol) if simulated else ()),
        *_keys(protocol),
        *agent_sentences(
            protocol, own_agent=own_agent, in_condition=live is not None and live.in_condition
        ),
        *(population_sentences(protocol) if simulated else ()),
        *(_signal_of(protocol, voxels) if simulated else [_own_region(voxels)]),
        *(live.volumes if live else ()),
        *estimate_sentences(protocol),
        *_learners(protocol, protocol.learners if learners is None else learners),
    ]
    if tested:
        trials = protocol.evaluation.test_trials
        new = "with the same patterns and new noise"
        new = "from other runs of the recording" if recorded else new
        intervals = " and 95 % intervals by Wilson's method" if alone else ""
        sentences.append(
            f"Policies were tested on {counted(trials, 'trial')} of a second session, recorded in "
            f"{_runs(protocol, trials)} {new}. Accuracy is the "
            "share of test trials in which the policy chose the option meant, with contexts "
            f"centred by the mean of their run{intervals}; chance is "
            f"{100 / len(protocol.task.options):.1f} %."
        )
    if alone:
        of_what = "" if simulated else " of guesses"
        sentences.append(
            f"The random seed{of_what} was {protocol.seed}, and the SHA-256 of the protocol's "
            f"content begins with {protocol.content_hash[:12]}."
        )
    return " ".join(sentences)


def population_sentences(protocol: Protocol) -> Iterator[str]:
    """Yield how people differ, if the protocol has a population."""
    if protocol.population:
        drawn = "; ".join(f"{name} ({each})" for name, each in protocol.population.items())
        yield f"People differed: for each, these were drawn independently: {drawn}."


def references(paragraph: str) -> list[str]:
    """Return in full what a paragraph cites."""
    return [source for citation, source in REFERENCES.items() if citation in paragraph]


def _task(protocol: Protocol, live: LiveMethods | None) -> Iterator[str]:
    task, options = protocol.task, protocol.task.options
    named = f" ({listed(options)})" if len(options) <= MOST_NAMED else ""
    answer = {
        ("perception", "judgment"): "saw the guess and then judged whether it matched",
        ("perception",): "saw the guess",
        ("judgment",): "judged whether the guess matched",
    }[task.events[1:]]
    did, who = ("simulated", "a simulated person") if live is None else ("ran", "a participant")
    where = ""
    if live and live.rehearsed:
        did, who = "rehearsed", "a simulated person"
        where = ", with a simulated scanner and person that answered what the session showed"
    yield (
        f"We {did} a closed-loop fMRI brain-computer-interface experiment with bciigl "
        f"{__version__}{where}."
    )
    yield (
        f"In each of {counted(task.trials, 'trial')}, recorded in {_runs(protocol, task.trials)}, "
        f"{who} imagined one of {len(options)} options{named}, an agent guessed which "
        f"one, and the {who.split()[-1]} {answer}."
    )


def _runs(protocol: Protocol, trials: int) -> str:
    """Return in how many runs trials were recorded, and how long these were."""
    runs, longest = run_count(protocol, trials), protocol.task.trials_per_run
    if runs == 1:
        return "1 run"
    most = "" if trials % longest == 0 else "at most "
    return f"{runs} runs of {most}{counted(longest, 'trial')}"


def _timing(protocol: Protocol) -> Iterator[str]:
    timing, parts = protocol.timing, steps(protocol)
    lasts = durations(protocol)
    pauses = [part.seconds - max(lasts[kind] for kind in part.kinds) for part in parts]
    pauses[-1] -= timing.iti
    lasted = f"lasted {_each_or_all(lasts.values())} s with pauses of {_each_or_all(pauses)} s"
    guess = f"the guess was made {decision_time(protocol):g} s after the onset of imagination"
    if timing.decision is None and parts[0].jitter:
        guess = "the guess was made as late as the next event allowed"
    guess += f" and shown {timing.latency:g} s later" if timing.latency else ""
    if protocol.recording == "separate":
        series = "Each kind of event was recorded in a series of its own"
        yield f"{series}, in which events {lasted}; {guess}."
    else:
        mean = "" if is_regular(protocol) else " on average"
        trial = f"so that a trial took {round(trial_seconds(protocol), 1):g} s{mean}"
        seen = "; guesses were judged while they were seen" if timing.together else ""
        yield f"All events shared one series; they {lasted}, {trial}, and {guess}{seen}."
    if any(part.jitter for part in parts):
        most = _each_or_all(part.jitter for part in parts)
        drawn = "a uniform distribution"
        if timing.jitter_distribution == "exponential":
            drawn = "an exponential distribution that was cut off there"
        yield f"Pauses were up to {most} s longer, drawn from {drawn}."
    if timing.iti:
        yield f"Between trials there were {timing.iti:g} s more."
    if timing.null_trials:
        yield f"There were {timing.null_trials:g} null trials for each trial, at random places."
    yield f"A frame was recorded every {timing.tr:g} s (TR)."
    for rest, when in ((timing.burn_in, "began"), (timing.cool_down, "ended")):
        if rest:
            yield f"Each run {when} with {rest:g} s of rest."


def _each_or_all(seconds: Iterable[float]) -> str:
    """Return one number where all are the same, otherwise all of them."""
    texts = [f"{each:g}" for each in seconds]
    return texts[0] if len(set(texts)) == 1 else listed(texts)


def _lapses(protocol: Protocol) -> Iterator[str]:
    human = protocol.human
    if human.imagination_lapse:
        yield (
            f"With a probability of {human.imagination_lapse:g}, another option was imagined than "
            "the one that the guess was judged against."
        )
    if human.judgment_lapse and "judgment" in protocol.task.events:
        yield (
            f"With a probability of {human.judgment_lapse:g}, a match was judged a mismatch or "
            "vice versa."
        )


def _keys(protocol: Protocol) -> Iterator[str]:
    if protocol.human.key_press and "judgment" in protocol.task.events:
        yield "Judgments were also given by a key press."


def agent_sentences(
    protocol: Protocol, *, own_agent: bool = False, in_condition: bool = False
) -> Iterator[str]:
    """Yield how guesses were made; parameters as in `methods_paragraph` and `LiveMethods`."""
    catch = protocol.task.catch
    if catch.share:
        yield (
            f"Each of these trials was a catch trial with a probability of {catch.share:g}: the "
            "option was cued, and the experimenter chose the guess, which matched the cue with a "
            f"probability of {catch.match_rate:g}."
        )
    agent = AGENTS.get(protocol.agent.policy)
    said = agent.sentence(protocol) if callable(agent.sentence) else agent.sentence
    said = "guessed by a policy of our own" if own_agent else said or f"guessed by {agent.name}"
    real = " of the real condition" if in_condition else ""
    yield f"{'In all other trials the' if catch.share else 'The'} agent{real} {said}."
    if in_condition:
        yield (
            "In the control condition the guesses of another session were shown instead, run by "
            "run and trial by trial (yoked). The condition was read from a file that somebody else "
            "had prepared, and not shown to those who ran the session."
        )


def _signal_of(protocol: Protocol, voxels: int | None) -> Iterator[str]:
    recorded = protocol.brain.responses == "recorded"
    return _recorded(protocol, voxels) if recorded else _simulated(protocol, voxels)


def _own_region(voxels: int | None) -> str:
    size = "" if voxels is None else f" of {counted(voxels, 'voxel')}"
    return f"The signal was that of a region{size} of the participant's brain."


def _recorded(protocol: Protocol, voxels: int | None) -> Iterator[str]:
    """Yield where real responses come from."""
    timing, frames = protocol.timing, counted(estimate_frames(protocol), "frame")
    size = "" if voxels is None else f", of {counted(voxels, 'voxel')}"
    yield (
        "The session is semi-real: real responses, simulated task. Each event was answered by real "
        f"frames of a person who had been shown the options: a window of {frames} (TR "
        f"{timing.tr:g} s){size}, in SDs of the voxel after removing a quadratic trend from each "
        "run. Windows were put one after the other, never summed; imagining and seeing an option "
        "were answered by presentations of it in two different runs, and the training and the test "
        "session by different runs of the recording."
    )
    if "judgment" in protocol.task.events:
        yield (
            "Judgments were simulated: where the guess was judged a match, a fixed random pattern "
            f"with an RMS of {protocol.brain.cnr:g} noise SDs over voxels was added to the frames "
            "of seeing it. No other part of the signal was simulated."
            if timing.together
            else "Judgments were answered by real responses to matches and mismatches."
        )
    yield (
        "Windows were drawn without replacement until none was left, and then used again."
        if protocol.brain.reuse
        else "Windows were drawn without replacement; the session ended when an event found none."
    )


def _simulated(protocol: Protocol, voxels: int | None) -> Iterator[str]:
    yield _region(protocol, voxels)
    yield from _signal(protocol)
    yield from _noise(protocol)


def _region(protocol: Protocol, voxels: int | None) -> str:
    region = protocol.brain.region
    size = "" if voxels is None else f" ({counted(voxels, 'voxel')})"
    own = protocol.brain.subject != BUILT_IN
    where = "a region given by a mask"
    if isinstance(region, Atlas):
        where = f"the label {region.label} of an atlas ({os.path.basename(region.file)})"
    elif isinstance(region, Cube | Sphere) and region.mni is None:
        where = "around voxel ({}, {}, {})".format(*region.center)
    elif isinstance(region, Cube | Sphere):
        where = "around {}({:g}, {:g}, {:g}) mm".format("" if own else "MNI ", *region.mni)
    if isinstance(region, Cube):
        where, size = f"a cube of {' x '.join(3 * [str(region.size)])} voxels {where}", ""
    elif isinstance(region, Sphere):
        where = f"a sphere of {region.radius:g} mm {where}"
    subject = "a subject of our own, with the model of" if own else "the head that comes with"
    return (
        f"The signal was that of {where}{size} of {subject} fmrisim (Ellis et al., 2020), a part "
        "of BrainIAK (Kumar et al., 2021)."
    )


def _signal(protocol: Protocol) -> Iterator[str]:
    brain, events = protocol.brain, protocol.task.events
    drawn = "drawn for each voxel independently and uniformly between 0 and 1"
    if brain.smoothness:
        drawn = f"drawn at random and smooth in space (FWHM {brain.smoothness:g} mm)"
    answers = {"perception": ["each option seen"], "judgment": ["match", "mismatch"]}
    kinds = listed([each for kind in events[1:] for each in answers[kind]])
    imagined = (
        f"varied {IMAGERY_SD:.2g} times as much and had an expected correlation of "
        f"{brain.similarity:g} with that of seeing it"
        if "perception" in events
        else "was a weighted sum of two more that were drawn likewise"
    )
    yield (
        f"The patterns over the voxels evoked by {kinds} were {drawn}; that of imagining an "
        f"option {imagined}."
    )
    differs = [
        f"peaking {abs(brain.hrf_delay):g} s {'later' if brain.hrf_delay > 0 else 'earlier'}"
        if brain.hrf_delay
        else "",
        f"{brain.hrf_dispersion:g} times as wide" if brain.hrf_dispersion != 1 else "",
        f"with {brain.hrf_undershoot:g} times its undershoot" if brain.hrf_undershoot != 1 else "",
    ]
    own = "".join(f", {each}" for each in differs if each)
    height = (
        "in each series, the signal of each voxel was divided by its maximum in the run and then "
        f"scaled to {brain.cnr:g} times the SD of the voxel's full-strength noise"
        if protocol.recording == "separate"
        else f"the response to a lone event peaked at {brain.cnr:g} times the SD of the "
        "full-strength noise where its pattern was 1"
    )
    yield f"Events evoked fmrisim's double-gamma haemodynamic response{own}; {height}."


def _noise(protocol: Protocol) -> Iterator[str]:
    brain = protocol.brain
    on = [words for name, words in _SOURCES.items() if getattr(brain.noise_sources, name)]
    spikes = brain.motion.spikes_per_minute and brain.motion.size
    if not brain.noise or not (on or spikes):
        yield "No noise was added."
        return
    if on:
        engine = "generated by fmrisim for the whole brain"
        if brain.engine == "exact":
            law = "with the variances and correlations of fmrisim's noise"
            engine = f"sampled at the region alone, {law},"
        yield (
            f"Noise ({listed(on)}, as far as the subject has them) was {engine} and recorded with "
            f"a weight of {brain.noise:g}, where 1 is the full strength of the subject's noise."
        )
    if spikes:
        yield (
            f"Motion shifted {brain.motion.spikes_per_minute:g} frames a minute on average by "
            f"{brain.motion.size:g} SDs of the full-strength noise, up or down, with the same "
            f"weight of {brain.noise:g}."
        )


def estimate_sentences(protocol: Protocol) -> Iterator[str]:
    """Yield how contexts and feedback were estimated."""
    moved = ", the head's movement and" if protocol.estimate.motion else " and"
    how = (
        f"taken from one frame, that recorded {protocol.timing.frame_lag:g} s after its onset (or "
        "the last one there was)"
        if protocol.estimate.method == "frame"
        else f"the mean of {counted(estimate_frames(protocol), 'frame')}, from "
        f"{protocol.timing.frame_lag:g} s after its onset"
        if protocol.estimate.method == "window"
        else "estimated by generalised least squares with AR(1) noise and a ridge, together with "
        f"the other events of its series{moved} cosines for drift"
    )
    yield f"The response to an event was {how}."
    yield from _calibration(protocol)
    weights = {kind: getattr(protocol.feedback, kind) for kind in protocol.task.events[1:]}
    used = [f"{kind} (weight {weight:g})" for kind, weight in weights.items() if weight]
    mixed = "the weighted sum of the responses to" if len(used) > 1 else "the response to"
    yield (
        "The context of a trial was the response to imagination, estimated from the frames "
        f"complete at the time of the decision; its feedback was {mixed} {listed(used)}, estimated "
        "from the whole run."
    )


def _calibration(protocol: Protocol) -> Iterator[str]:
    """Yield what the estimates took from the runs as a whole."""
    estimate = protocol.estimate
    fitted = estimate.method == "glm" and estimate.hrf == "individual"
    if fitted:
        yield (
            "The haemodynamic response assumed was fmrisim's plus the three curves along which "
            "people's responses differ most, weighted by the maximum a posteriori given the mean "
            "responses to each kind of event in the training runs."
        )
    if estimate.normalise and estimate.method == "window":
        yield (
            "Estimates were normalised: divided, voxel by voxel, by the SD of the frames of the "
            "training runs."
        )
    elif estimate.normalise:
        yield (
            "Estimates were normalised by the noise: multiplied by the inverse square root of its "
            "covariance between voxels, which was estimated from the residuals of the training "
            "runs and shrunk."
        )
    if fitted or estimate.normalise:
        yield "During the session, each run was estimated with what the runs before had told."


def _learners(protocol: Protocol, learners: Sequence[str]) -> Iterator[str]:
    found = [LEARNERS.get(each) for each in learners]
    blind = [each.sentence or f"by {each.name}" for each in found if not each.told]
    told = [each.sentence or each.name for each in found if each.told]
    if blind:
        known = ", and the match rate of catch trials" if protocol.task.catch.share else ""
        yield (
            f"From contexts, guesses with their propensities and feedback{known}, but no labels "
            f"and no rewards, we learned policies {'; '.join(blind)}."
        )
    if told:
        compared = "For comparison, we trained" if blind else "We trained"
        yield f"{compared} {listed(told)}."
    if learners:
        yield "All learners are scikit-learn estimators (Pedregosa et al., 2011)."


def listed(words: Sequence[object]) -> str:
    """Return words as a sentence has them, such as ``"a, b and c"``."""
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


def counted(number: int, word: str) -> str:
    """Return a number of things, such as ``"1 trial"`` or ``"7 trials"``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
