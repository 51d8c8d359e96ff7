"""Runs the examples of docs/http.md and docs/realtime.md with the address of a test server."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from server import MODEL, ROOT, Server, reading_model

PAGES = "".join((ROOT / "docs" / page).read_text() for page in ("http.md", "realtime.md"))
EXAMPLES = re.findall(r"^```(\w+)\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
NODE = pathlib.Path(sys.prefix).with_name("clients-node")
FIXTURES = ROOT / "tests/fixtures/models"
# What stands in the page for a reader's own files, and what stands for it here.
FILES = {"whisper-base": "whisper", "talk.mp3": str(ROOT / "tests/fixtures/sounds/long.wav")}
# The model of the examples that speak, and what limits the replies of the tiny random one that stands for it.
SPEAKS = "LFM2.5-Audio-1.5B-Q8_0"
SHORT = {'"text", "audio"],': '"text", "audio"], temperature=0, seed=7, max_tokens=40,'}


class Examples(unittest.TestCase):
    def run_all(self, language, command):
        examples = [text for kind, text in EXAMPLES if kind == language and "127.0.0.1:8080" in text]
        examples = [text for text in examples if not text.startswith(("causerie ", "cargo "))]
        self.assertTrue(examples, f"docs/http.md must have an example in {language}")
        spoken = [text for text in examples if SPEAKS in text]
        written = [text for text in examples if SPEAKS not in text]
        models = {"--transcriber": ["whisper"], "--embedding-model": ["bert", "bert-rank-f16.gguf"]}
        options = [part for option, names in models.items() for name in names for part in (option, str(FIXTURES / name))]
        self.run_each(written, command, *options)
        if spoken:
            with tempfile.TemporaryDirectory() as folder:
                self.run_each(spoken, command, "--model", str(reading_model(folder)), "--model-id", MODEL, "--context", "300")

    def run_each(self, examples, command, *options):
        server = Server(*options)
        try:
            with tempfile.TemporaryDirectory() as folder:
                files = {**FILES, **SHORT, "rainbow.wav": f"{folder}/rainbow.wav", "dinner.wav": f"{folder}/dinner.wav"}
                for text in examples:
                    for name, here in {"http://127.0.0.1:8080/v1": server.base_url, **files}.items():
                        text = text.replace(name, here)
                    ran = subprocess.run([*command, text], capture_output=True, text=True, cwd=NODE if NODE.exists() else None)
                    self.assertEqual(ran.returncode, 0, text + ran.stdout + ran.stderr)
                    self.assertTrue(ran.stdout.strip(), text)
        finally:
            server.stop()

    def test_shell(self):
        self.run_all("sh", ["bash", "-ec"])

    def test_python(self):
        self.run_all("python", [sys.executable, "-c"])

    @unittest.skipUnless((NODE / "node_modules").exists(), "Node.js is missing")
    def test_node(self):
        self.run_all("js", ["node", "--input-type=module", "--eval"])


if __name__ == "__main__":
    unittest.main()
