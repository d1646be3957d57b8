"""The book on the disk: its chapters and their files, and what a disagreement is."""

from __future__ import annotations

import difflib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, NamedTuple, Optional

BACK_MATTER = ("answers.md", "glossary.md", "bibliography.md")
SHARED_TESTS = re.compile(r'^#include "(shared/\w+\.hpp)"', re.MULTILINE)
CHAPTER_FOLDER = re.compile(r"(\d\d)_\w+")


class Problem(NamedTuple):
    """One disagreement between the text and the code, at the place where it is mended."""

    path: str  # relative to the repository
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.sentence}"


class BookError(Exception):
    """Something in the book is wrong; whoever catches it knows the page and the line."""


class UserError(Exception):
    """The command cannot be carried out as it was typed."""


@dataclass(frozen=True)
class Chapter:
    number: int
    folder: Path

    @property
    def label(self) -> str:
        return f"{self.number:02}"

    @property
    def readme(self) -> Path:
        return self.folder / "README.md"

    @property
    def mechanism(self) -> Path:
        return self.folder / "attention.hpp"


class Place(NamedTuple):
    """Where a page of the book is, and the chapter that it is the text of."""

    readme: Path
    chapter: Optional[Chapter]


class Book:
    """Finds the chapters and reads each file once."""

    def __init__(self, root: Path):
        self.root = root
        self.chapters = sorted(find_chapters(root), key=lambda chapter: chapter.number)
        self._texts: dict[Path, str] = {}

    def chapter(self, number: int) -> Chapter:
        for chapter in self.chapters:
            if chapter.number == number:
                return chapter
        raise BookError(f"there is no chapter {number}")

    def previous(self, chapter: Chapter) -> Optional[Chapter]:
        """The chapter that this one is a diff of; numbers may have gaps while a book grows."""
        earlier = [other for other in self.chapters if other.number < chapter.number]
        return earlier[-1] if earlier else None

    def pages(self) -> list[Place]:
        """The front page, the chapters, and what comes after them, as far as it is there."""
        front = Place(self.root / "README.md", None)
        chapters = [Place(chapter.readme, chapter) for chapter in self.chapters]
        back = [Place(path, None) for path in self.back_matter()]
        return [front, *chapters, *back]

    def back_matter(self) -> list[Path]:
        paths = (self.root / "docs" / name for name in BACK_MATTER)
        return [path for path in paths if path.exists()]

    def test_files(self, chapter: Optional[Chapter]) -> list[Path]:
        """A chapter's test files and the shared ones it includes; without a chapter, those of all."""
        label = chapter.label if chapter else "[0-9][0-9]"
        own = sorted((self.root / "tests").glob(f"{label}_*.cpp"))
        names = {name for path in own for name in SHARED_TESTS.findall(self.read(path))}
        return own + [self.root / "tests" / name for name in sorted(names)]

    def name(self, path: Path) -> str:
        """How a problem names a file: from the repository's root, with slashes."""
        return Path(os.path.relpath(path, self.root)).as_posix()

    def read(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = read_text(path, self.name(path))
        return self._texts[path]


def find_chapters(root: Path) -> Iterable[Chapter]:
    for folder in (root / "chapters").glob("*/"):
        match = CHAPTER_FOLDER.fullmatch(folder.name)
        if match and folder.is_dir():
            yield Chapter(int(match[1]), folder)


def read_text(path: Path, name: str) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise BookError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BookError(f"{name} is not UTF-8: see the bytes in its line {line}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Writes all of a file or none of it: a reader never meets half a page."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def closest(name: str, known: Iterable[str]) -> str:
    """A suggestion to end a sentence with; empty when nothing is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f"; did you mean \"{near[0]}\"?" if near else ""
