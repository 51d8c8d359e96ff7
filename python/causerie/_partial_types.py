"""Values of types that are still being written."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from causerie._hints import is_class, is_typed_dict, member_hints, plain
from causerie.error import SdkError
from causerie.typed import is_pydantic, value_of


def partial_value(hint: Any, written: Any, n_open: int) -> Any:
    """Returns what is written so far as a value of a type: objects with `None` in place of what is not written yet, and the
    beginning of a string. `n_open` is as in `PartialJson`.
    """
    if n_open == 0:
        try:
            return value_of(hint, written)
        except (SdkError, TypeError, ValueError):
            return None
    bare, _ = plain(hint)
    origin, inner = typing.get_origin(bare), typing.get_args(bare)
    if isinstance(written, str):
        return written if bare in (str, Any, object) else None
    if bare in (Any, object, dict, list):
        return written
    if isinstance(written, list):
        return _listed(origin, inner, written, n_open)
    if not isinstance(written, Mapping):
        return None
    if origin is dict and len(inner) == 2:
        return _members(dict.fromkeys(written, inner[1]), written, n_open)
    if is_typed_dict(bare):
        return _members(member_hints(bare), written, n_open)
    if is_class(bare) and dataclasses.is_dataclass(bare):
        return _built(bare, _members(member_hints(bare), written, n_open))
    if is_pydantic(bare):
        return _model(bare, written, n_open)
    return None


def _listed(origin: Any, inner: tuple[Any, ...], written: list[Any], n_open: int) -> Any:
    if origin not in (list, tuple, set, frozenset) or not inner or (origin is tuple and inner[1:] != (...,)):
        return None
    last = len(written) - 1
    items = [partial_value(inner[0], item, n_open - 1 if at == last else 0) for at, item in enumerate(written)]
    try:
        return origin(items)
    except TypeError:  # elements of a set that are not hashable
        return None


def _members(hints: dict[str, Any], written: Mapping[str, Any], n_open: int) -> dict[str, Any]:
    last = next(reversed(written), None) if isinstance(written, dict) else None
    return {
        name: partial_value(hints[name], item, n_open - 1 if name == last else 0)
        for name, item in written.items()
        if name in hints
    }


def _built(thing: Any, members: dict[str, Any]) -> Any:
    """An object of a dataclass, without its constructor: what is not written yet may break its rules."""
    value: Any = object.__new__(thing)
    for field in dataclasses.fields(thing):
        object.__setattr__(value, field.name, members.get(field.name))
    return value


def _model(model: Any, written: Mapping[str, Any], n_open: int) -> Any:
    """An object of a pydantic model, which is not validated."""
    names = {_key(name, field): name for name, field in model.model_fields.items()}
    hints = {key: model.model_fields[name].annotation for key, name in names.items()}
    members = _members(hints, written, n_open)
    return model.model_construct(**{name: members.get(key) for key, name in names.items()})


def _key(name: str, field: Any) -> str:
    """The name of a field in JSON."""
    alias = field.validation_alias or field.alias or name
    choices = getattr(alias, "choices", [alias])
    return next((choice for choice in choices if isinstance(choice, str)), name)
