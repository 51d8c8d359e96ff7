"""Reading of type hints that does not depend on what describes them."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Union

_QUALIFIERS = ("Required", "NotRequired", "ReadOnly")
"""Names of hints that say only if a member of a `TypedDict` is required, or may be changed."""

_KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
"""Attributes of annotated-types' constraints, and the keywords of JSON Schema with the same meaning."""
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def plain(hint: Any) -> tuple[Any, bool]:
    """Returns the hint without annotations, and whether it accepts `None`."""
    is_optional = False
    while True:
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated or is_qualifier(origin):
            hint = inner[0]
        elif is_union(origin) and type(None) in inner and len(inner) == 2:
            hint = inner[0] if inner[1] is type(None) else inner[1]
            is_optional = True
        else:
            return hint, is_optional


def is_union(origin: Any) -> bool:
    return origin in (Union, types.UnionType)


def is_qualifier(origin: Any) -> bool:
    return getattr(origin, "_name", None) in _QUALIFIERS


def qualifier(hint: Any) -> str | None:
    """`Required` or `NotRequired`, if the hint says so."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    name = getattr(origin, "_name", None)
    if name in ("Required", "NotRequired"):
        return str(name)
    return qualifier(inner[0]) if origin is Annotated or is_qualifier(origin) else None


def is_class(hint: Any) -> bool:
    """Whether a hint is a class. Python 3.10 also treats `dict[str, int]` as one."""
    return isinstance(hint, type) and typing.get_origin(hint) is None


def is_typed_dict(thing: Any) -> bool:
    """Whether a class is a `TypedDict`, that of typing_extensions included, which pydantic demands before Python 3.12."""
    return is_class(thing) and issubclass(thing, dict) and hasattr(thing, "__required_keys__")


def note(hint: Any) -> str:
    """Returns the string that annotates a hint. Looks into `X | None`: Python 3.10 adds `None` if that is the default."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return next((note for note in inner[1:] if isinstance(note, str)), "") or note(inner[0])
    if is_qualifier(origin):
        return note(inner[0])
    if is_union(origin) and type(None) in inner:
        return next(filter(None, map(note, inner)), "")
    return ""


def add_notes(schema: dict[str, Any], hint: Any, overrides: bool) -> None:
    """Adds the strings that annotate a hint, and the hints in it, to its schema as descriptions, and their constraints."""
    _add_limits(schema, hint)
    text = note(hint)
    if text and (overrides or "description" not in schema):
        schema["description"] = text
    for part, inner in _parts(schema, plain(hint)[0]):
        add_notes(part, inner, overrides)


def _add_limits(schema: dict[str, Any], hint: Any) -> None:
    """Adds constraints with the attributes of annotated-types, unless the schema has them."""
    limited = next((choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}), schema)
    for note in _metadata(hint):
        for name, keyword in _KEYWORDS.items():
            value = getattr(note, name, None)
            if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                limited.setdefault(keyword, value)
        for name, keyword in (("min_length", "min"), ("max_length", "max")):
            value, kind = getattr(note, name, None), limited.get("type")
            if isinstance(value, int) and kind in _LENGTHS:
                limited.setdefault(keyword + _LENGTHS[kind], value)


def _metadata(hint: Any) -> list[Any]:
    """The annotations of a hint. Looks into `X | None`. pydantic writes its own ones."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        own = [note for note in inner[1:] if not type(note).__module__.startswith("pydantic")]
        return [*_metadata(inner[0]), *own]
    if is_qualifier(origin):
        return _metadata(inner[0])
    if is_union(origin) and type(None) in inner and len(inner) == 2:
        return [note for choice in inner for note in _metadata(choice)]
    return []


def _parts(schema: dict[str, Any], hint: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """The schemas of elements and values, and their hints."""
    if "anyOf" in schema:
        schema = next((choice for choice in schema["anyOf"] if choice.get("type") in ("array", "object")), {})
    inner = [argument for argument in typing.get_args(hint) if argument is not ...]
    if schema.get("type") == "array" and inner:
        listed = schema.get("prefixItems", [schema.get("items")])
        yield from ((part, part_hint) for part, part_hint in zip(listed, inner) if isinstance(part, dict))
    if isinstance(values := schema.get("additionalProperties"), dict) and len(inner) == 2:
        yield values, inner[1]


def docstring(thing: Any) -> str:
    """Returns the docstring, unless it is inherited or generated by `dataclass`."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    is_generated = isinstance(thing, type) and (text.startswith(f"{thing.__name__}(") or "__doc__" not in vars(thing))
    return "" if is_generated else text


def member_hints(thing: Any) -> dict[str, Any]:
    """Returns the hints of a class's members, or of a function's parameters."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except NameError:  # of a class inside a function, which pydantic finds in its own way
        return {}


def is_nullable(schema: dict[str, Any]) -> bool:
    """Whether a schema accepts null beside other values."""
    return {"type": "null"} in schema.get("anyOf", ()) or (None in schema.get("enum", ()) and len(schema["enum"]) > 1)


def without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema that accepts null without it."""
    rest = {keyword: value for keyword, value in schema.items() if keyword not in ("anyOf", "enum", "default")}
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        is_text = all(isinstance(value, str) for value in values)
        return {**({"type": "string"} if is_text else {}), **rest, "enum": values}
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    return {**choices[0], **rest} if len(choices) == 1 else {**rest, "anyOf": choices}
