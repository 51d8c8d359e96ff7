"""Models that follow a script, so that apps are tested without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from causerie import causerie_ffi as ffi
from causerie._border import check_can_load
from causerie.function import json_text
from causerie.runner import ModelRunner


def load_scripted_model(script: Mapping[str, Any] | str) -> ModelRunner:
    """Starts a model that says what it is told: `{"replies": [[step, …], …], "context_size": …}`, or JSON text of it.

    A step is a token: a text, or one of `{"bytes": [226, 130]}`, `{"control": "<|tool_call_start|>"}`,
    `{"fail": "message"}`, `{"stall": True}` (until it is cancelled) and `{"panic": True}`. Everything around the model
    is the real thing. Raises `SdkError.Serialization`.
    """
    check_can_load()
    return ModelRunner(ffi.load_scripted_model(script if isinstance(script, str) else json_text(dict(script))))
