"""Starts a server for a test: the command with the demo model, on a free port."""

import json
import os
import pathlib
import shutil
import struct
import subprocess

COMMAND = os.environ["CAUSERIE_COMMAND"]
MODEL = "causerie/demo"
ROOT = pathlib.Path(__file__).parents[2]
FUNCTIONS = json.loads((ROOT / "server/src/chat/functions.json").read_text())
TOOLS = [f if "function" in f else {"type": "function", "function": f} for f in FUNCTIONS]


def reading_model(folder):
    """Puts a model into a folder that begins every reply to a text with sound, and returns its file.

    It is the tiny random model that speaks, in which the rows of the token that it would write first and of the one that begins
    sound have changed places.
    """
    shutil.copytree(ROOT / "tests/fixtures/models/lfm2a-speech", folder, dirs_exist_ok=True)
    place = pathlib.Path(folder) / "lfm2a-speech-f16.gguf"
    file = bytearray(place.read_bytes())
    sound_start, first = (slice(14816 + 64 * token, 14880 + 64 * token) for token in (3, 419))
    file[sound_start], file[first] = file[first], file[sound_start]
    place.write_bytes(file)
    return place


def decision_model(folder):
    """Puts a model into a folder that counts as a decision model, and returns its file: the demo model with another metadata.

    It knows nothing of decisions; tests look at the form of its answers.
    """
    text = lambda value: struct.pack("<Q", len(value)) + value.encode()
    added = text("lfm2.decision.type") + struct.pack("<I", 8) + text("lfm2-d1")
    added += text("padding") + struct.pack("<I", 8)
    added += text(" " * (-(len(added) + 8) % 32))  # the tensors stay aligned
    file = (ROOT / "models/demo.gguf").read_bytes()
    (n_values,) = struct.unpack("<Q", file[16:24])
    place = pathlib.Path(folder) / "decisions.gguf"
    place.write_bytes(file[:16] + struct.pack("<Q", n_values + 2) + added + file[24:])
    return place


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
