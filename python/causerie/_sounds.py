"""Makes sound files and samples of what apps have sound in."""

from __future__ import annotations

import array
import operator
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from causerie import causerie_ffi as ffi
from causerie.error import SdkError

_KINDS = "a numpy array, another buffer of floats or a sequence of numbers"


def sound_file(source: Any, sample_rate: Any = None) -> bytes:
    """Returns the bytes of a sound file: the given ones, the bytes of the file at a path, or samples as a WAV file."""
    if sample_rate is not None:
        return ffi.wav_of_samples(sample_bytes(source), as_rate(sample_rate))
    if isinstance(source, bytes):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Path(source).read_bytes()
    try:
        view = memoryview(source)
    except (TypeError, ValueError, BufferError):
        view = None
    if view is None or view.format != "B":
        kind = type(source).__name__
        raise TypeError(f"a sound must be a path, the bytes of a file, or samples with their sample_rate, found {kind}")
    return view.tobytes()


def as_rate(sample_rate: Any) -> int:
    """Returns a number of samples per second as the engine takes it, which knows the limits."""
    if isinstance(sample_rate, bool) or not hasattr(sample_rate, "__index__"):
        raise TypeError(f"sample_rate must be an integer, found {sample_rate!r}")
    limit = 1 << 63
    return max(-limit, min(operator.index(sample_rate), limit - 1))


def sample_bytes(source: Any) -> bytes:
    """Returns samples of one channel as 32-bit floats in little-endian order."""
    if hasattr(source, "__array__"):
        return _array_bytes(source)
    if isinstance(source, (str, bytes, bytearray, Mapping)):
        raise TypeError(f"samples must be {_KINDS}, found {type(source).__name__}")
    try:
        view = memoryview(source)
    except TypeError:
        if not isinstance(source, Iterable):
            raise TypeError(f"samples must be {_KINDS}, found {type(source).__name__}") from None
        return _floats(source)
    if view.format not in ("e", "f", "d"):
        raise SdkError.UnsupportedContent(f"samples must be floats between -1 and 1, found items of the format {view.format}")
    if view.ndim != 1:
        raise _not_one_channel(view.shape)
    if view.format == "f" and sys.byteorder == "little":
        return view.tobytes()
    return _floats(view.tolist())


def _array_bytes(source: Any) -> bytes:
    import numpy

    samples = numpy.asarray(source)
    if samples.dtype.kind != "f":
        raise SdkError.UnsupportedContent(f"samples must be floats between -1 and 1, found {samples.dtype}")
    if samples.size != max(samples.shape, default=1):
        raise _not_one_channel(samples.shape)
    with numpy.errstate(over="ignore"):  # the engine refuses infinite samples
        data: bytes = samples.astype("<f4").tobytes()
    return data


def _floats(numbers: Iterable[Any]) -> bytes:
    try:
        samples = array.array("f", numbers)
    except TypeError as err:
        raise TypeError(f"samples must be {_KINDS}: {err}") from None
    except OverflowError as err:
        raise SdkError.UnsupportedContent(f"samples must be finite numbers: {err}") from None
    if sys.byteorder == "big":
        samples.byteswap()
    return samples.tobytes()


def _not_one_channel(shape: object) -> SdkError:
    return SdkError.UnsupportedContent(f"samples must be of one channel, with the shape (n,), found the shape {shape}")
