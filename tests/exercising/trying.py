"""The commands that try a copy: check once, and watch after every save.

Watching polls: five looks a second at the times and sizes of a few files cost nothing, and work on every file system.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Callable, Optional

from exercising.book import Chapter
from exercising.desk import ME, Desk
from exercising.processes import Stopped
from exercising.verdict import Verdict

PAUSE = 0.2  # seconds between two looks


def check(desk: Desk, options: argparse.Namespace) -> int:
    chapter = entered(desk, options.word)
    verdict = desk.quietly(lambda: desk.judge.judge(chapter, desk.screen.note))
    show(desk, chapter, verdict, options.verbose)
    clean = verdict.kind == "passed"
    if verdict.calls_for_sanitizers and not options.quick:
        second = desk.quietly(lambda: desk.judge.sanitize(chapter, desk.screen.note))
        desk.screen.show(*second.lines, *(second.details if options.verbose else []))
        clean = clean and second.kind == "passed"
    return 0 if clean else 1


def watch(desk: Desk, options: argparse.Namespace) -> int:
    """Never ends by itself: Ctrl-C does."""
    watcher = Watch(desk, entered(desk, options.word), options.verbose, not options.quick)
    while True:
        watcher.one_round()


def entered(desk: Desk, word: Optional[str]) -> Chapter:
    chapter = desk.chapter(word)
    if chapter.name != desk.progress.chapter:
        desk.progress.enter(chapter)
    if not desk.workshop.quick.is_ready:
        desk.set_up()
    return chapter


def show(desk: Desk, chapter: Chapter, verdict: Verdict, verbose: bool) -> None:
    desk.warn_of_changes(chapter)
    desk.screen.show(*verdict.lines, *(verdict.details if verbose else []))
    if verdict.kind == "passed":
        desk.after(chapter)
    elif verdict.kind != "missing" and desk.judge.current(chapter):
        desk.say()
        desk.say(f"A hint: {ME} hint", "faint")


class Watch:
    """Shows a verdict after every save."""

    def __init__(self, desk: Desk, chapter: Chapter, verbose: bool, sanitize: bool):
        self.desk, self.chapter, self.verbose, self.sanitize = desk, chapter, verbose, sanitize

    def one_round(self) -> None:
        """A verdict, and then the wait for the next save."""
        seen = self.snapshot()
        with contextlib.suppress(Stopped):  # saved again meanwhile: that is what counts
            self.one_try(lambda: self.has_changed(seen))
        while not self.has_changed(seen):
            time.sleep(PAUSE)

    def one_try(self, stop: Callable[[], bool]) -> None:
        desk, start = self.desk, time.monotonic()
        verdict = desk.judge.judge(self.chapter, desk.screen.note, stop)
        desk.screen.unnote()
        desk.screen.clear()
        show(desk, self.chapter, verdict, self.verbose)
        desk.say()
        desk.say(f"{time.strftime('%H:%M:%S')}, after {time.monotonic() - start:.1f} s. Watching "
                 f"exercises/{self.chapter.name}; Ctrl-C ends it.", "faint")
        if self.sanitize and verdict.calls_for_sanitizers:
            second = desk.judge.sanitize(self.chapter, desk.screen.note, stop)
            desk.screen.unnote()
            desk.screen.show(*second.lines)

    # --- looking -------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, tuple]:
        return {file: self.look(file) for file in self.chapter.files}

    def look(self, file: str) -> tuple:
        try:
            status = self.desk.copies.path(self.chapter, file).stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def has_changed(self, seen: dict[str, tuple]) -> bool:
        """Whether a file has another time or size. Editors that delete before they write get a moment to do so."""
        if self.snapshot() == seen:
            return False
        if () in self.snapshot().values():
            time.sleep(PAUSE)
        return self.snapshot() != seen
