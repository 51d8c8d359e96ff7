"""Converts cases that others wrote to the form of `held-out.jsonl`: `python -m training.outside FOLDER --out FILE`.

FOLDER has the unpacked Python packages `bfcl-eval` (the Berkeley Function Calling Leaderboard) and `cactus-needle` (apps for very small
models, with acceptance tests). Their data only measures: nothing of it is in training or in this repository.

Of the leaderboard, only requests of one message are taken, whose values can be copied from the request, with functions of at most LONGEST
characters. The others need knowledge or reasoning that this model does not have.
"""

import argparse
import importlib.util
import inspect
import json
import re
import sys
import types
import typing
from pathlib import Path

LONGEST = 4000  # characters of the functions: about a thousand tokens, as in training
FILES = {
    "simple_python": "outside: one function", "multiple": "outside: choice among functions", "live_simple": "outside: one function, asked by users",
    "live_multiple": "outside: choice among functions, asked by users", "parallel": "outside: several calls",
    "irrelevance": "outside: no function fits",
}
TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "any": "string", "list": "array"}


def name_of(function):
    return function["name"].replace(".", "_")


def schema(given):
    """The schema with the names of types in JSON Schema."""
    if isinstance(given, list):
        return [schema(each) for each in given]
    if not isinstance(given, dict):
        return given
    return {key: TYPES.get(each, each) if key == "type" and isinstance(each, str) else schema(each) for key, each in given.items()}


def said(value, request):
    """Whether a value can be copied from the request."""
    if isinstance(value, (list, dict)):
        return all(said(each, request) for each in (value.values() if isinstance(value, dict) else value))
    if isinstance(value, bool) or value is None:
        return True
    text = json.dumps(value) if not isinstance(value, str) else value
    number = re.sub(r"\.0$", "", text)
    return re.search(rf"(?<!\w){re.escape(number)}(?!\w)", request, re.IGNORECASE) is not None


def accepted(answers, request):
    """The calls with the values that count as right, or None if one of them cannot be copied."""
    calls = []
    for answer in answers:
        (name, arguments), = answer.items()
        if not all("" in values or any(said(value, request) for value in values) for values in arguments.values()):
            return None
        calls.append({"name": name.replace(".", "_"), "arguments": arguments})
    return calls


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def apps(folder):
    """The apps of cactus-needle, with a stand-in for its library, which only describes functions here."""
    library, harness = types.ModuleType("needle"), types.ModuleType("needle.environments")
    library.tool, library.Field, library.environments, harness._harness = described, lambda **limits: None, harness, None
    sys.modules |= {"needle": library, "needle.environments": harness, "needle.environments._harness": types.ModuleType("harness")}
    for path in sorted(folder.glob("[a-z]*.py")):
        specification = importlib.util.spec_from_file_location(path.stem, path)
        app = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(app)
        functions = [{"type": "function", "function": each} for each in app.TOOLS]
        for each in app.TEST_CASES:
            expect = {"calls": each["calls"]} if each["calls"] else {"whole": True} if each["category"] == "negation" else {"declines": True}
            yield {"category": f"apps: {each['category']}", "functions": functions, "system": "", "messages": [{"role": "user", "content": each["query"]}], "expect": expect}


def described(function):
    """The declaration of a Python function, from its types and its docstring."""
    summary, _, rest = inspect.getdoc(function).partition("\n\nArgs:\n")
    texts = dict(re.findall(r"(\w+): (.*)", rest))
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        properties[name] = typed(parameter.annotation) | ({"description": texts[name]} if name in texts else {})
        if parameter.default is parameter.empty:
            required.append(name)
    return {"name": function.__name__, "description": summary, "parameters": {"type": "object", "properties": properties, "required": required}}


def typed(hint):
    """The schema of a type hint."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated or origin in (typing.Union, types.UnionType):
        return typed(parts[0])
    if origin is typing.Literal:
        return {"type": "string", "enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": typed(parts[0])}
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[hint]}


def leaderboard(folder):
    for file, category in FILES.items():
        answers = folder / "possible_answer" / f"BFCL_v4_{file}.json"
        right = {each["id"]: each["ground_truth"] for each in read(answers)} if answers.exists() else {}
        for each in read(folder / f"BFCL_v4_{file}.json"):
            messages, = each["question"]
            functions = [{"type": "function", "function": schema(function) | {"name": name_of(function)}} for function in each["function"]]
            if len(messages) != 1 or len(json.dumps(functions)) > LONGEST or not messages[0]["content"].isascii():
                continue
            expect = {"declines": True}
            if each["id"] in right and (expect := {"accepts": accepted(right[each["id"]], messages[0]["content"])})["accepts"] is None:
                continue
            yield {"category": category, "functions": functions, "system": "", "messages": messages, "expect": expect}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found = [*apps(args.folder / "needle" / "environments"), *leaderboard(args.folder / "bfcl_eval" / "data")]
    args.out.write_text("".join(json.dumps(each) + "\n" for each in found))


if __name__ == "__main__":
    main()
