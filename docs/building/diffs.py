"""The pages that show what a chapter changed in the one before: hunks beside their explanation, then complete files.

Each is written as a text of the chapter, and goes to Doxygen as the chapter's own text does.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Iterator, NamedTuple

from building import site
from building.code import rows_of, side, unified
from building.texts import Text, region_of
from weaving.book import Book, Chapter
from weaving.changes import Changes, mechanism_changes
from weaving.page import Block, Page, fenced
from weaving.regions import Regions

HEADING = re.compile(r"^#+[ \t].*$", re.M)


class Hunk(NamedTuple):
    """A diff, and the piece of the text that explains it; empty where the one before explains both."""

    explanation: str
    diff: str


def filtered(book: Book, chapter: Chapter) -> str:
    """The page as Doxygen's Markdown."""
    page = Page(book.name(chapter.readme), written(book, chapter), chapter)
    names = (f"chapter {book.previous(chapter).label}", f"chapter {chapter.label}")
    return Text(book, chapter.readme, page, site.diff_page(chapter), functools.partial(beside, names)).filtered()


def written(book: Book, chapter: Chapter) -> str:
    """The page as a README would be written."""
    earlier, name = book.previous(chapter), site.title_of(book, chapter)
    parts = [f"# {name}: what changes", "## The mechanism, hunk by hunk",
             f"Lines marked − are from chapter {earlier.label}, lines marked + from chapter {chapter.label}. The explanations "
             f"are from [the chapter's text]({chapter.readme.name})."]
    parts += [section(hunk) for hunk in hunks(book, chapter)]
    for file in files_to_compare(book, chapter):
        parts += [f"## {file}, all of it", fenced("diff", complete_file(book, chapter, file))]
    return "\n\n".join(parts) + "\n"


def section(hunk: Hunk) -> str:
    return "\n\n".join(['<section class="hunk">', '<div class="why">', hunk.explanation, "</div>",
                        fenced("diff", hunk.diff), "</section>"])


def hunks(book: Book, chapter: Chapter) -> Iterator[Hunk]:
    """In the order of the text."""
    page, changes = site.readme(book, chapter.readme), mechanism_changes(book, chapter)
    for block in page.blocks:
        if block.marker.word == "diff":
            words = page.text[explanation_start(page, block) : block.marker.span.start].strip()
            yield Hunk(words, changes.of_region(region_of(block.marker.text)))


def explanation_start(page: Page, block: Block) -> int:
    """Where the text before a block begins: after the last block, or after the last heading."""
    ends = [other.body.end for other in page.blocks if other.body.end < block.marker.span.start]
    after_block = page.text.index("-->", max(ends)) + len("-->") if ends else 0
    prose = page.prose()
    headings = [match.end() for match in HEADING.finditer(prose, after_block, block.marker.span.start)]
    return max([after_block, *headings])


def files_to_compare(book: Book, chapter: Chapter) -> list[str]:
    """The mechanism first, then the demo, then the other files that one of the chapters has."""
    folders = (book.previous(chapter).folder, chapter.folder)
    names = {path.name for folder in folders for path in folder.glob("*.[hc]pp")}
    return sorted(names, key=lambda name: (name != "attention.hpp", name != "main.cpp", name))


def complete_file(book: Book, chapter: Chapter, name: str) -> str:
    """Every line of a file as a diff; a chapter that has no such file has an empty one."""
    folders = (book.previous(chapter).folder, chapter.folder)
    old, new = (regions(book, folder / name) for folder in folders)
    return "\n".join(line.sign + line.text for line in Changes(old, new).lines)


def regions(book: Book, path: Path) -> Regions:
    return Regions(book.name(path), book.read(path) if path.exists() else "")


def beside(names: tuple[str, str], diff: str) -> str:
    """Both forms: two columns where there is room, and one where there is not. What has nothing on one side needs one."""
    rows = list(rows_of(diff))
    sides = [which for which in (0, 1) if any(row and row[which] is not None for row in rows)]
    columns = "".join(side(rows, which, names[which]) for which in sides)
    kind = "beside" if len(sides) == 2 else "beside alone"
    return f'<div class="{kind}">{columns}</div><div class="below">{unified(diff)}</div>'
