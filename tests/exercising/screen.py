"""The terminal: its width, its colours, and where there is none."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass

COLOUR = re.compile(r"\033\[[0-9;:]*m")
CONTROL = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}  # pictures: ␀ for NUL
CONTROL.update({code: "\ufffd" for code in range(0x7F, 0xA0)})
COLOURS = {"good": "32", "bad": "31", "name": "1", "faint": "2", "added": "32", "removed": "31"}
NARROW, WIDE = 20, 100  # columns; text is not set wider, and not narrower either


@dataclass
class Line:
    """A paragraph; or with wrap=False a line, which is cut when it is too long, unless cut=False."""

    text: str = ""
    style: str = ""
    indent: int = 0
    wrap: bool = True
    cut: bool = True


class Screen:
    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self.coloured = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    @property
    def width(self) -> int:
        if not self.is_terminal:
            return WIDE
        return max(NARROW, min(WIDE, shutil.get_terminal_size().columns))

    def show(self, *lines: Line) -> None:
        for line in lines:
            print("\n".join(self._set(line)))
        sys.stdout.flush()

    def _set(self, line: Line) -> list[str]:
        width, text = self.width - line.indent, visible(line.text)
        if not line.wrap:
            rows = [self._cut(row, width) if line.cut else row for row in text.split("\n")]
        else:
            rows = [row for part in text.split("\n") for row in wrapped(part, width)]
        return [" " * line.indent + self._coloured(row, line.style) if row else "" for row in rows]

    def _cut(self, row: str, width: int) -> str:
        return row if not self.is_terminal or len(row) <= width else row[:width - 1] + "…"

    def _coloured(self, text: str, style: str) -> str:
        return f"\033[{COLOURS[style]}m{text}\033[0m" if self.coloured and style else text

    def clear(self) -> None:
        if self.is_terminal:
            print("\033[2J\033[3J\033[H", end="", flush=True)

    def note(self, text: str) -> None:
        """A line that the next one takes the place of; nothing where there is no terminal."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text[:self.width - 1]}", end="", file=sys.stderr, flush=True)

    def unnote(self) -> None:
        self.note("")


def visible(text: str) -> str:
    """The text without colours, and with a picture for every character that could do something to the terminal."""
    return COLOUR.sub("", text).replace("\r\n", "\n").expandtabs().translate(CONTROL)


def wrapped(text: str, width: int) -> list[str]:
    """Words are broken only where they are wider than the screen: a path can be clicked on."""
    return textwrap.wrap(re.sub(r"\s+", " ", text), width, break_on_hyphens=False) or [""]
