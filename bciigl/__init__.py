"""Closed-loop brain-computer-interface experiments on simulated fMRI, learned without labels."""

from typing import Any

__version__ = "0.3.0"

_LAZY = {"plan": "bciigl.study.planning"}


def __getattr__(name: str) -> Any:
    """Import what is asked for by name: `import bciigl` itself is instant."""
    if name not in _LAZY:
        raise AttributeError(f"module 'bciigl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_LAZY]
