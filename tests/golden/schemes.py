"""Tokenizers of every kind over two small vocabularies, as tokenizer.json and as GGUF, and the ids that they give for texts."""

import json
import random

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX as QWEN2
from transformers.models.qwen3_5.tokenization_qwen3_5 import PRETOKENIZE_REGEX as QWEN35
from transformers.tokenization_utils_base import generate_merges

from tokens import TEXTS
from vocabulary import BOS, CONTROL, EOS, SPLIT as LLAMA3, TEXT

USER_DEFINED = ["<think>", "</think>"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPACE = "\u2581"
# Tokens of Gemma that are searched in text before all others: runs of line feeds, of spaces and of tabs, and tags.
RUNS = [character * n for character in ("\n", SPACE, "\t") for n in range(2 if character == SPACE else 1, 5)]
TAGS = ["<table>", "<tr>", "</s>", "[multimodal]"]
TEXTS = TEXTS + [
    "<think>\nwell</think> so <think> ",
    "\u2581low\u2581 line \u2581",
    "CamelCaseWord ALLCAPS eXAMPLE Straße ǅungla 中文ABC",
    "don't DON'T it'ſ 'Tis 'll 'LL",
    "path/to//file/\n/// x+y=z $5 ~a~ ^b^ |c| `d`",
    "²³ ½ ⅷ 一二三 ४५६ 1२3",
    "\u1e9b\u0323 \u212b \uf900 \u0344 a\u0315\u0300\u05ae\u0062",
    "हिन्दी में नमस्ते, สวัสดีครับ, مَرْحَبًا; Ya\u0308Y \u0301\u0301",
    "<table>\n\n\n\n\n\n<tr>\t\t\t x</tr></s></table>[multimodal]      y   z",
    "<|im_end|>\n  \n<|tool_call_start|> \t[f()]\u2003 <|tool_call_end|>\r\n <|im_start|> user",
]
LONG = ["A", "a ", " ", "中1", "e\u0301"]
KINDS = {"NORMAL": 1, "UNKNOWN": 2, "CONTROL": 3, "USER_DEFINED": 4, "BYTE": 6}


def split(regex):
    return pre_tokenizers.Split(Regex(regex), behavior="isolated")


def byte_level(use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


# Name: normalizer, pre-tokenizers, whether whole words come before merges (ignore_merges), whether bos is added.
BYTE_LEVEL = {
    "llama-bpe": (None, [split(LLAMA3), byte_level()], True, True),
    "qwen2": (normalizers.NFC(), [split(QWEN2), byte_level()], False, False),
    "qwen35": (normalizers.NFC(), [split(QWEN35), byte_level()], False, False),
    "dbrx": (None, [split(LLAMA3), byte_level()], False, False),
    "gpt-4o": (None, [split(GPT4O), byte_level()], False, False),
    "gpt-2": (None, [byte_level(use_regex=True)], False, False),
    "smollm": (None, [pre_tokenizers.Digits(individual_digits=True), byte_level(use_regex=True)], False, False),
    "tekken": (None, [split(TEKKEN), byte_level()], True, True),
    # No published tokenizer.json uses it; these are the steps of llama.cpp.
    "default": (None, [split(r"[\p{P}\$\+<=>\^~\|]+"), split(GPT2), split(r"\p{N}+"), split("[0-9][0-9][0-9]"), byte_level()], False, False),
}


def train(pre_tokenizer, alphabet, special, size):
    """Returns tokens in order of id and merges in order of rank. Words are not split, so that merges cross every boundary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, show_progress=False, initial_alphabet=alphabet, max_token_length=12,
    )
    tokenizer.train_from_iterator((TEXT * 2).splitlines(keepends=True), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [tuple(merge) for merge in model["merges"]]


def with_added(tokenizer, control, adds_bos, user_defined=USER_DEFINED, strips={}):
    special = [AddedToken(token, special=True, normalized=False, **strips.get(token, {})) for token in control]
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in user_defined])
    if adds_bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{CONTROL[BOS]} $A", pair=f"{CONTROL[BOS]} $A {CONTROL[BOS]} $B", special_tokens=[(CONTROL[BOS], BOS)]
        )
    return tokenizer


def byte_level_tokenizers():
    special = CONTROL + USER_DEFINED
    tokens, merges = train(byte_level(), sorted(pre_tokenizers.ByteLevel.alphabet()), special, 440)
    tokens = tokens + ["Ġcauserie", "thermometer"]  # no merge produces these tokens
    types = [KINDS["CONTROL"]] * len(CONTROL) + [KINDS["USER_DEFINED"]] * len(USER_DEFINED)
    types += [KINDS["NORMAL"]] * (len(tokens) - len(types))
    for name, (normalizer, words, ignore_merges, adds_bos) in BYTE_LEVEL.items():
        ids = {token: id for id, token in enumerate(tokens)}
        tokenizer = Tokenizer(models.BPE(ids, merges, ignore_merges=ignore_merges))
        if normalizer:
            tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words) if len(words) > 1 else words[0]
        tokenizer.decoder = decoders.ByteLevel()
        metadata = {
            "model": "gpt2", "pre": name, "tokens": tokens, "token_type": types, "add_bos_token": adds_bos,
            "merges": [" ".join(pair) for pair in merges],
        }
        yield name, with_added(tokenizer, CONTROL, adds_bos), metadata
    # Control tokens that take white space beside them. GGUF files cannot say so.
    strips = {"<|im_start|>": {"lstrip": True}, "<|im_end|>": {"rstrip": True}, "<|tool_call_start|>": {"lstrip": True, "rstrip": True}}
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split(GPT4O), byte_level()])
    tokenizer.decoder = decoders.ByteLevel()
    yield "stripping", with_added(tokenizer, CONTROL, False, strips=strips), None


def sentence_piece_tokenizers():
    """Returns a vocabulary in the order of Llama 2: unknown, control, bytes, merged pieces, characters; scores fall with the ids."""
    pieces, _ = train(pre_tokenizers.Metaspace(split=False), [], [], 420)
    characters = [piece for piece in pieces if len(piece) == 1]
    merged = [piece for piece in pieces if len(piece) > 1]
    named = ["<unk>", *CONTROL[1:], *USER_DEFINED]
    bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = named + bytes + merged + characters
    types = [KINDS["UNKNOWN"]] + [KINDS["CONTROL"]] * len(CONTROL[1:]) + [KINDS["USER_DEFINED"]] * len(USER_DEFINED)
    types += [KINDS["BYTE"]] * 256
    types += [KINDS["NORMAL"]] * (len(tokens) - len(types))
    scores = [0.0] * (len(named) + 256) + [-float(rank) for rank in range(len(merged) + len(characters))]
    ids = {token: id for id, token in enumerate(tokens)}
    merges = generate_merges(ids, dict(zip(tokens, scores)), skip_tokens=set(named))
    prepend = [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    decoder = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    strip = decoders.Strip(" ", 1, 0)
    for name, normalizer, pre_tokenizer, decoder, space in [
        ("llama", prepend, None, [*decoder, strip], True),
        ("llama-no-space", prepend[1:], None, decoder, False),
        ("llama-metaspace", None, pre_tokenizers.Metaspace(SPACE, "first", split=False), [*decoder, strip], None),
        ("llama-words", None, pre_tokenizers.Metaspace(SPACE, "always", split=True), [decoders.ByteFallback(), decoders.Metaspace(SPACE, "always")], None),
    ]:
        tokenizer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        if normalizer:
            tokenizer.normalizer = normalizers.Sequence(normalizer)
        if pre_tokenizer:
            tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoders.Sequence(decoder) if len(decoder) > 1 else decoder[0]
        metadata = None  # GGUF files cannot describe the other variants
        if space is not None:
            metadata = {
                "model": "llama", "pre": "default", "tokens": tokens, "token_type": types, "scores": scores,
                "add_bos_token": True, "add_space_prefix": space, "unknown_token_id": 0,
            }
        yield name, with_added(tokenizer, ["<unk>", *CONTROL[1:]], True), metadata


def gemma():
    """Returns a tokenizer like that of Gemma 3. In GGUF files, its runs of spaces are spelled with spaces."""
    pieces, _ = train(pre_tokenizers.Metaspace(split=False), [], [], 420)
    user_defined = [*USER_DEFINED, *RUNS, *TAGS]
    # Runs of spaces are tokens of their own only, so that both files find the same ones.
    pieces = [piece for piece in pieces if piece not in user_defined and SPACE * 2 not in piece]
    named = ["<unk>", *CONTROL[1:]]
    bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = named + user_defined + bytes + sorted(pieces, key=lambda piece: len(piece) == 1)
    kinds = ["UNKNOWN"] + ["CONTROL"] * len(CONTROL[1:]) + ["USER_DEFINED"] * len(user_defined) + ["BYTE"] * 256
    types = [KINDS[kind] for kind in kinds] + [KINDS["NORMAL"]] * (len(tokens) - len(kinds))
    scores = [0.0] * len(kinds) + [-float(rank) for rank in range(len(tokens) - len(kinds))]
    ids = {token: id for id, token in enumerate(tokens)}
    merges = generate_merges(ids, dict(zip(tokens, scores)), skip_tokens={*named, *USER_DEFINED, *TAGS})
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    metadata = {
        "model": "llama", "pre": "default", "token_type": types, "scores": scores,
        "tokens": [token.replace(SPACE, " ") if type == KINDS["USER_DEFINED"] else token for token, type in zip(tokens, types)],
        "add_bos_token": True, "add_space_prefix": False, "unknown_token_id": 0,
    }
    return "gemma", with_added(tokenizer, named, True, user_defined), metadata


def add_metadata(writer, metadata):
    for key, value in metadata.items():
        key = f"tokenizer.ggml.{key}"
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        else:
            writer.add_array(key, value)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)


def write_gguf(path, metadata):
    writer = gguf.GGUFWriter(path, "llama")
    add_metadata(writer, metadata)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def hash_of(ids):
    """Returns the FNV-1a hash of the ids, as four little-endian bytes each."""
    hash = 0xCBF29CE484222325
    for id in ids:
        for byte in id.to_bytes(4, "little"):
            hash = (hash ^ byte) * 0x100000001B3 % 2**64
    return f"{hash:016x}"


def record(tokenizer):
    def encode(text, control_is_text, adds_bos=False):
        tokenizer.encode_special_tokens = control_is_text
        return tokenizer.encode(text, add_special_tokens=adds_bos).ids

    def case(text):
        ids = encode(text, True)
        return {"ids": ids, "parsed": encode(text, False), "decoded": tokenizer.decode(ids, skip_special_tokens=False)}

    def chunk(ids):
        start = draws.randrange(len(ids) // 2 + 1)
        return ids[start : start + draws.randrange(1, 30)]

    draws = random.Random(7)
    streams = [chunk(encode(text, False)) for text in TEXTS]
    streams += [[draws.randrange(tokenizer.get_vocab_size()) for _ in range(3)] for _ in range(10)]
    long = [(unit, encode(unit * (100_000 // len(unit.encode())), True)) for unit in LONG]
    return {
        "with_bos": encode("Hello", True, adds_bos=True),
        "cases": [case(text) for text in TEXTS],
        "streams": [{"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)} for ids in streams],
        "long": {unit: {"count": len(ids), "hash": hash_of(ids)} for unit, ids in long},
    }


def write_schemes(fixtures, golden):
    folder = fixtures / "tokenizers"
    folder.mkdir(exist_ok=True)
    lines = []
    for name, tokenizer, metadata in [*byte_level_tokenizers(), *sentence_piece_tokenizers(), gemma()]:
        (folder / f"{name}.json").write_text(tokenizer.to_str() + "\n")
        if metadata:
            write_gguf(folder / f"{name}.gguf", metadata)
        lines.append(f"    {json.dumps(name)}: {json.dumps(record(tokenizer))}")
    texts = ",\n    ".join(json.dumps(text) for text in TEXTS)
    path = golden / "tokenizers.json"
    path.write_text('{\n  "texts": [\n    ' + texts + '\n  ],\n  "tokenizers": {\n' + ",\n".join(lines) + "\n  }\n}\n")
