"""Replies and conversations in reference cycles, which the garbage collector finalises in any order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support import STALL, scripted, text_of, until

from causerie import Conversation, FunctionHandlers, Response, causerie_ffi

KINDS = ("responsestream", "conversation", "modelrunner", "loadprogress")


@pytest.fixture(autouse=True)
def used_after_free(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Kinds of objects that were used after they were freed. They are really freed when the test ends, so that none breaks."""
    library = causerie_ffi._UniffiLib
    freed: dict[int, tuple[Any, Any]] = {}
    used: list[str] = []

    def watch(kind: str) -> None:
        clone = getattr(library, f"uniffi_causerie_ffi_fn_clone_{kind}")
        free = getattr(library, f"uniffi_causerie_ffi_fn_free_{kind}")

        def watched_clone(handle: int, status: Any) -> Any:
            if handle in freed:
                used.append(kind)
            return clone(handle, status)

        def watched_free(handle: int, status: Any) -> None:
            freed[handle] = free, type(status._obj).default()

        monkeypatch.setattr(library, clone.__name__, watched_clone)
        monkeypatch.setattr(library, free.__name__, watched_free)

    gc.collect()
    for kind in KINDS:
        watch(kind)
    yield used
    gc.collect()
    monkeypatch.undo()
    for handle, (free, status) in freed.items():
        free(handle, status)
    assert not used


class Window:
    """An object with a callback to itself, as in many apps."""

    def __init__(self, held: Any, close: Callable[[Any], object] = lambda held: None) -> None:
        self.held = held
        self.on_close = self.close
        self._close = close

    def close(self) -> None:
        self._close(self.held)

    def __del__(self) -> None:
        self.close()


def texts(response: Response) -> Iterator[str]:
    for event in response:
        yield text_of([event])


def test_an_iterator_that_was_not_read_to_the_end() -> None:
    iterator = iter(scripted(["a", STALL]).generate_response("Hi"))
    next(iterator)
    Window(iterator)
    del iterator
    gc.collect()


def test_an_iterator_that_was_read_to_the_end() -> None:
    iterator = iter(scripted(["a"]).generate_response("Hi"))
    list(iterator)
    Window(iterator)
    del iterator
    gc.collect()


def test_a_generator_over_a_response() -> None:
    generator = texts(scripted(["a", STALL]).generate_response("Hi"))
    next(generator)
    Window(generator)
    del generator
    gc.collect()


def test_a_reply_with_functions() -> None:
    iterator = iter(scripted(["a", STALL]).respond_with_functions("Hi", FunctionHandlers()))
    next(iterator)
    Window(iterator)
    del iterator
    gc.collect()


def test_a_task_of_a_closed_loop() -> None:
    async def read() -> None:
        async for _ in scripted(["a", STALL]).generate_response("Hi"):
            started.set()
            await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # it would report the task
    started = asyncio.Event()
    task = loop.create_task(read())
    loop.run_until_complete(started.wait())
    loop.close()
    Window(task)
    del task, loop
    gc.collect()


@pytest.mark.parametrize(
    "close",
    [
        lambda conversation: conversation.history,
        lambda conversation: conversation.fork(),
        lambda conversation: conversation.model_runner.unload(),
        lambda conversation: list(conversation.generate_response("Bye")),
    ],
    ids=["history", "fork", "unload", "reply"],
)
def test_an_object_that_uses_its_conversation_in_its_finaliser(close: Callable[[Conversation], object]) -> None:
    Window(scripted(["a"]), close)
    gc.collect()


def test_a_resurrected_conversation_still_works() -> None:
    saved: list[Conversation] = []
    Window(scripted(["a"], ["b"]), saved.append)
    gc.collect()
    (conversation,) = saved
    assert text_of(list(conversation.generate_response("Hi"))) == "a"
    # Collected again, it may be destroyed before the finaliser runs, and then raises AttributeError.
    Window(conversation, read_if_alive)
    saved.clear()
    del conversation
    gc.collect()


def read_if_alive(conversation: Conversation) -> None:
    with contextlib.suppress(AttributeError):
        assert conversation.history


def test_a_reply_in_a_cycle_stops_when_it_is_collected() -> None:
    conversation = scripted(["a", STALL], ["b"])
    iterator = iter(conversation.generate_response("Hi"))
    next(iterator)
    Window(iterator)
    del iterator
    gc.collect()
    until(lambda: not conversation.is_generating)
    assert text_of(list(conversation.generate_response("Hi"))) == "b"
