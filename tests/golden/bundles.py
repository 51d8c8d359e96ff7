"""Writes a bundle with Python's zipfile, for the tests of all languages: archive tools can make bundles, too."""

import hashlib
import json
import zipfile

ALIGNMENT = 16 << 10


def add(archive, name, content):
    """Stores a file at a multiple of the alignment, by an extra field in its header."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    begin = archive.fp.tell() + 30 + len(name.encode()) + 4
    padding = -begin % ALIGNMENT
    info.extra = b"ac" + padding.to_bytes(2, "little") + bytes(padding)
    archive.writestr(info, content)


def write_bundles(fixtures):
    content = (fixtures / "models/lfm2-q4_0.gguf").read_bytes()
    manifest = {
        "format": "causerie/bundle",
        "format_version": 1,
        "schema_version": "1.0.0",
        "inference_type": "llama.cpp/text-to-text",
        "load_time_parameters": {"model": "./lfm2.gguf"},
        "generation_time_parameters": {
            "sampling_parameters": {"temperature": 0.3, "min_p": 0.15, "repetition_penalty": 1.05}
        },
        "files": {"./lfm2.gguf": {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}},
    }
    (fixtures / "bundles").mkdir(exist_ok=True)
    with zipfile.ZipFile(fixtures / "bundles/lfm2.bundle", "w") as archive:
        add(archive, "manifest.json", json.dumps(manifest, indent=2) + "\n")
        add(archive, "lfm2.gguf", content)
