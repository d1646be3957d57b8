"""The contents of each generated block, by the word of its marker."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from weaving.book import Book, Chapter, BookError, closest
from weaving.budgets import changed_lines
from weaving.changes import DIFF_MARKER, mechanism_changes, mechanism_regions
from weaving.citations import definitions
from weaving.page import Block, Page, fenced
from weaving.programs import Programs
from weaving.regions import Regions
from weaving.terms import defined_at

CHAPTER = r"(?:(?P<chapter>\d+)(?:\s+|$))?"
ARGUMENTS = r"(?:\s*(?<!\S)--(?:\s+(?P<arguments>.*))?)?"
LISTING = re.compile(r"(?P<file>\S+)\s+\[(?P<region>[^\]]+)\](?P<bare>\s+without-comments)?")
OUTPUT = re.compile(
    CHAPTER + r"(?:\[(?P<section>[^\]]+)\]\s*)?"
    r"(?:from\s+\"(?P<first>[^\"]+)\"\s+lines\s+(?P<count>\d+)\s*)?(?P<fails>fails\s*)?" + ARGUMENTS
)
FIGURE = re.compile(CHAPTER + r"(?P<file>[\w.-]+\.svg)\s+\"(?P<caption>[^\"]+)\"\s*" + ARGUMENTS)
LIVE = re.compile(r"(?P<chapter>\d+)\s+(?P<name>[\w-]+)\s+\"(?P<caption>[^\"]+)\"\s*(?P<recorded>recorded\b)?\s*"
                  + ARGUMENTS)
TITLE = re.compile(r"== (.*?)(?: ==)?\s*")


@dataclass(frozen=True)
class Product:
    """What a marker makes: the lines of its block, and for a figure the picture beside it."""

    body: str
    picture: Optional[Path] = None
    content: bytes = b""


class BlockMaker:
    """Makes the products of all pages from one book and its programs."""

    def __init__(self, book: Book, programs: Programs):
        self._book, self._programs = book, programs
        self._makers: dict[str, Callable[[Page, str], Product]] = {
            "listing": self._listing,
            "output": self._output,
            "command": self._command,
            "diff": self._diff,
            "figure": self._figure,
            "live": self._live,
            "chapters": self._chapters,
            "tests": self._tests,
        }

    def make(self, page: Page, block: Block) -> Product:
        if block.marker.word == "defined":
            return Product(defined_at(self._book, page, block))
        return self._makers[block.marker.word](page, block.marker.text)

    def _listing(self, page: Page, text: str) -> Product:
        match = parsed(LISTING, text, "listing: FILE [REGION]")
        if "/" in match["file"]:
            path = self._book.root / match["file"]
        else:
            path = chapter_of(self._book, page).folder / match["file"]
        regions = Regions(self._book.name(path), self._book.read(path))
        return Product(fenced("cpp", regions.listing(match["region"], bool(match["bare"]))))

    def _output(self, page: Page, text: str) -> Product:
        form = "output: [SECTION] from \"WORDS\" lines N -- OPTIONS"
        match = parsed(OUTPUT, text, form)
        chapter = chapter_of(self._book, page, match["chapter"])
        run = self._programs.refusal if match["fails"] else self._programs.output
        printed = run(chapter, words_of(match["arguments"]))
        if match["section"]:
            printed = section_of(printed, match["section"])
        if match["first"]:
            printed = lines_from(printed, match["first"], int(match["count"]))
        return Product(printed_block(printed))

    def _command(self, page: Page, text: str) -> Product:
        words = words_of(text)
        if not words:
            raise BookError("this marker is written <!-- command: PROGRAM OPTIONS -->")
        return Product(printed_block(self._programs.command(words)))

    def _diff(self, page: Page, text: str) -> Product:
        region = parsed(DIFF_MARKER, text, "diff: [REGION]")["region"]
        chapter = chapter_of(self._book, page)
        hunks = mechanism_changes(self._book, chapter).of_region(region)
        if not hunks:
            raise BookError(self._why_no_hunks(chapter, region))
        return Product(fenced("diff", hunks))

    def _why_no_hunks(self, chapter: Chapter, region: str) -> str:
        regions = mechanism_regions(self._book, chapter)
        regions.require(region)
        return f"{regions.file_name} changes nothing in the region [{region}]"

    def _figure(self, page: Page, text: str) -> Product:
        match = parsed(FIGURE, text, "figure: NAME.svg \"CAPTION\" -- OPTIONS")
        return self._drawn(page, match, match["file"])

    def _live(self, page: Page, text: str) -> Product:
        """The static figure, which is shown where no script runs; docs/live has the live one."""
        match = parsed(LIVE, text, "live: CHAPTER NAME \"CAPTION\" -- OPTIONS")
        file = f"{match['name']}.svg"
        return self._recorded(page, match, file) if match["recorded"] else self._drawn(page, match, file)

    def _recorded(self, page: Page, match: re.Match[str], file: str) -> Product:
        """A picture of a run that is too long to be made again, and differs a little from machine to machine."""
        picture = chapter_of(self._book, page).folder / "figures" / file
        if not picture.exists():
            raise BookError(f"there is no {self._book.name(picture)}")
        return Product(f"![{match['caption']}](figures/{file})")

    def _drawn(self, page: Page, match: re.Match[str], file: str) -> Product:
        chapter = chapter_of(self._book, page, match["chapter"])
        content = self._programs.picture(chapter, words_of(match["arguments"]))
        home = page.chapter.folder if page.chapter else self._book.root / "docs"
        link = f"figures/{file}" if page.chapter else f"docs/figures/{file}"
        body = f"![{match['caption']}]({link})"
        return Product(body, home / "figures" / file, content)

    def _tests(self, page: Page, text: str) -> Product:
        parsed(re.compile(""), text, "tests")
        return Product(definitions(self._book, page))

    def _chapters(self, page: Page, text: str) -> Product:
        parsed(re.compile(""), text, "chapters")
        rows = [("chapter", "what changes", "lines changed"), ("---", "---", "---")]
        silent = [self._book.name(chapter.readme) for chapter in self._book.chapters
                  if len(self._readme(chapter).marked("changes")) != 1]
        if silent:
            raise BookError(f"exactly one <!-- changes: ... --> is needed in {', '.join(silent)}")
        rows += [self._row(chapter) for chapter in self._book.chapters]
        return Product("\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")

    def _row(self, chapter: Chapter) -> tuple[str, str, str]:
        readme = self._readme(chapter)
        title = re.search(r"^# +(.+?) *$", readme.prose(), re.M)
        name = title[1] if title else chapter.folder.name
        link = f"[{name}]({self._book.name(chapter.readme)})"
        changes = readme.marked("changes")[0].text
        return cell(link), cell(changes), self._size(chapter)

    def _readme(self, chapter: Chapter) -> Page:
        return Page(self._book.name(chapter.readme), self._book.read(chapter.readme), chapter)

    def _size(self, chapter: Chapter) -> str:
        if self._book.previous(chapter) is None:
            return "—"
        added, removed = changed_lines(self._programs, chapter)
        return f"+{added} −{removed}"


def parsed(form: re.Pattern[str], text: str, written: str) -> re.Match[str]:
    match = form.fullmatch(text)
    if match is None:
        raise BookError(f"this marker is written <!-- {written} -->")
    return match


def chapter_of(book: Book, page: Page, number: Optional[str] = None) -> Chapter:
    """The chapter that a marker is about: the one it names, or else the page's own."""
    if number:
        return book.chapter(int(number))
    if page.chapter is None:
        raise BookError("this page belongs to no chapter: the marker must name one")
    return page.chapter


def words_of(arguments: Optional[str]) -> list[str]:
    try:
        return shlex.split(arguments or "")
    except ValueError as error:
        raise BookError(f"the options cannot be taken apart: {error}") from error


def section_of(printed: str, wanted: str) -> str:
    """The part under the one headline that is, or else contains, the wanted title."""
    sections = sections_by_title(printed)
    whole = [title for title in sections if title.lower() == wanted.lower()]
    titles = whole or [title for title in sections if wanted.lower() in title.lower()]
    if len(titles) > 1:
        raise BookError(f"\"{wanted}\" is a part of {len(titles)} sections: {'; '.join(titles)}")
    if not titles:
        raise BookError(f"no section contains \"{wanted}\"{closest(wanted, sections)}")
    return "\n".join(sections[titles[0]])


def sections_by_title(printed: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in printed.splitlines():
        title = TITLE.fullmatch(line)
        if title:
            lines = sections.setdefault(title[1], [])
        else:
            lines.append(line)
    return sections


def lines_from(printed: str, words: str, count: int) -> str:
    lines = printed.splitlines()
    for number, line in enumerate(lines):
        if words in line:
            return "\n".join(lines[number : number + count])
    raise BookError(f"no line of the output contains \"{words}\"")


def printed_block(printed: str) -> str:
    without_blank_ends = re.sub(r"\A(?:[ \t]*\n)+|\s+\Z", "", printed)
    if not without_blank_ends:
        raise BookError("nothing is printed there")
    return fenced("text", without_blank_ends)


def cell(text: str) -> str:
    return text.replace("|", "\\|")
