#!/usr/bin/env bash
# pydantic_core's from_json with allow_partial="trailing-strings" is made for JSON that is still being written. It leaves out what is not
# complete, except a number at the end: of 120 that has come as far as 12, it reports 12, and of 1e5 it reports 1. Whoever shows values while a
# model writes them sees numbers that the model never gave.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydantic-core==2.41.5
"$folder/venv/bin/python" - <<'PYTHON'
import pydantic_core
from pydantic_core import from_json

whole = '{"celsius": -120, "big": 1e5, "is_wet": true}'
seen = []
for end in range(len(whole)):
    value = from_json(whole[:end], allow_partial="trailing-strings") if end else None
    if value and value not in seen:
        seen.append(value)
print(f"pydantic_core {pydantic_core.__version__}: {seen}")
assert {"celsius": -1} in seen and {"celsius": -12} in seen and any(value.get("big") == 1 for value in seen)
assert not any(value.get("is_wet") is not None for value in seen if len(value) < 3)
PYTHON
