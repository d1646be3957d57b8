"""The commands that only show something: where the reader is, list, hint, solution and diff."""

from __future__ import annotations

import argparse

from exercising import blanks, comparing
from exercising.book import Chapter
from exercising.session import ME, Session
from exercising.blanks import HINTS, Blank
from exercising.screen import Line


def where(session: Session, options: argparse.Namespace) -> int:
    if not any(session.copies.exists(chapter) for chapter in session.book.chapters):
        session.say("Nothing is started yet.")
        session.next(f"start {session.book.chapters[0].number}")
        return 0
    chapter = session.chapter()
    started = session.checker.started(chapter)
    passed = sum(session.progress.is_passed(blank) for blank in started)
    session.say(f"You are in {chapter.title}: {passed} of {len(started)} passed.", "name")
    session.warn_of_changes(chapter)
    session.show_current(chapter)
    return 0


# --- list --------------------------------------------------------------------------------------


def list_all(session: Session, options: argparse.Namespace) -> int:
    """A chapter a line, which fits any terminal; one chapter is opened."""
    opened = session.book.named(options.word)[0].name if options.word else session.progress.chapter
    every = [blank for chapter in session.book.chapters for blank in chapter.blanks]
    widest = max(len(blank.title) for blank in every)
    for chapter in session.book.chapters:
        session.screen.show(chapter_row(session, chapter, widest))
        if chapter.name == opened:
            session.screen.show(*(row(session, chapter, blank, widest) for blank in chapter.blanks))
    session.say()
    session.say(f"{progress(session)} {ME} list N opens chapter N.")
    return 0


def progress(session: Session) -> str:
    every = [blank for chapter in session.book.chapters for blank in chapter.blanks]
    return f"{sum(session.progress.is_passed(blank) for blank in every)} of {len(every)} passed."


def chapter_row(session: Session, chapter: Chapter, widest: int) -> Line:
    passed = sum(session.progress.is_passed(blank) for blank in chapter.blanks)
    text = f"{chapter.number:<4} {chapter.title.partition(', ')[2]:{widest + 10}}  {passed} of {len(chapter.blanks)} passed"
    return Line(text, "good" if passed == len(chapter.blanks) else "name", wrap=False)


def row(session: Session, chapter: Chapter, blank: Blank, widest: int) -> Line:
    count = blanks.size(blank, chapter.text(blank.file))
    lines = f"{count:2} line{'s' if count > 1 else ' '}"
    text = f"{blank.number:4} {blank.title:{widest}}  {lines}  {state(session, chapter, blank)}"
    return Line(text, "good" if session.progress.is_passed(blank) else "", wrap=False)


def state(session: Session, chapter: Chapter, blank: Blank) -> str:
    if session.progress.is_passed(blank):
        return "passed"
    if session.copies.is_empty(chapter, blank):
        return "empty"
    return "written" if session.progress.is_started(blank) else "-"


# --- hint and solution -------------------------------------------------------------------------


def hint(session: Session, options: argparse.Namespace) -> int:
    blank = session.blank(options.word)
    count = min(HINTS, session.progress.hints(blank) + 1)
    session.progress.set_hints(blank, count)
    session.say(blank.name, "name")
    for number, text in enumerate(blank.hints[:count], 1):
        session.say(f"{number} of {HINTS}: {text}", indent=2)
    if count == HINTS:
        session.say(f"That is all; {ME} solution {blank.number} --insist shows the lines.", "faint")
    return 0


def solution(session: Session, options: argparse.Namespace) -> int:
    blank = session.blank(options.word)
    if not session.progress.is_passed(blank) and not options.insist:
        session.say(f"{blank.name} hasn't passed yet. {ME} hint {blank.number} helps; "
                    f"{ME} solution {blank.number} --insist shows the solution all the same.")
        return 1
    chapter = session.book.chapter(blank.chapter)
    session.say(f"{blank.name}, as chapters/{chapter.name}/{blank.file} has it:", "name")
    session.screen.show(*(Line(line, wrap=False, cut=False) for line in blanks.book_lines(blank, chapter.text(blank.file))))
    return 0


# --- diff --------------------------------------------------------------------------------------


def diff(session: Session, options: argparse.Namespace) -> int:
    chapter = session.chapter(options.word)
    session.require_files(chapter)
    hidden = [blank for blank in session.checker.started(chapter) if not session.progress.is_passed(blank)]
    lines = [line for file in chapter.files for line in difference(session, chapter, file, hidden)]
    session.screen.show(*lines)
    if not lines:
        session.say("Nothing differs" + (" besides." if hidden else "."))
    if hidden:
        numbers = ", ".join(blank.number for blank in hidden)
        session.say(f"Solutions stay hidden until yours pass: {numbers}.", "faint")
    return 0


def difference(session: Session, chapter: Chapter, file: str, hidden: list[Blank]) -> list[Line]:
    """What differs, from the reader's lines (-) to the book's (+), without what only the exercises need."""
    mine, book = session.copies.text(chapter, file), chapter.text(file)
    for blank in hidden:
        if blank.file == file:
            book = blanks.blanked(blank, book)
    return comparing.difference(mine, book, (session.copy_name(chapter, file), f"chapters/{chapter.name}/{file}"))
