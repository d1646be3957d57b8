"""The words of the book by heading, as a script: a page on the disk can't load other files, but may load a script."""

from __future__ import annotations

import html
import json
import re
from typing import Iterator, NamedTuple

HEADING = re.compile(r'<h[2-4] id="(?P<id>[^"]+)"[^>]*>(?P<words>.*?)(?:<a class="self".*?)?</h[2-4]>'
                     r'|<a id="(?P<member>[^"]+)"></a>\s*<h2 class="memtitle">(?P<name>.*?)</h2>', re.S)
NOT_WORDS = re.compile(r"<span class=\"tests\">.*?</span>|<pre.*?</pre>|<svg.*?</svg>|<math.*?</math>|<table role.*?</table>", re.S)


class Entry(NamedTuple):
    """A place that a search can lead to."""

    address: str
    page: str
    heading: str
    words: str


def entries(address: str, title: str, contents: str) -> Iterator[Entry]:
    """The page's beginning, and each of its headings."""
    page, done, place, heading = plain(title), 0, address, ""
    for match in HEADING.finditer(contents):
        yield Entry(place, page, heading, plain(contents[done : match.start()]))
        place = f"{address}#{match['id'] or match['member']}"
        heading, done = plain(match["words"] or match["name"]), match.end()
    yield Entry(place, page, heading, plain(contents[done:]))


def plain(contents: str) -> str:
    """The words alone, without listings and formulas."""
    without_tags = re.sub(r"<[^>]+>", " ", NOT_WORDS.sub(" ", contents))
    return " ".join(html.unescape(without_tags).split())


def script(found: list[Entry]) -> str:
    return f"const wordsOfTheBook = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))};\n"
