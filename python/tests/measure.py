"""Measures the overhead of an event: a scripted model computes nothing. With the wheel installed:

python python/tests/measure.py
"""

import asyncio
import time

from causerie import Conversation
from causerie.testing import load_scripted_model

TOKENS = 20_000


def conversation() -> Conversation:
    return load_scripted_model({"replies": [["x"] * TOKENS]}).create_conversation()


def read() -> list[float]:
    times = [time.perf_counter()]
    for _ in conversation().generate_response("Hi"):
        times.append(time.perf_counter())
    return times


async def read_async() -> list[float]:
    times = [time.perf_counter()]
    async for _ in conversation().generate_response("Hi"):
        times.append(time.perf_counter())
    return times


def report(method: str, times: list[float]) -> None:
    costs = sorted((after - before) * 1e6 for before, after in zip(times, times[1:]))
    median, late = costs[len(costs) // 2], costs[len(costs) * 95 // 100]
    print(f"an event by {method}: median {median:.1f} µs, 95 % within {late:.1f} µs, of {len(costs)}")


report("for", read())
report("async for", asyncio.run(read_async()))
