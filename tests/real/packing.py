"""What happens to packed weights on a real system: processes killed while they pack, full disks, two processes at once, damaged files.

    CAUSERIE=… python tests/real/packing.py MODEL.gguf OTHER.gguf

Each case is tried 20 times. Each reply must equal the reply without packed weights. Afterwards the folder must have no partial file, and
the next load must find or write packed weights. As root on Linux, a file system of limited size is the full disk as well.
"""

import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

N_TRIES = 20
PROMPT = "one two three four five six seven"


def command(model, folder=None):
    packed = ["--packed-folder", folder, "--weight-memory", "mapped"] if folder else []
    sampling = ["--raw", "--prompt", PROMPT, "--max-tokens", "8", "--temperature", "0"]
    return [os.environ["CAUSERIE"], "generate", "--offline", "--model", model, *packed, *sampling]


def reply(model, folder=None, **options):
    ran = subprocess.run(command(model, folder), capture_output=True, check=False, **options)
    return ran.stdout if ran.returncode == 0 else f"exit status {ran.returncode}: {ran.stderr.decode()}"


def packed_files(folder):
    return sorted(pathlib.Path(folder).glob("*.packed"))


def content(path):
    """What a file of packed weights holds before its table, which has the time of packing."""
    packed = path.read_bytes()
    return packed[64 : int.from_bytes(packed[16:24], "little")]


class Check:
    def __init__(self, model, other):
        self.model, self.other = model, other
        self.expected = reply(model)
        assert isinstance(self.expected, bytes), self.expected
        self.wrong = []

    def demand(self, is_right, what):
        if not is_right:
            self.wrong.append(what)
            print(what, file=sys.stderr)

    def recovers(self, folder, what):
        """The next load replies as it should, and leaves packed weights."""
        found = reply(self.model, folder)
        self.demand(found == self.expected, f"{what}: the next reply is {found!r}")
        self.demand(len(packed_files(folder)) == 1, f"{what}: the next load leaves {packed_files(folder)}")
        self.demand(not (pathlib.Path(folder) / "packing.partial").exists(), f"{what}: a partial file is left")

    def killed(self):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            reply(self.model, folder)
            whole = time.monotonic() - start
        n_unfinished = 0
        for i in range(N_TRIES):
            with tempfile.TemporaryDirectory() as folder:
                process = subprocess.Popen(command(self.model, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(whole * (i + 0.5) / N_TRIES)
                process.send_signal(signal.SIGKILL)
                process.wait()
                n_unfinished += not packed_files(folder)
                self.recovers(folder, f"killed after {whole * (i + 0.5) / N_TRIES:.3f} s")
        return f"{n_unfinished} of {N_TRIES} were killed before the file was complete"

    def limited(self):
        """Files that cannot become large: writing fails as on a full disk."""
        with tempfile.TemporaryDirectory() as folder:
            reply(self.model, folder)
            size = packed_files(folder)[0].stat().st_size
        for i in range(N_TRIES):
            most = size * i // N_TRIES

            def limit(most=most):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

            with tempfile.TemporaryDirectory() as folder:
                found = reply(self.model, folder, preexec_fn=limit)
                self.demand(found == self.expected, f"at most {most} bytes: {found!r}")
                self.demand(not packed_files(folder), f"at most {most} bytes: packed weights are left")
                self.recovers(folder, f"at most {most} bytes")
        return f"files of at most 0 to {size * (N_TRIES - 1) // N_TRIES} bytes"

    def full(self):
        """A file system of limited size."""
        if sys.platform != "linux" or os.geteuid() != 0:
            return "not tried: needs root on Linux"
        size = pathlib.Path(self.model).stat().st_size
        for i in range(N_TRIES):
            with tempfile.TemporaryDirectory() as folder:
                most = max(size * i // N_TRIES, 1 << 16)
                if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={most}", "packed", folder], check=False).returncode:
                    return "not tried: a tmpfs cannot be mounted"
                try:
                    found = reply(self.model, folder)
                    self.demand(found == self.expected, f"a disk of {most} bytes: {found!r}")
                    self.demand(not packed_files(folder), f"a disk of {most} bytes: packed weights are left")
                    subprocess.run(["mount", "-o", f"remount,size={2 * size}", folder], check=True)
                    self.recovers(folder, f"a disk of {most} bytes")
                finally:
                    subprocess.run(["umount", folder], check=True)
        return f"tmpfs of {1 << 16} to {size * (N_TRIES - 1) // N_TRIES} bytes"

    def at_once(self):
        for i in range(N_TRIES):
            with tempfile.TemporaryDirectory() as folder:
                processes = [subprocess.Popen(command(self.model, folder), stdout=subprocess.PIPE) for _ in range(2)]
                for process in processes:
                    found = process.communicate()[0]
                    self.demand(found == self.expected, f"two at once, {i}: {found!r}")
                self.recovers(folder, f"two at once, {i}")
        return "two processes with an empty folder"

    def damaged(self):
        """Another program changes a bit, cuts the file, gives it another version or layout, or the content of another model."""
        generator = random.Random(53)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            reply(self.model, folder)
            reply(self.other, other)
            path, foreign = packed_files(folder)[0], packed_files(other)[0]
            size, whole = path.stat().st_size, content(path)

            def changed(at, bytes_of):
                with path.open("r+b") as file:
                    file.seek(at)
                    old = file.read(len(bytes_of(b"\0\0\0\0")))
                    file.seek(at)
                    file.write(bytes_of(old))

            def flip(old):
                return bytes([old[0] ^ (1 << generator.randrange(8))])

            cases = {
                "a bit": lambda i: changed(size * i // N_TRIES + generator.randrange(size // N_TRIES), flip),
                "the end": lambda i: os.truncate(path, size * i // N_TRIES),
                "the version": lambda i: changed(8, lambda _: (3 + i).to_bytes(4, "little")),
                "the layout": lambda i: changed(12, lambda _: (2 + i).to_bytes(4, "little")),
                "the model": lambda _: path.write_bytes(foreign.read_bytes()),
            }
            for name, damage in cases.items():
                for i in range(N_TRIES):
                    damage(i)
                    self.recovers(folder, f"{name} is changed, {i}")
                    # A change that stays was in the zeros between two parts, which nothing reads.
                    changes = [at for at, (old, new) in enumerate(zip(whole, content(path), strict=True)) if old != new]
                    is_padding = all(not any(whole[max(at - 8, 0) : at + 8]) for at in changes)
                    self.demand(is_padding, f"{name} is changed, {i}: the packed weights keep the change at {changes}")
        return ", ".join(cases) + ": changed"


def main(model, other):
    check = Check(model, other)
    for name in ["killed", "limited", "full", "at_once", "damaged"]:
        before = len(check.wrong)
        what = getattr(check, name)()
        print(f"{pathlib.Path(model).name}\t{name}\t{what}\t{'yes' if len(check.wrong) == before else 'NO'}", flush=True)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
