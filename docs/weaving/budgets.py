"""How much each chapter may change of the mechanism before it: docs/budgets.txt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

from weaving.book import Book, Chapter, BookError, Problem
from weaving.programs import Programs

FILE = "docs/budgets.txt"
LINE = re.compile(r"(?P<chapter>\d+)\s+(?P<most>\d+)")


def check_budget(book: Book, programs: Programs, chapter: Chapter) -> Iterator[Problem]:
    """Small differences are the point of the book, so growing past the budget is a failure."""
    if book.previous(chapter) is None:
        return
    try:
        line, most = budget_of(book, chapter)
        added, removed = changed_lines(programs, chapter)
    except BookError as error:
        yield Problem(FILE, 1, str(error))
        return
    if added + removed > most:
        yield Problem(FILE, line, f"chapter {chapter.label} changes {added + removed} lines "
                                  f"(+{added} −{removed}), and may change {most}")


def budget_of(book: Book, chapter: Chapter) -> tuple[int, int]:
    """The line of the file that speaks of the chapter, and the most lines it allows."""
    for number, line in enumerate(book.read(Path(book.root, FILE)).splitlines(), 1):
        match = LINE.fullmatch(line.split("#")[0].strip())
        if match and int(match["chapter"]) == chapter.number:
            return number, int(match["most"])
    raise BookError(f"chapter {chapter.label} has no budget: a line such as \"{chapter.label} 40\"")


def changed_lines(programs: Programs, chapter: Chapter) -> tuple[int, int]:
    """Lines of code added to and removed from the mechanism, as ./chapters/diff counts them."""
    words = ["./chapters/diff", str(chapter.number), "--stat", "--machine"]
    printed = programs.command(words)
    numbers = printed.split()
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise BookError(f"{' '.join(words)} printed no two numbers: \"{printed.strip()}\"")
    return int(numbers[0]), int(numbers[1])
