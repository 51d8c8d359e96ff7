"""Descriptions of parameters in docstrings of the Google, NumPy and Sphinx styles."""

from __future__ import annotations

import inspect
import re

_TITLES = ("args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters", "attributes")
_GOOGLE_TITLE = re.compile(r"^([A-Z][A-Za-z ]*):\s*$")
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$")
_NUMPY_RULE = re.compile(r"^-{3,}\s*$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_FIELD = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword|ivar|var)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_SPHINX_OTHER = re.compile(r"^:\w+[^:]*:")


def parameter_descriptions(docstring: str) -> dict[str, str]:
    """Returns the descriptions of parameters by name, each as one line."""
    lines = inspect.cleandoc(docstring).splitlines()
    return {**_sphinx(lines), **_numpy(lines), **_google(lines)}


def summary(docstring: str) -> str:
    """Returns the first paragraph as one line, without fields and sections that follow it directly."""
    lines = []
    for line in inspect.cleandoc(docstring).splitlines():
        title = _GOOGLE_TITLE.match(line)
        if not line.strip() or _SPHINX_OTHER.match(line) or (title and title[1].lower() in _TITLES):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _google(lines: list[str]) -> dict[str, str]:
    """Sections such as `Args:`, whose entries are indented: `name (type): text`."""
    found: dict[str, str] = {}
    for at, line in enumerate(lines):
        title = _GOOGLE_TITLE.match(line)
        if title and title[1].lower() in _TITLES:
            found.update(_entries(_indented(lines[at + 1 :]), _GOOGLE_ENTRY))
    return found


def _numpy(lines: list[str]) -> dict[str, str]:
    """Sections with a rule under the title, whose entries are `name : type`, with the text indented below."""
    found: dict[str, str] = {}
    for at in range(len(lines) - 1):
        if lines[at].strip().lower() in _TITLES and _NUMPY_RULE.match(lines[at + 1]):
            section = lines[at + 2 :]
            # The next section's title has a rule below.
            end = next((i - 1 for i, line in enumerate(section) if i and _NUMPY_RULE.match(line)), len(section))
            for name, text in _entries(section[:end], _NUMPY_ENTRY).items():
                found.update({one.strip(" *"): text for one in name.split(",")})
    return found


def _sphinx(lines: list[str]) -> dict[str, str]:
    """Fields `:param type name: text`, whose further lines are indented."""
    found: dict[str, str] = {}
    for at, line in enumerate(lines):
        if field := _SPHINX_FIELD.match(line):
            found[field[1]] = _joined([field[2], *_indented(lines[at + 1 :])])
    return {name: text for name, text in found.items() if text}


def _indented(lines: list[str]) -> list[str]:
    """The lines up to the first one that is not indented, without their common indentation."""
    end = next((at for at, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    return inspect.cleandoc("\n" + "\n".join(lines[:end])).splitlines()


def _entries(lines: list[str], entry: re.Pattern[str]) -> dict[str, str]:
    """The texts of entries by name. An entry begins without indentation and goes on in indented lines."""
    found: dict[str, list[str]] = {}
    name = None
    for line in lines:
        if line and not line[0].isspace():
            start = entry.match(line)
            name = start[1] if start else None
            if name is not None:
                found[name] = [start[2]] if start and entry.groups > 1 else []
        elif name is not None:
            found[name].append(line)
    return {name: text for name, texts in found.items() if (text := _joined(texts))}


def _joined(lines: list[str]) -> str:
    """The first paragraph of lines as one line."""
    text = "\n".join(line.strip() for line in lines).strip()
    return " ".join(text.split("\n\n")[0].split())
