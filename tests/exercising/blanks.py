"""The blanks of a chapter: lines that a reader writes again, and how a copy is blanked and filled.

The blanks of a chapter are in tests/exercises/NN_name.txt:

    # a comment
    [3.1 the division]
    lines: [scores] [scaled]
    belongs: pass.scaled: the scores over √d_k; over 1 when scale is false
    names: scale keys
    hint: where to look
    hint: what to think of
    hint: nearly the line
    passes: the name of a test

[...] is the exercise's number and title. `lines:` names one region of the chapter's file, or several that follow each
other; or one function in a region, whose body is the blank: `body of softmax in [softmax]`. `file:` names the file, if
it is not attention.hpp. `belongs:` is what a reader is told who runs into the blank. `names:` are variables that would
be unused without the lines, and are a help besides. `passes:`, which may come several times, is a test that has
nothing to do with the blank, and passes while it is empty; at least one test must fail.

A region is the text between two lines `//! [name]`. Both markers stay in the copy, so that the blank can be found again.

The reader's text is split at \\n and nowhere else (str.splitlines() knows ten more line ends, which C++ doesn't), and a
\\r before it stays with its line: what isn't blanked is kept byte for byte.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from exercising.errors import StaleList

HINTS = 3
WIDTH = 90  # columns of a text in the code, so that lines have 100 at most
INCLUDE = '#include "tests/blank.hpp"'
MARKER = re.compile(r"\s*//!\s*\[([^\]]+)\]\s*")
COMMENT = re.compile(r"\s*//")
BODY = re.compile(r"body of (\S+) in \[([^\]]+)\]")


@dataclass
class Blank:
    number: str  # "3.1"
    title: str
    chapter: str  # "03_scaling"
    place: str  # list and line, for messages
    file: str = "attention.hpp"
    function: str = ""  # whose body is the blank
    regions: list[str] = field(default_factory=list)
    belongs: str = ""
    names: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    passes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.number} {self.title}"


# --- reading a list ----------------------------------------------------------------------------


def read_list(path: Path) -> list[Blank]:
    """The blanks of one chapter. Throws StaleList with the line that cannot be understood."""
    blanks: list[Blank] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        place = f"{path.name}:{number}"
        title = re.fullmatch(r"\[(\d+\.\d+) (.+)\]", line.strip())
        if not line.strip() or line.startswith("#"):
            continue
        if title:
            blanks.append(Blank(title[1], title[2], path.stem, place))
        elif blanks:
            read_line(blanks[-1], line, place)
        else:
            raise StaleList(f"{place}: a line [number title] must come first")
    for count, blank in enumerate(blanks, 1):
        check_blank(blank, f"{int(path.stem[:2])}.{count}")
    return blanks


def read_line(blank: Blank, line: str, place: str) -> None:
    key, _, value = line.partition(":")
    value = value.strip()
    if key in ("file", "belongs") and value:
        setattr(blank, key, value)
    elif key == "names":
        blank.names += value.split()
    elif key in ("hint", "passes") and value:
        getattr(blank, "hints" if key == "hint" else key).append(value)
    elif key == "lines" and value:
        read_place(blank, value, place)
    else:
        raise StaleList(f"{place}: neither [number title], lines:, file:, belongs:, names:, hint: nor passes:, "
                        f"but {line.strip()}")


def read_place(blank: Blank, value: str, place: str) -> None:
    body = BODY.fullmatch(value)
    if body:
        blank.function, blank.regions = body[1], [body[2]]
        return
    blank.regions = re.findall(r"\[([^\]]+)\]", value)
    if not blank.regions or re.sub(r"\[[^\]]+\]\s*", "", value):
        raise StaleList(f"{place}: lines: wants [region]..., or body of NAME in [region], not {value}")


def check_blank(blank: Blank, number: str) -> None:
    if blank.number != number:
        raise StaleList(f"{blank.place}: this is exercise {number}, not {blank.number}")
    if not blank.regions or not blank.belongs:
        raise StaleList(f"{blank.place}: {blank.number} needs lines: and belongs:")
    if len(blank.hints) != HINTS:
        raise StaleList(f"{blank.place}: {blank.number} has {len(blank.hints)} hints, not {HINTS}")


# --- finding the lines -------------------------------------------------------------------------


def span(blank: Blank, lines: list[str]) -> range:
    """The lines of a blank in the text of its file, with the region's own markers outside. Throws StaleList."""
    begin, end = region_span(blank, lines)
    return body_span(blank, lines, begin, end) if blank.function else range(begin, end)


def region_span(blank: Blank, lines: list[str]) -> tuple[int, int]:
    """From the first line of the first region to the last line of the last. In a copy, the markers between several
    regions have gone with the lines, so that the first and the last region may have one marker each."""
    first, last = markers(lines, blank.regions[0]), markers(lines, blank.regions[-1])
    needed = 2 if len(blank.regions) == 1 else 1
    for region, found in ((blank.regions[0], first), (blank.regions[-1], last)):
        if not needed <= len(found) <= 2:
            raise StaleList(f"{blank.place}: {blank.number}: {blank.chapter}/{blank.file} needs two lines //! [{region}]")
    begin, end = first[0] + 1, last[-1]
    if begin >= end:
        raise StaleList(f"{blank.place}: {blank.number}: the regions come in another order in {blank.chapter}/{blank.file}")
    return begin, end


def markers(lines: list[str], region: str) -> list[int]:
    found = ((number, MARKER.fullmatch(line)) for number, line in enumerate(lines))
    return [number for number, marker in found if marker and marker[1] == region]


def body_span(blank: Blank, lines: list[str], begin: int, end: int) -> range:
    """The text between a function's braces, or everything after a constructor's parameters."""
    called = re.compile(rf"(^|[\s:~]){re.escape(blank.function)}\(")
    for start in range(begin, end):
        if called.search(lines[start]) and not COMMENT.match(lines[start]):
            first = after_parameters(lines, start, end)
            last = closing_brace(lines, first, end, indent_of(lines[start]))
            if last is not None:
                return range(first, last + is_constructor(lines, first))
    raise StaleList(f"{blank.place}: {blank.number}: {blank.chapter}/{blank.file} has no function {blank.function} "
                    f"in [{blank.regions[0]}]")


def after_parameters(lines: list[str], start: int, end: int) -> int:
    for number in range(start, end):
        if lines[number].rstrip().endswith("{"):
            return number + 1
        if is_constructor(lines, number + 1):
            return number + 1
    return end


def is_constructor(lines: list[str], number: int) -> bool:
    """Whether a list of members begins here."""
    return number < len(lines) and lines[number].lstrip().startswith(": ")


def closing_brace(lines: list[str], first: int, end: int, indent: str) -> Optional[int]:
    """The line of the function's last brace."""
    for number in range(first, end):
        if lines[number].rstrip() == indent + "}" or lines[number].rstrip().endswith("{}"):
            return number
    return None


def indent_of(line: str) -> str:
    return line[:len(line) - len(line.lstrip())]


# --- blanking ----------------------------------------------------------------------------------


def blanked(blank: Blank, text: str) -> str:
    """The text with a call of blank() in place of the lines. Throws StaleList when they are not found."""
    lines = text.split("\n")
    found = span(blank, lines)
    first = lines[found.start]
    placeholder = statement(blank, indent_of(first))
    if is_constructor(lines, found.start):
        outer = indent_of(first)[:-4]
        placeholder = [outer + "{", *statement(blank, outer + "  "), outer + "}"]
    lines[found.start:found.stop] = [line + carriage_return(first) for line in placeholder]
    return with_include("\n".join(lines))


def statement(blank: Blank, indent: str) -> list[str]:
    """The call that stands in for the lines."""
    belongs = blank.belongs.replace("\\", "\\\\").replace('"', '\\"')
    parts = textwrap.wrap(belongs, WIDTH - len(indent), drop_whitespace=False)
    words = [f'"{blank.name}"', "\n     ".join(f'"{part}"' for part in parts)]
    if blank.names:
        words.append(", ".join(blank.names))
    return textwrap.indent("blank(" + ",\n     ".join(words) + ");", indent).split("\n")


def with_include(text: str) -> str:
    """The text that also includes what declares blank()."""
    lines = text.split("\n")
    if not any(line.rstrip() == INCLUDE for line in lines):
        last = max((number for number, line in enumerate(lines) if line.startswith("#include")), default=0)
        lines.insert(last + 1, INCLUDE + carriage_return(lines[last]))
    return "\n".join(lines)


def carriage_return(line: str) -> str:
    """Lines of a file end as its other lines do."""
    return "\r" if line.endswith("\r") else ""


# --- what is in a copy -------------------------------------------------------------------------


def call_span(blank: Blank, lines: list[str]) -> Optional[range]:
    """The lines of the call of blank() in a copy, with its braces; None if it is gone."""
    opening = re.compile(rf'\s*blank\(\s*"{re.escape(blank.number)}[ "]')
    for start, line in enumerate(lines):
        if opening.match(line):
            for end in range(start, len(lines)):
                if lines[end].rstrip().endswith(");"):
                    return range(start, end + 1)
    return None


def is_empty(blank: Blank, text: str) -> bool:
    return call_span(blank, text.split("\n")) is not None


def book_lines(blank: Blank, book_text: str) -> list[str]:
    """The lines as the book has them, without region markers."""
    lines = book_text.split("\n")
    return [lines[number] for number in span(blank, lines) if not MARKER.fullmatch(lines[number])]


def size(blank: Blank, book_text: str) -> int:
    """How many lines of code the blank takes."""
    return sum(bool(line.strip()) and not COMMENT.match(line) for line in book_lines(blank, book_text))


def filled(blank: Blank, text: str, book_text: str, name: str = "") -> str:
    """The copy with the solution in place of the call. With a name, later lines keep their numbers.

    Without a call, or when the braces around a constructor's have been changed, the copy stays as it is.
    """
    lines = text.split("\n")
    found = call_span(blank, lines)
    if found is None:
        return text
    new = book_lines(blank, book_text)
    if is_constructor(new, 0):
        opening, closing = lines[found.start - 1], lines[found.stop:][:1]
        if opening.strip() != "{" or closing != [opening.replace("{", "}")]:
            return text
        found = range(found.start - 1, found.stop + 1)
    if name:
        new = new + [f'#line {found.stop + 1} "{name}"']
    lines[found.start:found.stop] = new
    return "\n".join(lines)
