"""The ids that the tokenizers library gives for texts with the tiny vocabulary, and the bytes of every id."""

import json

from transformers.convert_slow_tokenizer import bytes_to_unicode

from vocabulary import train, tokenizer_of

TEXTS = [
    "",
    " ",
    "a",
    "Hello, world!",
    "What is the weather in Lisbon today?",
    "I'll say it's what they've done, and I'd agree; WE'LL SEE, he'S late.",
    "A causerie about the thermometer: causerie, thermometers, a thermometer.",
    "def area(width, height):\n    return width * height\n\n\tif x >= 10:\r\n\t\tpass\r\n",
    "fn main() { println!(\"{:?}\", vec![1, 2, 3]); } // done\n",
    "https://example.org/a_b-c?d=1&e=%20#f",
    "今天天气很好。東京の天気はどうですか。서울의 날씨",
    "Привет, как дела? Größe, façade, naïve, señor, déjà vu",
    "e\u0301 is not é, ﬁ is not fi, ½ is a number and ٣٤ too",
    "مرحبا بالعالم، كيف حالك؟ שלום \u200f(\u200e12\u200f)",
    "👍 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇵🇹 ☺️",
    "1 12 123 1234 12345 1234567890 3.14159 1e-7 0x1F 2026-11-20 18:45",
    "abc123def 4five6 x2y",
    "  two   three    four     ",
    "\n\n\n",
    "line\n\n  indented\n \n\ttab \t mixed\t\n end ",
    "\u00a0no\u00a0break\u2003em\u3000wide\u2028line\u0085next",
    "\x00\x01\x1f\x7f control characters",
    "<|im_end|>",
    "<|im_start|>system\nYou are free.<|im_end|>\n<|startoftext|>",
    "say <|tool_call_start|>[f()]<|tool_call_end|> and <|pad|><|unknown|>",
    "<|im_end|<|im_end|>|>",
    " <|tool_list_start|> [ ] <|tool_list_end|> ",
    '[get_weather(city="Paris", unit="celsius"), set_timer(minutes=5)]',
    '{"name": "get_weather", "parameters": {"type": "object", "properties": {}}}',
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "!!!???...---===***\n",
    "\ufeffbyte order mark and \ufffd and \U0010ffff",
]


def write_tokens(golden):
    vocabulary = train()
    tokenizer = tokenizer_of(vocabulary)
    stand_ins = {symbol: byte for byte, symbol in bytes_to_unicode().items()}

    def encode(text, control_is_text):
        tokenizer.encode_special_tokens = control_is_text
        return tokenizer.encode(text, add_special_tokens=False).ids

    def spelling(id):
        token = vocabulary.tokens[id]
        return token.encode() if vocabulary.is_control(id) else bytes(stand_ins[symbol] for symbol in token)

    spellings = [spelling(id) for id in range(len(vocabulary.tokens))]
    cases = []
    for text in TEXTS:
        case = {"text": text, "ids": encode(text, True), "parsed": encode(text, False)}
        assert b"".join(spellings[id] for id in case["ids"]).decode() == text
        assert tokenizer.decode(case["ids"], skip_special_tokens=False) == text
        cases.append(json.dumps(case))
    hex_bytes = json.dumps([spelling.hex() for spelling in spellings])
    path = golden / "tokens.json"
    path.write_text('{\n  "cases": [\n    ' + ",\n    ".join(cases) + f'\n  ],\n  "bytes": {hex_bytes}\n}}\n')
