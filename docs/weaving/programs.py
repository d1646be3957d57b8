"""What the chapters' programs, and the commands of the repository, print."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional, Sequence

from weaving.book import Chapter, BookError

SECONDS = 60
PICTURE = "figure.svg"


@dataclass(frozen=True)
class Result:
    """How a program ended. `failure` says why it had to be ended; then there is no code."""

    code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    picture: Optional[bytes] = None
    failure: str = ""


class Programs:
    """Runs each distinct command once, quietly: no keyboard, no colour, no folder to litter."""

    def __init__(self, root: Path, build: Path):
        self._root = root
        self._folder = build / "chapters"
        self._results: dict[tuple[str, ...], Result] = {}

    def output(self, chapter: Chapter, arguments: Sequence[str]) -> str:
        return text_of(spoken(chapter, arguments), self._chapter(chapter, arguments), (0,))

    def refusal(self, chapter: Chapter, arguments: Sequence[str]) -> str:
        """What a program says when it refuses its options: standard output, then the error."""
        name, result = spoken(chapter, arguments), self._chapter(chapter, arguments)
        return text_of(name, result, (2,)) + decoded(name, result.stderr)

    def picture(self, chapter: Chapter, arguments: Sequence[str]) -> bytes:
        arguments = [*arguments, "--figure", PICTURE]
        result = self._chapter(chapter, arguments)
        text_of(spoken(chapter, arguments), result, (0,))
        if result.picture is None:
            raise BookError(f"{spoken(chapter, arguments)} wrote no file")
        return result.picture

    def tensors(self, chapter: Chapter, arguments: Sequence[str]) -> Any:
        """The program's JSON, with decimal numbers as they are printed."""
        arguments = [*arguments, "--json"]
        try:
            return json.loads(self.output(chapter, arguments), parse_float=Decimal)
        except ValueError as error:
            sentence = f"{spoken(chapter, arguments)} prints no JSON: {error}"
            raise BookError(sentence) from error

    def command(self, words: Sequence[str]) -> str:
        """What a command prints when it is run from the repository's root."""
        return text_of(shlex.join(words), self._once(words, words[0], self._root), (0,))

    def _chapter(self, chapter: Chapter, arguments: Sequence[str]) -> Result:
        """The program is called by its bare name: what it prints never names the build folder."""
        name = chapter.folder.name
        with tempfile.TemporaryDirectory() as folder:
            return self._once([name, *arguments], str(self._folder / name), Path(folder))

    def _once(self, words: Sequence[str], program: str, folder: Path) -> Result:
        key = (program, *words)
        if key not in self._results:
            self._results[key] = run(words, program, folder)
        return self._results[key]


def spoken(chapter: Chapter, arguments: Sequence[str]) -> str:
    return shlex.join([chapter.folder.name, *arguments])


def run(words: Sequence[str], program: str, folder: Path) -> Result:
    environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    try:
        ended = subprocess.run(words, executable=program, cwd=folder, env=environment,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Result(failure=f"was still running after {SECONDS} seconds")
    except OSError as error:
        return Result(failure=f"cannot be run: {error.strerror}")
    picture = folder / PICTURE
    content = picture.read_bytes() if picture.exists() else None
    return Result(ended.returncode, ended.stdout, ended.stderr, content)


def text_of(name: str, result: Result, accepted_codes: Sequence[int]) -> str:
    if result.failure:
        raise BookError(f"{name} {result.failure}")
    if result.code not in accepted_codes:
        said = " ".join(result.stderr.decode("utf-8", "replace").split()) or "nothing"
        raise BookError(f"{name} ended with {result.code}, and said on standard error: {said}")
    return decoded(name, result.stdout)


def decoded(name: str, printed: bytes) -> str:
    try:
        return printed.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BookError(f"{name} prints text that is not UTF-8") from error
