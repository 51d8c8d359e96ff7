"""What the tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from causerie import Chunk, Conversation, ModelRunner
from causerie.testing import load_scripted_model

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests/fixtures"

CALL_START = {"control": "<|tool_call_start|>"}
CALL_END = {"control": "<|tool_call_end|>"}
STALL = {"stall": True}


def scripted(*replies: list[Any], system: str = "") -> Conversation:
    """A conversation with a model that says these replies."""
    return runner(*replies).create_conversation(system)


def runner(*replies: list[Any]) -> ModelRunner:
    return load_scripted_model({"replies": list(replies)})


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Chunk))


def until(claim: Callable[[], bool]) -> None:
    """Lets other threads go on until this is so."""
    while not claim():
        os.sched_yield()
