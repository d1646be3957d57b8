"""The command line of docs/build, behind its bash entry: checks the texts, runs Doxygen, and puts the book together."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator, Optional

from building import checks, diffs, formulas, graphs, headers, pages, searching, site, sources, texts
from building.pages import Compound, DoxygenPage, Frame
from weaving.book import Book, Chapter, Mistake
from weaving.programs import Programs

THEME = "docs/theme"
LIVE_BUILD, LIVE_STYLE = "docs/live/build", "docs/live/live.css"
GRAPH = re.compile(r'<!--graph "([^"]+)"-->')
IGNORED = re.compile(r"warning: ignoring unsupported tag .*\n?")  # a setting for later versions of Doxygen
MAP_CAPTION = "Which chapter builds on which, and what it takes over."


class Stopped(Exception):
    """The book cannot be built; everything to say has been said, or is the message."""


def main(root: Path) -> int:
    try:
        return build(root)
    except (Stopped, Mistake) as reason:
        print(f"docs/build: {reason}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"docs/build: {error}", file=sys.stderr)
        return 2


def build(root: Path) -> int:
    book, work = Book(root), root / "build" / "docs"
    programs = Programs(root, root / "build" / "release")
    wrong = checks.problems(book, programs)
    if wrong:
        raise Stopped("\n".join(["the texts must be mended first:", *map(str, wrong)]))
    say("reading the texts and the code")
    write_input(book, fresh(work / "input"))
    run_doxygen(root, fresh(work / "doxygen"))
    say("making the pages")
    Made(book, programs, work).write(fresh(work / "html.new"))
    replace(work / "html.new", work / "html")
    return 0


def say(words: str) -> None:
    """One line that changes on a terminal, and nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


def note(words: str) -> None:
    say("")
    print(words, file=sys.stderr)


def fresh(folder: Path) -> Path:
    """The folder, and nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def replace(made: Path, place: Path) -> None:
    """The finished book takes the place of the old one at once."""
    old = place.with_name("html.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    made.rename(place)
    shutil.rmtree(old, ignore_errors=True)


# --- Doxygen ---------------------------------------------------------------------------------------


def write_input(book: Book, folder: Path) -> None:
    """What Doxygen's filter would make, made for all files at once, and the pages of the changes."""
    for place in book.pages():
        write(folder / book.name(place.readme), texts.filtered(book, place.readme))
    for path in site.files_shown(book):
        if path.suffix == ".hpp" and book.root / "tests" not in path.parents:
            write(folder / book.name(path), headers.filtered(book, path))
    for chapter in book.chapters[1:]:
        write(folder / site.diff_page(chapter).replace(".html", ".md"), diffs.filtered(book, chapter))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run_doxygen(root: Path, folder: Path) -> None:
    settings = (root / "Doxyfile").read_text(encoding="utf-8") + "\n".join([
        "INPUT = build/docs/input", "STRIP_FROM_PATH = build/docs/input", "FILTER_PATTERNS =",
        f"OUTPUT_DIRECTORY = {folder.parent.relative_to(root)}", f"HTML_OUTPUT = {folder.name}",
        "GENERATE_TAGFILE = build/docs/doxygen.tag", ""])
    done = subprocess.run(["doxygen", "-"], cwd=root, input=settings, capture_output=True, text=True)
    said = IGNORED.sub("", done.stdout + done.stderr).replace(f"{root}/build/docs/input/", "").strip()
    if done.returncode or said:
        raise Stopped(f"Doxygen is not content:\n{said}")


# --- the live figures ------------------------------------------------------------------------------


def build_live_figures(book: Book, folder: Path) -> None:
    """The chapters' code as scripts, where the compiler for browsers is there; the static figures stand in for it."""
    if not (book.root / LIVE_BUILD).exists():
        return
    if shutil.which("emcc") is None:
        note("The book lacks its live figures, and shows their pictures: emscripten is not there "
             "(on Debian and Ubuntu: apt-get install emscripten).")
        return
    say("compiling the live figures")
    done = subprocess.run([book.root / LIVE_BUILD, folder / "live"], capture_output=True, text=True)
    if done.returncode:
        raise Stopped(f"{LIVE_BUILD} failed:\n{(done.stdout + done.stderr).strip()}")


# --- the book --------------------------------------------------------------------------------------


class Made:
    """The pages of the book on their way from Doxygen to the finished folder."""

    def __init__(self, book: Book, programs: Programs, work: Path):
        self._book, self._work = book, work
        self._written = pages.compounds(work / "doxygen.tag")
        self._formulas = formulas.Formulas(work / "formulas.json")
        self._frame = Frame(book, book.read(book.root / THEME / "page.html"))
        self._sizes = sizes_of_changes(programs)
        self._words: list[searching.Entry] = []

    def write(self, folder: Path) -> None:
        self._folder = folder
        build_live_figures(self._book, folder)
        self._write_texts()
        self._write_map()
        self._write_interfaces()
        self._write_sources()
        self._copy_pictures()
        self._copy_theme()
        write(folder / "words.js", searching.script(self._words))

    def _page(self, address: str, title: str, contents: str, kind: str, **more) -> None:
        has_formulas = 'class="katex' in contents
        styles = (*(["katex.css"] if has_formulas else []), *more.pop("styles", ()))
        self._words += searching.entries(address, title, contents if kind != "source" else "")
        write(self._folder / address, self._frame.page(address, title, contents, kind, styles=styles, **more))

    # --- texts -------------------------------------------------------------------------------------

    def _write_texts(self) -> None:
        chapters = self._book.chapters
        read = {site.FRONT: None, **{site.chapter_page(chapter): chapter for chapter in chapters},
                **{site.diff_page(chapter): chapter for chapter in chapters[1:]}}
        found = {address: pages.read(self._work / "doxygen", address) for address in read}
        self._formulas.prepare(page.contents for page in found.values())
        for address, chapter in read.items():
            self._write_text(found[address], chapter)

    def _write_text(self, page: DoxygenPage, chapter: Optional[Chapter]) -> None:
        contents = self._formulas.put_into(pages.refined_text(page))
        kind = "changes" if chapter and page.address == site.diff_page(chapter) else "text"
        if kind == "text":
            known = pages.names_for(self._written, self._book, chapter)
            contents = pages.with_links(contents, known, page.address)
            contents = GRAPH.sub(lambda match: graphs.data_flow(self._book, chapter, match[1]), contents)
        self._page(page.address, page.title, contents, kind, lead=self._lead(chapter, kind) if chapter else "",
                   chapter=chapter, **self._live(contents, chapter))

    def _lead(self, chapter: Chapter, kind: str) -> str:
        """What the chapter changes, how much that is, and where its files are."""
        words = site.change_of(self._book, chapter)
        size = ""
        if self._book.previous(chapter):
            added, removed = self._sizes[chapter.label]
            size = f' <span class="size">+{added} −{removed} lines</span>'
        links = [(site.chapter_page(chapter), "The text"), *((page, name) for page, name in pages.companions(self._book, chapter))]
        here = site.diff_page(chapter) if kind == "changes" else site.chapter_page(chapter)
        items = "".join(f"<li>{site.link(target, name)}</li>" for target, name in links if target != here)
        return f'<p class="lead">{pages.html.escape(words[:1].upper() + words[1:])}.{size}</p>\n' \
               f'<ul class="companions" aria-label="Pages of this chapter">{items}</ul>'

    def _live(self, contents: str, chapter: Optional[Chapter]) -> dict[str, tuple[str, ...]]:
        """The script and the styles of the live figures, where the page has some."""
        if chapter is None or 'class="live"' not in contents:
            return {}
        script = f"live/{chapter.label}.js"
        return {"scripts": (script,), "styles": ("live.css",)} if (self._folder / script).exists() else {}

    # --- the other pages ---------------------------------------------------------------------------

    def _write_map(self) -> None:
        self._page(site.MAP, "Map of the book", graphs.book_map(self._book, MAP_CAPTION), "text")

    def _write_interfaces(self) -> None:
        for compound in self._written:
            if compound.kind in pages.SHOWN_KINDS:
                page = pages.read(self._work / "doxygen", compound.address)
                chapter = self._chapter_of(compound)
                self._page(page.address, title_of(compound, chapter), pages.refined_interface(page), "interface", chapter=chapter)
        self._page("interface.html", "Shared by all chapters", "\n".join(self._shared()), "interface")

    def _chapter_of(self, compound: Compound) -> Optional[Chapter]:
        for chapter in self._book.chapters:
            if compound.name.split("::")[0] == site.namespace_of(chapter) or \
                    compound.folder == f"{self._book.name(chapter.folder)}/":
                return chapter
        return None

    def _shared(self) -> Iterator[str]:
        yield "<p>Every chapter uses these headers of <code>common/</code>, and shows the rest itself.</p>\n<dl>"
        for compound in self._written:
            if compound.kind == "file" and compound.folder == "common/":
                page = pages.read(self._work / "doxygen", compound.address)
                yield f"<dt>{site.link(compound.address, compound.name)}</dt><dd>{pages.html.escape(pages.description(page.contents))}</dd>"
        yield "</dl>"

    def _write_sources(self) -> None:
        for path in site.files_shown(self._book):
            chapter = site.chapter_of(self._book, path)
            shown = sources.file_page(self._book, path)
            known = pages.names_for(self._written, self._book, chapter)
            self._page(shown.address, shown.title, pages.with_links(shown.contents, known, shown.address), "source", chapter=chapter)
        for shown in sources.folder_pages(self._book):
            self._page(shown.address, shown.title, shown.contents, "source")

    # --- files -------------------------------------------------------------------------------------

    def _copy_pictures(self) -> None:
        for folder in [self._book.root / "docs", *(chapter.folder for chapter in self._book.chapters)]:
            for picture in (folder / "figures").glob("*.svg"):
                place = self._folder / site.picture_name(self._book, picture)
                place.parent.mkdir(exist_ok=True)
                shutil.copyfile(picture, place)

    def _copy_theme(self) -> None:
        for style in [*(self._book.root / THEME).glob("book.*"), *self._book.root.glob(LIVE_STYLE)]:
            shutil.copyfile(style, self._folder / style.name)
        write(self._folder / "katex.css", formulas.style_sheet())


def sizes_of_changes(programs: Programs) -> dict[str, list[str]]:
    """By chapter, how many lines of the mechanism were added and removed."""
    printed = programs.command(["./chapters/diff", "--stat", "--machine"])
    return {words[0]: words[1:] for words in map(str.split, printed.splitlines())}


def title_of(compound: Compound, chapter: Optional[Chapter]) -> str:
    if compound.kind == "namespace":
        return f"Functions and types of chapter {chapter.label}" if chapter else compound.name
    if compound.kind == "file":
        return f"{compound.folder}{compound.name}"
    return f"{compound.name.rpartition('::')[2]}{f' of chapter {chapter.label}' if chapter else ''}"


if __name__ == "__main__":
    sys.exit(main(Path(os.path.abspath(__file__)).parent.parent.parent))
