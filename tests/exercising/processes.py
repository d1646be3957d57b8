"""Running other programs: with a time limit, and so that they can be stopped."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence

POLL = 0.01  # seconds between two looks whether a program has ended
BUSY = 0.25  # the part of its limit that a program must have been at work to be stopped at the limit
PATIENCE = 10  # times the limit, and it is stopped in any case
MERCY = 2  # seconds that a program has to end itself


class Stopped(Exception):
    """Whoever waited for the program no longer wants to know."""


@dataclass
class Finished:
    code: int
    output: str  # standard output, or both where they were joined
    errors: str = ""
    too_long: bool = False


def never() -> bool:
    return False


def run(command: Sequence, cwd: Optional[Path] = None, limit: Optional[float] = None,
        environment: Optional[dict] = None, stop: Callable[[], bool] = never) -> Finished:
    """Runs a program to its end. Throws Stopped when stop() says so; at the limit the program is told to end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=err)
        with ended(process):
            too_long = not wait(process, limit, stop)
        return Finished(process.returncode, text_of(out), text_of(err), too_long)


def wait(process: subprocess.Popen, limit: Optional[float], stop: Callable[[], bool]) -> bool:
    """Whether the program ended within the limit. One that hardly got a processor meanwhile gets more time."""
    start = time.monotonic()
    while process.poll() is None:
        waited = time.monotonic() - start
        if limit is not None and waited > limit and (waited > PATIENCE * limit or busy(process.pid) > limit * BUSY):
            return False
        if stop():
            raise Stopped
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL if stop is never else 10 * POLL)
    return True


@contextlib.contextmanager
def ended(process: subprocess.Popen) -> Iterator[None]:
    """Whatever happens, the program does not go on afterwards."""
    try:
        yield
    finally:
        for end_it in (process.terminate, process.kill):
            if process.poll() is None:
                end_it()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(MERCY)


def busy(pid: int) -> float:
    """The seconds of a processor that the program has used; where the system does not tell, more than any limit."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return math.inf


def text_of(file) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
