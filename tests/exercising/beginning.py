"""The commands that make copies: start, reset and goto."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Optional

from exercising import blanks
from exercising.book import Chapter
from exercising.desk import ME, Desk
from exercising.blanks import Blank
from exercising.trouble import Rotten, Trouble


def start(desk: Desk, options: argparse.Namespace) -> int:
    chapter, chosen = desk.book.named(options.word)
    desk.set_up()
    if desk.copies.exists(chapter):
        new = start_more(desk, chapter, chosen)
    else:
        new = chosen
        desk.copies.make(chapter, chosen)
        desk.progress.remember_book(chapter)
    desk.progress.start(new)
    desk.progress.enter(chapter)
    return show_started(desk, chapter, new) if new else show_no_news(desk, chapter, chosen, options.word)


def start_more(desk: Desk, chapter: Chapter, chosen: list[Blank]) -> list[Blank]:
    """Blanks those that are not yet started in the copy that there is; lines of the reader's own are never lost."""
    desk.require_files(chapter)
    started = desk.judge.started(chapter)
    new = [blank for blank in chosen if blank not in started]
    for blank in new:
        if lines_of(blank, desk.copies.text(chapter, blank.file)) != blanks.book_lines(blank, chapter.text(blank.file)):
            raise Trouble(f"Your copy of {chapter.name} no longer has the book's lines where {blank.name} is to be "
                          f"blanked out. {ME} goto {chapter.number} makes a fresh copy, and keeps yours.")
    for blank in new:
        desk.copies.blank(chapter, blank)
    return new


def lines_of(blank: Blank, text: str) -> Optional[list[str]]:
    try:
        return [line.removesuffix("\r") for line in blanks.book_lines(blank, text)]
    except Rotten:
        return None


def show_no_news(desk: Desk, chapter: Chapter, chosen: list[Blank], word: str) -> int:
    numbers = " ".join(blank.number for blank in chosen)
    desk.say(f"{numbers}: already started, and left as it is. To begin again: {ME} reset {word}")
    desk.show_current(chapter)
    return 0


def show_started(desk: Desk, chapter: Chapter, new: list[Blank]) -> int:
    """Builds once, so that the first save is answered quickly."""
    for file in dict.fromkeys(blank.file for blank in new):
        desk.say(f"Your copy: {desk.copy_name(chapter, file)}", "name")
    for blank in new:
        desk.say(f"{blank.name}, line {desk.copies.line(chapter, blank)}: {blank.belongs}", indent=2)
    verdict = desk.quietly(lambda: desk.judge.judge(chapter, desk.screen.note))
    if verdict.kind == "broken":
        desk.screen.show(*verdict.lines)
        return 1
    desk.next("watch", "leave it open, and edit in another window")
    return 0


def reset(desk: Desk, options: argparse.Namespace) -> int:
    chapter = desk.chapter(options.word)
    if options.word and "." in options.word:
        blank_again = desk.book.named(options.word)[1]
        require_place(desk, chapter, blank_again[0])
        report_backup(desk, desk.copies.back_up(chapter))
        desk.copies.blank(chapter, blank_again[0])
    else:
        blank_again = desk.judge.started(chapter) or list(chapter.blanks)
        report_backup(desk, desk.copies.back_up(chapter))
        desk.copies.make(chapter, blank_again)
        desk.progress.remember_book(chapter)
    desk.progress.start(blank_again)
    desk.progress.enter(chapter)
    for blank in blank_again:
        desk.say(f"{blank.name} is empty again: {desk.place(chapter, blank)}", indent=2)
    desk.next("watch")
    return 0


def require_place(desk: Desk, chapter: Chapter, blank: Blank) -> None:
    """Before anything is changed: can the blank's place be found in the copy?"""
    desk.require_files(chapter)
    if lines_of(blank, desk.copies.text(chapter, blank.file)) is None:
        raise Trouble(f"The place of {blank.name} cannot be found in your copy any more: its lines //! [...] are "
                      f"changed. {ME} reset {chapter.number} makes a new copy of the chapter, and keeps yours.")


def goto(desk: Desk, options: argparse.Namespace) -> int:
    chapter = desk.book.named(options.word)[0]
    report_backup(desk, desk.copies.back_up(chapter))
    desk.copies.make(chapter, [])
    desk.progress.unstart(chapter)
    desk.progress.remember_book(chapter)
    desk.progress.enter(chapter)
    files = chapter.files
    copied = desk.copy_name(chapter, files[0]) if len(files) == 1 else f"{len(files)} files in exercises/{chapter.name}"
    desk.say(f"The book's {chapter.title}: {copied}", "name")
    desk.next("watch", "change something, and see what the tests say")
    return 0


def report_backup(desk: Desk, backup: Optional[Path]) -> None:
    if backup:
        desk.say(f"What you had is kept in {backup.relative_to(desk.root)}")
