"""Measures causerie, llama.cpp and cera in alternation on the same files, and prints a table with ratios and limits.

Each round runs each engine on each file, in separate processes; ratios compare results of the same round. A round counts only if
the memory's bandwidth, which is measured first, was at least nine tenths of the best round's: otherwise something else ran.
scripts/bench calls this script.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SPEEDS = {"prefill": "prefill_tokens_per_second", "decode": "decode_tokens_per_second"}
QUIET = 0.9


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("-p", "--prompt-tokens", type=int, default=512)
    parser.add_argument("-n", "--reply-tokens", type=int, default=128)
    parser.add_argument("-b", "--at-once", type=int, default=1, help="replies at once; speeds are sums")
    parser.add_argument("-t", "--threads", default="1,2", help="numbers of threads")
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("-s", "--sizes", default="350m", help="sizes among 350m and 1.2b")
    parser.add_argument("-k", "--kinds", default="q4_0,q4_k_m,q8_0,f16")
    parser.add_argument("-f", "--files", type=pathlib.Path, nargs="+", help="GGUF files to measure instead")
    parser.add_argument("-c", "--cache-type", default="f16", choices=["f16", "q8_0"], help="of keys and values, but cera's")
    parser.add_argument("-e", "--engines", default="causerie,llama.cpp,cera")
    parser.add_argument("--models", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--causerie", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--reads", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--llama", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--cera", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(command, **environment):
    """Returns what a command printed, and the peak memory of its process in bytes."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, env=os.environ | environment)
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{command[0]} failed: {errors.read().decode(errors='replace').strip()[-2000:]}")
    return output, usage.ru_maxrss * 1024


def causerie(model, threads, options):
    command = [options.causerie, "bench", "--json", "--model", model, "-p", options.prompt_tokens, "-n", options.reply_tokens]
    command += ["-t", threads, "--at-once", options.at_once, "--repeats", 1, "--cache-type", options.cache_type]
    output, _ = run(command)
    return json.loads(output)["runs"][0]


def llama_cpp(model, threads, options):
    n_prompt, n_reply, n = options.prompt_tokens, options.reply_tokens, options.at_once
    # Values that are not f16 need flash attention.
    cache = ["-fa", "on", "-ctk", options.cache_type, "-ctv", options.cache_type] if options.cache_type != "f16" else []
    if n > 1:
        command = [options.llama / "llama-batched-bench", "-m", model, "-t", threads, "-npp", n_prompt, "-ntg", n_reply, "-npl", n]
        output, peak = run([*command, *cache, "-c", n * (n_prompt + n_reply), "--output-format", "jsonl"])
        [row] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        return {SPEEDS["prefill"]: row["speed_pp"], SPEEDS["decode"]: row["speed_tg"], "peak_memory_bytes": peak}
    command = [options.llama / "llama-bench", "-m", model, *cache, "-t", threads, "-r", 1, "-o", "json"]
    prompt, _ = run([*command, "-p", n_prompt, "-n", 0])
    reply, peak = run([*command, "-p", 0, "-n", n_reply, "-d", n_prompt])
    speeds = {key: json.loads(output)[0]["avg_ts"] for key, output in [("prefill", prompt), ("decode", reply)]}
    return {SPEEDS[key]: speed for key, speed in speeds.items()} | {"peak_memory_bytes": peak}


def cera(model, threads, options):
    names = ["CERA_THREADS", "CERA_DECODE_THREADS", "RAYON_NUM_THREADS"]
    command = [options.cera, model, options.prompt_tokens, options.reply_tokens]
    output, peak = run(command, **{name: str(threads) for name in names})
    return json.loads(output.splitlines()[-1]) | {"peak_memory_bytes": peak}


ENGINES = {"causerie": causerie, "llama.cpp": llama_cpp, "cera": cera}


def is_measured(engine, name, options):
    """cera has one reply at a time, and reads prompts in F16 token by token, which takes minutes."""
    return engine != "cera" or (options.at_once == 1 and not name.lower().endswith("f16"))


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


def main():
    options = arguments()
    engines = options.engines.split(",")
    threads = [int(number) for number in options.threads.split(",")]
    if options.files:
        models = {path.stem: path for path in options.files}
    else:
        names = [f"{size}-{kind}" for size in options.sizes.split(",") for kind in options.kinds.split(",")]
        models = {name: model_file(name, options) for name in names}
    rounds = []
    for _ in range(options.rounds):
        limits = json.loads(run([options.reads, options.threads])[0])
        runs = {
            (name, engine, n): ENGINES[engine](path, n, options)
            for name, path in models.items()
            for n in threads
            for engine in engines
            if is_measured(engine, name, options)
        }
        rounds.append((limits, runs))
    best = {n: max(limits[str(n)] for limits, _ in rounds) for n in threads}
    quiet = [(limits, runs) for limits, runs in rounds if all(limits[str(n)] >= QUIET * best[n] for n in threads)]

    def over_rounds(value):
        return [value(limits, runs) for limits, runs in quiet]

    print(f"{processor()}; {options.prompt_tokens} prompt tokens, {options.reply_tokens} reply tokens, {options.at_once} at once, "
          f"keys and values in {options.cache_type}; medians of {len(quiet)} rounds, {len(rounds) - len(quiet)} discarded")
    reads = {n: statistics.median(over_rounds(lambda limits, _: limits[str(n)])) for n in threads}
    print("memory bandwidth: " + ", ".join(f"{speed:.1f} GB/s with {n} threads" for n, speed in reads.items()))
    columns = ["file", "threads", "engine", "prefill/s", "decode/s", "of the limit", "peak memory", "prefill ratio", "decode ratio"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name, path in models.items():
        n_bytes = path.stat().st_size
        for n in threads:
            for engine in [engine for engine in engines if is_measured(engine, name, options)]:
                def median(key):
                    return statistics.median(over_rounds(lambda _, runs: runs[name, engine, n][key]))

                def ratio(key):
                    if engine == "causerie" or "causerie" not in engines:
                        return ""
                    ratios = over_rounds(lambda _, runs: runs[name, "causerie", n][key] / max(runs[name, engine, n][key], 1e-9))
                    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"

                # With several replies at once a step reads the weights once for all of them.
                share = median(SPEEDS["decode"]) / options.at_once * n_bytes / reads[n] / 1e9
                cells = [name, n, engine, f"{median(SPEEDS['prefill']):.0f}", f"{median(SPEEDS['decode']):.1f}", f"{share:.0%}",
                         f"{median('peak_memory_bytes') / 2**20:.0f} MiB", ratio(SPEEDS["prefill"]), ratio(SPEEDS["decode"])]
                print("| " + " | ".join(map(str, cells)) + " |")


main()
