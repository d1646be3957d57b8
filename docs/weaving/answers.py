"""The answers to the chapters' exercises: docs/answers.md, an entry for each numbered exercise.

An entry is a heading `### 03, exercise 2` and the answer, folded: `<details>`, a line
`<summary>Answer</summary>`, a blank line, the text, a blank line, `</details>`. The exercise ends with a
link to it.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from weaving.book import Book, BookError, Chapter, Problem
from weaving.page import Page
from weaving.revision import is_revised

ANSWERS = "docs/answers.md"
SECTION = re.compile(r"^## Exercises[ \t]*\n(?P<body>(?:(?!##? ).*(?:\n|\Z))*)", re.M)
ITEM = re.compile(r"^(?P<number>\d+)\. (?P<text>.*(?:\n(?!\d+\. ).*)*)", re.M)
ENTRY = re.compile(r"^### (?P<chapter>\d\d), exercise (?P<number>\d+)[ \t]*\n(?P<body>(?:(?!##).*(?:\n|\Z))*)", re.M)
FOLDED = re.compile(r"\s*<details>\n<summary>[^<\n]+</summary>\n\n(?=[ \t]*\S)(?!</details>)[\s\S]+\n\n</details>\s*")


class Exercise(NamedTuple):
    number: int
    text: str
    line: int


class Answer(NamedTuple):
    chapter: str
    number: int
    body: str
    line: int


def exercises(page: Page) -> Iterator[Exercise]:
    section = SECTION.search(page.text)
    for item in ITEM.finditer(section["body"]) if section else ():
        yield Exercise(int(item["number"]), item["text"], page.line_of(section.start("body") + item.start()))


def answers(book: Book) -> list[Answer]:
    try:
        page = Page(ANSWERS, book.read(book.root / ANSWERS))
    except BookError:
        return []
    return [Answer(match["chapter"], int(match["number"]), match["body"], page.line_of(match.start()))
            for match in ENTRY.finditer(page.prose(code=True))]


def check_answers(book: Book, page: Page, chapter: Chapter) -> Iterator[Problem]:
    """Each exercise has its answer, and each answer its exercise."""
    if not is_revised(book, chapter.readme):
        return
    asked = list(exercises(page))
    given = {answer.number: answer for answer in answers(book) if answer.chapter == chapter.label}
    for exercise in asked:
        name = f"{chapter.label}, exercise {exercise.number}"
        anchor = f"{ANSWERS}#{chapter.label}-exercise-{exercise.number}"
        if exercise.number not in given:
            yield Problem(page.name, exercise.line, f"exercise {exercise.number} has no answer: an entry "
                                                    f"\"### {name}\" of {ANSWERS}")
        elif f"{anchor})" not in exercise.text:
            yield Problem(page.name, exercise.line, f"exercise {exercise.number} does not end with a link to its "
                                                    f"answer: [Answer](../../{anchor})")
    for answer in given.values():
        if answer.number not in {exercise.number for exercise in asked}:
            sentence = f"chapter {chapter.label} has no exercise {answer.number}"
            yield Problem(ANSWERS, answer.line, sentence)
        elif not FOLDED.fullmatch(answer.body):
            yield Problem(ANSWERS, answer.line, "an answer is folded: <details>, <summary>Answer</summary>, a blank "
                                                "line, the text, a blank line, </details>")
