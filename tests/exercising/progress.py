"""What the reader has done, kept in exercises/progress.json.

It is beside the copies, so that it survives everything but deleting that folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from pathlib import Path
from typing import Any, Iterator

from exercising.book import Chapter
from exercising.copies import fingerprint, read, write
from exercising.blanks import Blank

NAME = "progress.json"


class Progress:
    """Reads the file at once; `change` reads it again, so that two commands at a time lose nothing."""

    def __init__(self, folder: Path):
        self.path = folder / NAME
        self.notice = ""  # what to tell the reader about the file itself
        self._load()

    def _load(self) -> None:
        self._data: dict[str, Any] = {}
        if not self.path.is_file():
            return
        try:
            data = json.loads(read(self.path).removeprefix("\ufeff"))
            if not is_progress(data):
                raise ValueError("it isn't a table of exercises")
            self._data = data
        except (ValueError, RecursionError) as error:
            broken = self.path.with_suffix(".broken")
            self.path.replace(broken)
            self.notice = (f"exercises/{self.path.name} cannot be read: {error}. It is now called {broken.name}, and your "
                           "progress starts over. Your copies are as they were.")

    def refresh(self) -> None:
        """Reads what other commands have written since."""
        self._load()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_name(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._load()
            yield
            write(self.path, json.dumps(self._data, indent=2, ensure_ascii=False) + "\n")

    # --- the chapter the reader is in --------------------------------------------------------

    @property
    def chapter(self) -> str:
        return str(self._data.get("chapter", ""))

    def enter(self, chapter: Chapter) -> None:
        with self.change():
            self._data["chapter"] = chapter.name

    # --- the blanks -----------------------------------------------------------------------------

    def _of(self, blank: Blank) -> dict[str, Any]:
        return self._data.setdefault("blanks", {}).setdefault(blank.number, {})

    def _get(self, blank: Blank, key: str) -> Any:
        return self._data.get("blanks", {}).get(blank.number, {}).get(key)

    def is_started(self, blank: Blank) -> bool:
        return bool(self._get(blank, "started"))

    def is_passed(self, blank: Blank) -> bool:
        return bool(self._get(blank, "passed"))

    def hints(self, blank: Blank) -> int:
        """How many of its hints the reader has seen."""
        count = self._get(blank, "hints")
        return max(0, count) if isinstance(count, int) else 0

    def start(self, started: list[Blank]) -> None:
        with self.change():
            for blank in started:
                self._of(blank).update(started=True, passed=False)

    def unstart(self, chapter: Chapter) -> None:
        """There are no blanks in the chapter's copy any more; what was passed stays passed."""
        with self.change():
            for blank in chapter.blanks:
                self._of(blank)["started"] = False

    def set_passed(self, blank_list: list[Blank], passed: bool) -> None:
        changed = [blank for blank in blank_list if self.is_passed(blank) != passed]
        if changed:
            with self.change():
                for blank in changed:
                    self._of(blank)["passed"] = passed

    def set_hints(self, blank: Blank, count: int) -> None:
        with self.change():
            self._of(blank)["hints"] = count

    # --- the book's version of what was copied -----------------------------------------------------

    def remember_book(self, chapter: Chapter) -> None:
        with self.change():
            versions = {file: fingerprint(chapter.text(file)) for file in chapter.files}
            self._data.setdefault("book", {})[chapter.name] = versions

    def changed_files(self, chapter: Chapter) -> list[str]:
        """Files of the chapter that the book has changed since the reader's copy was made."""
        versions = self._data.get("book", {}).get(chapter.name, {})
        return [file for file in chapter.files
                if file in versions and versions[file] != fingerprint(chapter.text(file))]


def is_progress(data: Any) -> bool:
    """Whether it has the shape of what is written here: an editor may have been at it."""
    tables = ("blanks", "book")
    if not isinstance(data, dict) or not all(isinstance(data.get(name, {}), dict) for name in tables):
        return False
    return all(isinstance(entry, dict) for name in tables for entry in data.get(name, {}).values())
