"""Interactions that come from data, not from a brain."""
