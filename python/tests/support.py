"""Helpers shared by the tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from causerie import Chunk, Conversation, ModelRunner, SdkFunction
from causerie.testing import load_scripted_model

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests/fixtures"

CALL_START = {"control": "<|tool_call_start|>"}
CALL_END = {"control": "<|tool_call_end|>"}
STALL = {"stall": True}


def call(text: str) -> list[Any]:
    """Returns a reply with calls."""
    return [CALL_START, text, CALL_END]


def scripted(*replies: list[Any], system: str = "") -> Conversation:
    """Returns a conversation with a model that gives these replies."""
    return runner(*replies).create_conversation(system)


def runner(*replies: list[Any]) -> ModelRunner:
    return load_scripted_model({"replies": list(replies)})


def offering(*replies: list[Any]) -> Conversation:
    """Returns such a conversation that offers the functions `f` and `g`."""
    conversation = scripted(*replies)
    conversation.register_functions([SdkFunction("f", "", []), SdkFunction("g", "", [])])
    return conversation


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Chunk))


def until_main_thread_sleeps() -> None:
    """Yields until the main thread sleeps; without /proc, a fixed number of times."""
    stat = Path(f"/proc/self/task/{threading.main_thread().native_id}/stat")
    n_looks = 0
    while n_looks < 300:
        os.sched_yield()
        state = stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else "S"
        n_looks = n_looks + 1 if state == "S" else 0


def until(claim: Callable[[], bool]) -> None:
    """Yields to other threads until the claim holds."""
    while not claim():
        os.sched_yield()
