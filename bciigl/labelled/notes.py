"""What must be known to read the tables of labelled data, in sentences."""

from collections.abc import Sequence

from bciigl.labelled import table1, table3
from bciigl.labelled.rules import MOST_FEATURES, RULES, TEST_SHARE
from bciigl.labelled.study import Dataset, LabelledStudy
from bciigl.study.published import lines


def labelled_notes(study: LabelledStudy) -> list[str]:
    """Return what was done, and where it is not what the paper did."""
    return [*_rules(study), *_setting(study), *_departures(study), *data_notes(study.datasets)]


def data_notes(datasets: Sequence[Dataset]) -> list[str]:
    """Return what was done to datasets while they were read."""
    return [f"{each.id} ({each.name}): {note}" for each in datasets for note in each.notes]


def left_out(datasets: Sequence[Dataset]) -> list[str]:
    """Return which datasets are not fit for Table 1, and why."""
    reasons = [(each, table1.unfit(each)) for each in datasets]
    return [f"left out: {each.id} ({each.name}): {why}" for each, why in reasons if why]


def _rules(study: LabelledStudy) -> list[str]:
    words = []
    for name in study.feedback:
        about = (RULES[name].__doc__ or "").strip().split("\n")[0] if name in RULES else ""
        words.append(f"{name}: {about or 'a rule of your own.'}")
    return words


def _setting(study: LabelledStudy) -> list[str]:
    apart = [each for each in study.datasets if each.own_test]
    random = len(study.datasets) - len(apart)
    words = []
    if random:
        words.append(
            f"tested on a random {100 * TEST_SHARE:.0f} % of the examples, another part in each"
            " repeat" + (f" ({random} of {len(study.datasets)} datasets)" if apart else "") + "."
        )
    if apart:
        words.append("tested on the part of the data that comes for testing.")
    if study.samples is not None:
        words.append(
            f"{study.samples:,} trials in each repeat, about different examples for training, or as"
            " many as there are."
        )
    if any(each.features > MOST_FEATURES for each in study.datasets) or study.table == table3.NAME:
        words.append(
            f"examples and answers of more than {MOST_FEATURES} features are reduced to so many"
            " principal components of the training data, for all learners."
        )
    words.append(
        "cb is told the rewards and, as ai_igl, that exactly one label is right; labels are guessed"
        " uniformly, and cb learns the same from the same guesses whatever the feedback."
    )
    return words


def _departures(study: LabelledStudy) -> list[str]:
    if study.table == table1.NAME:
        every = len(lines("table4"))
        return [
            f"published figures are those of the paper's Table 4 (and 1: means over {every} sets);"
            " the paper trains by gradient steps, ten times over the data, all learners here are"
            " fitted to the end. With (action, reward) the reward is in the feedback as it is:"
            " coded hides it, and the paper has nothing to compare it with."
        ]
    if study.table == table3.NAME:
        return [
            "published figures are of MNIST. The paper does not say what it tests on, or whether an"
            " image may answer for itself: here it never does."
        ]
    return []
