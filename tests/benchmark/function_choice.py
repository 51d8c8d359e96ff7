"""Measures choosing among many functions before a reply, on the demo model: how often the call is of the right function.

    python3 tests/benchmark/function_choice.py --causerie target/release/causerie --embedder ~/.cache/causerie/real/all-MiniLM-L6-v2

The requests of models/held-out.jsonl that need one call of a function, which training did not have, are asked with 8, 32 and 128
functions: the right one and others of the file. The four that fit best are chosen by vectors of names and descriptions, as
`EmbeddingModel::choose_functions` does, or by a decision of the demo model. Either they alone may be called, with all functions in
the prompt, or they alone are in the prompt. Only the standard library of Python is needed.
"""

import argparse
import json
import pathlib
import random
import socket
import subprocess
import time
import urllib.error
import urllib.request

HELD_OUT = pathlib.Path(__file__).resolve().parents[2] / "models/held-out.jsonl"
COUNTS, N_CHOSEN = [8, 32, 128], 4


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", required=True, help="the built command")
    parser.add_argument("--embedder", required=True)
    parser.add_argument("--requests", type=int, default=100, help="requests for each number of functions")
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    return parser.parse_args()


class Server:
    def __init__(self, *command):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        command = [*command, "--port", str(port), "--offline"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/models")
                return
            except OSError:
                assert self.process.poll() is None, "the server did not start"
                time.sleep(0.1)

    def post(self, path, body):
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps({"model": "m", **body}).encode(), headers)
        return json.load(urllib.request.urlopen(request))

    def stop(self):
        self.process.terminate()
        self.process.wait()


def requests():
    """The messages with the names of the functions that they need, and all functions by name."""
    found, functions = [], {}
    for line in HELD_OUT.read_text().splitlines():
        row = json.loads(line)
        if not isinstance(row["functions"], list):
            continue
        listed = [function.get("function", function) for function in row["functions"]]
        functions |= {function["name"]: function for function in listed}
        calls = row["expect"].get("calls", [])
        if len(calls) == 1 and len(row["messages"]) == 1:
            found.append((row["messages"][0]["content"], calls[0]["name"]))
    return found, functions


def by_vectors(embedder, message, functions):
    texts = [f"{function['name'].replace('_', ' ')}: {function.get('description', '')}" for function in functions]
    vectors = [entry["embedding"] for entry in embedder.post("/embeddings", {"input": [message, *texts]})["data"]]
    similarity = lambda at: sum(a * b for a, b in zip(vectors[0], vectors[at + 1]))
    return [functions[at]["name"] for at in sorted(range(len(functions)), key=similarity, reverse=True)[:N_CHOSEN]]


def by_decision(server, message, functions):
    choices = [{"value": function["name"], "description": function.get("description", "")} for function in functions]
    question = {"type": "choice", "instructions": "Which function does the message ask for?", "choices": choices}
    answered = server.post("/decisions", {"input": message, "questions": [question], "min_label_probability": 0})
    ranked = sorted(answered["answers"][0]["probabilities"], key=lambda entry: -entry["probability"])
    return [entry["value"] for entry in ranked[:N_CHOSEN]]


def called(server, message, functions, allowed=None):
    """The name of the function that the reply calls; None for another reply, or if the functions do not fit the context."""
    tools = [{"type": "function", "function": {**function, "strict": True}} for function in functions]
    body = {"messages": [{"role": "user", "content": message}], "tools": tools, "temperature": 0, "max_tokens": 64}
    if allowed is not None:
        named = [{"type": "function", "function": {"name": name}} for name in allowed]
        body["tool_choice"] = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": named}}
    try:
        reply = server.post("/chat/completions", body)["choices"][0]["message"]
    except urllib.error.HTTPError as err:
        assert err.code == 400, err
        return None
    calls = reply.get("tool_calls") or []
    return calls[0]["function"]["name"] if len(calls) == 1 else None


def main():
    options = arguments()
    all_requests, functions = requests()
    draw = random.Random(55)
    model, embedder = Server(options.causerie, "serve"), Server(options.causerie, "serve", "--embedding-model", options.embedder)
    ways = ["all", "chosen by vectors: may be called", "chosen by vectors: in the prompt", "chosen by a decision: may be called"]
    print("| functions | right function among the four, by vectors | by a decision of the demo model | " + " | ".join(ways) + " |\n|" + "---:|" * (3 + len(ways)))
    try:
        for count in map(int, options.counts.split(",")):
            asked = draw.sample(all_requests, options.requests)
            hits, right = [0, 0], [0] * len(ways)
            for message, name in asked:
                names = [name, *draw.sample([other for other in functions if other != name], count - 1)]
                draw.shuffle(names)
                offered = [functions[name] for name in names]
                near, decided = by_vectors(embedder, message, offered), by_decision(model, message, offered)
                hits = [hits[0] + (name in near), hits[1] + (name in decided)]
                few = [function for function in offered if function["name"] in near]
                replies = [called(model, message, offered), called(model, message, offered, near), called(model, message, few), called(model, message, offered, decided)]
                right = [n + (reply == name) for n, reply in zip(right, replies)]
            shares = [n / len(asked) for n in hits + right]
            print(f"| {count} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    finally:
        model.stop()
        embedder.stop()


main()
