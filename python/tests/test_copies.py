"""Objects of the engine are neither copied nor pickled: a copy would free what the original uses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from support import runner, scripted

import causerie
from causerie import Conversation, FunctionHandlers, Tokenizer, causerie_ffi, stream_generate

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(lambda thing, protocol=protocol: pickle.dumps(thing, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
    # What containers, and arguments of processes, pass on.
    lambda thing: pickle.dumps({"key": [thing]}),
    lambda thing: copy.deepcopy((thing,)),
]


def engine_objects() -> list[Any]:
    """One object of every class that holds something of the engine."""
    model = runner(["a"], ["b"], ["c"])
    conversation = model.create_conversation()
    pieces = stream_generate(model, Tokenizer(model), "Hi")
    response = conversation.generate_response("Hi")
    reading = scripted(["a"]).generate_response("Hi")
    return [
        model,
        model._ffi,
        conversation,
        conversation._ffi,
        response,
        response._stream._stream,  # type: ignore[union-attr]
        iter(reading),
        Tokenizer(model),
        pieces,
        iter(stream_generate(model, Tokenizer(model), "Hi")),
    ]


@pytest.mark.parametrize("make", COPIES)
def test_an_object_of_the_engine_is_not_copied(make: Callable[[Any], Any]) -> None:
    for thing in engine_objects():
        with pytest.raises(TypeError, match=f"^{type(thing).__name__} must not be copied or pickled: .*; [a-z]"):
            make(thing)


def test_every_class_of_the_engine_is_tried() -> None:
    with_handles = {kind for kind in vars(causerie_ffi).values() if hasattr(kind, "_uniffi_make_instance")}
    tried = {type(thing) for thing in engine_objects()}
    for kind in with_handles - tried:
        with pytest.raises(TypeError, match="must not be copied"):
            copy.copy(kind.__new__(kind))
    assert tried & with_handles, "they hold handles"
    public = (causerie.ModelRunner, causerie.Conversation, causerie.Response, causerie.TextStream, causerie.Tokenizer)
    assert set(public) <= tried


class Chat(Conversation):
    """A class of an app."""


def test_subclasses_and_holders_are_not_copied_either() -> None:
    model = runner(["a"])
    chat = Chat._new(model, model.create_conversation()._ffi, FunctionHandlers())
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="^Chat must not be copied or pickled: .*use fork"):
            copied(chat)
    with pytest.raises(TypeError, match="^Conversation must not be copied"):
        copy.deepcopy({"conversation": chat.fork()})
    # The original is intact.
    assert [type(event).__name__ for event in chat.generate_response("Hi")][-1] == "Complete"


def test_values_are_copied() -> None:
    conversation = scripted(["Hello."])
    events = list(conversation.generate_response("Hi"))
    for value in [*events, conversation.history, conversation.model_runner.info, causerie.GenerationOptions(rng_seed=3)]:
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
    assert copy.copy(FunctionHandlers(max_rounds=3)).max_rounds == 3
