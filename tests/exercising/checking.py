"""The commands that try a copy: check once, and watch after every save.

Watching polls: five looks a second at the times and sizes of a few files cost nothing, and work on every file system.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Callable, Optional

from exercising.book import Chapter
from exercising.session import ME, Session
from exercising.processes import Stopped
from exercising.verdict import Verdict

PAUSE = 0.2  # seconds between two looks


def check(session: Session, options: argparse.Namespace) -> int:
    chapter = entered(session, options.word)
    verdict = session.quietly(lambda: session.checker.check(chapter, session.screen.note))
    show(session, chapter, verdict, options.verbose)
    clean = verdict.kind == "passed"
    if verdict.calls_for_sanitizers and not options.quick:
        second = session.quietly(lambda: session.checker.sanitize(chapter, session.screen.note))
        session.screen.show(*second.lines, *(second.details if options.verbose else []))
        clean = clean and second.kind == "passed"
    return 0 if clean else 1


def watch(session: Session, options: argparse.Namespace) -> int:
    """Runs until Ctrl-C."""
    watcher = Watch(session, entered(session, options.word), options.verbose, not options.quick)
    while True:
        watcher.one_round()


def entered(session: Session, word: Optional[str]) -> Chapter:
    chapter = session.chapter(word)
    if chapter.name != session.progress.chapter:
        session.progress.enter(chapter)
    if not session.builds.quick.is_ready:
        session.set_up()
    return chapter


def show(session: Session, chapter: Chapter, verdict: Verdict, verbose: bool) -> None:
    session.warn_of_changes(chapter)
    session.screen.show(*verdict.lines, *(verdict.details if verbose else []))
    if verdict.kind == "passed":
        session.after(chapter)
    elif verdict.kind != "missing" and session.checker.current(chapter):
        session.say()
        session.say(f"A hint: {ME} hint", "faint")


class Watch:
    """Shows a verdict after every save."""

    def __init__(self, session: Session, chapter: Chapter, verbose: bool, sanitize: bool):
        self.session, self.chapter, self.verbose, self.sanitize = session, chapter, verbose, sanitize

    def one_round(self) -> None:
        """A verdict, and then the wait for the next save."""
        seen = self.snapshot()
        with contextlib.suppress(Stopped):  # saved again meanwhile: that is what counts
            self.one_try(lambda: self.has_changed(seen))
        while not self.has_changed(seen):
            time.sleep(PAUSE)

    def one_try(self, stop: Callable[[], bool]) -> None:
        session, start = self.session, time.monotonic()
        verdict = session.checker.check(self.chapter, session.screen.note, stop)
        session.screen.unnote()
        session.screen.clear()
        show(session, self.chapter, verdict, self.verbose)
        session.say()
        session.say(f"{time.strftime('%H:%M:%S')}, after {time.monotonic() - start:.1f} s. Watching "
                    f"exercises/{self.chapter.name}; Ctrl-C ends it.", "faint")
        if self.sanitize and verdict.calls_for_sanitizers:
            second = session.checker.sanitize(self.chapter, session.screen.note, stop)
            session.screen.unnote()
            session.screen.show(*second.lines)

    # --- looking -------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, tuple]:
        return {file: self.look(file) for file in self.chapter.files}

    def look(self, file: str) -> tuple:
        try:
            status = self.session.copies.path(self.chapter, file).stat()
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
