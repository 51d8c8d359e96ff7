"""Models that follow a script, for testing apps without a real model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from causerie import causerie_ffi as ffi
from causerie._border import check_can_load
from causerie.function import json_text
from causerie.runner import ModelRunner


def load_scripted_model(script: Mapping[str, Any] | str) -> ModelRunner:
    """Starts a model that replies as scripted: `{"replies": [[step, …], …], "context_size": …}`, or JSON text of it.

    A step is a token: a string, or one of `{"bytes": [226, 130]}`, `{"control": "<|tool_call_start|>"}`,
    `{"fail": "message"}`, `{"stall": True}` (until it is cancelled) and `{"panic": True}`. Only the model's network is
    replaced; everything else is the real engine. Raises `SdkError.Serialization`.
    """
    check_can_load()
    return ModelRunner._new(ffi.load_scripted_model(script if isinstance(script, str) else json_text(dict(script))))
