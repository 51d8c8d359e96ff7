"""Functions that the model may call, their schemas, and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, Union

from causerie import causerie_ffi as ffi
from causerie._border import adopted, variant
from causerie._json import dumps, loads
from causerie.error import SdkError


@variant(ffi.SdkFunctionParameterType, "SDK_STR")
@dataclass
class SdkStr(ffi.SdkFunctionParameterType):
    """Text; one of `enum_values` where they are given."""

    enum_values: list[str] | None = None
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_NUM")
@dataclass
class SdkNum(ffi.SdkFunctionParameterType):
    """A number; one of `enum_values` where they are given."""

    enum_values: list[float] | None = None
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_INT")
@dataclass
class SdkInt(ffi.SdkFunctionParameterType):
    """A whole number; one of `enum_values` where they are given."""

    enum_values: list[int] | None = None
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_BOOL")
@dataclass
class SdkBool(ffi.SdkFunctionParameterType):
    """True or false."""

    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_ARR")
@dataclass
class SdkArr(ffi.SdkFunctionParameterType):
    """A list, whose items are all of one type."""

    item_type: SdkFunctionParameterType
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_OBJ")
@dataclass
class SdkObj(ffi.SdkFunctionParameterType):
    """A map of named values, of which those in `required` must be present."""

    properties: dict[str, SdkFunctionParameterType]
    required: list[str] = field(default_factory=list)
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_NULL")
@dataclass
class SdkNull(ffi.SdkFunctionParameterType):
    """Null."""


SdkFunctionParameterType: TypeAlias = Union[SdkStr, SdkNum, SdkInt, SdkBool, SdkArr, SdkObj, SdkNull]
"""The type of a parameter, translated to JSON Schema for the model. A description counts only where it is nested."""


@adopted
@dataclass
class SdkFunctionParameter:
    """A parameter of a function. Its description overrides that of its type."""

    name: str
    type: SdkFunctionParameterType
    description: str
    optional: bool = False
    schema: dict[str, Any] | None = None
    """The JSON Schema of an imported parameter that no type expresses: it counts in place of the type."""


@adopted
@dataclass
class SdkFunction:
    """A function that the model may call. Names hold letters, `_` and digits, and start with no digit."""

    name: str
    description: str
    parameters: list[SdkFunctionParameter] = field(default_factory=list)


@adopted
class Severity(str, Enum):
    """How much a diagnostic matters."""

    COERCED = "coerced"
    """The value was changed, and fits."""
    WARNING = "warning"
    """Nothing to compare with; the app decides."""
    ERROR = "error"
    """The value does not fit."""


@adopted
@dataclass
class Diagnostic:
    """One remark about a call, or about one of its arguments."""

    code: str
    """What was found: `missing_required`, `wrong_type`, …"""
    severity: Severity
    path: str
    """Where: `config.items[2].id`; empty for the call as a whole."""
    text: str
    """One readable line, fit to be sent back to the model."""


@adopted
@dataclass
class SdkFunctionCall:
    """A call that the model wants made. Validate the arguments before you run anything."""

    name: str
    """The function wanted. It need not be a registered one."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Exactly what the model wrote; arguments may be missing or of the wrong type. Integers are exact at any size."""
    call_id: str = ""
    """Tells the calls of a message apart: `call_0`, `call_1`, … in order."""
    raw_text: str = ""
    """The text of this call as the model wrote it."""
    repairs: list[str] = field(default_factory=list)
    """What was mended to read it, by code; empty for clean calls."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """How it compares with the functions registered; empty when it fits."""


@adopted
@dataclass
class RejectedCall:
    """Call text that could not be delivered as a call."""

    reason: str
    """Why, by code: `incomplete_block`, `positional_argument`, …"""
    name: str | None
    """The function's name, where it could be read."""
    raw_text: str
    byte_offset: int
    """Where it starts in its block, in bytes."""
    candidate: SdkFunctionCall | None
    """The call as it could be read nevertheless; an app may accept it deliberately."""
    explanation: str
    """One readable line."""


@adopted
@dataclass
class Validation:
    """A call compared with its function."""

    arguments: dict[str, Any]
    """The arguments, with what obviously fits made to fit."""
    diagnostics: list[Diagnostic]
    is_ok: bool
    """Whether the function can be run with these arguments."""
    errors_as_tool_text: str
    """What is wrong, as a result to be sent back to the model."""


FunctionLike: TypeAlias = Union[SdkFunction, Mapping[str, Any], Callable[..., Any]]
"""A function, its entry in chat-completions `tools`, or what `function_from` takes."""


def validate(call: SdkFunctionCall, functions: Iterable[FunctionLike]) -> Validation:
    """Compares a call with the function of its name among these."""
    return ffi.validate(call, as_functions(functions))


def function_schema(function: FunctionLike) -> dict[str, Any]:
    """The entry of a function in the list that the model reads."""
    schema: dict[str, Any] = loads(ffi.function_schema(as_function(function)))
    return schema


def functions_to_json(functions: Iterable[SdkFunction]) -> str:
    """Functions as JSON text: chat-completions `tools`."""
    return ffi.functions_to_json(list(functions))


def functions_from_json(text: str) -> list[SdkFunction]:
    """Reads chat-completions `tools`. Raises `SdkError.Serialization` or `SdkError.InvalidFunction`."""
    return ffi.functions_from_json(text)


def as_function(function: FunctionLike) -> SdkFunction:
    if isinstance(function, SdkFunction):
        return function
    if isinstance(function, Mapping):
        return functions_from_json(json_text([dict(function)]))[0]
    if callable(function):
        from causerie.typed import function_from

        return function_from(function)
    raise TypeError(f"a function is an SdkFunction or a dict, not {type(function).__name__}")


def as_functions(functions: Iterable[FunctionLike]) -> list[SdkFunction]:
    return [as_function(function) for function in functions]


def json_text(value: object) -> str:
    """JSON text. Raises `SdkError.Serialization` for what JSON cannot hold."""
    try:
        return dumps(value)
    except (TypeError, ValueError, RecursionError) as err:
        raise SdkError.Serialization(f"this is no JSON: {err}") from err
