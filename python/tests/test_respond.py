"""Functions given with a conversation, whole answers in every shape, and durations."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Optional, Union

import pytest
from support import STALL, call, runner, scripted, text_of

import causerie
from causerie import (
    ChatMessage,
    ChatMessageContent,
    Complete,
    Conversation,
    FinishReason,
    FunctionCalls,
    FunctionHandlers,
    FunctionResult,
    GenerationOptions,
    Hub,
    SdkError,
    SdkFunction,
)


def get_weather(city: str) -> dict[str, str]:
    """The weather in a city."""
    return {"sky": "sunny", "city": city}


@dataclass
class SetTimer:
    """Set a timer."""

    minutes: int


WEATHER = call("[get_weather(city='Oslo')]")
RESULT = '{"sky": "sunny", "city": "Oslo"}'
Ask = Callable[..., Any]


def both(conversation: Conversation) -> list[Ask]:
    def in_asyncio(*given: Any, **named: Any) -> Any:
        return asyncio.run(conversation.respond_async(*given, **named))

    return [conversation.respond, in_asyncio]


def results(events: list[Any]) -> list[str]:
    return [event.text for event in events if isinstance(event, FunctionResult)]


def test_a_conversation_runs_the_python_functions_that_it_was_made_with() -> None:
    conversation = runner(WEATHER, ["Sunny."]).create_conversation("Be brief.", functions=[get_weather])
    assert [message.text for message in conversation.history] == ["Be brief."]
    assert conversation.functions == [causerie.function_from(get_weather)]
    events = list(conversation.generate_response("Oslo?"))
    assert results(events) == [RESULT] and text_of(events) == "Sunny."


def test_a_conversation_leaves_the_calls_of_definitions_to_the_app() -> None:
    weather, timer = causerie.function_from(get_weather), causerie.functions_to_json([causerie.function_from(SetTimer)])
    for definition in (weather, causerie.function_schema(weather)):
        conversation = runner(WEATHER).create_conversation(functions=[definition, SetTimer])
        assert [function.name for function in conversation.functions] == ["get_weather", "set_timer"]
        assert causerie.functions_to_json(conversation.functions[1:]) == timer
        end = conversation.respond("Oslo?")
        assert end.finish_reason == FinishReason.TOOL_CALLS and end.full_message.function_calls


def test_a_conversation_runs_handlers_with_their_options() -> None:
    handlers = FunctionHandlers(get_weather, max_rounds=1)
    conversation = runner(WEATHER, WEATHER).create_conversation(functions=handlers)
    events = list(conversation.generate_response("Oslo?"))
    assert results(events) == [RESULT], "the calls of the second reply are left to the app"
    assert isinstance(events[-1], Complete) and events[-1].finish_reason == FinishReason.TOOL_CALLS


def get_time() -> str:
    """The time."""
    return "noon"


def test_functions_of_one_reply_run_with_the_options_of_the_conversation() -> None:
    handlers = FunctionHandlers(get_weather, max_rounds=1)
    asks: list[Ask] = [
        lambda conversation: conversation.generate_response("Oslo?", functions=[get_time]),
        lambda conversation: conversation.respond_with_functions("Oslo?", [get_time]),
        lambda conversation: conversation.continue_with_functions([get_time]),
    ]
    for ask in asks:
        conversation = runner(call("[get_time()]"), WEATHER).create_conversation("Hi", functions=handlers)
        assert results(list(ask(conversation))) == ["noon"]
    conversation = runner(call("[get_time()]"), WEATHER, ["Sunny."]).create_conversation(functions=handlers)
    own = FunctionHandlers(get_time, max_rounds=2)
    assert results(list(conversation.generate_response("Oslo?", functions=own))) == ["noon", RESULT]


def test_a_conversation_made_from_a_history_runs_functions_as_well() -> None:
    history = [ChatMessage("user", "Oslo?")]
    conversation = runner(WEATHER, ["Sunny."]).create_conversation_from_history(history, functions=[get_weather])
    for respond in both(conversation)[:1]:
        assert respond().text == "Sunny."
    assert [message.role.value for message in conversation.history] == ["system", "user", "assistant", "tool", "assistant"]


def test_a_fork_runs_the_same_functions() -> None:
    fork = runner(WEATHER, ["Sunny."]).create_conversation(functions=[get_weather]).fork()
    assert fork.respond("Oslo?").text == "Sunny."


@pytest.mark.parametrize("replaced", [True, False])
def test_a_function_that_is_registered_again_or_removed_is_not_run(replaced: bool) -> None:
    conversation = runner(WEATHER, ["Sunny."]).create_conversation(functions=[get_weather])
    if replaced:
        conversation.register_function(SdkFunction("get_weather", "Another."))
    else:
        assert conversation.unregister_function("get_weather")
    events = list(conversation.generate_response("Oslo?"))
    assert results(events) == [] and any(isinstance(event, FunctionCalls) for event in events)
    assert [function.description for function in conversation.functions] == ["Another."] * replaced


def test_a_wrong_function_is_refused_when_the_conversation_is_made() -> None:
    model = runner()
    for wrong in ("get_weather", get_weather, {"name": "f"}, SetTimer, 3, ["f"]):
        with pytest.raises(TypeError, match="must be"):
            model.create_conversation(functions=wrong)  # type: ignore[arg-type]
    with pytest.raises(SdkError.InvalidFunction):
        model.create_conversation(functions=[SdkFunction("not a name", "")])


def test_without_a_system_prompt_there_is_no_message() -> None:
    model = runner()
    assert model.create_conversation(None).history == model.create_conversation().history == []


def test_an_answer_takes_all_that_a_reply_takes() -> None:
    for at in (0, 1):
        conversation = scripted(["One."], ["Two."], ["Three."], WEATHER, ["Sunny."], WEATHER, ["Rain."])
        respond = both(conversation)[at]
        assert respond(ChatMessage("user", "Hi"), GenerationOptions(max_tokens=9)).text == "One."
        assert respond(["See", ChatMessageContent.Text("this")], temperature=0).text == "Two."
        assert conversation.history[2].content == [ChatMessageContent.Text("See"), ChatMessageContent.Text("this")]
        conversation.append_to_history("And then?")
        assert respond().text == "Three.", "a reply to the history as it stands"
        assert respond("Oslo?", functions=[get_weather]).text == "Sunny."
        assert respond("Oslo?", functions=FunctionHandlers(get_weather)).text == "Rain."
        assert conversation.functions == [causerie.function_from(get_weather)]


def test_an_answer_may_be_a_value_of_a_type() -> None:
    for at in (0, 1):
        conversation = scripted(['{"minutes": 12}'], ["[1, 2]"])
        respond = both(conversation)[at]
        assert respond("A timer", as_type=SetTimer) == SetTimer(12)
        assert respond("Numbers", as_type=list[int]) == [1, 2]
        with pytest.raises(SdkError.InvalidOption) as caught:
            respond("A timer", GenerationOptions(json_schema_constraint="{}"), as_type=SetTimer)
        assert caught.value.option == "json_schema_constraint"


def test_calls_that_are_left_to_the_app_have_no_value() -> None:
    for at in (0, 1):
        conversation = runner(WEATHER).create_conversation(functions=[causerie.function_from(get_weather)])
        with pytest.raises(SdkError.InvalidArgument, match="the reply called functions that the app must run"):
            both(conversation)[at]("A timer", as_type=SetTimer)
    conversation = runner(WEATHER).create_conversation(functions=[causerie.function_from(get_weather)])
    with pytest.raises(SdkError.InvalidArgument, match="the reply called functions that the app must run"):
        list(conversation.generate_response("A timer", as_type=SetTimer))


def test_options_may_have_the_name_of_the_specification() -> None:
    conversation = scripted(["One. ", "Two."], ["[1]"], ["Three."])
    options = GenerationOptions(max_tokens=1)
    events = list(conversation.generate_response("Hi", generation_options=options))
    assert text_of(events) == "One. "
    assert conversation.respond("Hi", generation_options=None, as_type=list[int]) == [1]
    with pytest.raises(SdkError.InvalidOption, match="max_tokens must be set in the options object"):
        conversation.respond("Hi", generation_options=options, max_tokens=2)
    with pytest.raises(SdkError.InvalidOption, match="generation_options must be set in the options object"):
        conversation.respond("Hi", options, generation_options=options)


def test_options_of_the_app_are_not_changed_by_a_type() -> None:
    options = GenerationOptions(max_tokens=40)
    assert scripted(["[1]"]).respond("Numbers", options, as_type=list[int]) == [1]
    assert options == GenerationOptions(max_tokens=40)


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        (2.5, 2500),
        (2.007, 2007),
        (1e-9, 1),
        (0, 0),
        (timedelta(minutes=1), 60_000),
        (timedelta(milliseconds=2007), 2007),
        (timedelta(microseconds=1), 1),
        (timedelta(), 0),
        (None, None),
    ],
)
def test_a_time_is_given_in_seconds_or_as_a_timedelta(given: Any, milliseconds: int | None) -> None:
    options = GenerationOptions(timeout=given)
    assert options.timeout_milliseconds == milliseconds
    options.timeout_milliseconds = 1500
    assert options.timeout == 1.5
    options.timeout = given
    assert options.timeout_milliseconds == milliseconds
    options.timeout = None
    assert options == GenerationOptions()


@pytest.mark.parametrize(
    ("changes", "milliseconds"),
    [({}, 2007), ({"timeout_milliseconds": 5}, 5), ({"timeout_milliseconds": None}, None), ({"timeout": 3}, 3000), ({"timeout": None}, None)],
)
def test_a_replaced_time_is_the_time(changes: dict[str, Any], milliseconds: int | None) -> None:
    options = dataclasses.replace(GenerationOptions(timeout=timedelta(milliseconds=2007)), **changes)
    assert options.timeout_milliseconds == milliseconds
    assert options.timeout == (None if milliseconds is None else milliseconds / 1000)


@pytest.mark.parametrize("wrong", [-1, timedelta(seconds=-1), float("nan"), float("inf"), "5", True])
def test_a_wrong_time_is_an_error(wrong: Any) -> None:
    for make in (lambda: GenerationOptions(timeout=wrong), lambda: Hub(idle_timeout=wrong), lambda: Hub(retry_pause=wrong)):
        with pytest.raises(SdkError.InvalidOption, match="must be a number of seconds or a timedelta"):
            make()


def test_times_of_functions_and_replies_are_timedeltas_as_well() -> None:
    conversation = runner(WEATHER, ["Late."]).create_conversation()
    handlers = FunctionHandlers(get_weather, time_limit=timedelta(0))
    assert [event.is_error for event in conversation.respond_with_functions("Oslo?", handlers) if isinstance(event, FunctionResult)]
    with pytest.raises(SdkError.InvalidOption):
        FunctionHandlers(time_limit="5")  # type: ignore[arg-type]
    ended = scripted([STALL]).respond("Hi", timeout=timedelta(milliseconds=1))
    assert ended.finish_reason == FinishReason.INTERRUPTED


def test_hints_that_are_not_classes_are_types_of_replies() -> None:
    # The annotations are for mypy.
    number: Optional[int] = scripted(["1"]).respond("Hi", as_type=Optional[int])
    choice: Literal["a", "b"] = scripted(['"a"']).respond("Hi", as_type=Literal["a", "b"])
    either: int | str = scripted(['"a"']).respond("Hi", as_type=Union[int, str])
    later: Optional[int] = asyncio.run(scripted(["1"]).respond_async("Hi", as_type=Optional[int]))
    values: list[Optional[int]] = list(scripted(["1"]).generate_response("Hi", as_type=Optional[int]))
    decoded: Optional[int] = causerie.decode_reply("1", Optional[int])
    assert (number, choice, either, later, values[-1], decoded) == (1, "a", "a", 1, 1, 1)
