"""The book's frame: what is around the contents of every page."""

from __future__ import annotations

import html
import re
import string
from typing import Iterable, Iterator, Optional

from building import site
from building.site import link
from weaving.book import Book, Chapter


class Frame:
    """Puts the contents of a page into the template."""

    def __init__(self, book: Book, template: str):
        self._book, self._template = book, string.Template(template)

    def page(self, address: str, title: str, contents: str, kind: str, lead: str = "",
             chapter: Optional[Chapter] = None, scripts: Iterable[str] = (), styles: Iterable[str] = ()) -> str:
        name = re.sub(r"<[^>]+>", "", html.unescape(title))
        return self._template.substitute(
            window_title=html.escape(name if address == site.FRONT else f"{name} · Attention, one diff at a time"),
            description=html.escape(description(contents)), title=unbroken(title), lead=lead, contents=contents, kind=kind,
            tree="\n".join(self._tree(address, chapter)), turn=self._turn(address),
            styles="\n".join(f'<link rel="stylesheet" href="{name}">' for name in ("book.css", *styles)),
            scripts="\n".join(f'<script src="{name}" defer></script>' for name in ("book.js", *scripts)))

    def _tree(self, address: str, chapter: Optional[Chapter]) -> Iterator[str]:
        """Start, chapters and code; what belongs to a chapter is listed while it is being read."""
        yield links([(site.FRONT, "The book"), (site.MAP, "Map of the book")], address)
        yield "<h2>Chapters</h2>\n<ul>"
        for other in self._book.chapters:
            inside = links(companions(self._book, other), address) if other == chapter else ""
            yield f"<li>{link(site.chapter_page(other), site.title_of(self._book, other), address)}{inside}</li>"
        yield "</ul>"
        back = site.back_pages(self._book)
        if back:
            yield f"<h2>Reference</h2>\n{links(back, address)}"
        yield "<h2>Code</h2>"
        yield links([(site.FILES, "All files"), (site.SHARED, "Shared by all chapters")], address)

    def _turn(self, address: str) -> str:
        before, after = neighbours(self._book, address)
        pieces = [f'<a class="{name}" rel="{name}" href="{page[0]}"><span>{words}</span>{html.escape(page[1])}</a>'
                  for name, words, page in (("prev", "Previous", before), ("next", "Next", after)) if page]
        return "\n".join(pieces)


def unbroken(title: str) -> str:
    """A title in which no line ends within a name such as GPT-2."""
    return re.sub(r"\w+-\d+", r'<span class="whole">\g<0></span>', title)


def links(pages: Iterable[tuple[str, str]], current: Optional[str] = None, attributes: str = "") -> str:
    """A list of links, each an address and its words."""
    items = "\n".join(f"<li>{link(address, words, current)}</li>" for address, words in pages)
    return f"<ul{attributes}>\n{items}\n</ul>"


def companions(book: Book, chapter: Chapter) -> Iterator[tuple[str, str]]:
    """The pages that belong to a chapter besides its text."""
    if book.previous(chapter):
        yield site.diff_page(chapter), "What changes"
    yield site.page_of(book, chapter.mechanism), "attention.hpp"
    yield site.page_of(book, chapter.folder / "main.cpp"), "main.cpp"
    own = [path for path in book.test_files(chapter) if site.chapter_of(book, path) == chapter]
    for path in own:
        yield site.page_of(book, path), "The tests" if len(own) == 1 else f"tests/{path.name}"
    yield site.interface_page(chapter), "Functions and types"


def neighbours(book: Book, address: str) -> tuple[Optional[tuple[str, str]], Optional[tuple[str, str]]]:
    """The pages before and after one; what belongs to a chapter leads back to its text and on to the next one."""
    order = [(site.FRONT, "The book"), (site.MAP, "Map of the book")]
    order += [(site.chapter_page(chapter), site.title_of(book, chapter)) for chapter in book.chapters]
    order += site.back_pages(book)
    addresses = [page[0] for page in order]
    if address in addresses:
        place = addresses.index(address)
        return (order[place - 1] if place else None), (order[place + 1] if place + 1 < len(order) else None)
    for chapter in book.chapters:
        if address in (site.diff_page(chapter), site.interface_page(chapter)):
            place = addresses.index(site.chapter_page(chapter))
            return order[place], (order[place + 1] if place + 1 < len(order) else None)
    return None, None


def description(contents: str) -> str:
    """The beginning of the first paragraph."""
    first = re.search(r"<p>(.*?)</p>", contents, re.S)
    if first is None:
        return "A book about attention, in C++."
    words = re.sub(r"<a [^>]*>More(?:\.\.\.)?</a>|<[^>]+>", "", first[1])
    words = " ".join(html.unescape(words).split())
    return words if len(words) <= 160 else words[:157].rsplit(" ", 1)[0] + " …"
