"""Types as pydantic describes and reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from causerie._json import dumps
from causerie._json_schema import FILLED, definition_of, json_schema, public, with_number
from causerie.error import SdkError


class PydanticType:
    """A type that pydantic knows. Raises `TypeError` for one that it does not know, or that JSON cannot represent."""

    def __init__(self, hint: Any) -> None:
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(hint)
            self._schema = json_schema(self._adapter, hint)
        except (PydanticUserError, SchemaError) as err:
            # Advice for models of pydantic follows, and several lines with hints and an address.
            raise TypeError(re.split(r"\n|\. Set `", str(err))[0]) from err
        self.schema: dict[str, Any] = public(self._schema)

    def value(self, written: Any, place: str) -> Any:
        """Returns what the model wrote at a place as a value of the type. Raises `SdkError.InvalidArgument`."""
        given = _filled(written, self._schema, self._schema.get("$defs", {}))
        try:
            return self._adapter.validate_json(dumps(given))
        except ValidationError as err:
            fault = err.errors(include_url=False, include_context=False)[0]
            path = _path(fault["loc"], given, place, is_missing=fault["type"] == "missing")
            raise SdkError.InvalidArgument(f"{path or 'the call'}: {fault['msg']}", path) from err
        except (ArithmeticError, TypeError, ValueError) as err:  # of the app's own code
            raise SdkError.InvalidArgument(f"{place or 'the call'}: {err}", place) from err

    def json(self, value: Any) -> Any:
        """Returns a value of the type as JSON represents it."""
        written = self._adapter.dump_python(value, mode="json", by_alias=True)
        return with_number({**self.schema, "default": written})["default"]


def _path(location: tuple[int | str, ...], value: Any, place: str, is_missing: bool) -> str:
    """The path of a part of a value. pydantic's location also names the choices of unions and the keys of dictionaries."""
    for at, step in enumerate(location):
        is_name = isinstance(step, str) and isinstance(value, dict)
        if is_name and (step in value or (is_missing and at == len(location) - 1)):
            place, value = f"{place}.{step}", value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            place, value = f"{place}[{step}]", value[step]
    return place.removeprefix(".")


def _filled(value: Any, schema: Any, definitions: dict[str, Any]) -> Any:
    """Adds `None` for omitted members that accept it and have no default."""
    if not isinstance(schema, dict):
        return value
    schema = definition_of(schema, definitions) or schema
    if isinstance(value, list):
        first, others = schema.get("prefixItems", []), schema.get("items")
        return [_filled(item, first[at] if at < len(first) else others, definitions) for at, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if choices := schema.get("anyOf"):
        return _filled(value, _nearest(value, choices, definitions), definitions)
    others, members = schema.get("additionalProperties"), schema.get("properties", {})
    filled = {name: _filled(item, members.get(name, others), definitions) for name, item in value.items()}
    return {**dict.fromkeys(schema.get(FILLED, ())), **filled}


def _nearest(value: Mapping[str, Any], choices: list[Any], definitions: dict[str, Any]) -> Any:
    """The first choice with all required members, the same constants and no unknown members; `None` if there is none."""
    for choice in choices:
        schema = definition_of(choice, definitions) or choice
        members = schema.get("properties", {})
        has_required = all(name in value for name in schema.get("required", ()))
        known = all(name in members and members[name].get("const", item) == item for name, item in value.items())
        if members and has_required and known:
            return schema
    return None
