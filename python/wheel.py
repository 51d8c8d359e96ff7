"""Adds the files to the wheel that are not Python, the library, the command, the demo model with its projector; and the README."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NAMES = {"darwin": "libcauserie_ffi.dylib", "win32": "causerie_ffi.dll"}
COMMAND = "causerie.exe" if sys.platform == "win32" else "causerie"


class WheelHook(BuildHookInterface[Any]):
    """Takes the library and the command from the folder `CAUSERIE_LIB_DIR`, or makes a release build of them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # A source distribution has the Rust crates in a folder of its own.
        sources = Path(self.root) / "rust"
        repository = sources if sources.exists() else Path(self.root).parent
        folder = os.environ.get("CAUSERIE_LIB_DIR") or build(repository)
        library = Path(folder) / NAMES.get(sys.platform, "libcauserie_ffi.so")
        command = Path(folder) / COMMAND
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library, command)}"
        build_data["force_include"] = {
            library: f"causerie/{library.name}",
            command: f"causerie/{command.name}",
            **{model: f"causerie/{model.name}" for model in demo_model(repository)},
        }


class ReadmeHook(MetadataHookInterface):
    """Takes the package's description from README.md, with links to files of the repository that a reader elsewhere can follow."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = f"{metadata['urls']['Source']}/blob/main"
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = re.sub(r"\]\((?![a-z]+:|#)(\.\./)?", lambda link: f"]({repository}/{'' if link[1] else 'python/'}", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def build(repository: Path) -> Path:
    """Makes a release build of the library, and of the command without a demo model of its own; returns their folder."""
    for package in (["causerie-ffi"], ["causerie-cli", "--no-default-features", "--features", "gpu"]):
        subprocess.run(["cargo", "build", "--release", "--package", *package], cwd=repository, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR") or repository / "target") / "release"


def demo_model(repository: Path) -> list[Path]:
    """Returns the files of the demo model. A source distribution has them in the crates that contain them."""
    places = ["models/demo.gguf", "models/demo-mmproj.gguf"]
    crates = ["crates/causerie-demo/demo.gguf", "crates/causerie-demo-projector/demo-mmproj.gguf"]
    return [repository / place for place in (places if (repository / places[0]).exists() else crates)]


# What ELF files say of the processor.
MACHINES = {62: "x86_64", 183: "aarch64"}


def platform_tag(library: Path, command: Path) -> str:
    """Returns the tag of the oldest systems that can run the files. They may be of another processor than this one, and of musl.

    On Linux, the symbols of both name the glibc that they need. A library that needs none is one of musl, and its command is static.
    """
    if not sys.platform.startswith("linux"):
        # A Python for two processor architectures says "universal2", but the library is built for one.
        return re.sub(r"[-.]", "_", sysconfig.get_platform().replace("universal2", platform.machine()))
    files = {file: file.read_bytes() for file in (library, command)}
    machines = {MACHINES.get(int.from_bytes(data[18:20], "little")) for data in files.values() if data[:4] == b"\x7fELF"}
    if len(machines) != 1 or None in machines:
        raise RuntimeError(f"{library} and {command} must be of one processor: {' or '.join(MACHINES.values())}")
    [machine] = machines
    # Neighbours in the table of strings share the zero between them.
    pattern = re.compile(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)")
    required = {file: [int(minor) for minor in pattern.findall(data)] for file, data in files.items()}
    if required[library]:
        return f"manylinux_2_{max(sum(required.values(), []))}_{machine}"
    if required[command] or b"\0libc.so\0" not in files[library]:
        raise RuntimeError(f"{library} and {command} must be linked to glibc, or to musl")
    return f"musllinux_1_2_{machine}"
