"""Named regions of a C++ file: from a line `//! [name]` to the next such line."""

from __future__ import annotations

import re
import textwrap

from weaving.book import BookError, closest

MARKER = re.compile(r"\s*//!\s*\[([^\]]+)\]\s*")
COMMENT = re.compile(r"\s*//")


class Regions:
    """Where the regions of one file begin and end. Lines count from 0, as in the list."""

    def __init__(self, file_name: str, text: str):
        self.file_name = file_name
        self.lines = text.splitlines()
        self.spans: dict[str, tuple[int, int]] = {}
        self.broken: dict[str, tuple[int, str]] = {}
        for name, places in self._places().items():
            self._add(name, places)
        self._find_crossings()

    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines):
            marker = MARKER.fullmatch(line)
            if marker:
                places.setdefault(marker[1], []).append(number)
        return places

    def _add(self, name: str, places: list[int]) -> None:
        region = f"{self.file_name}: the region [{name}]"
        if len(places) == 2:
            self.spans[name] = (places[0], places[1])
        elif len(places) == 1:
            self.broken[name] = (places[0], f"{region} is opened and not closed")
        else:
            self.broken[name] = (places[2], f"{region} has {len(places)} marker lines, not two")

    def _find_crossings(self) -> None:
        """Only one of two regions that cross is called broken: mending it mends both."""
        for name, (begin, end) in list(self.spans.items()):
            for other, (other_begin, other_end) in list(self.spans.items()):
                if begin < other_begin < end < other_end:
                    sentence = f"{self.file_name}: the regions [{name}] and [{other}] cross"
                    self.broken[other] = (other_begin, sentence)

    def is_marker(self, number: int) -> bool:
        return MARKER.fullmatch(self.lines[number]) is not None

    def around_line(self, number: int) -> frozenset[str]:
        return frozenset(name for name, (begin, end) in self.spans.items() if begin < number < end)

    def around_gap(self, number: int) -> frozenset[str]:
        """The regions open between the line before `number` and `number` itself."""
        return frozenset(name for name, (begin, end) in self.spans.items() if begin < number <= end)

    def listing(self, name: str, without_comments: bool = False) -> str:
        """The lines of a region as a reader sees them: no markers, no common indentation."""
        self.require(name)
        begin, end = self.spans[name]
        lines = [line for line in self.lines[begin + 1 : end] if not MARKER.fullmatch(line)]
        if without_comments:
            lines = [line for line in lines if not COMMENT.match(line)]
        return textwrap.dedent("\n".join(lines)).strip("\n")

    def require(self, name: str) -> None:
        if name in self.broken:
            raise BookError(self.broken[name][1])
        if name not in self.spans:
            raise BookError(f"{self.file_name} has no region [{name}]{closest(name, self.spans)}")
