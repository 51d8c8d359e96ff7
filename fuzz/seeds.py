"""Writes the seeds of each fuzz target from the fixtures: python3 fuzz/seeds.py FOLDER [TARGET…]

Each seed is named by its digest, so that a second run adds nothing.
"""

import base64
import hashlib
import json
import random
import re
import struct
import sys
import zlib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FIXTURES = REPOSITORY / "tests/fixtures"
TABLE = (REPOSITORY / "core/src/notation/mod.rs").read_text()
NOTATIONS = re.findall(r"^ +(\w+): \w+FunctionCallParser, ", TABLE, re.MULTILINE)
N_FORMS = 6
ROUTES = ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"]
# The smallest pictures that decoders of other formats than PNG take: one pixel each.
PIXELS = [
    "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
    "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////"
    "wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=",
]
SCHEMAS = [
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 4}, "n": {"type": "integer", "minimum": 0}}},
    {"type": "array", "items": {"enum": ["a", "b", None, 1.5]}, "minItems": 1, "maxItems": 3},
    {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^[a-c]+$"}, {"type": "string", "format": "date-time"}]},
    {"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"},
    {"allOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"minProperties": 1}]},
    {"type": "object", "patternProperties": {"^x": {"type": "number", "multipleOf": 0.5}}, "additionalProperties": False},
]


def png(width, height, colour_type, n_channels):
    """A PNG file of a colour type, all of whose values are zero."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    palette = [chunk(b"PLTE", bytes(6))] if colour_type == 3 else []
    rows = zlib.compress((b"\0" + bytes(width * n_channels)) * height)
    return b"\x89PNG\r\n\x1a\n" + b"".join([chunk(b"IHDR", header), *palette, chunk(b"IDAT", rows), chunk(b"IEND", b"")])


def read(pattern, largest=1 << 20):
    files = [path.read_bytes() for path in sorted(FIXTURES.glob(pattern))]
    return [data for data in files if len(data) <= largest]


def headers(pattern):
    """The beginnings of GGUF files, after the byte that stands for all values of the tensors. No header is longer."""
    return [b"<" + data[:20_000] for data in read(pattern, largest=400_000)]


def folders():
    """The description of each folder, and the beginning of its weights."""
    for config in sorted(FIXTURES.glob("models/*/config.json")):
        weights = config.parent / "model.safetensors"
        if weights.exists():
            data = weights.read_bytes()
            (n_header,) = struct.unpack("<Q", data[:8])
            yield struct.pack("<I", len(data)) + config.read_bytes() + b"\0" + data[: 8 + n_header]


def calls():
    """Replies in all notations and forms, with control tokens between U+0001 and U+0002."""
    draw = random.Random(1)
    for path in sorted(FIXTURES.glob("calls/*/*.json")):
        for number, case in enumerate(json.loads(path.read_text())):
            pieces = [(*piece.items(),)[0] for piece in case.get("pieces", [])]
            spelled = [f"\1{said}\2" if kind == "control" else said for kind, said in pieces if isinstance(said, str)]
            kind = NOTATIONS.index(path.parent.name) + len(NOTATIONS) * (number % N_FORMS)
            yield bytes([kind, draw.choice([0, draw.randrange(256)])]) + "".join(spelled).encode("utf-8", "ignore")


def requests():
    return json.loads((FIXTURES / "http/requests.json").read_text())


def grammars():
    functions = [json.loads(text).get("tools") for text in read("conversations/*.json")]
    functions += [request["body"].get("tools") for request in requests()]
    draw = random.Random(1)
    for number, tools in enumerate(tools for tools in functions if tools):
        yield bytes([number % len(NOTATIONS)]) + json.dumps(tools).encode() + b"\0" + draw.randbytes(100)


def schemas():
    draw = random.Random(1)
    for schema in SCHEMAS:
        yield json.dumps(schema).encode() + b"\0" + draw.randbytes(60)


def bodies():
    for request in requests():
        yield bytes([ROUTES.index(request["path"])]) + json.dumps(request["body"]).encode()


def entry(name, content, /, **changes):
    """A file of an archive. The changes are to what its directory says: size, packed, method, flags, start, name."""
    return name.encode(), content, changes


def archive(*entries, wide=False):
    """A ZIP archive whose files begin at multiples of 16 KiB, with fields of 32 or of 64 bits for sizes and places."""
    data, directory = b"", b""
    for name, content, changes in entries:
        said = {"size": len(content), "packed": len(content), "method": 0, "flags": 0, "start": len(data), "name": name} | changes
        sizes = [said["size"], said["packed"], said["start"]]
        extra = struct.pack("<HHQQQ", 1, 24, *sizes) if wide else b""
        short = [0xFFFFFFFF] * 3 if wide else [number & 0xFFFFFFFF for number in sizes]
        padding = -(len(data) + 34 + len(name)) % (16 << 10)
        data += struct.pack("<IHHHIIIIHH", 0x04034B50, 45, 0, 0, 0, 0, len(content), len(content), len(name), 4 + padding)
        data += name + struct.pack("<2sH", b"ac", padding) + bytes(padding) + content
        directory += struct.pack("<IHHHHIIIIHHHHHII", 0x02014B50, 45, 45, said["flags"], said["method"], 0, 0, short[1], short[0],
                                 len(said["name"]), len(extra), 0, 0, 0, 0, short[2]) + said["name"] + extra
    count, start = len(entries), len(data)
    data += directory
    if wide:
        data += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(directory), start)
        data += struct.pack("<IIQI", 0x07064B50, 0, start + len(directory), 1)
        count, size, start = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
    else:
        size = len(directory)
    return data + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, size, start, 0)


def pieces(data):
    """A file without its runs of zeros, as fuzzing::bundle reads it."""
    parts = [(match.start(), match.group()) for match in re.finditer(rb"(?:(?!\0{32}).){1,60000}", data, re.DOTALL)]
    # The end comes first, with the directory: long inputs are cut.
    parts = parts[-3:] + parts[:-3]
    return b"".join(place.to_bytes(3, "little") + len(part).to_bytes(2, "little") + part for place, part in parts)


def bundles():
    """Valid bundles, and what a hostile archive may say."""
    config = read("models/lfm2-hf/config.json")[0]
    listed = {"config.json": config, "model.safetensors": struct.pack("<Q", 2) + b"{}", "a": b"x" * 70}
    files = {f"./{name}": {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in listed.items()}
    manifest = {"format": "causerie/bundle", "format_version": 1, "load_time_parameters": {"model": "./"}, "files": files}
    first = entry("manifest.json", json.dumps(manifest).encode())
    plain = [entry(name, data) for name, data in listed.items()]

    def changed(**changes):
        return archive(first, *plain[:2], entry("a", listed["a"], **changes))

    (fixture,) = read("bundles/*.bundle")
    hostile = [
        changed(start=0), changed(start=16 << 10), changed(size=1 << 20, packed=1 << 20), changed(size=(1 << 32) - 2),
        changed(method=8), changed(flags=1), changed(name=b"../a"), changed(name=b"config.json"), changed(name=b"CONFIG.JSON"),
        changed(name=b"a\0"), archive(first, *plain, first), archive(*plain, first), archive(first),
        archive(first, *plain, wide=True),
        archive(first, entry("a", listed["a"], size=(1 << 64) - 1, packed=(1 << 64) - 1, start=(1 << 63) + 1), wide=True),
    ]
    return [pieces(data) for data in [fixture, archive(first, *plain), *hostile]]


SEEDS = {
    "bundle": bundles,
    "gguf_header": lambda: read("tokenizers/*.gguf"),
    "gguf_model": lambda: headers("models/*.gguf"),
    "model_folder": folders,
    "projector": lambda: headers("models/*/mmproj-*-q8_0.gguf"),
    "tokenizer_json": lambda: read("tokenizers/*.json"),
    "chat_template": lambda: read("templates/*.jinja"),
    "sound": lambda: read("sounds/*.[!j]*"),
    "picture": lambda: [png(3, 2, *kind) for kind in [(0, 1), (2, 3), (3, 1), (4, 2), (6, 4)]] + [*map(base64.b64decode, PIXELS)],
    "call_grammar": grammars,
    "reply_schema": schemas,
    "calls": calls,
    "http_request": bodies,
}

if __name__ == "__main__":
    folder, *targets = sys.argv[1:]
    for target in targets or SEEDS:
        corpus = Path(folder) / target
        corpus.mkdir(parents=True, exist_ok=True)
        for seed in SEEDS[target]():
            (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
