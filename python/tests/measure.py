"""Measures the overhead of an event, and of 1 MB of arguments. A scripted model computes nothing. With the wheel installed:

python python/tests/measure.py
"""

import asyncio
import time
from typing import Any

from causerie import Conversation, SdkFunction, SdkFunctionCall, validate
from causerie.testing import load_scripted_model

TOKENS = 20_000
ARGUMENTS: dict[str, dict[str, Any]] = {
    "strings": {f"key{at}": "x" * 80 for at in range(11_000)},
    "numbers": {"rows": [[at, at + 0.5] for at in range(66_000)]},
    "one string": {"text": "x" * 1_000_000},
}
"""About 1 MB as JSON each."""


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


def report_arguments() -> None:
    """The arguments go to the engine, which compares them with a function, and come back."""
    function = SdkFunction("f", "")
    for name, arguments in ARGUMENTS.items():
        call = SdkFunctionCall("f", arguments)
        costs = []
        for _ in range(9):
            begin = time.perf_counter()
            validate(call, [function])
            costs.append((time.perf_counter() - begin) * 1e3)
        print(f"1 MB of arguments there and back, {name}: median {sorted(costs)[4]:.1f} ms")


report("for", read())
report("async for", asyncio.run(read_async()))
report_arguments()
