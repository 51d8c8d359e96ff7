"""What the decoders of tokenizer.json make of ids, for decoders in every order that the engine follows."""

import json
import random

from tokenizers import Tokenizer

SPACE = "\u2581"
TEXTS = ["x the y", "the y", " the  the", "  two   spaces ", "of big\nthings", "a b c", "Größe 中 👍", "<think> so </think>", " ", "   x"]


def added(content, normalized):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": False}


ADDED = [added("the", True), added(" big", True), added("of", False)]


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def strip(start, stop, content=" "):
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def metaspace(scheme, replacement=SPACE):
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": True}


def sequence(*decoders):
    return {"type": "Sequence", "decoders": list(decoders)}


BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
SPACES = replace(SPACE, " ")
DECODERS = [
    ("llama", sequence(SPACES, BYTES, FUSE, strip(1, 0))),
    ("llama", sequence(SPACES, BYTES, FUSE, strip(2, 0))),
    ("llama", sequence(SPACES, BYTES, FUSE, strip(0, 0))),
    ("llama", sequence(SPACES, BYTES, FUSE, strip(1, 0), strip(1, 0), FUSE)),
    ("llama", sequence(SPACES, BYTES, FUSE)),
    ("llama", sequence(SPACES, BYTES)),
    ("llama", sequence(BYTES, SPACES, FUSE, strip(1, 0))),
    ("llama", sequence(BYTES, FUSE, SPACES, strip(1, 0))),
    ("llama", sequence(SPACES, strip(1, 0), FUSE)),
    ("llama", sequence(SPACES, strip(0, 1))),
    ("llama", sequence(SPACES, strip(1, 2), BYTES, FUSE, strip(1, 0))),
    ("llama", sequence(strip(1, 0, SPACE), SPACES, BYTES, FUSE)),
    ("llama", sequence(strip(9, 9, "t"), SPACES, BYTES, FUSE)),
    ("llama", SPACES),
    ("llama", FUSE),
    ("llama", BYTES),
    ("llama", sequence(replace(SPACE + SPACE, "_"), SPACES, BYTES, FUSE)),
    ("llama", sequence(replace(SPACE + "+", " ", "Regex"), BYTES, FUSE)),
    ("llama", sequence(replace("[aeiou]|^$", "", "Regex"), SPACES, BYTES)),
    ("llama", sequence(replace(SPACE, ""), BYTES, FUSE)),
    ("llama", sequence(sequence(SPACES, BYTES), sequence(FUSE, strip(1, 0)))),
    ("llama", metaspace("always")),
    ("llama", metaspace("first")),
    ("llama", metaspace("never")),
    ("llama", metaspace("always", "t")),
    ("llama", sequence(BYTES, metaspace("always"))),
    ("llama", sequence(BYTES, metaspace("first"), FUSE)),
    ("llama", sequence(metaspace("first"), BYTES, FUSE)),
    ("llama", sequence(metaspace("never"), BYTES, FUSE, strip(1, 0))),
    ("llama", sequence(BYTES, FUSE, metaspace("never"))),
    ("qwen2", BYTE_LEVEL),
    ("qwen2", sequence(BYTE_LEVEL, FUSE)),
    ("qwen2", sequence(BYTE_LEVEL, strip(1, 0))),
    ("qwen2", sequence(replace("\u0120", "_"), BYTE_LEVEL)),
    ("qwen2", sequence(strip(1, 0, "\u0120"), BYTE_LEVEL)),
]


def variant(text, decoder):
    """Returns a tokenizer.json with another decoder and with added tokens."""
    json_ = json.loads(text)
    json_["decoder"] = decoder
    first = 1 + max(json_["model"]["vocab"].values())
    json_["added_tokens"] += [{"id": first + i, **token} for i, token in enumerate(ADDED)]
    return json.dumps(json_)


def decode(tokenizer, ids):
    """Returns the text; None where the library fails, as Strip does for tokens shorter than `stop`, or prints U+FFFD, where
    implementations differ in how many they print."""
    try:
        text = tokenizer.decode(ids, skip_special_tokens=False)
    except BaseException:
        return None
    return None if "\ufffd" in text else text


def write_decoders(fixtures, golden):
    draws = random.Random(11)
    lines = []
    for base, decoder in DECODERS:
        tokenizer = Tokenizer.from_str(variant((fixtures / "tokenizers" / f"{base}.json").read_text(), decoder))
        encoded = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
        cut = [ids[start:] for ids in encoded for start in [1, 2] if start < len(ids)]
        random_ids = [[draws.randrange(20, tokenizer.get_vocab_size()) for _ in range(6)] for _ in range(40)]
        decoded = [(ids, decode(tokenizer, ids)) for ids in encoded + cut + random_ids]
        cases = [{"ids": ids, "text": text} for ids, text in decoded if text is not None]
        lines.append(json.dumps({"base": base, "decoder": decoder, "cases": cases}))
    record = '{\n  "added": ' + json.dumps(ADDED) + ',\n  "decoders": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n"
    (golden / "decoders.json").write_text(record)
