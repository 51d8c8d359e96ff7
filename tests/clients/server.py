"""Starts a server for a test: the command with the demo model, on a free port."""

import json
import os
import pathlib
import subprocess

COMMAND = os.environ["CAUSERIE_COMMAND"]
MODEL = "causerie/demo"
ROOT = pathlib.Path(__file__).parents[2]
FUNCTIONS = json.loads((ROOT / "server/src/chat/functions.json").read_text())
TOOLS = [f if "function" in f else {"type": "function", "function": f} for f in FUNCTIONS]


class Server:
    """A running `causerie serve` with these options."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", *options], stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        start = f"causerie serves {MODEL} at "
        if not line.startswith(start):
            raise RuntimeError(f"the server must print its address, found {line!r}")
        self.base_url = line.removeprefix(start).strip()

    def stop(self):
        """Stops the server, and returns its exit status."""
        self.process.terminate()
        code = self.process.wait()
        self.process.stdout.close()
        return code
