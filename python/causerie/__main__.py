"""The command `causerie`, which the wheel contains: `python -m causerie serve`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Runs the command with the arguments of this program, and ends with its status."""
    program = Path(__file__).with_name("causerie.exe" if sys.platform == "win32" else "causerie")
    if not program.exists():
        sys.exit(f"causerie: the command is not in this installation: {program}")
    arguments = [str(program), *sys.argv[1:]]
    if sys.platform == "win32":
        # Windows has no exec that keeps the console.
        try:
            sys.exit(subprocess.call(arguments))
        except KeyboardInterrupt:
            sys.exit(130)
    os.execv(program, arguments)


if __name__ == "__main__":
    main()
