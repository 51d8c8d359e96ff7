"""Replies: started when they are read, read once, cancelled from any thread."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest
from support import CALL_START, STALL, scripted, text_of, until, until_main_thread_sleeps

from causerie import Chunk, Complete, FinishReason, SdkError

MANY = [f"{number} " for number in range(2000)]


def test_nothing_happens_before_the_first_event_is_requested() -> None:
    conversation = scripted(["a"])
    response = conversation.generate_response("Hi")
    iterator = iter(response)
    assert not conversation.is_generating
    assert conversation.history == []
    assert next(iterator) == Chunk("a")


def test_a_response_is_read_once() -> None:
    response = scripted(["a"]).generate_response("Hi")
    assert text_of(list(response)) == "a"
    with pytest.raises(SdkError.StreamAlreadyConsumed):
        iter(response)
    with pytest.raises(SdkError.StreamAlreadyConsumed):
        response.__aiter__()


def test_a_second_reader_does_not_disturb_the_first() -> None:
    response = scripted(["a", "b"]).generate_response("Hi")
    iterator = iter(response)
    with pytest.raises(SdkError.StreamAlreadyConsumed):
        iter(response)
    assert text_of(list(iterator)) == "ab"


def test_nothing_follows_the_end() -> None:
    iterator = iter(scripted(["a"]).generate_response("Hi"))
    *_, last = iterator
    assert isinstance(last, Complete)
    assert list(iterator) == []


def test_nothing_follows_an_error() -> None:
    iterator = iter(scripted([{"fail": "no memory"}]).generate_response("Hi"))
    with pytest.raises(SdkError.Generation, match="^no memory$"):
        next(iterator)
    assert list(iterator) == []


def test_the_response_keeps_its_completion() -> None:
    response = scripted(["a"]).generate_response("Hi")
    assert response.completion is None
    events = list(response)
    assert response.completion is events[-1]


def test_a_reply_that_has_ended_holds_no_object_of_the_engine() -> None:
    response = scripted(["a"]).generate_response("Hi")
    assert response._stream is not None
    list(response)
    assert response._stream is None
    response.cancel()


def test_the_model_waits_for_the_reader() -> None:
    conversation = scripted(MANY)
    response = conversation.generate_response("Hi")
    iterator = iter(response)
    next(iterator)
    response.cancel()
    *_, end = iterator
    assert isinstance(end, Complete) and end.finish_reason == FinishReason.INTERRUPTED
    assert end.stats.completion_tokens < 200


def test_leaving_the_loop_stops_the_reply() -> None:
    conversation = scripted(["a", STALL], ["b"])
    response = conversation.generate_response("Hi")
    for _ in response:
        break
    until(lambda: not conversation.is_generating)
    assert [message.text for message in conversation.history] == ["Hi", "a"]
    assert text_of(list(conversation.generate_response("Go on"))) == "b"
    with pytest.raises(SdkError.StreamAlreadyConsumed):
        iter(response)


def test_an_exception_in_the_loop_stops_the_reply() -> None:
    conversation = scripted(["a", STALL])
    with pytest.raises(ZeroDivisionError):
        for _ in conversation.generate_response("Hi"):
            1 / 0
    until(lambda: not conversation.is_generating)


def test_a_with_block_stops_the_reply() -> None:
    conversation = scripted(["a", STALL])
    with conversation.generate_response("Hi") as response:
        iterator = iter(response)
        assert next(iterator) == Chunk("a")
    until(lambda: not conversation.is_generating)
    assert list(iterator) == []


def test_dropping_the_iterator_stops_the_reply() -> None:
    conversation = scripted(["a", STALL])
    iterator = iter(conversation.generate_response("Hi"))
    next(iterator)
    del iterator
    until(lambda: not conversation.is_generating)


def test_cancel_from_another_thread_ends_a_wait() -> None:
    conversation = scripted(["a", STALL])
    response = conversation.generate_response("Hi")

    def cancel() -> None:
        until(lambda: conversation.is_generating)
        response.cancel()

    other = threading.Thread(target=cancel)
    other.start()
    *_, end = response
    other.join()
    assert isinstance(end, Complete) and end.finish_reason == "interrupted"
    response.cancel()


def test_replies_are_read_on_any_thread() -> None:
    texts: list[str] = []

    def read(name: str) -> None:
        texts.append(text_of(list(scripted([name, *MANY]).generate_response("Hi"))))

    threads = [threading.Thread(target=read, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    read("e")
    for thread in threads:
        thread.join()
    assert sorted(texts) == [name + "".join(MANY) for name in "abcde"]


def test_a_busy_conversation_refuses_or_queues() -> None:
    conversation = scripted(["a", STALL], ["b"])
    response = conversation.generate_response("Hi")
    iterator = iter(response)
    next(iterator)
    with pytest.raises(SdkError.Busy):
        list(conversation.generate_response("Me too"))
    texts: list[str] = []
    queued = threading.Thread(
        target=lambda: texts.append(text_of(list(conversation.generate_response("Me too", on_busy="queue"))))
    )
    queued.start()
    response.cancel()
    list(iterator)
    queued.join()
    assert texts == ["b"]


def test_a_panic_is_an_error_that_affects_no_other_reply() -> None:
    conversation = scripted([{"panic": True}], ["fine"])
    with pytest.raises(SdkError.Internal):
        list(conversation.generate_response("Hi"))
    assert text_of(list(conversation.generate_response("Hi"))) == "fine"


def test_without_a_parser_call_text_is_not_changed() -> None:
    conversation = scripted([CALL_START, "[f()]"])
    events = list(conversation.generate_response("Hi", function_call_parser=None))
    assert text_of(events) == "<|tool_call_start|>[f()]"


# Ctrl-C and other signals.


@pytest.fixture
def other_signals() -> Iterator[list[int]]:
    """The SIGUSR1 signals received."""
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
    yield received
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Handles Ctrl-C as in a terminal; a process that was started in the background ignores it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_wait_and_stops_the_reply() -> None:
    conversation = scripted(["a", STALL], ["b"])
    has_begun = threading.Event()

    def interrupt() -> None:
        has_begun.wait()
        until_main_thread_sleeps()
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in conversation.generate_response("Hi"):
            has_begun.set()
    other.join()
    until(lambda: not conversation.is_generating)
    assert text_of(list(conversation.generate_response("Hi"))) == "b"


@pytest.mark.usefixtures("ctrl_c")
def test_after_ctrl_c_at_any_time_the_conversation_still_works() -> None:
    # `at` counts characters, because the number of events depends on the speed of reading.
    for at in range(1, 240, 4):
        conversation = scripted([*MANY[:100], STALL], ["b"])
        seen: list[str] = []

        def interrupt(at: int = at, seen: list[str] = seen) -> None:
            until(lambda: at <= sum(map(len, seen)))
            os.kill(os.getpid(), signal.SIGINT)

        other = threading.Thread(target=interrupt)
        with pytest.raises(KeyboardInterrupt):
            other.start()
            for event in conversation.generate_response("Hi"):
                seen.append(text_of([event]))
        other.join()
        until(lambda: not conversation.is_generating)
        assert text_of(list(conversation.generate_response("Hi"))) == "b"


def test_other_signals_lose_no_event(other_signals: list[int]) -> None:
    conversation = scripted(MANY)
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            os.kill(os.getpid(), signal.SIGUSR1)
            os.sched_yield()

    other = threading.Thread(target=send)
    other.start()
    text = text_of(list(conversation.generate_response("Hi")))
    is_over.set()
    other.join()
    assert text == "".join(MANY)
    assert other_signals


def test_a_reply_is_read_as_text_or_to_its_end() -> None:
    conversation = scripted(["a", "b"], ["c"], ["d"], [{"fail": "no memory"}])
    assert "".join(conversation.generate_response("Hi").text) == "ab"
    assert conversation.respond("Hi").text == "c"
    assert asyncio.run(conversation.respond_async("Hi")).text == "d"
    with pytest.raises(SdkError.Generation):
        conversation.respond("Hi")
