"""Links and pictures that lead somewhere in the repository."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Iterator, NamedTuple, Optional
from urllib.parse import unquote

from weaving.book import Book, BookError, Problem, closest
from weaving.page import Page, Span, blanked

TARGET = re.compile(
    r"""
      \]\(\s*(?:<(?P<angled>[^>\n]*)>|(?P<bare>(?:[^()\s]|\([^()\s]*\))*))   # [text](target
    | ^[ ]{0,3}\[[^\]\n]+\]:[ \t]*<?(?P<defined>[^\s>]+)                     # [name]: target
    | \b(?:href|src)\s*=\s*["'](?P<attribute>[^"']*)["']
    """,
    re.VERBOSE | re.MULTILINE,
)
NAMED_PAPER = re.compile(r"\b[A-Z][\w-]+\s+et\s+al\b\.?")
BIBLIOGRAPHY = "docs/bibliography.md"
ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.M)
NAMED = re.compile(r"\b(?:id|name)\s*=\s*[\"']([^\"']+)[\"']")
LINK_TEXT = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def check_links(book: Book, page: Page) -> Iterator[Problem]:
    for match in TARGET.finditer(page.prose_outside_blocks()):
        target = next(part for part in match.groups() if part is not None)
        problem = None if ELSEWHERE.match(target) else broken(book, page, target)
        if problem:
            yield Problem(page.name, page.line_of(match.start()), problem)


def broken(book: Book, page: Page, target: str) -> Optional[str]:
    address, _, anchor = unquote(target).partition("#")
    here = book.root / page.name
    path = destination(book, here, address)
    if not path.exists():
        return f"the link to {target} leads nowhere"
    if anchor and path.suffix == ".md":
        known = anchors(page if path == here else other_page(book, path))
        if anchor not in known:
            return f"the link to {target} leads to no heading{closest(anchor, known)}"
    return None


def destination(book: Book, here: Path, address: str) -> Path:
    if not address:
        return here
    base = book.root if address.startswith("/") else here.parent
    return (base / address.lstrip("/")).resolve()


def other_page(book: Book, path: Path) -> Page:
    try:
        return Page(book.name(path), book.read(path))
    except BookError:
        return Page(book.name(path), "")


def check_papers(page: Page) -> Iterator[Problem]:
    """A paper that a text names is a link to its entry; whether there is one the check of links says."""
    if page.name == BIBLIOGRAPHY:
        return
    prose = page.prose_outside_blocks()
    for match in NAMED_PAPER.finditer(blanked(prose, [Span(*link.span()) for link in LINK_TEXT.finditer(prose)])):
        sentence = f"{' '.join(match[0].split())} is named without a link to an entry of {BIBLIOGRAPHY}"
        yield Problem(page.name, page.line_of(match.start()), sentence)


class Heading(NamedTuple):
    position: int
    words: str
    anchor: str


def anchors(page: Page) -> set[str]:
    """What a link can point to on a page."""
    return {*NAMED.findall(page.prose(code=False)), *(heading.anchor for heading in headings(page))}


def headings(page: Page) -> Iterator[Heading]:
    """With what GitHub calls them; a title that comes again is numbered."""
    taken: set[str] = set(NAMED.findall(page.prose(code=False)))
    for match in HEADING.finditer(page.prose()):
        name = slug(match[1])
        again, number = name, 0
        while again in taken:
            number += 1
            again = f"{name}-{number}"
        taken.add(again)
        yield Heading(match.start(), match[1], again)


def heading_before(page: Page, position: int) -> Optional[Heading]:
    earlier = [heading for heading in headings(page) if heading.position <= position]
    return earlier[-1] if earlier else None


def slug(heading: str) -> str:
    text = LINK_TEXT.sub(r"\1", heading).lower()
    return "".join(sign for sign in text if stays(sign)).replace(" ", "-")


def stays(sign: str) -> bool:
    kind = unicodedata.category(sign)
    return sign in " -" or kind in ("Nd", "Pc") or kind[0] in "LM"
