#!/usr/bin/env bash
# tokenizers (Python): an added token with letters between U+00A1 and U+00FF is decoded to U+FFFD by a byte-level decoder,
# because the decoder takes the letters for symbols of bytes. Adding "café" to a GPT-2-like tokenizer loses the é of every
# reply that contains it. Other letters beyond ASCII ("中") are kept.
#
# Prints the version and what happens; fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
import tokenizers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE({symbol: id for id, symbol in enumerate(alphabet)}, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_tokens([AddedToken("café", normalized=False), AddedToken("中é", normalized=False)])

print("tokenizers", tokenizers.__version__)
for text, expected in [("a naïve text", "a naïve text"), ("a café", "a caf\ufffd"), ("a 中é", "a 中é")]:
    ids = tokenizer.encode(text).ids
    decoded = tokenizer.decode(ids, skip_special_tokens=False)
    print(f"{text!r} is encoded, and decoded to {decoded!r}")
    assert decoded == expected, "the behaviour has changed"
PYTHON
