"""Checks what is passed to the engine, before the generated code meets it: with the place of a wrong value in its message.

The generated module has type hints for its calls, and this package's dataclasses have them for their fields. So one check knows all
calls and all values. Hints are names, and the generated code finds this package's classes by name, so hints are read at the first
call. Options are left out: they are checked when they are set.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

from causerie import causerie_ffi as ffi
from causerie._hints import is_union
from causerie._option_checks import CheckedOptions
from causerie.error import SdkError
from causerie.function import SdkFunction, SdkFunctionParameter, json_text

_SIMPLE = {str: "a string", bool: "True or False", int: "an integer", float: "a number", bytes: "bytes", dict: "a dict"}


def check(place: str, hint: Any, value: Any) -> None:
    """Raises `TypeError` for a value that is not of a type, and `SdkError.Serialization` for one that JSON cannot represent."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if is_union(origin):
        if value is None and type(None) in inner:
            return
        # The generated code adds `object` for values that may be left out.
        choices = [choice for choice in inner if choice not in (object, type(None))]
        choice = next((choice for choice in choices if _is_of(value, choice)), None)
        if choice is None:
            raise TypeError(f"{place} must be {' or '.join(map(_name, choices))}, found {_found(value)}")
        check(place, choice, value)
    elif not _is_of(value, hint):
        raise TypeError(f"{place} must be {_name(hint)}, found {_found(value)}")
    elif origin is list:
        is_vector = inner[0] is float and set(map(type, value)) <= {float, int}
        for at, item in enumerate([] if is_vector else value):  # vectors are long
            check(f"{place}[{at}]", inner[0], item)
    elif hint is dict or inner[1:] == (Any,):
        json_text(value, place)
    elif origin is dict:
        for key, item in value.items():
            check(f"{place} has a key that", inner[0], key)
            check(f"{place}.{key}", inner[1], item)
    elif hint is int and not -(1 << 63) <= value < 1 << 63:
        # Of all values that apps make, only the choices of an SdkInt are such integers.
        raise SdkError.InvalidFunction(f"{place} must be an integer of 64 bits, found {value}")
    elif not isinstance(value, CheckedOptions):
        kind: Any = type(value)
        for name, field in _fields(kind).items():
            check(_prefix(place, value) + name, field, getattr(value, name))


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, whatever is in it."""
    hint = typing.get_origin(hint) or hint
    if hint in (int, float):
        return hasattr(value, "__index__" if hint is int else "__float__") and not isinstance(value, bool)
    if hint is bytes:
        return isinstance(value, (bytes, bytearray, memoryview))
    if hint is list:
        return isinstance(value, Iterable) and isinstance(value, Sized) and not isinstance(value, (str, bytes, Mapping))
    if hint is dict:
        return isinstance(value, Mapping)
    if issubclass(hint, enum.Enum):
        return value in list(hint)  # the strings are equal to the members
    return isinstance(value, hint)


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a class of values, with their types. Generated ones declare only parameters, and apps may have subclasses with
    fields of their own."""
    ours: Any = next((base for base in kind.__mro__ if base.__module__.startswith("causerie.")), None)
    start = ours.__init__
    if not dataclasses.is_dataclass(ours):
        return {}
    hints = typing.get_type_hints(ours)
    return {field.name: hints[field.name] for field in dataclasses.fields(ours)} or _hints(start)


def _prefix(place: str, value: Any) -> str:
    """What stands before the name of a field. Functions and parameters are called by their names, as in errors of the engine."""
    if isinstance(value, SdkFunction):
        return f'function "{value.name}": '
    if isinstance(value, SdkFunctionParameter):
        return f"{place.rpartition('parameters[')[0]}parameter {value.name}: "
    return f"{place}."


def _name(hint: Any) -> str:
    if is_union(typing.get_origin(hint)):
        return " or ".join(map(_name, typing.get_args(hint)))
    if typing.get_origin(hint) is list:
        return f"a list of {'strings' if (item := typing.get_args(hint)[0]) is str else _name(item)}"
    name: str = hint.__name__
    return _SIMPLE.get(typing.get_origin(hint) or hint, name)


def _found(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


@functools.cache
def _hints(call: Callable[..., Any]) -> dict[str, Any]:
    return {name: hint for name, hint in typing.get_type_hints(call).items() if name != "return"}


def _checking(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, which checks its arguments first."""
    names = list(inspect.signature(call).parameters)

    @functools.wraps(call)
    def checked(*given: Any, **keywords: Any) -> Any:
        hints = _hints(call)
        for name, value in [*zip(names, given), *keywords.items()]:
            if name in hints:
                check(name, hints[name], value)
        return call(*given, **keywords)

    return checked if call.__annotations__.keys() - {"return"} else call


for _name_of_call, _call in list(vars(ffi).items()):
    if inspect.isfunction(_call) and not _name_of_call.startswith("_"):
        setattr(ffi, _name_of_call, _checking(_call))
    elif hasattr(_call, "_uniffi_make_instance"):
        for _name_of_method, _method in list(vars(_call).items()):
            if inspect.isfunction(_method) and (_name_of_method == "__init__" or not _name_of_method.startswith("_")):
                setattr(_call, _name_of_method, _checking(_method))
# It would write the arguments of each call as JSON once more.
ffi._UniffiFfiConverterTypeJsonObject.check_lower = lambda value: None
