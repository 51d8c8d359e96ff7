"""Measures `causerie pull` against a store on loopback: speed, processor time and memory, beside curl and hashing alone.

    python3 tests/benchmark/downloads.py COMMAND [MIB] [ROUNDS] [FOLDER]

Each round downloads one file of MIB (default 512) into a new cache below FOLDER, verifies it there, and fetches it with curl. The
rounds alternate, and medians are printed.
"""

import hashlib
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

COMMIT = "a" * 40
FILE = "big-Q8_0.gguf"


def handler(path, digest):
    size = path.stat().st_size
    listing = [{"type": "file", "path": FILE, "oid": "b" * 40, "size": size, "lfs": {"oid": digest, "size": size}}]
    answers = {
        "/api/models/ns/big/revision/main": {"id": "ns/big", "sha": COMMIT, "gated": False},
        f"/api/models/ns/big/tree/{COMMIT}": listing,
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            target = self.path.split("?")[0]
            if target in answers:
                body = json.dumps(answers[target]).encode()
                self.answer(200, len(body))
                self.wfile.write(body)
            elif target.startswith("/ns/big/resolve/"):
                self.answer(302, 0, Location="/store")
            else:
                self.answer(200, size)
                self.wfile.flush()
                with path.open("rb") as file:
                    done = 0
                    while done < size:
                        done += os.sendfile(self.connection.fileno(), file.fileno(), done, size - done)

        def answer(self, status, length, **headers):
            self.send_response(status)
            for name, value in {"Content-Length": str(length), **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


def run(command, environment):
    """The seconds, seconds of processor time and MiB of memory that a command takes."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak, ended = 0, 0
    while not ended:
        # Not ru_maxrss, which counts the memory of this program before the command begins.
        peak = max(peak, memory(process.pid))
        time.sleep(0.002)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    if status != 0:
        raise RuntimeError(f"{command} must succeed, found status {status}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, peak / 1024


def memory(pid):
    """The peak memory of a process in KiB, as far as Linux says it."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def main():
    command, mib, rounds = sys.argv[1], int((sys.argv[2:] or ["512"])[0]), int((sys.argv[3:] or ["5"])[0])
    with tempfile.TemporaryDirectory(dir=(sys.argv[4:] or [None])[0]) as folder:
        folder = pathlib.Path(folder)
        content = b"GGUF" + os.urandom((1 << 20) - 4)
        source = folder / "source"
        digest = hashlib.sha256()
        with source.open("wb") as file:
            for _ in range(mib):
                file.write(content)
                digest.update(content)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(source, digest.hexdigest()))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        results = {"pull": [], "verify": [], "curl": []}
        for at in range(rounds):
            home = folder / f"home{at}"
            environment = {**kept, "HF_HOME": str(home), "HF_ENDPOINT": url}
            results["pull"].append(run([command, "pull", "ns/big"], environment))
            results["verify"].append(run([command, "models", "verify", "ns/big"], environment))
            curl = ["curl", "--silent", "--location", "--output", str(home / "curl"), f"{url}/ns/big/resolve/main/{FILE}"]
            results["curl"].append(run(curl, environment))
            subprocess.run(["rm", "-r", str(home)], check=True)
        for name, measured in results.items():
            seconds, processor, peak = (statistics.median(values) for values in zip(*measured))
            low, high = (mib / pick(values[0] for values in measured) for pick in (max, min))
            print(f"{name:7} {mib / seconds:6.0f} MiB/s ({low:.0f} to {high:.0f}), {processor:.2f} s of processor time,"
                  f" {peak:.0f} MiB of memory")


main()
