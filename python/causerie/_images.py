"""Makes image files of what apps have images in."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

from causerie.error import SdkError

# The color type of PNG files, by the number of values of a pixel: grey, with alpha; red, green and blue, with alpha.
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def image_file(source: Any) -> bytes:
    """Returns the bytes of an image file: the given ones, the bytes of the file at a path, or pixels as a PNG file."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Path(source).read_bytes()
    if hasattr(source, "getexif") and hasattr(source, "convert"):
        from PIL import ImageOps

        if 0 in source.size:
            raise SdkError.UnsupportedContent(f"an image must have pixels, found {source.width} x {source.height}")
        image = ImageOps.exif_transpose(source)
        if image.mode.startswith("I;16"):  # in RGB, values would be cut off at 255
            file = io.BytesIO()
            image.save(file, "PNG")
            return file.getvalue()
        return _png(*image.size, 3, image.convert("RGB").tobytes())
    try:
        view = memoryview(source)
    except (TypeError, ValueError, BufferError):
        kind = type(source).__name__
        raise TypeError(f"an image must be a path, bytes, a PIL image or a numpy array, found {kind}") from None
    if view.format != "B":
        found = getattr(source, "dtype", view.format)
        raise SdkError.UnsupportedContent(f"pixels of an image must be uint8, found {found}")
    if view.ndim == 1:
        return view.tobytes()  # a file
    shape: tuple[int, ...] = view.shape or ()
    if view.ndim == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or 0 in shape or shape[2] not in _COLOR_TYPES:
        shapes = "(height, width) or (height, width, 1 to 4)"
        raise SdkError.UnsupportedContent(f"pixels of an image must have the shape {shapes}, found {view.shape}")
    height, width, channels = shape
    return _png(width, height, channels, view.tobytes())


def _png(width: int, height: int, channels: int, pixels: bytes) -> bytes:
    """Returns a PNG file of pixels, row by row."""
    stride = width * channels
    # Each row begins with the number of its filter, which is none.
    rows = b"".join(b"\0" + pixels[start : start + stride] for start in range(0, len(pixels), stride))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
