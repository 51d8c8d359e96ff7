"""Measures causerie, llama.cpp and candle in alternation on the same files, and prints a table with ratios and limits.

Each round runs each engine on each file, in separate processes; ratios compare results of the same round. scripts/bench calls
this script.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SPEEDS = {"prefill": "prefill_tokens_per_second", "decode": "decode_tokens_per_second"}


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("-p", "--prompt-tokens", type=int, default=512)
    parser.add_argument("-n", "--reply-tokens", type=int, default=128)
    parser.add_argument("-t", "--threads", default="1,2", help="numbers of threads")
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("-s", "--sizes", default="350m", help="sizes among 350m and 1.2b")
    parser.add_argument("-k", "--kinds", default="q4_0,q4_k_m,q8_0,f16")
    parser.add_argument("-e", "--engines", default="causerie,llama.cpp,candle")
    parser.add_argument("--models", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--causerie", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--reads", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--candle", help=argparse.SUPPRESS)
    return parser.parse_args()


def run(command, **environment):
    output = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | environment)
    if output.returncode != 0:
        sys.exit(f"{command[0]} failed: {output.stderr.strip()}")
    return output.stdout


def measure(engine, model, threads, options):
    n_prompt, n_reply = options.prompt_tokens, options.reply_tokens
    if engine == "causerie":
        command = [options.causerie, "bench", "--json", "--model", model, "-p", n_prompt, "-n", n_reply, "-t", threads]
        return json.loads(run([*command, "--repeats", 1]))["runs"][0]
    if engine == "llama.cpp":
        return json.loads(run([sys.executable, HERE / "llama_cpp_bench.py", model, threads, n_prompt, n_reply, 1]))
    return json.loads(run([options.candle, model, n_prompt, n_reply, 1], RAYON_NUM_THREADS=str(threads)))


def model_file(name, options):
    path = options.models / f"{name}.gguf"
    if not path.exists():
        # Written under another name first, so that an incomplete file is not used later.
        aside = options.models / f"aside-{os.getpid()}"
        aside.mkdir()
        run([sys.executable, HERE / "random_lfm2.py", aside / path.name], PYTHONDONTWRITEBYTECODE="1")
        (aside / path.name).rename(path)
        aside.rmdir()
    return path


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def llama_cpp_features():
    code = "import llama_cpp; print(llama_cpp.llama_print_system_info().decode())"
    return run([sys.executable, "-c", code]).strip().removeprefix("CPU : ").rstrip(" |")


def main():
    options = arguments()
    engines = options.engines.split(",")
    threads = [int(number) for number in options.threads.split(",")]
    names = [f"{size}-{kind}" for size in options.sizes.split(",") for kind in options.kinds.split(",")]
    models = {name: model_file(name, options) for name in names}
    rounds = []
    for _ in range(options.rounds):
        limits = json.loads(run([options.reads, options.threads]))
        runs = {
            (name, engine, n): measure(engine, path, n, options)
            for name, path in models.items()
            for n in threads
            for engine in engines
        }
        rounds.append((limits, runs))

    def over_rounds(value):
        return statistics.median(value(limits, runs) for limits, runs in rounds)

    print(f"{processor()}; {options.prompt_tokens} prompt tokens, {options.reply_tokens} reply tokens; medians of "
          f"{options.rounds} rounds")
    if "llama.cpp" in engines:
        print(f"llama.cpp: {llama_cpp_features()}")
    reads = {n: over_rounds(lambda limits, _: limits[str(n)]) for n in threads}
    print("memory bandwidth: " + ", ".join(f"{speed:.1f} GB/s with {n} threads" for n, speed in reads.items()))
    columns = ["file", "threads", "engine", "prefill/s", "decode/s", "of the limit", "peak memory", "load",
               "prefill ratio", "decode ratio"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name, path in models.items():
        n_bytes = path.stat().st_size
        for n in threads:
            for engine in engines:
                def median(key):
                    return over_rounds(lambda _, runs: runs[name, engine, n][key])

                def ratio(key):
                    def of_round(_, runs):
                        return runs[name, "causerie", n][key] / max(runs[name, engine, n][key], 1e-9)

                    return "" if engine == "causerie" else f"{over_rounds(of_round):.2f}"

                share = over_rounds(
                    lambda limits, runs: runs[name, engine, n][SPEEDS["decode"]] * n_bytes / limits[str(n)] / 1e9
                )
                cells = [name, n, engine, f"{median(SPEEDS['prefill']):.0f}", f"{median(SPEEDS['decode']):.1f}",
                         f"{share:.0%}", f"{median('peak_memory_bytes') / 2**20:.0f} MiB",
                         f"{median('load_seconds'):.2f} s", ratio(SPEEDS["prefill"]), ratio(SPEEDS["decode"])]
                print("| " + " | ".join(map(str, cells)) + " |")


main()
