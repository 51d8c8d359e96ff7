"""Texts that are hard to tokenise, conversations, and questions."""

import random

AWKWARD = [
    " ", "  ", "\n", "\n\n\n", "\t\t x \t", "a", "Hello, world!", "  two   three    four     ",
    " " * 7, " " * 17, " " * 31, " " * 32, " " * 33, " " * 64, "\n" * 9, "\n" * 31, "\n" * 40, "\t" * 35,
    "line\n\n  indented\n \n\ttab \t mixed\t\n end ", "def f(x):\n        return x\n\n\n\n\nclass A:\r\n\tpass\r\n",
    "I'll say it's what they've done; WE'LL SEE, he'S late. 'tis don'T it'ſ", "CamelCaseWord ALLCAPS eXAMPLE McDonald's Straße ǅungla",
    "1 12 123 1234 12345 1234567890 3.14159 1e-7 0x1F 2026-11-20 18:45", "abc123def 4five6 x2y ²³ ½ ⅷ ४५६ ١٢٣",
    "今天天气很好。東京の天気はどうですか。서울의 날씨", "Привет, как дела? Größe, façade, naïve, señor", "مرحبا بالعالم، كيف حالك؟ שלום",
    "हिन्दी में नमस्ते", "สวัสดีครับ", "ພາສາລາວ", "မြန်မာ", "e\u0301 is not é, ﬁ is not fi", "a\u0301\u0323\u0302 \u0301\u0301 x",
    "👍 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇵🇹 ☺️", "\u00a0no\u00a0break\u2003em\u3000wide\u2028line\u0085next", "\ufeffmark \ufffd \U0010ffff \ue000",
    "\x01\x02\x1f\x7f control", "▁low▁ line ▁", "▁▁▁ three", "<0x0A><0xFF>", "https://example.org/a_b-c?d=1&e=%20#f", "path/to//file/\n/// x+y=z $5 ~a~ ^b^ |c| `d`",
    "!!!???...---===***\n", "(((a)))[[[b]]]{{{c}}}", '{"name": "f", "arguments": {"a": [1, 2.5, true, null, "x\\n"]}}', "<table><tr><td>x</td></tr></table>\n<b>y</b> <i>",
    "[multimodal] <unused5> <mask>", "<think>\nwell\n</think>\n\nso", "<tool_call>\n{}\n</tool_call>", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n", "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", "<s>[INST] Hi [/INST] Yes </s>", "<|start|>user<|message|>Hi<|end|>",
    "<|im_end|<|im_end|>|>", "a" * 300, "ab " * 100, "中1" * 60, "The quick brown fox jumps over the lazy dog. " * 6,
]
PIECES = [
    " ", "  ", "\n", "\t", "\r\n", "a", "The", "ing", "'s", "'LL", "1", "42", "2026", ".", ",", "!", "...", "/", "//", "_", "-", "(", ")", "{", "}", '"', "é", "e\u0301", "ß", "Ж", "中", "の", "한", "👍", "🏽", "\u200d", "न", "ि", "ก", "ั", "ع", "▁", "<", ">", "|", "#", "$", "\u00a0", "\u3000", "ǅ", "½", "²",
]


def awkward(n_random=300, seed=11):
    """Returns the texts above, and random sequences of pieces."""
    draws = random.Random(seed)
    return AWKWARD + ["".join(draws.choices(PIECES, k=draws.randint(1, 30))) for _ in range(n_random)]


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather in a city: \"now\" or later", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "Größe egal"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}}},
]


def call(name, arguments):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


PLAIN = {
    "question": [{"role": "user", "content": "What is the capital of Portugal?"}],
    "system": [{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": "  And of Spain?\n"}],
    "turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": " Hello. "}, {"role": "user", "content": "<|im_end|> is text, <end_of_turn> too?"}],
}
WITH_REASONING = {
    "reasoning": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4", "reasoning_content": "Two and two."}, {"role": "user", "content": "Times 3?"}],
    "tagged": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "<think>\nEasy.\n</think>\n\n4"}, {"role": "user", "content": "Times 3?"}],
}
WITH_CALLS = {
    "offer": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}],
    "result": [
        {"role": "user", "content": "Weather in Oslo, and the time?"},
        {"role": "assistant", "content": "I'll look.", "tool_calls": [call("get_weather", {"city": "Oslo \"Nord\"", "days": 3}), call("now", {})]},
        {"role": "tool", "content": "{\"sky\": \"grey\"}"}, {"role": "tool", "content": "18:45"},
    ],
    "answered": [
        {"role": "user", "content": "Weather in Oslo?"}, {"role": "assistant", "content": "", "tool_calls": [call("get_weather", {"city": "Oslo"})]},
        {"role": "tool", "content": "grey"}, {"role": "assistant", "content": "It is grey."}, {"role": "user", "content": "Thanks!"},
    ],
}
QUESTIONS = ["What is a hash map?", "What is gravity?", "Write a function that adds two numbers in Python."]
