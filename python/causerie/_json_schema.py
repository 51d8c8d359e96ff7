"""pydantic's JSON Schema of a type, in the form that a small model reads and that the engine's grammar enforces.

Beyond what pydantic writes: strings in `Annotated` and docstrings are descriptions; a member that may be `None` and need not
be given is left out instead of being null; titles are left out; and where pydantic's schema allows strings that pydantic then
refuses, such as addresses without a host, a pattern is narrower.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from causerie._docstrings import parameter_descriptions, summary
from causerie._hints import add_notes, docstring, is_nullable, member_hints, without_null

FILLED = "x-causerie-filled"
"""The keyword of an object's schema that lists members without a default that may be `None`. It is not in public schemas."""

_SECONDS = r"[0-9]{1,6}(\.[0-9]{1,6})?S"
_TIME = f"T([0-9]{{1,6}}H([0-9]{{1,6}}M)?({_SECONDS})?|[0-9]{{1,6}}M({_SECONDS})?|{_SECONDS})"
_DAYS = "([0-9]{1,5}Y)?[0-9]{1,6}D|[0-9]{1,5}Y"
_DURATION = f"^-?P(({_DAYS})({_TIME})?|[0-9]{{1,5}}W|{_TIME})$"
_DATE_TIME = "[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
_ATOM = r"[A-Za-z0-9_+\-]{1,32}"
_EMAIL = rf"^{_ATOM}(\.{_ATOM}){{0,3}}@([A-Za-z0-9]{{1,32}}\.){{1,3}}[A-Za-z]{{2,12}}$"
_ADDRESS = rf"{_LABEL}(\.{_LABEL}){{0,3}}(:[1-9][0-9]{{0,3}})?(/[A-Za-z0-9\-._~%!$&'()*+,;=:@/?#]{{0,200}})?"


class CauserieSchema(GenerateJsonSchema):
    """Writes the schema. `cleaned` prepares it for the model."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    # Members.

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _with_members(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _with_members(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return _with_members(super().typed_dict_schema(schema), schema.get("cls"))

    def named_tuple_schema(self, schema: core_schema.NamedTupleSchema) -> JsonSchemaValue:
        result = super().named_tuple_schema(schema)
        return _with_names(result, [field["name"] for field in schema["fields"]])

    def p_arguments_schema(self, arguments: list[core_schema.ArgumentsParameter], var_args_schema: Any) -> JsonSchemaValue:
        # pydantic before 2.14 describes named tuples so.
        result = super().p_arguments_schema(arguments, var_args_schema)
        return _with_names(result, [argument["name"] for argument in arguments])

    # Strings, numbers and collections.

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        return _without_unique(super().set_schema(schema))

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchemaValue:
        return _without_unique(super().frozenset_schema(schema))

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        result = super().dict_schema(schema)
        keys = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        keys = self.resolve_ref_schema(keys)
        names = keys.get("enum", [keys["const"]] if "const" in keys else None)
        values = result.get("additionalProperties", {})
        result.pop("propertyNames", None)
        if names is not None and all(isinstance(name, str) for name in names):
            return {**result, "properties": {name: values for name in names}, "additionalProperties": False}
        if "patternProperties" in result:
            return {**result, "additionalProperties": False}
        if pattern := _KEYS.get(keys.get("format", keys.get("type"))):
            result.pop("additionalProperties", None)
            return {**result, "patternProperties": {pattern: values}, "additionalProperties": False}
        return result

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        limits: dict[str, Any] = {}
        for keyword, name in {"multipleOf": "multiple_of", "minimum": "ge", "maximum": "le"}.items():
            if name in schema:
                limits[keyword] = float(schema[name])  # type: ignore[literal-required]
        for keyword, name in {"exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}.items():
            if name in schema:
                limits[keyword] = float(schema[name])  # type: ignore[literal-required]
        if (places := schema.get("decimal_places")) is not None:
            limits.setdefault("multipleOf", 10**-places if places else 1)
        if (digits := schema.get("max_digits")) is not None:
            most = 10.0 ** (digits - (places or 0)) - (10**-places if places else 1)
            limits["minimum"] = max(limits.get("minimum", -math.inf), -most)
            limits["maximum"] = min(limits.get("maximum", math.inf), most)
        return {"type": "number", **limits}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return with_number(super().default_schema(schema))

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        raise PydanticInvalidForJsonSchema("JSON has no complex numbers")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        # pydantic writes a schema for any value, and then refuses each.
        raise PydanticInvalidForJsonSchema("JSON has no classes")

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        # pydantic writes a schema for strings, and then refuses each.
        function = schema.get("function") if schema["type"] == "function-plain" else None
        if function and getattr(function["function"], "__name__", "") == "pattern_bytes_validator":
            raise PydanticInvalidForJsonSchema("JSON has no patterns of bytes")
        return super().generate_inner(schema)

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        result = super().timedelta_schema(schema)
        return {"type": "string", "pattern": _DURATION} if result.get("format") == "duration" else result

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        if schema.get("tz_constraint") == "naive":
            return {"type": "string", "pattern": f"^{_DATE_TIME}$"}
        return super().datetime_schema(schema)

    def url_schema(self, schema: core_schema.UrlSchema) -> JsonSchemaValue:
        return _url(super().url_schema(schema), schema.get("allowed_schemes"))

    def multi_host_url_schema(self, schema: core_schema.MultiHostUrlSchema) -> JsonSchemaValue:
        return _url(super().multi_host_url_schema(schema), schema.get("allowed_schemes"))


_KEYS: dict[Any, str] = {
    "integer": "^-?(0|[1-9][0-9]{0,17})$",
    "number": r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?$",
    "boolean": "^(true|false)$",
    "uuid": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    "date": f"^{_DATE_TIME.split('T')[0]}$",
}
"""Patterns of keys that are not strings in Python, by type or format."""
_FORMATS = {
    "email": {"format": "email", "pattern": _EMAIL},
    "name-email": {"pattern": _EMAIL},
    "base64": {"pattern": "^([A-Za-z0-9+/]{4}){0,256}$"},
    "base64url": {"pattern": "^([A-Za-z0-9_-]{4}){0,256}$"},
    "fraction": {"pattern": "^-?[0-9]{1,9}(/[1-9][0-9]{0,8})?$"},
}
"""What is said in place of formats that pydantic writes and reads in its own way."""
_LEFT_OUT = ("title", "discriminator", "uniqueItems", "writeOnly", "contentSchema")
_SCHEMAS = ("items", "additionalProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties")


def _without_unique(schema: JsonSchemaValue) -> JsonSchemaValue:
    # No grammar enforces it, and a set takes equal elements as one.
    schema.pop("uniqueItems", None)
    return schema


def with_number(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Makes the default of a Decimal a number, as its schema is. pydantic writes a string."""
    if schema.get("type") == "number" and isinstance(schema.get("default"), str):
        schema["default"] = float(schema["default"])
    return schema


def _with_names(schema: JsonSchemaValue, names: list[str]) -> JsonSchemaValue:
    """Describes elements that have names by these."""
    for item, name in zip(schema.get("prefixItems", ()), names):
        item.setdefault("description", name)
    return schema


def _url(schema: JsonSchemaValue, schemes: Iterable[str] | None) -> JsonSchemaValue:
    if schema.get("format") not in ("uri", "multi-host-uri"):
        return schema
    scheme = "|".join(re.escape(scheme).replace(r"\-", "-") for scheme in schemes) if schemes else "[a-z][a-z0-9+-]{0,15}"
    return {"type": "string", "pattern": f"^({scheme})://{_ADDRESS}$"}


def _with_members(schema: JsonSchemaValue, cls: Any) -> JsonSchemaValue:
    """The schema of a class, with descriptions of its members. Those that may be `None` and omitted must not be null."""
    properties = schema.get("properties")
    if not properties or cls is None:
        return schema
    described = parameter_descriptions(docstring(cls))
    fields = getattr(cls, "__pydantic_fields__", {})
    for name, hint in member_hints(cls).items():
        member = properties.get(_key(name, fields.get(name)))
        if member is not None:
            add_notes(member, hint, overrides=False)
            if name in described:
                member.setdefault("description", described[name])
    filled = [name for name in schema.get("required", ()) if is_nullable(properties[name])]
    for name, member in properties.items():
        if name in filled or (is_nullable(member) and member.get("default", ...) is None):
            properties[name] = without_null(member)
    required = [name for name in schema.get("required", ()) if name not in filled]
    rest = {keyword: value for keyword, value in schema.items() if keyword not in ("required", "description")}
    text = summary(docstring(cls))
    return {
        **rest,
        **({"description": text} if text else {}),
        **({"required": required} if required else {}),
        **({FILLED: filled} if filled else {}),
    }


def _key(name: str, field: Any) -> str:
    alias = getattr(field, "validation_alias", None) or getattr(field, "alias", None) or name
    return str(getattr(alias, "choices", [alias])[0])


def json_schema(adapter: TypeAdapter[Any], hint: Any) -> JsonSchemaValue:
    """Returns the schema of a type, with the members to fill."""
    whole = adapter.json_schema(schema_generator=CauserieSchema)
    definitions = whole.pop("$defs", {})
    for schema in [whole, *definitions.values()]:
        _require_tags(schema, definitions)
    cleaner = _Cleaner(definitions)
    schema = cleaner.schema(whole)
    add_notes(schema, hint, overrides=True)
    return {**schema, "$defs": cleaner.kept} if cleaner.kept else schema


def public(schema: Any) -> Any:
    """Returns the schema without the members to fill."""
    if isinstance(schema, dict):
        return {keyword: public(value) for keyword, value in schema.items() if keyword != FILLED}
    return [public(item) for item in schema] if isinstance(schema, list) else schema


def _require_tags(schema: Any, definitions: dict[str, Any]) -> None:
    """Makes the names by which choices are told apart required. pydantic demands them, even if they have a default."""
    if isinstance(schema, list):
        for item in schema:
            _require_tags(item, definitions)
    if not isinstance(schema, dict):
        return
    for value in schema.values():
        _require_tags(value, definitions)
    discriminator, choices = schema.get("discriminator"), schema.get("oneOf")
    if isinstance(discriminator, dict) and isinstance(choices, list):
        for choice in choices:
            target = definition_of(choice, definitions) or choice
            name = discriminator.get("propertyName")
            if name in target.get("properties", {}) and name not in target.get("required", ()):
                target["required"] = [name, *target.get("required", ())]


def definition_of(schema: JsonSchemaValue, definitions: dict[str, Any]) -> JsonSchemaValue | None:
    """The definition that a schema refers to."""
    reference = schema.get("$ref")
    return definitions.get(reference.removeprefix("#/$defs/")) if isinstance(reference, str) else None


class _Cleaner:
    """Puts definitions in place of references to them, unless they contain themselves, and leaves out what models need not read."""

    def __init__(self, definitions: dict[str, JsonSchemaValue]) -> None:
        self._definitions = definitions
        self.kept: dict[str, JsonSchemaValue] = {}
        """The definitions that contain themselves."""
        self._recursive = {name for name in definitions if self._contains(definitions[name], name, set())}

    def schema(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        if (name := self._name(schema)) is not None:
            beside = self._without({keyword: value for keyword, value in schema.items() if keyword != "$ref"})
            if name not in self._recursive:
                return {**self.schema(self._definitions[name]), **beside}
            if name not in self.kept:
                self.kept[name] = {}
                self.kept[name] = self.schema(self._definitions[name])
            return {"$ref": f"#/$defs/{name}", **beside}
        return self._without(schema)

    def _without(self, schema: JsonSchemaValue) -> JsonSchemaValue:
        cleaned: JsonSchemaValue = {keyword: schema[keyword] for keyword in ("type", "description", "enum") if keyword in schema}
        for keyword, value in schema.items():
            if keyword == "additionalProperties" and value is True and "properties" not in schema:
                continue  # as without it
            if keyword in _SCHEMAS:
                cleaned[keyword] = self.schema(value)
            elif keyword in _LISTS:
                # Choices that are told apart by a member exclude one another, so both keywords mean the same.
                named = "anyOf" if keyword == "oneOf" and "discriminator" in schema else keyword
                cleaned[named] = [self.schema(item) for item in value]
            elif keyword in _MAPS:
                cleaned[keyword] = {name: self.schema(item) for name, item in value.items()}
            elif keyword == "format" and value in _FORMATS:
                cleaned.update(_FORMATS[value])
            elif keyword not in _LEFT_OUT and not (keyword == "default" and schema.get("const", ...) == value):
                cleaned[keyword] = value
        return cleaned

    def _contains(self, schema: Any, name: str, seen: set[str]) -> bool:
        """Whether a schema refers to a definition, directly or through others."""
        if isinstance(schema, list):
            return any(self._contains(item, name, seen) for item in schema)
        if not isinstance(schema, dict):
            return False
        inner = self._name(schema)
        if inner is not None and inner not in seen:
            seen.add(inner)
            if inner == name or self._contains(self._definitions[inner], name, seen):
                return True
        return any(self._contains(value, name, seen) for value in schema.values())

    def _name(self, schema: JsonSchemaValue) -> str | None:
        reference = schema.get("$ref")
        name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else None
        return name if name in self._definitions else None
