"""What one chapter's mechanism changes in the one before, region by region.

The files are compared with their region markers, which keep the comparison from pairing a
brace of one function with the brace of another; then the markers are left out.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple

from weaving.book import Book, Chapter, BookError, Problem
from weaving.page import Page
from weaving.regions import Regions

DIFF_MARKER = re.compile(r"\[(?P<region>[^\]]+)\]")
HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)
COMPARE = ("git -c core.attributesFile= diff --no-index --no-color --no-ext-diff --no-textconv "
           "--text --unified=0 --inter-hunk-context=0 --diff-algorithm=histogram "
           "--indent-heuristic old new").split()
ELLIPSIS = "..."


@dataclass(frozen=True)
class Line:
    """A line of the comparison; `homes` are the regions whose change it is part of."""

    sign: str  # "+", "-", or " " for a line that both files have
    text: str
    number: int  # where to look in the new file, from 1
    run: int = -1
    homes: frozenset[str] = frozenset()


class Run(NamedTuple):
    """Neighbouring lines that changed, counted from 0 in each file."""

    old: range
    new: range


class Changes:
    """Every line of two mechanisms, in the order of a diff, without region markers."""

    def __init__(self, old: Regions, new: Regions):
        self._old, self._new = old, new
        self.lines = list(self._compare())

    def _compare(self) -> Iterator[Line]:
        done = 0
        for index, run in enumerate(changed_runs(self._old.lines, self._new.lines)):
            yield from self._shared(range(done, run.new.start))
            yield from self._removed(index, run)
            yield from self._added(index, run)
            done = run.new.stop
        yield from self._shared(range(done, len(self._new.lines)))

    def _shared(self, numbers: range) -> Iterator[Line]:
        for number in numbers:
            if not self._new.is_marker(number):
                yield Line(" ", self._new.lines[number], number + 1)

    def _added(self, index: int, run: Run) -> Iterator[Line]:
        for number in run.new:
            if not self._new.is_marker(number):
                homes = self._new.around_line(number)
                yield Line("+", self._new.lines[number], number + 1, index, homes)

    def _removed(self, index: int, run: Run) -> Iterator[Line]:
        for number in run.old:
            if not self._old.is_marker(number):
                homes = self._homes_of_removed(number, run)
                yield Line("-", self._old.lines[number], run.new.start + 1, index, homes)

    def _homes_of_removed(self, number: int, run: Run) -> frozenset[str]:
        """A removed line belongs where it was, and where the new file has something else."""
        places = range(run.new.start, run.new.stop + 1)
        taken = (self._new.around_gap(place) for place in places)
        return self._old.around_line(number).union(*taken)

    def of_region(self, name: str) -> str:
        """The hunks of a region, with a line of context; empty when nothing changed there."""
        changed = [index for index, line in enumerate(self.lines) if name in line.homes]
        shown = sorted({near for index in changed for near in self._with_context(index)})
        printed, before = [], None
        for index in shown:
            if before is not None and index > before + 1:
                printed.append(ELLIPSIS)
            printed.append(self.lines[index].sign + self.lines[index].text)
            before = index
        return "\n".join(printed)

    def _with_context(self, index: int) -> Iterator[int]:
        yield index
        for near in (index - 1, index + 1):
            if 0 <= near < len(self.lines) and self._is_context(self.lines[near]):
                yield near

    @staticmethod
    def _is_context(line: Line) -> bool:
        return line.sign == " " and bool(line.text.strip())

    def unexplained(self, explained: Iterable[str]) -> Iterator[Line]:
        """The first line of each change that no region of `explained` shows."""
        known, reported = frozenset(explained), -1
        for line in self.lines:
            if line.sign != " " and line.text.strip() and not line.homes & known \
                    and not self._in_file_comment(line):
                if line.run != reported:
                    yield line
                reported = line.run

    def _in_file_comment(self, line: Line) -> bool:
        """The comment at a file's top says what the chapter adds, so it differs in each."""
        first_region = next((n for n in range(len(self._new.lines)) if self._new.is_marker(n)), 0)
        return line.number <= first_region and line.text.startswith("//")


def changed_runs(old: list[str], new: list[str]) -> Iterator[Run]:
    for match in HUNK.finditer(difference(old, new)):
        yield Run(lines_from(match[1], match[2]), lines_from(match[3], match[4]))


def lines_from(first: bytes, count: bytes | None) -> range:
    """A hunk's header counts from 1, and names the line before a place that has no lines."""
    length = 1 if count is None else int(count)
    start = int(first) - 1 if length else int(first)
    return range(start, start + length)


def difference(old: list[str], new: list[str]) -> bytes:
    """git's comparison with every choice made here, so that nobody's settings change the book."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("GIT_")}
    environment.update(GIT_CONFIG_NOSYSTEM="1", GIT_ATTR_NOSYSTEM="1", HOME=os.devnull,
                       XDG_CONFIG_HOME=os.devnull, GIT_CEILING_DIRECTORIES=os.sep)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "old").write_text("\n".join(old) + "\n", encoding="utf-8")
        Path(folder, "new").write_text("\n".join(new) + "\n", encoding="utf-8")
        try:
            compared = subprocess.run(COMPARE, cwd=folder, env=environment, capture_output=True)
        except OSError as error:
            raise BookError(f"git cannot be run: {error.strerror}") from error
    if compared.returncode not in (0, 1):
        raise BookError(f"git diff failed: {' '.join(compared.stderr.decode().split())}")
    return compared.stdout


@functools.lru_cache(maxsize=None)
def mechanism_changes(book: Book, chapter: Chapter) -> Changes:
    previous = book.previous(chapter)
    if previous is None:
        raise BookError(f"chapter {chapter.label} has no chapter before it to differ from")
    return Changes(mechanism_regions(book, previous), mechanism_regions(book, chapter))


def mechanism_regions(book: Book, chapter: Chapter) -> Regions:
    return Regions(book.name(chapter.mechanism), book.read(chapter.mechanism))


def check_changes(book: Book, page: Page, chapter: Chapter) -> Iterator[Problem]:
    """Every change of the mechanism is in a region that the page shows as a diff."""
    if book.previous(chapter) is None:
        return
    name = book.name(chapter.mechanism)
    try:
        changes = mechanism_changes(book, chapter)
    except BookError as error:
        yield Problem(name, 1, str(error))
        return
    for place, sentence in mechanism_regions(book, chapter).broken.values():
        yield Problem(name, place + 1, sentence)
    shown = [DIFF_MARKER.fullmatch(marker.text) for marker in page.marked("diff")]
    for line in changes.unexplained(match["region"] for match in shown if match):
        change = f"{line.sign} {line.text.strip()}"
        yield Problem(name, line.number, f"no diff block of {page.name} shows the change: {change}")
