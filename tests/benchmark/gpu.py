"""Measures causerie on a GPU beside llama.cpp, on the same files and the same device, and prints a table for docs/performance.md.

    gpu.py --causerie target/release/causerie [--llama-bench llama.cpp/llama-bench] MODEL.gguf …

`llama-bench` may be of any build of llama.cpp; one with CUDA and one with Vulkan are given as two `--llama-bench`. Each measurement has a
limit, so that two models take less than five minutes.
"""

import argparse
import json
import pathlib
import subprocess

PROMPT, REPLY, REPEATS, LIMIT = 512, 128, 3, 40


def output(command):
    """The JSON that a command prints; None if it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        print(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
        return None
    return json.loads(done.stdout)


def causerie(program, model, device, at_once=1):
    """Speeds of prompts and of replies, in tokens per second."""
    sizes = ["-p", str(PROMPT), "-n", str(REPLY), "-r", str(REPEATS), "-b", str(at_once), "-t", "8"]
    found = output([program, "bench", "--model", str(model), "--device", device, "--json", *sizes])
    if found is None:
        return None
    run = found["runs"][0]
    return run["prefill_tokens_per_second"], run["decode_tokens_per_second"]


def llama(program, model):
    sizes = ["-p", str(PROMPT), "-n", str(REPLY), "-r", str(REPEATS), "-ngl", "99", "-fa", "1"]
    found = output([program, "-m", str(model), "-o", "json", *sizes])
    if found is None:
        return None
    speed = {bool(run["n_gen"]): run["avg_ts"] for run in found}
    return speed[False], speed[True]


def row(model, engine, speeds):
    prompt, reply = ("–", "–") if speeds is None else (f"{speeds[0]:.0f}", f"{speeds[1]:.1f}")
    print(f"| {model.stem} | {engine} | {prompt} | {reply} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--causerie", required=True)
    parser.add_argument("--llama-bench", action="append", default=[])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    print(f"| model | engine | prompt of {PROMPT}, tokens/s | reply of {REPLY}, tokens/s |\n|---|---|---:|---:|")
    for model in arguments.models:
        row(model, "causerie, GPU", causerie(arguments.causerie, model, "gpu"))
        row(model, "causerie, GPU, 8 at once", causerie(arguments.causerie, model, "gpu", 8))
        row(model, "causerie, CPU", causerie(arguments.causerie, model, "cpu"))
        for program in arguments.llama_bench:
            row(model, program, llama(program, model))


if __name__ == "__main__":
    main()
