"""JSON with integers of any size.

Python refuses to convert very long integers to strings and back, because the time grows with the square of their length. The
integers here were generated token by token and are short enough, so they are converted in pieces where Python refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Python's limit can be set to 640 digits, but not lower.
_DIGITS = 600
_PIECE = 10**_DIGITS


def loads(text: str) -> Any:
    """Returns the value of JSON text."""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(text, parse_int=_integer)


def dumps(value: Any) -> str:
    """Returns the JSON text of a value. Raises `TypeError` or `ValueError` for values that JSON cannot represent."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        pass  # a long integer, a mapping that is no dict, or an error, which is raised again
    long_numbers: list[str] = []
    text = json.dumps(_with_marks(value, long_numbers), allow_nan=False)
    for index, digits in enumerate(long_numbers):
        text = text.replace(f'"\\ud800{index}"', digits)
    return text


def _integer(digits: str) -> int:
    if len(digits) <= _DIGITS:
        return int(digits)
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits)
    number = 0
    for at in range(0, len(digits), _DIGITS):
        piece = digits[at : at + _DIGITS]
        number = number * 10 ** len(piece) + int(piece)
    return sign * number


def _with_marks(value: Any, long_numbers: list[str]) -> Any:
    """Returns the value with a mark in place of each long integer. Marks are invalid Unicode, so no string equals one."""
    if isinstance(value, int) and not -_PIECE < value < _PIECE:
        long_numbers.append(_digits(value))
        return f"\ud800{len(long_numbers) - 1}"
    if isinstance(value, Mapping):
        return {key: _with_marks(inner, long_numbers) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_marks(inner, long_numbers) for inner in value]
    return value


def _digits(number: int) -> str:
    pieces: list[str] = []
    rest = abs(number)
    while rest:
        rest, piece = divmod(rest, _PIECE)
        pieces.append(f"{piece:0{_DIGITS}d}")
    return "-" * (number < 0) + "".join(reversed(pieces)).lstrip("0")
