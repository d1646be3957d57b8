"""A README as the tools see it: its markers, its generated blocks, its prose.

Markers are HTML comments of the form `<!-- word: ... -->`, `<!-- word -->` or `<!-- = ... -->`.
Any other comment is a remark. Nothing inside a fence or inline code is a marker.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Iterable, Iterator, NamedTuple, Optional

from weaving.book import Chapter, Problem, closest

BLOCK_WORDS = ("listing", "output", "command", "diff", "figure", "live", "chapters", "tests", "defined")
WORDS = (*BLOCK_WORDS, "end", "changes", "constants", "graph", "=")

TOKEN = re.compile(
    r"""
      ^[ \t>]*(?P<ticks>`{3,}|~{3,})(?P<language>[^\n`~]*)\n   # a fence, to its equal
        (?:.*\n)*?[ \t>]*(?:(?P=ticks)[`~]*[ \t]*$|(?P<open>.*\Z))
    | <!--(?P<comment>[\s\S]*?)-->
    | (?<![\\`])(?P<code>`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S])+?(?<!`)(?P=code)(?!`)
    """,
    re.VERBOSE | re.MULTILINE,
)
MARKER = re.compile(r"(=|[A-Za-z][\w-]*(?=:|$)):?\s*(.*)", re.S)


class Span(NamedTuple):
    """A piece of the page's text, as positions in it."""

    start: int
    end: int


@dataclass(frozen=True)
class Marker:
    word: str
    text: str  # what follows the word
    span: Span
    line: int


@dataclass(frozen=True)
class Block:
    """A marker and the text between it and its `<!-- end -->`."""

    marker: Marker
    body: Span
    indentation: str


class Page:
    """One text of the book. It holds no state that a change of the text would leave behind."""

    def __init__(self, name: str, text: str, chapter: Optional[Chapter] = None):
        self.name, self.text, self.chapter = name, text, chapter
        self.problems: list[Problem] = []
        self.markers: list[Marker] = []
        self._comments: list[Span] = []
        self._fences: list[Span] = []
        self._code: list[Span] = []
        for token in TOKEN.finditer(text):
            self._take(token)
        self.blocks = list(self._pair_blocks())

    def _take(self, token: re.Match[str]) -> None:
        if token["comment"] is not None:
            self._comments.append(Span(*token.span()))
            self._take_marker(token)
        elif token["code"]:
            self._code.append(Span(*token.span()))
        else:
            self._take_fence(token)

    def _take_marker(self, token: re.Match[str]) -> None:
        match = MARKER.fullmatch(re.sub(r"\s*\n\s*", " ", token["comment"]).strip())
        if match is None:
            return
        line = self.line_of(token.start())
        if match[1] in WORDS:
            self.markers.append(Marker(match[1], match[2], Span(*token.span()), line))
        else:
            self._report(line, f"no marker is called \"{match[1]}\"{closest(match[1], WORDS)}")

    def _take_fence(self, token: re.Match[str]) -> None:
        """A fence of formulas counts as prose: its numbers are claims, not what a program says."""
        if token["open"] is not None:
            self._report(self.line_of(token.start("ticks")), "this fence is never closed")
        if token["language"].strip() != "math":
            self._fences.append(Span(*token.span()))

    def _report(self, line: int, sentence: str) -> None:
        self.problems.append(Problem(self.name, line, sentence))

    def _pair_blocks(self) -> Iterator[Block]:
        opened: Optional[Marker] = None
        for marker in self.markers:
            if marker.word in BLOCK_WORDS:
                self._report_unended(opened)
                opened = self._alone(marker)
            elif marker.word == "end" and self._alone(marker):
                if opened is None:
                    self._report(marker.line, "this <!-- end --> ends no block")
                else:
                    yield self._block(opened, marker)
                opened = None
        self._report_unended(opened)

    def _report_unended(self, opened: Optional[Marker]) -> None:
        if opened:
            self._report(opened.line, f"this {opened.word} block has no <!-- end -->")

    def _alone(self, marker: Marker) -> Optional[Marker]:
        """The marker if it has its lines to itself, so that what it holds can be replaced."""
        before = self.text[self._line_start(marker.span.start) : marker.span.start]
        after = self.text[marker.span.end :].split("\n", 1)[0]
        if not (before + after).strip():
            return marker
        self._report(marker.line, f"the marker \"{marker.word}\" needs a line to itself")
        return None

    def _block(self, opened: Marker, end: Marker) -> Block:
        start = self._line_start(opened.span.start)
        body = Span(opened.span.end, self._line_start(end.span.start))
        return Block(opened, body, self.text[start : opened.span.start])

    def _line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def line_of(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def body_of(self, block: Block) -> str:
        return self.text[block.body.start : block.body.end]

    def with_bodies(self, bodies: Iterable[Optional[str]]) -> Page:
        """The same page with other bodies in its blocks; None leaves a block as it is."""
        pieces, done = [], 0
        for block, body in zip(self.blocks, bodies):
            if body is not None:
                pieces += [self.text[done : block.body.start], framed(block, body)]
                done = block.body.end
        return Page(self.name, "".join(pieces) + self.text[done:], self.chapter)

    def marked(self, word: str) -> list[Marker]:
        return [marker for marker in self.markers if marker.word == word]

    def prose(self, without: Iterable[Span] = (), code: bool = True) -> str:
        """The page with blanks for its fences and comments: positions and lines stay the same."""
        spans = [*self._fences, *self._comments, *without]
        return blanked(self.text, spans if code else spans + self._code)

    def prose_outside_blocks(self) -> str:
        return self.prose(without=[block.body for block in self.blocks], code=False)

    def shown(self) -> str:
        """The contents of fences: what programs print and what the code says."""
        return "\n".join(self.text[span.start : span.end] for span in self._fences)


def framed(block: Block, body: str) -> str:
    return "\n" + textwrap.indent(body, block.indentation) + "\n"


def fenced(language: str, content: str) -> str:
    """A fence that is longer than any in the content. Blanks at the ends of lines are dropped."""
    lines = [line.rstrip() for line in content.splitlines()]
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    ticks = "`" * max(3, longest + 1)
    return "\n".join([ticks + language, *lines, ticks])


def blanked(text: str, spans: Iterable[Span]) -> str:
    pieces, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            pieces += [text[done:start], re.sub(r"[^\n]", " ", text[max(start, done) : end])]
            done = end
    return "".join(pieces) + text[done:]
