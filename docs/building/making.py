"""The finished book: every page in its frame, and the files that the pages load."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from typing import Any, Iterator, Optional

from building import formulas, frame, graphs, pages, searching, site, sources
from building.pages import Compound, DoxygenPage
from weaving.book import Book, Chapter, BookError
from weaving.programs import Programs

THEME, LIVE_STYLE = "docs/theme", "docs/live/live.css"
GRAPH = re.compile(r'<!--graph "([^"]+)"-->')
MAP_CAPTION = "Which chapter builds on which, and which code it reuses."


class Maker:
    """Makes the book's folder from what Doxygen wrote into the working folder."""

    def __init__(self, book: Book, programs: Programs, work: Path, folder: Path):
        self._book, self._work, self._folder = book, work, folder
        self._written = pages.compounds(work / "doxygen.tag")
        self._formulas = formulas.Formulas(work / "formulas.json")
        self._frame = frame.Frame(book, book.read(book.root / THEME / "page.html"))
        self._sizes = sizes_of_changes(programs)
        self._words: list[searching.Entry] = []

    def make(self) -> None:
        self._write_texts()
        self._page(site.MAP, "Map of the book", graphs.book_map(self._book, MAP_CAPTION), "text")
        self._write_interfaces()
        self._write_sources()
        self._copy_files()
        write(self._folder / "words.js", searching.script(self._words))

    def _page(self, address: str, title: str, contents: str, kind: str, **more: Any) -> None:
        self._words += searching.entries(address, title, contents if kind != "source" else "")
        write(self._folder / address, self._frame.page(address, title, contents, kind, **more))

    # --- texts -------------------------------------------------------------------------------------

    def _write_texts(self) -> None:
        chapters = self._book.chapters
        texts: dict[str, Optional[Chapter]] = {site.FRONT: None}
        texts.update({site.chapter_page(chapter): chapter for chapter in chapters})
        texts.update({site.diff_page(chapter): chapter for chapter in chapters[1:]})
        texts.update({address: None for address, _ in site.back_pages(self._book)})
        found = {address: pages.read(self._work / "doxygen", address) for address in texts}
        try:
            self._formulas.prepare(page.contents for page in found.values())
        except formulas.Unset as unset:
            raise BookError(f"{place_of(self._book, unset.tex)}: {unset}") from unset
        for address, chapter in texts.items():
            self._write_text(found[address], chapter)

    def _write_text(self, page: DoxygenPage, chapter: Optional[Chapter]) -> None:
        contents = self._formulas.put_into(pages.refined_text(page))
        lead = self._lead(chapter, page.address) if chapter else ""
        is_diff = chapter and page.address == site.diff_page(chapter)
        kind = "changes" if is_diff else "text" if chapter or page.address == site.FRONT else "text back"
        if not is_diff:
            contents = pages.with_links(contents, self._names(chapter), page.address)
            contents = GRAPH.sub(lambda match: graphs.data_flow(self._book, chapter, match[1]), contents)
        scripts, styles = self._loads(contents, chapter)
        self._page(page.address, page.title, contents, kind, lead=lead, chapter=chapter, scripts=scripts, styles=styles)

    def _names(self, chapter: Optional[Chapter]) -> dict[str, str]:
        return pages.names_for(self._written, chapter)

    def _lead(self, chapter: Chapter, address: str) -> str:
        """What the chapter changes, how much that is, and where its other pages are."""
        words = html.escape(site.change_of(self._book, chapter))
        others = [(site.chapter_page(chapter), "The text"), *frame.companions(self._book, chapter)]
        links = frame.links((other for other in others if other[0] != address),
                            attributes=' class="companions" aria-label="Pages of this chapter"')
        return f'<p class="lead">{words[:1].upper()}{words[1:]}.{self._size(chapter)}</p>\n{links}'

    def _size(self, chapter: Chapter) -> str:
        if self._book.previous(chapter) is None:
            return ""
        added, removed = self._sizes[chapter.label]
        return f' <span class="size">+{added} −{removed} lines</span>'

    def _loads(self, contents: str, chapter: Optional[Chapter]) -> tuple[list[str], list[str]]:
        """The scripts and style sheets that not every page needs."""
        styles = ["katex.css"] if 'class="katex' in contents else []
        live = f"live/{chapter.label}.js" if chapter and 'class="live"' in contents else ""
        if not live or not (self._folder / live).exists():
            return [], styles
        return [live], [*styles, Path(LIVE_STYLE).name]

    # --- code --------------------------------------------------------------------------------------

    def _write_interfaces(self) -> None:
        for compound in self._written:
            if compound.kind in pages.SHOWN_KINDS:
                page = pages.read(self._work / "doxygen", compound.address)
                chapter = self._chapter_of(compound)
                self._page(page.address, title_of(compound, chapter), pages.refined_interface(page), "interface",
                           lead=source_link(compound), chapter=chapter)
        self._page(site.SHARED, "Shared by all chapters", "\n".join(self._shared()), "interface")

    def _chapter_of(self, compound: Compound) -> Optional[Chapter]:
        for chapter in self._book.chapters:
            scope, folder = site.namespace_of(chapter), f"{self._book.name(chapter.folder)}/"
            if compound.name.split("::")[0] == scope or compound.folder == folder:
                return chapter
        return None

    def _shared(self) -> Iterator[str]:
        yield "<p>All chapters use these headers of <code>common/</code>. Everything else is in the chapters themselves.</p>\n<dl>"
        for compound in self._written:
            if compound.kind == "file" and compound.folder == pages.SHARED_FOLDER:
                about = frame.description(pages.read(self._work / "doxygen", compound.address).contents)
                yield f"<dt>{site.link(compound.address, compound.name)}</dt><dd>{html.escape(about)}</dd>"
        yield "</dl>"

    def _write_sources(self) -> None:
        for path in site.files_shown(self._book):
            chapter = site.chapter_of(self._book, path)
            shown = sources.file_page(self._book, path)
            contents = pages.with_links(shown.contents, self._names(chapter), shown.address)
            self._page(shown.address, shown.title, contents, "source", lead=self._interface_link(shown.title),
                       chapter=chapter)
        for shown in sources.folder_pages(self._book):
            self._page(shown.address, shown.title, shown.contents, "source")

    def _interface_link(self, name: str) -> str:
        """From a header to the page that explains what is in it."""
        for compound in self._written:
            if compound.kind == "file" and compound.folder + compound.name == name:
                return f'<p class="path">{site.link(compound.address, "Functions and types of this header")}</p>'
        return ""

    # --- files -------------------------------------------------------------------------------------

    def _copy_files(self) -> None:
        root = self._book.root
        for folder in [root / "docs", *(chapter.folder for chapter in self._book.chapters)]:
            for picture in (folder / "figures").glob("*.svg"):
                copy(picture, self._folder / site.picture_name(self._book, picture))
        for file in [*(root / THEME).glob("book.*"), *root.glob(LIVE_STYLE)]:
            copy(file, self._folder / file.name)
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


def place_of(book: Book, tex: str) -> str:
    """The file and the line where a formula is written."""
    spelled = re.compile(r"\s+".join(map(re.escape, tex.split())))
    for place in book.pages():
        match = spelled.search(book.read(place.readme))
        if match:
            return f"{book.name(place.readme)}:{site.readme(book, place.readme).line_of(match.start())}"
    return "README.md"


def source_link(compound: Compound) -> str:
    """From what explains a header to the header."""
    if compound.kind != "file":
        return ""
    address = site.source_page(compound.folder + compound.name)
    return f'<p class="path">{site.link(address, "Source code")}</p>'


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def copy(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, place)
