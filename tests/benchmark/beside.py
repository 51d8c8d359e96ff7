"""Measures how long a short request waits for its first token while long prompts are prefilled: `beside.py CAUSERIE`.

Uses the demo model and two threads. Prints milliseconds: alone, and beside one and three prompts of about 3,700 tokens, five
times each.
"""

import json
import random
import subprocess
import sys
import threading
import time
import urllib.request

SHORT, LONG = 1, 1300  # words
PORT = 18431


def first_token(words):
    """Returns the milliseconds to the first piece of a streamed reply to a prompt of random words."""
    text = " ".join(str(random.randrange(100)) for _ in range(words))
    body = {"model": "causerie/demo", "messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": 20}
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/chat/completions", json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    start, pieces = time.monotonic(), 0
    with urllib.request.urlopen(request) as reply:
        for line in reply:
            pieces += line.startswith(b"data:")
            if pieces == 2:  # the first piece has only the role
                return round(1000 * (time.monotonic() - start))


def beside(n_long):
    threads = [threading.Thread(target=first_token, args=[LONG]) for _ in range(n_long)]
    [thread.start() for thread in threads]
    time.sleep(0.15)  # until their prefill is running
    waited = first_token(SHORT)
    [thread.join() for thread in threads]
    return waited


def main():
    server = subprocess.Popen([sys.argv[1], "serve", "--port", str(PORT), "--threads", "2"], stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz")
                break
            except OSError:
                time.sleep(0.05)
        print("a long prompt alone:", [first_token(LONG) for _ in range(5)])
        for n_long in (0, 1, 3):
            print(f"beside {n_long}:", [beside(n_long) for _ in range(5)])
    finally:
        server.terminate()


main()
