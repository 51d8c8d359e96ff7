"""Connects this package to the generated module `causerie_ffi`.

`causerie_ffi` looks up the classes of the values that it reads by name. This module replaces them with the classes of this
package, so that values need not be copied from one class to another. `_waiting` replaces the way in which its calls wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from causerie import causerie_ffi as ffi
from causerie.error import SdkError

Class = TypeVar("Class", bound=type[Any])

# Pairs of a generated class and its replacement. The tests compare them.
replaced: list[tuple[Any, Any]] = []


def adopted(cls: Class) -> Class:
    """Replaces the generated class of the same name."""
    replaced.append((getattr(ffi, cls.__name__), cls))
    setattr(ffi, cls.__name__, cls)
    if hasattr(cls, "_adopted"):
        cls._adopted()
    return cls


def variant(of: type[Any], name: str) -> Callable[[Class], Class]:
    """Replaces a variant of a generated enum."""

    def replace(cls: Class) -> Class:
        replaced.append((getattr(of, name), cls))
        setattr(of, name, cls)
        setattr(cls, "__dir__", _own_names)
        return cls

    return replace


def _own_names(self: object) -> list[str]:
    """The names of a variant, without those that the class of all variants has for each of them."""
    own = {**vars(type(self)), **vars(self)}
    return [name for name in object.__dir__(self) if name in own or name.startswith("__")]


class OfKind:
    """A value whose `kind` is the name of a variant of a generated enum, which the generated code asks as `is_AUTO()`."""

    kind: str

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[[], bool]:
            if not name.startswith("is_"):
                raise AttributeError(f"{type(self).__name__} has no attribute {name}", name=name, obj=self)
            return lambda: name == f"is_{self.kind.upper()}"


adopted(SdkError)
ffi.InternalError = SdkError.Internal


def _check_string(value: object) -> None:
    """Refuses a string that cannot be encoded as UTF-8 before anything is passed to the engine."""
    if not isinstance(value, str):
        raise TypeError(f"argument must be str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as err:
        raise SdkError.Serialization(f"string must be valid Unicode, found a lone surrogate at {err.start}") from err


ffi._UniffiFfiConverterString.check_lower = _check_string


# Garbage collection.
#
# The collector calls `__del__` of all objects in a cycle, in any order, before it destroys any of them. If an object of the
# engine freed its handle in `__del__`, objects whose `__del__` is called later could still use the freed handle. So it
# passes the handle to a new owner, which the collector does not know yet, and which frees the handle when the object is
# destroyed.


def _free_when_destroyed(cls: Any) -> None:
    """Makes a generated class free its handle only when nothing can use the object any more."""
    free, clone = cls.__del__, cls._uniffi_clone_handle

    class Owner:
        def __init__(self, handle: int) -> None:
            self._handle = handle

        def __del__(self) -> None:
            free(self)
            del self._handle  # a resurrected object may be part of a cycle again, with its owner

    def pass_handle_on(self: Any) -> None:
        if "_handle" in vars(self):
            self._owner = Owner(vars(self).pop("_handle"))

    cls.__del__ = pass_handle_on
    cls._uniffi_clone_handle = lambda self: clone(getattr(self, "_owner", self))


# Copies.
#
# Copying and pickling copy an object's attributes. A copied handle would be freed twice, which ends the process, and in
# another process it is the address of something else.


def uncopyable(advice: str) -> Callable[[Class], Class]:
    """Makes copying and pickling objects of a class, and of its subclasses, raise a `TypeError` with this advice."""

    def refuse(self: object, protocol: object = None) -> NoReturn:
        raise TypeError(f"{type(self).__name__} must not be copied or pickled: it belongs to this process; {advice}")

    def replace(cls: Class) -> Class:
        setattr(cls, "__reduce_ex__", refuse)  # what `copy` and `pickle` call
        return cls

    return replace


for _cls in list(vars(ffi).values()):
    if hasattr(_cls, "_uniffi_make_instance"):
        _free_when_destroyed(_cls)
        uncopyable("create a new one instead")(_cls)


# Forks.
#
# A forked process has none of the engine's threads and would wait for them forever. So its calls raise an error instead.

_fork_count = 0
_is_loaded = False


def _forked() -> None:
    global _fork_count
    _fork_count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def fork_count() -> int:
    """The number of forks between the first process and this one."""
    return _fork_count


def check_can_load() -> None:
    """Refuses to load a model in the fork of a process that had loaded one."""
    global _is_loaded
    if _is_loaded and 0 < _fork_count:
        raise SdkError.ModelLoad("this process was forked from one that had loaded a model; start it with spawn instead")
    if _fork_count == 0:
        _is_loaded = True


def check_not_forked(fork_count: int) -> None:
    """Refuses a call that needs an engine of the parent process."""
    if fork_count != _fork_count:
        raise SdkError.ModelUnloaded("the model was loaded before this process was forked, and stays in the parent process")

