"""Tables 1 and 3 of the paper: which studies they are, and what it reports."""

from collections.abc import Sequence
from typing import Any

from bciigl.base.registry import LEARNERS
from bciigl.labelled.rules import MOST_FEATURES, RULES, TEST_SHARE, action_reward
from bciigl.labelled.study import Dataset, LabelledStudy
from bciigl.learn.action_inclusive import AI_IGL
from bciigl.learn.bandit import BANDIT
from bciigl.study.grid import StudyError
from bciigl.study.published import Published, lines

TABLE1, TABLE3 = "table1", "table3"
TABLE1_FEEDBACK = ("action_reward", "coded")
TABLE3_FEEDBACK = ("action_inclusive", "action_exclusive")
SAMPLES, DIGITS = 20_000, 10
MNIST_ID = 554
"""What OpenML calls MNIST."""
DEPARTURES = {
    TABLE1: (
        "published figures are those of the paper's Table 4 (and 1: means over {sets} sets); the"
        " paper trains by gradient steps, ten times over the data, all learners here are fitted to"
        " the end. With (action, reward) the reward is in the feedback as it is: coded hides it,"
        " and the paper has nothing to compare it with."
    ),
    TABLE3: (
        "published figures are of MNIST. The paper does not say what it tests on, or whether an"
        " image may answer for itself: here it never does."
    ),
}


def openml_ids() -> list[int]:
    """Return what OpenML calls the paper's datasets."""
    return [int(line["openml_id"]) for line in lines("table4")]


def unfit(dataset: Dataset) -> str | None:
    """Return why the paper's symmetry breaking cannot work on a dataset, or None if it can."""
    if dataset.k < 3:
        return f"it has {dataset.k} classes; 3 are needed"
    if dataset.majority > 0.5:
        return f"{100 * dataset.majority:.1f} % of its labels are the same; half is the most"
    return None


def left_out(datasets: Sequence[Dataset]) -> list[str]:
    """Return which datasets are not fit for Table 1, and why."""
    reasons = [(each, unfit(each)) for each in datasets]
    return [f"left out: {each.id} ({each.name}): {why}" for each, why in reasons if why]


def table1(
    datasets: Sequence[Dataset], *, feedback: Sequence[str] = TABLE1_FEEDBACK, **how: Any
) -> LabelledStudy:
    """Return the study of Table 1, OpenML's datasets, on those that are fit for it."""
    fit = [each for each in datasets if unfit(each) is None]
    if datasets and not fit:
        raise StudyError(f"no dataset is fit: of {datasets[0].id}, {unfit(datasets[0])}")
    return LabelledStudy(tuple(fit), tuple(feedback), **how, table=TABLE1)


def table3(
    datasets: Sequence[Dataset], *, feedback: Sequence[str] = TABLE3_FEEDBACK, **how: Any
) -> LabelledStudy:
    """Return the study of Table 3: MNIST, or other images of ten classes."""
    for each in datasets:
        if each.k != DIGITS:
            raise StudyError(
                f"{each.id}: should have {DIGITS} classes, as digits have, got {each.k}; the "
                "feedback is an image of the digit (a + 6 r - 3) mod 10"
            )
    how = {"samples": SAMPLES, **how}
    return LabelledStudy(tuple(datasets), tuple(feedback), **how, table=TABLE3)


def published_labelled(
    table: str | None, learner: str, feedback: str, openml_id: int | None
) -> Published | None:
    """Return what Table 4 (for Table 1) or 3 (MNIST, whatever the id) reports, if anything."""
    name = LEARNERS.get(learner).published_as
    if table == TABLE3:
        for line in lines(TABLE3):
            if (line["feedback"], line["learner"]) == (feedback, name):
                return Published(float(line["accuracy"]), float(line["standard_error"]))
    if table == TABLE1 and feedback == action_reward.__name__:
        for line in lines("table4"):
            if int(line["openml_id"]) == openml_id:
                return _figure(line, name)
    return None


def published_average(subset: str, feedback: str, learner: str) -> Published | None:
    """Return what Table 1 reports for a learner, or for the best constant, on its own datasets."""
    for line in lines(TABLE1):
        if line["subset"] == subset and feedback == action_reward.__name__:
            return _figure(line, learner)
    return None


def _figure(line: dict[str, str], name: str) -> Published | None:
    error = line.get(f"{name}_se")
    return None if error is None else Published(float(line[name]), float(error))


def labelled_notes(study: LabelledStudy) -> list[str]:
    """Return what must be known to read a table: what was done, and what the paper did not."""
    notes = []
    for name in study.feedback:
        about = (RULES[name].__doc__ or "").strip().split("\n")[0] if name in RULES else ""
        notes.append(f"{name}: {about or 'a rule of your own.'}")
    apart = sum(each.own_test for each in study.datasets)
    random = len(study.datasets) - apart
    if random:
        part = f"a random {100 * TEST_SHARE:.0f} % of the examples, another part in each repeat"
        which = f" ({random} of {len(study.datasets)} datasets)" if apart else ""
        notes.append(f"tested on {part}{which}.")
    if apart:
        notes.append("tested on the part of the data that comes for testing.")
    if study.samples is not None:
        which = "about different examples for training, or as many as there are"
        notes.append(f"{study.samples:,} trials in each repeat, {which}.")
    if any(each.features > MOST_FEATURES for each in study.datasets) or study.table == TABLE3:
        notes.append(
            f"examples and answers of more than {MOST_FEATURES} features are reduced to"
            f" {MOST_FEATURES} principal components of the training data, for all learners."
        )
    notes.append(
        f"the {BANDIT.short_name} is told the rewards and, as {AI_IGL.short_name} is, that exactly"
        f" one label is right; labels are guessed uniformly, and the {BANDIT.short_name} learns the"
        " same from the same guesses whatever the feedback."
    )
    if study.table in DEPARTURES:
        notes.append(DEPARTURES[study.table].format(sets=len(openml_ids())))
    data = [f"{each.id} ({each.name}): {note}" for each in study.datasets for note in each.notes]
    return notes + data
