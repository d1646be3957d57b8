"""Lines of code that a page shows twice: a change is shown once, as a diff, and what is new once, as a listing."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from weaving.blocks import LISTING, chapter_of
from weaving.book import Book, BookError, Problem
from weaving.changes import DIFF_MARKER, mechanism_changes
from weaving.page import Block, Page
from weaving.regions import Regions
from weaving.revision import is_revised

SAYS_LITTLE = re.compile(r"\s*(?://.*|[{}();]*)\s*")  # comments, brackets and blank lines


class Shown(NamedTuple):
    """The lines of a file that a block shows, counted from 0: all of a listing, and the new ones of a diff."""

    block: Block
    file: str
    lines: frozenset[int]


def check_repetition(book: Book, page: Page) -> Iterator[Problem]:
    if not is_revised(book, book.root / page.name):
        return
    earlier: list[Shown] = []
    for block in page.blocks:
        shown = lines_shown(book, page, block)
        if shown is None:
            continue
        for other in earlier:
            common = shown.lines & other.lines
            if shown.file == other.file and common:
                count = "1 line" if len(common) == 1 else f"{len(common)} lines"
                yield Problem(page.name, block.marker.line, f"this {block.marker.word} shows {count} that the "
                                                            f"{other.block.marker.word} in line "
                                                            f"{other.block.marker.line} has shown")
                break
        earlier.append(shown)


def lines_shown(book: Book, page: Page, block: Block) -> Optional[Shown]:
    """Nothing for a block that shows no code, or that cannot be made; others report that."""
    try:
        if block.marker.word == "listing":
            return of_listing(book, page, block)
        if block.marker.word == "diff":
            return of_diff(book, page, block)
    except BookError:
        pass
    return None


def of_listing(book: Book, page: Page, block: Block) -> Optional[Shown]:
    match = LISTING.fullmatch(block.marker.text)
    if match is None:
        return None
    path = book.root / match["file"] if "/" in match["file"] else chapter_of(book, page).folder / match["file"]
    regions = Regions(book.name(path), book.read(path))
    regions.require(match["region"])
    begin, end = regions.spans[match["region"]]
    return shown_by(block, regions, range(begin + 1, end))


def of_diff(book: Book, page: Page, block: Block) -> Optional[Shown]:
    match, chapter = DIFF_MARKER.fullmatch(block.marker.text), chapter_of(book, page)
    if match is None:
        return None
    changes = mechanism_changes(book, chapter)
    added = [line.number - 1 for line in changes.lines if line.sign == "+" and match["region"] in line.homes]
    return shown_by(block, Regions(book.name(chapter.mechanism), book.read(chapter.mechanism)), added)


def shown_by(block: Block, regions: Regions, numbers: range | list[int]) -> Optional[Shown]:
    lines = frozenset(number for number in numbers if not SAYS_LITTLE.fullmatch(regions.lines[number]))
    return Shown(block, regions.file_name, lines) if lines else None
