"""What a try came to, in the reader's words.

A try builds the chapter's tests with the reader's copy, runs them, and shows the first that fails: its sentence, what it
got and wanted, what the mistake looks like, and where the test stands. A test that fails because it ran into a hole that
is still empty comes last: it says nothing about what is written.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from exercising import compiler, sanitizers
from exercising.book import Chapter
from exercising.copies import Copies
from exercising.holes import Hole
from exercising.processes import Finished, never
from exercising.progress import Progress
from exercising.results import Failure, Results, Test
from exercising.screen import Line
from exercising.trees import SLOWER, TIME_LIMIT, Workshop

OTHERS = 3  # names of further failing tests that are shown
LOOKS_LIKE = "This looks like:"
EXPLAINED = re.compile(rf"{LOOKS_LIKE}|Its shape is |\d+ of \d+ entries are wrong")
STILL_EMPTY = " is still empty. What belongs there: "


@dataclass
class Verdict:
    """`kind` is missing, broken, endless, crashed, failed, empty (what is written passes) or passed."""

    kind: str
    lines: list[Line] = field(default_factory=list)
    details: list[Line] = field(default_factory=list)  # what --verbose adds
    news: list[Hole] = field(default_factory=list)  # what has passed for the first time

    @property
    def calls_for_sanitizers(self) -> bool:
        return self.kind in ("passed", "crashed") or bool(self.news)


class Judge:
    """Tries copies, and writes down what passes."""

    def __init__(self, root: Path, copies: Copies, progress: Progress, workshop: Workshop):
        self.root, self.copies, self.progress, self.workshop = root, copies, progress, workshop

    # --- which holes ---------------------------------------------------------------------------

    def started(self, chapter: Chapter) -> list[Hole]:
        """Those that the reader has begun: by what is written down, or by what is in the copy."""
        return [hole for hole in chapter.holes
                if self.progress.is_started(hole) or self.copies.is_empty(chapter, hole)]

    def empty(self, chapter: Chapter) -> list[Hole]:
        return [hole for hole in chapter.holes if self.copies.is_empty(chapter, hole)]

    def current(self, chapter: Chapter) -> Optional[Hole]:
        """The first that is begun and not passed."""
        return next((hole for hole in self.started(chapter) if not self.progress.is_passed(hole)), None)

    # --- trying --------------------------------------------------------------------------------

    def judge(self, chapter: Chapter, say: Callable[[str], None] = print, stop: Callable[[], bool] = never) -> Verdict:
        missing = self.copies.missing(chapter)
        if missing:
            return self._missing(chapter, missing[0])
        empty, tree = self.empty(chapter), self.workshop.quick
        with self.workshop.lock(lambda: say("waiting for another ./tests/exercise that builds")):
            self.workshop.prepare(chapter, empty)
            say("building" if tree.is_ready else "building for the first time: half a minute")
            tree.configure(stop)
            built = tree.build(chapter.name, stop)
            if built.code:
                return self._broken(chapter, built, empty)
            say("testing")
            results, done = tree.test(chapter.name, stop=stop)
        return self._tested(chapter, results, done, built, empty)

    def _tested(self, chapter: Chapter, results: Results, done: Finished, built: Finished, empty: list[Hole]) -> Verdict:
        if done.too_long:
            return self._endless(results)
        if results.interrupted or not results.complete or (done.code and not results.failing):
            return self._crashed(results, done)
        if results.failing:
            verdict = self._failed(results)
            verdict.lines += self._warned(built)
            return verdict
        return self._passed(chapter, results, empty)

    # --- what came of it -----------------------------------------------------------------------

    def _missing(self, chapter: Chapter, file: str) -> Verdict:
        return Verdict("missing", [
            Line(f"{self.name(self.copies.path(chapter, file))} is gone.", "bad"),
            Line(f"A new copy, with the holes you have started: ./tests/exercise reset {chapter.number}")])

    def _broken(self, chapter: Chapter, built: Finished, filled: list[Hole]) -> Verdict:
        output = built.output + built.errors
        error = compiler.first_error(output, self.copies.folder / chapter.name)
        details = [Line(compiler.without_ninja(output), wrap=False)]
        if error is None:
            reason = compiler.linker_error(output) or (compiler.without_ninja(output).splitlines() or ["no reason given"])[-1]
            return Verdict("broken", [Line("It does not build.", "bad"), Line(reason, indent=2)], details)
        lines = [Line("It does not compile.", "bad"), Line(f"{self.name(error.path)}:{error.line}", "name", indent=2),
                 Line(error.text, indent=2), *(Line(row, indent=2, wrap=False) for row in error.source)]
        if self.copies.folder not in error.path.parents:
            lines.append(Line("The place is not in your file: the tests, or the libraries, do not find in your copy what "
                              "they call. Is something renamed, deleted, or of another type?"))
        elif filled:
            lines.append(Line(f"(For this try, {names(filled)}, still empty, had the book's lines.)", "faint"))
        return Verdict("broken", lines, details)

    def _endless(self, results: Results) -> Verdict:
        return Verdict("endless", [
            Line(f"It ran longer than {TIME_LIMIT} s and was stopped: this looks like an endless loop.", "bad"),
            *during(results)])

    def _crashed(self, results: Results, done: Finished) -> Verdict:
        return Verdict("crashed", [Line(f"The tests crashed: {ending(results, done)}.", "bad"), *during(results)],
                       [Line(done.errors, wrap=False)])

    def _failed(self, results: Results) -> Verdict:
        details = [line for test in results.failing for line in everything(test, self.name)]
        return Verdict("failed", summary(results, self.name), details)

    def _warned(self, built: Finished) -> list[Line]:
        warning = compiler.first_warning(built.output, self.copies.folder)
        if warning is None:
            return []
        return [Line(), Line(f"The compiler warns, {self.name(warning.path)}:{warning.line}: {warning.text}")]

    def _passed(self, chapter: Chapter, results: Results, empty: list[Hole]) -> Verdict:
        written = [hole for hole in self.started(chapter) if hole not in empty]
        news = [hole for hole in written if not self.progress.is_passed(hole)]
        self.progress.set_passed(news, True)
        lines = [Line(f"✓ {hole.name}", "good") for hole in news]
        if not empty:
            count = counted(len(results.passing), "test passes", "tests pass")
            return Verdict("passed", [*lines, Line(f"✓ {count}: {chapter.title}, is right.", "good")], news=news)
        first = empty[0]
        place = f"{self.name(self.copies.path(chapter, first.file))}:{self.copies.line(chapter, first)}"
        return Verdict("empty", [*lines, Line(f"{first.name} is still empty.", "name"), Line(place, indent=2),
                                 Line(f"What belongs there: {first.belongs}", indent=2)], news=news)

    def name(self, path: Path) -> str:
        """A path as the reader types it in the book's folder."""
        return str(path.relative_to(self.root)) if self.root in path.parents else str(path)

    # --- the second pass -------------------------------------------------------------------------

    def sanitize(self, chapter: Chapter, say: Callable[[str], None] = print, stop: Callable[[], bool] = never) -> Verdict:
        """The same once more, built with the sanitizers. What was prepared for `judge` is what is tried."""
        tree = self.workshop.sanitized
        with self.workshop.lock(lambda: say("waiting for another ./tests/exercise that builds")):
            say("building with the sanitizers" + ("" if tree.is_ready else ": a minute or two the first time"))
            tree.configure(stop)
            built = tree.build(chapter.name, stop)
            if built.code:
                return self._broken(chapter, built, [])
            say("testing with the sanitizers")
            results, done = tree.test(chapter.name, SLOWER * TIME_LIMIT, stop)
        return self._sanitized(chapter, results, done)

    def _sanitized(self, chapter: Chapter, results: Results, done: Finished) -> Verdict:
        output = done.errors + done.output
        report = sanitizers.report(output)
        if not report:
            clean = done.code == 0 and results.complete
            return Verdict("passed" if clean else "failed", [
                Line("The sanitizers found no wrong access and no undefined behaviour.", "good") if clean
                else Line("The sanitizers found nothing that they could name.")])
        lines = [Line(f"The sanitizers report: {report}", "bad"), Line(f"It means: {sanitizers.meaning(report)}", indent=2)]
        place = sanitizers.place(output, self.copies.folder / chapter.name)
        if place:
            lines.append(Line(f"{self.name(place[0])}:{place[1]}", "name", indent=2))
        return Verdict("failed", [*lines, *during(results)], [Line(done.errors, wrap=False)])


# --- a failure in words ------------------------------------------------------------------------


def summary(results: Results, name: Callable[[Path], str]) -> list[Line]:
    """The first failing test with all that helps, and the names of a few others."""
    failing = sorted(results.failing, key=ran_into_a_hole)
    first, others = failing[0], failing[1:]
    failure = most_telling(first)
    lines = [Line(f"✗ {first.name}", "bad"), *(Line(line.text, line.style, 2, line.wrap) for line in told(failure)),
             Line(f"{name(Path(failure.file))}:{failure.line}", "faint", indent=2), *other_guesses(first, others), Line(),
             Line(f"{counted(len(results.passing), 'test passes', 'tests pass')}, {counted(len(failing), 'fails', 'fail')}.")]
    lines += [Line(f"✗ {test.name}", "faint", indent=2) for test in others[:OTHERS]]
    if len(others) > OTHERS:
        lines.append(Line(f"and {len(others) - OTHERS} more, which --verbose shows", "faint", indent=2))
    return lines


def everything(test: Test, name: Callable[[Path], str]) -> list[Line]:
    lines = [Line(), Line(test.name, "name")]
    for failure in test.failures:
        lines.append(Line(f"{name(Path(failure.file))}:{failure.line}", "faint", indent=2))
        texts = [failure.original, failure.expanded, failure.message, *failure.infos]
        lines += [Line(text, indent=4, wrap=False) for text in texts if text]
    return lines


def ran_into_a_hole(test: Test) -> bool:
    return any(STILL_EMPTY in failure.message for failure in test.failures)


def guess(failure: Failure) -> str:
    """What the failure takes the mistake for; empty when it has no name for it."""
    return next((line.strip() for line in failure.expanded.splitlines() if line.strip().startswith(LOOKS_LIKE)), "")


def most_telling(test: Test) -> Failure:
    """The first failure with the guess that most failures of the test share (small sizes mislead), or else the first."""
    guesses = [guess(failure) for failure in test.failures if guess(failure)]
    best = max(guesses, key=guesses.count) if guesses else ""
    return next(failure for failure in test.failures if guess(failure) == best)


def told(failure: Failure) -> list[Line]:
    """What was got and wanted, and in which case."""
    explained = [line.strip() for line in failure.expanded.splitlines() if EXPLAINED.match(line.strip())]
    lines = [Line(line, "name" if line.startswith(LOOKS_LIKE) else "") for line in explained]
    if failure.message:
        lines.append(Line(f"It threw: {failure.message}" if failure.kind == "Exception" else failure.message))
    elif not explained:
        lines += checked(failure)
    return lines + [Line(f"In the case {info}") for info in failure.infos]


def checked(failure: Failure) -> list[Line]:
    """A check that is no matrix: as it stands in the test, and with its values."""
    lines = [Line(f"This does not hold: {failure.original}")]
    if failure.expanded not in ("", "false", "true", failure.original):
        lines.append(Line(f"With its values: {failure.expanded}"))
    return lines


def other_guesses(shown: Test, others: list[Test]) -> list[Line]:
    """What other tests take the mistake for, where they have another name for it."""
    seen, lines = {guess(most_telling(shown))}, []
    for test in others:
        named = guess(most_telling(test))
        if named and named not in seen and len(seen) <= OTHERS:
            lines += [Line(f"And “{test.name}” says:", indent=2), Line(named, "name", 4)]
        seen.add(named)
    return lines


def during(results: Results) -> list[Line]:
    last = results.interrupted[-1:]
    return [Line(f"It was in the test: {test.name}", indent=2) for test in last]


def ending(results: Results, done: Finished) -> str:
    for test in results.tests:
        for failure in test.failures:
            if failure.is_crash:
                return failure.message
    if done.code < 0:
        return signal.Signals(-done.code).name
    return f"they ended with the exit code {done.code}" if done.code else "they ended too early"


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def names(hole_list: list[Hole]) -> str:
    return ", ".join(hole.number for hole in hole_list)
