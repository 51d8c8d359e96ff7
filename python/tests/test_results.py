"""Results of functions: Python values become JSON."""

from __future__ import annotations

import asyncio
import json
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, TypedDict

import pytest
from support import call, offering, text_of

from causerie import Conversation, FunctionHandlers, FunctionResult, MessageResponse, SdkError, SdkFunctionCall


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


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize("value", [object(), {"price": object()}, [float("nan")], {1j: 2}, CYCLE, {"when": b"\xff"}], ids=repr)
@pytest.mark.parametrize("in_parallel", [False, True])
def test_a_result_that_json_cannot_represent_is_raised(value: object, in_parallel: bool) -> None:
    conversation = offering(call("[f(), g()]"), ["Done."])
    handlers = FunctionHandlers(in_parallel=in_parallel)
    handlers.on("f", lambda _: value)
    handlers.on("g", lambda _: "ok")
    with pytest.raises(SdkError.Serialization, match="the result of f") as caught:
        list(conversation.respond_with_functions("Hi", handlers))
    assert caught.value.__cause__ is not None
    assert [message.text for message in conversation.history[-2:]] == ['{"error": "cancelled"}'] * 2
    assert text_of(list(conversation.generate_response("2"))) == "Done.", "the conversation is free again"


def test_a_result_that_json_cannot_represent_is_raised_in_asyncio() -> None:
    async def read() -> None:
        handlers = FunctionHandlers()
        handlers.on("f", lambda _: object())
        async for _ in offering(call("[f()]"), ["Done."]).respond_with_functions("Hi", handlers):
            pass

    with pytest.raises(SdkError.Serialization, match="the result of f"):
        asyncio.run(read())


class Broken(Exception):
    pass


def fail(_: SdkFunctionCall) -> None:
    raise Broken("no such city") from KeyError("Oslo")


async def fail_later(_: SdkFunctionCall) -> None:
    await asyncio.sleep(0)
    fail(_)


def read(conversation: Conversation, handlers: FunctionHandlers, in_asyncio: bool) -> list[MessageResponse]:
    response = conversation.respond_with_functions("Hi", handlers)

    async def gather() -> list[MessageResponse]:
        return [event async for event in response]

    return asyncio.run(gather()) if in_asyncio else list(response)


@pytest.mark.parametrize("handler", [fail, fail_later])
@pytest.mark.parametrize("in_asyncio", [False, True])
@pytest.mark.parametrize("in_parallel", [False, True])
def test_an_exception_is_on_the_result_and_in_the_log(
    handler: Callable[[SdkFunctionCall], Any], in_asyncio: bool, in_parallel: bool, caplog: pytest.LogCaptureFixture
) -> None:
    handlers = FunctionHandlers(in_parallel=in_parallel)
    handlers.on("f", handler)
    handlers.on("g", lambda _: "ok")
    events = read(offering(call("[g(), f()]"), ["Done."]), handlers, in_asyncio)
    good, bad = [event for event in events if isinstance(event, FunctionResult)]
    assert (good.error, good.is_error) == (None, False)
    assert isinstance(bad.error, Broken) and isinstance(bad.error.__cause__, KeyError)
    assert bad.text == '{"error": "no such city"}' and bad.is_error
    frames = [frame.name for frame in traceback.extract_tb(bad.error.__traceback__)]
    assert frames[-1] == "fail" and not any(name.startswith("_outcome") for name in frames)
    records = [record for record in caplog.records if record.name == "causerie" and record.exc_info]
    assert [(record.levelname, record.getMessage()) for record in records] == [("ERROR", "function f failed")]
    assert records[0].exc_info and records[0].exc_info[1] is bad.error
    assert text_of(events) == "Done."


def test_the_model_reads_which_key_was_missing() -> None:
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: dict[str, str]()["Oslo"])
    conversation = offering(call("[f()]"), ["Done."])
    result = next(event for event in conversation.respond_with_functions("Hi", handlers) if isinstance(event, FunctionResult))
    assert json.loads(result.text) == {"error": "KeyError: 'Oslo'"}


def test_calls_that_do_not_run_have_no_exception() -> None:
    conversation = offering(call("[f(), h()]"), ["Done."])
    handlers, is_over = FunctionHandlers(time_limit=0), threading.Event()
    handlers.on("f", lambda _: is_over.wait())
    results = [event for event in conversation.respond_with_functions("Hi", handlers) if isinstance(event, FunctionResult)]
    is_over.set()
    assert [(result.is_error, result.error) for result in results] == [(True, None)] * 2


def test_results_are_compared_without_their_exceptions() -> None:
    failed = FunctionResult("call_0", "f", "x", True, ValueError("x"))
    assert failed == FunctionResult("call_0", "f", "x", True, ValueError("x"))
    assert failed != FunctionResult("call_0", "f", "y", True)


class Unwritten(Exception):
    def __str__(self) -> str:
        raise RuntimeError("this class cannot write its text")


def test_an_exception_whose_text_cannot_be_written_has_the_name_of_its_class() -> None:
    conversation = offering(call("[f()]"), ["Done."])
    err = Unwritten()

    def f(_: SdkFunctionCall) -> str:
        raise err

    handlers = FunctionHandlers()
    handlers.on("f", f)
    events = list(conversation.respond_with_functions("Hi", handlers))
    (result,) = [event for event in events if isinstance(event, FunctionResult)]
    assert (result.text, result.error) == ('{"error": "Unwritten"}', err)
    assert text_of(events) == "Done."


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
