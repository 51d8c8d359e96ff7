"""Types of everyday Python as parameters and replies: their schemas, and values there and back."""

from __future__ import annotations

import collections
import datetime
import json
import re
import subprocess
import sys
import typing
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import hypothesis
import jsonschema  # type: ignore[import-untyped]
import pydantic
import pytest
import typing_extensions
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, EmailStr, Field, HttpUrl, RootModel, SecretStr, TypeAdapter
from support import text_of

import causerie
from causerie import SdkError, SdkFunctionCall

T = TypeVar("T")


class Colour(Enum):
    RED = "red"
    TWO = 2


class Node(BaseModel):
    """A node."""

    name: str
    kids: list[Node] = []


@dataclass
class Link:
    value: int
    next: Optional[Link] = None


class Pair(NamedTuple):
    number: int
    text: str = "x"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    owner: Optional[str]


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]


class Box(BaseModel, Generic[T]):
    item: T


@dataclass
class PlainBox(Generic[T]):
    item: T
    label: Annotated[str, "What is on it."] = "none"


UserId = NewType("UserId", int)


class Numbers(RootModel[list[int]]):
    pass


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    numbers: list[Optional[int]]


@dataclass
class Booking:
    """A booking.

    Attributes:
        day: When it begins.
        guests: Who comes.
    """

    day: datetime.date
    guests: Annotated[list[str], Field(min_length=1, max_length=3)]
    price: Annotated[Decimal, Field(ge=0, max_digits=5, decimal_places=2)] = Decimal("1.5")
    pets: list[Pet] = field(default_factory=list)


class Options(typing_extensions.TypedDict):
    a: typing_extensions.NotRequired[Annotated[int, "The first."]]
    b: Optional[str]


UTC = datetime.timezone.utc
VALUES: list[tuple[Any, Any, Any]] = [
    # the type, JSON that a model may write, the value
    (Union[int, str], "x", "x"),
    (Literal["a", 1], 1, 1),
    (Literal[True], True, True),
    (Colour, 2, Colour.TWO),
    (datetime.date, "2026-02-28", datetime.date(2026, 2, 28)),
    (datetime.datetime, "2026-02-28T12:30:00Z", datetime.datetime(2026, 2, 28, 12, 30, tzinfo=UTC)),
    (datetime.time, "12:30:00Z", datetime.time(12, 30, tzinfo=UTC)),
    (datetime.timedelta, "P1DT2H", datetime.timedelta(days=1, hours=2)),
    (Decimal, 1.25, Decimal("1.25")),
    (Fraction, "-3/4", Fraction(-3, 4)),
    (Fraction, 0.5, Fraction(1, 2)),
    (uuid.UUID, "6f1e1f3a-0c8e-4b8f-9f43-d3b0b4a9a001", uuid.UUID("6f1e1f3a-0c8e-4b8f-9f43-d3b0b4a9a001")),
    (Path, "/a/b", Path("/a/b")),
    (set[int], [1, 2, 1], {1, 2}),
    (frozenset[str], ["a"], frozenset("a")),
    (tuple[int, str], [1, "a"], (1, "a")),
    (Pair, [1], Pair(1, "x")),
    (Any, {"a": [None]}, {"a": [None]}),
    (object, [1], [1]),
    (list, [1, "a"], [1, "a"]),
    (dict, {"a": 1}, {"a": 1}),
    (Sequence[int], [1], [1]),
    (Mapping[str, int], {"a": 1}, {"a": 1}),
    (UserId, 3, 3),
    (Annotated[int, Field(gt=2)], 3, 3),
    (Box[int], {"item": 1}, Box[int](item=1)),
    (PlainBox[list[str]], {"item": ["a"]}, PlainBox(["a"])),
    (Numbers, [1], Numbers([1])),
    (Pet, {"kind": "cat", "lives": 9}, Cat(lives=9)),
    (Pet, {"kind": "dog"}, Dog(owner=None)),
    (Node, {"name": "a", "kids": [{"name": "b"}]}, Node(name="a", kids=[Node(name="b")])),
    (Link, {"value": 1, "next": {"value": "2"}}, Link(1, Link(2))),
    (EmailStr, "ada@example.org", "ada@example.org"),
    (HttpUrl, "https://example.org/a", HttpUrl("https://example.org/a")),
    (SecretStr, "x", SecretStr("x")),
    (Strict, {"numbers": [1, None]}, Strict(numbers=[1, None])),
    (Options, {}, {"b": None}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (dict[Literal["a", "b"], int], {"a": 1}, {"a": 1}),
    (collections.deque[int], [1], collections.deque([1])),
    (Optional[int], None, None),
    (bytes, "a", b"a"),
    (Booking, {"day": "2026-02-28", "guests": ["a"]}, Booking(datetime.date(2026, 2, 28), ["a"])),
]
HINTS = [hint for hint, _, _ in VALUES]


def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())


@pytest.mark.parametrize(("hint", "written", "value"), VALUES, ids=str)
def test_everyday_types_are_replies_and_arguments(hint: Any, written: Any, value: Any) -> None:
    validator(causerie.reply_schema(hint)).check_schema(causerie.reply_schema(hint))
    assert causerie.decode_reply(json.dumps(written), hint) == value

    def keep(it: Any) -> Any:
        """Keep it."""
        return it

    keep.__annotations__ = {"it": hint}
    assert causerie.functions_from_json(causerie.functions_to_json([causerie.function_from(keep)]))
    assert causerie.decode_call(SdkFunctionCall("keep", {"it": written}), keep) == value


st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
RANDOM: list[Any] = [
    Union[int, str],
    Literal["a", 1],
    Colour,
    datetime.date,
    datetime.timedelta,
    uuid.UUID,
    set[int],
    tuple[int, str],
    Pair,
    list[Optional[int]],
    dict[str, float],
    Node,
    Link,
    Box[list[bool]],
    Strict,
]


@pytest.mark.parametrize("hint", RANDOM, ids=str)
def test_random_values_fit_the_schema_and_come_back(hint: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(hint)
    check = validator(causerie.reply_schema(hint))
    bounded = st.timedeltas(datetime.timedelta(1 - 10**6), datetime.timedelta(10**6 - 1))

    @hypothesis.settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @hypothesis.given(bounded if hint is datetime.timedelta else st.from_type(hint))
    def run(value: Any) -> None:
        written = without_none(json.loads(adapter.dump_json(value)))
        check.validate(written)
        assert causerie.decode_reply(json.dumps(written), hint) == value

    run()


def without_none(written: Any) -> Any:
    """JSON without members that are null: they are left out."""
    if isinstance(written, dict):
        return {name: without_none(value) for name, value in written.items() if value is not None}
    return [without_none(item) for item in written] if isinstance(written, list) else written


@pytest.fixture(scope="module")
def model() -> Any:
    return causerie.load("causerie/demo")[0]


@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_what_a_schema_lets_a_model_write_is_decoded(model: Any, hint: Any) -> None:
    for seed in range(3):
        options: dict[str, Any] = {"temperature": 2, "rng_seed": seed, "max_tokens": 150, "json_schema_constraint": hint}
        *events, end = model.create_conversation().generate_response("Hello!", **options)
        text = text_of([*events, end])
        # A grammar does not bound the exponents of numbers.
        if end.finish_reason == "stop" and not re.search(r"[eE][+-]?[0-9]{3}", text):
            causerie.decode_reply(text, hint)


def test_schemas_say_what_the_types_say() -> None:
    schema = causerie.reply_schema
    assert schema(Union[int, None, str]) == {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}
    assert schema(Strict)["additionalProperties"] is False
    assert schema(list[Optional[int]])["items"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    cat = {"type": "object", "properties": {"kind": {"type": "string", "const": "cat"}, "lives": {"type": "integer"}}}
    assert schema(Pet)["anyOf"][0] == {**cat, "required": ["kind", "lives"]}
    node: dict[str, Any] = {"type": "object", "description": "A node."}
    kids = {"type": "array", "default": [], "items": {"$ref": "#/$defs/Node"}}
    node = {**node, "properties": {"name": {"type": "string"}, "kids": kids}, "required": ["name"]}
    assert schema(Node) == {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
    booking = schema(Booking)
    assert booking["properties"]["day"] == {"type": "string", "description": "When it begins.", "format": "date"}
    assert booking["properties"]["guests"]["minItems"] == 1
    assert booking["properties"]["price"]["default"] == 1.5
    assert schema(PlainBox[int])["properties"]["label"]["description"] == "What is on it."


def google(city: str, days: int = 3, *, unit: Literal["c", "f"] = "c") -> None:
    """Get the forecast.

    Args:
        city (str): The city,
            with its country.
        days: How many: 1 to 7.
        unit (Literal["c", "f"], optional): The unit.

    Returns:
        Nothing.
    """


def numpy(city: str, days: int = 3, *, unit: Literal["c", "f"] = "c") -> None:
    """Get the forecast.

    Parameters
    ----------
    city : str
        The city,
        with its country.
    days : int, default: 3
        How many: 1 to 7.
    unit : {"c", "f"}
        The unit.

    Returns
    -------
    None
    """


def sphinx(city: str, days: int = 3, *, unit: Literal["c", "f"] = "c") -> None:
    """Get the forecast.

    :param city: The city,
        with its country.
    :type city: str
    :param int days: How many: 1 to 7.
    :param unit: The unit.
    :returns: Nothing.
    """


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_docstrings_and_defaults_reach_the_schema(function: Any) -> None:
    schema = causerie.function_schema(function)
    assert schema["description"] == "Get the forecast."
    assert schema["parameters"]["properties"] == {
        "city": {"type": "string", "description": "The city, with its country."},
        "days": {"type": "integer", "description": "How many: 1 to 7.", "default": 3},
        "unit": {"type": "string", "description": "The unit.", "enum": ["c", "f"], "default": "c"},
    }
    assert schema["parameters"]["required"] == ["city"]


def test_an_annotation_comes_before_the_docstring() -> None:
    def f(a: Annotated[int, "From the annotation."], b: Annotated[int, Field(description="From the field.")]) -> None:
        """Do it.

        :param a: From the docstring.
        :param b: From the docstring.
        """

    f.__annotations__ = typing.get_type_hints(f, include_extras=True)
    parameters = causerie.function_from(f).parameters
    assert [parameter.description for parameter in parameters] == ["From the annotation.", "From the field."]


def test_errors_name_the_parameter_and_the_type() -> None:
    class Plain:
        pass

    def f(when: list[Any]) -> None: ...

    f.__annotations__ = {"when": list[Plain]}
    with pytest.raises(TypeError, match=r"parameter when of f must have a type .*, found list\[.*Plain\]"):
        causerie.function_from(f)
    with pytest.raises(SdkError.InvalidArgument) as raised:
        causerie.decode_reply('{"name": "a", "kids": [{"name": "b", "kids": [{}]}]}', Node)
    assert raised.value.argument == "reply.kids[0].kids[0].name"
    with pytest.raises(SdkError.InvalidArgument) as raised:
        causerie.decode_reply('{"day": "2026-02-30", "guests": ["a"]}', Booking)
    assert raised.value.argument == "reply.day"


def test_patterns_are_strings_and_classes_are_refused() -> None:
    pattern: Any = re.Pattern
    assert causerie.reply_schema(pattern) == {"type": "string", "format": "regex"}
    assert causerie.decode_reply('"a+"', pattern) == re.compile("a+")
    with pytest.raises(SdkError.InvalidArgument, match="valid regular expression"):
        causerie.decode_reply('"("', pattern)
    for hint in (type[int], list[type[Node]], Optional[typing.Type[str]]):
        with pytest.raises(TypeError, match="JSON has no classes"):
            causerie.reply_schema(hint)
    of_bytes: list[Any] = [re.Pattern[bytes], list[re.Pattern[bytes]], Optional[typing.Pattern[bytes]]]
    for hint in of_bytes:
        with pytest.raises(TypeError, match="JSON has no patterns of bytes"):
            causerie.reply_schema(hint)
    strings: Any = re.Pattern[str]
    assert causerie.decode_reply('"a+"', strings) == re.compile("a+")


def test_recursive_types_are_parameters() -> None:
    def count(tree: Node, more: Optional[Node] = None) -> int:
        """Count nodes."""
        return 1 + sum(count(kid) for kid in tree.kids)

    schema = causerie.function_schema(count)["parameters"]
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Node"}
    assert list(schema["$defs"]) == ["Node"]
    call = SdkFunctionCall("count", {"tree": {"name": "a", "kids": [{"name": "b", "kids": []}]}})
    assert causerie.decode_call(call, count) == 2
    assert causerie.validate(SdkFunctionCall("count", {"tree": {"kids": []}}), [count]).errors_as_tool_text != ""


def test_a_default_that_json_cannot_represent_is_not_told() -> None:
    def f(a: Any = print, b: datetime.date = datetime.date(2026, 1, 2)) -> Any:
        return a, b

    a, b = causerie.function_from(f).parameters
    assert (a.optional, a.schema) == (True, {}) or "default" not in (a.schema or {})
    assert b.schema is not None and b.schema["default"] == "2026-01-02"
    assert causerie.decode_call(SdkFunctionCall("f", {}), f) == (print, datetime.date(2026, 1, 2))


SCRIPT = """
import json, sys
sys.modules["pydantic"] = None
sys.path[:0] = json.loads(sys.argv[1])
import test_typed, causerie
print(json.dumps([causerie.reply_schema(test_typed.Recipe), causerie.reply_schema(test_typed.BookTable),
                  causerie.functions_to_json([causerie.function_from(test_typed.get_weather)])]))
guests = {"restaurant": "a", "guests": [{"name": "b"}], "hours": "1"}
assert causerie.decode_call(causerie.SdkFunctionCall("f", guests), test_typed.BookTable).guests[0].name == "b"
try:
    causerie.reply_schema(set[int])
except TypeError as err:
    assert "pip install pydantic" in str(err), err
else:
    raise AssertionError
"""


def test_without_pydantic_simple_types_have_the_same_schemas() -> None:
    import test_typed

    paths = json.dumps([path for path in sys.path if path])
    output = subprocess.run([sys.executable, "-c", SCRIPT, paths], check=True, capture_output=True, text=True).stdout
    function = causerie.functions_to_json([causerie.function_from(test_typed.get_weather)])
    schemas = [causerie.reply_schema(test_typed.Recipe), causerie.reply_schema(test_typed.BookTable)]
    recipe, table, plain_function = json.loads(output)
    assert [recipe, table] == schemas
    assert json.loads(plain_function) == json.loads(function)
