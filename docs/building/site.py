"""The pages of the book: what they are called, and the order in which they are read."""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path
from typing import Iterator, Optional

from weaving.book import Book, Chapter
from weaving.links import destination
from weaving.page import Page

FOLDERS = ("chapters", "common", "tests", "docs")
FRONT = "index.html"
MAP, FILES, SHARED = "map.html", "files.html", "interface.html"
NOT_SHOWN = {".css", ".html", ".js", ".json", ".md", ".npy", ".png", ".py", ".svg"}  # pictures, texts, numbers, and the book's own tools


def chapter_page(chapter: Chapter) -> str:
    return f"{namespace_of(chapter)}.html"


def diff_page(chapter: Chapter) -> str:
    return f"changes_{chapter.label}.html"


def interface_page(chapter: Chapter) -> str:
    """Doxygen's page of a namespace; it writes two underscores for one."""
    return f"namespacechapter__{chapter.label}.html"


def namespace_of(chapter: Chapter) -> str:
    """Also what the text's own anchors begin with while Doxygen has them."""
    return f"chapter_{chapter.label}"


def source_page(name: str) -> str:
    """The page of a file or folder, by its path from the repository's root."""
    return f"{name.replace('/', '-')}.html" if name != "." else FILES


@functools.lru_cache(maxsize=None)
def chapter_of(book: Book, path: Path) -> Optional[Chapter]:
    """The chapter in whose folder a file is, or whose own tests it has; shared tests belong to none."""
    for chapter in book.chapters:
        if chapter.folder in path.parents or path in book.test_files(chapter) and path.name.startswith(f"{chapter.label}_"):
            return chapter
    return None


def page_of(book: Book, path: Path) -> str:
    """Where the book shows a file or folder of the repository."""
    if path == book.root / "README.md":
        return FRONT
    chapter = chapter_of(book, path)
    if chapter and path == chapter.readme:
        return chapter_page(chapter)
    if path in book.back_matter():
        return f"{path.stem}.html"
    return source_page(book.name(path))


def address_of(book: Book, here: Path, target: str) -> str:
    """A link of a README, as the book's page has it."""
    path, _, anchor = target.partition("#")
    if not path:
        return target
    page = page_of(book, destination(book, here, path))
    return f"{page}#{anchor}" if anchor else page


def picture_name(book: Book, path: Path) -> str:
    """A picture's name in the book, where the pictures of all chapters share a folder."""
    chapter = chapter_of(book, path)
    return f"figures/{chapter.label if chapter else 'book'}-{path.name}"


@functools.lru_cache(maxsize=None)
def readme(book: Book, path: Path) -> Page:
    chapter = chapter_of(book, path)
    return Page(book.name(path), book.read(path), chapter)


def title_of(book: Book, chapter: Chapter) -> str:
    return title_of_text(book, chapter.readme)


@functools.lru_cache(maxsize=None)
def title_of_text(book: Book, path: Path) -> str:
    """The first heading of a chapter's text, or of another."""
    heading = re.search(r"^# +(.+?) *$", readme(book, path).prose(), re.M)
    return heading[1] if heading else path.parent.name


def back_pages(book: Book) -> list[tuple[str, str]]:
    """What comes after the chapters: addresses and titles."""
    return [(page_of(book, path), title_of_text(book, path)) for path in book.back_matter()]


def change_of(book: Book, chapter: Chapter) -> str:
    """What the chapter changes, in its own words."""
    marked = readme(book, chapter.readme).marked("changes")
    return marked[0].text if marked else ""


def files_shown(book: Book) -> Iterator[Path]:
    """Every file of the repository that has a page which shows it line by line."""
    for path in sorted(book.root.iterdir()):
        if is_shown(path):
            yield path
    for folder in FOLDERS:
        yield from files_below(book.root / folder)


def files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        if path.is_dir():
            yield from files_below(path)
        elif is_shown(path):
            yield path


def is_shown(path: Path) -> bool:
    is_hidden = path.name.startswith(".") or "__pycache__" in path.parts
    return path.is_file() and not is_hidden and path.suffix not in NOT_SHOWN


@functools.lru_cache(maxsize=None)
def paths_shown(book: Book) -> frozenset[Path]:
    """The texts, files and folders that have pages; a folder has one when something in it has."""
    files = {*files_shown(book), *(place.readme for place in book.pages())}
    return frozenset(files | {folder for file in files for folder in file.parents if folder.is_relative_to(book.root)})


def headers_documented(book: Book) -> Iterator[Path]:
    """Those whose functions and types have pages: the chapters' and the shared ones."""
    yield from sorted(book.root.glob("common/*.hpp"))
    for chapter in book.chapters:
        yield from sorted(chapter.folder.glob("*.hpp"))


def link(address: str, text: str, current: Optional[str] = None) -> str:
    """An anchor element; `current` is the page that has it."""
    here = ' aria-current="page"' if address == current else ""
    return f'<a href="{html.escape(address)}"{here}>{html.escape(text)}</a>'
