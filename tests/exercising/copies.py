"""The reader's folder: copies of the chapters with blanks in them, and backups of earlier copies.

It is laid out as chapters/ is: exercises/03_scaling/attention.hpp. Git ignores it.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import shutil
from pathlib import Path
from typing import Iterable

from exercising import blanks
from exercising.book import Chapter
from exercising.blanks import Blank

BACKUPS = "backups"


class Copies:
    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, chapter: Chapter, file: str) -> Path:
        return self.folder / chapter.name / file

    def exists(self, chapter: Chapter) -> bool:
        return (self.folder / chapter.name).is_dir()

    def missing(self, chapter: Chapter) -> list[str]:
        return [file for file in chapter.files if not self.path(chapter, file).is_file()]

    def text(self, chapter: Chapter, file: str) -> str:
        return read(self.path(chapter, file))

    def make(self, chapter: Chapter, emptied: Iterable[Blank]) -> None:
        """A new copy of the chapter, with these blanks in it."""
        texts = {file: chapter.text(file) for file in chapter.files}
        for blank in emptied:
            texts[blank.file] = blanks.blanked(blank, texts[blank.file])
        for file, text in texts.items():
            write(self.path(chapter, file), text)

    def blank(self, chapter: Chapter, blank: Blank) -> None:
        """One more blank in the copy that there is. Throws Rotten when its place is not found."""
        path = self.path(chapter, blank.file)
        write(path, blanks.blanked(blank, read(path)))

    def is_empty(self, chapter: Chapter, blank: Blank) -> bool:
        path = self.path(chapter, blank.file)
        return path.is_file() and blanks.is_empty(blank, read(path))

    def line(self, chapter: Chapter, blank: Blank) -> int:
        """Where the blank is in the copy: at its call, or else where the book's marker stands; 1 if both are gone."""
        lines = self.text(chapter, blank.file).splitlines()
        call = blanks.call_span(blank, lines)
        if call:
            return call.start + 1
        return next((number + 1 for number in blanks.markers(lines, blank.regions[0])), 1)

    def back_up(self, chapter: Chapter) -> Path | None:
        """Copies what there is under a dated name, and says where."""
        if not self.exists(chapter):
            return None
        now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        wanted = self.folder / BACKUPS / f"{chapter.name}_{now}"
        backup, count = wanted, 1
        while backup.exists():
            count += 1
            backup = wanted.with_name(f"{wanted.name}_{count}")
        shutil.copytree(self.folder / chapter.name, backup)
        return backup


def read(path: Path) -> str:
    """The text with plain line ends, whatever an editor has made of it."""
    return path.read_text(encoding="utf-8-sig", errors="surrogateescape")


def write(path: Path, text: str) -> None:
    """All of it or nothing: the old file stays until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", errors="surrogateescape")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]
