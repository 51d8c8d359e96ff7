"""Shares a cache with huggingface_hub, in both directions, over a fake hub on loopback."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from server import COMMAND, ROOT

FAKE = pathlib.Path(COMMAND).parent / "examples/fake_hub"
COMMIT = "a" * 40
FILE = "demo-Q4_0.gguf"

# Runs in a process of its own, because huggingface_hub reads its environment once.
DOWNLOAD = """
import json, sys
from huggingface_hub import hf_hub_download, snapshot_download
name, file, offline = json.loads(sys.argv[1])
call = hf_hub_download if file else snapshot_download
print(call(name, **({"filename": file} if file else {}), local_files_only=offline))
"""

SCAN = """
import json
from huggingface_hub import scan_cache_dir
info = scan_cache_dir()
files = {file.file_name: file.size_on_disk for repo in info.repos for rev in repo.revisions for file in rev.files}
refs = sorted(ref for repo in info.repos for rev in repo.revisions for ref in rev.refs)
print(json.dumps({"warnings": [str(w) for w in info.warnings], "files": files, "refs": refs,
                  "incomplete": len(info.incomplete_files)}))
"""


class Hub(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.fake = subprocess.Popen([FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        url = self.fake.stdout.readline().strip()
        proxies = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}
        kept = {key: value for key, value in os.environ.items() if key.lower() not in proxies and not key.startswith("HF_")}
        self.environment = {
            **kept, "HF_HOME": self.folder.name, "HF_ENDPOINT": url, "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        }

    def stop(self):
        self.fake.stdin.close()
        self.fake.stdout.close()
        self.fake.wait()

    def run_checked(self, *command, **environment):
        done = subprocess.run(command, env={**self.environment, **environment}, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def pull(self, name, *options, **environment):
        return self.run_checked(COMMAND, "pull", name, *options, **environment)

    def download(self, name, file=None, offline=False, **environment):
        return self.run_checked(sys.executable, "-c", DOWNLOAD, json.dumps([name, file, offline]), **environment)

    def scan(self):
        return json.loads(self.run_checked(sys.executable, "-c", SCAN))

    def requests(self):
        """The requests since the last call."""
        self.fake.stdin.write("\n")
        self.fake.stdin.flush()
        return list(iter(lambda: self.fake.stdout.readline().strip(), ""))

    def test_what_we_download_it_finds(self):
        ours = [self.pull("ns/demo:Q4_0"), self.pull("ns/folder")]
        self.requests()
        self.assertEqual(self.download("ns/demo", FILE, offline=True), ours[0])
        self.assertEqual(self.download("ns/folder", "tokenizer.json", HF_HUB_OFFLINE="1"), ours[1] + "/tokenizer.json")
        self.assertEqual(self.requests(), [])
        scanned = self.scan()
        self.assertEqual((scanned["warnings"], scanned["refs"], scanned["incomplete"]), ([], ["main", "main"], 0))
        self.assertEqual(scanned["files"][FILE], 150_000)
        self.assertEqual(len(scanned["files"]), 4)
        # It completes the snapshot without fetching our files again.
        self.assertTrue(self.download("ns/demo").endswith(COMMIT))
        self.assertFalse([line for line in self.requests() if "store" in line and "GET" in line and FILE in line])

    def test_without_links_both_find_what_the_other_downloads(self):
        plain = {"HF_HUB_DISABLE_SYMLINKS": "1"}
        ours = self.pull("ns/demo:Q4_0", **plain)
        theirs = self.download("ns/folder", **plain)
        links = [path for path in pathlib.Path(self.folder.name).rglob("*") if path.is_symlink()]
        self.assertEqual(links, [])
        self.requests()
        for variant in [{}, plain]:
            with self.subTest(variant):
                self.assertEqual(self.download("ns/demo", FILE, offline=True, **variant), ours)
                self.assertEqual(self.download("ns/demo", FILE, **variant), ours)
                self.assertEqual(self.pull("ns/folder", "--offline", **variant), theirs)
                self.assertEqual(self.pull("ns/folder", **variant), theirs)
                self.assertEqual([line for line in self.requests() if "store GET" in line], [])
        scanned = self.scan()
        self.assertEqual((scanned["warnings"], scanned["files"][FILE]), ([], 150_000))

    def test_both_replace_variables_in_the_variables_of_the_cache(self):
        home = self.folder.name
        for variable, value, cache in [
            ("HF_HOME", "$PLACE/a", "a/hub"),
            ("HF_HOME", "~/b", "b/hub"),
            ("HF_HOME", "~/${NAME}", "c/hub"),
            ("HF_HUB_CACHE", "${PLACE}/$NAME-d", "c-d"),
            ("HUGGINGFACE_HUB_CACHE", "~/$UNSET/e", "$UNSET/e"),
            ("XDG_CACHE_HOME", "$PLACE/f", "f/huggingface/hub"),
        ]:
            with self.subTest(variable=variable, value=value):
                self.environment.pop("HF_HOME", None)
                names = {"PLACE": home, "NAME": "c", "HOME": home, variable: value}
                theirs = self.download("ns/demo", FILE, **names)
                self.assertTrue(theirs.startswith(f"{home}/{cache}/models--ns--demo/"), theirs)
                self.assertEqual(self.pull("ns/demo:Q4_0", "--offline", **names), theirs)

    def test_what_it_downloads_we_find(self):
        variants = [{}, {"HF_HUB_DISABLE_SYMLINKS": "1"}, {"HF_HUB_DISABLE_SHARED_BLOBS": "1"}]
        for variant in variants:
            with self.subTest(variant), tempfile.TemporaryDirectory() as home:
                theirs = self.download("ns/demo", FILE, HF_HOME=home, **variant)
                whole = self.download("ns/folder", HF_HOME=home, **variant)
                self.requests()
                self.assertEqual(self.pull("ns/demo:Q4_0", "--offline", HF_HOME=home), theirs)
                self.assertEqual(self.pull("ns/folder", "--offline", HF_HOME=home), whole)
                self.assertEqual(self.requests(), [])
                verified = self.run_checked(COMMAND, "models", "verify", "ns/demo:Q4_0", HF_HOME=home)
                self.assertIn(verified, [f"{FILE}: right", f"{FILE}: no digest is known"])
                listed = self.run_checked(COMMAND, "models", "list", HF_HOME=home)
                self.assertTrue(listed.startswith("ns/demo:Q4_0 "), listed)
                # With the hub, nothing of it is fetched again either.
                self.assertEqual(self.pull("ns/demo:Q4_0", HF_HOME=home), theirs)
                self.assertTrue(all("/api/" in line for line in self.requests()))

    def test_both_at_once_do_the_work_once(self):
        for _ in range(3):
            with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(4) as pool:
                ours = [pool.submit(self.pull, "ns/demo:Q4_0", HF_HOME=home) for _ in range(2)]
                theirs = [pool.submit(self.download, "ns/demo", FILE, HF_HOME=home) for _ in range(2)]
                paths = {future.result() for future in [*ours, *theirs]}
                self.assertEqual(len(paths), 1)
                verified = self.run_checked(COMMAND, "models", "verify", "ns/demo:Q4_0", HF_HOME=home)
                self.assertEqual(verified, f"{FILE}: right")
                fetched = [line for line in self.requests() if line.startswith("store GET")]
                self.assertEqual(len(fetched), 1, fetched)

    def test_it_leaves_our_parts_alone_and_counts_them(self):
        path = pathlib.Path(self.pull("ns/demo:Q4_0"))
        blob = path.resolve()
        part = blob.with_name(blob.name + ".causerie.incomplete")
        part.write_bytes(blob.read_bytes()[:1000])
        blob.unlink()
        path.unlink()
        self.assertEqual(self.scan()["incomplete"], 1)
        self.download("ns/demo", FILE)
        self.assertEqual(part.stat().st_size, 1000)
        listed = self.run_checked(COMMAND, "models", "list")
        self.assertIn("ns/demo: 1.0 KiB of an interrupted download", listed)

    def test_check_hub_compares_both(self):
        tools = {"CAUSERIE": COMMAND, "PYTHON": sys.executable, "SMALL": "ns/folder"}
        script = str(ROOT / "scripts/check-hub")
        printed = self.run_checked(script, "ns/demo", "ns/demo:Q4_0", **tools)
        self.assertIn("ns/demo: 2 files, 500000 bytes, as huggingface_hub says", printed)
        self.assertIn("ns/demo:Q4_0: 1 files, 150000 bytes, as huggingface_hub says", printed)
        self.assertTrue(printed.endswith("all as expected"), printed)
        failed = subprocess.run([script, "ns/none"], env={**self.environment, **tools}, capture_output=True, text=True)
        self.assertEqual((failed.returncode, "sign_in" in failed.stderr), (1, True), failed.stderr)


if __name__ == "__main__":
    unittest.main()
