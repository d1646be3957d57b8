"""What differs between a reader's copy and the book, in lines of code: a comment is not a difference."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from exercising import blanks
from exercising.screen import Line

AROUND = 3  # lines that are shown before and after a difference
# A string or a character, which may look as if it had a comment in it; or a comment.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass
class Row:
    number: int
    text: str
    code: str  # without comments, and with single spaces


def rows(text: str) -> list[Row]:
    """The lines that have code in them, but for the one that only exercises need."""
    code = TOKEN.sub(lambda found: "\n" * found[0].count("\n") if found[0][0] == "/" else found[0], text)
    pairs = enumerate(zip(text.split("\n"), code.split("\n")), 1)
    found = (Row(number, line.rstrip(), " ".join(part.split())) for number, (line, part) in pairs)
    return [row for row in found if row.code and row.code != blanks.INCLUDE]


def difference(mine: str, book: str, names: tuple[str, str]) -> list[Line]:
    """From the reader's lines (-) to the book's (+); empty when no code differs. Code is never cut."""
    ours, theirs = rows(mine), rows(book)
    matcher = difflib.SequenceMatcher(None, [row.code for row in ours], [row.code for row in theirs], autojunk=False)
    lines: list[Line] = []
    for group in matcher.get_grouped_opcodes(AROUND):
        first = ours[group[0][1]].number if group[0][1] < len(ours) else 1
        lines.append(shown(f"@@ line {first} @@", "faint"))
        for kind, begin, end, book_begin, book_end in group:
            if kind == "equal":
                lines += [shown(f" {row.text}") for row in ours[begin:end]]
                continue
            lines += [shown(f"-{row.text}", "removed") for row in ours[begin:end]]
            lines += [shown(f"+{row.text}", "added") for row in theirs[book_begin:book_end]]
    return [shown(f"--- {names[0]}"), shown(f"+++ {names[1]}"), *lines] if lines else []


def shown(text: str, style: str = "") -> Line:
    return Line(text, style, wrap=False, cut=False)
