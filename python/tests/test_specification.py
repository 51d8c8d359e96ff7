"""The words of the specification, as it writes them."""

from __future__ import annotations

from typing import Any

import pytest
from support import REPOSITORY

import causerie
from causerie import (
    ChatMessage,
    Chunk,
    Complete,
    DefaultFunctionCallParser,
    FunctionCallParser,
    FunctionCalls,
    GenerationOptions,
    JsonStyleFunctionCallParser,
    MessageResponse,
    ModelRunner,
    SdkArr,
    SdkBool,
    SdkError,
    SdkFunction,
    SdkFunctionParameter,
    SdkFunctionParameterType,
    SdkInt,
    SdkNull,
    SdkNum,
    SdkObj,
    SdkStr,
    Text,
    generate,
    load,
    stream_generate,
)

MODEL = str(REPOSITORY / "models/demo.gguf")


def test_in_process_operations_with_text(capsys: pytest.CaptureFixture[str]) -> None:
    model, tokenizer = load(MODEL)
    messages = [{"role": "user", "content": "Check the weather in Oslo"}]
    prompt = tokenizer.apply_chat_template(messages, tokenizer=False, add_generation_prompt=True)
    assert isinstance(prompt, str)
    text = generate(
        model,
        tokenizer,
        prompt=prompt,
        verbose=True,
        temperature=0.0,
        top_p=1.0,
        top_k=50,
        max_tokens=16,
        repetition_penalty=1.0,
        min_p=0.05,
    )
    assert text and text in capsys.readouterr().out
    for piece in stream_generate(model, tokenizer, prompt=prompt, max_tokens=16, temperature=0.0):
        print(piece, end="", flush=True)
    assert capsys.readouterr().out == text


def test_in_process_operations_with_images() -> None:
    model, processor = load(MODEL)
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]}]
    prompt = processor.apply_chat_template(messages, add_generation_prompt=True)
    assert isinstance(prompt, str) and "<image>" in prompt
    picture = str(REPOSITORY / "tests/fixtures/pictures/circles.png")
    question = prompt.replace("What is this?", "How many red circles are there?")
    for image in (picture, [picture]):
        assert generate(model, processor, image, question, verbose=False) == "There are 3 red circles."
    for damaged in (b"an image", [b"an image"]):
        with pytest.raises(SdkError.UnsupportedContent):
            generate(model, processor, damaged, prompt=question)
    # A text model accepts text only.
    model, processor = load(str(REPOSITORY / "tests/fixtures/models/lfm2-q4_0.gguf"))
    with pytest.raises(SdkError.UnsupportedContent, match=r"messages\[0\]\.content\[0\]"):
        processor.apply_chat_template(messages, add_generation_prompt=True)
    with pytest.raises(SdkError.UnsupportedContent):
        generate(model, processor, picture, "What is this?", verbose=False)


def test_the_flow_for_tool_use() -> None:
    model_runner = ModelRunner.load(MODEL)
    # 1. Create a conversation and register functions.
    conversation = model_runner.create_conversation("You are a small assistant on this device.")
    conversation.register_function(
        SdkFunction(
            name="check_weather",
            description="Check the weather in a city.",
            parameters=[SdkFunctionParameter(name="city", type=SdkStr(), description="City.", optional=False)],
        )
    )
    # 2. Call generate_response with the user message and read the responses.
    options = GenerationOptions(function_call_parser=DefaultFunctionCallParser, temperature=0.0, max_tokens=100)
    user_message = ChatMessage(role="user", content=[Text("Check the weather in Oslo")])
    calls = []
    for response in conversation.generate_response(user_message, options):
        if isinstance(response, FunctionCalls):
            calls += response.function_calls
        elif isinstance(response, Complete):
            assert response.full_message.function_calls == calls
    # 3. Validate each call's arguments against the tool's expected shape, then run the tool.
    (call,) = calls
    assert (call.name, call.arguments) == ("check_weather", {"city": "Oslo"})
    # 4. Build a message with the tool role whose text content is the tool output.
    tool_message = ChatMessage(role="tool", content=[Text('{"sky": "sunny"}')])
    # 5. A new conversation from the history plus that message; call generate_response on the new conversation.
    history = [*conversation.history, tool_message]
    answering = conversation.model_runner.create_conversation_from_history(history)
    answer = "".join(event.text for event in answering.generate_response(options=options) if isinstance(event, Chunk))
    assert "sunny" in answer


def test_types_and_parsers() -> None:
    types = [
        SdkStr(enum_values=["celsius"], description="A unit."),
        SdkNum(enum_values=[1.5], description="A number."),
        SdkInt(enum_values=[1], description="An integer."),
        SdkBool(description="A boolean."),
        SdkArr(item_type=SdkStr(), description="An array."),
        SdkObj(properties={"city": SdkStr()}, required=["city"], description="An object."),
        SdkNull(),
    ]
    assert len({repr(kind) for kind in types}) == 7
    assert not SdkFunctionParameter(name="a", type=SdkNull(), description="").optional
    assert GenerationOptions(function_call_parser=None).function_call_parser is None
    options = GenerationOptions(function_call_parser=JsonStyleFunctionCallParser)
    assert options.function_call_parser == JsonStyleFunctionCallParser


def test_variants_are_members_of_their_types() -> None:
    assert SdkFunctionParameterType.SdkArr(SdkFunctionParameterType.SdkStr()) == SdkArr(SdkStr())
    for kind in (SdkStr(), SdkNum(), SdkInt(), SdkBool(), SdkArr(SdkNull()), SdkObj({}), SdkNull()):
        assert getattr(SdkFunctionParameterType, type(kind).__name__) is type(kind)
        assert isinstance(kind, SdkFunctionParameterType)
    match SdkFunctionParameterType.SdkStr(["a"]):
        case SdkFunctionParameterType.SdkStr(enum_values=values):
            assert values == ["a"]
        case _:
            raise AssertionError
    event: MessageResponse = Chunk("Hello!")
    assert isinstance(event, MessageResponse.Chunk) and not isinstance(event, MessageResponse.Complete)
    match event:
        case MessageResponse.Complete():
            raise AssertionError
        case MessageResponse.Chunk(text):
            assert text == "Hello!"
    names = "Chunk ReasoningChunk AudioSample FunctionCalls FunctionCallsRejected Logprobs FunctionResult RoundComplete Complete"
    for name in names.split():
        assert getattr(MessageResponse, name) is getattr(causerie, name)
        assert issubclass(getattr(MessageResponse, name), MessageResponse)


def test_parsers_may_be_called() -> None:
    parser: Any
    for parser in FunctionCallParser:
        assert parser() is parser
    parser = JsonStyleFunctionCallParser
    options = GenerationOptions(function_call_parser=parser())
    assert options.function_call_parser is JsonStyleFunctionCallParser
