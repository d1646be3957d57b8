"""The commands that make copies: start, reset and goto."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Optional

from exercising import blanks
from exercising.book import Chapter
from exercising.session import ME, Session
from exercising.blanks import Blank
from exercising.errors import StaleList, CommandError


def start(session: Session, options: argparse.Namespace) -> int:
    chapter, chosen = session.book.named(options.word)
    session.set_up()
    if session.copies.exists(chapter):
        new = start_more(session, chapter, chosen)
    else:
        new = chosen
        session.copies.make(chapter, chosen)
        session.progress.remember_book(chapter)
    session.progress.start(new)
    session.progress.enter(chapter)
    return show_started(session, chapter, new) if new else show_no_news(session, chapter, chosen, options.word)


def start_more(session: Session, chapter: Chapter, chosen: list[Blank]) -> list[Blank]:
    """Blanks those that are not yet started in the copy that there is; lines of the reader's own are never lost."""
    session.require_files(chapter)
    started = session.checker.started(chapter)
    new = [blank for blank in chosen if blank not in started]
    for blank in new:
        if lines_of(blank, session.copies.text(chapter, blank.file)) != blanks.book_lines(blank, chapter.text(blank.file)):
            raise CommandError(f"Your copy of {chapter.name} no longer has the original lines where {blank.name} should be "
                               f"blanked out. {ME} goto {chapter.number} makes a fresh copy, and keeps yours.")
    for blank in new:
        session.copies.blank(chapter, blank)
    return new


def lines_of(blank: Blank, text: str) -> Optional[list[str]]:
    try:
        return [line.removesuffix("\r") for line in blanks.book_lines(blank, text)]
    except StaleList:
        return None


def show_no_news(session: Session, chapter: Chapter, chosen: list[Blank], word: str) -> int:
    numbers = " ".join(blank.number for blank in chosen)
    session.say(f"{numbers}: already started, and left as it is. To begin again: {ME} reset {word}")
    session.show_current(chapter)
    return 0


def show_started(session: Session, chapter: Chapter, new: list[Blank]) -> int:
    """Builds once, so that the first save is answered quickly."""
    for file in dict.fromkeys(blank.file for blank in new):
        session.say(f"Your copy: {session.copy_name(chapter, file)}", "name")
    for blank in new:
        session.say(f"{blank.name}, line {session.copies.line(chapter, blank)}: {blank.belongs}", indent=2)
    verdict = session.quietly(lambda: session.checker.check(chapter, session.screen.note))
    if verdict.kind == "broken":
        session.screen.show(*verdict.lines)
        return 1
    session.next("watch", "leave it open, and edit in another window")
    return 0


def reset(session: Session, options: argparse.Namespace) -> int:
    chapter = session.chapter(options.word)
    if options.word and "." in options.word:
        blank_again = session.book.named(options.word)[1]
        require_place(session, chapter, blank_again[0])
        report_backup(session, session.copies.back_up(chapter))
        session.copies.blank(chapter, blank_again[0])
    else:
        blank_again = session.checker.started(chapter) or list(chapter.blanks)
        report_backup(session, session.copies.back_up(chapter))
        session.copies.make(chapter, blank_again)
        session.progress.remember_book(chapter)
    session.progress.start(blank_again)
    session.progress.enter(chapter)
    for blank in blank_again:
        session.say(f"{blank.name} is empty again: {session.place(chapter, blank)}", indent=2)
    session.next("watch")
    return 0


def require_place(session: Session, chapter: Chapter, blank: Blank) -> None:
    """Before anything is changed: can the blank's place be found in the copy?"""
    session.require_files(chapter)
    if lines_of(blank, session.copies.text(chapter, blank.file)) is None:
        raise CommandError(f"The place of {blank.name} cannot be found in your copy any more: its lines //! [...] are "
                           f"changed. {ME} reset {chapter.number} makes a new copy of the chapter, and keeps yours.")


def goto(session: Session, options: argparse.Namespace) -> int:
    chapter = session.book.named(options.word)[0]
    report_backup(session, session.copies.back_up(chapter))
    session.copies.make(chapter, [])
    session.progress.unstart(chapter)
    session.progress.remember_book(chapter)
    session.progress.enter(chapter)
    files = chapter.files
    copied = session.copy_name(chapter, files[0]) if len(files) == 1 else f"{len(files)} files in exercises/{chapter.name}"
    session.say(f"The book's {chapter.title}: {copied}", "name")
    session.next("watch", "change something, and see what the tests say")
    return 0


def report_backup(session: Session, backup: Optional[Path]) -> None:
    if backup:
        session.say(f"What you had is kept in {backup.relative_to(session.root)}")
