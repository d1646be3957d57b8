"""Keys that are read at once, without Enter and without being echoed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections import deque
from typing import Any, Optional


class Keys:
    """Within `with keys:` each key is read as it is pressed. Where there is none, no key is ever pressed."""

    def __init__(self) -> None:
        self._pressed: deque[str] = deque()
        self._settings: Optional[list[Any]] = None  # the terminal's own, which it gets back

    @property
    def are_there(self) -> bool:
        return self._settings is not None

    def __enter__(self) -> Keys:
        with contextlib.suppress(termios.error, OSError, ValueError):
            # A command in the background would be stopped if it changed the terminal's settings.
            if sys.stdout.isatty() and os.tcgetpgrp(0) == os.getpgrp():
                self._settings = termios.tcgetattr(0)
                self._set()
                signal.signal(signal.SIGCONT, self._set)  # after Ctrl-Z the shell has its own settings
        return self

    def __exit__(self, *ending: object) -> None:
        if self._settings is not None:
            signal.signal(signal.SIGCONT, signal.SIG_DFL)
            with contextlib.suppress(termios.error):  # the terminal may be what went away
                termios.tcsetattr(0, termios.TCSANOW, self._settings)
            self._settings = None

    def _set(self, *signal_and_frame: object) -> None:
        with contextlib.suppress(termios.error):
            tty.setcbreak(0, termios.TCSANOW)

    def wait(self, seconds: float) -> str:
        """The next key, or an empty text when none comes in that time."""
        if self.are_there:
            self._read(0 if self._pressed else seconds)
        else:
            time.sleep(seconds)
        return self._pressed.popleft() if self._pressed else ""

    def has_any(self, wanted: str) -> bool:
        """Whether one of these keys was pressed; `wait` returns it later."""
        if self.are_there:
            self._read(0)
        return any(key in wanted for key in self._pressed)

    def _read(self, seconds: float) -> None:
        if not select.select([0], [], [], seconds)[0]:
            return
        typed = os.read(0, 100).decode(errors="replace")
        self._pressed.extend(typed)
        if not typed:  # the terminal is gone, and a signal says so in a moment
            time.sleep(seconds)
