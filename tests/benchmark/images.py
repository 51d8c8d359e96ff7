"""Measures pictures with causerie and with llama.cpp's vision library, in alternation on the same files, and prints a table.

    cargo build --release -p causerie-tests --example images
    python3 -m venv images-venv && images-venv/bin/pip install gguf==0.19.0 numpy llama-cpp-py-sync==0.11739
    images-venv/bin/python tests/benchmark/images.py --causerie target/release/examples/images

Random weights with the shapes of LFM2-VL 450M and 1.6B, their text part in Q8_0. The pictures are 512 x 512, which is one
image, and 1920 x 1080: eight tiles and a smaller copy. `encode` is the time from the file's pixels to the picture's rows;
`first` the time to the first token of a reply. Each measurement is a process of its own; ratios compare results of one round.
Run nothing else meanwhile.
"""

import argparse
import json
import pathlib
import resource
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

TEXTS = {"450m": "vl-350m-q8_0.gguf", "1.6b": "vl-1.2b-q8_0.gguf"}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", help="the built example `images`")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/causerie/bench")
    parser.add_argument("-s", "--sizes", default="450m,1.6b")
    parser.add_argument("-k", "--kinds", default="f16,q8_0")
    parser.add_argument("-p", "--pictures", default="512x512,1920x1080")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--llama", nargs=4, metavar=("MODEL", "PROJECTOR", "WIDTH", "HEIGHT"), help=argparse.SUPPRESS)
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


def measure_llama(model, projector, width, height, n_threads):
    from libmtmd import Vision

    vision = Vision(model, projector, n_threads)
    prompt = "<|startoftext|><|im_start|>user\na0<image><|im_end|>\n<|im_start|>assistant\n"
    vision.first_token(prompt.replace("<image>", ""), [])
    encode, first = vision.first_token(prompt, [(width, height, pixels(width, height).tobytes())])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"encode_seconds": encode, "first_token_seconds": first, "peak_memory_bytes": peak}))


def file_of(name, folder):
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            script = "random_mmproj.py" if name.startswith("mmproj") else "random_lfm2.py"
            subprocess.run([sys.executable, HERE / script, pathlib.Path(aside) / name], check=True)
            (pathlib.Path(aside) / name).rename(path)
    return path


def main():
    options = arguments()
    if options.llama:
        model, projector, width, height = options.llama
        return measure_llama(model, projector, int(width), int(height), options.threads)
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
                found["llama.cpp"].append(run([
                    sys.executable, __file__, "--threads", options.threads, "--llama", model, projector, width, height
                ]))
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
