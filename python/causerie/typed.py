"""Functions and replies with Python types.

A function with type hints, a dataclass, a `TypedDict` or a pydantic model describes a function for the model:
`Annotated[str, "The city."]` describes a parameter, the docstring describes the function, and a parameter with a default is
optional. Arguments and replies are returned as values of these types, or raise `SdkError.InvalidArgument`, which names the
argument.
"""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union

from causerie import causerie_ffi as ffi
from causerie.error import SdkError
from causerie.function import (
    SdkArr,
    SdkBool,
    SdkFunction,
    SdkFunctionCall,
    SdkFunctionParameter,
    SdkFunctionParameterType,
    SdkInt,
    SdkNull,
    SdkNum,
    SdkObj,
    SdkStr,
    Severity,
    function_schema,
    validate,
)

T = TypeVar("T")

_DEEPEST = 32
_REPLY = "reply"
_NOTHING: Any = inspect.Parameter.empty


def function_from(thing: Callable[..., Any]) -> SdkFunction:
    """Returns the definition of a Python function, or of a function whose parameters are the fields of a class.

    The name of a class is converted to snake case. Raises `TypeError` for unsupported types.
    """
    if not hasattr(thing, "__name__"):
        raise TypeError(f"a function of the model must have a name, found {thing!r}; define it with def")
    name = thing.__name__ if not isinstance(thing, type) else re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", thing.__name__).lower()
    return SdkFunction(name, _documentation(thing), [member.parameter() for member in _members(thing, 0)])


def decode_call(call: SdkFunctionCall, thing: Callable[..., T]) -> T:
    """Returns the arguments of a call as an object of a class; for a function, calls it and returns its result.

    The arguments are converted first, as `validate` does. Raises `SdkError.InvalidArgument`.
    """
    result: T = _built(thing, _fitting(call, function_from(thing)), "", 0)
    return result


def reply_schema(of: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a type for `json_schema_constraint`, which also accepts the type itself."""
    schema = function_schema(_reply_function(of))
    result: dict[str, Any] = schema["parameters"]["properties"][_REPLY]
    return result


def decode_reply(text: str, to: Callable[..., T]) -> T:
    """Returns the text of a reply as a value of a type. Raises `SdkError.InvalidArgument`."""
    call = SdkFunctionCall(_REPLY, ffi.read_reply(text))
    arguments = _fitting(call, _reply_function(to))
    result: T = _value(to, arguments.get(_REPLY), _REPLY, 0)
    return result


def _reply_function(of: Any, name: str = _REPLY) -> SdkFunction:
    """Returns a function with the reply as its only parameter, so that replies are checked like arguments."""
    return SdkFunction(_REPLY, "", [_Member(name, of, "", _NOTHING, 0).parameter()])


def _fitting(call: SdkFunctionCall, function: SdkFunction) -> dict[str, Any]:
    validation = validate(dataclasses.replace(call, name=function.name), [function])
    for diagnostic in validation.diagnostics:
        if diagnostic.severity == Severity.ERROR:
            raise SdkError.InvalidArgument(diagnostic.text, diagnostic.path)
    return validation.arguments


# Descriptions for the model.


@dataclasses.dataclass
class _Member:
    """A parameter of a function, or a field of a class."""

    name: str
    hint: Any
    description: str
    default: Any
    depth: int
    notes: Iterable[Any] = ()
    """Constraints that are not part of the hint."""

    @property
    def is_optional(self) -> bool:
        return self.default is not _NOTHING or _plain(self.hint)[1]

    def type(self) -> SdkFunctionParameterType:
        return _type(self.hint, self.depth)

    def described(self) -> str:
        own = None if isinstance(kind := self.type(), SdkNull) else kind.description
        return self.description or own or ""

    def parameter(self) -> SdkFunctionParameter:
        parameter = SdkFunctionParameter(self.name, self.type(), self.described(), self.is_optional)
        schema = function_schema(SdkFunction(_REPLY, "", [parameter]))["parameters"]["properties"][self.name]
        # Types know no limits, so a parameter with limits is described by its schema.
        if _constrain(schema, self.hint, self.notes, self.depth):
            parameter.schema = schema
        return parameter


def _members(thing: Any, depth: int) -> list[_Member]:
    """The parameters of a function, or the fields of a class."""
    hints = typing.get_type_hints(thing, include_extras=True)
    fields = thing.model_fields if is_pydantic(thing) else getattr(thing, "__pydantic_fields__", None)  # of a dataclass
    if fields is not None:
        given = {name: field for name, field in fields.items() if getattr(field, "init", None) is not False}
        return [_pydantic_member(name, field, hints[name], depth) for name, field in given.items()]
    if _is_typed_dict(thing):
        return [_entry_member(thing, name, hint, depth) for name, hint in hints.items()]
    if dataclasses.is_dataclass(thing):
        return [_field_member(field, hints[field.name], depth) for field in dataclasses.fields(thing) if field.init]
    if isinstance(thing, type):
        raise TypeError(f"{thing.__name__} must be a dataclass, a TypedDict or a pydantic model")
    members = []
    for name, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or name not in hints:
            raise TypeError(f"parameter {name} of {thing.__name__} must have a type and accept a keyword argument")
        members.append(_Member(name, hints[name], _note(hints[name]), parameter.default, depth))
    return members


def _field_member(field: dataclasses.Field[Any], hint: Any, depth: int) -> _Member:
    has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    description = field.metadata.get("description") or _note(hint)
    return _Member(field.name, hint, description, None if has_default else _NOTHING, depth)


def _entry_member(thing: Any, name: str, hint: Any, depth: int) -> _Member:
    # Where annotations are postponed, `__required_keys__` ignores `NotRequired`.
    qualifier = _qualifier(hint)
    is_required = name in thing.__required_keys__ if qualifier is None else qualifier == "Required"
    return _Member(name, hint, _note(hint), _NOTHING if is_required else None, depth)


def _pydantic_member(name: str, field: Any, hint: Any, depth: int) -> _Member:
    read_as = field.validation_alias or name
    if not isinstance(read_as, str):
        raise TypeError(f"field {name} must have a single validation alias, found several")
    default = _NOTHING if field.is_required() else None
    return _Member(read_as, hint, field.description or _note(hint), default, depth, field.metadata)


def _type(hint: Any, depth: int) -> SdkFunctionParameterType:
    if _DEEPEST < depth:
        raise TypeError(f"{hint!r} must not be nested deeper than {_DEEPEST} levels")
    hint, _ = _plain(hint)
    simple: dict[Any, type[Any]] = {str: SdkStr, int: SdkInt, float: SdkNum, bool: SdkBool, type(None): SdkNull}
    if hint in simple:
        kind: SdkFunctionParameterType = simple[hint]()
        return kind
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _choice(inner, hint)
    if _is_class(hint) and issubclass(hint, Enum):
        return _choice([member.value for member in hint], hint)
    if origin is list or (origin is tuple and inner[1:] == (...,)):
        item = _type(inner[0], depth + 1)
        return SdkArr(_with_description(item, _note(inner[0])))
    if hint is dict or (origin is dict and inner[0] is str):
        return SdkObj({})
    if _is_class(hint):
        members = _members(hint, depth + 1)
        properties = {member.name: _with_description(member.type(), member.described()) for member in members}
        required = [member.name for member in members if not member.is_optional]
        return SdkObj(properties, required, _documentation(hint) or None)
    raise TypeError(f"{hint!r} is not supported as a type of a parameter")


# Attributes of pydantic's and annotated-types' constraints, and the keywords of JSON Schema that say the same.
_KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "min_length": "min",
    "max_length": "max",
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def _constrain(schema: dict[str, Any], hint: Any, notes: Iterable[Any], depth: int, within: tuple[Any, ...] = ()) -> bool:
    """Adds the constraints of a hint, and of the hints within it, to a schema. Returns whether there are any.

    `within` has the classes that the hint is a part of. A class that contains itself is constrained once.
    """
    keywords = _keywords([*notes, *_annotations(hint)], schema.get("type"))
    schema.update(keywords)
    is_constrained = bool(keywords)
    hint, _ = _plain(hint)
    inner = typing.get_args(hint)
    if schema.get("type") == "array" and inner:
        is_constrained |= _constrain(schema["items"], inner[0], (), depth + 1, within)
    if schema.get("type") == "object" and inner and inner[1] not in (Any, object):
        schema["additionalProperties"] = _values_schema(inner[1], depth + 1, within)
        is_constrained = True
    if schema.get("properties") and _is_class(hint) and hint not in within:
        for member in _members(hint, depth + 1):
            properties = schema["properties"][member.name]
            is_constrained |= _constrain(properties, member.hint, member.notes, depth + 1, (*within, hint))
    return is_constrained


def _values_schema(hint: Any, depth: int, within: tuple[Any, ...]) -> dict[str, Any]:
    """The JSON Schema of the values of a `dict`."""
    value = SdkFunctionParameter(_REPLY, _type(hint, depth), _note(hint))
    schema: dict[str, Any] = function_schema(SdkFunction(_REPLY, "", [value]))["parameters"]["properties"][_REPLY]
    _constrain(schema, hint, (), depth, within)
    return {"anyOf": [schema, {"type": "null"}]} if _plain(hint)[1] else schema


def _keywords(notes: Iterable[Any], kind: str | None) -> dict[str, Any]:
    keywords: dict[str, Any] = {}
    for note in notes:
        keywords.update(_keywords(getattr(note, "metadata", ()), kind))  # of a pydantic Field
        for name, keyword in _KEYWORDS.items():
            value = getattr(note, name, None)
            value = value.pattern if isinstance(value, re.Pattern) else value
            if isinstance(value, (int, float, str)):
                keywords[keyword + _LENGTHS.get(kind or "", "Length") if keyword in ("min", "max") else keyword] = value
    return keywords


def _annotations(hint: Any) -> list[Any]:
    """The annotations of a hint. Looks into `X | None`."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return [*_annotations(inner[0]), *inner[1:]]
    if _is_qualifier(origin):
        return _annotations(inner[0])
    if origin in (Union, types.UnionType) and type(None) in inner:
        return [note for choice in inner for note in _annotations(choice)]
    return []


def _choice(values: Iterable[Any], hint: Any) -> SdkFunctionParameterType:
    values = list(values)
    kinds: list[tuple[type, Any]] = [(str, SdkStr), (int, SdkInt), (float, SdkNum)]
    for kind, make in kinds:
        if all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            choice: SdkFunctionParameterType = make(enum_values=values)
            return choice
    raise TypeError(f"{hint!r} must have values of one type: str, int or float")


def _plain(hint: Any) -> tuple[Any, bool]:
    """Returns the hint without annotations, and whether it accepts `None`."""
    is_optional = False
    while True:
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated or _is_qualifier(origin):
            hint = inner[0]
        elif origin in (Union, types.UnionType) and type(None) in inner and len(inner) == 2:
            hint = inner[0] if inner[1] is type(None) else inner[1]
            is_optional = True
        else:
            return hint, is_optional


def _is_qualifier(origin: Any) -> bool:
    """Whether a hint of this origin says only if a member of a `TypedDict` is required, or may be changed."""
    return getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly")


def _qualifier(hint: Any) -> str | None:
    """`Required` or `NotRequired`, if the hint says so."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    name = getattr(origin, "_name", None)
    if name in ("Required", "NotRequired"):
        return str(name)
    return _qualifier(inner[0]) if origin is Annotated or _is_qualifier(origin) else None


def _note(hint: Any) -> str:
    """Returns the string that annotates a hint. Looks into `X | None`: Python 3.10 adds `None` if that is the default."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return next((note for note in inner[1:] if isinstance(note, str)), "")
    if _is_qualifier(origin):
        return _note(inner[0])
    if origin in (Union, types.UnionType) and type(None) in inner:
        return next(filter(None, map(_note, inner)), "")
    return ""


def _with_description(kind: SdkFunctionParameterType, description: str) -> SdkFunctionParameterType:
    if isinstance(kind, SdkNull) or not description:
        return kind
    return dataclasses.replace(kind, description=description)


def _documentation(thing: Any) -> str:
    """Returns the docstring, unless it is inherited or generated by `dataclass`."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    is_written = isinstance(thing, type) and (text.startswith(f"{thing.__name__}(") or "__doc__" not in vars(thing))
    return "" if is_written else " ".join(text.split("\n\n")[0].split())


def _is_typed_dict(thing: Any) -> bool:
    """Whether a class is a `TypedDict`, that of typing_extensions included, which pydantic demands before Python 3.12."""
    return _is_class(thing) and issubclass(thing, dict) and hasattr(thing, "__required_keys__")


def _is_class(hint: Any) -> bool:
    """Whether a hint is a class. Python 3.10 also treats `dict[str, int]` as one."""
    return isinstance(hint, type) and typing.get_origin(hint) is None


def to_json(value: Any) -> Any:
    """Converts a value for JSON: objects to their fields, enums to their values, dates to ISO 8601."""
    if is_pydantic(type(value)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def is_pydantic(thing: Any) -> bool:
    return isinstance(thing, type) and hasattr(thing, "model_fields") and hasattr(thing, "model_validate")


# Values written by the model.


def _built(thing: Any, arguments: Mapping[str, Any], place: str, depth: int) -> Any:
    if is_pydantic(thing):
        return _validated(thing, _filled(thing, arguments, depth), place)
    values = {}
    for member in _members(thing, depth):
        inner = f"{place}.{member.name}" if place else member.name
        if member.name in arguments:
            values[member.name] = _value(member.hint, arguments[member.name], inner, depth + 1)
        elif member.default is _NOTHING:
            values[member.name] = None
    if not isinstance(thing, type):
        return thing(**values)
    try:
        return thing(**values)
    except (TypeError, ValueError) as err:
        raise SdkError.InvalidArgument(f"{place or 'the call'}: {err}", place) from err


def _value(hint: Any, value: Any, place: str, depth: int) -> Any:
    hint, _ = _plain(hint)
    if value is None:
        return None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is float:
        return float(value)
    if origin in (list, tuple):
        return origin(_value(inner[0], item, f"{place}[{index}]", depth + 1) for index, item in enumerate(value))
    if origin is dict:
        return {key: _entry(inner[1], item, f"{place}.{key}", depth + 1) for key, item in value.items()}
    if _is_class(hint) and issubclass(hint, Enum):
        return hint(value)
    if _is_class(hint) and isinstance(value, Mapping) and hint is not dict:
        return _built(hint, value, place, depth + 1)
    return value


def _entry(hint: Any, value: Any, place: str, depth: int) -> Any:
    """Returns a value of a `dict`. It is checked here, because parameter types do not describe such values."""
    if hint is Any or hint is object:
        return value
    arguments = _fitting(SdkFunctionCall(_REPLY, {place: value}), _reply_function(hint, place))
    return _value(hint, arguments.get(place), place, depth)


def _filled(hint: Any, value: Any, depth: int) -> Any:
    """Adds `None` for omitted fields that accept it and have no default, before pydantic reads the value."""
    hint, _ = _plain(hint)
    if typing.get_origin(hint) in (list, tuple) and isinstance(value, list):
        return [_filled(typing.get_args(hint)[0], item, depth + 1) for item in value]
    if not _is_class(hint) or not isinstance(value, Mapping) or hint is dict:
        return value
    filled = dict(value)
    for member in _members(hint, depth):
        if member.name in filled:
            filled[member.name] = _filled(member.hint, filled[member.name], depth + 1)
        elif member.default is _NOTHING and member.is_optional:
            filled[member.name] = None
    return filled


def _validated(model: Any, arguments: Mapping[str, Any], place: str) -> Any:
    try:
        return model.model_validate(arguments)
    except ValueError as err:
        fault = getattr(err, "errors", lambda: [{"loc": (), "msg": str(err)}])()[0]
        inner = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
        at = (place + inner).lstrip(".")
        raise SdkError.InvalidArgument(f"{at}: {fault['msg']}", at) from err
