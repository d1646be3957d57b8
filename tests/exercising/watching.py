"""Trying again after every save.

It polls: five looks a second at the times and sizes of a few files cost nothing, and work on every file system.
"""

from __future__ import annotations

import contextlib
import time
from typing import Callable

from exercising.book import Chapter
from exercising.copies import Copies
from exercising.processes import Stopped
from exercising.screen import Line, Screen
from exercising.verdict import Judge, Verdict

PAUSE = 0.2  # seconds


class Watch:
    """Shows a verdict after every save, until Ctrl-C."""

    def __init__(self, judge: Judge, copies: Copies, screen: Screen, chapter: Chapter):
        self.judge, self.copies, self.screen, self.chapter = judge, copies, screen, chapter

    def run(self, show: Callable[[Verdict], None], sanitize: bool) -> None:
        while True:
            seen = self.snapshot()
            with contextlib.suppress(Stopped):  # saved again meanwhile: that is what counts
                self.one_try(show, sanitize, lambda: self.has_changed(seen))
            while not self.has_changed(seen):
                time.sleep(PAUSE)

    def one_try(self, show: Callable[[Verdict], None], sanitize: bool, stop: Callable[[], bool]) -> None:
        start = time.monotonic()
        verdict = self.judge.judge(self.chapter, self.screen.note, stop)
        self.screen.unnote()
        self.screen.clear()
        show(verdict)
        self.screen.show(Line(), Line(f"{time.strftime('%H:%M:%S')}, after {time.monotonic() - start:.1f} s. Watching "
                                      f"exercises/{self.chapter.name}; Ctrl-C ends it.", "faint"))
        if sanitize and verdict.calls_for_sanitizers:
            second = self.judge.sanitize(self.chapter, self.screen.note, stop)
            self.screen.unnote()
            self.screen.show(*second.lines)

    # --- looking -------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, tuple]:
        return {file: self.look(file) for file in self.chapter.files}

    def look(self, file: str) -> tuple:
        try:
            status = self.copies.path(self.chapter, file).stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def has_changed(self, seen: dict[str, tuple]) -> bool:
        """Whether a file has another time or size. Some editors delete a file before they write it: that is waited for."""
        if self.snapshot() == seen:
            return False
        if () in self.snapshot().values():
            time.sleep(PAUSE)
        return self.snapshot() != seen
