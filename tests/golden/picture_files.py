"""What Pillow makes of files that are cut off, and of transparent pictures."""

import base64
import io
import json
import struct
import zlib

import numpy as np
from PIL import Image, PngImagePlugin

from pictures import pixels

WIDTH, HEIGHT = 40, 30


def write_picture_files(golden):
    records = {"cut": cut_files(), "transparent": transparent_files()}
    text = json.dumps(records, separators=(",", ":")).replace("},{", "},\n{")
    (golden / "picture_files.json").write_text(text + "\n")


def cut_files():
    """For each file, the length from which on its beginnings are accepted, and whether each shorter one is refused."""
    picture, other = (Image.fromarray(pixels(WIDTH, HEIGHT, seed)) for seed in (1, 2))
    clear = with_alpha(picture)
    files = {
        "baseline.jpg": encoded(picture, "JPEG", quality=85),
        "444.jpg": encoded(picture, "JPEG", quality=90, subsampling=0),
        "restarts.jpg": encoded(picture, "JPEG", quality=85, restart_marker_blocks=2),
        "progressive.jpg": encoded(picture, "JPEG", quality=85, progressive=True),
        "grey.jpg": encoded(picture.convert("L"), "JPEG", quality=85),
        "progressive-grey.jpg": encoded(picture.convert("L"), "JPEG", quality=85, progressive=True),
        "cmyk.jpg": encoded(picture.convert("CMYK"), "JPEG", quality=85),
        "thumbnail.jpg": encoded(picture, "JPEG", quality=85, exif=b"Exif\0\0" + encoded(other, "JPEG", quality=20)),
        "small.jpg": encoded(picture.crop((0, 0, 8, 8)), "JPEG", quality=85),
        "rgb.png": encoded(picture, "PNG"),
        "palette.png": encoded(picture.quantize(16), "PNG"),
        "animated.png": encoded(picture, "PNG", save_all=True, append_images=[other]),
        "lossy.webp": encoded(picture, "WEBP", quality=80),
        "lossless.webp": encoded(picture, "WEBP", lossless=True),
        "alpha.webp": encoded(clear, "WEBP", quality=80),
        "animated.webp": encoded(picture, "WEBP", save_all=True, append_images=[other], duration=50),
        "one.gif": encoded(picture.quantize(64), "GIF"),
        "interlaced.gif": encoded(picture.quantize(64), "GIF", interlace=1),
        "animated.gif": encoded(picture.quantize(64), "GIF", save_all=True, append_images=[other.quantize(64)]),
    }
    records = []
    for name, file in files.items():
        refused = [length for length in range(len(file) + 1) if not is_readable(file[:length])]
        assert refused == list(range(len(refused))), name
        records.append({"name": name, "file": base64.b64encode(file).decode(), "accepted_from": len(refused)})
    return records


def transparent_files():
    """For each file, the pixels on white, and those under the transparency, in base64."""
    picture = Image.fromarray(pixels(WIDTH // 2, HEIGHT // 2, 3))
    palette, grey = picture.quantize(8), picture.convert("L")
    clear = with_alpha(picture)
    key = grey.getpixel((3, 3))
    ink = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    ink.paste((0, 0, 0, 255), (5, 2, 15, 10))
    files = {
        "rgba.png": encoded(clear, "PNG"),
        "grey.png": encoded(Image.merge("LA", (grey, clear.getchannel("A"))), "PNG"),
        "ink.png": encoded(ink, "PNG"),
        "opaque.png": encoded(picture.convert("RGBA"), "PNG"),
        "palette.png": encoded(palette, "PNG", transparency=2),
        "palette-levels.png": encoded(palette, "PNG", transparency=bytes([0, 40, 128, 200, 255, 255, 90, 255])),
        "key.png": encoded(grey.convert("RGB"), "PNG", transparency=(key, key, key)),
        "grey-key.png": encoded(grey, "PNG", transparency=key),
        "rgba16.png": png_of_16_bits(np.asarray(clear)),
        "lossless.webp": encoded(clear, "WEBP", lossless=True, exact=True),
        "palette.gif": encoded(palette, "GIF", transparency=3),
    }
    records = []
    for name, file in files.items():
        image = Image.open(io.BytesIO(file))
        white = Image.new("RGBA", image.size, "white")
        shown = Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
        plain = image.convert("RGB")
        record = {"name": name, "file": file, "on_white": shown.tobytes(), "ignored": plain.tobytes()}
        records.append({key: value if key == "name" else base64.b64encode(value).decode() for key, value in record.items()})
    return records


def with_alpha(picture):
    levels = (np.indices(picture.size[::-1]).sum(0) * 9 % 256).astype(np.uint8)
    clear = picture.convert("RGBA")
    clear.putalpha(Image.fromarray(levels))
    return clear


def png_of_16_bits(levels):
    """A PNG file in RGBA with 16 bits, which Pillow reads but does not write. Low bytes differ from the high ones."""
    height, width, _ = levels.shape
    wide = (levels.astype(np.uint32) * 256 + (levels.astype(np.uint32) * 7 + 13) % 256).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in wide)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0)
    return PngImagePlugin._MAGIC + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def encoded(picture, form, **options):
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def is_readable(file):
    try:
        Image.open(io.BytesIO(file)).convert("RGB")
        return True
    except (OSError, SyntaxError, ValueError):
        return False
