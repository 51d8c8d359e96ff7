"""Results of functions: Python values become JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TypedDict

import pytest
from support import call, offering, text_of

from causerie import FunctionHandlers, FunctionResult, SdkFunctionCall


class Colour(Enum):
    RED = "red"


class Point(TypedDict, total=False):
    x: int
    y: int


@dataclass
class Booking:
    number: int
    colour: Colour
    day: date
    stops: list[Point]


def test_results_with_python_types_are_converted_to_json() -> None:
    conversation = offering(call("[f()]"), ["Done."])
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: {"all": (Booking(7, Colour.RED, date(2026, 11, 25), [Point(x=1)]),)})
    result = next(event for event in conversation.respond_with_functions("Hi", handlers) if isinstance(event, FunctionResult))
    booking = {"number": 7, "colour": "red", "day": "2026-11-25", "stops": [{"x": 1}]}
    assert (json.loads(result.text), result.is_error) == ({"all": [booking]}, False)


def test_a_pydantic_result_is_converted_to_json() -> None:
    pydantic = pytest.importorskip("pydantic")
    book = pydantic.create_model("Book", title=(str, ...), day=(date, ...))
    conversation = offering(call("[f()]"), ["Done."])
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: [book(title="a", day=date(2026, 11, 25))])
    result = next(event for event in conversation.respond_with_functions("Hi", handlers) if isinstance(event, FunctionResult))
    assert json.loads(result.text) == [{"title": "a", "day": "2026-11-25"}]


def test_a_result_that_json_cannot_represent_is_an_error() -> None:
    conversation = offering(call("[f()]"), ["Done."])
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: object())
    result = next(event for event in conversation.respond_with_functions("Hi", handlers) if isinstance(event, FunctionResult))
    assert result.is_error and "must be representable as JSON" in result.text


def test_lone_surrogates_are_replaced_in_results() -> None:
    conversation = offering(call("[f(), g()]"), ["Done."])
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: "caf\udce9.txt")

    def g(_: SdkFunctionCall) -> str:
        raise ValueError("no caf\udce9")

    handlers.on("g", g)
    events = list(conversation.respond_with_functions("Hi", handlers))
    results = [event.text for event in events if isinstance(event, FunctionResult)]
    assert results == ["caf\ufffd.txt", '{"error": "no caf\ufffd"}']
    assert text_of(events) == "Done."
