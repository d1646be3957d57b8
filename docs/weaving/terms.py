"""The glossary: what the field's terms mean, and where the book defines them.

An entry of docs/glossary.md is a heading, a sentence, and a block that says where the term is defined:
`<!-- defined: 03 also scaled score, unscaled scores -->`. The chapter shows the term in bold at its
first use, alone in its stars; docs/weave finds the place and writes the link. Earlier the term may only
occur in a heading, or in a link. `everyday` marks a word that has a plain sense as well, so that only
its definition is looked for.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional

from weaving.book import Book, Chapter, BookError, Problem
from weaving.links import HEADING, heading_before
from weaving.page import Block, Page, Span, blanked
from weaving.revision import is_revised

GLOSSARY = "docs/glossary.md"
DEFINED = re.compile(r"(?P<place>\d+|front)(?P<everyday>\s+everyday)?(?:\s+also\s+(?P<forms>\S.*))?")
WRITTEN = "defined: CHAPTER everyday also FORM, FORM"
BOLD = re.compile(r"\*\*(?=\S)(?P<words>[^*]+?)[.,:;]?\*\*")
NOT_RUNNING_TEXT = re.compile(r"\[[^\[\]]*\]\([^()]*\)|\[[^\[\]]*\]\[[^\[\]]*\]|\$\$?[^$]+\$\$?|<[^<>\n]+>|https?://\S+")


class Term(NamedTuple):
    name: str
    forms: tuple[str, ...]  # all spellings, in lower case
    chapter: Optional[int]  # the one that defines it; none is the front page
    everyday: bool
    line: int  # of its entry


class Use(NamedTuple):
    term: Term
    position: int
    bold: bool  # alone in its stars


@functools.lru_cache(maxsize=None)
def glossary(book: Book) -> tuple[Term, ...]:
    path = book.root / GLOSSARY
    page = Page(GLOSSARY, book.read(path) if path.exists() else "")
    return tuple(term_of(page, block) for block in page.blocks if block.marker.word == "defined")


def term_of(page: Page, block: Block) -> Term:
    """@raises BookError when the marker is written in another way"""
    match = DEFINED.fullmatch(block.marker.text)
    headings = [heading[1] for heading in HEADING.finditer(page.text, 0, block.marker.span.start)]
    if match is None or not headings:
        raise BookError(f"this marker is written <!-- {WRITTEN} -->, under the term as a heading")
    name = headings[-1].strip("`")
    others = (form.strip() for form in (match["forms"] or "").split(","))
    forms = tuple(dict.fromkeys(form.lower() for form in (name, *others) if form))
    chapter = None if match["place"] == "front" else int(match["place"])
    return Term(name, forms, chapter, bool(match["everyday"]), block.marker.line)


def defined_at(book: Book, page: Page, block: Block) -> str:
    """The line of an entry that leads to the term's definition, or to the page that should define it."""
    term = term_of(page, block)
    path = book.root / "README.md"
    if term.chapter is not None:
        path = book.chapter(term.chapter).readme
    text = Page(book.name(path), book.read(path))
    link = Path("..", book.name(path)).as_posix()
    title = next((match[1] for match in HEADING.finditer(text.prose())), book.name(path))
    definition = definition_in(book, text, term)
    heading = heading_before(text, definition.position) if definition else None
    if heading is None or heading.words == title:
        return f"[{title}]({link})"
    return f"[{title}, “{heading.words}”]({link}#{heading.anchor})"


def definition_in(book: Book, page: Page, term: Term) -> Optional[Use]:
    return next((use for use in uses(book, page) if use.bold and use.term.name == term.name), None)


def uses(book: Book, page: Page) -> Iterator[Use]:
    """Where the running text uses the glossary's terms; a longer term hides those inside it."""
    terms = {form: term for term in glossary(book) for form in term.forms}
    if not terms:
        return
    text = running_text(page)
    bold = {match.start("words"): match["words"] for match in BOLD.finditer(text)}
    for match in pattern(tuple(terms)).finditer(text):
        words = " ".join(match[0].lower().split())
        is_bold = " ".join(bold.get(match.start(), "").lower().split()) == words
        yield Use(terms[words], match.start(), is_bold)


@functools.lru_cache(maxsize=None)
def pattern(forms: tuple[str, ...]) -> re.Pattern[str]:
    spelled = sorted((r"\s+".join(map(re.escape, form.split())) for form in forms), key=len, reverse=True)
    return re.compile(rf"(?<![\w\-])(?:{'|'.join(spelled)})(?![\w\-])", re.I)


def running_text(page: Page) -> str:
    """Prose without headings, links and formulas."""
    prose = page.prose_outside_blocks()
    spans = [Span(*match.span()) for form in (HEADING, NOT_RUNNING_TEXT) for match in form.finditer(prose)]
    return blanked(prose, spans)


def check_terms(book: Book, page: Page, chapter: Chapter) -> Iterator[Problem]:
    """Each term of the chapter is defined in bold, and no term is used before its definition."""
    try:
        terms = glossary(book)
    except BookError:
        return  # the glossary's own page says so
    if not is_revised(book, chapter.readme):
        return
    found = list(uses(book, page))
    yield from missing_definitions(page, chapter, terms, found)
    yield from early_uses(book, page, chapter, found)


def missing_definitions(page: Page, chapter: Chapter, terms: Iterable[Term], found: list[Use]) -> Iterator[Problem]:
    for term in terms:
        own = [use for use in found if use.term.name == term.name]
        if term.chapter != chapter.number or any(use.bold for use in own):
            continue
        if own:
            line, where = page.line_of(own[0].position), "where the chapter first uses it"
            yield Problem(page.name, line, f"\"{term.name}\" is not bold {where}: see {GLOSSARY}")
        else:
            sentence = f"\"{term.name}\" is defined nowhere: chapter {chapter.label} does not have it in bold"
            yield Problem(GLOSSARY, term.line, sentence)


def early_uses(book: Book, page: Page, chapter: Chapter, found: list[Use]) -> Iterator[Problem]:
    """The first early use of each term. A word with a plain sense may come at any time."""
    definitions = {use.term.name: use.position for use in reversed(found) if use.bold}
    first = {use.term.name: use for use in reversed(found)}
    for use in first.values():
        term, number = use.term, use.term.chapter
        if term.everyday or number is None or number < chapter.number:
            continue
        line = page.line_of(use.position)
        if number > chapter.number:
            yield Problem(page.name, line, f"\"{term.name}\" is used here and defined in chapter {number:02}: "
                                           "define it here, or make the word a link to that chapter")
        elif use.position < definitions.get(term.name, use.position):
            later = page.line_of(definitions[term.name])
            yield Problem(page.name, line, f"\"{term.name}\" is used here and defined in line {later}")
