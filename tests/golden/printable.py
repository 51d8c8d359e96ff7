"""The characters that Python escapes in the representation of a string, over all of Unicode."""

import json
import unicodedata

import unicodedata2

# `str.isprintable`, and so `repr`, refuses these categories, except the space. Python 3.14 has Unicode 16.
ESCAPED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
SURROGATES = range(0xD800, 0xE000)


def is_printable(character):
    return character == " " or unicodedata2.category(character) not in ESCAPED


def escaped_ranges():
    """Returns the first and the last code point of each run of escaped characters, without surrogates."""
    ranges = []
    for code in range(0x110000):
        if code in SURROGATES or is_printable(chr(code)):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges


def write_printable(golden):
    for code in range(0x110000):
        character = chr(code)
        # This Python may know fewer characters, but classifies those that it knows in the same way.
        if unicodedata.category(character) != "Cn" and code not in SURROGATES:
            assert character.isprintable() == is_printable(character) == (repr(character)[1:-1] in (character, "\\\\", "\\'")), code
    record = {"unicode": unicodedata2.unidata_version, "escaped": escaped_ranges()}
    (golden / "printable.json").write_text(json.dumps(record) + "\n")
