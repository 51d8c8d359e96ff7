"""Conversations: messages, functions, history, sessions, and the flow of a function call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import CALL_END, CALL_START, STALL, runner, scripted, text_of

import causerie
from causerie import (
    ChatMessage,
    ChatMessageRole,
    Complete,
    FunctionCalls,
    GenerationOptions,
    ModelRunner,
    SdkError,
    SdkFunction,
    SdkFunctionParameter,
    SdkInt,
    SdkStr,
    ToolChoice,
)

WEATHER = SdkFunction(
    "check_weather", "Check the weather in a city.", [SdkFunctionParameter("city", SdkStr(), "City.")]
)
CALL = [CALL_START, '[check_weather(city="Oslo")]', CALL_END]


def test_the_tool_flow_of_the_specification() -> None:
    model = runner(CALL, ["It is sunny."])
    conversation = model.create_conversation("You are brief.")
    conversation.register_function(WEATHER)
    calls = []
    for event in conversation.generate_response("What is the weather in Oslo?"):
        if isinstance(event, FunctionCalls):
            calls += event.function_calls
    assert [(call.name, call.arguments) for call in calls] == [("check_weather", {"city": "Oslo"})]
    assert causerie.validate(calls[0], conversation.functions).is_ok

    history = [*conversation.history, ChatMessage(ChatMessageRole.TOOL, '{"weather": "sunny"}')]
    answer = conversation.model_runner.create_conversation_from_history(history)
    assert answer.functions == [WEATHER]
    assert text_of(list(answer.continue_response())) == "It is sunny."


def test_the_tool_flow_on_the_demo_model() -> None:
    with ModelRunner.load("causerie/demo") as model:
        conversation = model.create_conversation("You are a small assistant on this device.")
        conversation.register_function(WEATHER)
        events = list(conversation.generate_response("Check the weather in Oslo", temperature=0))
        calls = [call for event in events if isinstance(event, FunctionCalls) for call in event.function_calls]
        assert [(call.name, call.arguments) for call in calls] == [("check_weather", {"city": "Oslo"})]
        result = json.dumps({"city": "Oslo", "sky": "sunny", "temperature": 21})
        answer = text_of(list(conversation.generate_response(ChatMessage("tool", result), temperature=0)))
        assert "sunny" in answer


def test_messages_are_accepted_in_every_form() -> None:
    conversation = scripted(["1"], ["2"], ["3"])
    for message in ("Hi", {"role": "user", "content": "Hi"}, ChatMessage("user", "Hi")):
        list(conversation.generate_response(message))
    said = [message for message in conversation.history if message.role == "user"]
    assert said == [ChatMessage(ChatMessageRole.USER, "Hi")] * 3


def test_functions_are_accepted_in_every_form() -> None:
    conversation = scripted()
    conversation.register_function(WEATHER)
    [entry] = json.loads(causerie.functions_to_json([WEATHER]))
    entry["function"]["name"] = "other"
    conversation.register_functions([entry, SdkFunction("third", "Another.")])
    assert [function.name for function in conversation.functions] == ["check_weather", "other", "third"]
    assert conversation.functions[1].parameters == WEATHER.parameters
    assert conversation.unregister_function("other") and not conversation.unregister_function("other")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"role": "nobody", "content": "Hi"}, SdkError),
        ({"content": "Hi"}, SdkError),
        ({"role": "user", "content": object()}, SdkError.Serialization),
        ({"role": "user", "content": float("nan")}, SdkError.Serialization),
        ("lone \ud800 surrogate", SdkError.Serialization),
        (7, TypeError),
        (None, TypeError),
    ],
)
def test_invalid_messages_are_refused(message: Any, error: type[Exception]) -> None:
    conversation = scripted(["a"])
    with pytest.raises(error):
        conversation.generate_response(message)
    assert conversation.history == []


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(SdkError.InvalidMessage):
        ChatMessage("nobody", "Hi")


@pytest.mark.parametrize("function", [SdkFunction("9 x", "Has a space."), {"type": "function"}, {}])
def test_invalid_functions_are_refused(function: Any) -> None:
    conversation = scripted()
    with pytest.raises(SdkError):
        conversation.register_function(function)
    assert conversation.functions == []


def test_a_single_message_is_not_a_history() -> None:
    model = runner(["a"])
    with pytest.raises(TypeError):
        model.create_conversation_from_history({"role": "user", "content": "Hi"})
    with pytest.raises(TypeError):
        model.create_conversation_from_history("Hi")


def test_options_are_given_as_an_object_or_as_keywords() -> None:
    conversation = scripted(["a", "b"], ["a", "b"])
    options = GenerationOptions()
    options.max_tokens = 1
    assert text_of(list(conversation.generate_response("Hi", options))) == "a"
    assert text_of(list(conversation.generate_response("Hi", max_tokens=1))) == "a"
    with pytest.raises(SdkError.InvalidOption):
        conversation.generate_response("Hi", options, temperature=0)
    with pytest.raises(SdkError.InvalidOption):
        conversation.generate_response("Hi", {"max_tokens": 1})  # type: ignore[call-overload]
    with pytest.raises(SdkError.InvalidOption):
        options.on_cancel = "explode"
    with pytest.raises(SdkError.InvalidOption):
        options.max_tokens = -1
    with pytest.raises(SdkError.InvalidOption):
        options.color = "red"


@pytest.mark.parametrize(
    "options",
    [
        {"tool_choice": "required"},
        {"tool_choice": ToolChoice.function("check_weather")},
        {"tool_choice": {"type": "function", "function": {"name": "check_weather"}}},
        {"tool_call_constraint": "typed"},
    ],
)
def test_a_call_is_constrained_to_its_function(options: Any) -> None:
    conversation = scripted([CALL_START, "[g()]"], ["Hi."])
    conversation.register_function(WEATHER)
    *_, end = conversation.generate_response("Hi", **options)
    assert isinstance(end, Complete) and end.finish_reason == "constraint" and end.unconstrained is None


def test_a_reply_is_constrained_to_a_schema() -> None:
    schema = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]}
    conversation = scripted(['{"city": "Oslo"}'], ["Oslo."])
    for form, reason in ((schema, "stop"), (json.dumps(schema), "constraint")):
        *_, end = conversation.generate_response("Where?", json_schema_constraint=form)
        assert isinstance(end, Complete) and end.finish_reason == reason


@pytest.mark.parametrize("choice", ["maybe", ToolChoice("maybe"), {"type": "function"}, 1])
def test_an_unknown_tool_choice_is_refused(choice: Any) -> None:
    with pytest.raises(SdkError.InvalidOption):
        GenerationOptions(tool_choice=choice)


def test_a_history_is_edited() -> None:
    conversation = scripted()
    assert conversation.remove_last_message() is None
    for text in "abc":
        conversation.append_to_history(text)
    fork = conversation.fork()
    assert conversation.remove_last_message() == ChatMessage("user", "c")
    conversation.truncate(1)
    assert [message.text for message in conversation.history] == ["a"]
    assert [message.text for message in fork.history] == ["a", "b", "c"]
    assert fork.model_runner is conversation.model_runner
    assert conversation.prompt_token_count() < fork.prompt_token_count()
    plan = fork.plan_context()
    assert plan.tokens_before == plan.tokens_after and plan.dropped_messages == []


def test_a_history_is_truncated_to_a_number_of_messages() -> None:
    conversation = scripted(system="Be brief.")
    conversation.truncate(2**40)
    with pytest.raises(SdkError.InvalidArgument, match="message_count must be 0 or more, found -1"):
        conversation.truncate(-1)
    with pytest.raises(TypeError):
        conversation.truncate(0.5)  # type: ignore[arg-type]
    assert [message.text for message in conversation.history] == ["Be brief."]


def test_a_session_is_not_saved_during_a_reply(tmp_path: Path) -> None:
    conversation = scripted(["a", STALL])
    with conversation.generate_response("Hi") as response:
        iterator = iter(response)
        next(iterator)
        with pytest.raises(SdkError.Busy):
            conversation.save_session(tmp_path / "session")


@pytest.mark.parametrize("token", [-1, 2**31, 2**32])
def test_invalid_token_ids_are_refused(token: int) -> None:
    with pytest.raises(SdkError.InvalidMessage, match=str(token)):
        list(runner(["a"]).complete([token]))


def test_a_history_is_a_copy() -> None:
    conversation = scripted(system="Be brief.")
    conversation.history.clear()
    conversation.history[0].content.clear()
    assert [message.text for message in conversation.history] == ["Be brief."]


def test_a_session_is_saved_and_restored(tmp_path: Path) -> None:
    model = runner(["a"], ["b"])
    conversation = model.create_conversation("Be brief.")
    list(conversation.generate_response("Hi"))
    conversation.save_session(tmp_path / "session")
    restored = model.restore_session(tmp_path / "session")
    assert restored.history == conversation.history
    assert text_of(list(restored.generate_response("Go on"))) == "b"


def test_an_error_names_the_fault_of_a_session(tmp_path: Path) -> None:
    (tmp_path / "session").write_bytes(b"nonsense")
    with pytest.raises(SdkError.Session) as caught:
        runner().restore_session(tmp_path / "session")
    assert caught.value.fault in {"corrupt", "version"}
    with pytest.raises(SdkError.Session) as caught:
        runner().restore_session(tmp_path / "nothing")
    assert caught.value.fault == "file"


def test_a_history_is_written_and_read_as_json() -> None:
    conversation = scripted(CALL, system="Be brief.")
    conversation.register_function(WEATHER)
    list(conversation.generate_response("Weather in 오슬로 🌦?"))
    history = conversation.history
    assert causerie.messages_from_json(causerie.messages_to_json(history)) == history
    assert [ChatMessage.from_dict(message.to_dict()) for message in history] == history
    with pytest.raises(SdkError.Serialization):
        causerie.messages_from_json("[{")


def test_conversations_of_an_unloaded_model_can_only_be_read() -> None:
    model = runner(["a"])
    with model:
        conversation = model.create_conversation("Be brief.")
    model.unload()
    assert [message.text for message in conversation.history] == ["Be brief."]
    with pytest.raises(SdkError.ModelUnloaded):
        list(conversation.generate_response("Hi"))


def test_a_prompt_that_does_not_fit_is_an_error_with_its_size() -> None:
    model = causerie.testing.load_scripted_model({"replies": [["a"]], "context_size": 30})
    with pytest.raises(SdkError.PromptExceedsContext) as caught:
        list(model.create_conversation().generate_response("x" * 100))
    assert caught.value.available == 30 < caught.value.needed


def test_a_call_is_compared_with_its_function() -> None:
    function = SdkFunction("f", "", [SdkFunctionParameter("n", SdkInt(), "")])
    validation = causerie.validate(causerie.SdkFunctionCall("f", {"n": "3"}), [function])
    assert validation.is_ok and validation.arguments == {"n": 3}
    assert validation.diagnostics[0].severity == causerie.Severity.COERCED
    wrong = causerie.validate(causerie.SdkFunctionCall("f"), [function])
    assert not wrong.is_ok and "n" in wrong.errors_as_tool_text
    unknown = causerie.validate(causerie.SdkFunctionCall("g", {"n": 3}), [function])
    assert not unknown.is_ok and unknown.errors_as_tool_text == '{"error": "g is not declared"}'
    assert validation.errors_as_tool_text == ""
