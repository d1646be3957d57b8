"""What the reports of the address and undefined-behaviour sanitizers mean, in a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Optional

MEANINGS = {
    "heap-buffer-overflow": "something is read or written beyond the end of a matrix or vector: is an index too large?",
    "stack-buffer-overflow": "something is read or written beyond the end of a local array: is an index too large?",
    "global-buffer-overflow": "something is read or written beyond the end of an array: is an index too large?",
    "heap-use-after-free": "something is used that no longer exists: does a view or a reference outlive its matrix?",
    "stack-use-after-scope": "a local variable is used after its block has ended: is an expression kept in `auto`?",
    "stack-use-after-return": "a local variable is used after its function has returned: is it returned as `auto`?",
    "stack-overflow": "functions call each other without an end",
    "alloc-dealloc-mismatch": "memory is given back in another way than it was taken",
    "attempting double-free": "memory is given back twice",
    "allocation-size-too-big": "far too much memory is asked for: has a size become negative?",
    "SEGV": "memory is touched that does not belong to the program: is a pointer null, or an index far off?",
    "ILL": "the program has reached a place that it must not reach: does a function end without a return?",
    "FPE": "a whole number is divided by zero",
    "division by zero": "a number is divided by zero",
    "signed integer overflow": "a whole number grows beyond what its type can hold",
    "null pointer": "a pointer is used that points to nothing",
    "out of bounds": "an index is beyond the end",
    "outside the range of representable values": "a number is turned into a type that cannot hold it",
    "reached the end of a value-returning function": "a function that returns something ends without a return",
    "shift exponent": "bits are shifted by more than there are",
    "misaligned address": "a number is read from a place where none can begin",
}
REPORT = re.compile(r"(?m)^==\d+==ERROR: AddressSanitizer: (?P<address>.*)|^\S.*:\d+:\d+: runtime error: (?P<behaviour>.*)")


def report(output: str) -> str:
    """The first report's own words; empty when there is none."""
    found = REPORT.search(output)
    return (found["address"] or found["behaviour"]).strip() if found else ""


def meaning(words: str) -> str:
    for key, sentence in MEANINGS.items():
        if key in words:
            return sentence
    return "the program does something that C++ leaves undefined"


def place(output: str, folder: Path) -> Optional[tuple[Path, int]]:
    """The first line of a file in the folder that the report names. A path may have spaces and colons in it."""
    found = re.search(rf"({re.escape(str(folder))}/.+?):(\d+)", output)
    return (Path(found[1]), int(found[2])) if found else None
