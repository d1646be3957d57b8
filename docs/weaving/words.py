"""The house words: what the book once said where the field has a word, and what to write.

docs/words.txt has the words and the exceptions, docs/unrevised.txt what is not held to them yet. They are
looked for in texts, comments, names, messages and what programs print; not in listings and diffs, which
come from the code, nor in the names of tests that a text cites.
"""

from __future__ import annotations

import functools
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple

from weaving.book import Book, BookError, Place, Problem
from weaving.citations import CITATION
from weaving.page import Page, Span, blanked
from weaving.revision import is_revised

FILE = "docs/words.txt"
FOLDERS = ("chapters", "common", "docs", "tests")
SUFFIXES = {"", ".cmake", ".cpp", ".css", ".dot", ".hpp", ".html", ".js", ".md", ".py", ".svg", ".txt"}
LEFT_OUT = {FILE, "docs/unrevised.txt", "docs/weaving/tiny_book.py", "docs/test_weave.py"}  # they quote the words
CODE = {".cpp", ".hpp", ".js"}
ENTRY = re.compile(r"(?P<kind>word|name)\s+(?P<pattern>\S.*?) -> (?P<better>\S.*)")
EXCEPTION = re.compile(r"except\s+(?P<files>\S+) \| (?P<words>\S.*?) \| (?P<reason>\S.*)")
LEADER = re.compile(r"(?m)^[ \t]*(?:///?<?|//!|\#|\*(?!\*)|>)[ \t]?|\"[ \t]*\n[ \t]*\"")
CODE_FENCE = re.compile(r"(?m)^[ \t]*(`{3,})(?:cpp|diff)\n(?:.*\n)*?[ \t]*\1[ \t]*$")
SMALL = {code: chr(code).lower() for code in range(0x500) if chr(code).isupper() and len(chr(code).lower()) == 1}
NOT_NAMES = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|^[ \t]*#[^\n]*", re.M)


class Word(NamedTuple):
    pattern: re.Pattern[str]
    better: str
    is_name: bool


class Exemption(NamedTuple):
    files: str
    words: re.Pattern[str]
    line: int


class Rules(NamedTuple):
    words: list[Word]
    exceptions: list[Exemption]


@functools.lru_cache(maxsize=None)
def rules(book: Book) -> Rules:
    """@raises BookError when a line of the list cannot be read"""
    path, words, exceptions = book.root / FILE, [], []
    for number, line in enumerate(book.read(path).splitlines() if path.exists() else (), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry, exception = ENTRY.fullmatch(line), EXCEPTION.fullmatch(line)
        if entry:
            words.append(Word(compiled(entry, number), entry["better"], entry["kind"] == "name"))
        elif exception:
            exceptions.append(Exemption(exception["files"], spaced(re.escape(spoken(exception["words"]))), number))
        else:
            raise BookError(f"line {number} is not \"word PATTERN -> BETTER\", \"name PATTERN -> BETTER\" "
                            "or \"except FILES | WORDS | REASON\"")
    return Rules(words, exceptions)


def compiled(entry: re.Match[str], number: int) -> re.Pattern[str]:
    pattern = entry["pattern"]
    before = r"\b" if re.match(r"[\w(\[\\]", pattern) and not pattern.startswith("(?<") else ""
    try:
        if entry["kind"] == "name":
            return re.compile(rf"\b(?:{pattern})\b")
        return spaced(rf"{before}(?:{pattern})(?!\w)")
    except re.error as error:
        raise BookError(f"line {number} has a pattern that cannot be read: {error}") from error


def spaced(pattern: str) -> re.Pattern[str]:
    """A blank of the pattern is any number of them; see `spoken`."""
    return re.compile(re.sub(r"\\? (?!\])", " +", pattern))


def spoken(text: str) -> str:
    """In small letters, with a blank for each end of a line and each underscore: every character stays where it is."""
    return re.sub(r"[\s_]", " ", text).translate(SMALL)


def files(book: Book) -> Iterator[Path]:
    """Every text of the repository that is written in words."""
    yield from (path for path in sorted(book.root.glob("*.md")))
    for folder in FOLDERS:
        for path in sorted((book.root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
                yield path


def files_of(book: Book, place: Place) -> Iterator[Path]:
    """Those that belong to a page: all of a chapter's, which its number begins; else the page alone."""
    for path in files(book):
        parts = Path(book.name(path)).parts
        if path == place.readme or place.chapter and any(part.startswith(f"{place.chapter.label}_") for part in parts):
            yield path


def check_words(book: Book, paths: Iterable[Path], everywhere: bool = False) -> Iterator[Problem]:
    """@param everywhere also in what is not revised yet"""
    try:
        known = rules(book)
    except BookError as error:
        yield Problem(FILE, 1, str(error))
        return
    for path in paths:
        if book.name(path) not in LEFT_OUT and (everywhere or is_revised(book, path)):
            yield from words_in(book, path, known)


def check_exceptions(book: Book) -> Iterator[Problem]:
    """An exception that nothing needs any more goes."""
    try:
        exceptions = rules(book).exceptions
    except BookError:
        return  # reported with the words
    for exception in exceptions:
        texts = (plain(book, path) for path in files(book)
                 if fnmatch(book.name(path), exception.files) and book.name(path) not in LEFT_OUT)
        if not any(exception.words.search(spoken(text)) for text in texts):
            yield Problem(FILE, exception.line, "nothing has these words: the exception is not needed")


def words_in(book: Book, path: Path, known: Rules) -> Iterator[Problem]:
    try:
        text = plain(book, path)
    except BookError as error:
        yield Problem(book.name(path), 1, str(error))
        return
    name = book.name(path)
    exempt = [match.span() for exception in known.exceptions if fnmatch(name, exception.files)
              for match in exception.words.finditer(spoken(text))]
    names = names_in(book.read(path)) if path.suffix in CODE else ""
    for word, match in matches(spoken(text), names, known.words):
        if not any(start < match.end() and match.start() < end for start, end in exempt):
            found = " ".join(text[match.start() : match.end()].split())
            line = text.count("\n", 0, match.start()) + 1
            yield Problem(name, line, f"‘{found}’: write ‘{word.better}’")


def matches(said: str, names: str, words: list[Word]) -> Iterator[tuple[Word, re.Match[str]]]:
    """In the order of the list; what one word has found no other finds again."""
    taken: list[tuple[int, int]] = []
    for word in words:
        for match in word.pattern.finditer(names if word.is_name else said):
            if not any(start < match.end() and match.start() < end for start, end in taken):
                taken.append(match.span())
                yield word, match


def names_in(code: str) -> str:
    """The code without comments, strings and directives."""
    return NOT_NAMES.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


@functools.lru_cache(maxsize=None)
def plain(book: Book, path: Path) -> str:
    """The words of a file where they are: no signs of comments at the beginnings of lines, and no code in a text."""
    text = book.read(path)
    if path.suffix == ".md":
        page = Page(book.name(path), text)
        spans = [block.body for block in page.blocks if block.marker.word == "tests"]
        spans += [Span(*match.span()) for form in (CITATION, CODE_FENCE) for match in form.finditer(text)]
        return blanked(text, spans)
    return LEADER.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
