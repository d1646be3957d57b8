"""What Doxygen wrote, read and refined: its own list of it, and the title and the contents of each page."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple, Optional

from building import site
from building.texts import INLINE_MARK
from weaving.book import Chapter, BookError

CONTENTS = re.compile(r'<div class="contents">(.*)</div><!-- contents -->', re.S)
TITLE = re.compile(r'<div class="title">(.*?)\s*</div>', re.S)
HEADING = re.compile(
    r'<h(?P<level>[1-5])[^>]*>\s*<a class="anchor" id="(?P<id>[^"]+)"[^>]*></a>\s*(?P<words>.*?)</h[1-5]>', re.S)
EMPTY = re.compile(r'<p\s*>(?:<a class="anchor" id="[^"]*"></a>|\s)*</p>')
CODE_BLOCK = re.compile(r'(?<=<pre class="code cpp)([^>]*><code>)(.*?)(?=</code></pre>)', re.S)
NAME = re.compile(r"<[^>]+>|&\w+;|\b(?P<name>[A-Za-z_]\w*)\b(?P<call>\()?")
TAGGED = re.compile(r'<span class="(?:comment|string|directive|keyword)">.*?</span>', re.S)
TYPES = ("class", "struct", "union")
SHARED_FOLDER = "common/"
SHOWN_KINDS = ("file", "namespace", *TYPES)


class Compound(NamedTuple):
    """Something that Doxygen made a page of."""

    kind: str
    name: str
    address: str
    folder: str  # of a file: the one it is in
    members: dict[str, str]  # a name, and where it is explained


class DoxygenPage(NamedTuple):
    address: str
    title: str
    contents: str


def compounds(tagfile: Path) -> list[Compound]:
    """From Doxygen's own list of what it has written."""
    return [compound_of(element) for element in ElementTree.parse(tagfile).getroot().iter("compound")]


def compound_of(element: ElementTree.Element) -> Compound:
    address = element.findtext("filename", "")
    members = {called(member): f"{member.findtext('anchorfile')}#{member.findtext('anchor')}"
               for member in element.iter("member")}
    return Compound(element.get("kind", ""), element.findtext("name", ""),
                    address if address.endswith(".html") else f"{address}.html", folder_of(element), members)


def folder_of(element: ElementTree.Element) -> str:
    """From the repository's root, with a slash at its end."""
    return re.sub(r"^.*?(?=(?:common|chapters/\w+)/$)", "", element.findtext("path", ""))


def called(member: ElementTree.Element) -> str:
    """How code that uses it reads: a function's name is followed by a parenthesis."""
    return member.findtext("name", "") + ("(" if member.get("kind") == "function" else "")


def names_for(written: list[Compound], chapter: Optional[Chapter]) -> dict[str, str]:
    """What a name in a listing stands for: in a chapter its own, and everywhere what common/ has."""
    known: dict[str, str] = {}
    for compound in written:
        scope = compound.name.rpartition("::")[0] if compound.kind in TYPES else compound.name
        if compound.kind in TYPES and scope in ("", site.namespace_of(chapter) if chapter else ""):
            known[compound.name.rpartition("::")[2]] = compound.address
        elif compound.kind == "file" and compound.folder == SHARED_FOLDER:
            known.update(compound.members)
    for compound in written:
        if chapter and compound.kind == "namespace" and compound.name == site.namespace_of(chapter):
            known.update(compound.members)
    return known


def read(folder: Path, address: str) -> DoxygenPage:
    text = (folder / address).read_text(encoding="utf-8")
    title, contents = TITLE.search(text), CONTENTS.search(text)
    if title is None or contents is None:
        raise BookError(f"Doxygen wrote {address} in a form that this book does not know")
    return DoxygenPage(address, title[1].strip(), contents[1].strip())


def refined_text(page: DoxygenPage) -> str:
    """The contents of a README: headings one level down, with the names that a forge gives them."""
    label = page.address[: -len(".html")]

    def heading(match: re.Match[str]) -> str:
        level, name = int(match["level"]) + 1, match["id"].replace(f"{label}-", "", 1)
        link = f'<a class="self" href="#{name}" aria-label="Link to this heading">#</a>'
        return f'<h{level} id="{name}">{match["words"].strip()} {link}</h{level}>'

    contents = re.sub(rf"{INLINE_MARK}\s*", "", unwrapped(page.contents))
    contents = HEADING.sub(heading, EMPTY.sub("", contents))
    return with_wide_tables(contents.replace("<p >", "<p>"))


def unwrapped(contents: str) -> str:
    """Without the element that Doxygen puts around a text, whose end may come after that of the contents."""
    inside = re.sub(r"<!-- \w+ -->", "", contents.replace('<div class="textblock">', "", 1)).rstrip()
    while inside.endswith("</div>") and inside.count("</div>") > len(re.findall(r"<div\b", inside)):
        inside = inside[: -len("</div>")].rstrip()
    return inside


def with_wide_tables(contents: str) -> str:
    """A table that is wider than the page moves in its own frame."""
    contents = re.sub(r'<table class="markdownTable">', '<div class="wide"><table class="given">', contents)
    contents = re.sub(r' class="markdownTable\w+"', "", contents)
    return contents.replace("</table>", "</table></div>")


def refined_interface(page: DoxygenPage) -> str:
    """The contents of a page about code. Its tables are there for the layout alone."""
    contents = re.sub(r'<table class="memberdecls">.*?</table>', r'<div class="wide">\g<0></div>', page.contents, flags=re.S)
    contents = contents.replace("<table", '<table role="presentation"').replace("<p >", "<p>")
    contents = re.sub(r'<a id="[^"]+" name="([^"]+)"></a>', r'<a id="\1"></a>', contents)
    contents = re.sub(r'<a name="([^"]+)" id="[^"]+"></a>', r'<a id="\1"></a>', contents)
    contents = re.sub(r'<span class="permalink">.*?</span>', "", contents).replace(">More...</a>", ">More</a>")
    return re.sub(r"<h1(.*?)</h1>", r"<h2\1</h2>", contents, flags=re.S)


def with_links(contents: str, known: dict[str, str], here: str) -> str:
    """Names in listings lead to what explains them; comments stay as they are."""
    def linked(match: re.Match[str]) -> str:
        return match[1] + linked_names(match[2], known, here)

    return CODE_BLOCK.sub(linked, contents)


def linked_names(code: str, known: dict[str, str], here: str) -> str:
    pieces, done = [], 0
    for tagged in TAGGED.finditer(code):
        pieces += [linked_plain(code[done : tagged.start()], known, here), tagged[0]]
        done = tagged.end()
    return "".join([*pieces, linked_plain(code[done:], known, here)])


def linked_plain(code: str, known: dict[str, str], here: str) -> str:
    def linked(match: re.Match[str]) -> str:
        name, call = match["name"] or "", match["call"] or ""
        address = known.get(name + call) or known.get(name)
        if address is None or address.split("#")[0] == here:
            return match[0]
        return f'<a href="{html.escape(address)}">{name}</a>{call}'

    return NAME.sub(linked, code)
