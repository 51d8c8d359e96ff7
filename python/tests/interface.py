"""Prints the public interface of the package: every name with its signature, fields and members."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Iterator
from typing import Any

import causerie
import causerie.testing


def main() -> None:
    for name in causerie.__all__:
        print("\n".join(shown(name, getattr(causerie, name))))
    print("\n".join(shown("testing.load_scripted_model", causerie.testing.load_scripted_model)))


def shown(name: str, thing: Any) -> Iterator[str]:
    if inspect.isfunction(thing):
        yield f"def {name}{inspect.signature(thing)}"
    elif not inspect.isclass(thing):
        # What Union prints of differs between versions of Python.
        options = [option.__name__ for option in getattr(thing, "__args__", ())]
        yield f"{name} = {' | '.join(options) or repr(thing)}"
    else:
        bases = [base.__name__ for base in thing.__bases__ if base is not object and "ffi" not in base.__module__]
        yield f"class {name}({', '.join(bases)})" if bases else f"class {name}"
        yield from (f"    {line}" for line in members(thing))


def members(kind: Any) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from (f"{member.name} = {member.value!r}" for member in kind)
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            yield f"{field.name}: {field.type}" + (" = …" if has_default else "")
        start: Any = vars(kind)["__init__"]
        if not start.__code__.co_filename.startswith("<"):  # not made by dataclass from the fields
            yield f"__init__{inspect.signature(start)}"
    for name, member in sorted(vars(kind).items()):
        if name.startswith("_") and name not in SHOWN or issubclass(kind, enum.Enum):
            continue
        if isinstance(member, property):
            yield f"{name}: {inspect.signature(member.fget).return_annotation}" if member.fget else name
        elif isinstance(member, (classmethod, staticmethod)):
            yield f"{type(member).__name__} {name}{inspect.signature(member.__func__)}"
        elif inspect.isfunction(member):
            yield f"{'async ' * inspect.iscoroutinefunction(member)}def {name}{inspect.signature(member)}"
        elif inspect.isclass(member):
            signature = inspect.signature(member.__init__)
            yield f"class {name}{signature}"


SHOWN = ("__iter__", "__aiter__", "__enter__", "__exit__", "__aenter__", "__aexit__")

main()
