"""Tests a copy and composes the verdict.

A try builds the chapter's tests with the reader's copy and runs them. Once everything passes, or when the tests crash,
a second try follows in a build with the sanitizers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Optional

from exercising import compiler, sanitizers
from exercising.book import Chapter
from exercising.copies import Copies
from exercising.blanks import Blank
from exercising.processes import BUSY, Finished, Stopped, never
from exercising.progress import Progress
from exercising.results import Results
from exercising.screen import Line
from exercising.builds import SLOWER, TIME_LIMIT, Builds, fails
from exercising.verdict import Verdict, counted, during, ending, everything, names, printed, summary


class Checker:
    """Tries copies, and writes down what passes."""

    def __init__(self, root: Path, copies: Copies, progress: Progress, builds: Builds):
        self.root, self.copies, self.progress, self.builds = root, copies, progress, builds

    # --- which blanks ---------------------------------------------------------------------------

    def started(self, chapter: Chapter) -> list[Blank]:
        """Those that the reader has begun: by what is written down, or by what is in the copy."""
        return [blank for blank in chapter.blanks
                if self.progress.is_started(blank) or self.copies.is_empty(chapter, blank)]

    def empty(self, chapter: Chapter) -> list[Blank]:
        return [blank for blank in chapter.blanks if self.copies.is_empty(chapter, blank)]

    def current(self, chapter: Chapter) -> Optional[Blank]:
        """The first that is begun and not passed."""
        return next((blank for blank in self.started(chapter) if not self.progress.is_passed(blank)), None)

    # --- checking --------------------------------------------------------------------------------

    def check(self, chapter: Chapter, say: Callable[[str], None] = print, stop: Callable[[], bool] = never) -> Verdict:
        missing = self.copies.missing(chapter)
        if missing:
            return self._missing(chapter, missing[0])
        empty, tree = self.empty(chapter), self.builds.quick
        with self.builds.lock(say, stop=stop):
            self.builds.prepare(chapter, empty)
            say("building" if tree.is_ready else "building for the first time: half a minute")
            tree.configure(stop)
            for program in tree.programs(chapter.name):
                built = tree.build(program, stop)
                if built.code:
                    return self._broken(chapter, built, empty)
                say("testing")
                results, done = tree.test(program, stop=stop)
                if fails(results, done):
                    break
        return self._tested(chapter, results, done, built, empty)

    def _tested(self, chapter: Chapter, results: Results, done: Finished, built: Finished,
                empty: list[Blank]) -> Verdict:
        verdict = self._verdict(chapter, results, done, built, empty)
        shown, everything_printed = printed(done)
        verdict.lines += shown
        verdict.details += everything_printed
        return verdict

    def _verdict(self, chapter: Chapter, results: Results, done: Finished, built: Finished,
                 empty: list[Blank]) -> Verdict:
        if done.too_long:
            return self._endless(results, done)
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
            Line(f"A new copy, with the blanks you have started: ./tests/exercise reset {chapter.number}")])

    def _broken(self, chapter: Chapter, built: Finished, filled: list[Blank]) -> Verdict:
        output = built.output
        error = compiler.first_error(output, self.copies.folder / chapter.name)
        details = [Line(compiler.without_ninja(output), wrap=False)]
        if error is None:
            reason = compiler.linker_error(output) or compiler.without_ninja(output).split("\n")[-1] or "no reason given"
            return Verdict("broken", [Line("It does not build.", "bad"), Line(reason, indent=2)], details)
        lines = [Line("It does not compile.", "bad"), Line(f"{self.name(error.path)}:{error.line}", "name", indent=2),
                 Line(error.text, indent=2), *(Line(row, indent=2, wrap=False) for row in error.source)]
        if self.copies.folder not in error.path.parents:
            lines.append(Line("The place is not in your file: the tests, or the libraries, do not find in your copy "
                              "what they call. Is something renamed, deleted, or of another type?"))
        elif filled:
            lines.append(Line(f"({names(filled)}, still empty, was tested with the solution.)", "faint"))
        return Verdict("broken", lines, details)

    def _endless(self, results: Results, done: Finished) -> Verdict:
        reason = "this looks like an endless loop."
        if done.busy < BUSY * TIME_LIMIT and not done.lost:
            reason = (f"it used {done.busy:.1f} s of a processor meanwhile, so it waits for something. Does it sleep, or "
                      "wait for input or for a lock?")
        return Verdict("endless", [Line(f"It ran longer than {TIME_LIMIT} s and was stopped: {reason}", "bad"),
                                   *during(results)])

    def _crashed(self, results: Results, done: Finished) -> Verdict:
        return Verdict("crashed", [Line(f"The tests crashed: {ending(results, done)}.", "bad"), *during(results)])

    def _failed(self, results: Results) -> Verdict:
        details = [line for test in results.failing for line in everything(test, self.name)]
        return Verdict("failed", summary(results, self.name), details)

    def _warned(self, built: Finished) -> list[Line]:
        warning = compiler.first_warning(built.output, self.copies.folder)
        if warning is None:
            return []
        return [Line(), Line(f"The compiler warns, {self.name(warning.path)}:{warning.line}: {warning.text}")]

    def _passed(self, chapter: Chapter, results: Results, empty: list[Blank]) -> Verdict:
        written = [blank for blank in self.started(chapter) if blank not in empty]
        news = [blank for blank in written if not self.progress.is_passed(blank)]
        self.progress.set_passed(news, True)
        lines = [Line(f"✓ {blank.name}", "good") for blank in news]
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

    def sanitize(self, chapter: Chapter, say: Callable[[str], None] = print,
                 stop: Callable[[], bool] = never) -> Verdict:
        """The same once more, built with the sanitizers. It tests what `check` has prepared.

        It takes long, and nobody waits for it: when another command wants to build, this one begins again later.
        """
        while True:
            try:
                with self.builds.lock(say, last=True, stop=stop):
                    return self._sanitize(chapter, say, lambda: stop() or self.builds.is_requested())
            except Stopped:
                if stop():
                    raise

    def _sanitize(self, chapter: Chapter, say: Callable[[str], None], stop: Callable[[], bool]) -> Verdict:
        tree = self.builds.sanitized
        say("building with the sanitizers" + ("" if tree.is_ready else ": a minute or two the first time"))
        tree.configure(stop)
        program = tree.programs(chapter.name)[-1]
        built = tree.build(program, stop)
        if built.code:
            return self._broken(chapter, built, [])
        say("testing with the sanitizers")
        results, done = tree.test(program, SLOWER * TIME_LIMIT, stop)
        return self._sanitized(chapter, results, done)

    def _sanitized(self, chapter: Chapter, results: Results, done: Finished) -> Verdict:
        said = done.report or ("" if results.complete else done.output)  # GCC's own library writes to standard error
        report = sanitizers.report(said)
        if not report:
            clean = done.code == 0 and results.complete
            return Verdict("passed" if clean else "failed", [
                Line("The sanitizers found no wrong access and no undefined behaviour.", "good") if clean
                else Line("The sanitizers found nothing that they could name.")])
        lines = [Line(f"The sanitizers report: {report}", "bad"),
                 Line(f"It means: {sanitizers.meaning(report)}", indent=2)]
        place = sanitizers.place(said, self.copies.folder / chapter.name)
        if place:
            lines.append(Line(f"{self.name(place[0])}:{place[1]}", "name", indent=2))
        return Verdict("failed", [*lines, *during(results)], [Line(said, wrap=False)])
