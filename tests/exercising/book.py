"""The book on the disk: its chapters, their files, and the blanks that there are in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from exercising import blanks
from exercising.blanks import Blank
from exercising.errors import StaleList, CommandError

DEMO = "main.cpp"  # it isn't tested


@dataclass(frozen=True)
class Chapter:
    folder: Path
    blanks: tuple[Blank, ...]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def title(self) -> str:
        return f"chapter {self.name[:2]}, {self.name[3:].replace('_', ' ')}"

    @property
    def files(self) -> list[str]:
        """The files of which a reader has copies: a .cpp file includes the headers in its own folder, so it's copied as well."""
        return sorted(path.name for path in self.folder.glob("*.[hc]pp") if path.name != DEMO)

    def text(self, file: str) -> str:
        return (self.folder / file).read_text(encoding="utf-8")

    def blank(self, number: str) -> Blank:
        for blank in self.blanks:
            if blank.number == number:
                return blank
        first, last = self.blanks[0].number, self.blanks[-1].number
        raise CommandError(f"There is no exercise {number}; those of chapter {self.number} are {first} to {last}.")


class Book:
    """The chapters that have exercises."""

    def __init__(self, root: Path):
        self.root = root
        lists = sorted((root / "tests" / "exercises").glob("[0-9][0-9]_*.txt"))
        self.chapters = [self._chapter(path) for path in lists]

    def _chapter(self, path: Path) -> Chapter:
        folder = self.root / "chapters" / path.stem
        if not folder.is_dir():
            raise StaleList(f"{path.name}: there is no chapter of this name")
        return Chapter(folder, tuple(blanks.read_list(path)))

    def chapter(self, name: str) -> Chapter:
        return next(chapter for chapter in self.chapters if chapter.name == name)

    def after(self, chapter: Chapter) -> Chapter | None:
        later = self.chapters[self.chapters.index(chapter) + 1:]
        return later[0] if later else None

    def named(self, word: str) -> tuple[Chapter, list[Blank]]:
        """A chapter and its blanks for 3, 03 and 03_scaling, or a chapter and one blank for 3.2."""
        number = re.fullmatch(r"0?(\d+)\.0?(\d+)", word)
        last = word.rstrip("/").rpartition("/")[2]
        for chapter in self.chapters:
            if number and int(number[1]) == chapter.number:
                return chapter, [chapter.blank(f"{chapter.number}.{int(number[2])}")]
            if last == chapter.name or (last.isdecimal() and int(last) == chapter.number):
                return chapter, list(chapter.blanks)
        names = " ".join(chapter.name for chapter in self.chapters)
        raise CommandError(f"There are no exercises for {word}; there are {names}.")
