"""The commands that try a copy: check once, and watch after every save.

Watching polls: five looks a second at the times and sizes of a few files cost nothing, and work on every file system.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Callable, Optional

from exercising import showing, starting
from exercising.book import Chapter
from exercising.errors import CommandError
from exercising.keys import Keys
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
    """Runs until q or Ctrl-C."""
    watcher = Watch(session, entered(session, options.word), options.verbose, not options.quick)
    with watcher.keys:
        while watcher.one_round():
            pass
    session.say("Your copies are as you saved them.")
    return 0


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
    """Shows a verdict after every save, and does what the keys say."""

    KEYS = {"n": "next", "h": "hint", "s": "solution", "l": "list", "r": "run again", "q": "quit"}
    URGENT = "nrq"  # they end a try that is under way

    def __init__(self, session: Session, chapter: Chapter, verbose: bool, sanitize: bool):
        self.session, self.chapter, self.verbose, self.sanitize = session, chapter, verbose, sanitize
        self.keys = Keys()

    def one_round(self) -> bool:
        """A verdict, and then the wait for the next save or key. False when the reader quits."""
        seen = self.snapshot()
        with contextlib.suppress(Stopped):  # saved again meanwhile, or a key: that is what counts
            self.one_try(lambda: self.has_changed(seen) or self.keys.has_any(self.URGENT))
        while not self.has_changed(seen) and not self.has_moved():
            key = self.keys.wait(PAUSE)
            if key == "q":
                return False
            if key == "r" or (key == "n" and self.go_on()):
                return True
            if key in ("h", "s", "l"):
                self.answer(key)
        return True

    def one_try(self, stop: Callable[[], bool]) -> None:
        session, start = self.session, time.monotonic()
        verdict = session.checker.check(self.chapter, session.screen.note, stop)
        session.screen.unnote()
        session.screen.clear()
        show(session, self.chapter, verdict, self.verbose)
        session.say()
        session.say(f"{time.strftime('%H:%M:%S')}, after {time.monotonic() - start:.1f} s. {showing.progress(session)}", "faint")
        self.show_status()
        if self.sanitize and verdict.calls_for_sanitizers:
            second = session.checker.sanitize(self.chapter, session.screen.note, stop)
            session.screen.unnote()
            session.screen.show(*second.lines)

    # --- keys ----------------------------------------------------------------------------------

    def show_status(self) -> None:
        keys = "; ".join(f"{key} {meaning}" for key, meaning in self.KEYS.items())
        self.session.say(f"Watching exercises/{self.chapter.name}; " + (keys if self.keys.are_there else "Ctrl-C ends it") + ".",
                         "faint")

    def answer(self, key: str) -> None:
        command = {"h": showing.hint, "s": showing.solution, "l": showing.list_all}[key]
        self.session.say()
        try:
            command(self.session, argparse.Namespace(word=None, insist=False))
        except CommandError as trouble:
            self.session.say(str(trouble))
        self.show_status()

    def go_on(self) -> bool:
        """Starts the next exercise; says why not, if there is one to pass first."""
        session = self.session
        blank, following = session.checker.current(self.chapter), session.following(self.chapter)
        if blank is None and following:
            self.start(following)
            return True
        session.say()
        session.say(f"{blank.name} hasn't passed yet; h gives a hint." if blank else "These were all the exercises there are.")
        self.show_status()
        return False

    def start(self, following: str) -> None:
        try:
            starting.start(self.session, argparse.Namespace(word=following))
        except CommandError as trouble:
            self.session.say(str(trouble))
        self.chapter = self.session.chapter()

    def has_moved(self) -> bool:
        """Whether another terminal has started something elsewhere; then that is watched."""
        self.session.progress.refresh()
        try:
            chapter = self.session.chapter()
        except CommandError:  # the copies are gone; the next save says so
            return False
        if chapter.name == self.chapter.name:
            return False
        self.chapter = chapter
        return True

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
