"""What a failing test says, in the reader's words.

The first that fails is shown: its sentence, what it got and wanted, what the bug looks like, and where the test
is. A test that fails because it ran into a blank that is still empty comes last: it says nothing about what is
written.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from exercising.blanks import Blank
from exercising.processes import Finished
from exercising.results import Failure, Results, Test
from exercising.screen import Line

PRINTED, LONGEST = 10, 500  # lines of what the reader's code prints that are shown, and characters of one of them
OTHERS = 3  # names of further failing tests that are shown
LOOKS_LIKE = "This looks like:"
NOTHING_THROWN = "(nothing was thrown)"  # from message_of in tests/support.hpp
SAYS = re.compile(r'"(?P<said>.*)" (?P<wanted>\(? ?contains: ".*" ?\)?)', re.S)
WANTED = re.compile(r'contains: "(.*?)"(?= and contains: | \)|$)', re.S)
DESCRIBED = re.compile(r'"(.+)"\s*==\s*""', re.S)
EXPLAINED = re.compile(rf"{LOOKS_LIKE}|Its shape is |\d+ of \d+ entries are wrong")
STILL_EMPTY = " is still empty. What belongs there: "


@dataclass
class Verdict:
    """`kind` is missing, broken, endless, crashed, failed, empty (what is written passes) or passed."""

    kind: str
    lines: list[Line] = field(default_factory=list)
    details: list[Line] = field(default_factory=list)  # what --verbose adds
    news: list[Blank] = field(default_factory=list)  # what has passed for the first time

    @property
    def calls_for_sanitizers(self) -> bool:
        return self.kind in ("passed", "crashed") or bool(self.news)


# --- a failure in words ------------------------------------------------------------------------


def summary(results: Results, name: Callable[[Path], str]) -> list[Line]:
    """The first failing test with all that helps, and the names of a few others."""
    failing = sorted(results.failing, key=ran_into_a_blank)
    first, others = failing[0], failing[1:]
    failure = most_telling(first)
    counts = f"{counted(len(results.passing), 'test passes', 'tests pass')}, {counted(len(failing), 'fails', 'fail')}."
    lines = [Line(f"✗ {first.name}", "bad"), *(Line(line.text, line.style, 2, line.wrap) for line in told(failure)),
             Line(f"{name(Path(failure.file))}:{failure.line}", "faint", indent=2), *other_guesses(first, others),
             Line(), Line(counts)]
    lines += [Line(f"✗ {test.name}", "faint", indent=2) for test in others[:OTHERS]]
    if len(others) > OTHERS:
        lines.append(Line(f"and {len(others) - OTHERS} more, which --verbose shows", "faint", indent=2))
    return lines


def everything(test: Test, name: Callable[[Path], str]) -> list[Line]:
    lines = [Line(), Line(test.name, "name")]
    for failure in test.failures:
        lines.append(Line(f"{name(Path(failure.file))}:{failure.line}", "faint", indent=2))
        texts = [failure.original, failure.expanded, failure.message, *failure.infos]
        lines += [Line(text, indent=4, wrap=False) for text in texts if text]
    return lines


def ran_into_a_blank(test: Test) -> bool:
    return any(STILL_EMPTY in failure.message for failure in test.failures)


def guess(failure: Failure) -> str:
    """What the failure takes the bug for; empty when it has no name for it."""
    return next((line for line in explanation(failure) if line.startswith(LOOKS_LIKE)), "")


def explanation(failure: Failure) -> list[str]:
    """What a matcher, or a function that describes what is wrong, says of a failure."""
    described = DESCRIBED.fullmatch(failure.expanded)
    lines = [line.strip() for line in (described[1] if described else failure.expanded).split("\n")]
    return lines if described else [line for line in lines if EXPLAINED.match(line)]


def most_telling(test: Test) -> Failure:
    """The first failure with the guess that most failures of the test share, since small sizes mislead."""
    guesses = [guess(failure) for failure in test.failures if guess(failure)]
    best = max(guesses, key=guesses.count) if guesses else ""
    return next(failure for failure in test.failures if guess(failure) == best)


def told(failure: Failure) -> list[Line]:
    """What was got and wanted, and in which case."""
    explained = explanation(failure)
    lines = [Line(line, "name" if line.startswith(LOOKS_LIKE) else "") for line in explained]
    if failure.message:
        lines.append(Line(f"It threw: {failure.message}" if failure.kind == "Exception" else failure.message))
    elif not explained:
        lines += checked(failure)
    return lines + [Line(f"In the case {info}") for info in failure.infos]


def checked(failure: Failure) -> list[Line]:
    """A check of something other than a matrix: its source text, and its values.

    Of a check of what an exception says, its words are enough.
    """
    said = SAYS.fullmatch(failure.expanded)
    if said and failure.original.startswith("message_of("):
        wanted = " and ".join(f"“{part}”" for part in WANTED.findall(said["wanted"]))
        error = "Nothing was thrown" if said["said"] == NOTHING_THROWN else f"The error says “{said['said']}”"
        return [Line(f"{error}; it should say {wanted}.")]
    lines = [Line(f"This does not hold: {failure.original}")]
    if failure.expanded not in ("", "false", "true", failure.original):
        lines.append(Line(f"With its values: {failure.expanded}"))
    return lines


def other_guesses(shown: Test, others: list[Test]) -> list[Line]:
    """What other tests take the bug for, where they have a different name for it."""
    seen, lines = {guess(most_telling(shown))}, []
    for test in others:
        named = guess(most_telling(test))
        if named and named not in seen and len(seen) <= OTHERS:
            lines += [Line(f"And “{test.name}” says:", indent=2), Line(named, "name", 4)]
        seen.add(named)
    return lines


def during(results: Results) -> list[Line]:
    last = results.interrupted[-1:]
    return [Line(f"It was in the test: {test.name}", indent=2) for test in last]


def ending(results: Results, done: Finished) -> str:
    for test in results.tests:
        for failure in test.failures:
            if failure.is_crash:
                return failure.message
    if done.code < 0:
        return signal.Signals(-done.code).name
    return f"they ended with the exit code {done.code}" if done.code else "they ended too early"


def printed(done: Finished) -> tuple[list[Line], list[Line]]:
    """The beginning of what the reader's code printed, and all that is known of it."""
    rows = done.output.rstrip("\n").split("\n")
    if rows == [""]:
        return [], []
    title = [Line(), Line("Your code printed:", "name")]
    shown = [Line(row[:LONGEST], indent=2, wrap=False) for row in rows[:PRINTED]]
    if len(rows) > PRINTED or done.lost or any(len(row) > LONGEST for row in rows):
        size = len(done.output.encode()) + done.lost
        shown.append(Line(f"That was cut: it printed {size:,} bytes. --verbose shows "
                          f"{'the first and the last of them' if done.lost else 'them all'}.", "faint", indent=2))
    return title + shown, title + [Line(row, indent=2, wrap=False) for row in rows]


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def names(blank_list: list[Blank]) -> str:
    return ", ".join(blank.number for blank in blank_list)
