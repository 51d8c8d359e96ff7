"""JSON with integers and decimals of any size.

Python refuses to convert very long integers to strings and back, because the time grows with the square of their length. The
integers here were generated token by token and are short enough, so they are converted in pieces where Python refuses.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from decimal import Decimal
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


def dumps(value: Any, ensure_ascii: bool = True) -> str:
    """Returns the JSON text of a value. Raises `TypeError` or `ValueError` for values that JSON cannot represent."""
    write = functools.partial(json.dumps, allow_nan=False, ensure_ascii=ensure_ascii)
    try:
        return write(value)
    except (TypeError, ValueError):
        pass  # a long integer, a Decimal, a mapping that is no dict, or an error, which is raised again
    numbers: list[str] = []
    text = write(_with_marks(value, numbers))
    for index, digits in enumerate(numbers):
        text = text.replace(write(_mark(index)), digits)
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


def _mark(index: int) -> str:
    """Stands for a number. It is invalid Unicode, so no string equals it."""
    return f"\ud800{index}"


def _with_marks(value: Any, numbers: list[str]) -> Any:
    """Returns the value with a mark in place of each number that Python's own JSON cannot write, and collects their digits."""
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"a Decimal must be finite, found {value}")
    if isinstance(value, Decimal) or (isinstance(value, int) and not -_PIECE < value < _PIECE):
        numbers.append(str(value) if isinstance(value, Decimal) else _digits(value))
        return _mark(len(numbers) - 1)
    if isinstance(value, Mapping):
        return {key: _with_marks(inner, numbers) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_marks(inner, numbers) for inner in value]
    return value


def _digits(number: int) -> str:
    pieces: list[str] = []
    rest = abs(number)
    while rest:
        rest, piece = divmod(rest, _PIECE)
        pieces.append(f"{piece:0{_DIGITS}d}")
    return "-" * (number < 0) + "".join(reversed(pieces)).lstrip("0")
