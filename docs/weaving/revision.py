"""Texts and code that are still to be revised: docs/unrevised.txt.

The checks of the book's language (its terms, its words, its answers, and that a change is shown once)
leave out what is listed there. Whoever has revised a part deletes its line.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from weaving.book import Book, BookError

FILE = "docs/unrevised.txt"


def unrevised(book: Book) -> list[str]:
    """The patterns of the list; without the list everything is checked."""
    try:
        lines = book.read(book.root / FILE).splitlines()
    except BookError:
        return []
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def is_revised(book: Book, path: Path) -> bool:
    """A pattern names files, or folders with all that is in them."""
    name = book.name(path)
    return not any(fnmatch(name, pattern) or fnmatch(name, f"{pattern}/*") for pattern in unrevised(book))
