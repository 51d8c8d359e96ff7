"""A constraint accepts exactly the calls that the schemas of the functions allow, according to an independent library.

Functions and calls are drawn at random; some calls are modified. `causerie inspect constrain` checks them with the grammar,
`jsonschema_rs` validates their arguments.
"""

import json
import random
import subprocess
import tempfile
import unittest

import jsonschema_rs

from server import COMMAND

NAMES = ["city", "from", "class", "n", "_x", "items", "unit", "a", "ab", "is_on"]
KEYS = ["x", "y", "a b", "it's", '"q"', "größe"]
FREE_KEYS = ["x", "a b", "größe"]  # names of undeclared members have no escapes
TEXTS = ["celsius", "it's", 'say "no"', "a\\", "two\nlines", "", "°"]
NUMBERS = [-1.5, 2.5, 1e20, 0.125]
INTEGERS = [0, 7, -3, 123456789012]


def some(draw, values):
    return draw.sample(values, draw.randint(1, len(values)))


def schema(draw, depth=0):
    plain = ["string", "number", "integer", "boolean", "null"]
    kind = draw.choice([*plain, "array", "object", "map", "any", "types", "const"] if depth < 3 else plain)
    if kind == "any":
        return {"anyOf": [schema(draw, depth + 1) for _ in range(draw.randint(1, 3))]}
    if kind == "types":
        return {"type": draw.sample(plain, 2)}
    if kind == "const":
        return {"const": draw.choice([*TEXTS, *NUMBERS, *INTEGERS, None, True])}
    if kind == "map":
        return {"type": "object", "additionalProperties": schema(draw, depth + 1)}
    values = {"string": TEXTS, "number": NUMBERS, "integer": INTEGERS}.get(kind)
    if values and draw.random() < 0.3:
        return {"type": kind, "enum": some(draw, values)}
    if kind == "array":
        return {"type": kind, "items": schema(draw, depth + 1)}
    if kind == "object":
        return members(draw, some(draw, KEYS), depth + 1)
    return {"type": kind}


def members(draw, names, depth):
    properties = {name: schema(draw, depth) for name in names}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in names if draw.random() < 0.5],
        "additionalProperties": False,
    }


def value(draw, wanted, strays):
    if strays and draw.random() < 0.12:
        return draw.choice([None, True, 3, 2.5, "celsius", [], {}])
    if "anyOf" in wanted:
        return value(draw, draw.choice(wanted["anyOf"]), strays)
    if "const" in wanted:
        return wanted["const"]
    if "enum" in wanted:
        return draw.choice(wanted["enum"])
    kind = wanted["type"] if isinstance(wanted["type"], str) else draw.choice(wanted["type"])
    if kind == "array":
        return [value(draw, wanted["items"], strays) for _ in range(draw.randint(0, 2))]
    if kind == "object" and wanted["additionalProperties"]:
        return {name: value(draw, wanted["additionalProperties"], strays) for name in draw.sample(FREE_KEYS, draw.randint(0, 2))}
    if kind == "object":
        return drawn(draw, wanted, strays)
    values = {"string": TEXTS, "number": NUMBERS + INTEGERS, "integer": INTEGERS, "boolean": [True, False]}
    return draw.choice(values.get(kind, [None]))


def drawn(draw, wanted, strays):
    """Members in any order: all required and some optional ones; with `strays`, some are missing or undeclared."""
    properties = wanted["properties"]
    names = draw.sample(list(properties), len(properties))
    keep = lambda name: draw.random() < 0.9 if strays else name in wanted["required"] or draw.random() < 0.5
    found = {name: value(draw, properties[name], strays) for name in names if keep(name)}
    if strays and draw.random() < 0.1:
        found["undeclared"] = None
    return found


def python(value):
    """Formats a value as in Python calls."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(map(python, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python(name)}: {python(inner)}" for name, inner in value.items()) + "}"
    return repr(value)


def verdicts(functions, style, texts):
    """Whether the grammar of these functions accepts each block."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(functions, file)
        file.flush()
        command = [COMMAND, "inspect", "constrain", "--functions", file.name, "--format", style]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        output = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line)["accepted"] for line in output.splitlines()]


class Schemas(unittest.TestCase):
    def test_a_grammar_accepts_what_the_schema_allows(self):
        draw = random.Random(1)
        counts = {True: 0, False: 0}
        for _ in range(40):
            wanted = members(draw, some(draw, NAMES), 0)
            function = {"name": "f", "description": "", "parameters": wanted}
            calls = [drawn(draw, wanted, strays=i % 2 == 1) for i in range(25)]
            allowed = [jsonschema_rs.is_valid(wanted, arguments) for arguments in calls]
            self.assertTrue(all(allowed[::2]), "calls without strays must be valid")
            in_python = [f"[f({', '.join(f'{name}={python(value)}' for name, value in call.items())})]" for call in calls]
            in_json = [json.dumps({"name": "f", "arguments": call}, ensure_ascii=False) for call in calls]
            for style, texts in (("python", in_python), ("json", in_json)):
                for text, is_accepted, is_allowed in zip(texts, verdicts([function], style, texts), allowed, strict=True):
                    self.assertEqual(is_accepted, is_allowed, f"{text} for {json.dumps(function)}")
                    counts[is_accepted] += 1
        self.assertTrue(all(200 < count for count in counts.values()), counts)
