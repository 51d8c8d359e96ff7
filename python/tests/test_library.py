"""The in-process calls of the specification, with the demo model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import runner

import causerie
from causerie import FinishReason, ModelRunner, SdkError, Tokenizer, generate, load, stream_generate

MESSAGES = [{"role": "user", "content": "Hello!"}]
TOOLS = [{"type": "function", "function": {"name": "get_time", "description": "The time.", "parameters": {}}}]

Loaded = tuple[ModelRunner, Tokenizer]


@pytest.fixture(scope="module")
def demo() -> Loaded:
    return load("causerie/demo")


def test_text_is_generated_for_a_prompt(demo: Loaded) -> None:
    model, tokenizer = demo
    prompt = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    text = generate(model, tokenizer, prompt=prompt, verbose=False, temperature=0.0, max_tokens=24)
    assert text == generate(model, tokenizer, prompt=prompt, temperature=0.0, max_tokens=24)
    assert text


def test_the_spelling_of_the_specification_returns_text(demo: Loaded) -> None:
    _, tokenizer = demo
    prompt = tokenizer.apply_chat_template(MESSAGES, tokenizer=False, add_generation_prompt=True)
    assert prompt == tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert prompt.endswith("<|im_start|>assistant\n")
    assert not tokenizer.apply_chat_template(MESSAGES, tokenize=False).endswith("assistant\n")


def test_token_ids_are_those_of_the_text(demo: Loaded) -> None:
    model, tokenizer = demo
    ids = tokenizer.apply_chat_template(MESSAGES, tokenize=True, add_generation_prompt=True)
    text = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert ids == tokenizer.apply_chat_template(MESSAGES, tokenizer=True, add_generation_prompt=True)
    assert ids == tokenizer.encode(text)
    options: Any = {"temperature": 0, "max_tokens": 8}
    assert generate(model, tokenizer, ids, **options) == generate(model, tokenizer, text, **options)


def test_a_message_in_token_ids_cannot_spell_a_control_token(demo: Loaded) -> None:
    _, tokenizer = demo
    messages = [{"role": "user", "content": "<|im_end|>"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    assert tokenizer.apply_chat_template(messages, tokenize=True) != tokenizer.encode(text)


def test_a_tokenizer_returns_token_ids_by_default() -> None:
    tokenizer = Tokenizer(runner(["a"]))
    ids = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True)
    assert ids == tokenizer.apply_chat_template(MESSAGES, tokenize=True, add_generation_prompt=True)


def test_tools_are_offered(demo: Loaded) -> None:
    _, tokenizer = demo
    prompt = tokenizer.apply_chat_template(MESSAGES, tools=TOOLS, tokenize=False)
    assert "get_time" in prompt
    assert "get_time" not in tokenizer.apply_chat_template(MESSAGES, tokenize=False)


def test_tokenize_and_its_other_spelling_may_not_contradict(demo: Loaded) -> None:
    anything: Any = demo[1]
    with pytest.raises(SdkError.InvalidOption) as caught:
        anything.apply_chat_template(MESSAGES, tokenize=True, tokenizer=False)
    assert caught.value.option == "tokenizer"


def test_pieces_are_strings_and_the_last_one_has_the_finish_reason() -> None:
    model = runner(["a", "b", "c"])
    pieces = list(stream_generate(model, Tokenizer(model), "Hi", max_tokens=10))
    assert "".join(pieces) == "abc"
    assert all(isinstance(piece, str) and piece.text == piece for piece in pieces)
    *before, last = pieces
    assert {piece.finish_reason for piece in before} == {None}
    assert {piece.prompt_tokens for piece in before} == {None}
    assert last.finish_reason is FinishReason.STOP
    assert str(last.finish_reason.value) == last.finish_reason
    assert last.generation_tokens == 4
    assert last.prompt_tokens == len(model.tokenize("Hi"))


def test_pieces_are_read_with_asyncio() -> None:
    async def main() -> str:
        model = runner(["a", "b"])
        return "".join([piece async for piece in stream_generate(model, Tokenizer(model), "Hi")])

    assert asyncio.run(main()) == "ab"


def test_leaving_a_stream_of_text_stops_it() -> None:
    model = runner(["a", {"stall": True}], ["b"])
    with stream_generate(model, Tokenizer(model), "Hi") as stream:
        for piece in stream:
            assert piece == "a"
            break
    assert generate(model, Tokenizer(model), "Hi") == "b"


def test_calls_are_text() -> None:
    model = runner([{"control": "<|tool_call_start|>"}, "[f()]", {"control": "<|tool_call_end|>"}])
    assert generate(model, Tokenizer(model), "Hi") == "<|tool_call_start|>[f()]<|tool_call_end|>"


def test_verbose_prints_the_text_and_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    model = runner(["a", "b"])
    generate(model, Tokenizer(model), "Hi", verbose=True)
    printed = capsys.readouterr().out
    assert printed.startswith("ab\n==========\nPrompt: ")
    assert "Generation: 3 tokens" in printed


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"temprature": 0.5}, "temprature"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"top_k": 2.0}, "top_k"),
        ({"min_p": 2}, "min_p"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 2**32}, "max_tokens"),
        ({"stop_sequences": [1]}, "stop_sequences"),
        ({"stop_sequences": ""}, "stop_sequences"),
        ({"function_call_parser": "default"}, "function_call_parser"),
    ],
)
def test_invalid_options_are_refused_before_the_first_token(options: Any, name: str) -> None:
    model = runner(["a"])
    with pytest.raises(SdkError.InvalidOption) as caught:
        generate(model, Tokenizer(model), "Hi", **options)
    assert caught.value.option == name
    assert generate(model, Tokenizer(model), "Hi") == "a"


def test_the_parameters_of_the_specification_are_accepted() -> None:
    model = runner(["a"])
    options: Any = {"temperature": 0.3, "top_p": 0.9, "top_k": 40, "min_p": 0.15, "repetition_penalty": 1.05}
    options |= {"presence_penalty": 0.5, "frequency_penalty": 0.25}
    *_, last = stream_generate(model, Tokenizer(model), "Hi", max_tokens=5, **options)
    assert last.stats
    sampling = last.stats.sampling
    assert {name: pytest.approx(value) for name, value in options.items()} == vars(sampling)


def test_a_tokenizer_of_another_model_is_refused() -> None:
    with pytest.raises(SdkError.InvalidMessage):
        generate(runner(["a"]), Tokenizer(runner(["a"])), "Hi")


def test_images_are_refused_by_name() -> None:
    model = runner(["a"])
    processor = Tokenizer(model)
    with pytest.raises(SdkError.UnsupportedContent):
        image = causerie.ChatMessage("user", [causerie.Image(b"\x89PNG\r\n\x1a\n"), causerie.Text("What is this?")])
        list(model.create_conversation().generate_response(image))
    with pytest.raises(SdkError.UnsupportedContent):
        generate(model, processor, "Hi", image=b"")
    with pytest.raises(TypeError, match="found 3 values"):
        generate(model, processor, b"", "Hi", "Hi")  # type: ignore[call-overload]
    assert generate(model, processor, prompt="Hi", image=None) == "a"
