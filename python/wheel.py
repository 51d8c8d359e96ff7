"""Adds the files to the wheel that are not Python: the engine's library, the demo model with its projector and the licences."""

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

NAMES = {"darwin": "libcauserie_ffi.dylib", "win32": "causerie_ffi.dll"}


class WheelHook(BuildHookInterface[Any]):
    """Takes the library from the folder `CAUSERIE_LIB_DIR`, or makes a release build of it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        repository = Path(self.root).parent
        folder = os.environ.get("CAUSERIE_LIB_DIR") or build(repository)
        library = Path(folder) / NAMES.get(sys.platform, "libcauserie_ffi.so")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library)}"
        build_data["force_include"] = {
            library: f"causerie/{library.name}",
            **{model: f"causerie/{model.name}" for model in repository.glob("models/demo*.gguf")},
            **{license: f"causerie/{license.name}" for license in repository.glob("LICENSE-*")},
        }


def build(repository: Path) -> Path:
    """Makes a release build of the library and returns its folder."""
    subprocess.run(["cargo", "build", "--release", "--package", "causerie-ffi"], cwd=repository, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR") or repository / "target") / "release"


def platform_tag(library: Path) -> str:
    """Returns the tag of the oldest systems that can run the library. On Linux, its symbols name the required glibc."""
    if not sys.platform.startswith("linux"):
        # A Python for two processor architectures says "universal2", but the library is built for one.
        return re.sub(r"[-.]", "_", sysconfig.get_platform().replace("universal2", platform.machine()))
    # Neighbours in the table of strings share the zero between them.
    required = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", library.read_bytes())]
    if not required:
        raise RuntimeError(f"{library} must be linked to glibc: wheels are only built for such systems")
    return f"manylinux_2_{max(required)}_{platform.machine()}"
