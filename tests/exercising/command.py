"""The command line: what the reader types, and what is printed."""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
from pathlib import Path
from typing import Callable, NoReturn, Optional, Sequence

from exercising import holes
from exercising.book import Book, Chapter
from exercising.copies import Copies
from exercising.holes import HINTS, Hole
from exercising.progress import Progress
from exercising.screen import Line, Screen
from exercising.trees import Workshop
from exercising.trouble import Rotten, Trouble
from exercising.verdict import Judge, Verdict
from exercising.watching import Watch

ME = "./tests/exercise"
DESCRIPTION = """\
The tests as exercises: blanks lines out in a copy of a chapter, and tells you what is right and
what is not when you have written them again. Your copies are in exercises/, which git ignores."""
EPILOG = """\
N is a chapter: 3, 03 or 03_scaling; N.K is one exercise of it, as list shows them. Without it,
the chapter or the exercise is meant that you are at. Without a command: where you are, and what
to type next.

The exit code is 0 when everything that is started passes, 1 when it does not, 2 when the command
cannot be carried out, 130 after Ctrl-C.

examples:
  tests/exercise start 3     take out what chapter 3 is about
  tests/exercise watch       and try it again after every save
  tests/exercise start 6.4   one exercise alone"""


def main(arguments: Sequence[str], root: Path) -> int:
    screen = Screen()
    command = "exercise"
    try:
        options = parser().parse_args(arguments)
        command = options.command
        return Exercise(root, screen).do(options)
    except (Trouble, Rotten) as trouble:
        return refuse(screen, str(trouble))
    except BrokenPipeError:
        raise
    except OSError as error:
        return refuse(screen, f"{error.filename or command}: {error.strerror or error}.")
    except KeyboardInterrupt:
        screen.unnote()
        print(f"\nStopped. Your copies are as you saved them. To go on: {ME} watch")
        return 0 if command == "watch" else 130


def refuse(screen: Screen, sentence: str) -> int:
    screen.unnote()
    print(sentence, file=sys.stderr)
    return 2


class Parser(argparse.ArgumentParser):
    """Complains in one sentence."""

    def error(self, message: str) -> NoReturn:
        print(f"{ME}: {message} (see {ME} --help).", file=sys.stderr)
        sys.exit(2)


def parser() -> argparse.ArgumentParser:
    made = Parser("tests/exercise", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, place, about in (
            ("list", "", "all exercises: how many lines each takes, and how far you are"),
            ("start", "N | N.K", "make a copy of a chapter with all its exercises blanked out, or with one"),
            ("watch", "[N]", "try the copy now and after every save, until Ctrl-C"),
            ("check", "[N]", "try the copy once"),
            ("hint", "[N.K]", "where to look; asked again, what to think of; and again, nearly the line"),
            ("diff", "[N]", "your copy against the book's chapter"),
            ("reset", "[N | N.K]", "blank out again; what you have is kept, with today's date in its name"),
            ("solution", "[N.K]", "the book's lines, once yours pass; before that with --insist"),
            ("goto", "N", "a copy of the book's chapter with nothing blanked out")):
        add_command(commands, name, place, about)
    return made


def add_command(commands, name: str, place: str, about: str) -> None:
    command = commands.add_parser(name, help=about, description=about.capitalize() + ".", allow_abbrev=False)
    if place:
        command.add_argument("word", metavar=place.strip("[]"), nargs="?" if place.startswith("[") else None)
    if name in ("watch", "check"):
        command.add_argument("--verbose", action="store_true", help="all that the compiler and the tests say")
        command.add_argument("--quick", action="store_true", help="without the second pass, that of the sanitizers")
    if name == "solution":
        command.add_argument("--insist", action="store_true", help="before the tests pass")


class Exercise:
    """The commands, each a method of its name."""

    def __init__(self, root: Path, screen: Screen):
        self.root, self.screen = root, screen
        self.book = Book(root)
        self.copies = Copies(root / "exercises")
        self.progress = Progress(self.copies.folder)
        self.workshop = Workshop(root, self.copies)
        self.judge = Judge(root, self.copies, self.progress, self.workshop)

    def do(self, options: argparse.Namespace) -> int:
        if self.progress.notice:
            self.say(self.progress.notice)
        return getattr(self, f"do_{options.command or 'nothing'}")(options)

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
                raise Trouble(f"Nothing is started yet. Type: {ME} start {self.book.chapters[0].number}")
            chapter = chosen[0]
        if not self.copies.exists(chapter):
            raise Trouble(f"Chapter {chapter.number} is not started. Type: {ME} start {chapter.number}")
        return chapter

    def hole(self, word: Optional[str]) -> Hole:
        """The exercise that is named, or the first of the chapter that is begun and not passed."""
        if word and "." in word:
            return self.book.named(word)[1][0]
        chapter = self.chapter(word)
        hole = self.judge.current(chapter)
        if hole is None:
            raise Trouble(f"Every exercise that you have started in chapter {chapter.number} is passed. Which one do you mean? "
                          f"{ME} list shows them.")
        return hole

    def do_nothing(self, options: argparse.Namespace) -> int:
        started = [chapter for chapter in self.book.chapters if self.copies.exists(chapter)]
        if not started:
            self.say("Nothing is started yet.")
            self.next(f"start {self.book.chapters[0].number}")
            return 0
        chapter = self.chapter()
        holes_here = self.judge.started(chapter)
        passed = sum(self.progress.is_passed(hole) for hole in holes_here)
        self.say(f"You are in {chapter.title}: {passed} of {len(holes_here)} passed.", "name")
        self.warn_of_changes(chapter)
        self.show_current(chapter)
        return 0

    def show_current(self, chapter: Chapter) -> None:
        hole = self.judge.current(chapter)
        if hole is None:
            self.after(chapter)
            return
        if not self.copies.missing(chapter):
            state = "is still empty" if self.copies.is_empty(chapter, hole) else "is written, and not passed yet"
            self.say(f"{hole.name} {state}: {self.place(chapter, hole)}")
            self.say(f"What belongs there: {hole.belongs}", indent=2)
        self.next("watch", f"edit {self.copies.path(chapter, hole.file).relative_to(self.root)}, with this in another terminal")

    def after(self, chapter: Chapter) -> None:
        following = self.book.after(chapter)
        left = [hole for hole in chapter.holes if not self.progress.is_passed(hole)]
        if left and not self.judge.started(chapter):
            self.next(f"start {chapter.number}", "to take something out")
        elif left:
            self.next(f"start {left[0].number}")
        elif following:
            self.next(f"start {following.number}")
        else:
            self.say("These were all the exercises there are.")

    def next(self, words: str, why: str = "") -> None:
        self.say(f"Type: {ME} {words}" + (f"   ({why})" if why else ""))

    def place(self, chapter: Chapter, hole: Hole) -> str:
        path = self.copies.path(chapter, hole.file).relative_to(self.root)
        return f"{path}:{self.copies.line(chapter, hole)}"

    def warn_of_changes(self, chapter: Chapter) -> None:
        for file in self.progress.changed_files(chapter):
            self.say(f"The book's {chapter.name}/{file} has changed since you copied it, and the tests are those of today. "
                     f"{ME} diff shows what differs; {ME} reset {chapter.number} makes a new copy and keeps yours.", "name")

    # --- list ------------------------------------------------------------------------------------

    def do_list(self, options: argparse.Namespace) -> int:
        every = [hole for chapter in self.book.chapters for hole in chapter.holes]
        title = max(len(hole.title) for hole in every)
        for chapter in self.book.chapters:
            for hole in chapter.holes:
                count = holes.size(hole, chapter.text(hole.file))
                lines = f"{count:2} line{'s' if count > 1 else ' '}"
                row = f"{hole.number}  {hole.title:{title}}  {lines}  {self.state(chapter, hole)}"
                self.screen.show(Line(row.rstrip(), "good" if self.progress.is_passed(hole) else "", wrap=False))
        passed = sum(self.progress.is_passed(hole) for hole in every)
        self.say()
        self.say(f"{passed} of {len(every)} passed")
        return 0

    def state(self, chapter: Chapter, hole: Hole) -> str:
        if self.progress.is_passed(hole):
            return "passed"
        if self.copies.is_empty(chapter, hole):
            return "empty"
        return "written" if self.progress.is_started(hole) else "-"

    # --- start, reset, goto --------------------------------------------------------------------

    def do_start(self, options: argparse.Namespace) -> int:
        chapter, chosen = self.book.named(options.word)
        self.set_up()
        if self.copies.exists(chapter):
            new = self.start_more(chapter, chosen)
        else:
            new = chosen
            self.copies.make(chapter, chosen)
            self.progress.remember_book(chapter)
        self.progress.start(new)
        self.progress.enter(chapter)
        if not new:
            self.say(f"{' '.join(hole.number for hole in chosen)}: already started, and left as it is. "
                     f"To begin again: {ME} reset {options.word}")
            self.show_current(chapter)
            return 0
        return self.show_started(chapter, new)

    def start_more(self, chapter: Chapter, chosen: list[Hole]) -> list[Hole]:
        """Blanks those that are not yet started in the copy that there is; lines of the reader's own are never lost."""
        self.require_files(chapter)
        started = self.judge.started(chapter)
        new = [hole for hole in chosen if hole not in started]
        for hole in new:
            mine, book = self.copies.text(chapter, hole.file), chapter.text(hole.file)
            if self.lines_of(hole, mine) != holes.book_lines(hole, book):
                raise Trouble(f"Your copy of {chapter.name} no longer has the book's lines where {hole.name} is to be blanked "
                              f"out. {ME} goto {chapter.number} makes a fresh copy, and keeps yours.")
        for hole in new:
            self.copies.blank(chapter, hole)
        return new

    @staticmethod
    def lines_of(hole: Hole, text: str) -> Optional[list[str]]:
        try:
            return holes.book_lines(hole, text)
        except Rotten:
            return None

    def require_files(self, chapter: Chapter) -> None:
        for file in self.copies.missing(chapter):
            path = self.copies.path(chapter, file).relative_to(self.root)
            raise Trouble(f"{path} is gone. A new copy: {ME} reset {chapter.number}")

    def show_started(self, chapter: Chapter, new: list[Hole]) -> int:
        """Builds once, so that the first save is answered quickly."""
        for file in dict.fromkeys(hole.file for hole in new):
            self.say(f"Your copy: {self.copies.path(chapter, file).relative_to(self.root)}", "name")
        for hole in new:
            self.say(f"{hole.name}, line {self.copies.line(chapter, hole)}: {hole.belongs}", indent=2)
        verdict = self.quietly(lambda: self.judge.judge(chapter, self.screen.note))
        if verdict.kind == "broken":
            self.screen.show(*verdict.lines)
            return 1
        self.next("watch", "leave it open, and edit in another window")
        return 0

    def do_reset(self, options: argparse.Namespace) -> int:
        chapter = self.chapter(options.word)
        chosen = self.book.named(options.word)[1] if options.word else list(chapter.holes)
        one = bool(options.word and "." in options.word)
        if one:
            self.require_files(chapter)
            blank = self.copy_with_hole(chapter, chosen[0])
        else:
            chosen = self.judge.started(chapter) or chosen
            blank = None
        self.report_backup(self.copies.back_up(chapter))
        if blank is None:
            self.copies.make(chapter, chosen)
            self.progress.remember_book(chapter)
        else:
            self.copies.blank(chapter, chosen[0])
        self.progress.start(chosen)
        self.progress.enter(chapter)
        for hole in chosen:
            self.say(f"{hole.name} is empty again: {self.place(chapter, hole)}", indent=2)
        self.next("watch")
        return 0

    def copy_with_hole(self, chapter: Chapter, hole: Hole) -> str:
        try:
            return holes.blanked(hole, self.copies.text(chapter, hole.file))
        except Rotten:
            raise Trouble(f"The place of {hole.name} cannot be found in your copy any more: its lines //! [...] are changed. "
                          f"{ME} reset {chapter.number} makes a new copy of the chapter, and keeps yours.") from None

    def do_goto(self, options: argparse.Namespace) -> int:
        chapter = self.book.named(options.word)[0]
        self.report_backup(self.copies.back_up(chapter))
        self.copies.make(chapter, [])
        self.progress.unstart(chapter)
        self.progress.remember_book(chapter)
        self.progress.enter(chapter)
        self.say(f"The book's {chapter.title}: {', '.join(str(self.copies.path(chapter, file).relative_to(self.root)) for file in chapter.files)}", "name")
        self.next("watch", "change something, and see what the tests say")
        return 0

    def report_backup(self, backup: Optional[Path]) -> None:
        if backup:
            self.say(f"What you had is kept in {backup.relative_to(self.root)}")

    # --- check and watch -----------------------------------------------------------------------

    def do_check(self, options: argparse.Namespace) -> int:
        chapter = self.entered(options.word)
        verdict = self.quietly(lambda: self.judge.judge(chapter, self.screen.note))
        self.show_verdict(chapter, verdict, options.verbose)
        clean = verdict.kind == "passed"
        if verdict.calls_for_sanitizers and not options.quick:
            second = self.quietly(lambda: self.judge.sanitize(chapter, self.screen.note))
            self.screen.show(*second.lines, *(second.details if options.verbose else []))
            clean = clean and second.kind == "passed"
        return 0 if clean else 1

    def do_watch(self, options: argparse.Namespace) -> int:
        chapter = self.entered(options.word)
        watch = Watch(self.judge, self.copies, self.screen, chapter)
        watch.run(lambda verdict: self.show_verdict(chapter, verdict, options.verbose), not options.quick)
        return 0

    def entered(self, word: Optional[str]) -> Chapter:
        chapter = self.chapter(word)
        if chapter.name != self.progress.chapter:
            self.progress.enter(chapter)
        if not self.workshop.quick.is_ready:
            self.set_up()
        return chapter

    def show_verdict(self, chapter: Chapter, verdict: Verdict, verbose: bool) -> None:
        self.warn_of_changes(chapter)
        self.screen.show(*verdict.lines)
        if verbose:
            self.screen.show(*verdict.details)
        if verdict.kind == "passed":
            self.after(chapter)
        elif verdict.kind != "missing" and self.judge.current(chapter):
            self.say()
            self.say(f"A hint: {ME} hint", "faint")

    def quietly(self, work: Callable[[], Verdict]) -> Verdict:
        try:
            return work()
        finally:
            self.screen.unnote()

    def set_up(self) -> None:
        """Installs what is missing, as all commands of the book do."""
        done = subprocess.run([self.root / "common" / "setup", "build", "tests"])
        if done.returncode:
            sys.exit(done.returncode)

    # --- hint, solution, diff ------------------------------------------------------------------

    def do_hint(self, options: argparse.Namespace) -> int:
        hole = self.hole(options.word)
        count = min(HINTS, self.progress.hints(hole) + 1)
        self.progress.set_hints(hole, count)
        self.say(hole.name, "name")
        for number, hint in enumerate(hole.hints[:count], 1):
            self.say(f"{number} of {HINTS}: {hint}", indent=2)
        if count == HINTS:
            self.say(f"That is all; {ME} solution {hole.number} --insist shows the lines.", "faint")
        return 0

    def do_solution(self, options: argparse.Namespace) -> int:
        hole = self.hole(options.word)
        if not self.progress.is_passed(hole) and not options.insist:
            self.say(f"{hole.name} is not passed yet. {ME} hint {hole.number} helps; "
                     f"{ME} solution {hole.number} --insist shows the book's lines all the same.")
            return 1
        chapter = self.book.chapter(hole.chapter)
        self.say(f"{hole.name}, as chapters/{chapter.name}/{hole.file} has it:", "name")
        self.screen.show(*(Line(line, wrap=False) for line in holes.book_lines(hole, chapter.text(hole.file))))
        return 0

    def do_diff(self, options: argparse.Namespace) -> int:
        chapter = self.chapter(options.word)
        self.require_files(chapter)
        hidden = [hole for hole in self.judge.started(chapter) if not self.progress.is_passed(hole)]
        equal = True
        for file in chapter.files:
            lines = self.difference(chapter, file, [hole for hole in hidden if hole.file == file])
            equal = equal and not lines
            self.screen.show(*lines)
        if equal:
            self.say("Nothing differs" + (" besides." if hidden else "."))
        if hidden:
            self.say(f"The book's lines stay hidden until yours pass: {', '.join(hole.number for hole in hidden)}.", "faint")
        return 0

    def difference(self, chapter: Chapter, file: str, hidden: list[Hole]) -> list[Line]:
        """What differs, from the reader's lines (-) to the book's (+), without what only the exercises need."""
        mine, book = self.copies.text(chapter, file), chapter.text(file)
        for hole in hidden:
            book = holes.blanked(hole, book)
        path = self.copies.path(chapter, file).relative_to(self.root)
        rows = difflib.unified_diff(plain(mine), plain(book), str(path), f"chapters/{chapter.name}/{file}", lineterm="")
        styles = {"+": "added", "-": "removed", "@": "faint"}
        return [Line(row, styles.get(row[:1], ""), wrap=False) for row in rows]


def plain(text: str) -> list[str]:
    """The lines without region markers and without the header that declares hole()."""
    return [line.rstrip() for line in text.splitlines() if not holes.MARKER.fullmatch(line) and line != holes.INCLUDE]
