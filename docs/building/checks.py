"""What must hold before anything is built: a broken text stops the build, with its file and line."""

from __future__ import annotations

from typing import Iterator
from urllib.parse import unquote

from building import graphs, site, texts
from weaving.blocks import BlockMaker
from weaving.book import Book, BookError, Place, Problem
from weaving.changes import check_changes
from weaving.citations import check_citations
from weaving.links import ELSEWHERE, check_links, destination
from weaving.page import Page, framed
from weaving.programs import Programs

FROM_THE_CODE = ("listing", "diff")  # blocks that can be made without a program


def problems(book: Book, programs: Programs) -> list[Problem]:
    found = [problem for place in book.pages() for problem in problems_of(book, programs, place)]
    return sorted({*found, *graphs.map_problems(book)})


def problems_of(book: Book, programs: Programs, place: Place) -> Iterator[Problem]:
    try:
        page = site.readme(book, place.readme)
    except BookError as error:
        yield Problem(book.name(place.readme), 1, str(error))
        return
    yield from page.problems
    yield from check_links(book, page)
    yield from links_to_no_page(book, place, page)
    yield from check_citations(book, page)
    yield from missing_pictures(book, place, page)
    yield from stale_blocks(BlockMaker(book, programs), page)
    if place.chapter:
        yield from check_changes(book, page, place.chapter)
        yield from graphs.problems_of(book, page, place.chapter)


def stale_blocks(maker: BlockMaker, page: Page) -> Iterator[Problem]:
    for block in page.blocks:
        word, line = block.marker.word, block.marker.line
        if word not in FROM_THE_CODE:
            continue
        try:
            if page.body_of(block) != framed(block, maker.make(page, block).body):
                yield Problem(page.name, line, f"this {word} block is stale: docs/weave writes it anew")
        except BookError as error:
            yield Problem(page.name, line, f"{word}: {error}")


def links_to_no_page(book: Book, place: Place, page: Page) -> Iterator[Problem]:
    """To files that a forge shows and the book does not."""
    for match in texts.LINK.finditer(page.prose_outside_blocks()):
        if ELSEWHERE.match(match["target"]):
            continue
        path = destination(book, place.readme, unquote(match["target"].partition("#")[0]))
        if path.exists() and path not in site.paths_shown(book):
            line = page.line_of(match.start("target"))
            yield Problem(page.name, line, f"the link to {match['target']} leads to a file that has no page in the book")


def missing_pictures(book: Book, place: Place, page: Page) -> Iterator[Problem]:
    for match in texts.PICTURE.finditer(page.prose()):
        if not (place.readme.parent / match["target"]).exists():
            line = page.line_of(match.start("target"))
            yield Problem(page.name, line, f"there is no picture {match['target']}: docs/weave draws it")
