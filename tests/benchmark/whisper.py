"""Measures Whisper base: causerie, whisper.cpp and CTranslate2 transcribe the same clip, in alternation. Prints a table.

    scripts/test-real whisper    # fetches the model and the clip
    cargo build --release
    python3 -m venv whisper-venv
    whisper-venv/bin/pip install faster-whisper==1.2.1 ctranslate2==4.8.5 pywhispercpp==1.5.1 gguf==0.19.0 safetensors==0.8.0
    whisper-venv/bin/python tests/benchmark/whisper.py --causerie target/release/causerie

A time is that of one transcript, greedy, from samples to text, after a first one in the same process. causerie is a command, so its time
is the difference between a process that transcribes the clip once and one that does so five times, divided by four. Pairs compare the
same precision; F16 of causerie computes in F32. Ratios compare results of one round. Run nothing else meanwhile.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import wave

import numpy as np

sys.dont_write_bytecode = True
TIMES = 4
# An engine, its weights, and causerie's weights that have the same precision.
PAIRS = [("whisper.cpp", "q8_0", "Q8_0"), ("CTranslate2", "int8", "Q8_0"), ("CTranslate2", "float32", "F16")]


def samples_of(clip):
    with wave.open(str(clip)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768


def transcriber(engine, weights, model, n_threads):
    """What transcribes samples."""
    if engine == "whisper.cpp":
        from pywhispercpp.model import Model

        whisper = Model(model, n_threads=n_threads, print_progress=False, print_realtime=False)
        return lambda samples: "".join(segment.text for segment in whisper.transcribe(samples, language="en", temperature=0.0))
    from faster_whisper import WhisperModel

    whisper = WhisperModel(model, compute_type=weights, cpu_threads=n_threads)
    return lambda samples: "".join(segment.text for segment in whisper.transcribe(samples, language="en", beam_size=1)[0])


def measure(engine, weights, model, clip, n_threads):
    """Prints the seconds of a transcript. This runs in a process of its own."""
    run, samples = transcriber(engine, weights, model, int(n_threads)), samples_of(clip)
    run(samples)
    start = time.perf_counter()
    for _ in range(TIMES):
        run(samples)
    print("\nseconds", (time.perf_counter() - start) / TIMES)


def seconds_of_rival(engine, weights, model, clip, n_threads):
    command = [sys.executable, __file__, "--rival", engine, weights, model, clip, n_threads]
    environment = os.environ | {"OMP_NUM_THREADS": str(n_threads)}
    output = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env=environment).stdout
    return float(output.rsplit("seconds", 1)[1])


def seconds_of_causerie(command, model, clip, n_threads):
    def whole(times):
        start = time.perf_counter()
        arguments = [command, "transcribe", "--model", model, "--language", "en", "--threads", n_threads, *[clip] * times]
        subprocess.run(list(map(str, arguments)), capture_output=True, check=True)
        return time.perf_counter() - start

    once = whole(1)
    return (whole(1 + TIMES) - once) / TIMES


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", default="target/release/causerie")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/causerie/real")
    parser.add_argument("-t", "--threads", default="1,2")
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--rival", nargs=5, metavar=("ENGINE", "WEIGHTS", "MODEL", "CLIP", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rival:
        return measure(*options.rival)
    folder, clip = options.models / "whisper-base", options.models / "beckett.wav"
    with tempfile.TemporaryDirectory() as made:
        quantised = pathlib.Path(made) / "ggml-base-q8_0.bin"
        subprocess.run([sys.executable, pathlib.Path(__file__).with_name("whisper_ggml.py"), folder, quantised], check=True)
        models = {"Q8_0": quantised, "F16": folder}
        print("| threads | weights | causerie | beside it | | times as fast |\n|---:|---|---:|---|---:|---:|")
        for n_threads in map(int, options.threads.split(",")):
            rounds = []
            for _ in range(options.rounds):
                ours = {kind: seconds_of_causerie(options.causerie, model, clip, n_threads) for kind, model in models.items()}
                theirs = [
                    seconds_of_rival(engine, weights, quantised if engine == "whisper.cpp" else options.models / "whisper-base-ct2", clip, n_threads)
                    for engine, weights, _ in PAIRS
                ]
                rounds.append((ours, theirs))
            for at, (engine, weights, kind) in enumerate(PAIRS):
                ours = statistics.median(ours[kind] for ours, _ in rounds)
                rival = statistics.median(theirs[at] for _, theirs in rounds)
                ratio = statistics.median(theirs[at] / ours[kind] for ours, theirs in rounds)
                print(f"| {n_threads} | {kind} | {ours:.2f} s | {engine}, {weights} | {rival:.2f} s | {ratio:.2f} |")


main()
