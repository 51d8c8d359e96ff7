#!/usr/bin/env bash
# audioop, Python's module for telephone sound until 3.12 and the package audioop-lts since then, encodes to mu-law with a shift that
# rounds negative samples away from 0: all of -4 to -1 become -8, while 1 to 3 become 0. Quiet noise around 0, as dither has it, gets a
# constant part that is larger than the noise. ITU-T G.191's encoder takes the complement of a negative sample and has no such bias, nor
# has audioop's A-law.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -W ignore -c "import audioop" 2>/dev/null || "$folder/venv/bin/pip" install --quiet audioop-lts==0.2.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import array
import audioop
import sys

samples = array.array("h", [-4, -3, -2, -1, 0, 1, 2, 3])
through = {
    law: array.array("h", decode(encode(samples.tobytes(), 2), 2)).tolist()
    for law, encode, decode in (("mu-law", audioop.lin2ulaw, audioop.ulaw2lin), ("A-law", audioop.lin2alaw, audioop.alaw2lin))
}
print(f"audioop of Python {sys.version.split()[0]}: {samples.tolist()} become {through}")
mean = sum(through["mu-law"]) / len(samples)
print(f"mean before {sum(samples) / len(samples)}, after {mean}")
assert through["mu-law"] == [-8, -8, -8, -8, 0, 0, 0, 0] and mean == -4
PYTHON
