"""Table 3 of the paper: MNIST, answered with images of other digits."""

from collections.abc import Sequence

from bciigl.labelled.study import REPEATS, Dataset, LabelledStudy
from bciigl.study.grid import StudyError

NAME = "table3"
FEEDBACK = ("action_inclusive", "action_exclusive")
SAMPLES, DIGITS = 20_000, 10
OPENML_ID = 554


def table3(
    datasets: Sequence[Dataset],
    *,
    feedback: Sequence[str] = FEEDBACK,
    repeats: int = REPEATS,
    seed: int = 0,
    samples: int = SAMPLES,
) -> LabelledStudy:
    """Return the study of Table 3.

    Parameters
    ----------
    datasets : sequence of Dataset
        MNIST, or other images of ten classes.
    feedback : sequence of str
        Rules: by default both of the paper's.
    repeats, seed : int
    samples : int
        Trials in each repeat, about images drawn from those for training.

    Raises
    ------
    StudyError
        If a dataset has not ten classes.
    """
    for each in datasets:
        if each.k != DIGITS:
            raise StudyError(
                f"{each.id}: should have {DIGITS} classes, as digits have, got {each.k}; the "
                "feedback is an image of the digit (a + 6 r - 3) mod 10"
            )
    return LabelledStudy(
        tuple(datasets),
        tuple(feedback),
        repeats=repeats,
        seed=seed,
        samples=samples,
        table=NAME,
    )
