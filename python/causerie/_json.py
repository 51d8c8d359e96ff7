"""JSON with whole numbers of any size.

Python refuses to turn very long numbers into text and back, since that takes time that grows with the square of their
length. Those here were written by a model token by token, and are short enough; so they are turned in pieces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Python's limit can be lowered to 640 digits, and no further.
_DIGITS = 600
_PIECE = 10**_DIGITS


def loads(text: str) -> Any:
    """The value of JSON text."""
    return json.loads(text, parse_int=_whole)


def dumps(value: Any) -> str:
    """JSON text of a value. Raises `TypeError` or `ValueError` for what JSON cannot hold."""
    long_numbers: list[str] = []
    text = json.dumps(_shielded(value, long_numbers), allow_nan=False)
    for index, digits in enumerate(long_numbers):
        text = text.replace(f'"\\ud800{index}"', digits)
    return text


def _whole(digits: str) -> int:
    if len(digits) <= _DIGITS:
        return int(digits)
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits)
    number = 0
    for at in range(0, len(digits), _DIGITS):
        piece = digits[at : at + _DIGITS]
        number = number * 10 ** len(piece) + int(piece)
    return sign * number


def _shielded(value: Any, long_numbers: list[str]) -> Any:
    """The value with a mark in place of each long number; no text can look like one, since marks are no Unicode."""
    if isinstance(value, int) and not -_PIECE < value < _PIECE:
        long_numbers.append(_digits(value))
        return f"\ud800{len(long_numbers) - 1}"
    if isinstance(value, Mapping):
        return {key: _shielded(inner, long_numbers) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shielded(inner, long_numbers) for inner in value]
    return value


def _digits(number: int) -> str:
    pieces: list[str] = []
    rest = abs(number)
    while rest:
        rest, piece = divmod(rest, _PIECE)
        pieces.append(f"{piece:0{_DIGITS}d}")
    return "-" * (number < 0) + "".join(reversed(pieces)).lstrip("0")
