"""The border to the engine.

`causerie_ffi` is generated, and looks up the classes of what it reads by name. Here it is made to build those of this
package in their place, so that nothing is copied from one to the other. `_waiting` makes its calls wait in ways that
suit Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from causerie import causerie_ffi as ffi
from causerie.error import SdkError

Class = TypeVar("Class", bound=type[Any])

# What was replaced, and by what: the tests compare them.
replaced: list[tuple[Any, Any]] = []


def adopted(cls: Class) -> Class:
    """Takes the place of the generated class of the same name."""
    replaced.append((getattr(ffi, cls.__name__), cls))
    setattr(ffi, cls.__name__, cls)
    return cls


def variant(of: type[Any], name: str) -> Callable[[Class], Class]:
    """Takes the place of a variant of a generated enum."""

    def take_place(cls: Class) -> Class:
        replaced.append((getattr(of, name), cls))
        setattr(of, name, cls)
        return cls

    return take_place


adopted(SdkError)
ffi.InternalError = SdkError.Internal


def _check_text(value: object) -> None:
    """Refuses text that has no UTF-8 before anything is handed over."""
    if not isinstance(value, str):
        raise TypeError(f"argument must be str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as err:
        raise SdkError.Serialization(f"text with a lone surrogate at {err.start}") from err


ffi._UniffiFfiConverterString.check_lower = _check_text


# Garbage.
#
# The collector calls `__del__` of all that stands in a cycle, in any order, before it takes anything apart. An object of
# the engine that frees itself there would be used freed by those that come behind it. So it passes its handle to an
# owner, which the collector does not know of yet, and which frees it when the object is taken apart.


def _freed_at_last(cls: Any) -> None:
    """Makes a generated class free what it stands for only when nothing can use it any more."""
    free, clone = cls.__del__, cls._uniffi_clone_handle

    class Owner:
        def __init__(self, handle: int) -> None:
            self._handle = handle

        def __del__(self) -> None:
            free(self)
            del self._handle  # an object that was brought back may be in a cycle once more, with its owner

    def pass_on(self: Any) -> None:
        if "_handle" in vars(self):
            self._owner = Owner(vars(self).pop("_handle"))

    cls.__del__ = pass_on
    cls._uniffi_clone_handle = lambda self: clone(getattr(self, "_owner", self))


for _cls in list(vars(ffi).values()):
    if hasattr(_cls, "_uniffi_make_instance"):
        _freed_at_last(_cls)


# Forks.
#
# A child has none of the engine's threads: it would wait for them for ever. So it is told.

_fork_count = 0
_is_loaded = False


def _forked() -> None:
    global _fork_count
    _fork_count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def fork_count() -> int:
    """How many forks away the first process is."""
    return _fork_count


def check_can_load() -> None:
    """Refuses to load a model in the fork of a process that had loaded one."""
    global _is_loaded
    if _is_loaded and 0 < _fork_count:
        raise SdkError.ModelLoad("this process was forked from one that had loaded a model; start it with spawn")
    if _fork_count == 0:
        _is_loaded = True


def check_not_forked(fork_count: int) -> None:
    """Refuses what needs an engine that stayed behind in the parent process."""
    if fork_count != _fork_count:
        raise SdkError.ModelUnloaded("the model was loaded before this process was forked, and stayed in the other")

