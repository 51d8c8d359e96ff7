"""Values: pattern matching on events, errors, numbers and strings."""

from __future__ import annotations

import copy
import enum
import inspect
import pickle
import re
from dataclasses import fields
from typing import Any

import pytest
from support import CALL_END, CALL_START, STALL, runner

import causerie
from causerie import (
    ChatMessage,
    ChatMessageContent,
    Chunk,
    Complete,
    FinishReason,
    FunctionCalls,
    SdkError,
    SdkFunction,
    _border,
    _json,
)
from causerie.decide import DecisionKeywords, DecisionOptions
from causerie.embedding import (
    EmbeddingModelKeywords,
    EmbeddingModelOptions,
    EmbedKeywords,
    EmbedOptions,
    RerankKeywords,
    RerankOptions,
)
from causerie.options import GenerationKeywords, GenerationOptions, LoadKeywords, LoadOptions
from causerie.transcribe import TranscribeKeywords, TranscribeOptions, TranscriberKeywords, TranscriberOptions


def arguments(written: str) -> dict[str, Any]:
    """Returns the arguments of a call as a model wrote it, after a round trip through the history."""
    model = runner([CALL_START, f"[f({written})]", CALL_END])
    conversation = model.create_conversation()
    events = list(conversation.generate_response("Hi"))
    call = next(event for event in events if isinstance(event, FunctionCalls)).function_calls[0]
    again = model.create_conversation_from_history(conversation.history).history[1].function_calls
    assert again and again[0].arguments == call.arguments
    return call.arguments


def test_events_match() -> None:
    events = list(runner(["a"]).create_conversation().generate_response("Hi"))
    seen = []
    for event in events:
        match event:
            case Chunk(text):
                seen.append(text)
            case Complete(ChatMessage(role="assistant"), FinishReason.STOP):
                seen.append("end")
    assert seen == ["a", "end"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("-7", -7),
        ("9223372036854775808", 2**63),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("2.0", 2.0),
        ("0.1", 0.1),
        ("True", True),
        ("None", None),
        ("[1, [2.5, None], {}]", [1, [2.5, None], {}]),
        ('{"k": {"z": [True]}}', {"k": {"z": [True]}}),
        (r'"a\n\"é👩\u0000"', 'a\n"é👩\0'),
    ],
)
def test_arguments_are_exact(written: str, value: Any) -> None:
    argument = arguments(f"a={written}")["a"]
    assert argument == value and type(argument) is type(value)


def test_integers_above_the_limit_of_python_are_exact() -> None:
    nines = "9" * 5000
    assert arguments(f"a={nines}, b=[-{nines}]") == {"a": 10**5000 - 1, "b": [1 - 10**5000]}


@pytest.mark.parametrize("number", [0, -1, 10**599, 10**600, 10**600 - 1, -(10**600), 10**1200 + 7, -(10**4300) - 1], ids=hex)
def test_integers_survive_a_round_trip_through_json(number: int) -> None:
    assert _json.loads(_json.dumps({"a": [number, {"b": number}]})) == {"a": [number, {"b": number}]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"bytes"])
def test_arguments_that_json_cannot_represent_are_refused(value: Any) -> None:
    call = causerie.SdkFunctionCall("f", {"a": value})
    with pytest.raises((TypeError, ValueError, SdkError)):
        runner().create_conversation_from_history([ChatMessage("assistant", function_calls=[call])])


def test_strings_of_every_kind_survive_a_round_trip() -> None:
    text = "é 👩‍👩‍👧 \u0000 \U0010ffff <|im_end|> \r\n\u2028"
    model = runner([text])
    conversation = model.create_conversation(text)
    *_, end = conversation.generate_response(text)
    assert [message.text for message in conversation.history] == [text] * 3
    assert isinstance(end, Complete) and end.full_message.text == text


def test_characters_arrive_whole() -> None:
    model = runner([{"bytes": [0xF0]}, {"bytes": [0x9F, 0x91]}, {"bytes": [0xA9]}])
    events = [event for event in model.create_conversation().generate_response("Hi") if isinstance(event, Chunk)]
    assert events == [Chunk("👩")]


def test_every_parameter_type_survives_a_round_trip() -> None:
    types: list[causerie.SdkFunctionParameterType] = [
        causerie.SdkStr(["a", "b"]),
        causerie.SdkNum([1, 2.5]),
        causerie.SdkInt([-(2**63), 2**63 - 1]),
        causerie.SdkBool(),
        causerie.SdkArr(causerie.SdkObj({"x": causerie.SdkBool("inner"), "y": causerie.SdkNull()}, required=["x"])),
        causerie.SdkNull(),
    ]
    parameters = [causerie.SdkFunctionParameter(f"p{at}", kind, "d", at % 2 == 0) for at, kind in enumerate(types)]
    function = SdkFunction("f", "d", parameters)
    conversation = runner().create_conversation()
    conversation.register_function(function)
    assert conversation.functions == [function]
    assert causerie.functions_from_json(causerie.functions_to_json([function]))[0].name == "f"


def test_all_errors_are_subclasses_of_sdk_error() -> None:
    kinds = SdkError.__subclasses__()
    assert len(kinds) >= 16
    for kind in kinds:
        assert getattr(SdkError, kind.__name__) is kind
    with pytest.raises(SdkError) as caught:
        causerie.messages_from_json("nonsense")
    assert type(caught.value) is SdkError.Serialization
    assert str(caught.value) == caught.value.reason != ""


@pytest.mark.parametrize("err", [SdkError.Busy("b"), SdkError.PromptExceedsContext("p", 2, 1), SdkError.Session("s", "f")])
def test_errors_can_be_pickled(err: SdkError) -> None:
    again = pickle.loads(pickle.dumps(err))
    assert type(again) is type(err) and vars(again) == vars(err) and str(again) == str(err)


def test_an_app_cannot_replace_a_kind_of_error() -> None:
    ours: type[SdkError] = SdkError.Busy
    theirs = type("Busy", (SdkError,), {"__module__": __name__})
    assert SdkError.Busy is ours is not theirs


def test_values_are_copied_and_pickled() -> None:
    message = ChatMessage("system", "Hi", functions=[SdkFunction("f", "d")])
    assert copy.deepcopy(message) == message == pickle.loads(pickle.dumps(message))
    assert message != ChatMessage("user", "Hi")


@pytest.mark.parametrize(
    ("generated", "ours"), _border.replaced, ids=[ours.__name__ for _, ours in _border.replaced]
)
def test_a_class_has_the_members_of_the_generated_one(generated: Any, ours: Any) -> None:
    if issubclass(generated, enum.Enum):
        assert list(ours.__members__) == list(generated.__members__)
    elif issubclass(generated, Exception):
        kinds = {name for name, kind in vars(generated).items() if isinstance(kind, type)}
        assert {kind.__name__ for kind in SdkError.__subclasses__()} == kinds
    else:
        names = list(inspect.signature(generated.__init__).parameters)
        # The exception of a function stays in this package.
        added = {causerie.FunctionResult: ["error"]}.get(ours, [])
        assert [field.name for field in fields(ours)] == names[1:] + added


def test_files_print_their_size() -> None:
    message = ChatMessage("user", [causerie.Text("See"), causerie.Image(bytes(100_000)), causerie.Audio(bytes(3708))])
    assert "Image(<100000 bytes>)" in repr(message) and "Audio(<3708 bytes>)" in repr(message)
    assert len(repr(message)) < 500 and len(repr([message, {"of": message}])) < 1000
    assert repr(causerie.AudioSample([0.0] * 24_000, 16_000)) == "AudioSample(<24000 samples>, sample_rate=16000)"
    assert causerie.Image(bytes(2)) == causerie.Image(bytes(2)) != causerie.Image(b"ab")


def test_parts_of_a_message_may_be_strings_and_dicts() -> None:
    text = causerie.Text("See")
    for content in ("See", text, ["See"], [text], {"type": "text", "text": "See"}, [{"type": "text", "text": "See"}]):
        assert ChatMessage("user", content) == ChatMessage("user", [text])
    picture = {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}}
    assert ChatMessage("user", ["See", picture]).content == [text, causerie.Image(b"GIF89a")]
    assert ChatMessage("user").content == ChatMessage("user", []).content == []
    with pytest.raises(TypeError, match="a part of a message must be Text, Image, Audio, a string or a dict, found int"):
        ChatMessage("user", [1])  # type: ignore[list-item]
    with pytest.raises(SdkError):
        ChatMessage("user", [{"type": "nonsense"}])


def test_constructors_that_apps_cannot_use_say_what_to_call() -> None:
    for kind, advice in [
        (causerie.ModelRunner, "ModelRunner.load"),
        (causerie.Conversation, "create_conversation"),
        (causerie.Response, "generate_response"),
        (causerie.TextStream, "generate_response"),
        (causerie.DownloadPlan, "Hub.plan"),
        (causerie.embedding.EmbeddingModel, "EmbeddingModel.load"),
        (causerie.transcribe.Transcriber, "Transcriber.load"),
        (causerie.transcribe.LiveTranscription, "Transcriber"),
        (ChatMessageContent, "Text"),
        (causerie.SdkFunctionParameterType, "SdkStr()"),
        (causerie.MessageResponse, "Chunk"),
    ]:
        for given in ((), ("model.gguf",), (runner(), "Be brief.")):
            with pytest.raises(TypeError, match=re.escape(advice)):
                kind(*given)


def test_parts_are_members_of_their_class_and_match() -> None:
    message = ChatMessage("user", [ChatMessageContent.Text("See"), ChatMessageContent.Image(b"GIF89a"), ChatMessageContent.Audio(b"")])
    assert message.content == [causerie.Text("See"), causerie.Image(b"GIF89a"), causerie.Audio(b"")]
    assert all(isinstance(part, ChatMessageContent) for part in message.content)
    match message.content[0]:
        case ChatMessageContent.Text(text):
            assert text == "See"
        case _:
            raise AssertionError


def test_variants_list_their_own_names() -> None:
    for value, names in [
        (causerie.Text("x"), ["text"]),
        (causerie.SdkObj({}), ["description", "properties", "required"]),
        (causerie.SdkNull(), []),
        (Chunk("x"), ["text"]),
        (causerie.PredicateKind(), ["no", "yes"]),
    ]:
        assert [name for name in dir(value) if not name.startswith("_")] == names
        assert {"__class__", "__init__", "__eq__"} <= set(dir(value))


def test_objects_say_what_they_are() -> None:
    conversation = runner(["Hello!", STALL]).create_conversation("Be brief.")
    assert repr(conversation) == "<Conversation of 1 message, the last by system>"
    response = conversation.generate_response("Hi")
    assert repr(response) == "<Response, not read yet>"
    assert repr(response.text) == "<TextStream of <Response, not read yet>>"
    iterator = iter(response)
    next(iterator)
    assert (repr(response), repr(conversation)) == (
        "<Response, being read>",
        "<Conversation of 2 messages, the last by user, generating>",
    )
    response.cancel()
    list(iterator)
    assert repr(response) == "<Response, ended: interrupted>"
    assert repr(conversation) == "<Conversation of 3 messages, the last by assistant>"
    with conversation.generate_response("And now?") as left:
        pass
    assert repr(left) == "<Response, left>"
    assert repr(runner().create_conversation()) == "<Conversation of 0 messages>"
    assert repr(causerie.FunctionHandlers()) == "<FunctionHandlers of no functions>"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("temprature", "temperature"), ("maxTokens", "max_tokens"), ("max_token", "max_tokens"), ("seed", "rng_seed"), ("stop", "stop_sequences")],
)
def test_a_mistyped_option_is_told_the_right_one(name: str, meant: str) -> None:
    model: Any = runner(["a"])
    with pytest.raises(SdkError.InvalidOption, match=f"there is no option {name}; did you mean {meant}\\?") as caught:
        model.create_conversation().generate_response("Hi", **{name: 1})
    assert caught.value.option == name
    with pytest.raises(SdkError.InvalidOption, match=meant):
        setattr(GenerationOptions(), name, 1)


def test_an_unknown_option_is_not_told_another() -> None:
    model: Any = runner(["a"])
    with pytest.raises(SdkError.InvalidOption, match="there is no option colour$"):
        model.create_conversation().generate_response("Hi", colour=1)


def test_keywords_are_the_options() -> None:
    for options, keywords in (
        (GenerationOptions, GenerationKeywords),
        (LoadOptions, LoadKeywords),
        (TranscribeOptions, TranscribeKeywords),
        (TranscriberOptions, TranscriberKeywords),
        (DecisionOptions, DecisionKeywords),
        (EmbeddingModelOptions, EmbeddingModelKeywords),
        (EmbedOptions, EmbedKeywords),
        (RerankOptions, RerankKeywords),
    ):
        names = list(inspect.signature(options).parameters)
        assert names == list(keywords.__annotations__) == list(options._checks)


def test_numbers_beyond_32_bits_are_refused() -> None:
    with pytest.raises(SdkError.InvalidOption):
        GenerationOptions(temperature=1e39)
