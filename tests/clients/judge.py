"""Counts the calls that `core/examples/constrained.rs` prints and whose arguments are valid for a library not ours."""

import json
import sys

import jsonschema_rs


def close(schema, is_whole=True):
    """What is declared is all there may be, which JSON Schema wants to be told. Maps that declare nothing stay free."""
    properties = schema.get("properties", {})
    if properties or is_whole:
        schema["additionalProperties"] = False
    for inner in [*properties.values(), *([schema["items"]] if "items" in schema else [])]:
        close(inner, is_whole=False)


calls = [json.loads(line) for line in sys.stdin]
wrong = []
for call in calls:
    schema = call["function"]["parameters"]
    close(schema)
    if not jsonschema_rs.is_valid(schema, call["arguments"]):
        wrong.append(call)
print(f"{len(calls) - len(wrong)} of {len(calls)} calls are valid")
for call in wrong[:3]:
    print(json.dumps(call))
sys.exit(bool(wrong))
