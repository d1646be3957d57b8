"""The command line: which pages, woven or only checked, and what came of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Iterator, Optional, Sequence

from weaving import words
from weaving.book import Book, Place, Problem, UserError
from weaving.programs import Programs
from weaving.terms import GLOSSARY
from weaving.weaver import Weaver

DEFAULT_BUILD = "build/release"
DESCRIPTION = """\
Writes the listings, outputs, diffs, figures and tables of the READMEs anew, from the code and
from what the chapters' programs print, and checks the rest: numbers, names of
tests, links, and that every change is explained. Prints what does not agree, as path:line:
sentence; then the exit code is 1."""
MARKERS = """\
markers in a page (each block ends with a line <!-- end -->; what is in between is written anew):

  <!-- listing: attention.hpp [REGION] -->            lines between two lines //! [REGION];
                                                      "without-comments" may follow
  <!-- output: [SECTION] -- OPTIONS -->               what the program prints; all may be left
                                                      out; before the "--" may come:
                                                      from "WORDS" lines N, and: fails
  <!-- diff: [REGION] -->                             what the mechanism changed there
  <!-- figure: NAME.svg "CAPTION" -- OPTIONS -->      drawn by the program into figures/
  <!-- live: 3 NAME "CAPTION" -- OPTIONS -->          the same, into figures/NAME.svg; in the HTML
                                                      book the figure NAME of docs/live/03_*.js;
                                                      with "recorded" after the caption the file
                                                      is not drawn anew
  <!-- command: ./chapters/diff 3 -->                 run from the root
  <!-- chapters -->                                   the table of chapters
  0.896<!-- = name.name[2][1] -- OPTIONS -->          a number of the program's --json
  <!-- constants: 0.5 2.71828 -->                     numbers that no block needs to show
  [✓][NAME]                                           after a claim, the test that would fail if
                                                      it were false; Markdown makes a link of it
  <!-- tests -->                                      at the page's end, where those links lead
  <!-- defined: 03 also FORM, FORM -->                under a term of docs/glossary.md: a link to the
                                                      bold term in chapter 03 ("front" is README.md;
                                                      "everyday" may follow the number)
  <!-- changes: a window of two days -->              the chapter's line in the table
  <!-- graph: "CAPTION" -->                           where the HTML book shows the chapter's data
                                                      flow, docs/graphs/NN_name.dot

On the front page output, figure and = name the chapter first: <!-- output: 3 [SECTION] -->."""


def main(arguments: Sequence[str], root: Path) -> int:
    options = parser().parse_intermixed_args(arguments)
    try:
        return weave(root.resolve(), options)
    except (UserError, OSError) as error:  # OSError: a file that cannot be written
        print(f"docs/weave: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("docs/weave", description=DESCRIPTION, epilog=MARKERS,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("pages", metavar="PAGE", nargs="*",
                      help="a README or a chapter's number; all pages when there is none")
    made.add_argument("--check", action="store_true", help="change nothing, only say what is wrong")
    made.add_argument("--words", action="store_true",
                      help="only list the words of docs/words.txt in these files or folders, also where "
                           "docs/unrevised.txt leaves them out")
    made.add_argument("--build", metavar="DIR", type=Path,
                      help=f"where the chapters are built (default: {DEFAULT_BUILD})")
    return made


def weave(root: Path, options: argparse.Namespace) -> int:
    book = Book(root)
    if options.words:
        return list_words(book, options.pages)
    programs = Programs(root, build_folder(root, options.build))
    pages = chosen_pages(book, options.pages)
    weaver = Weaver(book, programs, options.check)
    for page in pages if options.check else with_glossary(book, pages):
        weaver.weave(page)
    problems = sorted({*weaver.problems, *wrong_words(book, pages, whole_book=not options.pages)})
    for line in [*(f"wrote {book.name(path)}" for path in weaver.written), *problems]:
        print(line)
    if not problems:
        print(f"{len(pages)} {'page agrees' if len(pages) == 1 else 'pages agree'} with the code")
    return 1 if problems else 0


def with_glossary(book: Book, pages: list[Place]) -> list[Place]:
    """A chapter's definitions are links of the glossary, which are written with it."""
    if not any(page.chapter for page in pages):
        return pages
    return [*pages, *(page for page in book.pages() if page.readme == book.root / GLOSSARY and page not in pages)]


def wrong_words(book: Book, pages: list[Place], whole_book: bool) -> Iterator[Problem]:
    if whole_book:
        yield from words.check_words(book, words.files(book))
        yield from words.check_exceptions(book)
        return
    for page in pages:
        yield from words.check_words(book, words.files_of(book, page))


def list_words(book: Book, wanted: Sequence[str]) -> int:
    """Of all files, or of pages by their numbers, files and folders."""
    places = {str(page.chapter.number): page for page in book.pages() if page.chapter}
    paths = [path for word in wanted for path in files_named(book, word, places.get(word.lstrip("0")))]
    problems = sorted(set(words.check_words(book, paths if wanted else words.files(book), everywhere=True)))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} {'place' if len(problems) == 1 else 'places'} with words of {words.FILE}")
    return 1 if problems else 0


def files_named(book: Book, word: str, page: Optional[Place]) -> list[Path]:
    if page:
        return list(words.files_of(book, page))
    wanted = (Path(word).resolve(), (book.root / word).resolve())
    found = [path for path in words.files(book) if {path, *path.parents}.intersection(wanted)]
    if not found:
        raise UserError(f"there is no text {word}: name a file, a folder or a chapter's number")
    return found


def build_folder(root: Path, given: Optional[Path]) -> Path:
    folder = root / DEFAULT_BUILD if given is None else given.resolve()
    if not (folder / "chapters").is_dir():
        raise UserError(f"{given or DEFAULT_BUILD} holds no built chapters: "
                        "build them first, with ./chapters/run")
    return folder


def chosen_pages(book: Book, wanted: Sequence[str]) -> list[Place]:
    if not wanted:
        return book.pages()
    return list(dict.fromkeys(page_named(book, word) for word in wanted))


def page_named(book: Book, word: str) -> Place:
    """A page by its chapter's number, or by a path from here or from the repository's root."""
    paths = (Path(word).resolve(), (book.root / word).resolve())
    for page in book.pages():
        if word.isdecimal() and page.chapter and page.chapter.number == int(word):
            return page
        if page.readme in paths:
            return page
    raise UserError(f"there is no page {word}: name a README of the book or a chapter's number")
