"""What the commands written in Python have around their work: how they begin, and every way in which they may end.

A reader never sees a traceback: what goes wrong ends in a sentence on standard error and the exit code 2. For whoever
mends the book, $BOOK_TRACEBACK brings the traceback back.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from typing import Callable, NoReturn, Optional


class Interrupted(KeyboardInterrupt):
    """SIGTERM, or SIGHUP from a terminal that was closed. `number` is the signal's."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


def run(name: str, main: Callable[[], Optional[int]], give_up: Callable[[], object] = lambda: None) -> NoReturn:
    """Ends this process with main()'s exit code. give_up() is called first when a signal is what ends it."""
    prepare_streams(name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup asks for that
            signal.signal(number, interrupt)
    try:
        code = main() or 0
        sys.stdout.flush()
    except SystemExit as ending:
        code = said(ending.code)
    except KeyboardInterrupt as ending:
        code = signalled(ending)
        give_up()
    except BrokenPipeError:
        code = 128 + signal.SIGPIPE
    except OSError as error:
        code = 2
        tell(f"{name}: {error.filename2 or error.filename or 'standard output'}: {error.strerror or error}.")
    except Exception as error:
        code = unforeseen(name, error)
    leave(name, code)


def interrupt(number: int, frame: object) -> None:
    raise Interrupted(number) if number != signal.SIGINT else KeyboardInterrupt


def signalled(ending: KeyboardInterrupt) -> int:
    return 128 + getattr(ending, "number", signal.SIGINT)


def said(code: object) -> int:
    """sys.exit takes a number, a sentence or nothing."""
    if code is None or isinstance(code, int):
        return code or 0
    tell(str(code))
    return 1


def tell(sentence: str) -> None:
    with contextlib.suppress(OSError):  # nobody may be there any more to read it
        print(sentence, file=sys.stderr, flush=True)


def prepare_streams(name: str) -> None:
    """A stream that is closed would hand its number to the next file that is opened."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")
    if sys.stdout is None:
        print(f"{name}: standard output is closed.", file=sys.stderr)
        os._exit(2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal without √ isn't a reason to stop


def unforeseen(name: str, error: Exception) -> int:
    if os.environ.get("BOOK_TRACEBACK"):
        traceback.print_exc()
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({os.path.basename(place[0].filename)}:{place[0].lineno})" if place else ""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    tell(f"{name}: this should not happen, and is an error of the book's own: {words}{where}.")
    return 2


def leave(name: str, code: int) -> NoReturn:
    """Without Python's own complaints about streams that cannot be written any more, and without waiting for threads."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = 128 + signal.SIGPIPE
    except OSError as error:
        if code != 2:  # otherwise the reader has been told
            tell(f"{name}: standard output cannot be written: {error.strerror}.")
        code = 2
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)
