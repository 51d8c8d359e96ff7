"""Counts the calls printed by `tests/benchmark/constrained.rs` whose arguments are valid for an independent library."""

import json
import sys

import jsonschema_rs


def close(schema, is_root=True):
    """Forbids undeclared properties, which JSON Schema allows by default. Objects that declare none stay free."""
    properties = schema.get("properties", {})
    if properties or is_root:
        schema["additionalProperties"] = False
    for inner in [*properties.values(), *([schema["items"]] if "items" in schema else [])]:
        close(inner, is_root=False)


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
