"""C++ in colours, and changes of it in grounds of two colours: copying it copies the code alone."""

from __future__ import annotations

import difflib
import functools
import html
import re
from typing import Iterable, Iterator, NamedTuple, Optional

KEYWORDS = """alignas alignof and asm auto bool break case catch char class concept const consteval constexpr constinit
    const_cast continue decltype default delete do double dynamic_cast else enum explicit extern false final float for
    friend goto if inline int long mutable namespace new noexcept not nullptr operator or override private protected
    public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
    template this throw true try typedef typename union unsigned using virtual void volatile while xor""".split()
TOKEN = re.compile(
    rf"""
      (?P<comment>//[^\n]*|/\*[\s\S]*?\*/)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
    | (?P<directive>^[ \t]*\#[ \t]*\w+(?:[ \t]*<[^>\n]*>)?)
    | (?P<number>\b\d[\w'.]*)
    | (?P<keyword>\b(?:{"|".join(KEYWORDS)})\b)
    """,
    re.VERBOSE | re.MULTILINE,
)
WORD = re.compile(r"\w+|\s+|[^\w\s]")
SIMILAR = 0.5  # lines with less in common are two lines, not one that changed
MOST_PAIRS = 3000  # beyond this many it is a new text, and no line is another's successor


class Row(NamedTuple):
    """A line of two versions side by side; None where a version has no such line."""

    old: Optional[str]
    new: Optional[str]

    @property
    def same(self) -> bool:
        return self.old == self.new


def coloured(code: str, language: str = "cpp") -> str:
    """The code as HTML. Line breaks stay where they are, and no element goes over one."""
    if language != "cpp":
        return html.escape(code, quote=False)
    pieces, done = [], 0
    for token in TOKEN.finditer(code):
        pieces += [html.escape(code[done : token.start()], quote=False), element(token)]
        done = token.end()
    return "".join([*pieces, html.escape(code[done:], quote=False)])


def element(token: re.Match[str]) -> str:
    kind, text = token.lastgroup, html.escape(token[0], quote=False)
    return "\n".join(f'<span class="{kind}">{line}</span>' for line in text.split("\n"))


def listing(code: str, language: str, title: str = "") -> str:
    """A block of code, of as many lines as the code has and no more."""
    shown = f' data-title="{html.escape(title)}"' if title else ""
    return f'<pre class="code {language or "text"}"{shown}><code>{coloured(code, language)}</code></pre>'


def unified(rows: str) -> str:
    """A block ```diff as lines with a ground; the signs are not part of the text."""
    lines = [changed_line(line) for line in rows.split("\n")]
    return f'<pre class="code cpp change"><code>{chr(10).join(lines)}</code></pre>'


def changed_line(line: str) -> str:
    kind = {"+": "ins", "-": "del"}.get(line[:1], "span")
    if line == "...":
        return '<span class="line gap"></span>'
    return f'<{kind} class="line">{coloured(line[1:])}</{kind}>'


def rows_of(diff: str) -> Iterator[Optional[Row]]:
    """The rows of a diff, removed lines beside added ones; None where lines are left out."""
    old: list[str] = []
    new: list[str] = []
    for line in [*diff.split("\n"), None]:
        if line is not None and line.startswith("-"):
            if new:
                yield from paired(old, new)
            old.append(line[1:])
        elif line is not None and line.startswith("+"):
            new.append(line[1:])
        else:
            yield from paired(old, new)
            if line is not None:
                yield None if line == "..." else Row(line[1:], line[1:])


def paired(old: list[str], new: list[str]) -> Iterator[Row]:
    """Empties both lists into rows: lines that are much alike are set side by side, in order, and others alone."""
    left, right = 0, 0
    for match in [*best_pairs(old, new), (len(old), len(new))]:
        apart = max(match[0] - left, match[1] - right)
        for index in range(apart):
            yield Row(old[left + index] if left + index < match[0] else None,
                      new[right + index] if right + index < match[1] else None)
        if match[0] < len(old):
            yield Row(old[match[0]], new[match[1]])
        left, right = match[0] + 1, match[1] + 1
    old.clear()
    new.clear()


def best_pairs(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Which line became which, so that all pairs together have most in common."""
    if len(old) * len(new) > MOST_PAIRS:
        return []
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}

    def from_here(i: int, j: int) -> tuple[float, list[tuple[int, int]]]:
        return best.get((i, j), (0.0, []))

    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            points, pairs = from_here(i + 1, j + 1)
            alike = likeness(old[i], new[j])
            both = (points + alike, [(i, j), *pairs]) if alike >= SIMILAR else (0.0, [])
            best[i, j] = max(both, from_here(i + 1, j), from_here(i, j + 1), key=lambda found: found[0])
    return from_here(0, 0)[1]


@functools.lru_cache(maxsize=None)
def likeness(old: str, new: str) -> float:
    """0 for lines that have too little in common, 1 for the same line."""
    compared = difflib.SequenceMatcher(None, WORD.findall(old), WORD.findall(new), autojunk=False)
    return compared.ratio() if compared.quick_ratio() >= SIMILAR else 0


def side(rows: Iterable[Optional[Row]], which: int, name: str) -> str:
    """One of the two columns: 0 the old version, 1 the new one."""
    lines = [side_line(row, which) for row in rows]
    opening = f'<pre class="code cpp change" role="group" aria-label="{html.escape(name)}">'
    return f"{opening}<code>{chr(10).join(lines)}</code></pre>"


def side_line(row: Optional[Row], which: int) -> str:
    if row is None:
        return '<span class="line gap"></span>'
    if row[which] is None:
        return '<span class="line none"></span>'
    if row.same:
        return f'<span class="line">{coloured(row[which])}</span>'
    kind = "ins" if which else "del"
    return f'<{kind} class="line">{with_words(row, which)}</{kind}>'


def with_words(row: Row, which: int) -> str:
    """The line, in which the words that make the difference have a background."""
    spans = changed_spans(row, which)
    return marked(coloured(row[which]), spans) if spans else coloured(row[which])


def changed_spans(row: Row, which: int) -> list[tuple[int, int]]:
    if row.old is None or row.new is None:
        return []
    if likeness(row.old, row.new) < SIMILAR:
        return []
    old, new = WORD.findall(row.old), WORD.findall(row.new)
    compared = difflib.SequenceMatcher(None, old, new, autojunk=False)
    words, spans = (old, new)[which], []
    for change in compared.get_opcodes():
        first, last = change[1:3] if which == 0 else change[3:5]
        if change[0] != "equal" and last > first:
            start = len("".join(words[:first]))
            spans.append((start, start + len("".join(words[first:last]))))
    return spans


def marked(shown: str, spans: list[tuple[int, int]]) -> str:
    """Puts <b> around characters of the text in a piece of HTML, between its tags."""
    inside = {place for start, end in spans for place in range(start, end)}
    pieces, place = [], 0
    for part in re.findall(r"<[^>]+>|&\w+;|&#\d+;|[^<&]", shown):
        if part[0] == "<" and len(part) > 1:
            pieces.append(part)
            continue
        pieces.append(f"<b>{part}</b>" if place in inside else part)
        place += 1
    return "".join(pieces).replace("</b><b>", "")
