"""Members of types beyond plain fields: values of dictionaries, qualified entries of a `TypedDict`, pydantic's dataclasses."""

from __future__ import annotations

import __future__

import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any

import pytest
from support import text_of

import causerie
from causerie import SdkError, SdkFunctionCall


@dataclass(frozen=True)
class Limit:
    """A constraint with the attributes of annotated-types."""

    ge: int | None = None
    le: int | None = None


@dataclass
class Node:
    level: Annotated[int, Limit(ge=0, le=1)]
    children: dict[str, Node] = field(default_factory=dict)


def test_values_of_dicts_reach_the_schema() -> None:
    assert causerie.reply_schema(dict[str, int])["additionalProperties"] == {"type": "integer"}
    counts: Any = dict[str, Annotated[int, "How many.", Limit(ge=1, le=2)]]
    described = {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 2}
    assert causerie.reply_schema(counts)["additionalProperties"] == described
    optional = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert causerie.reply_schema(dict[str, int | None])["additionalProperties"] == optional
    assert causerie.decode_reply('{"a": "1", "b": null}', dict[str, int | None]) == {"a": 1, "b": None}
    assert "additionalProperties" not in causerie.reply_schema(dict[str, Any])
    with pytest.raises(SdkError.InvalidArgument) as raised:
        causerie.decode_reply('{"a": 3}', counts)
    assert raised.value.argument == "reply.a"


def test_a_class_that_contains_itself_is_constrained_once() -> None:
    node = causerie.reply_schema(Node)["$defs"]["Node"]
    assert node["properties"]["level"] == {"type": "integer", "minimum": 0, "maximum": 1}
    assert node["properties"]["children"]["additionalProperties"] == {"$ref": "#/$defs/Node"}
    text = '{"level": 0, "children": {"a": {"level": 1, "children": {"b": {"level": 1}}}}}'
    assert causerie.decode_reply(text, Node).children["a"].children["b"] == Node(1)


def test_values_of_dicts_in_a_constrained_reply_are_decoded() -> None:
    conversation = causerie.load("causerie/demo")[0].create_conversation()
    for seed in range(3):
        options: dict[str, Any] = {"temperature": 2, "rng_seed": seed, "max_tokens": 60}
        events = list(conversation.generate_response("Hello!", json_schema_constraint=dict[str, bool], **options))
        text = text_of(events)
        if text.rstrip().endswith("}"):
            assert all(isinstance(value, bool) for value in causerie.decode_reply(text, dict[str, bool]).values())


@pytest.mark.parametrize("module", ["typing", "typing_extensions"])
def test_qualifiers_of_a_typed_dict_hide_nothing(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extensions = pytest.importorskip(module)
    if not hasattr(extensions, "NotRequired"):
        pytest.skip("typing has no NotRequired before Python 3.11")
    # As annotations of a module with `from __future__ import annotations` are.
    orders = ModuleType("orders")
    vars(orders).update(vars(extensions), Limit=Limit, Annotated=Annotated, __name__="orders")
    monkeypatch.setitem(sys.modules, "orders", orders)
    source = '''
class Order(TypedDict):
    count: NotRequired[Annotated[int, "How many.", Limit(ge=1)]]
    size: Annotated[NotRequired[int], "The size."]
    name: Required[str]
'''
    exec(compile(source, "orders", "exec", __future__.annotations.compiler_flag), vars(orders))
    order = orders.Order
    parameters = {parameter.name: parameter for parameter in causerie.function_from(order).parameters}
    assert [name for name, parameter in parameters.items() if parameter.optional] == ["count", "size"]
    assert parameters["count"].schema == {"type": "integer", "description": "How many.", "minimum": 1}
    assert parameters["size"].description == "The size."
    assert causerie.decode_call(SdkFunctionCall("order", {"name": "a", "count": "2"}), order) == {"name": "a", "count": 2}


def test_a_dataclass_of_pydantic_keeps_its_constraints() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Booking:
        count: int = pydantic.Field(ge=1, le=3, description="How many.")
        name: str = pydantic.Field(default="x", max_length=2)

    Booking.__annotations__ = {"count": int, "name": str}
    booking: Any = pydantic.dataclasses.dataclass(Booking)
    function = causerie.function_from(booking)
    assert [(parameter.name, parameter.optional) for parameter in function.parameters] == [("count", False), ("name", True)]
    described = {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 3}
    assert function.parameters[0].schema == described
    assert causerie.decode_call(SdkFunctionCall("booking", {"count": "2"}), booking).count == 2
    with pytest.raises(SdkError.InvalidArgument, match="count"):
        causerie.decode_call(SdkFunctionCall("booking", {"count": 4}), booking)
