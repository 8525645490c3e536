"""What is kept? A journal while a session runs, and a BIDS dataset in the end."""

from bciigl.recording.dataset import Dataset, is_dataset, open_dataset
from bciigl.recording.layout import DatasetError

__all__ = ["Dataset", "DatasetError", "is_dataset", "open_dataset"]
