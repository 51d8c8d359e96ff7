"""Loads `causerie serve` with the demo model by everything at once, and watches its memory, threads, descriptors and delays.

python3 tests/benchmark/soak.py [minutes]    default 60

Eight clients draw at random: whole replies, streams, calls and their results, streams that are left in the middle,
connections that are closed before the first event, long prompts, responses that continue stored ones, requests that are
refused. A row of a table is printed for each twentieth of the time. The end compares the last quarter with the second, because
caches fill in the first. CAUSERIE_COMMAND is the path of the program; default target/release/causerie.
"""

import collections
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time

COMMAND = os.environ.get("CAUSERIE_COMMAND", "target/release/causerie")
CLIENTS = 8
ROWS = 20
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Get the weather.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "The city."}}, "required": ["city"]}}}


class Server:
    def __init__(self):
        self.process = subprocess.Popen([COMMAND, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split("http://")[1].split("/")[0]

    def resources(self):
        """Resident memory in MiB, threads, open descriptors."""
        with open(f"/proc/{self.process.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status.read().splitlines())
        descriptors = os.listdir(f"/proc/{self.process.pid}/fd")
        return int(fields["VmRSS"].split()[0]) / 1024, int(fields["Threads"]), len(descriptors)


class Client(threading.Thread):
    def __init__(self, server, number, end, counts, delays):
        super().__init__(daemon=True)
        self.server, self.end, self.counts, self.delays = server, end, counts, delays
        self.draw = random.Random(number)
        self.last_response = None

    def run(self):
        acts = [self.whole, self.stream, self.call, self.leave, self.close, self.long, self.respond, self.refused]
        while time.monotonic() < self.end:
            act = self.draw.choice(acts)
            try:
                outcome = act()
            except (OSError, http.client.HTTPException, AssertionError, KeyError, ValueError) as err:
                outcome = f"FAILED: {type(err).__name__} {err}"[:100]
            self.counts[act.__name__, outcome or "done"] += 1

    def post(self, path, body):
        connection = http.client.HTTPConnection(self.server.address, timeout=300)
        connection.request("POST", path, json.dumps({"model": "causerie/demo", **body}), {"content-type": "application/json"})
        return connection

    def reply(self, path, body, status=200):
        connection = self.post(path, body)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        assert reply.status == status, f"status {reply.status}: {data[:60]!r}"
        return json.loads(data)

    def chat(self, *messages, **fields):
        return {"messages": [{"role": "user", "content": text} for text in messages], "max_tokens": 40, **fields}

    def question(self):
        return f"Question {self.draw.randrange(10**6)}: how many metres are {self.draw.randrange(100)} feet?"

    def whole(self):
        assert self.reply("/v1/chat/completions", self.chat(self.question()))["choices"]

    def opened(self, **fields):
        """A stream after its first event."""
        begin = time.monotonic()
        connection = self.post("/v1/chat/completions", self.chat(self.question(), stream=True, **fields))
        connection.kept = connection.sock  # a streaming reply removes it from the connection
        reply = connection.getresponse()
        assert reply.status == 200, f"status {reply.status}"
        while b'"content":"' not in (line := reply.readline()):
            assert line, "the stream ended without a token"
        self.delays.append(time.monotonic() - begin)
        return connection, reply

    def stream(self):
        connection, reply = self.opened()
        assert reply.read().endswith(b"data: [DONE]\n\n"), "the stream did not end"
        connection.close()

    def call(self):
        body = self.chat(self.question(), tools=[WEATHER], tool_choice="required")
        message = self.reply("/v1/chat/completions", body)["choices"][0]["message"]
        calls = message.get("tool_calls")
        if not calls:
            return "cut"  # by the limit of tokens
        result = {"role": "tool", "tool_call_id": calls[0]["id"], "content": '{"sky": "grey"}'}
        body = {"messages": body["messages"] + [message, result], "tools": [WEATHER], "max_tokens": 40}
        self.reply("/v1/chat/completions", body)

    def leave(self):
        connection, reply = self.opened(max_tokens=2000, ignore_eos=True)
        for _ in range(self.draw.randrange(20)):
            reply.readline()
        connection.kept.close()
        reply.close()

    def close(self):
        connection = self.post("/v1/chat/completions", self.chat(self.question(), stream=self.draw.random() < 0.5))
        time.sleep(self.draw.random() / 20)
        connection.close()

    def long(self):
        text = " ".join(self.question() for _ in range(self.draw.randrange(20, 120)))
        self.reply("/v1/chat/completions", self.chat(text, max_tokens=4, truncation="auto"))

    def respond(self):
        body = {"input": self.question(), "max_output_tokens": 20, "truncation": "auto"}
        if self.last_response and self.draw.random() < 0.9:
            body["previous_response_id"] = self.last_response
        try:
            self.last_response = self.reply("/v1/responses", body)["id"]
        except AssertionError as err:
            if "previous_response_not_found" not in str(err) and "400" not in str(err):
                raise
            self.last_response = None
            return "forgotten"

    def refused(self):
        body = self.draw.choice([{"messages": 3}, {"messages": [], "temperature": 9}, {"messages": [{"role": "wizard"}]}])
        self.reply("/v1/chat/completions", body, status=400)


def share(times, part):
    return sorted(times)[min(len(times) - 1, int(part * len(times)))] * 1e3 if times else 0


def main(minutes):
    server, counts, delays = Server(), collections.Counter(), []
    begin = time.monotonic()
    end = begin + 60 * minutes
    clients = [Client(server, number, end, counts, delays) for number in range(CLIENTS)]
    [client.start() for client in clients]
    print("| minute | acts | memory | threads | descriptors | first token, p50 | p99 |", flush=True)
    print("|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    rows = []
    for row in range(1, ROWS + 1):
        time.sleep(max(0, begin + row * 60 * minutes / ROWS - time.monotonic()))
        seen, delays[:] = list(delays), []
        rows.append((server.resources(), seen))
        (memory, threads, descriptors), acts = rows[-1][0], counts.total()
        cells = [f"{row * minutes / ROWS:.0f}", acts, f"{memory:.0f} MiB", threads, descriptors]
        cells += [f"{share(seen, 0.5):.0f} ms", f"{share(seen, 0.99):.0f} ms"]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    [client.join(timeout=300) for client in clients]
    time.sleep(2)
    print("after the last client:", *(f"{value:.0f}" for value in server.resources()), "MiB, threads, descriptors")
    for (act, outcome), count in sorted(counts.items()):
        print(f"{act}: {outcome}: {count}")
    quarter = ROWS // 4
    for name, at in [("memory", 0), ("threads", 1), ("descriptors", 2)]:
        early, late = (max(row[0][at] for row in part) for part in (rows[quarter : 2 * quarter], rows[-quarter:]))
        print(f"{name}: at most {early:.0f} in the second quarter, {late:.0f} in the last")
    server.process.terminate()
    failed = sum(count for (_, outcome), count in counts.items() if outcome.startswith("FAILED"))
    sys.exit(f"{failed} acts failed, exit status {status}" if (status := server.process.wait(60)) or failed else 0)


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 60)
