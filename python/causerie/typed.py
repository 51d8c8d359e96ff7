"""Functions and replies with Python types.

A function with type hints, a dataclass, a `TypedDict` or a pydantic model describes a function for the model. Where pydantic
is installed, all types that it can describe are accepted; without it, the simple ones are. Strings in `Annotated` and the
`Args:` of a docstring describe parameters, the docstring describes the function, and a parameter with a default is optional.
Arguments and replies are returned as values of these types, or raise `SdkError.InvalidArgument`, which names the argument.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import inspect
import re
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload
from uuid import UUID

from causerie import causerie_ffi as ffi
from causerie._docstrings import parameter_descriptions, summary
from causerie._hints import docstring, is_nullable, without_null
from causerie._plain_types import PlainType
from causerie.error import SdkError
from causerie.function import (
    SdkArr,
    SdkFunction,
    SdkFunctionCall,
    SdkFunctionParameter,
    SdkFunctionParameterType,
    SdkNull,
    SdkObj,
    Severity,
    function_schema,
    functions_from_json,
    json_text,
    validate,
)
from causerie.message import ChatMessage, ChatMessageContent

if TYPE_CHECKING:
    from causerie._pydantic_types import PydanticType

T = TypeVar("T")

_REPLY = "reply"
_REQUIRED: Any = inspect.Parameter.empty


def function_from(thing: Callable[..., Any]) -> SdkFunction:
    """Returns the definition of a Python function, or of a function whose parameters are the fields of a class.

    The name of a class is converted to snake case. Raises `TypeError` for unsupported types.
    """
    if not hasattr(thing, "__name__"):
        raise TypeError(f"a function of the model must have a name, found {thing!r}; define it with def")
    name = thing.__name__ if not isinstance(thing, type) else re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", thing.__name__).lower()
    parameters = _of_class(thing) if isinstance(thing, type) else [member.parameter() for member in _members(thing)]
    return SdkFunction(name, summary(docstring(thing)), parameters)


def decode_call(call: SdkFunctionCall, thing: Callable[..., T]) -> T:
    """Returns the arguments of a call as an object of a class; for a function, calls it and returns its result.

    The arguments are converted first, as `validate` does. Raises `SdkError.InvalidArgument`.
    """
    arguments = _fitting(call, function_from(thing))
    if isinstance(thing, type):
        value: T = _type(thing).value(arguments, "")
        return value
    values = {}
    for member in _members(thing):
        if member.name in arguments:
            values[member.name] = member.type().value(arguments[member.name], member.name)
        elif member.default is _REQUIRED:
            values[member.name] = None
    return thing(**values)


def reply_schema(of: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a type for `json_schema_constraint`, which also accepts the type itself."""
    return dict(_type(of).schema)


@overload
def decode_reply(text: str, to: Callable[..., T]) -> T: ...


@overload
def decode_reply(text: str, to: Any) -> Any: ...  # for `int | str` and `Literal["a"]`, which have no type in mypy


def decode_reply(text: str, to: Any) -> Any:
    """Returns the text of a reply as a value of a type. Raises `SdkError.InvalidArgument`."""
    kind = _type(to)
    function = SdkFunction(_REPLY, "", [_parameter(_REPLY, kind.schema, is_optional=is_nullable(kind.schema))])
    arguments = _fitting(SdkFunctionCall(_REPLY, ffi.read_reply(text)), function)
    return kind.value(arguments.get(_REPLY), _REPLY)


def value_of(hint: Any, written: Any) -> Any:
    """Returns what the model wrote as a value of a type. Raises `SdkError.InvalidArgument`, or `TypeError` for another type."""
    if hint is not Any and written is None:
        return None
    return _type(hint).value(written, "")


def _fitting(call: SdkFunctionCall, function: SdkFunction) -> dict[str, Any]:
    validation = validate(dataclasses.replace(call, name=function.name), [function])
    for diagnostic in validation.diagnostics:
        if diagnostic.severity == Severity.ERROR:
            raise SdkError.InvalidArgument(diagnostic.text, diagnostic.path)
    return validation.arguments


def _type(hint: Any) -> Union[PlainType, PydanticType]:
    """How to describe and read a type. Those that are hashable are remembered."""
    try:
        return _remembered(hint)
    except TypeError as err:
        if "unhashable" not in str(err):
            raise
    return _read(hint)


@functools.lru_cache(maxsize=256, typed=True)
def _remembered(hint: Any) -> Union[PlainType, PydanticType]:
    return _read(hint)


def _read(hint: Any) -> Union[PlainType, PydanticType]:
    if isinstance(hint, (str, Mapping)):
        raise TypeError("a JSON Schema is not a type: give it as json_schema_constraint")
    try:
        from causerie._pydantic_types import PydanticType
    except ImportError:  # not installed, or too old
        return PlainType(hint)
    try:
        return PydanticType(hint)
    except TypeError as err:
        # pydantic refuses TypedDicts of typing before Python 3.12.
        if "TypedDict" not in str(err):
            raise
        try:
            return PlainType(hint)
        except TypeError:
            raise err from None


@dataclasses.dataclass
class _Member:
    """A parameter of a Python function."""

    function: str
    name: str
    hint: Any
    description: str
    default: Any

    def type(self) -> Union[PlainType, PydanticType]:
        try:
            return _type(self.hint)
        except TypeError as err:
            rule = "must have a type that JSON Schema can describe"
            raise TypeError(f"parameter {self.name} of {self.function} {rule}, found {self.hint!r}: {err}") from err

    def parameter(self) -> SdkFunctionParameter:
        kind = self.type()
        schema = dict(kind.schema)
        accepts_none = is_nullable(schema)
        # One that may be None and omitted must not be null.
        if accepts_none and self.default in (None, _REQUIRED):
            schema = without_null(schema)
        if self.description and "description" not in schema:
            schema = {**{key: schema[key] for key in ("type",) if key in schema}, "description": self.description, **schema}
        if self.default is not None and self.default is not _REQUIRED:
            try:
                schema["default"] = kind.json(self.default)
                json_text(schema)
            except (SdkError, ValueError, TypeError):
                schema.pop("default", None)  # JSON cannot represent it
        is_optional = self.default is not _REQUIRED or accepts_none
        return _parameter(self.name, schema, is_optional)


def _members(thing: Callable[..., Any]) -> list[_Member]:
    hints = typing.get_type_hints(thing, include_extras=True)
    described = parameter_descriptions(docstring(thing))
    members = []
    for name, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or name not in hints:
            raise TypeError(f"parameter {name} of {thing.__name__} must have a type and accept a keyword argument")
        members.append(_Member(thing.__name__, name, hints[name], described.get(name, ""), parameter.default))
    return members


def _of_class(thing: type) -> list[SdkFunctionParameter]:
    """The fields of a class as parameters."""
    try:
        schema = _type(thing).schema
    except TypeError as err:
        raise TypeError(f"{thing.__name__} must have fields that JSON Schema can describe: {err}") from err
    definitions = schema.get("$defs")
    if "$ref" in schema and definitions:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") != "object" or ("properties" not in schema and "additionalProperties" in schema):
        raise TypeError(f"{thing.__name__} must be a dataclass, a TypedDict or a pydantic model, which has named fields")
    required = schema.get("required", ())
    return [
        _parameter(name, {**member, "$defs": definitions} if definitions else member, is_optional=name not in required)
        for name, member in schema.get("properties", {}).items()
    ]


def _parameter(name: str, schema: dict[str, Any], is_optional: bool) -> SdkFunctionParameter:
    """A parameter with the type that expresses most of a schema, and with the schema if it says more."""
    if "$defs" in schema and "#/$defs/" not in json_text({**schema, "$defs": None}):
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    parameter = SdkFunctionParameter(name, _nearest(schema), schema.get("description", ""), is_optional)
    told = function_schema(SdkFunction(_REPLY, "", [parameter]))["parameters"]["properties"][name]
    if json_text(told) != json_text(schema):
        parameter.schema = schema
    return parameter


def _nearest(schema: dict[str, Any]) -> SdkFunctionParameterType:
    if "$ref" not in schema and "$defs" not in schema:
        tool = {"name": _REPLY, "parameters": {"type": "object", "properties": {_REPLY: schema}}}
        kind: SdkFunctionParameterType = functions_from_json(json_text([tool]))[0].parameters[0].type
        return kind
    # A schema that contains itself is an array or an object.
    return SdkArr(SdkNull()) if schema.get("type") == "array" else SdkObj({})


def to_json(value: Any) -> Any:
    """Converts a value for JSON: objects to their fields, enums to their values, dates and durations to ISO 8601, sets to arrays.

    Other types are converted as pydantic does, where it is installed. What is left, JSON refuses.
    """
    if isinstance(value, (str, int, float, Decimal, type(None))) and not isinstance(value, Enum):
        return value
    if isinstance(value, (ChatMessage, ChatMessageContent)):
        raise TypeError(f"JSON has no {type(value).__name__}; return text, or a list of parts and strings alone")
    if is_pydantic(type(value)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, Mapping):
        return {_key(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [to_json(item) for item in value]
    if isinstance(value, (UUID, PurePath)):
        return str(value)
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return to_json(value.tolist())
    return _as_pydantic_does(value)


def _key(key: Any) -> Any:
    written = to_json(key)
    return written if isinstance(written, Hashable) else key


def _duration(value: datetime.timedelta) -> str:
    """The duration in ISO 8601: `P1DT7200S`."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    seconds = f"{value.seconds}.{value.microseconds:06d}".rstrip("0").rstrip(".")
    date = f"{value.days}D" if value.days else ""
    return f"{sign}P{date}" + ("" if date and seconds == "0" else f"T{seconds}S")


def _as_pydantic_does(value: Any) -> Any:
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        return value
    try:
        return to_jsonable_python(value)
    except ValueError as err:
        raise TypeError(f"JSON cannot represent {type(value).__name__}: {err}") from err


def is_pydantic(thing: Any) -> bool:
    return isinstance(thing, type) and hasattr(thing, "model_fields") and hasattr(thing, "model_validate")
