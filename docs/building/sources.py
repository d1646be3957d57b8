"""A page for every file of the repository, with numbered lines that others can point to, and one for every folder."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, NamedTuple

from building import site
from building.code import coloured
from weaving.book import Book

CPP = {".hpp", ".cpp", ".h"}


class Shown(NamedTuple):
    """A page that the book makes itself: its file name, title and contents."""

    address: str
    title: str
    contents: str


def file_page(book: Book, path: Path) -> Shown:
    name = book.name(path)
    language = "cpp" if path.suffix in CPP else "text"
    lines = coloured(book.read(path).rstrip("\n"), language).split("\n")
    numbered = "\n".join(f'<span class="line" id="L{number}">{line}</span>' for number, line in enumerate(lines, 1))
    listing = f'<pre class="code {language} numbered"><code>{numbered}</code></pre>'
    body = f'<p class="path">{above(book, path)}</p>\n{listing}'
    return Shown(site.source_page(name), name, body)


def folder_pages(book: Book) -> Iterator[Shown]:
    """The root first, then every folder that has files in it."""
    shown = sorted(site.paths_shown(book), key=lambda path: (path.is_file(), path))
    folders = [path for path in shown if path.is_dir()]
    for folder in folders:
        name = book.name(folder)
        inside = [path for path in shown if path.parent == folder]
        items = "\n".join(f"<li>{site.link(site.page_of(book, path), name_in_list(path))}</li>" for path in inside)
        body = f'<p class="path">{above(book, folder)}</p>\n<ul class="files">\n{items}\n</ul>'
        yield Shown(site.source_page(name), "All files" if name == "." else f"{name}/", body)


def name_in_list(path: Path) -> str:
    return f"{path.name}/" if path.is_dir() else path.name


def above(book: Book, path: Path) -> str:
    """The folders that a file or folder is in, as links."""
    folders = [folder for folder in reversed(path.parents) if book.root in folder.parents]
    links = [site.link(site.source_page(book.name(folder)), folder.name) for folder in folders]
    return " / ".join([site.link("files.html", "All files"), *links]) if path != book.root else ""
