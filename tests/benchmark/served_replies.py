"""Measures conversations at once over HTTP, causerie and llama.cpp's server in turns; the package xllamacpp holds the latter.

    python -m venv VENV && VENV/bin/pip install xllamacpp==2026.10.11549
    python tests/benchmark/served_replies.py target/release/causerie VENV/bin/python MODEL.gguf [--conversations 8] [--rounds 3]

Each conversation has a system prompt of its own and three questions; all ask at the same time, and wait for their reply before they ask on.
Prints tokens of replies per second over all conversations, and times to the first token: of first questions, and of later ones, whose
history both servers keep.
"""

import argparse
import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time

QUESTIONS = ["Describe the sea in winter in many sentences.", "Now describe a forest in the same way.", "Now describe a city at night."]
REPLY_TOKENS = 64
CONTEXT = 2048
RIVAL = """
import sys, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_parallel = int(sys.argv[2])
parameters.n_ctx = int(sys.argv[2]) * int(sys.argv[4])
parameters.port = 0
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(sys.argv[3])
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def server(command):
    """Yields the address of a server, which ends with the block."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.stdout.readline().split("http://")[1].split()[0].partition("/")[0]
    finally:
        process.kill()
        process.wait()


def ask(address, messages):
    """Returns the reply's text and tokens, and the seconds until its first text."""
    body = {"model": "any", "messages": messages, "max_tokens": REPLY_TOKENS, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}}
    connection = http.client.HTTPConnection(address, timeout=600)
    start, first, text, tokens = time.perf_counter(), None, "", 0
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(response.read().decode())
    for line in response:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        part = "".join(choice["delta"].get("content") or "" for choice in event.get("choices", []))
        if part and first is None:
            first = time.perf_counter() - start
        text += part
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    connection.close()
    return text, tokens, first


def converse(address, number, seed, results):
    messages = [{"role": "system", "content": f"You are writer {number} of group {seed}. You answer in plain sentences, at length."}]
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        text, tokens, first = ask(address, messages)
        messages.append({"role": "assistant", "content": text})
        results[number].append((tokens, first))


def measure(address, n, seed):
    results = [[] for _ in range(n)]
    threads = [threading.Thread(target=converse, args=(address, number, seed, results)) for number in range(n)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    if any(len(replies) != len(QUESTIONS) for replies in results):
        raise RuntimeError("a conversation failed")
    tokens = sum(tokens for replies in results for tokens, _ in replies)
    print(f"{tokens} tokens in {seconds:.1f} s", file=sys.stderr)
    return (tokens / seconds,
            statistics.median(replies[0][1] for replies in results),
            statistics.median(first for replies in results for _, first in replies[1:]))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("causerie")
    arguments.add_argument("python", help="of an environment with xllamacpp")
    arguments.add_argument("model")
    arguments.add_argument("--conversations", type=int, default=8)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments = arguments.parse_args()
    n, threads = arguments.conversations, arguments.threads
    commands = {
        "causerie": [arguments.causerie, "serve", "--model", arguments.model, "--port", 0, "--slots", n, "--threads", threads,
                     "--context", CONTEXT],
        "llama.cpp": [arguments.python, "-c", RIVAL, arguments.model, n, threads, CONTEXT],
    }
    rounds = []
    for seed in range(arguments.rounds):
        found = {}
        for name, command in commands.items():
            with server(command) as address:
                ask(address, [{"role": "user", "content": "Hello!"}])
                found[name] = measure(address, n, seed)
        rounds.append(found)
    print("| | replies, tokens/s | first question, s | later questions, s |\n|---|---:|---:|---:|")
    for name in commands:
        medians = [statistics.median(found[name][at] for found in rounds) for at in range(3)]
        print(f"| {name} | {medians[0]:.1f} | {medians[1]:.2f} | {medians[2]:.2f} |")
    ratios = [found["causerie"][0] / found["llama.cpp"][0] for found in rounds]
    print(f"\ncauserie writes {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f}–{max(ratios):.2f}, {len(ratios)} rounds)")


main()
