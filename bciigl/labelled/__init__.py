"""The paper's experiments on labelled data (MNIST, OpenML)."""

from bciigl.labelled.rows import LabelledRow, labelled_rows
from bciigl.labelled.study import LabelledStudy

__all__ = ["LabelledRow", "LabelledStudy", "labelled_rows"]
