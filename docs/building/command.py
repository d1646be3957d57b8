"""What docs/build runs: checks the texts, runs Doxygen, and has the book made."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from building import checks, diffs, headers, site, texts
from building.making import Maker, write
from weaving.book import Book, BookError
from weaving.programs import Programs

LIVE_BUILD = "docs/live/build"
IGNORED = re.compile(r"warning: ignoring unsupported tag .*\n?")  # a setting for later versions of Doxygen


class Stopped(Exception):
    """The book cannot be built."""


def main(root: Path) -> int:
    try:
        build(root)
    except (Stopped, BookError) as reason:
        note(f"docs/build: {reason}")
        return 1
    except OSError as error:
        note(f"docs/build: {error.filename or root}: {error.strerror or error}.")
        return 2
    return 0


def build(root: Path) -> None:
    book, work = Book(root), root / "build" / "docs"
    programs = Programs(root, root / "build" / "release")
    wrong = checks.problems(book, programs)
    if wrong:
        raise Stopped("\n".join(["these must be fixed before the book can be built:", *map(str, wrong)]))
    show("reading the texts and the code")
    write_input(book, fresh(work / "input"))
    run_doxygen(root, fresh(work / "doxygen"))
    made = fresh(work / "html.new")
    try:
        build_live_figures(root, made / "live")
        show("making the pages")
        Maker(book, programs, work, made).make()
        replace(work / "html", made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def show(words: str) -> None:
    """One line that changes on a terminal, and nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


def note(words: str) -> None:
    show("")
    print(words, file=sys.stderr)


def fresh(folder: Path) -> Path:
    """The folder, and nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def replace(place: Path, made: Path) -> None:
    """The finished book takes the place of the old one at once."""
    old = place.with_name("html.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    made.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def write_input(book: Book, folder: Path) -> None:
    """What Doxygen's filter would make, made for all files at once, and the pages of the changes."""
    for place in book.pages():
        write(folder / book.name(place.readme), texts.filtered(book, place.readme))
    for path in site.headers_documented(book):
        write(folder / book.name(path), headers.filtered(book, path))
    for chapter in book.chapters[1:]:
        write(folder / site.diff_page(chapter).replace(".html", ".md"), diffs.filtered(book, chapter))


def run_doxygen(root: Path, folder: Path) -> None:
    settings = [(root / "Doxyfile").read_text(encoding="utf-8"), "INPUT = build/docs/input",
                "STRIP_FROM_PATH = build/docs/input", "FILTER_PATTERNS =", "OUTPUT_DIRECTORY = build/docs",
                f"HTML_OUTPUT = {folder.name}", "GENERATE_TAGFILE = build/docs/doxygen.tag", ""]
    done = subprocess.run(["doxygen", "-"], cwd=root, input="\n".join(settings), capture_output=True, text=True)
    said = IGNORED.sub("", done.stdout + done.stderr).replace(f"{root}/build/docs/input/", "").strip()
    if done.returncode or said:
        raise Stopped(f"Doxygen reports:\n{said}")


def build_live_figures(root: Path, folder: Path) -> None:
    """The chapters' code as scripts, where the compiler for browsers is there; pictures stand in for them."""
    if not (root / LIVE_BUILD).exists():
        return
    if shutil.which("emcc") is None:
        note("The book has static pictures instead of live figures, because emscripten isn't installed "
             "(to install it, type: common/setup live).")
        return
    show("compiling the live figures")
    done = subprocess.run([root / LIVE_BUILD, folder], capture_output=True, text=True)
    if done.returncode:
        raise Stopped(f"{LIVE_BUILD} failed:\n{(done.stdout + done.stderr).strip()}")
