"""Results of functions: Python values become JSON."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import ip_address
from typing import Any, TypedDict

import pytest
from support import call, offering, text_of

from causerie import (
    Audio,
    ChatMessage,
    Conversation,
    FunctionHandlers,
    FunctionResult,
    Image,
    MessageResponse,
    SdkError,
    SdkFunctionCall,
    Text,
)


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


def result_of(value: object) -> str:
    """The text that the model reads of a value that a function returned."""
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: value)
    events = offering(call("[f()]"), ["Done."]).respond_with_functions("Hi", handlers)
    return next(event.text for event in events if isinstance(event, FunctionResult))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.10"), "1.10"),
        (Decimal("12345678901234567.89"), "12345678901234567.89"),
        (Decimal("1e400"), "1E+400"),
        ({"a": [Decimal("0.1234567890123456789"), 10**700]}, '{"a": [0.1234567890123456789, 1' + "0" * 700 + "]}"),
        ({"é": "ü"}, '{"é": "ü"}'),
        (Colour.RED, "red"),
        (date(2026, 11, 25), "2026-11-25"),
        ({date(2026, 11, 25): 1, Colour.RED: 2, 3: 4}, '{"2026-11-25": 1, "red": 2, "3": 4}'),
        (timedelta(seconds=90), "PT90S"),
        ([timedelta(days=1, hours=2), timedelta(-2), timedelta(0), timedelta(seconds=-1.5)], '["P1DT7200S", "-P2D", "PT0S", "-PT1.5S"]'),
        (deque([1, Decimal("2.0")]), "[1, 2.0]"),
        (range(2), "[0, 1]"),
        ({"a": 1}.keys(), '["a"]'),
        (Text("hello"), "hello"),
        ([Text("hello, "), "world"], "hello, world"),
        ((Text("a"), {"type": "text", "text": "b"}), "ab"),
    ],
    ids=str,
)
def test_a_result_keeps_its_digits_and_its_text(value: object, text: str) -> None:
    assert result_of(value) == text


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (Image(b"GIF89a"), [Image(b"GIF89a")]),
        (["See: \ud800", Image(b"GIF89a")], [Text("See: \ufffd"), Image(b"GIF89a")]),
        ((Audio(b"RIFF"), Text("?")), [Audio(b"RIFF"), Text("?")]),
    ],
    ids=["picture", "list", "tuple"],
)
def test_a_result_may_have_pictures_and_sound(value: object, parts: list[object]) -> None:
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: value)
    conversation = offering(call("[f()]"), ["Done."])
    events = conversation.respond_with_functions("Hi", handlers)
    result = next(event for event in events if isinstance(event, FunctionResult))
    assert result.text == "".join(part.text for part in parts if isinstance(part, Text))
    [message] = [message for message in conversation.history if message.role == "tool"]
    assert message.content == parts


def test_other_types_are_written_as_pydantic_does() -> None:
    pytest.importorskip("pydantic")
    assert result_of(ip_address("1.2.3.4")) == "1.2.3.4"
    assert result_of([b"abc", bytearray(b"d")]) == '["abc", "d"]'
    assert result_of(number for number in (1, 2)) == "[1, 2]"


def test_numbers_and_arrays_of_numpy_are_results() -> None:
    numpy = pytest.importorskip("numpy")
    values = [numpy.float32(1.5), numpy.int64(3), numpy.bool_(True), numpy.array([[1, 2]]), numpy.float64(0.5), numpy.str_("x")]
    assert result_of(values) == '[1.5, 3, true, [[1, 2]], 0.5, "x"]'


def test_what_cannot_be_a_result_is_named_with_the_function() -> None:
    message = ChatMessage("tool", "x")
    for value, reason in [
        ({"photo": Image(b"GIF89a")}, "JSON has no Image"),
        ([Text("See"), {"sky": "sunny"}], ""),
        (message, "it must be text, parts of a message or data, found a ChatMessage; return its text or its content"),
        ({"answer": message}, "JSON has no ChatMessage"),
        ({"answer": Text("x")}, "JSON has no Text"),
        (Decimal("NaN"), "a Decimal must be finite, found NaN"),
        ([Decimal("-Infinity")], "a Decimal must be finite, found -Infinity"),
        (object(), "JSON cannot represent object"),
    ]:
        with pytest.raises(SdkError.Serialization, match="^the result of f: .*" + re.escape(reason)):
            result_of(value)


WITHOUT_PYDANTIC = """
import sys
sys.modules["pydantic"] = sys.modules["pydantic_core"] = None
import collections, datetime
from causerie.typed import to_json
assert to_json([datetime.timedelta(1), collections.deque([2])]) == ["P1D", [2]]
assert to_json(b"x") == b"x"
"""


def test_durations_and_sequences_are_written_without_pydantic() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_PYDANTIC], check=True)


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


@pytest.mark.parametrize("value", [object(), {"price": object()}, [float("nan")], {(1, 2): 3}, CYCLE, {"when": b"\xff"}], ids=repr)
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
