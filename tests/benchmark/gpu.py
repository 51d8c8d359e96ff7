"""Measures causerie on a GPU beside llama.cpp, on the same files and the same device, and prints a table for docs/performance.md.

    gpu.py --causerie causerie [--libraries vulkan=FOLDER] [--llama-bench llama-bench] MODEL.gguf …

`--libraries` names a folder with llama.cpp's shared libraries, and `--llama-bench` a program of its own build; both may be given for several
builds. The whole takes at most `--limit` seconds: what does not fit is left out, and said to be. Needs nothing but Python.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# Seconds of one measurement, at most.
LIMIT_OF_ONE = 45


class Run:
    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + options.limit

    def output(self, command):
        """The JSON that a command prints, or why there is none."""
        left = self.end - time.monotonic()
        if left < 5:
            return "no time left"
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=min(left, LIMIT_OF_ONE))
        except subprocess.TimeoutExpired:
            return f"more than {min(left, LIMIT_OF_ONE):.0f} s"
        if done.returncode != 0:
            print(f"{command[0]} failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return "failed"
        return json.loads(done.stdout)

    def sizes(self):
        options = self.options
        return ["-p", str(options.prompt), "-n", str(options.reply), "-r", str(options.repeats)]

    def causerie(self, model, device, at_once=1):
        """Speeds of prompts and of replies, in tokens per second."""
        name = ["--gpu-name", self.options.gpu_name] if self.options.gpu_name and device == "gpu" else []
        command = [self.options.causerie, "bench", "--model", str(model), "--device", device, "--json", *name]
        found = self.output([*command, *self.sizes(), "-b", str(at_once), "-t", str(self.options.threads)])
        return found if isinstance(found, str) else speeds(found["runs"][0])

    def libraries(self, folder, model):
        options = self.options
        sizes = map(str, (options.prompt, options.reply, options.repeats))
        found = self.output([sys.executable, str(HERE / "llama_libraries.py"), folder, str(model), *sizes])
        return found if isinstance(found, str) else speeds(found)

    def program(self, program, model):
        found = self.output([program, "-m", str(model), "-o", "json", *self.sizes(), "-ngl", "99", "-fa", "1"])
        if isinstance(found, str):
            return found
        speed = {bool(run["n_gen"]): run["avg_ts"] for run in found}
        return speed[False], speed[True]


def speeds(run):
    return run["prefill_tokens_per_second"], run["decode_tokens_per_second"]


def row(model, engine, found):
    prompt, reply = ("–", found) if isinstance(found, str) else (f"{found[0]:.0f}", f"{found[1]:.1f}")
    print(f"| {model.stem} | {engine} | {prompt} | {reply} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--causerie", required=True)
    parser.add_argument("--libraries", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--llama-bench", action="append", default=[])
    parser.add_argument("--gpu-name", help="a part of the name; needed for a software device")
    parser.add_argument("--limit", type=float, default=290, help="seconds")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--reply", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    run = Run(options)
    # Before the table, which is worth nothing where the bits differ.
    check = [options.causerie, "check-gpu", *(["--gpu-name", options.gpu_name] if options.gpu_name else [])]
    print(subprocess.run(check, capture_output=True, text=True, timeout=options.limit).stdout)
    head = f"| model | engine | prompt of {options.prompt}, tokens/s | reply of {options.reply}, tokens/s |"
    print(f"{head}\n|---|---|---:|---:|")
    for at, model in enumerate(options.models):
        row(model, "causerie, GPU", run.causerie(model, "gpu"))
        for named in options.libraries:
            name, _, folder = named.partition("=")
            row(model, f"llama.cpp, {name}", run.libraries(folder, model))
        for program in options.llama_bench:
            row(model, program, run.program(program, model))
        # Steps of as many rows: eight at once should write four times as much as one, and more at once should not write less.
        for at_once in [8] if at else [8, 16, 64]:
            row(model, f"causerie, GPU, {at_once} at once", run.causerie(model, "gpu", at_once))
        row(model, "causerie, CPU", run.causerie(model, "cpu"))


if __name__ == "__main__":
    main()
