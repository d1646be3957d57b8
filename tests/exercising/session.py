"""The objects that every command uses: the book, the reader's copies and progress, the checker, the screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Callable, Optional

from exercising.book import Book, Chapter
from exercising.copies import Copies
from exercising.blanks import Blank
from exercising.checker import Checker
from exercising.progress import Progress
from exercising.screen import Line, Screen
from exercising.builds import Builds
from exercising.errors import CommandError
from exercising.verdict import Verdict

ME = "./tests/exercise"


class Session:
    def __init__(self, root: Path, screen: Screen):
        self.root, self.screen = root, screen
        self.book = Book(root)
        self.copies = Copies(root / "exercises")
        self.progress = Progress(self.copies.folder)
        self.builds = Builds(root, self.copies)
        self.checker = Checker(root, self.copies, self.progress, self.builds)

    def say(self, text: str = "", style: str = "", indent: int = 0) -> None:
        self.screen.show(Line(text, style, indent))

    # --- where the reader is -------------------------------------------------------------------

    def chapter(self, word: Optional[str] = None) -> Chapter:
        """The chapter that is named, or the one that the reader is at."""
        if word:
            chapter = self.book.named(word)[0]
        else:
            known = [chapter for chapter in self.book.chapters if self.copies.exists(chapter)]
            chosen = [chapter for chapter in known if chapter.name == self.progress.chapter] or known
            if not chosen:
                raise CommandError(f"Nothing is started yet. Type: {ME} start {self.book.chapters[0].number}")
            chapter = chosen[0]
        if not self.copies.exists(chapter):
            raise CommandError(f"Chapter {chapter.number} is not started. Type: {ME} start {chapter.number}")
        return chapter

    def blank(self, word: Optional[str]) -> Blank:
        """The exercise that is named, or the first of the chapter that is begun and not passed."""
        if word and "." in word:
            return self.book.named(word)[1][0]
        chapter = self.chapter(word)
        blank = self.checker.current(chapter)
        if blank is None:
            raise CommandError(f"Every exercise that you have started in chapter {chapter.number} is passed. "
                               f"Which one do you mean? {ME} list shows them.")
        return blank

    def require_files(self, chapter: Chapter) -> None:
        for file in self.copies.missing(chapter):
            raise CommandError(f"{self.copy_name(chapter, file)} is gone. A new copy: {ME} reset {chapter.number}")

    # --- what several commands say -------------------------------------------------------------

    def copy_name(self, chapter: Chapter, file: str) -> str:
        return str(self.copies.path(chapter, file).relative_to(self.root))

    def place(self, chapter: Chapter, blank: Blank) -> str:
        return f"{self.copy_name(chapter, blank.file)}:{self.copies.line(chapter, blank)}"

    def show_current(self, chapter: Chapter) -> None:
        """The exercise that the reader is at, and what to type."""
        blank = self.checker.current(chapter)
        if blank is None:
            self.after(chapter)
            return
        if not self.copies.missing(chapter):
            state = "is still empty" if self.copies.is_empty(chapter, blank) else "is written, and not passed yet"
            self.say(f"{blank.name} {state}: {self.place(chapter, blank)}")
            self.say(f"What belongs there: {blank.belongs}", indent=2)
        self.next("watch", f"edit {self.copy_name(chapter, blank.file)}, with this in another terminal")

    def warn_of_changes(self, chapter: Chapter) -> None:
        for file in self.progress.changed_files(chapter):
            self.say(f"The book's {chapter.name}/{file} has changed since you copied it, and the tests are those of "
                     f"today. {ME} diff shows what differs; {ME} reset {chapter.number} makes a new copy and keeps "
                     f"yours.", "name")

    def after(self, chapter: Chapter) -> None:
        """What to type when everything that is started passes."""
        following = self.following(chapter)
        if following:
            self.next(f"start {following}", "to take something out" if not self.checker.started(chapter) else "")
        else:
            self.say("These were all the exercises there are.")

    def following(self, chapter: Chapter) -> str:
        """What to start when everything that is started passes: N or N.K; empty at the end of the book."""
        left = [blank for blank in chapter.blanks if not self.progress.is_passed(blank)]
        if left:
            return left[0].number if self.checker.started(chapter) else str(chapter.number)
        following = self.book.after(chapter)
        return str(following.number) if following else ""

    def next(self, words: str, why: str = "") -> None:
        self.say(f"Type: {ME} {words}" + (f"   ({why})" if why else ""))

    # --- working -------------------------------------------------------------------------------

    def quietly(self, work: Callable[[], Verdict]) -> Verdict:
        """The notes that the work leaves on the screen go when it ends."""
        try:
            return work()
        finally:
            self.screen.unnote()

    def set_up(self) -> None:
        """Installs what is missing, as all commands of the book do."""
        done = subprocess.run([self.root / "common" / "setup", "build", "tests"])
        if done.returncode:
            sys.exit(done.returncode)
