"""What is kept? A journal while a session runs, and a BIDS dataset in the end."""

from bciigl.recording.dataset import Dataset, is_dataset, open_dataset
from bciigl.recording.layout import DatasetError
from bciigl.recording.truth import Session, Truth

__all__ = ["Dataset", "DatasetError", "Session", "Truth", "is_dataset", "open_dataset"]
