"""Packages that can be called, such as ``bciigl.learn(...)``."""

from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that shares its name with a function of `bciigl`, and is called in its place.

    ``bciigl.learn`` is a package, with the learners in it, and what people expect to call. Python
    lets a module have a class of its own, so it can be both.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of that name, which is documented in `bciigl.api`."""
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module("bciigl.api"), name)(*arguments, **options)
