"""The numbers in the prose: those that name their value in a program, and all others.

`89.6 %<!-- = running.weights[2][2] -->` names one; it is reported, not rewritten, when the
program says something else, because the sentence around it may have to change with it. Every
other number with decimals or thousands commas must occur in a fence of its page, or be one of
its `<!-- constants: 0.5 2.71828 -->`.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import Any, Iterator, NamedTuple, Optional

from weaving.blocks import ARGUMENTS, CHAPTER, chapter_of, parsed, words_of
from weaving.book import Book, BookError, Problem, closest
from weaving.page import Marker, Page, Span
from weaving.programs import Programs

SIGN = "[-+\u2212]?"
DIGITS = r"(?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?|\d*\.\d+|\d+)"
NUMBER = re.compile(rf"(?<![\w.])({SIGN})({DIGITS}(?:[eE][-+]?\d+)?)(?!\d|\.\d)")
WRITTEN_VALUE = re.compile(
    rf"(?<![\w.])(?P<number>{SIGN}{DIGITS})[`*_$]*(?P<percent>\s?\\?%)?[`*_$]*\s*$"
)
VALUE_IN_CHAPTER = re.compile(r"(?P<path>\S.*?)" + ARGUMENTS)
VALUE_ANYWHERE = re.compile(CHAPTER + VALUE_IN_CHAPTER.pattern)
STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")
LONGEST_VALUE = 60  # a written number and its decorations are shorter

# What looks like a number and is none: targets of links and their definitions, addresses,
# attributes of HTML, the names of tests, which are checked as names, and the sections of papers.
NOT_SAID = re.compile(
    r"""
      (?<=\])\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)? | ^[ ]*\[[^\]]+\]:[^\n]*
    | \[✓\]\[[^\[\]]+\] | [Ss]ection\s+\d+\.\d+ | https?://[^\s)>]+
    | </?[A-Za-z][\w-]*(?:\s+[\w-]+(?:=(?:"[^"]*"|'[^']*'))?)*\s*/?>
    """,
    re.VERBOSE | re.MULTILINE,
)


class Value(NamedTuple):
    """A number in the prose that names what it was taken from."""

    marker: Marker
    written: str
    span: Span
    percent: bool


def plain(number: str) -> str:
    """One spelling for each number: a plain minus, no commas, a digit before the point."""
    bare = number.replace("{,}", "").replace(",", "").replace("\u2212", "-").lstrip("+")
    return re.sub(r"^(-?)\.", r"\g<1>0.", bare)


def without_zeros(number: str) -> str:
    """1.1600, as a program prints it, is the 1.16 of a sentence."""
    return re.sub(r"\.0*$", "", re.sub(r"(\.\d*?)0+$", r"\1", plain(number)))


def written_value(page: Page, marker: Marker) -> Optional[Value]:
    start = max(0, marker.span.start - LONGEST_VALUE)
    match = WRITTEN_VALUE.search(page.text[start : marker.span.start])
    if match is None:
        return None
    span = Span(start + match.start("number"), start + match.end("number"))
    return Value(marker, match["number"], span, bool(match["percent"]))


def check_values(book: Book, programs: Programs, page: Page) -> Iterator[Problem]:
    for marker in page.marked("="):
        value = written_value(page, marker)
        try:
            if value is None:
                raise BookError("expected a number before this marker")
            compare(book, programs, page, value)
        except BookError as error:
            yield Problem(page.name, marker.line, str(error))


def compare(book: Book, programs: Programs, page: Page, value: Value) -> None:
    """@raises BookError when the program says something else, or nothing."""
    form = VALUE_IN_CHAPTER if page.chapter else VALUE_ANYWHERE
    match = parsed(form, value.marker.text, "= name.name[1][2] -- OPTIONS")
    chapter = chapter_of(book, page, match.groupdict().get("chapter"))
    said = number_at(programs.tensors(chapter, words_of(match["arguments"])), match["path"])
    shown, unit = (said * 100, " %") if value.percent else (said, "")
    if not rounds_to(shown, plain(value.written)):
        raise BookError(f"{value.written}{unit} is written, and {match['path']} is {shown}{unit}")


def number_at(value: Any, path: str) -> Decimal:
    """Follows names and indices; a tensor is an object that keeps its numbers in "values"."""
    done = 0
    for step in STEP.finditer(path):
        if step.start() != done:
            break
        done = step.end()
        value = element(value, int(step[1]), path) if step[1] else member(value, step[2], path)
    if done != len(path):
        raise BookError(f"{path} is not a path such as name.name[1][2]")
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise BookError(f"{path} is not a number")
    return Decimal(value)


def member(value: Any, name: str, path: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        known = value if isinstance(value, dict) else ()
        raise BookError(f"{path}: the program names no \"{name}\"{closest(name, known)}")
    return value[name]


def element(value: Any, index: int, path: str) -> Any:
    if isinstance(value, dict) and "values" in value:
        value = value["values"]
    if not isinstance(value, list) or index >= len(value):
        length = f"{len(value)} entries" if isinstance(value, list) else "no entries"
        raise BookError(f"{path}: there are {length} where [{index}] is asked for")
    return value[index]


def rounds_to(value: Decimal, written: str) -> bool:
    """Whether rounding to the decimals written gives what is written; a tie may go both ways."""
    step = Decimal(1).scaleb(-len(written.partition(".")[2]))
    rounded = (value.quantize(step, rounding=way) for way in (ROUND_HALF_UP, ROUND_HALF_DOWN))
    return Decimal(written) in rounded


def check_numbers(page: Page, woven: Page) -> Iterator[Problem]:
    """@param woven the page with its blocks as they should be: what it shows is the evidence."""
    known = shown_numbers(woven.shown()) | declared(page)
    marked = [value.span for marker in page.marked("=")
              if (value := written_value(page, marker)) is not None]
    prose = NOT_SAID.sub(blank, page.prose(without=marked))
    for match in NUMBER.finditer(prose):
        is_claim = "." in match[0] or "," in match[0]
        if is_claim and plain(match[0]) not in known:
            sentence = f"{match[0]} is in no block of this page, and isn't marked"
            yield Problem(page.name, page.line_of(match.start()), sentence)


def shown_numbers(text: str) -> set[str]:
    """Every number of a text, with its sign and without: prose may speak of the size alone."""
    numbers = [spelled for match in NUMBER.finditer(text) for spelled in (match[0], match[2])]
    return {plain(number) for number in numbers} | {without_zeros(number) for number in numbers}


def declared(page: Page) -> set[str]:
    constants = " ".join(marker.text for marker in page.marked("constants"))
    numbers = shown_numbers(constants)
    return numbers | {"-" + number for number in numbers}


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
