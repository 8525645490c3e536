"""The report of a plan."""

import json
import shlex
from collections.abc import Sequence

from bciigl.base.registry import LEARNERS
from bciigl.protocol import dump
from bciigl.report.methods import (
    counted,
    methods_paragraph,
    population_sentences,
    references,
)
from bciigl.report.page import KeyNumber, Notice, Section, again_section
from bciigl.report.plan_drawings import curves_drawing, designs_drawing, plan_drawing
from bciigl.report.plan_tables import about, comparison, design_table, verdict_words
from bciigl.report.study import unfinished, versions_told
from bciigl.report.study_tables import sentence
from bciigl.study.plan import CHECKED, MATCH_RATE, Plan
from bciigl.study.plan_answer import Answer
from bciigl.study.plan_search import ERROR, FIRST, IN_A_ROW, STEP
from bciigl.study.plan_time import most_trials
from bciigl.study.planning import RACE_ERROR, Planned
from bciigl.study.store import Results


def lead(plan: Plan) -> str:
    """Return what the report says below its title."""
    return f"{plan.protocol.description.strip()} How long must people be scanned?".lstrip()


def plan_sections(plan: Plan, results: Results, answers: Sequence[Answer]) -> list[Section]:
    """Return the report of a plan, given its answers as `read_rows` gives them."""
    best, planned = answers[0], Planned(plan, list(answers), results)
    design = f" ({best.design})" if best.varied else ""
    mood = "good" if best.reached else "bad"
    notices = [Notice(mood, f"{sentence(best.sentence)}{design}.", about(plan, best))]
    sections = [
        Section(
            "The answer",
            numbers=_numbers(best),
            notices=notices + unfinished(plan, results, "people"),
            drawings=[plan_drawing(planned)],
        ),
        Section(
            "Person by person",
            [f"{sentence(verdict_words(plan, best))}."] if best.verdicts else [],
            drawings=[curves_drawing(planned)],
        ),
    ]
    if len(answers) > 1:
        sections.append(
            Section(
                "Designs compared",
                [sentence(comparison(answers))],
                tables=[design_table(answers)],
                drawings=[designs_drawing(planned)],
            )
        )
    justified = justification(plan, results, best)
    session = _session(plan, best)
    cited = references(f"{justified} {session}")
    return [
        *sections,
        Section("Sample-size justification", [justified, session], references=cited),
        _again(plan, results),
        Section(
            "Protocol",
            ["The whole experiment, every field. Trials and noise are those of the plan."],
            preformatted=dump(plan.protocol),
        ),
    ]


def _numbers(best: Answer) -> list[KeyNumber]:
    if not best.reached:
        return [KeyNumber(f"{best.reaching} of {best.people}", "people reach the target")]
    low, high = best.interval
    upper = "not bounded" if high is None else f"{high:.2g}"
    return [
        KeyNumber(str(best.trials), "trials"),
        KeyNumber(f"{best.hours:.2g} h", "in the scanner", f"95 % interval {low:.2g} to {upper}"),
        KeyNumber(f"{best.reaching} of {best.people}", "people reach it within the hours"),
    ]


def justification(plan: Plan, results: Results, best: Answer) -> str:
    """Return how the length of sessions was found, to be put into a grant or a preregistration."""
    cell = next(each for each in plan.cells if each.key in results)
    tested = cell.goal.tested
    learner = LEARNERS.get(plan.learner)
    noise = best.varied.get("brain.noise", plan.noise)
    what = "accuracy on these test trials"
    if plan.measure == MATCH_RATE:
        what = "share of guesses that match in the closed loop, by the policy's accuracy on them,"
    varied = f" of the design with {best.design}" if best.varied else ""
    planned = ""
    if best.reached and best.interval.high is not None:
        hours = f"{best.interval.high:.2g} scanner hours"
        planned = f" We therefore plan {hours} for each participant, the interval's upper end."
    raced = ""
    if len(plan.designs) > 1:
        raced = (
            f" {len(plan.designs)} designs were compared in the same simulated people; those that "
            f"were clearly worse (paired bootstrap, error rate {RACE_ERROR:g}) got fewer of them."
        )
    return (
        "To find how long participants must be scanned, we simulated "
        f"{counted(best.people, 'person').replace('persons', 'people')}{varied} with bciigl at a "
        f"noise weight of {noise:g} (1 is the noise of a real brain), each with another random "
        f"seed derived from {plan.protocol.seed} ({versions_told(results)}). Each had a test "
        f"session of {tested} independent trials and a training session that grew to at most "
        f"{plan.hours:g} scanner hours. After {FIRST} trials and then in steps of "
        f"{100 * STEP:.0f} %, a policy was learned from the trials so far"
        f"{_how(learner.sentence)}, without labels and rewards. A person's need is the first "
        f"length from which on the {what} stayed at {plan.target:g} % or above. Simulation of a "
        f"person ended when the exact lower {100 * (1 - ERROR):.1f} % bound of the accuracy was "
        f"above the target at {IN_A_ROW} lengths in a row, or when not even supervised learning, "
        "cross-validated in the test session, had an upper bound as high as the target."
        f"{_checked(best)}{raced} The length that a share of {plan.power:g} of people need is the "
        "sample quantile, with its distribution-free 95 % interval by order statistics (Conover, "
        f"1999). Result: {best.sentence}.{planned}"
    )


def _how(said: object) -> str:
    return f" {said}" if isinstance(said, str) and said else ""


def _checked(best: Answer) -> str:
    people, wrong = best.checked
    if not people:
        return ""
    return (
        f" To check that, one person in {CHECKED} was simulated to the end: of {people} decided "
        f"before, {wrong or 'none'} fell below the target later."
    )


def _session(plan: Plan, best: Answer) -> str:
    """Return the methods of a session as long as the answer says, of anybody."""
    protocol = next(each for varied, each in plan.designs if varied == best.varied)
    trials = best.trials or most_trials(protocol, plan.hours)
    task = protocol.task.model_copy(update={"trials": trials})
    planned = protocol.model_copy(update={"task": task})
    how = {"learners": (plan.learner, "ceiling"), "tested": False, "alone": False}
    return " ".join([methods_paragraph(planned, **how), *population_sentences(planned)])


def _again(plan: Plan, results: Results) -> Section:
    words = [
        "The command below makes the same plan again, with the same numbers if the versions are "
        "the same. The protocol below is to be saved as plan.yaml."
    ]
    facts = {
        "seed": str(plan.protocol.seed),
        "protocol, SHA-256": plan.protocol.content_hash,
        "simulated with": versions_told(results),
    }
    command = ["bciigl", "plan", "plan.yaml"]
    for name in ("target", "measure", "power", "hours", "people"):
        command += [f"--{name}", str(getattr(plan, name))]
    if "brain.noise" not in plan.vary:
        command += ["--noise", repr(plan.noise)]
    for name, values in plan.vary.items():
        text = json.dumps(list(values), separators=(",", ":"), ensure_ascii=False)
        command += ["--vary", f"{name}={text[1:-1]}"]
    return again_section(words, facts, shlex.join(command))
