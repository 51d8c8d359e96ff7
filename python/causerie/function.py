"""Functions that the model may call, their schemas, and function calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Union

from causerie import causerie_ffi as ffi
from causerie._border import adopted, variant
from causerie._json import dumps, loads
from causerie.error import SdkError

if TYPE_CHECKING:
    from causerie import function


class SdkFunctionParameterType(ffi.SdkFunctionParameterType):
    """The type of a parameter, which is also a member of this class: `SdkFunctionParameterType.SdkStr()`. The model gets it as JSON
    Schema. Descriptions are used for nested types only."""

    if TYPE_CHECKING:
        SdkStr: ClassVar[type[function.SdkStr]]
        SdkNum: ClassVar[type[function.SdkNum]]
        SdkInt: ClassVar[type[function.SdkInt]]
        SdkBool: ClassVar[type[function.SdkBool]]
        SdkArr: ClassVar[type[function.SdkArr]]
        SdkObj: ClassVar[type[function.SdkObj]]
        SdkNull: ClassVar[type[function.SdkNull]]

    def __init__(self, *_: object) -> None:
        raise TypeError("the type of a parameter is SdkStr(), SdkNum(), SdkInt(), SdkBool(), SdkArr(…), SdkObj(…) or SdkNull()")


@variant(ffi.SdkFunctionParameterType, "SDK_STR")
@dataclass
class SdkStr(SdkFunctionParameterType):
    """A string; one of `enum_values` if given."""

    enum_values: list[str] | None = None
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_NUM")
@dataclass
class SdkNum(SdkFunctionParameterType):
    """A number; one of `enum_values` if given."""

    enum_values: list[float] | None = None
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_INT")
@dataclass
class SdkInt(SdkFunctionParameterType):
    """An integer; one of `enum_values` if given."""

    enum_values: list[int] | None = None
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_BOOL")
@dataclass
class SdkBool(SdkFunctionParameterType):
    """A boolean."""

    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_ARR")
@dataclass
class SdkArr(SdkFunctionParameterType):
    """An array whose elements have one type."""

    item_type: SdkFunctionParameterType
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_OBJ")
@dataclass
class SdkObj(SdkFunctionParameterType):
    """An object with these properties, of which those in `required` must be present."""

    properties: dict[str, SdkFunctionParameterType]
    required: list[str] = field(default_factory=list)
    description: str | None = None


@variant(ffi.SdkFunctionParameterType, "SDK_NULL")
@dataclass
class SdkNull(SdkFunctionParameterType):
    """Null."""


for _kind in (SdkStr, SdkNum, SdkInt, SdkBool, SdkArr, SdkObj, SdkNull):
    setattr(SdkFunctionParameterType, _kind.__name__, _kind)


@adopted
@dataclass
class SdkFunctionParameter:
    """A parameter of a function. Its description overrides the description of its type."""

    name: str
    type: SdkFunctionParameterType
    description: str
    optional: bool = False
    schema: dict[str, Any] | None = None
    """The JSON Schema of an imported parameter that no type can express. If present, it is used instead of the type."""


@adopted
@dataclass
class SdkFunction:
    """A function that the model may call. Its name has at most 200 letters, digits, `_` and `-`; identifiers are recommended."""

    name: str
    description: str
    parameters: list[SdkFunctionParameter] = field(default_factory=list)
    definition: str | None = None
    """The JSON text that the function was read from, if the other fields do not show all of it. Prompts show it as it is, with
    the name above, as long as it has the same description and parameters."""


@adopted
class Severity(str, Enum):
    """The severity of a diagnostic."""

    COERCED = "coerced"
    """The value was converted to the declared type."""
    WARNING = "warning"
    """The value cannot be checked; the app decides."""
    ERROR = "error"
    """The value does not fit the declared type."""


@adopted
@dataclass
class Diagnostic:
    """A finding about a call or one of its arguments."""

    code: str
    """The code of the finding: `missing_required`, `wrong_type`, …"""
    severity: Severity
    path: str
    """The path of the argument, such as `config.items[2].id`; empty for the whole call."""
    text: str
    """A one-line message, which can be sent back to the model."""


@adopted
@dataclass
class SdkFunctionCall:
    """A function call requested by the model. Validate the arguments before you run anything."""

    name: str
    """The name of the function, which may not be registered."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """The arguments as the model wrote them. Some may be missing or have the wrong type. Integers of any size are exact."""
    call_id: str = ""
    """Identifies the call within its message: `call_0`, `call_1`, … in order."""
    raw_text: str = ""
    """The text of this call as the model wrote it."""
    repairs: list[str] = field(default_factory=list)
    """Codes of the repairs that were needed to read it; empty for well-formed calls."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """Findings of the comparison with the registered functions; empty if the call is valid."""


@adopted
@dataclass
class RejectedCall:
    """Text of a call that could not be delivered."""

    reason: str
    """The code of the reason: `incomplete_block`, `positional_argument`, …"""
    name: str | None
    """The function's name, if it could be read."""
    raw_text: str
    byte_offset: int
    """Its start within its block, in bytes."""
    candidate: SdkFunctionCall | None
    """The call as far as it could be read. An app may choose to accept it."""
    explanation: str
    """The reason as one line."""


@adopted
@dataclass
class Validation:
    """The result of comparing a call with its function."""

    arguments: dict[str, Any]
    """The arguments, with values such as `"7"` converted to the declared type."""
    diagnostics: list[Diagnostic]
    is_ok: bool
    """Whether the function can be called with these arguments."""
    errors_as_tool_text: str
    """The errors as a function result, which can be sent back to the model."""


FunctionLike: TypeAlias = Union[SdkFunction, Mapping[str, Any], Callable[..., Any]]
"""A function, its entry in chat-completions `tools`, or anything that `function_from` accepts."""


def validate(call: SdkFunctionCall, functions: Iterable[FunctionLike]) -> Validation:
    """Compares a call with the function of the same name among these."""
    return ffi.validate(call, as_functions(functions))


def function_schema(function: FunctionLike) -> dict[str, Any]:
    """Returns the entry of a function in the tool list that the model reads."""
    schema: dict[str, Any] = loads(ffi.function_schema(as_function(function)))
    return schema


def functions_to_json(functions: Iterable[SdkFunction]) -> str:
    """Returns functions as JSON text in the form of chat-completions `tools`."""
    return ffi.functions_to_json(list(functions))


def functions_from_json(text: str) -> list[SdkFunction]:
    """Parses chat-completions `tools`. Raises `SdkError.Serialization` or `SdkError.InvalidFunction`."""
    return ffi.functions_from_json(text)


def as_function(function: FunctionLike) -> SdkFunction:
    if isinstance(function, SdkFunction):
        return function
    if isinstance(function, Mapping):
        return functions_from_json(json_text([dict(function)]))[0]
    if callable(function):
        from causerie.typed import function_from

        return function_from(function)
    raise TypeError(f"a function must be an SdkFunction, a dict or a callable, found {type(function).__name__}")


def as_functions(functions: Iterable[FunctionLike]) -> list[SdkFunction]:
    given = list(functions)
    made = [as_function(function) for function in given]
    check_names(zip((function.name for function in made), given))
    return made


def check_names(functions: Iterable[tuple[str, object]]) -> None:
    """Refuses two different functions of one name in one list: the model could call only one of them."""
    known: dict[str, object] = {}
    for name, function in functions:
        if known.setdefault(name, function) != function:
            raise SdkError.InvalidFunction(f"functions must have different names, found {name} twice")


def json_text(value: object, name: str = "value", ensure_ascii: bool = True) -> str:
    """Returns JSON text. Raises `SdkError.Serialization`, with this name, for values that JSON cannot represent."""
    try:
        return dumps(value, ensure_ascii)
    except (TypeError, ValueError, RecursionError) as err:
        raise SdkError.Serialization(f"{name} must be representable as JSON: {err}") from err
