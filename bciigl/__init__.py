"""Closed-loop brain-computer-interface experiments on simulated fMRI, learned without labels.

>>> import bciigl
>>> session = bciigl.simulate("number_guessing", noise=0.05, trials=92)
>>> session.learn().verdict
'trust'

`simulate`, `learn`, `sweep`, `plan` and `report` do what the commands of the same names do; `load`
and `check` read protocols, `open_dataset` and `open_study` what is on disk.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bciigl.api import (
        check,
        load,
        open_dataset,
        open_study,
        simulate,
        sweep,
    )
    from bciigl.api.plan import plan  # mypy takes bciigl.api's for the module
    from bciigl.brain import Brain
    from bciigl.learn import (
        ActionInclusiveIGL,
        ContextualBandit,
        FullConditionalIGL,
        PerceptionTransfer,
        SupervisedCeiling,
    )
    from bciigl.protocol import Protocol

__version__ = "0.3.0"

_PLACES = {
    "bciigl.api": "check load open_dataset open_study plan simulate sweep",
    "bciigl.brain": "Brain",
    "bciigl.learn": "ActionInclusiveIGL ContextualBandit FullConditionalIGL PerceptionTransfer "
    "SupervisedCeiling",
    "bciigl.protocol": "Protocol",
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names.split()}
# Packages that can be called as well: see base/callable_package.py.
_PACKAGES = ("learn", "report")

__all__ = [  # noqa: F822 (learn and report are packages)
    "ActionInclusiveIGL",
    "Brain",
    "ContextualBandit",
    "FullConditionalIGL",
    "PerceptionTransfer",
    "Protocol",
    "SupervisedCeiling",
    "check",
    "learn",
    "load",
    "open_dataset",
    "open_study",
    "plan",
    "report",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for by name: `import bciigl` itself is instant."""
    if name in _PACKAGES:
        return import_module(f"bciigl.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'bciigl' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
