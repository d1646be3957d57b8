"""Weaves one page after the other: makes its blocks, then checks all the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Union

from weaving.answers import check_answers
from weaving.blocks import BlockMaker, Product
from weaving.book import Book, BookError, Place, Problem, write_whole
from weaving.budgets import check_budget
from weaving.changes import check_changes
from weaving.citations import check_citations, check_coverage
from weaving.links import check_links, check_papers
from weaving.numbers import check_numbers, check_values
from weaving.page import Block, Page, framed
from weaving.programs import Programs
from weaving.repetition import check_repetition
from weaving.terms import check_terms


class Weaver:
    """Collects the problems of all pages, and the files it wrote."""

    def __init__(self, book: Book, programs: Programs, only_check: bool):
        self._book, self._programs, self._only_check = book, programs, only_check
        self._maker = BlockMaker(book, programs)
        self._pictures: dict[Path, bytes] = {}
        self.problems: list[Problem] = []
        self.written: list[Path] = []

    def weave(self, place: Place) -> None:
        path, name = place.readme, self._book.name(place.readme)
        try:
            found = Page(name, self._book.read(path), place.chapter)
        except BookError as error:
            self.problems.append(Problem(name, 1, str(error)))
            return
        made = [self._product(found, block) for block in found.blocks]
        woven = found.with_bodies(item.body if isinstance(item, Product) else None for item in made)
        if not self._only_check:
            self._write(path, woven.text.encode())
        page = found if self._only_check else woven
        for block, item in zip(page.blocks, made):
            self.problems += self._block_problems(page, block, item)
        self.problems += self._checks(page, woven)

    def _product(self, page: Page, block: Block) -> Union[Product, BookError]:
        try:
            return self._maker.make(page, block)
        except BookError as error:
            return error

    def _write(self, path: Path, content: bytes) -> None:
        if not path.exists() or path.read_bytes() != content:
            write_whole(path, content)
            self.written.append(path)

    def _block_problems(self, page: Page, block: Block,
                        item: Union[Product, BookError]) -> Iterator[Problem]:
        line, word = block.marker.line, block.marker.word
        if isinstance(item, BookError):
            yield Problem(page.name, line, f"{word}: {item}")
            return
        present, wanted = page.body_of(block), framed(block, item.body)
        if present != wanted:
            yield Problem(page.name, line, f"this {word} block is stale: "
                                           f"{first_change(present, wanted)}")
        if item.picture and not self._keep_picture(item.picture, item.content):
            yield Problem(page.name, line, f"this {word} block is stale: {item.picture.name} on "
                                           "the disk is not the picture that the program draws")

    def _keep_picture(self, path: Path, content: bytes) -> bool:
        """Whether the picture is, or now is, on the disk; two blocks cannot share one name."""
        if self._pictures.setdefault(path, content) != content:
            return False
        if not self._only_check:
            self._write(path, content)
        return path.exists() and path.read_bytes() == content

    def _checks(self, page: Page, woven: Page) -> Iterator[Problem]:
        book, programs = self._book, self._programs
        yield from page.problems
        yield from check_values(book, programs, page)
        yield from check_numbers(page, woven)
        yield from check_citations(book, page)
        yield from check_links(book, page)
        yield from check_papers(page)
        yield from check_repetition(book, page)
        if page.chapter:
            yield from check_coverage(book, page, page.chapter)
            yield from check_budget(book, programs, page.chapter)
            yield from check_changes(book, page, page.chapter)
            yield from check_terms(book, page, page.chapter)
            yield from check_answers(book, page, page.chapter)


def first_change(present: str, wanted: str) -> str:
    """The first line that differs, in words."""
    old, new = present.splitlines(), wanted.splitlines()
    for line, other in zip(old, new):
        if line != other:
            return f"\"{line.strip()}\" is now \"{other.strip()}\""
    longer = (new if len(new) > len(old) else old)[min(len(old), len(new)):]
    state = "is missing" if len(new) > len(old) else "is no longer there"
    return f"\"{' '.join(longer[:1]).strip()}\" {state}"
