"""Numbers and durations as options take them. The functions raise `TypeError` with what a value must be."""

from __future__ import annotations

import datetime
import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias, Union

Duration: TypeAlias = Union[float, datetime.timedelta]
"""A number of seconds, or a `timedelta`."""


def number(value: Any) -> float:
    """Returns a number, which the engine can represent."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("a number")
    try:
        converted = float(value)
        struct.pack(">f", converted)  # the engine uses 32 bits
    except OverflowError:
        raise TypeError("a number that 32 bits can represent") from None
    return converted


def seconds(value: Any) -> float:
    """Returns the seconds of a duration, which is a number of seconds or a `timedelta`."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise TypeError("a number of seconds or a timedelta")
    return number(value)


def milliseconds(duration: Duration) -> int:
    """Returns a duration in whole milliseconds. One that is not 0 takes at least one."""
    given = seconds(duration)
    if not 0 <= given * 1000 < 1 << 64:
        raise TypeError(f"a number of seconds or a timedelta, from 0 to {(1 << 64) // 1000}")
    if isinstance(duration, datetime.timedelta):
        whole, rest = divmod(duration, datetime.timedelta(milliseconds=1))
        return whole + bool(rest)
    return math.ceil(Fraction(str(given)) * 1000)  # as it is written: 2.007 * 1000 is more than 2007


def integer(bits: int) -> Callable[[Any], int]:
    """Returns a check of integers from 0 on."""

    def check(value: Any) -> int:
        converted = None if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
        if converted is None or not 0 <= converted < 1 << bits:
            raise TypeError(f"an integer from 0 to {(1 << bits) - 1}")
        return converted

    return check
