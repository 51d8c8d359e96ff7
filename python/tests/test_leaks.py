"""Replies that are abandoned at random positions leak nothing.

CAUSERIE_LEAK_GENERATIONS sets their number; the figures are meaningful with 10,000 of them (`pytest -s`).
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from support import runner, until

from causerie import Conversation, _waiting
from causerie.causerie_ffi import ResponseStream

COUNT = int(os.environ.get("CAUSERIE_LEAK_GENERATIONS", "300"))
LENGTH = 40


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads and memory in /proc")
def test_replies_abandoned_at_random_leak_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(7)
    # One-time initialisation is not a leak.
    generate(20, chance)
    before = figures()
    generate(COUNT, chance)
    until(lambda: threads() <= before["threads"])
    after = figures()
    with capsys.disabled():
        if 300 < COUNT:
            print(f"\n{COUNT} generations: before {before}, after {after}")
    assert after["streams"] == before["streams"] == 0
    assert after["awaited"] == before["awaited"] == 0
    assert after["futures"] == before["futures"] == 0
    assert after["files"] <= before["files"]
    assert after["KiB"] - before["KiB"] < 16 * 1024


def generate(count: int, chance: random.Random) -> None:
    for start in range(0, count, 100):
        model = runner(*[[f"{token} " for token in range(LENGTH)]] * 100)
        for _ in range(min(100, count - start)):
            conversation = model.create_conversation()
            chance.choice([leave, cancel, read_async, cancel_task])(conversation, chance.randrange(LENGTH + 5))
        model.unload()


def leave(conversation: Conversation, at: int) -> None:
    for number, _ in enumerate(conversation.generate_response("Hi")):
        if number == at:
            break


def cancel(conversation: Conversation, at: int) -> None:
    response = conversation.generate_response("Hi")
    for number, _ in enumerate(response):
        if number == at:
            response.cancel()


def read_async(conversation: Conversation, at: int) -> None:
    async def read() -> None:
        number = 0
        async for _ in conversation.generate_response("Hi"):
            number += 1
            if number > at:
                break

    asyncio.run(read())


def cancel_task(conversation: Conversation, at: int) -> None:
    async def read() -> None:
        async for _ in conversation.generate_response("Hi"):
            pass

    async def main() -> None:
        task = asyncio.create_task(read())
        for _ in range(at):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())


def figures() -> dict[str, int]:
    gc.collect()
    futures: Any = sys.modules["causerie.causerie_ffi"].__dict__["_UniffiContinuationHandleMap"]
    return {
        "streams": sum(isinstance(thing, ResponseStream) for thing in gc.get_objects()),
        "awaited": len(_waiting._awaited),
        "futures": len(futures),
        "threads": threads(),
        "files": len(os.listdir("/proc/self/fd")),
        "KiB": int(Path("/proc/self/statm").read_text().split()[1]) * (os.sysconf("SC_PAGE_SIZE") // 1024),
    }


def threads() -> int:
    return len(os.listdir("/proc/self/task"))
