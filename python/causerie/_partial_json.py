"""JSON that is still being written."""

from __future__ import annotations

import re
from typing import Any

from causerie._json import loads

_CLOSERS = {"{": "}", "[": "]"}
_FIRST_HALF = re.compile(r"\\u[dD][89abAB]")
"""The escape of the first half of a surrogate pair."""


class PartialJson:
    """Reads JSON text that arrives in pieces, and returns the value as far as it is known.

    The last string may be a part of its text. A number or a literal that may go on, and a member without its value, are left out.
    """

    def __init__(self) -> None:
        self._text = ""
        self._open: list[str] = []
        """The brackets that are open, from the outermost."""
        self._complete = 0
        """The end of the part of the text that is a value when these brackets are closed."""
        self._is_in_string = False
        self._is_key = False
        """Whether this string, or the next one, is the name of a member."""
        self._whole = 0
        """The end of the characters of this string that are complete."""
        self._escape = ""
        """The escape that is being written."""

    def push(self, piece: str) -> None:
        for at, character in enumerate(piece, len(self._text)):
            if self._is_in_string:
                self._in_string(character, at)
            else:
                self._outside(character, at)
        self._text += piece

    def value(self) -> tuple[Any, int] | None:
        """The value, and how many of the objects, arrays and strings that end it are still being written, each inside of the one
        before; `None` if nothing of it is known.

        Raises `ValueError` or `RecursionError` for text that is not JSON, or that is nested too deep.
        """
        closing = "".join(_CLOSERS[bracket] for bracket in reversed(self._open))
        if self._is_in_string and not self._is_key:
            return loads(self._text[: self._whole] + '"' + closing), len(self._open) + 1
        if not self._complete:
            return None
        return loads(self._text[: self._complete] + closing), len(self._open)

    def _in_string(self, character: str, at: int) -> None:
        if self._escape or character == "\\":
            self._escape += character
            is_complete = len(self._escape) == (6 if self._escape.startswith("\\u") else 2)
            if is_complete and not _FIRST_HALF.match(self._escape):
                self._whole = at + 1
            if is_complete:
                self._escape = ""
        elif character == '"':
            self._is_in_string = False
            if not self._is_key:
                self._complete = at + 1
        else:
            self._whole = at + 1

    def _outside(self, character: str, at: int) -> None:
        if character == '"':
            self._is_in_string, self._whole = True, at + 1
        elif character == ":":
            self._is_key = False
        elif character in _CLOSERS:
            self._open.append(character)
            self._is_key = character == "{"
            self._complete = at + 1
        elif character == ",":
            self._complete = at
            self._is_key = self._open[-1:] == ["{"]
        elif character in "]}" and self._open:
            self._open.pop()
            self._complete = at + 1
            self._is_key = False
