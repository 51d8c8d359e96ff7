"""The installed package: its files, its interface, and the programs of both READMEs."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import REPOSITORY

import causerie
from causerie import causerie_ffi

PYTHON = REPOSITORY / "python"
INSTALLED = Path(causerie.__file__).parent


def test_the_tests_run_against_the_installed_wheel() -> None:
    assert INSTALLED.parent.name == "site-packages"
    files = {str(file) for file in importlib.metadata.files("causerie") or []}
    assert {"causerie/demo.gguf", "causerie/demo-mmproj.gguf", "causerie/py.typed", "causerie/causerie_ffi.py"} <= files
    licences = {f"causerie-{causerie.__version__}.dist-info/licenses/LICENSE-{name}" for name in ("MIT", "APACHE")}
    assert licences <= files
    assert any(file.startswith(("causerie/libcauserie_ffi.", "causerie/causerie_ffi.dll")) for file in files)


@pytest.mark.skipif(sys.platform != "linux", reason="the tag names the glibc of Linux")
def test_the_tag_names_the_glibc_that_the_library_and_the_command_need() -> None:
    tags = importlib.metadata.distribution("causerie").read_text("WHEEL") or ""
    files = b"".join((INSTALLED / name).read_bytes() for name in ("libcauserie_ffi.so", "causerie"))
    needed = max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", files))
    assert f"manylinux_2_{needed}_" in tags


@pytest.mark.parametrize("start", [[sys.executable, "-m", "causerie"], [str(Path(sys.executable).with_name("causerie"))]])
def test_the_wheel_contains_the_command(start: list[str]) -> None:
    version = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True).stdout
    assert version == f"causerie {causerie.__version__}\n"
    asked = [*start, "chat", "Set a timer for 12 minutes"]
    assert "12" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    wrong = subprocess.run([*start, "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "nothing" in wrong.stderr


@pytest.mark.parametrize("file", sorted((PYTHON / "causerie").glob("*.py*")), ids=lambda file: file.name)
def test_the_wheel_contains_the_committed_files(file: Path) -> None:
    assert (INSTALLED / file.name).read_bytes() == file.read_bytes()


def test_no_other_package_is_needed() -> None:
    assert not importlib.metadata.requires("causerie")


def test_the_version_is_that_of_the_engine() -> None:
    manifest = (REPOSITORY / "Cargo.toml").read_text()
    engine = re.search(r'^version = "(.+)"', manifest, re.MULTILINE)
    assert engine and engine[1] == causerie.__version__ == importlib.metadata.version("causerie")


def test_all_public_names_exist() -> None:
    assert sorted(causerie.__all__) == causerie.__all__
    assert all(hasattr(causerie, name) for name in causerie.__all__)


def test_the_public_interface_is_that_of_the_golden_file() -> None:
    """After a deliberate change: `python python/tests/interface.py > python/api.txt`."""
    command = [sys.executable, str(PYTHON / "tests/interface.py")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown == (PYTHON / "api.txt").read_text()


def test_types_are_strict() -> None:
    command = [sys.executable, "-m", "mypy", "causerie", "tests", "examples"]
    checked = subprocess.run(command, cwd=PYTHON, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_the_names_of_the_stub_exist_in_the_generated_code() -> None:
    """Only names are compared, not types."""
    stub = ast.parse((PYTHON / "causerie/causerie_ffi.pyi").read_text())
    for node in stub.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            generated = getattr(causerie_ffi, node.name)
            for inner in node.body:
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    assert hasattr(generated, inner.name), f"{node.name}.{inner.name}"


@pytest.mark.parametrize("file", sorted((PYTHON / "examples").glob("*.py")), ids=lambda file: file.stem)
def test_an_example_runs(file: Path, tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


@pytest.mark.parametrize("readme", [PYTHON / "README.md", PYTHON.parent / "README.md"], ids=["package", "repository"])
def test_the_programs_of_a_readme_run(readme: Path, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    assert programs
    for program in programs:
        run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, program + run.stderr
