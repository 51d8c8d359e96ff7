"""The types of parameters and replies that are read without pydantic: strings, numbers, booleans, `Literal`, enums, lists,
dictionaries, dataclasses and `TypedDict`s."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal

from causerie._docstrings import parameter_descriptions, summary
from causerie._hints import add_notes, docstring, is_class, is_typed_dict, plain, qualifier
from causerie.error import SdkError

_DEEPEST = 32
_NOTHING: Any = object()
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
class PlainType:
    """A type that is read without pydantic. Raises `TypeError` for one that needs it."""

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self.schema = _schema(hint, 0)
        add_notes(self.schema, hint, overrides=True)

    def value(self, written: Any, place: str) -> Any:
        """Returns what the model wrote at a place as a value of the type. Raises `SdkError.InvalidArgument`."""
        return _value(self._hint, written, place)

    def json(self, value: Any) -> Any:
        """Returns a value of the type as JSON represents it."""
        if isinstance(value, Enum):
            return value.value
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: self.json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        if isinstance(value, (list, tuple)):
            return [self.json(item) for item in value]
        return value


@dataclasses.dataclass
class _Member:
    """A field of a dataclass, or an entry of a `TypedDict`."""

    name: str
    hint: Any
    description: str | None
    default: Any = _NOTHING
    is_required: bool = True


def _members(thing: Any) -> list[_Member]:
    hints = typing.get_type_hints(thing, include_extras=True)
    described = parameter_descriptions(docstring(thing))
    if is_typed_dict(thing):
        # Where annotations are postponed, `__required_keys__` ignores `NotRequired`.
        return [
            _Member(
                name,
                hint,
                described.get(name),
                is_required=name in thing.__required_keys__ if (said := qualifier(hint)) is None else said == "Required",
            )
            for name, hint in hints.items()
        ]
    missing = dataclasses.MISSING
    return [
        _Member(
            field.name,
            hints[field.name],
            field.metadata.get("description") or described.get(field.name),
            _NOTHING if field.default is missing else field.default,
            field.default is missing and field.default_factory is missing,
        )
        for field in dataclasses.fields(thing)
        if field.init
    ]


def _schema(hint: Any, depth: int) -> dict[str, Any]:
    if _DEEPEST < depth:
        raise TypeError(f"{hint!r} contains itself, which needs pydantic: pip install pydantic")
    bare, is_optional = plain(hint)
    schema = _bare_schema(bare, depth)
    return {"anyOf": [schema, {"type": "null"}]} if is_optional else schema


def _bare_schema(hint: Any, depth: int) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object):
        return {}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if origin is Literal:
        return _choice(inner)
    if is_class(hint) and issubclass(hint, Enum):
        return _choice([member.value for member in hint])
    if hint is list or origin is list or (origin is tuple and inner[1:] == (...,)):
        return {"type": "array", "items": _schema(inner[0], depth + 1) if inner else {}}
    if hint is dict or (origin is dict and inner[0] is str):
        values = _schema(inner[1], depth + 1) if inner else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if is_typed_dict(hint) or (is_class(hint) and dataclasses.is_dataclass(hint)):
        return _object(hint, depth)
    raise TypeError(f"{hint!r} needs pydantic: pip install pydantic")


def _object(thing: Any, depth: int) -> dict[str, Any]:
    properties, required = {}, []
    for member in _members(thing):
        schema = _schema(member.hint, depth + 1)
        # One that may be None and omitted must not be null.
        is_optional = plain(member.hint)[1] and (member.is_required or member.default is None)
        if is_optional:
            schema = schema["anyOf"][0]
        if member.description:
            schema["description"] = member.description
        add_notes(schema, member.hint, overrides=True)
        if member.default is not None and member.default is not _NOTHING:
            schema["default"] = PlainType.json(None, member.default)  # type: ignore[arg-type]
        properties[member.name] = schema
        if member.is_required and not is_optional:
            required.append(member.name)
    text = summary(docstring(thing))
    head = {"type": "object", **({"description": text} if text else {}), "properties": properties}
    return {**head, **({"required": required} if required else {})}


def _choice(values: Iterable[Any]) -> dict[str, Any]:
    values = list(values)
    for kind, name in ((str, "string"), (bool, "boolean"), (int, "integer"), (float, "number")):
        if all(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) for value in values):
            return {"type": name, "enum": values}
    return {"enum": values}


def _value(hint: Any, value: Any, place: str) -> Any:
    hint, _ = plain(hint)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if value is None or hint in (dict, list):
        return value
    if hint is float:
        return float(value)
    if origin in (list, tuple):
        return origin(_value(inner[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    if origin is dict:
        return {key: _value(inner[1], item, f"{place}.{key}") for key, item in value.items()}
    if is_class(hint) and issubclass(hint, Enum):
        return hint(value)
    if is_class(hint) and isinstance(value, Mapping):
        return _built(hint, value, place)
    return value


def _built(thing: Any, given: Mapping[str, Any], place: str) -> Any:
    values = {}
    for member in _members(thing):
        if member.name in given:
            values[member.name] = _value(member.hint, given[member.name], f"{place}.{member.name}".removeprefix("."))
        elif member.is_required:
            values[member.name] = None
    try:
        return thing(**values)
    except (TypeError, ValueError) as err:
        raise SdkError.InvalidArgument(f"{place or 'the call'}: {err}", place) from err
