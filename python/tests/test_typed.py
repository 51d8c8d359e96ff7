"""Functions and replies with Python types, and functions that are run during a reply."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import inspect
import json
import logging
import threading
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import pytest
from annotated_types import Interval
from support import FIXTURES, call, offering, scripted, text_of, until

import causerie
from causerie import FunctionHandlers, FunctionResult, SdkError, SdkFunctionCall

SHARED = json.loads((FIXTURES / "typed/functions.json").read_text())


def get_weather(
    city: Annotated[str, "The city."],
    days: Annotated[int | None, "How many days.", Interval(ge=0, le=255)] = None,
    unit: Annotated[Literal["celsius", "fahrenheit"] | None, "The unit to report."] = None,
) -> str:
    """The weather in a city."""
    return f"{city}, {days}, {unit}"


class Place(Enum):
    INSIDE = "inside"
    OUTSIDE = "outside"
    AT_THE_BAR = "at_the_bar"


@dataclass
class Guest:
    """A guest."""

    name: Annotated[str, "As it is called."]
    age: Annotated[int | None, "In years.", Interval(ge=0, le=255)] = None


@dataclass
class BookTable:
    """Book a table
    in a restaurant."""

    restaurant: Annotated[str, "Name of the restaurant."]
    guests: Annotated[list[Guest], "The guests."]
    hours: float = field(metadata={"description": "From now."})
    place: Annotated[Place | None, "Where to sit."] = None
    with_child: Annotated[bool | None, "Whether a child comes."] = None


@dataclass
class Recipe:
    """How to cook."""

    title: str
    steps: list[str]
    minutes: Annotated[int | None, "How long it takes.", Interval(ge=0, le=2**32 - 1)] = None


class Point(TypedDict, total=False):
    x: int
    y: Annotated[int, "Up."]


def plain(value: Any) -> Any:
    """Returns a value as JSON would represent it, without absent values."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def test_types_give_the_same_functions_as_in_all_languages() -> None:
    functions = [causerie.function_from(get_weather), causerie.function_from(BookTable)]
    assert json.loads(causerie.functions_to_json(functions)) == SHARED["functions"]
    assert causerie.reply_schema(Recipe) == SHARED["reply_schema"]


@pytest.mark.parametrize("case", SHARED["calls"] + SHARED["replies"])
def test_calls_and_replies_are_decoded_or_are_errors_with_a_path(case: dict[str, Any]) -> None:
    def decoded() -> Any:
        if "text" in case:
            return causerie.decode_reply(case["text"], Recipe)
        return causerie.decode_call(SdkFunctionCall("book_table", case["arguments"]), BookTable)

    if "value" in case:
        assert json.dumps(plain(asdict(decoded())), sort_keys=True) == json.dumps(case["value"], sort_keys=True)
    else:
        with pytest.raises(SdkError.InvalidArgument) as caught:
            decoded()
        assert (caught.value.argument, caught.value.reason) == (case["argument"], case["reason"])


def test_other_python_types_are_described_and_decoded() -> None:
    def move(to: Point, path: tuple[int, ...] = (), note: dict[str, Any] | None = None) -> Any:
        return to, path, note

    schema = causerie.function_schema(move)["parameters"]
    assert schema["required"] == ["to"]
    assert schema["properties"]["to"]["properties"]["y"] == {"type": "integer", "description": "Up."}
    arguments = {"to": {"x": 1}, "path": [1, 2], "note": {"a": None}}
    assert causerie.decode_call(SdkFunctionCall("move", arguments), move) == ({"x": 1}, (1, 2), {"a": None})
    assert causerie.decode_reply("[1, 2]", list[int]) == [1, 2]


@pytest.mark.parametrize("hint", [complex, Callable[[], int], threading.Lock])
def test_unsupported_types_are_refused(hint: Any) -> None:
    with pytest.raises(TypeError):
        causerie.reply_schema(hint)


def test_a_pydantic_model_is_described_and_validated() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model(
        "SetTimer", minutes=(int, pydantic.Field(gt=0, description="How long.")), label=(str, "")
    )
    schema = causerie.function_schema(model)
    assert schema["name"] == "set_timer" and schema["parameters"]["required"] == ["minutes"]
    assert causerie.decode_call(SdkFunctionCall("set_timer", {"minutes": "3"}), model).minutes == 3
    with pytest.raises(SdkError.InvalidArgument) as caught:
        causerie.decode_call(SdkFunctionCall("set_timer", {"minutes": 0}), model)
    assert caught.value.argument == "minutes"


class Offer(TypedDict):
    item: str
    price: float | None


def test_omitted_nullable_fields_are_none() -> None:
    pydantic = pytest.importorskip("pydantic")
    stop: Any = pydantic.create_model("Stop", name=(str, ...), note=(str | None, ...))
    trip = pydantic.create_model("Trip", first=(stop, ...), others=(list[stop], ...), price=(float | None, ...))
    left_out = causerie.decode_reply('{"first": {"name": "a"}, "others": [{"name": "b", "note": null}]}', trip)
    assert (left_out.first.note, left_out.others[0].note, left_out.price) == (None, None, None)
    assert causerie.decode_reply('{"item": "tea", "price": null}', Offer) == {"item": "tea", "price": None}


def test_a_pydantic_model_is_described_by_its_aliases() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Book", guest_name=(str, pydantic.Field(alias="guestName")))
    assert causerie.function_schema(model)["parameters"]["required"] == ["guestName"]
    assert causerie.decode_call(SdkFunctionCall("book", {"guestName": "Ana"}), model).guest_name == "Ana"
    several = pydantic.Field(validation_alias=pydantic.AliasChoices("guest", "name"))
    schema = causerie.function_schema(pydantic.create_model("Book", guest_name=(str, several)))
    assert schema["parameters"]["required"] == ["guest"]


@pytest.mark.parametrize("text", ["NaN", "1e400", "[" * 100_000])
def test_json_that_only_python_accepts_is_an_error(text: str) -> None:
    with pytest.raises(SdkError.InvalidArgument):
        causerie.decode_reply(text, float)


def test_values_of_dicts_are_checked_and_converted() -> None:
    text = '{"hall": {"title": "a", "steps": ["b"]}}'
    assert causerie.decode_reply(text, dict[str, Recipe]) == {"hall": Recipe("a", ["b"])}
    assert causerie.decode_reply('{"a": {"b": 1}}', dict[str, dict[str, int]]) == {"a": {"b": 1}}
    assert causerie.decode_reply('{"a": [1, "b"]}', dict[str, Any]) == {"a": [1, "b"]}
    with pytest.raises(SdkError.InvalidArgument) as raised:
        causerie.decode_reply('{"hall": {"title": "a", "steps": 3}}', dict[str, Recipe])
    assert raised.value.argument == "reply.hall.steps"
    with pytest.raises(SdkError.InvalidArgument):
        causerie.decode_reply('{"hall": "x"}', dict[str, int])


def test_functions_are_run_with_values_of_their_types() -> None:
    conversation = scripted(call("[get_weather(city='Oslo', days=\"3\")]"), call("[get_weather()]"), ["Done."])
    handlers = FunctionHandlers(get_weather)
    events = list(conversation.respond_with_functions("Hi", handlers))
    assert conversation.functions == handlers.functions, "they are offered without being registered"
    assert [event.text for event in events if isinstance(event, FunctionResult)] == [
        "Oslo, 3, None",
        '{"error": "city is missing"}',
    ]
    assert text_of(events) == "Done."


def test_functions_may_be_given_without_handlers() -> None:
    conversation = scripted(call("[get_weather(city='Oslo')]"), ["Done."])
    events = list(conversation.respond_with_functions("Hi", [get_weather]))
    assert [event.text for event in events if isinstance(event, FunctionResult)] == ["Oslo, None, None"]
    for wrong in (get_weather, ["get_weather"], None):
        with pytest.raises(TypeError, match="must be a FunctionHandlers or a list of functions"):
            conversation.respond_with_functions("Hi", wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must have a name"):
        conversation.respond_with_functions("Hi", [functools.partial(get_weather, "Oslo")])


def test_a_reply_is_constrained_to_a_type() -> None:
    options = causerie.GenerationOptions(json_schema_constraint=Recipe)
    assert json.loads(str(options.json_schema_constraint)) == causerie.reply_schema(Recipe)


@pytest.mark.parametrize("reading", ["for", "async for"])
def test_functions_may_be_asynchronous(reading: str) -> None:
    conversation = offering(call("[f(), f()]"), ["Done."])

    async def f(_: SdkFunctionCall) -> int:
        await asyncio.sleep(0)
        return 1

    handlers = FunctionHandlers(in_parallel=True)
    handlers.on("f", f)
    events = events_of(conversation.respond_with_functions("Hi", handlers), reading)
    assert [event.text for event in events if isinstance(event, FunctionResult)] == ["1", "1"]


def test_without_a_limit_functions_run_on_the_thread_that_reads() -> None:
    conversation = offering(call("[f()]"), ["Done."])
    seen = []
    handlers = FunctionHandlers()
    handlers.on("f", lambda _: seen.append(threading.current_thread()))
    list(conversation.respond_with_functions("Hi", handlers))
    assert seen == [threading.current_thread()]


def test_a_task_that_is_cancelled_cancels_its_functions() -> None:
    conversation = offering(call("[f()]"), ["Done."])
    ended = []

    async def main() -> None:
        entered = asyncio.Event()

        async def f(_: SdkFunctionCall) -> None:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        async def read() -> None:
            async for _ in conversation.respond_with_functions("Hi", handlers):
                pass

        handlers = FunctionHandlers()
        handlers.on("f", f)
        task = asyncio.ensure_future(read())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(main())
    assert ended == [True]
    assert text_of(list(conversation.generate_response("Again"))) == "Done."


def test_an_interrupt_in_a_function_reaches_the_reader() -> None:
    conversation = offering(call("[f()]"), ["Done."])

    def f(_: SdkFunctionCall) -> None:
        raise KeyboardInterrupt

    handlers = FunctionHandlers()
    handlers.on("f", f)
    with pytest.raises(KeyboardInterrupt):
        list(conversation.respond_with_functions("Hi", handlers))
    assert text_of(list(conversation.generate_response("Again"))) == "Done."


def events_of(response: causerie.Response, reading: str) -> list[Any]:
    async def read() -> list[Any]:
        return [event async for event in response]

    return list(response) if reading == "for" else asyncio.run(read())


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("in_parallel", [False, True])
@pytest.mark.parametrize("reading", ["for", "async for"])
def test_a_function_that_cancels_its_own_task_has_failed(reading: str, in_parallel: bool, is_async: bool) -> None:
    conversation = offering(call("[f()]"), ["Done."])

    async def f(_: SdkFunctionCall) -> None:
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        await task

    handlers = FunctionHandlers(in_parallel=in_parallel)
    handlers.on("f", f if is_async else lambda call: asyncio.run(f(call)))
    events = events_of(conversation.respond_with_functions("Hi", handlers), reading)
    assert [event.is_error for event in events if isinstance(event, FunctionResult)] == [True]
    assert text_of(events) == "Done."


class Stop(BaseException):
    """An exception that no code on the way may catch."""


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("in_parallel", [False, True])
@pytest.mark.parametrize("reading", ["for", "async for"])
def test_base_exceptions_reach_the_reader_from_any_thread(reading: str, in_parallel: bool, is_async: bool) -> None:
    conversation = offering(call("[f()]"), ["Done."])

    def stop(_: SdkFunctionCall) -> None:
        raise Stop

    async def stop_async(_: SdkFunctionCall) -> None:
        raise Stop

    handlers = FunctionHandlers(in_parallel=in_parallel)
    handlers.on("f", stop_async if is_async else stop)
    with pytest.raises(Stop):
        events_of(conversation.respond_with_functions("Hi", handlers), reading)
    assert text_of(list(conversation.generate_response("Again"))) == "Done."


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_rounds", -1),
        ("max_rounds", 2**32),
        ("time_limit", float("nan")),
        ("time_limit", "5"),
        ("in_parallel", 3),
    ],
)
def test_invalid_options_of_handlers_are_refused_at_once(option: str, value: Any) -> None:
    wrong: dict[str, Any] = {option: value}
    with pytest.raises(SdkError.InvalidOption, match=option) as raised:
        FunctionHandlers(**wrong)
    assert raised.value.option == option
    handlers = FunctionHandlers()
    setattr(handlers, option, value)
    with pytest.raises(SdkError.InvalidOption):
        scripted().respond_with_functions("Hi", handlers)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("options", [{}, {"in_parallel": True}, {"time_limit": 60.0}], ids=str)
@pytest.mark.parametrize("reading", ["for", "async for"])
def test_the_conversation_is_idle_when_the_reader_gets_the_exception(reading: str, options: Any, is_async: bool) -> None:
    conversation = offering(call("[f()]"), ["Done."])

    def stop(_: SdkFunctionCall) -> None:
        raise Stop

    async def stop_async(_: SdkFunctionCall) -> None:
        raise Stop

    handlers = FunctionHandlers(**options)
    handlers.on("f", stop_async if is_async else stop)
    with pytest.raises(Stop) as raised:
        events_of(conversation.respond_with_functions("Hi", handlers), reading)
    assert raised.tb  # which references the frames that read
    assert not conversation.is_generating
    assert [message.role for message in conversation.history] == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize("kind", [Stop, ValueError])
@pytest.mark.parametrize("options", [{}, {"in_parallel": True}, {"time_limit": 60.0}], ids=str)
def test_exceptions_of_functions_create_no_reference_cycles(
    options: Any, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("causerie"), "disabled", True)  # pytest keeps what is logged
    conversation = offering(call("[f()]"), ["Done."])

    class Held:
        """An object that a function references while it runs."""

    held: list[weakref.ref[Held]] = []

    def fail(_: SdkFunctionCall) -> None:
        here = Held()
        held.append(weakref.ref(here))
        raise kind

    handlers = FunctionHandlers(**options)
    handlers.on("f", fail)
    gc.disable()
    try:
        with contextlib.suppress(Stop):
            list(conversation.respond_with_functions("Hi", handlers))
        until(lambda: held[0]() is None)  # a thread may reference it a moment longer
    finally:
        gc.enable()


def test_a_coroutine_returned_after_cancellation_is_closed_without_a_warning() -> None:
    conversation = offering(call("[f()]"), ["Done."])
    entered, left, returned = threading.Event(), threading.Event(), threading.Event()
    coroutines: list[Any] = []

    async def never() -> None:
        raise AssertionError

    def f(_: SdkFunctionCall) -> Any:
        entered.set()
        left.wait()
        coroutines.append(never())
        returned.set()
        return coroutines[0]

    async def main() -> None:
        response = conversation.respond_with_functions("Hi", handlers)
        task = asyncio.ensure_future(read(response))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        left.set()
        await asyncio.to_thread(returned.wait)
        while inspect.getcoroutinestate(coroutines[0]) != inspect.CORO_CLOSED:
            await asyncio.sleep(0)

    async def read(response: causerie.Response) -> None:
        async for _ in response:
            pass

    handlers = FunctionHandlers()
    handlers.on("f", f)
    asyncio.run(main())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_cancel_does_not_wait_for_functions_on_other_threads(is_async: bool) -> None:
    conversation = offering(call("[f()]"), ["Done."])
    entered, left = threading.Event(), threading.Event()

    def f(_: SdkFunctionCall) -> None:
        entered.set()
        left.wait()

    async def f_async(_: SdkFunctionCall) -> None:
        entered.set()
        await asyncio.to_thread(left.wait)

    handlers = FunctionHandlers(in_parallel=not is_async)
    handlers.on("f", f_async if is_async else f)
    response = conversation.respond_with_functions("Hi", handlers)

    def cancel() -> None:
        entered.wait()
        response.cancel()

    other = threading.Thread(target=cancel)
    other.start()
    *_, end = response
    left.set()
    other.join()
    assert isinstance(end, causerie.Complete) and end.finish_reason == "interrupted"
