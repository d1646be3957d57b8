"""Running other programs: with a time limit, so that they can be stopped, and so that nothing of them is left.

A program gets its own process group. Whatever way its run ends, and whatever ends this command (Ctrl-C, a closed
terminal, SIGTERM), the whole group is ended with it, including children that the program has forked. What it prints is
read as it comes, and bounded: an endless loop around a print would fill the disk.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence

POLL = 0.01  # seconds between two looks whether a program has ended
BUSY = 0.25  # the part of its limit that a program must have used of a processor to be stopped at the limit
PATIENCE = 10  # times the limit, and it is stopped in any case
MERCY = 2  # seconds that a program has to end itself
LIMIT_OF_OUTPUT = 256 * 1024  # bytes of what a program prints that are kept from the beginning, and as many from the end
PART = 65536  # bytes read at once
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # what may end this command


class Stopped(Exception):
    """Whoever waited for the program no longer wants to know."""


@dataclass
class Finished:
    code: int
    output: str  # standard output and standard error
    too_long: bool = False
    busy: float = 0.0  # seconds of a processor that it had used when it was stopped
    lost: int = 0  # bytes that it printed and that were not kept
    report: str = ""  # what the sanitizers wrote


def never() -> bool:
    return False


def run(command: Sequence, cwd: Optional[Path] = None, limit: Optional[float] = None,
        environment: Optional[dict] = None, stop: Callable[[], bool] = never) -> Finished:
    """Runs a program to its end. Throws Stopped when stop() says so; at the limit the program is told to end."""
    with started(command, cwd, environment, limit) as process:
        assert process.stdout
        printed = Printed(process.stdout.fileno())
        busy = wait(process, printed, limit, stop)
        if busy is not None:
            end(process)  # Catch2 writes down where it was when it is told to end
        printed.drain()
    return Finished(process.returncode, printed.text(), busy is not None, busy or 0.0, printed.lost)


def wait(process: subprocess.Popen, printed: Printed, limit: Optional[float],
         stop: Callable[[], bool]) -> Optional[float]:
    """None if the program ended within the limit; otherwise the seconds of a processor that it used. Time that it
    spent waiting for a processor does not count."""
    start, pause = time.monotonic(), POLL if stop is never else 10 * POLL
    while process.poll() is None:
        waited = time.monotonic() - start
        if limit is not None and waited > limit:
            times = Times(process.pid)
            if times.used > limit * BUSY or waited - times.starved > limit or waited > PATIENCE * limit:
                return times.used
        if stop():
            raise Stopped
        if not printed.is_open:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
        elif select.select([printed.file], [], [], pause)[0]:
            printed.read()
    return None


class Printed:
    """What comes out of a pipe: the first bytes and the last ones."""

    def __init__(self, file: int):
        self.file, self.first, self.last, self.lost, self.is_open = file, bytearray(), bytearray(), 0, True
        os.set_blocking(file, False)

    def read(self) -> None:
        """Takes what is there now."""
        part = os.read(self.file, PART)
        self.is_open = bool(part)
        room = LIMIT_OF_OUTPUT - len(self.first)
        self.first += part[:room]
        self.last += part[room:]
        if len(self.last) > 2 * LIMIT_OF_OUTPUT:
            self.forget()

    def forget(self) -> None:
        self.lost += max(0, len(self.last) - LIMIT_OF_OUTPUT)
        del self.last[:-LIMIT_OF_OUTPUT]

    def drain(self) -> None:
        """Takes what the program has left in the pipe. The pipe's other end may still be open elsewhere."""
        with contextlib.suppress(BlockingIOError):
            while self.is_open:
                self.read()

    def text(self) -> str:
        self.forget()
        cut = f"\n[{self.lost:,} bytes are left out here]\n".encode() if self.lost else b""
        return bytes(self.first + cut + self.last).decode(errors="replace")


# --- starting and ending -----------------------------------------------------------------------

running: set[subprocess.Popen] = set()


@contextlib.contextmanager
def started(command: Sequence, cwd: Optional[Path], environment: Optional[dict],
            limit: Optional[float]) -> Iterator[subprocess.Popen]:
    """A program in its own process group; nothing of the group survives, whatever happens."""
    with answered_later():
        process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        running.add(process)
    if limit is not None and hasattr(resource, "prlimit"):  # even kill -9 of this command must not leave an endless loop running
        seconds = math.ceil((limit + MERCY + 1) * (os.cpu_count() or 1))
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
    try:
        yield process
    finally:
        end(process)
        running.discard(process)
        if process.stdout:
            process.stdout.close()


def end(process: subprocess.Popen) -> None:
    """Ends the program and every process of its group. As long as the program runs they are asked first."""
    if process.poll() is None:
        signal_group(process, signal.SIGTERM)
        asked = time.monotonic()
        while signal_group(process, 0) and time.monotonic() - asked < MERCY:
            time.sleep(POLL)
            process.poll()
    signal_group(process, signal.SIGKILL)
    process.wait()


def signal_group(process: subprocess.Popen, number: int) -> bool:
    """Whether there was anybody left in the program's group to get the signal."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS says the second of a group of zombies
        return False
    return True


def end_all() -> None:
    """For a command whose threads are at work: whatever they run does not go on."""
    for process in list(running):
        signal_group(process, signal.SIGKILL)


@contextlib.contextmanager
def answered_later() -> Iterator[None]:
    """Signals that arrive now are answered at the end: a program that is just being started would be lost sight of."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python answers signals in its main thread
        return
    came: list[int] = []
    answers = {number: signal.getsignal(number) for number in ENDINGS}
    caught = [number for number in ENDINGS if callable(answers[number])]
    for number in caught:
        signal.signal(number, lambda which, frame: came.append(which))
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, answers[number])
        for which in came:
            signal.raise_signal(which)


class Times:
    """What a process has used of a processor, and how long it has waited for one, in seconds."""

    def __init__(self, pid: int):
        self.used = self.starved = 0.0
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            self.used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            threads = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
            self.starved = max((int(thread[1]) / 1e9 for thread in threads), default=0.0)
        except (OSError, IndexError, ValueError):
            pass  # where the system does not tell, the limit is the limit
