"""What a session found, and what that means for use, in words before any statistic."""

from bciigl.base.registry import AGENTS, LEARNERS
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST, Diagnosis
from bciigl.loop.yoked import has_condition
from bciigl.protocol.recorded import caveat
from bciigl.report.findings import who
from bciigl.report.methods import counted
from bciigl.report.page import Notice
from bciigl.report.results import trusted
from bciigl.report.study_tables import sentence
from bciigl.report.views import SessionView
from bciigl.study.session_results import LearnerResult

VERDICTS = {
    TRUST: ("good", "its choices can be used"),
    DOUBTFUL: ("unsure", "do not rely on its choices yet"),
    DO_NOT_USE: ("bad", "do not use its choices"),
}
"""The mood of each verdict, and what it means for use."""
MEANING = {
    TRUST: "Without labels it found out which of its choices are right, and its own checks agree.",
    DOUBTFUL: "It may have learned to choose right, but its own checks leave room for doubt.",
    DO_NOT_USE: "It did not find out which choices are right: they may be no better than guesses.",
}


def short_name(result: LearnerResult) -> str:
    """Return the name of a result's learner, such as ``"AI-IGL"``."""
    return LEARNERS.get(result.learner_id).short_name


def lead(view: SessionView) -> str:
    """Return what the session found, in a sentence: the first thing that its report says."""
    result = view.main or view.told or next(iter(view.kept.learners), None)
    if result is None:
        return f"{view.no_truth}, without which none of its learners can learn."
    kept, chance = view.kept, f"chance is {view.chance:.1f} %"
    name = who(result.learner_id)
    after = f"{counted(kept.trials, 'trial')}{_hours(view)}"
    if result.accuracy is not None:
        found = f"{result.accuracy:.1f} % of {kept.test_trials} new trials were right; {chance}"
        if result.interval[0] > view.chance:
            return f"{name} learned to choose what was meant from {after}: {found}."
        return f"{name} shows no clear sign of learning from {after}: {found}."
    found = result.diagnosis
    if isinstance(found, Diagnosis) and found.accuracy is not None:
        low, high = (100 * each for each in found.interval)
        return (
            f"{name} learned from {after}, and estimates that {100 * found.accuracy:.0f} % of its "
            f"choices are right (95 % interval {low:.0f} to {high:.0f} %; {chance})."
        )
    if trusted(result):
        return f"{name} learned to choose what was meant from {after}; how often is not known."
    return f"{name} learned from {after}, but how well cannot be known."


def _hours(view: SessionView) -> str:
    if not view.hours:
        return ""
    return f" ({view.hours[-1]:.1f} h in {'the' if view.volumes else 'a'} scanner)"


def guesses_sentence(view: SessionView) -> list[str]:
    """Return how many of an agent's uniform guesses matched; of others a figure tells."""
    matches = view.kept.matches_by_run
    if not matches or not view.kept.uniform_guesses:
        return []
    guesses = sum(each.guesses for each in matches)
    matched = sum(each.matched * each.guesses for each in matches) / guesses
    return [
        f"The agent guessed uniformly: {matched:.0f} % of its {guesses} guesses matched, where "
        f"{view.chance:.1f} % are expected by chance."
    ]


def about(view: SessionView) -> str:
    """Return what kind of session it is: what happened, not what its protocol's file says."""
    protocol = view.dataset.protocol
    noise = f"noise {protocol.brain.noise:g} (1 is a real brain)"
    kind = f"session of a {view.dataset.group}"
    if view.rehearsed:
        kind = f"rehearsal with a simulated person, {noise}"
    elif view.volumes:
        kind = f"live session of a {view.dataset.group}"
    elif said := caveat(protocol):
        kind = f"session with recorded responses ({said})"
    elif view.dataset.group == "simulated":
        kind = f"simulated session, {noise}"
    facts = [kind[0].upper() + kind[1:], counted(view.kept.trials, "trial")]
    facts += [f"{view.kept.actions} options", *_guesses(view)]
    facts += [] if view.of_participant else [f"seed {protocol.seed}"]
    return f"{', '.join(facts)}."


def _guesses(view: SessionView) -> list[str]:
    if has_condition(view.dataset):
        return []  # it must not be told which one
    if view.kept.uniform_guesses:
        return ["uniform guesses"]
    policy = view.dataset.protocol.agent.policy
    if policy == "uniform":
        return ["guesses by an agent of its own"]
    return [f"guesses by {AGENTS.get(policy).name}"]


def verdict_notice(view: SessionView, result: LearnerResult | None) -> list[Notice]:
    """Return what a learner's verdict about itself means for use, and why, without statistics."""
    if result is None or result.diagnosis is None:
        return []
    found = result.diagnosis.named(view.dataset.protocol.task.options)
    mood, words = VERDICTS[found.verdict]
    text = [MEANING[found.verdict], f"Why: {found.plain.reason.rstrip('.')}.", found.remedy]
    title = f"{sentence(short_name(result))} says of itself: {words}"
    return [Notice(mood, title, " ".join(filter(None, text)))]
