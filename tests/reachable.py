"""Everything that can be got at from some objects."""

import gc
import types
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

_LEAVES = (type(None), bool, int, float, complex, str, bytes, np.generic)
_STOPS = (types.ModuleType, types.CodeType, type)
# Not its globals: they are its module.
_OF_FUNCTIONS = ("__closure__", "__defaults__", "__kwdefaults__", "__dict__")
MOST = 100_000


def reachable(*roots: Any) -> list[Any]:
    """Return all objects that lead on from these, through whatever; not into modules and types.

    An array leads to what it is a view of, a generator to its seed, a function to what it closes
    over, a method to its object.
    """
    found: dict[int, Any] = {}  # holds on to them, so that no other object gets the same id
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in found or isinstance(one, _STOPS):
            continue
        found[id(one)] = one
        assert len(found) < MOST, "there is no end to it"
        waiting.extend(_next(one))
    return list(found.values())


def _next(one: Any) -> Iterator[Any]:
    if isinstance(one, _LEAVES):
        return
    if isinstance(one, np.ndarray):
        yield one.base
        if one.dtype == object:
            yield from one.ravel().tolist()
        return
    if isinstance(one, types.FunctionType):
        yield from (getattr(one, name) for name in _OF_FUNCTIONS)
        return
    if isinstance(one, types.GeneratorType):
        yield from (one.gi_frame.f_locals if one.gi_frame else {}).values()
        return
    if isinstance(one, (types.MethodType, types.BuiltinMethodType)):
        yield one.__self__
        yield getattr(one, "__func__", None)
        return
    yield from gc.get_referents(one)
    yield getattr(one, "__dict__", None)
    # Compiled classes and slots show what they have by such attributes alone.
    for kind in type(one).__mro__:
        for name, attribute in vars(kind).items():
            if isinstance(attribute, (types.GetSetDescriptorType, types.MemberDescriptorType)):
                with suppress(AttributeError, ImportError):  # numpy's streams offer cffi
                    yield getattr(one, name)


def sequences(objects: list[Any]) -> Iterator[np.ndarray]:
    """Yield all arrays, lists and tuples of numbers among objects, flat."""
    for one in objects:
        if isinstance(one, (np.ndarray, list, tuple)):
            with suppress(TypeError, ValueError):
                flat = np.asarray(one, float).ravel()
                if flat.size:
                    yield flat


def holds(flat: np.ndarray, wanted: np.ndarray) -> bool:
    """Tell whether a sequence of numbers is somewhere in another."""
    if len(flat) < len(wanted):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(flat, len(wanted))
    return bool((windows == np.asarray(wanted, float)).all(axis=1).any())
