"""Formulas, set once by KaTeX while the book is built: a page needs no script to show them."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
from pathlib import Path
from typing import Iterable

from weaving.book import BookError

FOLDERS = (Path("/usr/share/javascript/katex"), Path("/usr/share/nodejs/katex/dist"))
WRITTEN = re.compile(
    r'<p class="formulaDsp">\s*\\\[(?P<displayed>.*?)\\\]\s*</p>|\\\((?P<inline>.*?)\\\)', re.S)
FONT = re.compile(r"src:\s*url\((?P<file>fonts/[\w-]+\.woff2)\)[^;}]*")
SETTER = """
const katex = require(process.argv[1]);
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const made = formulas.map(([tex, displayed]) => {
  try { return katex.renderToString(tex, {displayMode: displayed, strict: "ignore", output: "htmlAndMathml"}); }
  catch (error) { return {error: error.message}; }
});
process.stdout.write(JSON.stringify(made));
"""
SOURCE = re.compile(r"<annotation[^>]*>.*?</annotation>", re.S)  # TeX is for a copy, and would be found as text


class Unset(BookError):
    """A formula that KaTeX cannot set."""

    def __init__(self, tex: str, why: str):
        super().__init__(f"the formula {tex} cannot be set: {why}")
        self.tex = tex


class Formulas:
    """Sets the formulas of all pages at once, and keeps what it has set for the next time."""

    def __init__(self, cache: Path):
        self._cache = cache
        self._set: dict[str, str] = json.loads(cache.read_text(encoding="utf-8")) if cache.exists() else {}

    def prepare(self, pages: Iterable[str]) -> None:
        """@raises Unset when a formula cannot be set"""
        wanted = {key(*formula) for page in pages for formula in formulas_in(page)}
        missing = sorted(wanted - set(self._set))
        for name, made in zip(missing, set_all(missing)):
            self._set[name] = made
        self._set = {name: self._set[name] for name in sorted(wanted)}
        self._cache.write_text(json.dumps(self._set), encoding="utf-8")

    def put_into(self, page: str) -> str:
        return WRITTEN.sub(lambda match: self._element(*formula_of(match)), page)

    def _element(self, tex: str, displayed: bool) -> str:
        made = self._set[key(tex, displayed)]
        return f'<div class="formula">{made}</div>' if displayed else made


def formulas_in(page: str) -> list[tuple[str, bool]]:
    return [formula_of(match) for match in WRITTEN.finditer(page)]


def formula_of(match: re.Match[str]) -> tuple[str, bool]:
    """The TeX, and whether it is displayed on its own lines."""
    displayed = match["displayed"] is not None
    return html.unescape(match["displayed" if displayed else "inline"]).strip(), displayed


def key(tex: str, displayed: bool) -> str:
    return json.dumps([tex, displayed])


def set_all(keys: list[str]) -> list[str]:
    if not keys:
        return []
    program = ["node", "-e", SETTER, str(folder() / "katex.js")]
    done = subprocess.run(program, input=f"[{','.join(keys)}]", capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"KaTeX cannot be run by node: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    made = json.loads(done.stdout)
    for name, formula in zip(keys, made):
        if isinstance(formula, dict):
            raise Unset(json.loads(name)[0], formula["error"])
    return [SOURCE.sub("", formula) for formula in made]


def folder() -> Path:
    """Where the system keeps KaTeX."""
    for place in FOLDERS:
        if (place / "katex.js").exists():
            return place
    raise BookError(f"KaTeX is in none of {', '.join(map(str, FOLDERS))}")


def style_sheet() -> str:
    """KaTeX's own, with its fonts inside: a browser may refuse a font file beside a page on the disk."""
    sheet = (folder() / "katex.css").read_text(encoding="utf-8")
    return FONT.sub(lambda match: f"src: url({embedded(folder() / match['file'])}) format('woff2')", sheet)


def embedded(font: Path) -> str:
    return "data:font/woff2;base64," + base64.b64encode(font.read_bytes()).decode("ascii")
