"""Values of a typed reply while it is being written."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as some
from support import STALL, call, offering, scripted

from causerie import Complete, FinishReason, SdkError, Snapshots
from causerie._partial_json import PartialJson
from causerie._partial_types import partial_value


class Course(Enum):
    STARTER = "starter"
    MAIN = "main"


@dataclass
class Step:
    text: str
    minutes: int = 1


@dataclass(frozen=True)
class Recipe:
    title: str
    course: Course
    steps: list[Step] = field(default_factory=list)


TEXT = '{"title": "Soup", "course": "main", "steps": [{"text": "Cut", "minutes": 5}, {"text": "Cook"}]}'
PIECES = ['{"title": "So', 'up", "course": "ma', 'in", "steps": [{"text": "Cut", "minutes": 5', '}, {"text": "Co', 'ok"}]}']
WHOLE = Recipe("Soup", Course.MAIN, [Step("Cut", 5), Step("Cook", 1)])


def test_a_reply_is_read_as_values_that_grow() -> None:
    values = list(scripted(PIECES).generate_response("A recipe", as_type=Recipe))
    unknown: Any = None
    assert values == [
        Recipe("So", unknown, unknown),
        Recipe("Soup", unknown, unknown),
        Recipe("Soup", Course.MAIN, [Step("Cut", unknown)]),
        Recipe("Soup", Course.MAIN, [Step("Cut", 5), Step("Co", unknown)]),
        WHOLE,
        WHOLE,
    ]


def test_a_reply_is_read_in_asyncio_and_by_character() -> None:
    async def read() -> list[Recipe]:
        async with scripted(list(TEXT)).generate_response("A recipe", as_type=Recipe) as snapshots:
            return [recipe async for recipe in snapshots]

    values = asyncio.run(read())
    assert values[-1] == WHOLE
    titles = [recipe.title for recipe in values if recipe.title is not None]
    assert titles == sorted(titles, key=len) and {"S", "So", "Sou", "Soup"} <= set(titles)
    assert isinstance(values[3].title, str | None)


def test_the_last_value_is_validated_and_a_cut_reply_is_an_error() -> None:
    snapshots = scripted(['{"title": "Soup", ', '"course": "main"}']).generate_response("A recipe", as_type=Recipe, max_tokens=1)
    values: list[Recipe] = []
    with pytest.raises(SdkError.InvalidArgument, match="cut short"):
        values.extend(snapshots)
    assert [recipe.title for recipe in values] == ["Soup"]
    assert snapshots.completion and snapshots.completion.finish_reason == FinishReason.MAX_TOKENS


def test_a_cancelled_reply_has_no_further_value() -> None:
    snapshots = scripted(['{"title": "So', 'up"', STALL]).generate_response("A recipe", as_type=Recipe)
    values = []
    for recipe in snapshots:
        values.append(recipe.title)
        snapshots.cancel()
    assert values == ["So"]
    assert snapshots.completion and snapshots.completion.finish_reason == FinishReason.INTERRUPTED


def test_functions_run_before_the_value() -> None:
    conversation = offering(call("[f()]"), ["[3, ", "4]"])

    def f() -> str:
        return "f"

    values = list(conversation.generate_response("Hi", functions=[f], as_type=list[int]))
    assert values == [[3], [3, 4], [3, 4]]


def test_each_round_begins_a_value_anew() -> None:
    def f() -> str:
        return "f"

    # A schema keeps text out of rounds with calls; without one, a reply has both.
    events = list(offering(["[1, ", *call("[f()]")], ["[3, ", "4]"]).generate_response("Hi", functions=[f]))
    read = scripted().generate_response("Hi", as_type=list[int])._read()
    assert [item[0] for event in events if (item := read(event))] == [[1], [3], [3, 4], [3, 4]]


def test_a_reply_is_read_once_and_says_what_it_is() -> None:
    snapshots: Snapshots[Any] = scripted(["[]"]).generate_response("Hi", as_type=list)
    assert repr(snapshots) == "<Snapshots of <Response, not read yet>>"
    assert list(snapshots) == [[], []] and isinstance(snapshots.completion, Complete)
    with pytest.raises(SdkError.StreamAlreadyConsumed):
        list(snapshots)
    with pytest.raises(TypeError, match="generate_response"):
        Snapshots()


def test_a_schema_and_a_type_exclude_each_other() -> None:
    with pytest.raises(SdkError.InvalidOption) as caught:
        scripted(["[]"]).generate_response("Hi", as_type=list, json_schema_constraint={"type": "array"})
    assert caught.value.option == "json_schema_constraint"


class Point(TypedDict, total=False):
    x: int
    note: str


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (str, '"Hel', "Hel"),
        (str | None, '"Hel', "Hel"),
        (Course, '"ma', None),
        (Course, '"main"', Course.MAIN),
        (int, "1", None),
        (Any, '{"a": [1, ', {"a": [1]}),
        (dict[str, Point], '{"a": {"x": 1, "note": "n', {"a": {"x": 1, "note": "n"}}),
        (dict[str, list[int]], '{"a": [1, 2], "b": [3, 4', {"a": [1, 2], "b": [3]}),
        (tuple[int, ...], "[1, 2, ", (1, 2)),
        (tuple[int, str], '[1, "a', None),
        (list[Course], '["main", "st', [Course.MAIN, None]),
        (Step, '{"unknown": 1, "text": "a', Step("a", None)),  # type: ignore[arg-type]
        (list[str], '{"a": "b', None),
    ],
)
def test_types_are_read_as_far_as_they_are_written(hint: Any, text: str, value: Any) -> None:
    written = PartialJson()
    written.push(text)
    known = written.value()
    assert (None if known is None else partial_value(hint, *known)) == value


def test_a_pydantic_model_is_read_by_its_aliases_without_validation() -> None:
    pydantic = pytest.importorskip("pydantic")
    guest: Any = pydantic.create_model("Guest", name=(str, ...), age=(int, pydantic.Field(ge=18)))
    guests = (list[guest], ...)
    booking: Any = pydantic.create_model("Booking", guest_name=(str, pydantic.Field(alias="guestName")), guests=guests)
    written = PartialJson()
    written.push('{"guestName": "Ana", "guests": [{"name": "B", "age": 20}, {"name": "Cl')
    value = partial_value(booking, *(written.value() or (None, 0)))
    assert (value.guest_name, value.guests[0], value.guests[1].name, value.guests[1].age) == (
        "Ana",
        guest(name="B", age=20),
        "Cl",
        None,
    )


texts = some.text(some.characters(codec="utf-8"), max_size=5)
values = some.recursive(texts, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3))


@given(values, some.booleans(), some.sampled_from([None, 1]))
def test_strings_arrays_and_objects_are_read_at_every_cut_as_pydantic_reads_them(
    value: Any, is_ascii: bool, indent: int | None
) -> None:
    """Numbers and literals differ: those that may go on are left out here."""
    from_json = pytest.importorskip("pydantic_core").from_json
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    written = PartialJson()
    for at, character in enumerate(text, 1):
        written.push(character)
        known = written.value()
        assert known is not None and known[0] == from_json(text[:at], allow_partial="trailing-strings"), text[:at]
    assert written.value() == (value, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("12", None),
        ("[1, 12", ([1], 1)),
        ("[1, 12]", ([1, 12], 0)),
        ('{"a": true, "b": nul', ({"a": True}, 1)),
        ('{"a": -1.5e3, "b": {"c": 1}}', ({"a": -1500.0, "b": {"c": 1}}, 0)),
        ('{"a": {"b": [tr', ({"a": {"b": []}}, 3)),
        ('{"a": "b', ({"a": "b"}, 2)),
    ],
)
def test_numbers_and_literals_are_read_when_they_end(text: str, value: Any) -> None:
    written = PartialJson()
    written.push(text)
    assert written.value() == value
