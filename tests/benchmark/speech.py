"""Measures a model with the shapes of LFM2.5-Audio 1.5B: causerie and cera hear and speak, llama.cpp hears. Prints two tables, and
with `--liquid` a third, beside liquid-audio, the model's reference.

    cargo build --release -p causerie-tests --example speech
    python3 -m venv speech-venv
    speech-venv/bin/pip install gguf==0.19.0 numpy xllamacpp==2026.10.11549 llama-cpp-py-sync==0.11548
    tests/benchmark/rivals/build ~/.cache/causerie/bench
    speech-venv/bin/python tests/benchmark/speech.py --causerie target/release/examples/speech

Random weights. `hear` is the time from four seconds of samples to the rows of the prompt, `sound` the time from the question to its first
sound, `frame` the time for a frame of 80 ms of sound, of which `text` is the part of the text model; `speak` is the rest, the codes and
the samples. Of cera, its functions for each of these parts are measured alone. llama.cpp has no parts that speak for this model.
liquid-audio computes in bfloat16; `liquid_audio_parts.py` says how it is installed. Each measurement is a process of its own; the ratio
compares results of one round. Run nothing else meanwhile.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "golden"))
sys.dont_write_bytecode = True
SECONDS, RATE, REPEATS, FRAMES = 4, 16_000, 3, 50


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", help="the built example `speech`")
    parser.add_argument("--liquid", metavar="PYTHON", help="a Python that has liquid-audio")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/causerie/bench")
    parser.add_argument("-k", "--kinds", default="q4_0,q8_0")
    parser.add_argument("-t", "--threads", default="1,2")
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--llama", nargs=3, metavar=("MODEL", "PROJECTOR", "THREADS"), help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_llama(model, projector, n_threads):
    import numpy as np
    from libmtmd import Vision, ffi, mtmd

    vision = Vision(model, projector, n_threads)

    def hear(seed):
        samples = np.random.default_rng(seed).uniform(-0.5, 0.5, SECONDS * RATE).astype(np.float32)
        start = time.perf_counter()
        bitmap = mtmd.mtmd_bitmap_init_from_audio(len(samples), ffi.from_buffer("float[]", samples))
        marker = mtmd.mtmd_default_marker()
        given = ffi.new("mtmd_input_text *", {"text": marker, "text_len": len(ffi.string(marker)), "add_special": False, "parse_special": True})
        chunks = ffi.gc(mtmd.mtmd_input_chunks_init(), mtmd.mtmd_input_chunks_free)
        assert mtmd.mtmd_tokenize(vision.vision, chunks, given, ffi.new("mtmd_bitmap *[]", [bitmap]), 1) == 0
        n_rows = 0
        for index in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk = mtmd.mtmd_input_chunks_get(chunks, index)
            if mtmd.mtmd_input_chunk_get_type(chunk) == mtmd.MTMD_INPUT_CHUNK_TYPE_AUDIO:
                n_rows += vision.rows(chunk)[1]
        mtmd.mtmd_bitmap_free(bitmap)
        assert n_rows in (50, 51), n_rows
        return time.perf_counter() - start

    hear(0)
    print(json.dumps({"hearing_seconds": statistics.median(hear(seed) for seed in range(1, REPEATS + 1))}))


def model_of(kind, folder):
    """The folder of a model's files; they are written if they are missing."""
    place = folder / f"speech-{kind}"
    if not (place / f"whole-audio-1.2b-{kind}.gguf").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            aside = pathlib.Path(aside) / "files"
            aside.mkdir()
            subprocess.run([sys.executable, HERE / "random_speech.py", aside, kind], check=True)
            subprocess.run([sys.executable, HERE / "random_lfm2.py", aside / f"audio-1.2b-{kind}.gguf"], check=True)
            shutil.rmtree(place, ignore_errors=True)
            aside.rename(place)
    return (place / f"{part}audio-1.2b-{kind}.gguf" for part in ("", "mmproj-", "whole-"))


def run(command, **environment):
    output = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **environment})
    if output.returncode != 0:
        sys.exit(f"{command[0]} failed: {output.stderr.strip()}")
    return json.loads(output.stdout)


def main():
    options = arguments()
    if options.llama:
        return measure_llama(options.llama[0], options.llama[1], int(options.llama[2]))
    cases = [(kind, int(threads)) for kind in options.kinds.split(",") for threads in options.threads.split(",")]
    runs = {case: [] for case in cases}
    for _ in range(options.rounds):
        liquid = {}  # of each number of threads: it has one type of weights
        for kind, threads in cases:
            model, projector, vocoder = model_of(kind, options.models)
            ours = run([options.causerie, model, threads, REPEATS, FRAMES])
            theirs = run([sys.executable, __file__, "--llama", model, projector, threads])
            counts = {name: str(threads) for name in ("CERA_THREADS", "CERA_DECODE_THREADS", "RAYON_NUM_THREADS")}
            cera = run([options.models / "rivals/release/cera-speech", projector, vocoder, REPEATS, FRAMES], **counts)
            if options.liquid and threads not in liquid:
                liquid[threads] = run([options.liquid, HERE / "liquid_audio_parts.py", "bfloat16", threads])
            runs[kind, threads].append((ours, theirs, cera, liquid.get(threads)))
    print(f"medians of {options.rounds} rounds, in milliseconds")
    columns = ["weights", "threads", "hear", "llama.cpp", "times as fast", "sound", "frame", "text", "real time"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for (kind, threads), found in runs.items():
        def median(value):
            return statistics.median(value(*round) for round in found)

        times = [median(lambda ours, *_: ours["hearing_seconds"]), median(lambda _, llama, *__: llama["hearing_seconds"])]
        ratio = median(lambda ours, llama, *_: llama["hearing_seconds"] / ours["hearing_seconds"])
        later = [median(lambda ours, *_: ours[key]) for key in ("first_sound_seconds", "frame_seconds", "text_seconds")]
        cells = [kind, threads, *(f"{1000 * seconds:.0f}" for seconds in times), f"{ratio:.2f}",
                 *(f"{1000 * seconds:.0f}" for seconds in later), f"{later[1] / 0.08:.2f}"]
        print("| " + " | ".join(map(str, cells)) + " |")
    for name, rival, parts in (
        ("cera", 2, ("depth_seconds", "sound_seconds")),
        ("liquid-audio", 3, ("codes_seconds", "sound_seconds")),
    ):
        if rival == 3 and not options.liquid:
            continue
        columns = ["weights", "threads", "hear", name, "times as fast", "speak", name, "times as fast"]
        print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
        for (kind, threads), found in runs.items():
            hear = [(round[0]["hearing_seconds"], round[rival]["hearing_seconds"]) for round in found]
            speak = [
                (round[0]["frame_seconds"] - round[0]["text_seconds"], sum(round[rival][part] for part in parts)) for round in found
            ]
            cells = [kind, threads]
            for pairs in (hear, speak):
                cells += [f"{1000 * statistics.median(times):.0f}" for times in zip(*pairs)]
                cells.append(f"{statistics.median(theirs / ours for ours, theirs in pairs):.2f}")
            print("| " + " | ".join(map(str, cells)) + " |")


main()
