"""The data-flow graph of each chapter and the map of the book: docs/graphs/*.dot, drawn by Graphviz.

In a graph of a chapter a node's href is a region of its mechanism, or of another of its files: layer_norm.hpp [gain]. In
the map it is a chapter's number. What a node is (tensor, operation, new, ...) is its class, and the book's style sheet
gives the colours, as to the rest of a page.
"""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path
from typing import Callable, Iterator

from building import site, texts
from weaving.book import Book, Chapter, BookError, Problem
from weaving.links import slug
from weaving.page import Page
from weaving.regions import Regions

FOLDER = "docs/graphs"
MAP = f"{FOLDER}/map.dot"
STYLE = """graph [bgcolor=transparent fontname=Helvetica nodesep=0.3 ranksep=0.3 pad=0.05]
           node [shape=box fontname=Helvetica fontsize=12 height=0.3 margin="0.12,0.06"]
           edge [fontname=Helvetica fontsize=11 arrowsize=0.6]"""
HREF = re.compile(r'\bhref\s*=\s*"([^"]*)"')
PLACE = re.compile(r"(?P<file>\S+) \[(?P<region>\w+)\]")
CAPTION = re.compile(r'"([^"]+)"')
ELEMENT = re.compile(r"<svg.*</svg>", re.S)


def chapter_graph(book: Book, chapter: Chapter) -> Path:
    return book.root / FOLDER / f"{chapter.folder.name}.dot"


def data_flow(book: Book, chapter: Chapter, caption: str) -> str:
    """A figure with the graph of a chapter."""
    path = chapter_graph(book, chapter)
    drawn = draw(book, path, lambda place: listing_address(book, chapter, place))
    return figure(drawn, caption)


def book_map(book: Book, caption: str) -> str:
    """A figure with all chapters, and which builds on which."""
    drawn = draw(book, book.root / MAP, lambda number: site.chapter_page(book.chapter(int(number))))
    return figure(drawn, caption)


def problems_of(book: Book, page: Page, chapter: Chapter) -> Iterator[Problem]:
    """A chapter has one graph, and its text says where."""
    path = chapter_graph(book, chapter)
    marked = page.marked("graph")
    if len(marked) != 1:
        yield Problem(page.name, 1, f"one <!-- graph: \"CAPTION\" --> must say where {book.name(path)} is shown")
        return
    if not CAPTION.fullmatch(marked[0].text):
        yield Problem(page.name, marked[0].line, "this marker is written <!-- graph: \"CAPTION\" -->")
    if not path.exists():
        yield Problem(page.name, marked[0].line, f"there is no {book.name(path)}")
        return
    for number, place in places_in(book, path):
        try:
            region_at(book, chapter, place)
        except BookError as error:
            yield Problem(book.name(path), number, str(error))


def map_problems(book: Book) -> Iterator[Problem]:
    """The map has a node for each chapter, and no other."""
    path = book.root / MAP
    numbers = {chapter.label for chapter in book.chapters}
    found = list(places_in(book, path))
    for line, number in found:
        if number not in numbers:
            yield Problem(MAP, line, f"there is no chapter {number}")
    for number in sorted(numbers - {number for _, number in found}):
        yield Problem(MAP, 1, f"no node leads to chapter {number}: href=\"{number}\"")


def places_in(book: Book, path: Path) -> Iterator[tuple[int, str]]:
    """What the nodes of a graph point to, and in which line."""
    for number, line in enumerate(book.read(path).splitlines(), 1):
        for wanted in HREF.findall(line):
            yield number, wanted


def figure(drawn: str, caption: str) -> str:
    words = html.escape(caption)
    named = drawn.replace("<svg ", f'<svg aria-label="{words}" ', 1)
    return f'<figure class="flow"><div class="wide">{named}</div><figcaption aria-hidden="true">{words}</figcaption></figure>'


def region_at(book: Book, chapter: Chapter, place: str) -> tuple[Path, str, int]:
    """A file of the chapter, a region in it, and the region's first line. Throws BookError when there is no such one."""
    match = PLACE.fullmatch(place)
    path, region = (chapter.folder / match["file"], match["region"]) if match else (chapter.mechanism, place)
    if not path.is_file():
        raise BookError(f"there is no {book.name(path)}")
    regions = Regions(book.name(path), book.read(path))
    regions.require(region)
    return path, region, regions.spans[region][0] + 2


def listing_address(book: Book, chapter: Chapter, place: str) -> str:
    """The listing of a region on the chapter's page, or else its lines on the page of the source."""
    path, region, line = region_at(book, chapter, place)
    for marker in site.readme(book, chapter.readme).marked("listing"):
        if texts.anchor_of(marker.text) == f"code-{slug(region)}":
            return f"#code-{slug(region)}"
    return f"{site.page_of(book, path)}#L{line}"


def draw(book: Book, path: Path, address: Callable[[str], str]) -> str:
    """The graph as an SVG element."""
    linked = HREF.sub(lambda match: f'href="{address(match[1])}"', book.read(path))
    styled = linked.replace("digraph {", f"digraph {{ {' '.join(STYLE.split())}", 1)
    done = subprocess.run(["dot", "-Tsvg"], input=styled, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"{book.name(path)}: {' '.join(done.stderr.split())}")
    return for_a_page(ELEMENT.search(done.stdout)[0])


def for_a_page(svg: str) -> str:
    """Without what only a separate file needs; the colours are those of the page."""
    svg = re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n?", "", svg, flags=re.S).replace("xlink:href", "href")
    svg = re.sub(r' (?:xmlns|xmlns:xlink|xlink:title|id|font-family)="[^"]*"', "", svg)
    svg = re.sub(r' (?:fill|stroke)="(?!none)[^"]*"', "", svg)
    return re.sub(r'<svg width="([^"]+)" height="[^"]+"', r'<svg role="group" style="--natural: \1"', svg, count=1)
