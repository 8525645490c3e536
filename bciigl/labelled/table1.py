"""Table 1 of the paper: labels of OpenML's datasets, guessed without labels."""

from collections.abc import Sequence

from bciigl.labelled.study import REPEATS, Dataset, LabelledStudy
from bciigl.study.grid import StudyError
from bciigl.study.published import lines

NAME = "table1"
FEEDBACK = ("action_reward", "coded")
FEWEST_CLASSES, LARGEST_MAJORITY = 3, 0.5


def openml_ids() -> list[int]:
    """Return what OpenML calls the paper's datasets."""
    return [int(line["openml_id"]) for line in lines("table4")]


def unfit(dataset: Dataset) -> str | None:
    """Return why the paper's symmetry breaking cannot work on a dataset, or None if it can."""
    if dataset.k < FEWEST_CLASSES:
        return f"it has {dataset.k} classes; {FEWEST_CLASSES} are needed"
    if dataset.majority > LARGEST_MAJORITY:
        return f"{100 * dataset.majority:.1f} % of its labels are the same; half is the most"
    return None


def table1(
    datasets: Sequence[Dataset],
    *,
    feedback: Sequence[str] = FEEDBACK,
    repeats: int = REPEATS,
    seed: int = 0,
) -> LabelledStudy:
    """Return the study of Table 1 on those datasets that are fit for it.

    Parameters
    ----------
    datasets : sequence of Dataset
    feedback : sequence of str
        Rules: by default the paper's, which has the reward in the clear, and one that hides it.
    repeats : int
        Random splits into nine tenths to learn from and one tenth to be tested on.
    seed : int

    Raises
    ------
    StudyError
        If no dataset is fit.
    """
    fit = [each for each in datasets if unfit(each) is None]
    if datasets and not fit:
        raise StudyError(f"no dataset is fit: of {datasets[0].id}, {unfit(datasets[0])}")
    return LabelledStudy(tuple(fit), tuple(feedback), repeats=repeats, seed=seed, table=NAME)
