"""Replies that are read with asyncio."""

from __future__ import annotations

import asyncio
import sys

import pytest
from support import CALL_END, CALL_START, STALL, offering, runner, scripted, text_of, until

from causerie import Chunk, Complete, Conversation, ModelRunner, Response, SdkError, causerie_ffi


async def read(response: Response) -> str:
    return text_of([event async for event in response])


def test_a_reply_is_read() -> None:
    assert asyncio.run(read(scripted(["a", "b"]).generate_response("Hi"))) == "ab"


def test_a_response_is_read_once() -> None:
    async def main() -> None:
        response = scripted(["a"]).generate_response("Hi")
        await read(response)
        with pytest.raises(SdkError.StreamAlreadyConsumed):
            await read(response)

    asyncio.run(main())


def test_errors_are_raised_from_the_loop() -> None:
    with pytest.raises(SdkError.Generation):
        asyncio.run(read(scripted([{"fail": "no memory"}]).generate_response("Hi")))


def test_leaving_the_loop_stops_the_reply() -> None:
    async def main() -> Conversation:
        conversation = scripted(["a", STALL])
        async for _ in conversation.generate_response("Hi"):
            break
        return conversation

    conversation = asyncio.run(main())
    until(lambda: not conversation.is_generating)


def test_an_async_with_block_stops_the_reply() -> None:
    async def main() -> Conversation:
        conversation = scripted(["a", STALL])
        async with conversation.generate_response("Hi") as response:
            assert await response.__aiter__().__anext__() == Chunk("a")
        return conversation

    conversation = asyncio.run(main())
    until(lambda: not conversation.is_generating)


def test_cancelling_the_task_stops_the_reply() -> None:
    async def main() -> None:
        conversation = scripted(["a", STALL], ["b"])
        has_begun = asyncio.Event()

        async def wait_for_more() -> None:
            async for _ in conversation.generate_response("Hi"):
                has_begun.set()

        task = asyncio.create_task(wait_for_more())
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        until(lambda: not conversation.is_generating)
        assert await read(conversation.generate_response("Hi")) == "b"

    asyncio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before, tasks do not tell that they were cancelled")
@pytest.mark.parametrize("place", ["event", "body", "function"])
@pytest.mark.parametrize("then", ["generate_response", "append_to_history", "for"])
def test_after_a_cancel_the_next_request_is_never_busy(place: str, then: str) -> None:
    async def main() -> None:
        conversation = offering([CALL_START, "[f()]", CALL_END, *([] if place == "function" else [STALL])], ["b"], ["b"])
        has_begun = asyncio.Event()

        async def f() -> None:
            """A function."""
            has_begun.set()
            await asyncio.Event().wait()

        async def wait_for_more() -> None:
            async for _ in conversation.respond_with_functions("1", [f]):
                if place != "function":
                    has_begun.set()
                if place == "body":
                    await asyncio.Event().wait()

        task = asyncio.create_task(wait_for_more())
        await has_begun.wait()
        task.cancel()
        # The loop has not run since, so the task does not know yet.
        if then == "append_to_history":
            conversation.append_to_history("2")
        elif then == "for":
            assert conversation.respond("2").text == "b"
        else:
            assert (await conversation.respond_async("2")).text == "b"
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


def test_a_task_that_goes_on_after_its_cancellation_keeps_its_next_reply() -> None:
    async def main() -> None:
        conversation = scripted(["a", STALL], ["b", STALL])
        has_begun, goes_on = asyncio.Event(), asyncio.Event()

        async def wait_for_more() -> None:
            try:
                async for _ in conversation.generate_response("1"):
                    has_begun.set()
            except asyncio.CancelledError:
                async for _ in conversation.generate_response("2"):
                    goes_on.set()

        task = asyncio.create_task(wait_for_more())
        await has_begun.wait()
        task.cancel()
        await goes_on.wait()
        with pytest.raises(SdkError.Busy):
            await read(conversation.generate_response("3"))
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())


def test_a_wake_of_a_closed_loop_is_dropped() -> None:
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    loop.close()
    waiting = causerie_ffi._UniffiContinuationHandleMap
    # An exception here would be reported, and fail the test.
    causerie_ffi._uniffi_continuation_callback(waiting.insert((loop, future)), 0)
    assert len(waiting) == 0 and not future.done()


def test_a_time_limit_of_asyncio_stops_the_reply() -> None:
    async def main() -> None:
        conversation = scripted([STALL])
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(conversation.generate_response("Hi")), 0)
        until(lambda: not conversation.is_generating)

    asyncio.run(main())


def test_the_loop_keeps_running_while_replies_are_generated() -> None:
    async def main() -> None:
        model = runner(["a", STALL], ["b"])
        first, second = model.create_conversation(), model.create_conversation()
        response = first.generate_response("Hi")
        events = response.__aiter__()
        assert await events.__anext__() == Chunk("a")
        stalled = asyncio.ensure_future(events.__anext__())
        assert await read(second.generate_response("Hi")) == "b"
        response.cancel()
        assert isinstance(await stalled, Complete)

    asyncio.run(main())


def test_a_reply_may_be_read_without_asyncio_inside_a_running_loop() -> None:
    async def main() -> str:
        return text_of(list(scripted(["a", "b"]).generate_response("Hi")))

    assert asyncio.run(main()) == "ab"


def test_models_are_loaded_and_unloaded() -> None:
    async def main() -> None:
        async with ModelRunner.load_async("causerie/demo") as model:
            assert model.info.name == "causerie-demo"
        with pytest.raises(SdkError.ModelUnloaded):
            await read(model.create_conversation().generate_response("Hi"))

    asyncio.run(main())


def test_a_missing_model_is_an_error() -> None:
    with pytest.raises(SdkError.ModelNotFound):
        asyncio.run(ModelRunner.load_async("no/such.gguf"))


def test_cancelling_the_task_cancels_loading() -> None:
    async def main() -> list[float]:
        reported: list[float] = []
        task = asyncio.create_task(ModelRunner.load_async("causerie/demo", progress=reported.append))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return reported

    assert 1.0 not in asyncio.run(main())
