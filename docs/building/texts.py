"""A README as Doxygen's Markdown, line by line: line 7 of the one is line 7 of the other.

What Doxygen reads differently from a forge is put away as finished HTML first (code, formulas, links, pictures, names
of tests, alerts, folded parts), and put back when the rest has been looked at.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Callable, Iterator, Optional
from urllib.parse import quote

from building import site
from building.code import listing, unified
from weaving.blocks import LISTING
from weaving.book import Book, BookError
from weaving.changes import DIFF_MARKER
from weaving.citations import CITATION, citable
from weaving.links import ELSEWHERE, HEADING, slug
from weaving.page import MARKER, TOKEN, Block, Page

INLINE_MARK = "\u2060"  # a word joiner: it has no width
KEPT = re.compile("\ue000(\\d+)\ue001")
FENCE = re.compile(r"(?P<before>[ \t>]*)(?P<ticks>`{3,}|~{3,})(?P<language>[^\n]*)\n"
                   r"(?P<body>(?:.*\n)*?)[ \t>]*(?P=ticks)\s*")
DISPLAYED = re.compile(r"\$\$(?P<tex>[^$]+)\$\$")
INLINE = re.compile(r"(?<![\\$\w])\$(?=\S)(?P<tex>[^$]+?)(?<=\S)\$(?![\w$])")
PICTURE = re.compile(r"^[ \t]*!\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)[ \t]*$", re.M)
STRONG = re.compile(r"(?<![*\w])\*\*(?=\S)(?P<words>(?:(?!\n\s*\n)[^*])+?)(?<=\S)\*\*(?![*\w])")
LINK = re.compile(r"(?<!!)\[(?P<words>[^\]\[]+)\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
ALERT = re.compile(r"^> \[!(?P<kind>\w+)\][ \t]*\n(?P<body>(?:>.*(?:\n|\Z))+)", re.M)
MARKS = re.compile(rf"{CITATION.pattern}(?:\s*{CITATION.pattern})*")
DEFINITION = re.compile(r"^\[[^\[\]\n]+\]:[ ].*$", re.M)
TAG = re.compile(r"^[ \t]*(?:<(?:/?(?:details|section|div)\b[^>]*|summary\b[^>]*>.*?</summary)>[ \t]*)+$", re.M)
LIVE = re.compile(r"(?P<chapter>\d+)\s+(?P<name>[\w-]+)\s+\"(?P<caption>[^\"]+)\".*")


def filtered(book: Book, path: Path) -> str:
    return Text(book, path, site.readme(book, path), site.page_of(book, path)).filtered()


class Text:
    """One README on its way to Doxygen."""

    def __init__(self, book: Book, path: Path, page: Page, address: str, show_diff: Callable[[str], str] = unified):
        """@param address what the book calls the page"""
        self._book, self._path, self._page = book, path, page
        self._label, self._show_diff = address[: -len(".html")], show_diff
        self._blocks = {block.marker.span.start: block for block in self._page.blocks}
        self._block: Optional[Block] = None
        self._kept: list[str] = []

    def filtered(self) -> str:
        text = TOKEN.sub(self._token, self._page.text)
        text = MARKS.sub(self._marks, DEFINITION.sub("", text))
        text = ALERT.sub(self._alert, text)
        text = TAG.sub(lambda match: self._html(match[0], block=True), text)
        text = DISPLAYED.sub(lambda match: self._displayed(match["tex"]), text)
        text = INLINE.sub(lambda match: self._keep(rf"\f${match['tex']}\f$"), text)
        text = STRONG.sub(lambda match: f"<strong>{match['words']}</strong>", text)
        text = PICTURE.sub(self._picture, text)
        text = LINK.sub(self._link, text)
        text = self._with_anchors(text).replace("@", r"\@")
        while KEPT.search(text):
            text = KEPT.sub(lambda match: self._kept[int(match[1])], text)
        return text

    def _keep(self, finished: str) -> str:
        self._kept.append(finished)
        return f"\ue000{len(self._kept) - 1}\ue001"

    def _html(self, element: str, block: bool = False) -> str:
        """Finished HTML; a bar would end a cell of a table. Doxygen may put a blank before it: see pages.refined."""
        safe = element.replace("|", "&#124;")
        command = r"\htmlonly[block]" if block else rf"{INLINE_MARK}\htmlonly"
        return self._keep(rf"{command}{safe}\endhtmlonly")

    # --- code and comments -------------------------------------------------------------------------

    def _token(self, token: re.Match[str]) -> str:
        if token["comment"] is not None:
            return self._comment(token)
        if token["code"]:
            return self._html(f"<code>{html.escape(token[0].strip('`').strip(), quote=False)}</code>")
        return self._fence(token)

    def _comment(self, token: re.Match[str]) -> str:
        """A marker says what the next block is; it leaves an anchor where others point to it."""
        self._block = self._blocks.get(token.start(), self._block)
        marker = MARKER.fullmatch(re.sub(r"\s*\n\s*", " ", token["comment"]).strip())
        left = ""
        if marker and marker[1] == "listing":
            left = self._html(f'<a id="{anchor_of(marker[2])}"></a>', block=True)
        elif marker and marker[1] == "graph":
            left = self._html(f"<!--graph {marker[2]}-->", block=True)
        elif marker and marker[1] == "end":
            self._block = None
        return left + "\n" * token[0].count("\n")

    def _fence(self, token: re.Match[str]) -> str:
        fence = FENCE.fullmatch(token[0])
        language = fence["language"].strip()
        if language == "math":
            return self._displayed(f"\n{fence['body']}")
        body = "\n".join(line[len(fence["before"]) :] for line in fence["body"].split("\n")[:-1])
        element = self._show_diff(body) if language == "diff" else listing(body, language, self._title())
        return fence["before"] + self._html(f"\n{element}\n", block=True)

    def _displayed(self, tex: str) -> str:
        """A displayed formula. Doxygen doesn't count the lines inside a formula, so they come after it."""
        lines = tex.split("\n")
        return self._keep(rf"\f[{' '.join(lines)}\f]") + "\n" * (len(lines) - 1)

    def _title(self) -> str:
        """The file that a listing is taken from, which the page shows above it."""
        if self._block is None or self._block.marker.word != "listing":
            return ""
        match = LISTING.fullmatch(self._block.marker.text)
        return match["file"] if match else ""

    # --- prose -------------------------------------------------------------------------------------

    def _alert(self, match: re.Match[str]) -> str:
        kind = match["kind"].lower()
        heading = f'<p class="kind">{kind.capitalize()}</p>'
        opening = self._html(f'<div class="alert {kind}" role="note">{heading}', block=True)
        body = re.sub(r"^> ?", "", match["body"].rstrip("\n"), flags=re.M)
        return f"{opening}\n{body}{self._html('</div>', block=True)}\n"

    def _marks(self, match: re.Match[str]) -> str:
        """Marks that follow each other are put together in the margin; each leads to its test."""
        names = [" ".join(name.split()) for name in CITATION.findall(match[0])]
        marks = "".join(self._mark(name) for name in names)
        return self._html(f'<span class="tests">{marks}</span>') + "\n" * match[0].count("\n")

    def _mark(self, name: str) -> str:
        test = citable(self._book, self._page).get(name)
        if test is None:
            return ""
        address, words = f"{site.source_page(test.path)}#L{test.line}", html.escape(name)
        return f'<a href="{address}" title="{words}" aria-label="Test: {words}">✓</a>'

    def _picture(self, match: re.Match[str]) -> str:
        path = (self._path.parent / match["target"]).resolve()
        words, address = html.escape(match["words"]), quote(site.picture_name(self._book, path))
        live = self._live_before(match[0])
        attributes = f' class="live" data-live="{live}"' if live else ""
        return self._html(f'<figure{attributes}><div class="wide"><img src="{address}" alt="{words}"/></div>'
                          f'<figcaption aria-hidden="true">{words}</figcaption></figure>', block=True)

    def _live_before(self, picture: str) -> str:
        """The name of the live figure whose static picture this is; empty when it is none."""
        for block in self._page.blocks:
            match = LIVE.fullmatch(block.marker.text) if block.marker.word == "live" else None
            if match and picture.strip() in self._page.body_of(block):
                return f"{int(match['chapter']):02}-{match['name']}"
        return ""

    def _link(self, match: re.Match[str]) -> str:
        target = match["target"]
        if not ELSEWHERE.match(target):
            target = site.address_of(self._book, self._path, target)
        return f'{self._html(f"<a href={chr(34)}{html.escape(target)}{chr(34)}>")}{match["words"]}{self._html("</a>")}'

    def _with_anchors(self, text: str) -> str:
        """Headings get the names that a forge gives them, which others link to."""
        taken: set[str] = set()

        def named(match: re.Match[str]) -> str:
            if match[0].lstrip().startswith("# "):
                return f"{match[0]} {{#{'mainpage' if self._label == 'index' else self._label}}}"
            name = slug(self._plain(match[1]))
            again = next(other for other in numbered(name) if other not in taken)
            taken.add(again)
            return f"{match[0]} {{#{self._label}-{again}}}"

        return HEADING.sub(named, text)

    def _plain(self, heading: str) -> str:
        """A heading without what was put away as HTML: its words alone."""
        restored = KEPT.sub(lambda match: self._kept[int(match[1])], heading)
        return re.sub(r"\\(?:end)?htmlonly|<[^>]+>|\\f\$", "", restored)


def numbered(name: str) -> Iterator[str]:
    yield name
    for number in range(1, 100):
        yield f"{name}-{number}"


def anchor_of(listing_text: str) -> str:
    """Where a listing is on its page, by what its marker says: attention.hpp [scores]."""
    match = LISTING.fullmatch(listing_text)
    return f"code-{slug(match['region'])}" if match else ""


def region_of(text: str) -> str:
    match = DIFF_MARKER.fullmatch(text)
    if match is None:
        raise BookError("this marker is written <!-- diff: [REGION] -->")
    return match["region"]
