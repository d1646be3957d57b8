"""Building a chapter's tests with the reader's copy of the chapter, and running them.

The tests are built with a second copy, in the build folder, in which the solutions fill the blanks that are still empty.
So lines that the reader has written get their verdict although the rest is missing. `#line` directives make the compiler
name the reader's file and lines. Without empty blanks the two copies are equal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence, TextIO

from exercising import blanks, processes, results
from exercising.book import Chapter
from exercising.copies import Copies, read, write
from exercising.blanks import Blank
from exercising.processes import Finished, Stopped, never
from exercising.errors import CommandError

TIME_LIMIT = 20  # seconds for a test program; the slowest of the book takes less than one
SLOWER = 10  # with the sanitizers
ROOM = 65536  # bytes: a disk with less is full
PAUSE = 0.1  # seconds between two looks whether another command still builds


class Tree:
    """A build folder whose tests read the chapters in another folder."""

    def __init__(self, root: Path, name: str, preset: str, chapters: Path, jobs: Optional[int] = None):
        self.root, self.preset, self.chapters, self.jobs = root, preset, chapters, jobs or processors()
        self.folder = root / "build" / name

    @property
    def is_ready(self) -> bool:
        """Whether it is configured, and for this clone: it may have been moved or copied."""
        cache, here = self.folder / "CMakeCache.txt", os.fsencode(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\n")
        return (self.folder / "build.ninja").is_file() and cache.is_file() and here in cache.read_bytes()

    def configure(self, stop: Callable[[], bool] = never) -> None:
        """Only when it has not been done, or the clone has been moved. Throws CommandError when CMake refuses."""
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
            name = self.folder.relative_to(self.root)
            if is_full(self.folder):
                raise CommandError(f"CMake could not configure {name}: No space left on device.")
            raise CommandError(f"CMake could not configure {name}:\n{done.output.rstrip()}")

    def programs(self, chapter: str) -> list[str]:
        """The chapter's tests. Where the tests of its parts have a separate program, that one comes first: it's
        built and run sooner, and catches most bugs."""
        parts = (self.root / "tests" / f"{chapter[:2]}_parts.cpp").is_file()
        return [f"test_{chapter}_parts", f"test_{chapter}"] if parts else [f"test_{chapter}"]

    def build(self, program: str, stop: Callable[[], bool] = never) -> Finished:
        command = ["cmake", "--build", self.folder, "--target", program, "--parallel", str(self.jobs)]
        done = run(command, stop=stop)
        if done.code and re.search(r"(?m)^ninja: error: ", done.output):
            (self.folder / "build.ninja").unlink(missing_ok=True)  # it was cut off, perhaps; what is compiled stays
            self.configure(stop)
            done = run(command, stop=stop)
        return done

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
        found = results.read(told.read_bytes() if told.is_file() else b"")
        if not found.complete and is_full(self.folder):
            raise CommandError(f"The tests cannot write their results into {self.folder.relative_to(self.root)}: No space left on device.")
        return found, done


def fails(told: results.Results, done: Finished) -> bool:
    """Whether a run fails: a test did, the program crashed, or there was no test at all."""
    return bool(told.failing or not told.complete or done.code or not told.tests)


def run(command: Sequence, environment: Optional[dict] = None, **options) -> Finished:
    try:
        return processes.run(command, environment=environment or english(), **options)
    except FileNotFoundError as error:
        raise CommandError(f"{command[0]} cannot be started: {error.strerror}.") from error


def english() -> dict[str, str]:
    """Compilers are to say "error:", and in plain text; characters stay the reader's."""
    unwanted = ("LC_ALL", "LANGUAGE", "CLICOLOR_FORCE", "VERBOSE")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    if os.environ.get("LC_ALL"):
        kept["LC_CTYPE"] = os.environ["LC_ALL"]
    return {**kept, "LC_MESSAGES": "C"}


def is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < ROOM


def processors() -> int:
    """Those that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Builds:
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
            text = f'#line 1 "{source}"\n' + text.removeprefix("\ufeff")
            if not target.is_file() or read(target) != text:
                write(target, text)

    # --- taking turns ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, say: Callable[[str], None], last: bool = False, stop: Callable[[], bool] = never) -> Iterator[None]:
        """One command at a time builds. Who comes last lets everybody else go first: see `is_requested`."""
        self.quick.folder.mkdir(parents=True, exist_ok=True)
        with self._open("lock") as held, self._open("waiting") as waiting:
            start = time.monotonic()
            if not last:
                fcntl.flock(waiting, fcntl.LOCK_SH)
            while (last and self.is_requested()) or not locked(held):
                say(f"waiting for another ./tests/exercise that builds: {time.monotonic() - start:.0f} s")
                if stop():
                    raise Stopped
                time.sleep(PAUSE)
            fcntl.flock(waiting, fcntl.LOCK_UN)
            yield

    def is_requested(self) -> bool:
        """Whether a command waits for its turn, or has just got it."""
        with self._open("waiting") as waiting:
            return not locked(waiting)

    def _open(self, suffix: str) -> TextIO:
        return open(self.quick.folder.with_suffix(f".{suffix}"), "w")


def locked(file: TextIO) -> bool:
    """Takes the file's lock, which is given back when the file is closed, unless somebody else has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
