"""Closed-loop brain-computer-interface experiments on simulated fMRI, learned without labels."""

__version__ = "0.3.0"
