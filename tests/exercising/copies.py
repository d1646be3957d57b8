"""The reader's folder: copies of the chapters with blanks in them, and backups of earlier copies.

It is laid out as chapters/ is: exercises/03_scaling/attention.hpp. Git ignores it.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Iterable

from exercising import blanks
from exercising.book import Chapter
from exercising.blanks import Blank
from exercising.errors import CommandError

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
        self.require_own_folder(chapter)
        texts = {file: chapter.text(file) for file in chapter.files}
        for blank in emptied:
            texts[blank.file] = blanks.blanked(blank, texts[blank.file])
        for file, text in texts.items():
            write(self.path(chapter, file), text)

    def blank(self, chapter: Chapter, blank: Blank) -> None:
        """Blanks out one more exercise in the copy. Throws StaleList when its lines aren't found."""
        self.require_own_folder(chapter)
        path = self.path(chapter, blank.file)
        write(path, blanks.blanked(blank, read(path)))

    def is_empty(self, chapter: Chapter, blank: Blank) -> bool:
        path = self.path(chapter, blank.file)
        return path.is_file() and blanks.is_empty(blank, read(path))

    def line(self, chapter: Chapter, blank: Blank) -> int:
        """Where the blank is in the copy: at its call, or else where the book's marker is; 1 if both are gone."""
        lines = self.text(chapter, blank.file).split("\n")
        call = blanks.call_span(blank, lines)
        if call:
            return call.start + 1
        return next((number + 1 for number in blanks.markers(lines, blank.regions[0])), 1)

    def back_up(self, chapter: Chapter) -> Path | None:
        """Copies what there is under a dated name, and says where."""
        if not self.exists(chapter):
            return None
        self.require_own_folder(chapter)
        now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        wanted = self.folder / BACKUPS / f"{chapter.name}_{now}"
        backup, count = wanted, 1
        while backup.exists():
            count += 1
            backup = wanted.with_name(f"{wanted.name}_{count}")
        try:
            shutil.copytree(self.folder / chapter.name, backup, ignore=special_files, ignore_dangling_symlinks=True)
        except shutil.Error as error:
            shutil.rmtree(backup, ignore_errors=True)
            file, _, reason = error.args[0][0]
            raise CommandError(f"{file} cannot be copied: {re.sub(r'^.Errno .*?] |: .*$', '', str(reason))}.") from error
        return backup

    def require_own_folder(self, chapter: Chapter) -> None:
        """A link to the book's own chapters would blank out the book."""
        folder, book = (self.folder / chapter.name).resolve(), chapter.folder.parent.resolve()
        if book in (folder, *folder.parents):
            raise CommandError(f"exercises/{chapter.name} is a link to the book's own chapters, which must stay as they are. "
                               "Please remove the link.")


def special_files(folder: str, names: list[str]) -> list[str]:
    """Named pipes and the like, of which there can be no copy."""
    paths = {name: os.path.join(folder, name) for name in names}
    return [name for name, path in paths.items() if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)]


def read(path: Path) -> str:
    """The text as it is: with its line ends, with an editor's byte-order mark, and with bytes that aren't UTF-8."""
    return path.read_bytes().decode("utf-8", errors="surrogateescape")


def write(path: Path, text: str) -> None:
    """All of it or nothing: the old file stays until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]
