"""The commands that only show something: where the reader is, list, hint, solution and diff."""

from __future__ import annotations

import argparse
import difflib

from exercising import holes
from exercising.book import Chapter
from exercising.desk import ME, Desk
from exercising.holes import HINTS, Hole
from exercising.screen import Line


def where(desk: Desk, options: argparse.Namespace) -> int:
    if not any(desk.copies.exists(chapter) for chapter in desk.book.chapters):
        desk.say("Nothing is started yet.")
        desk.next(f"start {desk.book.chapters[0].number}")
        return 0
    chapter = desk.chapter()
    started = desk.judge.started(chapter)
    passed = sum(desk.progress.is_passed(hole) for hole in started)
    desk.say(f"You are in {chapter.title}: {passed} of {len(started)} passed.", "name")
    desk.warn_of_changes(chapter)
    desk.show_current(chapter)
    return 0


# --- list --------------------------------------------------------------------------------------


def list_all(desk: Desk, options: argparse.Namespace) -> int:
    every = [(chapter, hole) for chapter in desk.book.chapters for hole in chapter.holes]
    widest = max(len(hole.title) for _, hole in every)
    for chapter, hole in every:
        desk.screen.show(row(desk, chapter, hole, widest))
    passed = sum(desk.progress.is_passed(hole) for _, hole in every)
    desk.say()
    desk.say(f"{passed} of {len(every)} passed")
    return 0


def row(desk: Desk, chapter: Chapter, hole: Hole, widest: int) -> Line:
    count = holes.size(hole, chapter.text(hole.file))
    lines = f"{count:2} line{'s' if count > 1 else ' '}"
    text = f"{hole.number}  {hole.title:{widest}}  {lines}  {state(desk, chapter, hole)}"
    return Line(text, "good" if desk.progress.is_passed(hole) else "", wrap=False)


def state(desk: Desk, chapter: Chapter, hole: Hole) -> str:
    if desk.progress.is_passed(hole):
        return "passed"
    if desk.copies.is_empty(chapter, hole):
        return "empty"
    return "written" if desk.progress.is_started(hole) else "-"


# --- hint and solution -------------------------------------------------------------------------


def hint(desk: Desk, options: argparse.Namespace) -> int:
    hole = desk.hole(options.word)
    count = min(HINTS, desk.progress.hints(hole) + 1)
    desk.progress.set_hints(hole, count)
    desk.say(hole.name, "name")
    for number, text in enumerate(hole.hints[:count], 1):
        desk.say(f"{number} of {HINTS}: {text}", indent=2)
    if count == HINTS:
        desk.say(f"That is all; {ME} solution {hole.number} --insist shows the lines.", "faint")
    return 0


def solution(desk: Desk, options: argparse.Namespace) -> int:
    hole = desk.hole(options.word)
    if not desk.progress.is_passed(hole) and not options.insist:
        desk.say(f"{hole.name} is not passed yet. {ME} hint {hole.number} helps; "
                 f"{ME} solution {hole.number} --insist shows the book's lines all the same.")
        return 1
    chapter = desk.book.chapter(hole.chapter)
    desk.say(f"{hole.name}, as chapters/{chapter.name}/{hole.file} has it:", "name")
    desk.screen.show(*(Line(line, wrap=False) for line in holes.book_lines(hole, chapter.text(hole.file))))
    return 0


# --- diff --------------------------------------------------------------------------------------


def diff(desk: Desk, options: argparse.Namespace) -> int:
    chapter = desk.chapter(options.word)
    desk.require_files(chapter)
    hidden = [hole for hole in desk.judge.started(chapter) if not desk.progress.is_passed(hole)]
    lines = [line for file in chapter.files for line in difference(desk, chapter, file, hidden)]
    desk.screen.show(*lines)
    if not lines:
        desk.say("Nothing differs" + (" besides." if hidden else "."))
    if hidden:
        numbers = ", ".join(hole.number for hole in hidden)
        desk.say(f"The book's lines stay hidden until yours pass: {numbers}.", "faint")
    return 0


def difference(desk: Desk, chapter: Chapter, file: str, hidden: list[Hole]) -> list[Line]:
    """What differs, from the reader's lines (-) to the book's (+), without what only the exercises need."""
    mine, book = desk.copies.text(chapter, file), chapter.text(file)
    for hole in hidden:
        if hole.file == file:
            book = holes.blanked(hole, book)
    names = desk.copy_name(chapter, file), f"chapters/{chapter.name}/{file}"
    rows = difflib.unified_diff(plain(mine), plain(book), *names, lineterm="")
    styles = {"+": "added", "-": "removed", "@": "faint"}
    return [Line(text, styles.get(text[:1], ""), wrap=False) for text in rows]


def plain(text: str) -> list[str]:
    """The lines without region markers and without the header that declares hole()."""
    return [line.rstrip() for line in text.splitlines() if not holes.MARKER.fullmatch(line) and line != holes.INCLUDE]
