"""Representations of values in Python: repr, and json.dumps without ASCII escapes. Templates depend on both."""

import json
import struct

FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, 0.2, 0.30000000000000004, 0.5, 1.5, -2.5, 3.14159, 2.718281828459045, 100.0, 1e3, 12345.678,
    1e5, 1e6, 123456789.0, 1e10, 1e14, 999999999999999.9, 1e15, 1234567890123456.0, 9007199254740991.0, 9007199254740992.0,
    9007199254740994.0, 9999999999999998.0, 1e16, 1.0000000000000002e16, 12345678901234567.0, 123456789012345680.0, 1e17,
    1e20, 1e21, 1e22, 1e23, 1.5e300, 1e100, -1e100, 1.7976931348623157e308, 0.01, 0.001, 0.0001, 0.00012, 0.00001, 0.000012,
    1e-5, 1.5e-5, 1e-6, 1e-7, -1e-7, 1.25e-10, 1e-100, 2.2250738585072014e-308, 2.225073858507201e-308, 5e-324, 1 / 3,
    2 / 3, 4.35, 0.1 + 0.7, 9223372036854775808.0, 18446744073709551616.0, float("inf"), float("-inf"), float("nan"),
]
STRINGS = [
    "", "plain", "it's", 'say "hi"', "both ' and \"", "back\\slash", "a\nb\rc\td", "\x00\x07\x08\x0c\x1b\x1f\x7f", "\x80\x85\xa0\xad",
    "déjà vu", "日本語", "한글", "שלום", "مرحبا", "👍🏽", "👩\u200d👧", "🏳️\u200d🌈", "e\u0301", "\u200b\u200e\u200f\u2028\u2029\u202e", "\ufeff\ufffd\uffff",
    "\ue000", "\U000e0001\U0010ffff", "\u2003\u3000", "</script>&<b>", "<|im_end|>", "{{ x }} %s",
]
# JSON texts, whose values are printed after parsing.
VALUES = [
    "null", "true", "false", "0", "-0", "1", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551615", "1.0", "-0.0", "1e16", "1E5", "1e-7", "1.10", "0.00001", "123456789012345680.0", '""', '"it\'s"',
    '"\\u00e9\\ud83d\\udc4d\\u2028\\u007f\\u0000\\b\\f\\n\\r\\t\\"\\\\\\/"', "[]", "{}", "[[], {}, [{}]]",
    "[1, 1.0, true, false, null]", '["a", "it\'s", "say \\"hi\\"", "\\n"]', '{"b": 1, "a": [2.50, {"c": null}]}',
    '{"": "", "it\'s": {"\\"": "\\u00e9"}}', ' [ 1 ,2 ] ', '{"<b>": "&</b>"}', '[[1, [2, [3, [4.0]]]]]', '{"a": {"b": {"c": {"d": [1e22]}}}}',
]


def bits(value):
    return struct.pack(">d", value).hex()


def value_case(text):
    value = json.loads(text)
    return {"json": text, "str": str(value), "repr": repr(value), "dumps": json.dumps(value, ensure_ascii=False)}


def write_representations(golden):
    sections = {
        "floats": [{"bits": bits(value), "repr": repr(value), "dumps": json.dumps(value)} for value in FLOATS],
        "strings": [{"text": text, "repr": repr(text), "dumps": json.dumps(text, ensure_ascii=False)} for text in STRINGS],
        "values": [value_case(text) for text in VALUES],
    }
    lines = [
        f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(case) for case in cases) + "\n  ]" for name, cases in sections.items()
    ]
    (golden / "python_repr.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
