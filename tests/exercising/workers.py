"""Build trees side by side, one a processor, in whose copies of the chapters something is changed and tried.

This is what tests/try_mutants and tests/try_exercises have in common. Everything happens in build/mutants.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import filecmp
import queue
import re
import shutil
import sys
import threading
from pathlib import Path
from typing import Callable, Iterator, Sequence, TextIO, TypeVar

from exercising.copies import read
from exercising.builds import Tree, fails, processors

FOLDER = "mutants"  # in build/
MOST = 8  # trees: each takes 300 MB of disk
Item = TypeVar("Item")
Result = TypeVar("Result")


class Worker(Tree):
    """A tree with copies of all chapters, one of which at a time is changed."""

    def __init__(self, root: Path, number: int):
        name = f"{FOLDER}/{number}"
        super().__init__(root, name, "debug", root / "build" / name / "chapters", jobs=1)

    def prepare(self) -> Worker:
        copy_chapters(self.root / "chapters", self.chapters)
        self.configure()
        return self

    @contextlib.contextmanager
    def with_texts(self, chapter: str, texts: dict[str, str]) -> Iterator[None]:
        """Files of a chapter have other texts for a while."""
        originals = {file: read(self.chapters / chapter / file) for file in texts}
        try:
            self.write(chapter, texts)
            yield
        finally:
            self.write(chapter, originals)

    def write(self, chapter: str, texts: dict[str, str]) -> None:
        for file, text in texts.items():
            (self.chapters / chapter / file).write_text(text, encoding="utf-8")

    def compile(self, program: str, mind_warnings: bool = False) -> str:
        """What the compiler complains about, in a line; empty when it builds."""
        built = self.build(program)
        minded = r"error: |undefined reference" + ("|warning: " if mind_warnings else "")
        complaints = [line for line in built.output.split("\n") if re.search(minded, line)]
        if built.code:
            complaints = complaints or [built.output.strip().split("\n")[-1] or "no reason given"]
        elif not mind_warnings:
            return ""
        return complaints[0] if complaints else ""


def copy_chapters(source: Path, target: Path) -> None:
    """Copies what differs and nothing else, so that only that is compiled again."""
    for path in sorted(source.glob("[0-9][0-9]_*/**/*")):
        copy = target / path.relative_to(source)
        if path.is_file() and path.suffix in (".hpp", ".cpp", ".h"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or not filecmp.cmp(path, copy, shallow=False):
                shutil.copyfile(path, copy)
    for copy in target.glob("**/*"):
        if copy.is_file() and not (source / copy.relative_to(target)).exists():
            copy.unlink()


# --- side by side ------------------------------------------------------------------------------


class Workers:
    """Does a piece of work with each item; each piece has a worker to itself while it lasts."""

    def __init__(self, root: Path, most: int):
        self.root = root
        self.count = max(1, min(processors(), most, MOST))
        self.workers: queue.Queue[Worker] = queue.Queue()
        self.stop = threading.Event()
        self.progress = Progress()

    def prepare(self, pool: concurrent.futures.Executor) -> None:
        self.progress.show("preparing")
        for worker in pool.map(Worker.prepare, [Worker(self.root, number + 1) for number in range(self.count)]):
            self.workers.put(worker)

    def each(self, items: Sequence[Item], work: Callable[[Item, Worker], Result], doing: str) -> Iterator[Result]:
        """The results, in the order of the items, as soon as they are there."""
        with concurrent.futures.ThreadPoolExecutor(self.count) as pool:
            try:
                if self.workers.empty():
                    self.prepare(pool)
                futures = [pool.submit(self._one, work, item) for item in items]
                for number, future in enumerate(futures, 1):
                    self.progress.show(f"{doing} {number} of {len(items)}")
                    result = future.result()
                    self.progress.clear()
                    yield result
            except BaseException:
                self.stop.set()  # the workers finish what they are at, and begin nothing more
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                self.progress.clear()

    def _one(self, work: Callable[[Item, Worker], Result], item: Item) -> Result:
        if self.stop.is_set():
            raise concurrent.futures.CancelledError
        worker = self.workers.get()
        try:
            return work(item, worker)
        finally:
            self.workers.put(worker)

    def troubles_without_change(self, chapters: Sequence[str]) -> list[str]:
        """Without a change everything must pass; otherwise a failing test would prove nothing."""
        return [trouble for trouble in self.each(chapters, trouble_with, "without any change, chapter") if trouble]


def trouble_with(chapter: str, worker: Worker) -> str:
    program = worker.programs(chapter)[-1]
    error = worker.compile(program)
    if error:
        return f"{chapter}: its tests do not compile: {error}"
    results, done = worker.test(program)
    if fails(results, done):
        names = "".join(f"\n  {test.name}" for test in results.failing)
        return f"{chapter}: {len(results.failing)} of {len(results.tests)} tests fail in the book's own version:{names}"
    return ""


def lock(root: Path, who: str) -> TextIO:
    """Held until it is closed: one command at a time works in build/mutants."""
    folder = root / "build" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / "lock", "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"{who}: waiting for another command that works in build/{FOLDER}", file=sys.stderr)
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


class Progress:
    """A line that changes on a terminal, and nothing at all elsewhere."""

    def __init__(self) -> None:
        self.wanted = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self.wanted:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        self.show("")
