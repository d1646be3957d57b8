"""What Catch2 (version 2 or 3) says of a run, read from its XML. The end may be missing, as after a crash."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml
from dataclasses import dataclass, field


@dataclass
class Failure:
    """One check that failed, or one exception that nobody expected."""

    kind: str  # Expression, Exception, FatalErrorCondition or Failure
    file: str
    line: int
    original: str = ""  # the check as the test has it
    expanded: str = ""  # with its values
    message: str = ""  # of the exception, or the signal
    infos: list[str] = field(default_factory=list)

    @property
    def is_crash(self) -> bool:
        return self.kind == "FatalErrorCondition"


@dataclass
class Test:
    name: str
    file: str
    line: int
    failures: list[Failure] = field(default_factory=list)
    finished: bool = False


@dataclass
class Results:
    tests: list[Test] = field(default_factory=list)
    complete: bool = False  # the program came to its end

    @property
    def failing(self) -> list[Test]:
        return [test for test in self.tests if test.failures]

    @property
    def passing(self) -> list[Test]:
        return [test for test in self.tests if test.finished and not test.failures]

    @property
    def interrupted(self) -> list[Test]:
        """The test in which the program ended."""
        return [test for test in self.tests if not test.finished or any(failure.is_crash for failure in test.failures)]


FAILURES = ("Expression", "Exception", "FatalErrorCondition", "Failure")


NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # Catch2 lets some of them through


def read(told: bytes) -> Results:
    results = Results()
    parser = Xml.XMLPullParser(("start", "end"))
    try:
        parser.feed(NOT_IN_XML.sub("\ufffd", told.decode(errors="replace")))
        parser.close()
    except Xml.ParseError:
        pass  # what came before it counts
    reader = Reader(results)
    try:
        for event, element in parser.read_events():
            reader.take(event, element)
    except Xml.ParseError:
        pass
    return results


class Reader:
    """Takes one event after the other. Infos come before the check that they belong to."""

    def __init__(self, results: Results):
        self.results = results
        self.infos: list[str] = []
        self.inside = 0  # in how many elements that are failures themselves

    def take(self, event: str, element: Xml.Element) -> None:
        if event == "start":
            if element.tag == "TestCase":
                test = Test(element.get("name", ""), element.get("filename", ""), number(element))
                self.results.tests.append(test)
            self.inside += element.tag in FAILURES
        else:
            self.inside -= element.tag in FAILURES
            self.end(element)

    def end(self, element: Xml.Element) -> None:
        if element.tag == "Info":
            self.infos.append(text(element))
        elif element.tag in FAILURES and self.inside == 0 and self.results.tests:
            if element.get("success") != "true":
                self.results.tests[-1].failures.append(failure(element, self.infos))
            self.infos = []
        elif element.tag == "TestCase":
            self.results.tests[-1].finished = True
        elif element.tag in ("Catch", "Catch2TestRun"):
            self.results.complete = True


def failure(element: Xml.Element, infos: list[str]) -> Failure:
    cause = next((child for child in element if child.tag in FAILURES), None)
    kind = element.tag if cause is None else cause.tag
    outer = Failure(kind, element.get("filename", ""), number(element), infos=infos)
    outer.original = text(element.find("Original"))
    if cause is not None:
        outer.message = text(cause)
    elif element.tag == "Expression":
        outer.expanded = text(element.find("Expanded"))
    else:
        outer.message = text(element)
    return outer


def number(element: Xml.Element) -> int:
    return int(element.get("line", "0"))


def text(element: Xml.Element | None) -> str:
    return "" if element is None or element.text is None else element.text.strip()
