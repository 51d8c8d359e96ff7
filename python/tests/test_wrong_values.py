"""Values of the wrong type: the error names the place, and comes before the engine is called."""

from __future__ import annotations

import dataclasses
import datetime
import inspect
from collections.abc import Callable
from typing import Any, Literal

import pytest
from support import runner

import causerie
from causerie import (
    ChatMessage,
    ChatMessageRole,
    FunctionHandlers,
    GenerationOptions,
    Hub,
    LoadOptions,
    SdkArr,
    SdkError,
    SdkFunction,
    SdkFunctionCall,
    SdkFunctionParameter,
    SdkInt,
    SdkNum,
    SdkObj,
    SdkStr,
    Text,
)
from causerie.embedding import EmbedOptions


@dataclasses.dataclass
class Noted(ChatMessage):
    """A message with fields of an app, which the engine does not get."""

    kind: Literal["a", "b"] = "a"
    meta: Any = None
    number: int = 1 << 70


def test_classes_of_apps_may_have_fields_of_their_own() -> None:
    conversation = runner(["Hello!"]).create_conversation_from_history([Noted(ChatMessageRole.USER, [Text("Hi")])])
    assert [message.text for message in conversation.history] == ["Hi"]


def test_replies_may_have_keys_like_content() -> None:
    call = {"type": "function", "id": "1", "function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [call], "intent": "book"}, {"role": "user", "content": "x", "context": 1}]
    for message in messages:
        assert ChatMessage.from_dict(message).role == message["role"]


def parameter(kind: Any, name: Any = "city", **others: Any) -> SdkFunction:
    return SdkFunction("f", "", [SdkFunctionParameter(name, kind, "", **others)])


TYPE = "must be SdkFunctionParameterType"
WRONG: list[tuple[Any, str]] = [
    (parameter(SdkStr("The city")), "parameter city: type.enum_values must be a list of strings, found str"),  # type: ignore[arg-type]
    (parameter(SdkObj({"a": SdkStr()}, "a")), "parameter city: type.required must be a list of strings, found str"),  # type: ignore[arg-type]
    (parameter(SdkObj({"a": SdkStr(["x", 1])})), r"parameter city: type.properties.a.enum_values\[1\] must be a string, found int"),  # type: ignore[list-item]
    (parameter(SdkObj([("b", SdkStr())])), "parameter city: type.properties must be a dict, found list"),  # type: ignore[arg-type]
    (parameter(SdkObj({1: SdkStr()})), "parameter city: type.properties has a key that must be a string, found int"),  # type: ignore[dict-item]
    (parameter(str), f"parameter city: type {TYPE}, found the class str"),
    (parameter(SdkStr), f"parameter city: type {TYPE}, found the class SdkStr"),
    (parameter(SdkArr(SdkStr)), f"parameter city: type.item_type {TYPE}, found the class SdkStr"),  # type: ignore[arg-type]
    (parameter(SdkNum(["1"])), r"parameter city: type.enum_values\[0\] must be a number, found str"),  # type: ignore[list-item]
    (parameter(SdkStr(), optional="no"), "parameter city: optional must be True or False, found str"),
    (parameter(SdkStr(), name=5), "parameter 5: name must be a string, found int"),
    (SdkFunction("f", "", [("a", SdkStr(), "")]), r"parameters\[0\] must be SdkFunctionParameter, found tuple"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("function", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_a_wrong_value_in_a_function_is_named_with_its_parameter(function: SdkFunction, reason: str) -> None:
    conversation = runner().create_conversation()
    for use in (causerie.function_schema, conversation.register_function, lambda it: causerie.functions_to_json([it])):
        with pytest.raises(TypeError, match=f'^function "f": {reason}$'):
            use(function)
    assert conversation.functions == []


def test_an_integer_beyond_64_bits_is_an_invalid_choice() -> None:
    with pytest.raises(SdkError.InvalidFunction, match=r'function "f": parameter city: type.enum_values\[1\] must be an integer of 64'):
        causerie.function_schema(parameter(SdkInt([1, 2**63])))


def assistant(call: Any) -> ChatMessage:
    return ChatMessage("assistant", function_calls=[call])


CALLS: list[tuple[str, Callable[[Any], object]]] = [
    (r"messages\[1\]", lambda call: causerie.messages_to_json([ChatMessage("user", "Hi"), assistant(call)])),
    ("message", lambda call: runner().create_conversation().append_to_history(assistant(call))),
    (r"history\[0\]", lambda call: runner().create_conversation_from_history([assistant(call)])),
    (r"state.messages\[0\]", lambda call: runner().decide([assistant(call)], [])),
]


@pytest.mark.parametrize(("place", "use"), CALLS, ids=[place for place, _ in CALLS])
def test_a_wrong_value_in_a_message_is_named_with_its_place(place: str, use: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=rf"^{place}.function_calls\[0\] must be SdkFunctionCall, found dict$"):
        use({"name": "f"})
    for value in (float("nan"), object(), datetime.date(2026, 1, 1)):
        with pytest.raises(SdkError.Serialization, match=rf"^{place}.function_calls\[0\].arguments must be representable as JSON"):
            use(SdkFunctionCall("f", {"a": [value]}))


def test_a_call_to_validate_must_be_representable_as_json() -> None:
    with pytest.raises(SdkError.Serialization, match="^call.arguments must be representable as JSON"):
        causerie.validate(SdkFunctionCall("f", {"a": float("inf")}), [])


def test_arguments_of_calls_are_named() -> None:
    model: Any = runner()
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: model.create_conversation(["a"]), "system_prompt must be a string, found list"),
        (lambda: model.tokenize(5), "prompt must be a string, found int"),
        (lambda: model.create_conversation().unregister_function(None), "name must be a string, found NoneType"),
        (lambda: model.create_conversation().save_session("x", include_cache="no"), "include_cache must be True or False, found str"),
        (lambda: model.create_conversation().interrupt("now"), "played_until must be a number, found str"),
        (lambda: model.render_prompt(["Hi"], "yes"), "add_generation_prompt must be True or False, found str"),
        (lambda: causerie.messages_from_json(b"[]"), "text must be a string, found bytes"),  # type: ignore[arg-type]
        (lambda: Hub(endpoint=5), "options.endpoint must be a string, found int"),  # type: ignore[arg-type]
    ]
    for call, reason in calls:
        with pytest.raises(TypeError, match=f"^{reason}$"):
            call()


def test_numpy_and_plain_sequences_are_still_taken() -> None:
    numpy = pytest.importorskip("numpy")
    kinds = [SdkInt(numpy.array([1, 2])), SdkNum([numpy.float32(0.5), 1]), SdkObj({"a": SdkStr(("x",))}, ("a",))]  # type: ignore[arg-type]
    function = SdkFunction("f", "", [SdkFunctionParameter(f"p{at}", kind, "") for at, kind in enumerate(kinds)])
    schemas = causerie.function_schema(function)["parameters"]["properties"]
    assert (schemas["p0"]["enum"], schemas["p1"]["enum"], schemas["p2"]["required"]) == ([1, 2], [0.5, 1.0], ["a"])


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: GenerationOptions(temprature=0.1), "there is no option temprature; did you mean temperature?"),  # type: ignore[call-arg]
        (lambda: GenerationOptions(timeouts=1), "there is no option timeouts; did you mean timeout?"),  # type: ignore[call-arg]
        (lambda: LoadOptions(context=1), "there is no option context; did you mean context_size?"),  # type: ignore[call-arg]
        (lambda: LoadOptions(colour=1), "there is no option colour"),  # type: ignore[call-arg]
        (lambda: EmbedOptions(dimension=1), "there is no option dimension; did you mean dimensions?"),  # type: ignore[call-arg]
        (lambda: FunctionHandlers(max_round=1), "there is no option max_round; did you mean max_rounds?"),  # type: ignore[call-arg]
        (lambda: Hub(is_ofline=True), "there is no option is_ofline; did you mean is_offline?"),  # type: ignore[call-arg]
    ],
)
def test_a_mistyped_option_of_a_constructor_is_told_the_right_one(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(SdkError.InvalidOption) as caught:
        make()
    assert caught.value.reason == reason


def test_constructors_of_options_still_show_their_parameters() -> None:
    assert list(inspect.signature(FunctionHandlers).parameters) == ["functions", "max_rounds", "time_limit", "in_parallel"]
    assert list(inspect.signature(LoadOptions).parameters) == list(LoadOptions._checks)


def test_durations_and_numbers_say_their_limits() -> None:
    assert GenerationOptions(timeout=datetime.timedelta.max).timeout_milliseconds == -(-86_399_999_999_999_999_999 // 1000)
    assert GenerationOptions(timeout=datetime.timedelta(microseconds=1)).timeout_milliseconds == 1
    for timeout in (-1, 1e30, float("inf"), -datetime.timedelta.resolution):
        with pytest.raises(SdkError.InvalidOption, match="timeout must be a number of seconds or a timedelta, from 0 to 18446744073709551,"):
            GenerationOptions(timeout=timeout)
    for number in (1e39, 10**400):
        with pytest.raises(SdkError.InvalidOption, match="^temperature must be a number that 32 bits can represent, found"):
            GenerationOptions(temperature=number)


@pytest.mark.parametrize(
    ("as_type", "reason"),
    [
        ({"type": "object"}, "give it as json_schema_constraint"),
        ("City", "give it as json_schema_constraint"),
        (complex, "JSON has no complex numbers"),
        (5, r"\(Unable to generate pydantic-core schema for 5\), found 5$"),
    ],
    ids=str,
)
def test_a_wrong_type_of_a_reply_is_named(as_type: Any, reason: str) -> None:
    pytest.importorskip("pydantic")
    conversation = runner(["1"]).create_conversation()
    for ask in (conversation.respond, conversation.generate_response):
        with pytest.raises(SdkError.InvalidOption, match=reason) as caught:
            ask("Hi", as_type=as_type)
        assert caught.value.option == "as_type" and caught.value.reason.startswith("as_type must be a type that JSON Schema can describe")
    with pytest.raises(TypeError):
        causerie.decode_reply("1", as_type)


def test_a_mistyped_key_of_a_message_is_named() -> None:
    conversation = runner(["Hello!"]).create_conversation()
    for message, reason in [
        ({"role": "user", "contents": "Hi"}, "message has the unknown key contents; did you mean content?"),
        ({"rol": "user", "content": "Hi"}, "message has the unknown key rol; did you mean role?"),
    ]:
        with pytest.raises(SdkError.InvalidMessage) as caught:
            conversation.respond(message)
        assert caught.value.reason == reason
    kept = ChatMessage.from_dict({"role": "user", "content": "Hi", "contents": 1})
    assert kept.to_dict()["contents"] == 1, "other keys are kept"


def f(a: int) -> str:
    return "f"


def other(a: int) -> str:
    return "other"


other.__name__ = "f"
AS_DATA = SdkFunction("f", "Another.")
TWICE = "^functions must have different names, found f twice$"


@pytest.mark.parametrize("functions", [[f, other], [f, AS_DATA], [AS_DATA, {"name": "f", "parameters": {}}]], ids=["code", "both", "data"])
def test_two_functions_of_one_name_in_a_list_are_refused(functions: Any) -> None:
    model = runner(["Hello!"])
    conversation = model.create_conversation()
    for use in (
        lambda: model.create_conversation("", functions),
        lambda: model.create_conversation("", iter(functions)),
        lambda: conversation.respond("Hi", functions=functions),
        lambda: conversation.register_functions(functions),
        lambda: causerie.validate(SdkFunctionCall("f", {}), functions),
    ):
        with pytest.raises(SdkError.InvalidFunction, match=TWICE):
            use()
    assert conversation.functions == []


def test_handlers_of_one_name_in_a_list_are_refused() -> None:
    with pytest.raises(SdkError.InvalidFunction, match=TWICE):
        FunctionHandlers(f, other)
    with pytest.raises(SdkError.InvalidFunction, match=TWICE):
        runner(["Hello!"]).create_conversation().respond_with_functions("Hi", [f, other])


def test_a_function_may_be_given_twice_and_replaced_later() -> None:
    conversation = runner(["Hello!"]).create_conversation("", [f, f])
    conversation.register_function(AS_DATA)
    assert [function.description for function in conversation.functions] == ["Another."]
    handlers = FunctionHandlers(f)
    handlers.function(other)
    assert list(handlers._handlers) == ["f"]
