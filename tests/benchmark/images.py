"""Measures pictures with causerie and with llama.cpp's vision library, in alternation on the same files, and prints a table.

    scripts/bench --files models/demo.gguf --rounds 1    # builds llama.cpp 0.8.0 and its measurement
    cargo build --release -p causerie-tests --example images
    ~/.cache/causerie/bench/venv/bin/python tests/benchmark/images.py --causerie target/release/examples/images

Random weights with the shapes of published towers and of their text parts, which are in Q8_0; only the vocabularies of the families beside
LFM2-VL are tiny. 512 x 512 is one image of LFM2-VL, and 1920 x 1080 eight tiles
and a smaller copy. Gemma scales every picture to the same number of pixels, so give its towers pictures of that size: llama.cpp scales
small ones less. `encode` is the time from the file's pixels to the picture's rows; `first` the time to the first token of a reply. Each
measurement is a process of its own; ratios compare results of one round. Run nothing else meanwhile.
"""

import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "golden"))
sys.dont_write_bytecode = True
from pictures import pixels

TEXTS = {
    "450m": "vl-350m-q8_0.gguf",
    "1.6b": "vl-1.2b-q8_0.gguf",
    "gemma3_4b": "text-gemma3_4b-q8_0.gguf",
    "gemma4_e2b": "text-gemma4_e2b-q8_0.gguf",
    "qwen35_08b": "text-qwen35_08b-q8_0.gguf",
}
SCRIPTS = {"mmproj": "random_mmproj.py", "text": "random_texts.py"}
LFM2 = "<|startoftext|><|im_start|>user\na0<image><|im_end|>\n<|im_start|>assistant\n"
PROMPTS = {
    "gemma3_4b": "<|startoftext|><start_of_turn>user\na0<image><end_of_turn>\n<start_of_turn>model\n",
    "gemma4_e2b": "<|startoftext|><|turn>user\na0<image><turn|>\n<|turn>model\n",
}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", help="the built example `images`")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/causerie/bench")
    parser.add_argument("-s", "--sizes", default="450m,1.6b")
    parser.add_argument("-k", "--kinds", default="f16,q8_0")
    parser.add_argument("-p", "--pictures", default="512x512,1920x1080")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--llama", type=pathlib.Path, help="the program llama-pictures; default in the folder of models")
    return parser.parse_args()


def run(command):
    output = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{command[0]} failed: {output.stderr.strip()}")
    return json.loads(output.stdout)


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels(width, height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def file_of(name, folder):
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            script = SCRIPTS.get(name.split("-")[0], "random_lfm2.py")
            subprocess.run([sys.executable, HERE / script, pathlib.Path(aside) / name], check=True)
            (pathlib.Path(aside) / name).rename(path)
    return path


def main():
    options = arguments()
    llama = options.llama or options.models / "llama.cpp/bin/llama-pictures"
    cases = [
        (size, kind, picture)
        for size in options.sizes.split(",") for kind in options.kinds.split(",") for picture in options.pictures.split(",")
    ]
    runs = {case: {"causerie": [], "llama.cpp": []} for case in cases}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for size, kind, picture in cases:
                model, projector = (file_of(name, options.models) for name in (TEXTS[size], f"mmproj-{size}-{kind}.gguf"))
                width, height = map(int, picture.split("x"))
                shown = pathlib.Path(folder) / f"{picture}.png"
                shown.write_bytes(png(width, height))
                found = runs[size, kind, picture]
                found["causerie"].append(run([options.causerie, model, projector, shown, options.threads, 1]))
                raw = pathlib.Path(folder) / f"{picture}.rgb"
                raw.write_bytes(pixels(width, height).tobytes())
                prompt = PROMPTS.get(size, LFM2)
                found["llama.cpp"].append(run([llama, model, projector, width, height, raw, options.threads, prompt]))
    print(f"{options.threads} threads, medians of {options.rounds} rounds")
    columns = ["tower", "projector file", "picture", "engine", "encode", "first token", "peak memory", "encode ratio", "first ratio"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for (size, kind, picture), found in runs.items():
        for engine, results in found.items():
            def median(key):
                return statistics.median(result[key] for result in results)

            def ratio(key):
                if engine == "causerie":
                    return ""
                pairs = zip(found["causerie"], results)
                return f"{statistics.median(theirs[key] / ours[key] for ours, theirs in pairs):.2f}"

            cells = [size, kind, picture, engine, f"{median('encode_seconds'):.2f} s", f"{median('first_token_seconds'):.2f} s",
                     f"{median('peak_memory_bytes') / 2**20:.0f} MiB", ratio("encode_seconds"), ratio("first_token_seconds")]
            print("| " + " | ".join(cells) + " |")


main()
