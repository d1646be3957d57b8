#!/usr/bin/env python3
"""Tests of docs/build: python3 docs/test_build.py

Each way of writing something in a README is put through the filter alone. What must stop the build is tried on a copy
of the repository; the finished book is looked at by tests/book/check.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

from building import code, diffs, formulas, frame, graphs, headers, pages, searching, site, texts  # noqa: E402
from building.texts import Text  # noqa: E402
from weaving.book import Book, BookError  # noqa: E402
from weaving.page import Page  # noqa: E402

BOOK = Book(ROOT)
CHAPTER = BOOK.chapter(3)


def filtered(text, chapter=CHAPTER, show_diff=code.unified):
    """A README of the given text, as Doxygen gets it."""
    text = textwrap.dedent(text)
    path = chapter.readme if chapter else ROOT / "README.md"
    page = Page(BOOK.name(path), text, chapter)
    return Text(BOOK, path, page, site.page_of(BOOK, path), show_diff).filtered()


def as_shown(text):
    """The filtered text without what only Doxygen needs."""
    return re.sub(r"\u2060?\\(?:end)?htmlonly(?:\[block\])?", "", filtered(text))


class Texts(unittest.TestCase):
    def test_every_line_keeps_its_number(self):
        for place in BOOK.pages():
            text = place.readme.read_text(encoding="utf-8")
            made = texts.filtered(BOOK, place.readme)
            self.assertEqual(made.count("\n"), text.count("\n"), place.readme)
            for line, (old, new) in enumerate(zip(text.split("\n"), made.split("\n")), 1):
                if old.startswith("## "):
                    self.assertIn(old, new, f"{place.readme}:{line}")

    def test_formulas_are_those_of_doxygen(self):
        self.assertEqual(filtered("Here $W_{q}^\\top$ and $x$."), "Here \\f$W_{q}^\\top\\f$ and \\f$x\\f$.")
        self.assertEqual(filtered("$$a \\cdot b$$\n"), "\\f[a \\cdot b\\f]\n")
        self.assertEqual(filtered("```math\na\nb\n```\n"), "\\f[ a b \\f]\n\n\n\n")

    def test_a_price_and_a_variable_are_not_formulas(self):
        for text in ("It costs 5$ or 6$ a piece.", "Set `$CXX` or `$HOME`.", "Between $ and $ is a blank."):
            self.assertNotIn("\\f", filtered(text))

    def test_a_formula_in_code_is_code(self):
        self.assertIn("<code>$x$</code>", filtered("Type `$x$`."))
        self.assertNotIn("\\f", filtered("```text\n$x$\n```\n"))

    def test_code_may_have_a_bar_in_a_table_and_signs_of_html(self):
        self.assertIn("<code>on&#124;off</code>", filtered("| a |\n| --- |\n| `on|off` |\n"))
        self.assertIn("<code>a &lt; b &amp;&amp; c</code>", filtered("`a < b && c`"))

    def test_headings_have_the_anchors_of_a_forge(self):
        made = filtered("# 03 · Scaling\n## By `hand`, twice\n## In code\n## In code\n")
        self.assertEqual(re.findall(r"\{#(\S+)\}", made),
                         ["chapter_03", "chapter_03-by-hand-twice", "chapter_03-in-code", "chapter_03-in-code-1"])

    def test_links_lead_to_pages_of_the_book(self):
        for target, address in {
            "../04_causal_mask/README.md": "chapter_04.html",
            "../04_causal_mask/README.md#the-diff": "chapter_04.html#the-diff",
            "../../README.md": "index.html",
            "#in-code": "#in-code",
            "attention.hpp": "chapters-03_scaling-attention.hpp.html",
            "../../tests/03_scaling.cpp": "tests-03_scaling.cpp.html",
            "../../common": "common.html",
            "https://example.org/a?b=c": "https://example.org/a?b=c",
        }.items():
            self.assertIn(f'<a href="{address}">', filtered(f"See [there]({target})."), target)

    def test_a_link_may_have_code_in_it(self):
        self.assertEqual(as_shown("[`common`](../../common)"), '<a href="common.html"><code>common</code></a>')

    def test_a_mark_names_its_test_and_leads_to_its_line(self):
        made = as_shown("It does. [✓][the worked example\ncomes out to the last digit] So")
        address, line = re.search(r' <span class="tests"><a href="(.*)#L(\d+)" title="(?:the worked example comes out to '
                                  r'the last digit)" aria-label="Test: the worked .*">✓</a></span>\n So', made).groups()
        self.assertEqual(address, "tests-03_scaling.cpp.html")
        source = (ROOT / "tests/03_scaling.cpp").read_text(encoding="utf-8").splitlines()
        self.assertIn("the worked example comes out", source[int(line) - 1])

    def test_marks_in_one_place_stand_together_and_their_targets_vanish(self):
        made = as_shown("It does. [✓][seed 42 gives the running example's context] [✓][twice the tokens make four times the scores]\n\n"
                        '<!-- tests -->\n[twice the tokens make four times the scores]: ../a.cpp#L9 "wide keys"\n<!-- end -->\n')
        self.assertEqual((made.count('<span class="tests">'), made.count("✓")), (1, 2))
        self.assertNotIn("a.cpp", made)

    def test_pictures_have_their_words_twice_and_say_them_once(self):
        made = as_shown('![A map & more](figures/scaling.svg)\n')
        self.assertIn('<img src="figures/03-scaling.svg" alt="A map &amp; more"/>', made)
        self.assertIn('<figcaption aria-hidden="true">A map &amp; more</figcaption>', made)

    def test_alerts(self):
        made = as_shown("> [!NOTE]\n> Mind `this`.\n> And that.\n\nMore.\n")
        self.assertIn('<div class="alert note" role="note"><p class="kind">Note</p>', made)
        self.assertRegex(made, r"Mind <code>this</code>\.\nAnd that\.</div>\n\nMore\.")

    def test_folded_parts_have_markdown_inside(self):
        made = filtered("<details>\n<summary>A hint</summary>\n\nLook at **row** 2.\n\n</details>\n")
        self.assertIn("\\htmlonly[block]<details>\\endhtmlonly\n"
                      "\\htmlonly[block]<summary>A hint</summary>\\endhtmlonly", made)
        self.assertIn("\nLook at <strong>row</strong> 2.\n", made)

    def test_remarks_and_values_vanish(self):
        text = "It is 89.6 %<!-- = pass.weights[2][2] -->, a<!-- remark\nof two lines -->b.\n"
        self.assertEqual(filtered(text), "It is 89.6 %, a\nb.\n")

    def test_a_listing_has_an_anchor_and_its_file(self):
        made = as_shown("<!-- listing: attention.hpp [scaled] -->\n```cpp\nint x;\n```\n<!-- end -->\n")
        self.assertIn('<a id="code-scaled"></a>', made)
        self.assertIn('<pre class="code cpp" data-title="attention.hpp"><code>', made)
        self.assertIn('<span class="keyword">int</span> x;</code></pre>', made)

    def test_a_listing_in_a_list_stays_in_it(self):
        made = filtered("1. So:\n\n   ```cpp\n   int x;\n   ```\n")
        self.assertIn("\n   \\htmlonly[block]", made)
        self.assertIn('<span class="keyword">int</span> x;</code>', made)

    def test_a_sign_of_doxygen_is_a_sign(self):
        self.assertEqual(filtered("me@example.org"), "me\\@example.org")


class Headers(unittest.TestCase):
    def test_a_chapter_gets_a_namespace_and_keeps_its_lines(self):
        made = headers.filtered(BOOK, CHAPTER.mechanism).splitlines()
        source = CHAPTER.mechanism.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(made), len(source) + 1)
        self.assertEqual(made[-1], "}")
        self.assertEqual(len([line for line in made if line.endswith("namespace chapter_03 {")]), 1)
        self.assertEqual(made.index("struct Trace {"), source.index("struct Trace {"))
        self.assertNotIn("//! [pass]", made)

    def test_shared_headers_get_none(self):
        self.assertNotIn("namespace chapter", headers.filtered(BOOK, ROOT / "common/tensor.hpp"))


class Code(unittest.TestCase):
    def test_colours_change_no_character(self):
        for path in (*ROOT.glob("common/*.?pp"), *ROOT.glob("tests/*.cpp")):
            text = path.read_text(encoding="utf-8")
            plain = re.sub(r"<[^>]+>", "", code.coloured(text))
            self.assertEqual(plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"), text, path)

    def test_no_element_goes_over_a_line(self):
        made = code.coloured("/* one\ntwo */ int x;")
        self.assertEqual(made.split("\n")[0], '<span class="comment">/* one</span>')

    def test_comment_signs_inside_a_string_start_no_comment(self):
        self.assertNotIn("comment", code.coloured('say("// no");'))

    def test_signs_are_not_part_of_a_change(self):
        made = code.unified(" a\n-b\n+c\n...\n d")
        self.assertEqual(re.sub(r"<[^>]+>", "", made), "a\nb\nc\n\nd")
        self.assertIn('<del class="line">b</del>\n<ins class="line">c</ins>\n<span class="line gap">', made)

    def test_lines_that_are_alike_stand_side_by_side(self):
        rows = list(code.rows_of("-int one = first(x);\n+int zero = 0;\n+int one = second(x);\n ..."))
        self.assertEqual(rows[0], (None, "int zero = 0;"))
        self.assertEqual(rows[1], ("int one = first(x);", "int one = second(x);"))

    def test_both_columns_have_as_many_lines(self):
        for chapter in BOOK.chapters[1:]:
            rows = list(code.rows_of(diffs.complete_file(BOOK, chapter, "attention.hpp")))
            old, new = (code.side(rows, which, "").count('class="line') for which in (0, 1))
            self.assertEqual((old, new), (len(rows), len(rows)))

    def test_the_words_that_changed_are_marked(self):
        row = code.Row("pass.weights = softmax(pass.scores);", "pass.weights = softmax(pass.scaled);")
        self.assertEqual(code.with_words(row, 1), "pass.weights = softmax(pass.<b>scaled</b>);")
        self.assertNotIn("<b>", code.with_words(code.Row("one", "another(2);"), 1))


class Changes(unittest.TestCase):
    def test_each_hunk_has_the_words_before_it(self):
        hunks = list(diffs.hunks(BOOK, CHAPTER))
        self.assertEqual(hunks[0].explanation, "The idea is one line, and it needs the standard library's square root:")
        self.assertIn("+  trace.scaled = trace.scores /", hunks[0].diff)
        self.assertEqual(len(hunks), len(site.readme(BOOK, CHAPTER.readme).marked("diff")))

    def test_every_file_of_both_chapters_is_compared(self):
        self.assertEqual(diffs.files_to_compare(BOOK, CHAPTER)[:2], ["attention.hpp", "main.cpp"])


class Frames(unittest.TestCase):
    def test_shared_tests_belong_to_no_chapter(self):
        shared = [path for path in BOOK.test_files(CHAPTER) if path.parent.name == "shared"]
        self.assertTrue(shared)
        self.assertEqual({site.chapter_of(BOOK, path) for path in shared}, {None})
        self.assertEqual([words for _, words in frame.companions(BOOK, CHAPTER)],
                         ["What changes", "attention.hpp", "main.cpp", "The tests", "Functions and types"])

    def test_the_reference_follows_the_last_chapter(self):
        last = BOOK.chapters[-1]
        self.assertEqual(frame.neighbours(BOOK, site.chapter_page(last))[1], ("answers.html", "Answers"))
        around = (("answers.html", "Answers"), ("bibliography.html", "Bibliography"))
        self.assertEqual(frame.neighbours(BOOK, "glossary.html"), around)
        self.assertEqual(site.address_of(BOOK, CHAPTER.readme, "../../docs/glossary.md#softmax"), "glossary.html#softmax")


class Pages(unittest.TestCase):
    def test_doxygens_blank_before_html_goes_and_the_authors_stays(self):
        page = pages.DoxygenPage("chapter_03.html", "", "<p >A (\u2060 <code>b</code>) and \u2060<code>c</code>.</p>")
        self.assertEqual(pages.refined_text(page), "<p>A (<code>b</code>) and <code>c</code>.</p>")

    def test_the_element_around_a_text_goes_wherever_it_ends(self):
        for end in ("</div>", "</div></div><!-- PageDoc -->"):
            self.assertEqual(pages.unwrapped(f'<div class="textblock"><div>a</div>{end}'), "<div>a</div>")

    def test_headings_move_one_level_down(self):
        heading = '<h1><a class="anchor" id="chapter_03-in-code"></a>\nIn code</h1>'
        page = pages.DoxygenPage("chapter_03.html", "", heading)
        self.assertIn('<h2 id="in-code">In code <a class="self" href="#in-code"', pages.refined_text(page))

    def test_names_in_listings_lead_to_their_pages(self):
        known = {"matmul(": "tensor_8hpp.html#a", "Matrix": "tensor_8hpp.html#b"}
        listing = code.listing("Matrix matmul = matmul(a);  // Matrix", "cpp")
        made = pages.with_links(listing, known, "chapter_03.html")
        self.assertIn('<a href="tensor_8hpp.html#b">Matrix</a> matmul =', made)
        self.assertIn('= <a href="tensor_8hpp.html#a">matmul</a>(a);', made)
        self.assertEqual(made.count("<a "), 2)

    def test_a_search_finds_headings_and_no_listings(self):
        found = list(searching.entries("a.html", "A", '<p>one</p><h2 id="b">B</h2><p>two</p><pre>three</pre>'))
        self.assertEqual(found, [("a.html", "A", "", "one"), ("a.html#b", "A", "B", "two")])

    def test_a_search_finds_no_marks(self):
        marked = '<p>one <span class="tests"><a href="b.html" title="two" aria-label="Test: two">✓</a></span></p>'
        self.assertEqual(searching.plain(marked), "one")


class Graphs(unittest.TestCase):
    def test_a_node_leads_to_its_listing_or_else_to_its_lines(self):
        self.assertEqual(graphs.listing_address(BOOK, BOOK.chapters[0], "softmax"), "#code-softmax")
        address, line = graphs.listing_address(BOOK, CHAPTER, "forward").split("#L")
        self.assertEqual(address, "chapters-03_scaling-attention.hpp.html")
        self.assertIn("//! [forward]", CHAPTER.mechanism.read_text(encoding="utf-8").splitlines()[int(line) - 2])

    def test_a_node_may_lead_to_another_file_of_the_chapter(self):
        last = BOOK.chapters[-1]
        self.assertEqual(graphs.listing_address(BOOK, last, "block.hpp [block_forward]"), "#code-block_forward")
        address = graphs.listing_address(BOOK, last, "layer_norm.hpp [layer_norm_forward]")
        self.assertRegex(address, r"^chapters-07_gpt2_block-layer_norm\.hpp\.html#L\d+$")
        for place in ("norm.hpp [forward]", "layer_norm.hpp [nothing]"):
            with self.assertRaises(graphs.BookError):
                graphs.listing_address(BOOK, last, place)

    def test_colours_are_left_to_the_page(self):
        made = graphs.data_flow(BOOK, CHAPTER, "How it flows")
        self.assertIn('aria-label="How it flows"', made)
        self.assertIn('class="node tensor new"', made)
        self.assertNotRegex(made, r'(?:fill|stroke)="(?!none)')


class Formulas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name, "formulas.json")

    def test_they_are_set_and_leave_no_tex_behind(self):
        page = '<p>A \\(a &lt; \\frac{1}{2}\\).</p><p class="formulaDsp">\n\\[\nb\n\\]\n</p>'
        made = formulas.Formulas(self.cache)
        made.prepare([page])
        shown = made.put_into(page)
        self.assertEqual(shown.count('<span class="katex">'), 2)
        self.assertNotIn("frac{", shown)
        self.assertIn("<math", shown)

    def test_one_that_is_wrong_is_named(self):
        with self.assertRaisesRegex(BookError, r"the formula \\frac\{1 cannot be set"):
            formulas.Formulas(self.cache).prepare([r"\(\frac{1\)"])


def not_source(folder, names):
    return [name for name in names if name in (".git", "__pycache__") or (name == "build" and Path(folder) == ROOT)]


class Building(unittest.TestCase):
    """docs/build on a copy of the repository in which something is wrong."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="the book ")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "book"
        shutil.copytree(ROOT, self.root, ignore=not_source)

    def spoil(self, name, old, new):
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return text[: text.index(old)].count("\n") + 1

    def build(self, expect, environment=None):
        done = subprocess.run([self.root / "docs/build"], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stderr

    def test_errors_in_the_texts_are_named_by_file_and_line(self):
        readme, mechanism = "chapters/03_scaling/README.md", "chapters/03_scaling/attention.hpp"
        link = self.spoil(readme, "../04_causal_mask/README.md", "../04_causal_mask/READ.md")
        diff = self.spoil(readme, "diff: [scaled]", "diff: [scalded]")
        region = self.spoil(mechanism, "//! [weights]\n", "\n")
        node = self.spoil("docs/graphs/04_causal_mask.dot", 'href="masked"', 'href="masqued"')
        said = self.build(expect=1)
        self.assertIn(f"{readme}:{link}: the link to ../04_causal_mask/READ.md leads nowhere", said)
        self.assertIn(f"{readme}:{diff}: diff: {mechanism} has no region [scalded]", said)
        self.assertRegex(said, rf"{mechanism}:{region + 2}: .*\[weights\] is opened and not closed")
        self.assertIn(f"docs/graphs/04_causal_mask.dot:{node}: ", said)
        self.assertFalse((self.root / "build/docs/html").exists())

    def test_links_to_files_of_any_kind_are_followed(self):
        readme = self.root / "chapters/03_scaling/README.md"
        text = readme.read_text(encoding="utf-8").rstrip("\n")
        wrong = {"no.py": "nowhere", "../../tests/no.json": "nowhere", "figures/no.svg": "nowhere", "no.txt#L3": "nowhere",
                 "../../docs/test_build.py": "to a file that has no page in the book",
                 "../../docs/figures": "to a file that has no page in the book"}
        right = ["../../common", "../../docs/budgets.txt", "../../tests/run", "attention.hpp#L9", "https://example.org/no.py"]
        links = "\n".join(f"[`here`]({target})" for target in [*wrong, *right])
        readme.write_text(f"{text}\n\n{links}\n", encoding="utf-8")
        first = text.count("\n") + 3
        said = self.build(expect=1).splitlines()[1:]
        self.assertEqual(said, [f"chapters/03_scaling/README.md:{first + place}: the link to {target} leads {where}"
                                for place, (target, where) in enumerate(wrong.items())])

    def test_a_chapter_without_a_graph_is_named(self):
        (self.root / "docs/graphs/05_cross_attention.dot").unlink()
        said = self.build(expect=1)
        self.assertRegex(said, r"05_cross_attention/README.md:\d+: there is no docs/graphs/05_cross_attention.dot")

    def test_what_doxygen_does_not_like_is_named_by_the_line_of_the_readme(self):
        line = self.spoil("chapters/02_trainable_weights/README.md", "One question is left", "One \\nosuchcommand is left")
        self.assertIn(f"chapters/02_trainable_weights/README.md:{line}: ", self.build(expect=1))

    def test_a_formula_that_cannot_be_set_is_named_by_its_line(self):
        line = self.spoil("chapters/02_trainable_weights/README.md", r"$$x_i\, W\, W^\top x_j^\top$$", r"$$x_i\, W \frac{1$$")
        said = self.build(expect=1)
        self.assertIn(rf"chapters/02_trainable_weights/README.md:{line}: the formula x_i\, W \frac{{1 cannot be set", said)
        self.assertEqual(list((self.root / "build/docs").glob("html*")), [])

    def test_a_missing_picture_is_named(self):
        (self.root / "chapters/03_scaling/figures/scaling.svg").unlink()
        self.assertRegex(self.build(expect=1), r"03_scaling/README.md:\d+: there is no picture figures/scaling.svg")

    def with_tools(self, names):
        """An environment in which these programs are found, and no others."""
        tools = self.root / "tools"
        tools.mkdir()
        for name in names.split():
            (tools / name).symlink_to(shutil.which(name))
        (tools / "python3").symlink_to(sys.executable)
        return {**os.environ, "PATH": str(tools)}

    def test_missing_packages_are_named(self):
        said = self.build(expect=2, environment=self.with_tools(
            "bash env cat grep awk sed sort paste dirname readlink mkdir rm dot node c++"))
        self.assertIn("Missing: doxygen (command:doxygen), katex (command:katex).", said)

    def test_without_emscripten_the_figures_stand_still(self):
        said = self.build(expect=0, environment=self.with_tools(
            "bash env cat grep awk sed sort paste dirname readlink mkdir rm dot node c++ doxygen katex diff git mktemp"))
        self.assertIn("static pictures instead of live figures", said)
        self.assertIn("common/setup live", said)
        self.assertIn("figures/07-training.svg", (self.root / "build/docs/html/chapter_07.html").read_text(encoding="utf-8"))
        self.assertFalse((self.root / "build/docs/html/live").exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
