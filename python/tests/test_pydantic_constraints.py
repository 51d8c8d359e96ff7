"""Functions and replies with pydantic models whose fields have constraints."""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any

import pytest
from support import text_of

import causerie
from causerie import SdkError, SdkFunctionCall


def test_constraints_of_pydantic_reach_the_schema() -> None:
    pydantic = pytest.importorskip("pydantic")
    Field = pydantic.Field
    guest: Any = pydantic.create_model("Guest", age=(Annotated[int, Field(ge=0, le=150)], ...))
    booking = pydantic.create_model(
        "Booking",
        count=(int, Field(ge=1, le=3, description="How many.")),
        price=(float | None, Field(default=None, gt=0, lt=1e6, multiple_of=0.5)),
        code=(str, Field(pattern="^[A-Z]{3}$")),
        name=(Annotated[str, Field(min_length=2, max_length=20)], ...),
        guests=(GenericAlias(list, guest), Field(min_length=1, max_length=8)),
        tags=(list[Annotated[str, Field(max_length=5)]], []),
        free=(int, 0),
    )
    properties = causerie.reply_schema(booking)["properties"]
    assert properties["count"] == {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 3}
    assert properties["price"] == {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e6, "multipleOf": 0.5}
    assert properties["code"] == {"type": "string", "pattern": "^[A-Z]{3}$"}
    assert properties["name"] == {"type": "string", "minLength": 2, "maxLength": 20}
    assert (properties["guests"]["minItems"], properties["guests"]["maxItems"]) == (1, 8)
    assert properties["guests"]["items"]["properties"]["age"] == {"type": "integer", "minimum": 0, "maximum": 150}
    assert properties["tags"]["items"] == {"type": "string", "maxLength": 5}
    assert properties["free"] == {"type": "integer", "default": 0}
    function = causerie.function_from(booking)
    assert [parameter.schema is not None for parameter in function.parameters] == [True] * 7
    given = {"count": "2", "code": "ABC", "name": "Ada", "guests": [{"age": 3}]}
    assert causerie.decode_call(SdkFunctionCall("booking", given), booking).count == 2, "values are converted as before"
    mistakes: list[dict[str, Any]] = [{"count": 4}, {"code": "abc"}, {"name": "A"}, {"guests": []}, {"guests": [{"age": 200}]}]
    for wrong in mistakes:
        with pytest.raises(SdkError.InvalidArgument, match=next(iter(wrong))):
            causerie.decode_call(SdkFunctionCall("booking", {**given, **wrong}), booking)


def test_constraints_of_a_constrained_reply_hold() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Count", count=(int, pydantic.Field(ge=7, le=7)))
    conversation = causerie.load("causerie/demo")[0].create_conversation()
    events = list(conversation.generate_response("Hello!", json_schema_constraint=model, temperature=0, max_tokens=40))
    assert causerie.decode_reply(text_of(events), model).count == 7
