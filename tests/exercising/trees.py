"""Building a chapter's tests with the reader's copy of the chapter, and running them.

The tests do not see the copy itself but a second one in the build folder, in which the blanks that are still empty are
filled with the book's lines: so what is written already gets its verdict, although the rest is missing. `#line` lines
make the compiler speak of the reader's file and its lines all the same. With no blank empty the two are equal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence

from exercising import blanks, processes, results
from exercising.book import Chapter
from exercising.copies import Copies, write
from exercising.blanks import Blank
from exercising.processes import Finished, never
from exercising.trouble import Trouble

TIME_LIMIT = 20  # seconds for a test program; the slowest of the book takes less than one
SLOWER = 10  # with the sanitizers


class Tree:
    """A build folder whose tests read the chapters in another folder."""

    def __init__(self, root: Path, name: str, preset: str, chapters: Path, jobs: Optional[int] = None):
        self.root, self.preset, self.chapters, self.jobs = root, preset, chapters, jobs or processors()
        self.folder = root / "build" / name

    @property
    def is_ready(self) -> bool:
        """Whether it is configured, and for this clone: it may have been moved or copied."""
        cache, here = self.folder / "CMakeCache.txt", f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\n"
        return (self.folder / "build.ninja").is_file() and cache.is_file() and here in cache.read_text()

    def configure(self, stop: Callable[[], bool] = never) -> None:
        """Only when it has not been done, or the clone has been moved. Throws Trouble when CMake refuses."""
        if self.is_ready:
            return
        shutil.rmtree(self.folder / "CMakeFiles", ignore_errors=True)
        (self.folder / "CMakeCache.txt").unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["cmake", "--preset", self.preset, "-B", self.folder, f"-DATTENTION_CHAPTERS={self.chapters}",
                   "-DATTENTION_LIST_TESTS=OFF"]
        done = run(command, cwd=self.root, stop=stop)
        if done.code:
            (self.folder / "build.ninja").unlink(missing_ok=True)
            said = done.output.rstrip()
            raise Trouble(f"CMake could not configure {self.folder.relative_to(self.root)}:\n{said}")

    def programs(self, chapter: str) -> list[str]:
        """The chapter's tests. Where those of its parts are also a program of their own, it comes first: it is built and
        run sooner, and catches most."""
        parts = (self.root / "tests" / f"{chapter[:2]}_parts.cpp").is_file()
        return [f"test_{chapter}_parts", f"test_{chapter}"] if parts else [f"test_{chapter}"]

    def build(self, program: str, stop: Callable[[], bool] = never) -> Finished:
        command = ["cmake", "--build", self.folder, "--target", program, "--parallel", str(self.jobs)]
        return run(command, stop=stop)

    def test(self, program: str, limit: float = TIME_LIMIT,
             stop: Callable[[], bool] = never) -> tuple[results.Results, Finished]:
        """Results, and what the sanitizers report, come in files: the program's output is the reader's own. At the limit
        the program is told to end, so that Catch2 can say where it was."""
        told, reports = self.folder / "results.xml", self.folder / "report"
        for old in [told, *self.folder.glob(f"{reports.name}.*")]:
            old.unlink(missing_ok=True)
        options = {"ASAN_OPTIONS": f'detect_leaks=0:log_path="{reports}"',
                   "UBSAN_OPTIONS": f'halt_on_error=1:print_stacktrace=1:log_path="{reports}"'}
        command = [self.folder / "tests" / program, "--order", "decl", "--reporter", "results", "--out", told]
        done = run(command, limit=limit, environment={**os.environ, **options}, stop=stop)
        done.report = "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob(f"{reports.name}.*")))
        return results.read(told.read_bytes() if told.is_file() else b""), done


def fails(told: results.Results, done: Finished) -> bool:
    """Whether a run fails: a test did, the program crashed, or there was no test at all."""
    return bool(told.failing or not told.complete or done.code or not told.tests)


def run(command: Sequence, **options) -> Finished:
    try:
        return processes.run(command, **options)
    except FileNotFoundError as error:
        raise Trouble(f"{command[0]} cannot be started: {error.strerror}.") from error


def processors() -> int:
    """Those that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workshop:
    """The two trees in which a reader's copies are tried: a quick one, and one with the sanitizers."""

    def __init__(self, root: Path, copies: Copies):
        self.copies = copies
        chapters = root / "build" / "exercise_runner" / "chapters"
        self.quick = Tree(root, "exercise_runner", "exercise", chapters)
        self.sanitized = Tree(root, "exercise_sanitizers", "sanitize", chapters)

    def prepare(self, chapter: Chapter, fill: list[Blank]) -> None:
        """What the tests read. A file that has not changed keeps its time, so that nothing is compiled again."""
        for old in (self.quick.chapters / chapter.name).glob("*.[hc]pp"):
            if old.name not in chapter.files:
                old.unlink()  # the book has it no longer
        for file in chapter.files:
            source, target = self.copies.path(chapter, file), self.quick.chapters / chapter.name / file
            text = self.copies.text(chapter, file)
            for blank in fill:
                if blank.file == file:
                    text = blanks.filled(blank, text, chapter.text(file), str(source))
            text = f'#line 1 "{source}"\n{text}'
            if not target.is_file() or target.read_text(encoding="utf-8", errors="surrogateescape") != text:
                write(target, text)

    @contextlib.contextmanager
    def lock(self, waiting: Callable[[], None]) -> Iterator[None]:
        """One command at a time builds; waiting() is called when another one does."""
        self.quick.folder.mkdir(parents=True, exist_ok=True)
        with open(self.quick.folder.with_suffix(".lock"), "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
