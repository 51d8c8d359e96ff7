"""Checks of options, which convert values to the types of the engine. They raise `TypeError` with what a value must be."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, TypeVar

from causerie._json import dumps
from causerie._numbers import integer, number
from causerie.choices import ToolChoice, one_of
from causerie.error import SdkError
from causerie.typed import reply_schema

Options = TypeVar("Options", bound="CheckedOptions")
Class = TypeVar("Class", bound=type[Any])

NOT_GIVEN: Any = object()


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("True or False")
    return value


def optional_flag(value: Any) -> bool:
    return flag(value)  # None is taken before, as the default


def string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def path(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError("a path")
    return os.fsdecode(value)


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError("a list of strings")
    return [string(item) for item in value]


def entries(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("a dict")
    entries = dict(value)
    try:
        dumps(entries)
    except (TypeError, ValueError, RecursionError) as err:
        raise TypeError(f"a dict that JSON can represent ({err})") from None
    return entries


def biases(value: Any) -> dict[int, float]:
    if not isinstance(value, Mapping):
        raise TypeError("a dict from token ids to numbers")
    return {integer(32)(token): number(bias) for token, bias in value.items()}


def tool_names(value: Any) -> list[str]:
    return strings(value)  # None is taken before, as the default; an option with `strings` is never None


def schema(value: Any) -> str:
    if not isinstance(value, (str, Mapping)):
        try:
            value = reply_schema(value)
        except TypeError as err:
            raise TypeError(f"a dict or a type that JSON Schema can describe ({err})") from err
    return value if isinstance(value, str) else dumps(entries(value))


def tool_choice(value: Any) -> ToolChoice:
    match value:
        case ToolChoice(kind="auto" | "none" | "required" | "function", name=str()):
            return value
        case "auto" | "none" | "required":
            return ToolChoice(value)
        case {"type": "function", "function": {"name": str(name)}}:
            return ToolChoice.function(name)
    raise TypeError("'auto', 'none', 'required' or a ToolChoice")


def one_of_choices(choices: type[Enum]) -> Callable[[Any], Enum]:
    return functools.partial(one_of, choices)


class CheckedOptions:
    """Options that are checked when they are set. Wrong values raise `SdkError.InvalidOption`; `None` is the default."""

    _checks: ClassVar[Mapping[str, Callable[[Any], Any]]]

    @classmethod
    def _adopted(cls) -> None:
        suggests_options(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._checks.get(name)
        if check is None:
            raise _unknown(name, self._checks)
        is_default = value is None and check not in (flag, strings)
        object.__setattr__(self, name, None if is_default else checked(name, check, value))


def suggests_options(cls: Class) -> Class:
    """Makes the constructor of a class say which option an unknown keyword probably meant, as setting it and calls do."""
    start: Any = cls.__init__
    kinds = inspect.signature(start).parameters
    known = [name for name in list(kinds)[1:] if kinds[name].kind is not inspect.Parameter.VAR_POSITIONAL]

    @functools.wraps(start)
    def __init__(self: Any, *given: Any, **keywords: Any) -> None:
        for name in keywords:
            if name not in known:
                raise _unknown(name, known)
        start(self, *given, **keywords)

    setattr(cls, "__init__", __init__)
    return cls


def checked(name: str, check: Callable[[Any], Any], value: Any) -> Any:
    """Returns a checked value. Raises `SdkError.InvalidOption`, which names the option."""
    try:
        return check(value)
    except (TypeError, ValueError) as err:
        raise SdkError.InvalidOption(f"{name} must be {err}, found {value!r}", name) from None


def gathered(kind: type[Options], options: Options | None, keywords: Mapping[str, Any]) -> Options:
    """Returns options that were given as an object or as keywords."""
    if options is None and kind.__name__ == "GenerationOptions" and "generation_options" in keywords:
        options = keywords["generation_options"]  # the name of the argument in the specification
        keywords = {name: value for name, value in keywords.items() if name != "generation_options"}
    if options is not None:
        if not isinstance(options, kind):
            raise SdkError.InvalidOption(f"options must be {kind.__name__}, found {type(options).__name__}", "options")
        for name in keywords:
            raise SdkError.InvalidOption(f"{name} must be set in the options object, found a keyword beside it", name)
        return options
    return kind(**keywords)


def _unknown(name: str, known: Iterable[str]) -> SdkError:
    found = f"there is no option {name}"
    if near := _nearest(name, list(known)):
        found += f"; did you mean {near}?"
    return SdkError.InvalidOption(found, name)


def _nearest(name: str, known: list[str]) -> str | None:
    """The known name that was probably meant: `maxTokens`, `temprature`, `seed`."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
    near = difflib.get_close_matches(words, known, 1, 0.75) or [other for other in known if words in other.split("_")]
    return near[0] if near else None


def nested(kind: type[Options]) -> Callable[[Any], Options]:
    """Returns a check of options in an option, which may be an object or a dict."""

    def check(value: Any) -> Options:
        if isinstance(value, kind):
            return value
        if isinstance(value, Mapping):
            return gathered(kind, None, value)
        raise TypeError(f"{kind.__name__} or a dict")

    return check
