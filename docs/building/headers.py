"""A header as Doxygen is to read it, line by line.

All chapters define the same names, on purpose; so each chapter's header gets a namespace around it, in the
documentation only. Lines that mark a region aren't documentation, and are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from building import site
from weaving.book import Book, Chapter
from weaving.regions import MARKER

INCLUDE = re.compile(r"\s*#\s*include\b")


def filtered(book: Book, path: Path) -> str:
    lines = ["" if MARKER.fullmatch(line) else line for line in book.read(path).splitlines()]
    chapter = site.chapter_of(book, path)
    if chapter:
        put_in_namespace(lines, book, chapter)
    return "\n".join(lines) + "\n"


def put_in_namespace(lines: list[str], book: Book, chapter: Chapter) -> None:
    """It opens on the first empty line after the includes, so that every line keeps its number."""
    last = max((number for number, line in enumerate(lines) if INCLUDE.match(line)), default=0)
    first = next((number for number in range(last + 1, len(lines)) if not lines[number].strip()), len(lines) - 1)
    name = site.namespace_of(chapter)
    about = f"The code of chapter {chapter.label}. The namespace exists in this documentation only: " \
            "all chapters use the same names, and no program includes two of them."
    lines[first] += f"/** {about} */ namespace {name} {{"
    lines.append("}")
