"""What the compiler complains about, in few lines: the first error in the reader's file, and the line it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

MESSAGE = re.compile(r"(?P<path>\S.*?):(?P<line>\d+):(?:\d+:)? "
                     r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)")
NINJA = re.compile(r"\[\d+/\d+\] |ninja: |FAILED: ")
SHOWN = 2  # lines of source after a message: the line itself, and what points into it


@dataclass
class Complaint:
    path: Path
    line: int
    kind: str
    text: str
    source: list[str]

    @property
    def is_error(self) -> bool:
        return self.kind in ("error", "fatal error")


def complaints(output: str) -> list[Complaint]:
    found: list[Complaint] = []
    for line in output.split("\n"):
        message = MESSAGE.match(line)
        if message:
            found.append(Complaint(Path(message["path"]), int(message["line"]), message["kind"], message["text"], []))
        elif found and len(found[-1].source) < SHOWN and re.match(r"\s", line):
            found[-1].source.append(line)
    return found


def first_error(output: str, folder: Path) -> Optional[Complaint]:
    """The first error in a file of the folder; else a place there that an error comes from; else the first of all."""
    found = complaints(output)
    errors = [complaint for complaint in found if complaint.is_error]
    ours = [complaint for complaint in errors if folder in complaint.path.parents]
    return (ours or caused_here(found, folder) or errors or [None])[0]


def caused_here(found: list[Complaint], folder: Path) -> list[Complaint]:
    """An error deep in a template, told at the reader's line that asked for it, which clang++ says in a note."""
    error = None
    for complaint in found:
        if complaint.is_error:
            error = complaint
        elif error and folder in complaint.path.parents and "requested here" in complaint.text:
            return [Complaint(complaint.path, complaint.line, "error", error.text, complaint.source)]
    return []


def first_warning(output: str, folder: Path) -> Optional[Complaint]:
    for complaint in complaints(output):
        if complaint.kind == "warning" and folder in complaint.path.parents:
            return complaint
    return None


def without_ninja(output: str) -> str:
    """All that the compiler said, without the commands that ninja prints."""
    kept, after_failed = [], False
    for line in output.split("\n"):
        if not NINJA.match(line) and not after_failed:
            kept.append(line)
        after_failed = line.startswith("FAILED: ")
    return "\n".join(kept).strip("\n")


def linker_error(output: str) -> str:
    """The line in which the linker or ninja reports an error; empty when neither does."""
    telling = r"undefined (reference|symbol)|multiple definition|duplicate symbol|ninja: error|No space left"
    return next((line.strip() for line in output.split("\n") if re.search(telling, line)), "")
