"""The command line: what the reader types, and what is printed."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import sys
from pathlib import Path
from typing import NoReturn, Optional, Sequence, TextIO

from entry import Interrupted
from exercising import starting, showing, checking
from exercising.session import ME, Session
from exercising.screen import Screen
from exercising.errors import StaleList, CommandError

DESCRIPTION = """\
The tests as exercises. It blanks lines out in a copy of a chapter, and tells
you what is right and what isn't when you have written them again. Your copies
are in exercises/, which git ignores."""
EPILOG = """\
N is a chapter: 3, 03 or 03_scaling. N.K is one exercise of it, as list shows
them. If you leave it out, the command means the chapter or the exercise you are
at. Without a command: where you are, and what to type next.

The exit code is 0 when everything you have started passes, 1 when it doesn't, 2
when the command cannot be carried out, and 130 after Ctrl-C.

examples:
  tests/exercise start 3     take out what chapter 3 is about
  tests/exercise watch       and try it again after every save
  tests/exercise start 6.4   one exercise alone"""
# What carries a command out, what comes after its name, and what it is for.
COMMANDS = {
    "list": (showing.list_all, "[N]", "how far you are; and the exercises of a chapter: how many lines each takes"),
    "start": (starting.start, "N | N.K", "make a copy of a chapter with all its exercises blanked out, or with one"),
    "watch": (checking.watch, "[N]", "try the copy now and after every save; keys are shown, q ends it"),
    "check": (checking.check, "[N]", "try the copy once"),
    "hint": (showing.hint, "[N.K]", "where to look; asked again, what to think of; and again, nearly the line"),
    "diff": (showing.diff, "[N]", "your copy against the book's chapter"),
    "reset": (starting.reset, "[N | N.K]", "blank out again; a backup keeps what you have"),
    "solution": (showing.solution, "[N.K]", "the solution, once yours passes; before that with --insist"),
    "goto": (starting.goto, "N", "a copy of the chapter with nothing blanked out"),
}


def main(arguments: Sequence[str], root: Path) -> int:
    screen = Screen()
    mistyped = next((word for word in arguments if not word.startswith("-")), "list")
    if mistyped not in COMMANDS:
        return refuse(screen, no_such_command(mistyped))
    options = parser().parse_args(arguments)
    try:
        session = Session(root, screen)
        if session.progress.notice:
            session.say(session.progress.notice)
        carry_out = COMMANDS[options.command][0] if options.command else showing.where
        return carry_out(session, options)
    except (CommandError, StaleList) as trouble:
        return refuse(screen, str(trouble))
    except BrokenPipeError:
        raise
    except OSError as error:
        return refuse(screen, f"{error.filename2 or error.filename or ME}: {error.strerror or error}.")
    except KeyboardInterrupt as ending:
        with contextlib.suppress(OSError):  # the terminal may be what went away
            screen.unnote()
            print(f"\nStopped. Your copies are as you saved them. To go on: {ME} watch")
        if options.command == "watch" and not isinstance(ending, Interrupted):
            return 0
        raise


def no_such_command(word: str) -> str:
    near = difflib.get_close_matches(word.lower(), COMMANDS, 1, 0.5)
    known = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}."
    return f"There is no command {word}; {known}"


def refuse(screen: Screen, sentence: str) -> int:
    screen.unnote()
    print(sentence, file=sys.stderr)
    return 2


class Parser(argparse.ArgumentParser):
    """Complains in one sentence, and does not overlook that nobody can read its help."""

    def _print_message(self, message: str, file: Optional[TextIO] = None) -> None:
        print(message, end="", file=file or sys.stderr)

    def error(self, message: str) -> NoReturn:
        print(f"{ME}: {message} (see {ME} --help).", file=sys.stderr)
        sys.exit(2)


def parser() -> argparse.ArgumentParser:
    made = Parser("tests/exercise", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, (_, place, about) in COMMANDS.items():
        add_command(commands, name, place, about)
    return made


def add_command(commands, name: str, place: str, about: str) -> None:
    command = commands.add_parser(name, help=about, description=about.capitalize() + ".", allow_abbrev=False)
    if place:
        command.add_argument("word", metavar=place.strip("[]"), nargs="?" if place.startswith("[") else None)
    if name in ("watch", "check"):
        command.add_argument("--verbose", action="store_true", help="all that the compiler and the tests say")
        command.add_argument("--quick", action="store_true", help="without the second pass, that of the sanitizers")
    if name == "solution":
        command.add_argument("--insist", action="store_true", help="before the tests pass")
