"""The tests that the text names, and the statements that text and tests must both show.

A text cites a test with a mark at the end of the claim, [✓][the name of the test]. Markdown takes
that for a link; its target and title are in the block <!-- tests --> at the page's end.

tests/coverage.txt has a line for each statement: an id, the chapters that show it, and what it
says. A test shows a statement by carrying its id as a tag; a chapter by citing such a test.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Iterator, NamedTuple

from weaving.book import Book, Chapter, BookError, Problem, closest
from weaving.page import Page

COVERAGE = "tests/coverage.txt"
STATEMENT = re.compile(r"(?P<id>\S+)\s+(?P<chapters>\d+(?:\s*,\s*\d+)*)\s+\S.*")
CITATION = re.compile(r"\[✓\]\[\s*([^\[\]]+?)\s*\]")
OLD_CITATION = re.compile(r"(?<!\*)\*test:\s+([^*]+?)\s*\*")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LITERALS = rf"((?:{LITERAL}\s*)+)"
TEST_CASE = re.compile(rf"\b(?:TEMPLATE_)?TEST_CASE\s*\(\s*{LITERALS}(?:,\s*{LITERALS})?")
COMMENT_OR_LITERAL = re.compile(rf"//[^\n]*|/\*[\s\S]*?\*/|{LITERAL}|'(?:[^'\\\n]|\\.)+'")
TAG = re.compile(r"\[([A-Z][0-9]+)\]")


class Test(NamedTuple):
    name: str
    tags: frozenset[str]
    path: str
    line: int


class Statement(NamedTuple):
    id: str
    chapters: frozenset[int]
    line: int


def tests_in(book: Book, path: Path) -> list[Test]:
    text = COMMENT_OR_LITERAL.sub(without_comment, book.read(path))
    return [Test(joined(match[1]), frozenset(TAG.findall(match[2] or "")), book.name(path),
                 text.count("\n", 0, match.start()) + 1)
            for match in TEST_CASE.finditer(text)]


def without_comment(match: re.Match[str]) -> str:
    """A test that is commented out shows nothing; the lines keep their numbers."""
    return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])


def joined(literals: str) -> str:
    """The text of string literals that follow each other."""
    parts = re.findall(LITERAL, literals)
    return re.sub(r"\\(.)", r"\1", "".join(part[1:-1] for part in parts))


def cited(page: Page) -> Iterator[tuple[str, int]]:
    for match in CITATION.finditer(page.prose(code=False)):
        yield " ".join(match[1].split()), page.line_of(match.start())


def citable(book: Book, page: Page) -> dict[str, Test]:
    """The tests that a page may cite, by name: those of its chapter, or on the front page all."""
    found: dict[str, Test] = {}
    for path in book.test_files(page.chapter):
        for test in tests_in(book, path):
            found.setdefault(test.name, test)
    return found


def definitions(book: Book, page: Page) -> str:
    """Where the marks of a page lead, in the order of its text: the lines of its block of tests."""
    known, home = citable(book, page), (book.root / page.name).parent
    names = dict.fromkeys(name for name, _ in cited(page) if name in known)
    return "\n".join(definition(known[name], os.path.relpath(book.root, home)) for name in names)


def definition(test: Test, root: str) -> str:
    target = PurePosixPath(root, test.path)
    title = test.name.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{test.name}]: {target}#L{test.line} "{title}"'


def check_citations(book: Book, page: Page) -> Iterator[Problem]:
    known, marks = citable(book, page), list(cited(page))
    for name, line in marks:
        if name not in known:
            where = f"chapter {page.chapter.label}" if page.chapter else "any chapter"
            sentence = f"no test of {where} is named \"{name}\"{closest(name, known)}"
            yield Problem(page.name, line, sentence)
    if marks and len(page.marked("tests")) != 1:
        sentence = "a page that cites tests has one block <!-- tests --> <!-- end --> at its end"
        yield Problem(page.name, marks[0][1], sentence)
    for match in OLD_CITATION.finditer(page.prose(code=False)):
        sentence = f"a citation is a mark after the claim: [✓][{' '.join(match[1].split())}]"
        yield Problem(page.name, page.line_of(match.start()), sentence)


def check_coverage(book: Book, page: Page, chapter: Chapter) -> Iterator[Problem]:
    tests = [test for path in book.test_files(chapter) for test in tests_in(book, path)]
    yield from doubled_names(tests)
    try:
        statements, unread = read_statements(book.read(book.root / COVERAGE))
    except BookError as error:
        yield Problem(COVERAGE, 1, str(error))
        return
    yield from unread
    yield from unknown_tags(tests, {statement.id for statement in statements})
    names = {name for name, _ in cited(page)}
    for statement in statements:
        if chapter.number in statement.chapters:
            yield from check_statement(statement, tests, names, page, chapter)


def read_statements(text: str) -> tuple[list[Statement], list[Problem]]:
    statements, unread = [], []
    for number, line in enumerate(text.splitlines(), 1):
        match = STATEMENT.fullmatch(line.strip())
        if match:
            chapters = frozenset(int(chapter) for chapter in match["chapters"].split(","))
            statements.append(Statement(match["id"], chapters, number))
        elif line.split("#")[0].strip():
            sentence = "this line is not an id, chapter numbers and a statement"
            unread.append(Problem(COVERAGE, number, sentence))
    return statements, unread


def check_statement(statement: Statement, tests: list[Test], names: set[str], page: Page,
                    chapter: Chapter) -> Iterator[Problem]:
    """A statement needs a test that would fail without it, and a sentence that points there."""
    tagged = [test.name for test in tests if statement.id in test.tags]
    if not tagged:
        sentence = f"{statement.id} has no test tagged [{statement.id}] in chapter {chapter.label}"
        yield Problem(COVERAGE, statement.line, sentence)
    elif not names.intersection(tagged):
        sentence = f"{statement.id} is not shown in {page.name}: it cites none of its tests, " \
                   f"such as [✓][{tagged[0]}]"
        yield Problem(COVERAGE, statement.line, sentence)


def unknown_tags(tests: list[Test], known: set[str]) -> Iterator[Problem]:
    for test in tests:
        for tag in sorted(test.tags - known):
            yield Problem(test.path, test.line, f"[{tag}] isn't an id in {COVERAGE}")


def doubled_names(tests: list[Test]) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for test in tests:
        line = first.setdefault((test.path, test.name), test.line)
        if line != test.line:
            sentence = f"the test \"{test.name}\" has the name of the one in line {line}"
            yield Problem(test.path, test.line, sentence)
