"""The commands that only show something: where the reader is, list, hint, solution and diff."""

from __future__ import annotations

import argparse

from exercising import blanks, comparing
from exercising.book import Chapter
from exercising.desk import ME, Desk
from exercising.blanks import HINTS, Blank
from exercising.screen import Line


def where(desk: Desk, options: argparse.Namespace) -> int:
    if not any(desk.copies.exists(chapter) for chapter in desk.book.chapters):
        desk.say("Nothing is started yet.")
        desk.next(f"start {desk.book.chapters[0].number}")
        return 0
    chapter = desk.chapter()
    started = desk.judge.started(chapter)
    passed = sum(desk.progress.is_passed(blank) for blank in started)
    desk.say(f"You are in {chapter.title}: {passed} of {len(started)} passed.", "name")
    desk.warn_of_changes(chapter)
    desk.show_current(chapter)
    return 0


# --- list --------------------------------------------------------------------------------------


def list_all(desk: Desk, options: argparse.Namespace) -> int:
    """A chapter a line, which fits any terminal; one chapter is opened."""
    opened = desk.book.named(options.word)[0].name if options.word else desk.progress.chapter
    every = [blank for chapter in desk.book.chapters for blank in chapter.blanks]
    widest = max(len(blank.title) for blank in every)
    for chapter in desk.book.chapters:
        desk.screen.show(chapter_row(desk, chapter, widest))
        if chapter.name == opened:
            desk.screen.show(*(row(desk, chapter, blank, widest) for blank in chapter.blanks))
    passed = sum(desk.progress.is_passed(blank) for blank in every)
    desk.say()
    desk.say(f"{passed} of {len(every)} passed. {ME} list N opens chapter N.")
    return 0


def chapter_row(desk: Desk, chapter: Chapter, widest: int) -> Line:
    passed = sum(desk.progress.is_passed(blank) for blank in chapter.blanks)
    text = f"{chapter.number:<4} {chapter.title.partition(', ')[2]:{widest + 10}}  {passed} of {len(chapter.blanks)} passed"
    return Line(text, "good" if passed == len(chapter.blanks) else "name", wrap=False)


def row(desk: Desk, chapter: Chapter, blank: Blank, widest: int) -> Line:
    count = blanks.size(blank, chapter.text(blank.file))
    lines = f"{count:2} line{'s' if count > 1 else ' '}"
    text = f"{blank.number:4} {blank.title:{widest}}  {lines}  {state(desk, chapter, blank)}"
    return Line(text, "good" if desk.progress.is_passed(blank) else "", wrap=False)


def state(desk: Desk, chapter: Chapter, blank: Blank) -> str:
    if desk.progress.is_passed(blank):
        return "passed"
    if desk.copies.is_empty(chapter, blank):
        return "empty"
    return "written" if desk.progress.is_started(blank) else "-"


# --- hint and solution -------------------------------------------------------------------------


def hint(desk: Desk, options: argparse.Namespace) -> int:
    blank = desk.blank(options.word)
    count = min(HINTS, desk.progress.hints(blank) + 1)
    desk.progress.set_hints(blank, count)
    desk.say(blank.name, "name")
    for number, text in enumerate(blank.hints[:count], 1):
        desk.say(f"{number} of {HINTS}: {text}", indent=2)
    if count == HINTS:
        desk.say(f"That is all; {ME} solution {blank.number} --insist shows the lines.", "faint")
    return 0


def solution(desk: Desk, options: argparse.Namespace) -> int:
    blank = desk.blank(options.word)
    if not desk.progress.is_passed(blank) and not options.insist:
        desk.say(f"{blank.name} is not passed yet. {ME} hint {blank.number} helps; "
                 f"{ME} solution {blank.number} --insist shows the book's lines all the same.")
        return 1
    chapter = desk.book.chapter(blank.chapter)
    desk.say(f"{blank.name}, as chapters/{chapter.name}/{blank.file} has it:", "name")
    desk.screen.show(*(Line(line, wrap=False, cut=False) for line in blanks.book_lines(blank, chapter.text(blank.file))))
    return 0


# --- diff --------------------------------------------------------------------------------------


def diff(desk: Desk, options: argparse.Namespace) -> int:
    chapter = desk.chapter(options.word)
    desk.require_files(chapter)
    hidden = [blank for blank in desk.judge.started(chapter) if not desk.progress.is_passed(blank)]
    lines = [line for file in chapter.files for line in difference(desk, chapter, file, hidden)]
    desk.screen.show(*lines)
    if not lines:
        desk.say("Nothing differs" + (" besides." if hidden else "."))
    if hidden:
        numbers = ", ".join(blank.number for blank in hidden)
        desk.say(f"The book's lines stay hidden until yours pass: {numbers}.", "faint")
    return 0


def difference(desk: Desk, chapter: Chapter, file: str, hidden: list[Blank]) -> list[Line]:
    """What differs, from the reader's lines (-) to the book's (+), without what only the exercises need."""
    mine, book = desk.copies.text(chapter, file), chapter.text(file)
    for blank in hidden:
        if blank.file == file:
            book = blanks.blanked(blank, book)
    return comparing.difference(mine, book, (desk.copy_name(chapter, file), f"chapters/{chapter.name}/{file}"))
