"""Measures choosing among many functions before a reply, on the demo model: how often the call is of the right function.

    python3 tests/benchmark/function_choice.py --causerie target/release/causerie --embedder ~/.cache/causerie/real/all-MiniLM-L6-v2

The requests of models/held-out.jsonl that need one call of a function, which training did not have, are asked with 8, 32 and 128
functions: the right one and others of the file. The four that fit best are chosen by vectors of names and descriptions, as
`EmbeddingModel::choose_functions` does, or by a decision of the demo model. Either they alone may be called, with all functions in
the prompt, or they alone are in the prompt.

Then conversations of several such requests have the same functions throughout, and the right calls in their histories. The prompt
lists all functions, the four that fit the last message best, or those that the option max_offered_functions chooses. A request for
one token says how long the first token takes, and how much of the prompt was computed for it. Only the standard library of Python is
needed.
"""

import argparse
import json
import pathlib
import random
import socket
import statistics
import subprocess
import time
import urllib.error
import urllib.request

HELD_OUT = pathlib.Path(__file__).resolve().parents[2] / "models/held-out.jsonl"
COUNTS, N_CHOSEN, N_MESSAGES = [8, 32, 128], 4, 5


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", required=True, help="the built command")
    parser.add_argument("--embedder", required=True)
    parser.add_argument("--requests", type=int, default=100, help="requests for each number of functions")
    parser.add_argument("--conversations", type=int, default=20, help="conversations for each number of functions")
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
    """The messages with the calls that they need, and all functions by name."""
    found, functions = [], {}
    for line in HELD_OUT.read_text().splitlines():
        row = json.loads(line)
        if not isinstance(row["functions"], list):
            continue
        listed = [function.get("function", function) for function in row["functions"]]
        functions |= {function["name"]: function for function in listed}
        calls = row["expect"].get("calls", [])
        if len(calls) == 1 and len(row["messages"]) == 1:
            found.append((row["messages"][0]["content"], calls[0]["name"], calls[0].get("arguments", {})))
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


def body_of(messages, functions, **options):
    tools = [{"type": "function", "function": {**function, "strict": True}} for function in functions]
    return {"messages": messages, "tools": tools, "temperature": 0, "max_tokens": 64, **options}


def called(server, messages, functions, allowed=None, **options):
    """The name of the function that the reply calls; None for another reply, or if the functions do not fit the context."""
    body = body_of(messages, functions, **options)
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


def first_token(server, body):
    """The milliseconds to the first token, the tokens of the prompt, and how many of them were computed."""
    begin = time.perf_counter()
    try:
        usage = server.post("/chat/completions", {**body, "max_tokens": 1})["usage"]
    except urllib.error.HTTPError as err:
        assert err.code == 400, err
        return None
    seconds = time.perf_counter() - begin
    return 1000 * seconds, usage["prompt_tokens"], usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]


def conversation(server, embedder, asked, functions, way):
    """Whether each call was right, and what each first token took."""
    history, found = [], []
    for at, (message, name, given) in enumerate(asked):
        history.append({"role": "user", "content": message})
        listed, options = functions, {}
        if way == "the four best":
            near = by_vectors(embedder, message, functions)
            listed = [function for function in functions if function["name"] in near]
        elif way != "all":
            options = {"max_offered_functions": int(way.split()[-1])}
        cost = first_token(server, body_of(history, listed, **options))
        found.append((called(server, history, listed, **options) == name, cost))
        call = {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        history.append({"role": "tool", "tool_call_id": call["id"], "content": "done"})
        history.append({"role": "assistant", "content": "Done."})
    return found


def converse(options, all_requests, functions, draw):
    ways = ["all", "the four best", "max_offered_functions 4", "max_offered_functions 8"]
    print("\n| functions | in the prompt | right | tokens of the prompt | computed for a later message | first token, first message | later |\n|---:|---|" + "---:|" * 5)
    for count in map(int, options.counts.split(",")):
        drawn = []
        for _ in range(options.conversations):
            asked = []
            while len(asked) < min(N_MESSAGES, count):
                request = draw.choice(all_requests)
                if request[1] not in (name for _, name, _ in asked):
                    asked.append(request)
            names = [name for _, name, _ in asked]
            names += draw.sample([other for other in functions if other not in names], count - len(names))
            draw.shuffle(names)
            drawn.append((asked, [functions[name] for name in names]))
        for way in ways:
            # A server of its own, so that no way finds what another one has left in the prefix cache.
            server = Server(options.causerie, "serve", "--embedding-model", options.embedder)
            try:
                found = [conversation(server, server, *one, way) for one in drawn]
            finally:
                server.stop()
            right = statistics.mean(is_right for one in found for is_right, _ in one)
            cell = lambda costs, at: f"{statistics.median(cost[at] for cost in costs):.0f}" if costs else "-"
            first = [one[0][1] for one in found if one[0][1]]
            later = [cost for one in found for _, cost in one[1:] if cost]
            cells = [f"{right:.2f}", cell(first + later, 1), cell(later, 2), f"{cell(first, 0)} ms", f"{cell(later, 0)} ms"]
            print(f"| {count} | {way} | " + " | ".join(cells) + " |", flush=True)


def main():
    options = arguments()
    all_requests, functions = requests()
    draw = random.Random(55)
    if options.requests:
        choose(options, all_requests, functions, draw)
    if options.conversations:
        converse(options, all_requests, functions, draw)


def choose(options, all_requests, functions, draw):
    model, embedder = Server(options.causerie, "serve"), Server(options.causerie, "serve", "--embedding-model", options.embedder)
    ways = ["all", "chosen by vectors: may be called", "chosen by vectors: in the prompt", "chosen by a decision: may be called"]
    print("| functions | right function among the four, by vectors | by a decision of the demo model | " + " | ".join(ways) + " |\n|" + "---:|" * (3 + len(ways)))
    try:
        for count in map(int, options.counts.split(",")):
            asked = draw.sample(all_requests, options.requests)
            hits, right = [0, 0], [0] * len(ways)
            for message, name, _ in asked:
                names = [name, *draw.sample([other for other in functions if other != name], count - 1)]
                draw.shuffle(names)
                offered = [functions[name] for name in names]
                near, decided = by_vectors(embedder, message, offered), by_decision(model, message, offered)
                hits = [hits[0] + (name in near), hits[1] + (name in decided)]
                few = [function for function in offered if function["name"] in near]
                said = [{"role": "user", "content": message}]
                replies = [called(model, said, offered), called(model, said, offered, near), called(model, said, few), called(model, said, offered, decided)]
                right = [n + (reply == name) for n, reply in zip(right, replies)]
            shares = [n / len(asked) for n in hits + right]
            print(f"| {count} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    finally:
        model.stop()
        embedder.stop()


main()
