#!/usr/bin/env python3
"""Tests of docs/weave, on a book of two tiny chapters about means: python3 docs/test_weave.py

The fake book is woven once; each test gets a copy, spoils something, and says what must be
reported and where.
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from unittest import mock

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from weaving import book, links, numbers, page, programs, regions  # noqa: E402
from weaving.changes import Changes  # noqa: E402
from weaving.command import main  # noqa: E402
from weaving.tiny_book import MECHANISM, PAGE, PROGRAMS, write_book, write_program  # noqa: E402

REAL_COUNTER = ("chapters/diff", "common/commands", "common/setup")


def run_weave(root, *arguments):
    """The exit code of docs/weave, what it printed, and what it said on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments, root)
    return code, out.getvalue(), err.getvalue()


def setUpModule():
    global shelf
    shelf = tempfile.TemporaryDirectory()
    master = Path(shelf.name, "master")
    write_book(master)
    code, printed, _ = run_weave(master)
    assert code == 0, printed


def tearDownModule():
    shelf.cleanup()


class BookCase(unittest.TestCase):
    """A test with a book of its own, in which everything agrees."""

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(dir=shelf.name)).resolve() / "book"
        shutil.copytree(Path(shelf.name, "master"), self.root)

    def text(self, name=PAGE):
        return (self.root / name).read_text(encoding="utf-8")

    def replace(self, name, old, new):
        text = self.text(name)
        self.assertIn(old, text)
        (self.root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    def append(self, name, text):
        (self.root / name).write_text(self.text(name) + text, encoding="utf-8")

    def line_of(self, name, words):
        return self.text(name).split(words)[0].count("\n") + 1

    def snapshot(self):
        return {path: path.read_bytes() for path in self.root.rglob("*")
                if path.is_file() and path.name != "runs"}

    def assert_agrees(self, *arguments):
        code, printed, _ = run_weave(self.root, "--check", *arguments)
        self.assertEqual(code, 0, printed)

    def assert_reports(self, name, *reports):
        """Lines of --check name the file, the line of the words, and a sentence.

        `reports` are pairs of such words and a part of the sentence, one after the other.
        """
        before = self.snapshot()
        code, printed, _ = run_weave(self.root, "--check", *self.pages_about(name))
        self.assertEqual(code, 1)
        self.assertEqual(self.snapshot(), before, "--check must not write")
        for at, sentence in zip(reports[::2], reports[1::2]):
            start = f"{name}:{self.line_of(name, at)}: "
            found = [line for line in printed.splitlines() if line.startswith(start)]
            self.assertTrue(any(sentence in line for line in found),
                            f"{start}{sentence}\n{printed}")

    @staticmethod
    def pages_about(name):
        """Checking one page is enough where only that page can say it."""
        if name.endswith("README.md"):
            return [name]
        return ["2"] if name in (MECHANISM, "docs/budgets.txt") else []


class Weaving(BookCase):
    def test_a_woven_book_agrees(self):
        code, printed, _ = run_weave(self.root, "--check")
        self.assertEqual((code, printed), (0, "5 pages agree with the code\n"))

    def test_weaving_again_writes_nothing(self):
        before = self.snapshot()
        times = {path: path.stat().st_mtime_ns for path in before}
        self.assertEqual(run_weave(self.root)[0], 0)
        self.assertEqual(self.snapshot(), before)
        self.assertEqual({path: path.stat().st_mtime_ns for path in before}, times)

    def test_stale_blocks_are_repaired(self):
        before = self.snapshot()
        for words in ("sum += day;", "   total", "coldest -0", "+  Days means", "![Means"):
            self.replace(PAGE, words, "something else")
        (self.root / "chapters/02_window/figures/means.svg").unlink()
        code, printed, _ = run_weave(self.root)
        self.assertEqual(code, 0, printed)
        self.assertIn(f"wrote {PAGE}", printed)
        self.assertEqual(self.snapshot(), before)

    def test_blocks_say_what_the_code_says(self):
        text = self.text()
        self.assertIn("```cpp\n"
                      "for (double day : days) sum += day;\n```\n", text)
        self.assertIn("   ```text\n   means   4.0000   7.5000\n   total   11.5000\n   ```\n", text)
        self.assertIn("````text\n`1` ```2```\n````\n", text)
        self.assertIn("```text\n02_window: there is no option --wrong\n```\n", text)
        self.assertIn("```diff\n inline double mean(const Days& days) {\n"
                      "-  double sum = 0;  // of the degrees\n"
                      "+  double sum = 0.0;  // of the degrees\n"
                      "   // Plain addition: the days are few.\n```\n", text)
        self.assertIn("```diff\n+/// The mean of each window of two days.\n+inline", text)
        self.assertIn("![Means of 4.0000 degrees](figures/means.svg)\n<!-- end -->", text)
        self.assertIn("![A window to move](figures/window.svg)\n<!-- end -->", text)
        self.assertEqual(self.text("chapters/02_window/figures/window.svg"),
                         "<svg><!-- 1, 2, 3 --></svg>\n")
        self.assertNotIn("//!", text)

    def test_the_front_page_has_a_table_a_figure_and_a_command(self):
        text = self.text("README.md")
        self.assertIn("| [One mean](chapters/01_mean/README.md) | nothing before it | — |\n"
                      "| [Moving means](chapters/02_window/README.md) | a window \\| of two days "
                      "| +6 −1 |\n", text)
        self.assertIn("```text\n6 1\n```\n", text)
        self.assertEqual(self.text("docs/figures/front.svg"), "<svg><!-- 3, 5, 10 --></svg>\n")

    def test_only_the_named_pages_are_woven(self):
        self.replace(PAGE, "sum += day;\n", "sum -= day;\n")
        for name in ("1", "README.md", "chapters/01_mean/README.md",
                     str(self.root / "chapters/01_mean/README.md")):
            self.assert_agrees(name)
        self.assert_reports(PAGE, "<!-- listing", "stale")
        self.assertIn(f"wrote {PAGE}\n1 page agrees", run_weave(self.root, "2")[1])

    def test_each_command_runs_once(self):
        runs = self.root / "build/release/chapters/runs"
        runs.unlink()
        self.append(PAGE, "<!-- output: [days] -->\n<!-- end -->\n" * 3)
        run_weave(self.root, "2")
        self.assertEqual(runs.read_text().count("run"), 5)  # plain, --text thrice, --json

    def test_git_settings_change_nothing(self):
        settings = self.root / "settings"
        settings.write_text("[diff]\n context = 9\n external = false\n[color]\n ui = always\n")
        with mock.patch.dict(os.environ, GIT_CONFIG_GLOBAL=str(settings), GIT_DIR="/nowhere",
                             GIT_DIFF_OPTS="--unified=9"):
            self.assert_agrees("2")

    def test_a_build_can_be_elsewhere(self):
        (self.root / "build/release").rename(self.root / "build/other")
        self.assert_agrees("--build", str(self.root / "build/other"))

    def test_wrong_commands_end_with_2_and_one_sentence(self):
        for arguments, words in ((["9"], "no page 9"), (["--build", "none"], "none holds no")):
            code, printed, error = run_weave(self.root, *arguments)
            self.assertEqual((code, printed, error.count("\n")), (2, "", 1))
            self.assertIn(words, error)

    def test_the_script_explains_itself(self):
        shown = subprocess.run([sys.executable, DOCS / "weave", "--help"], capture_output=True)
        self.assertEqual(shown.returncode, 0)
        self.assertIn(b"usage: docs/weave", shown.stdout)


class StaleBlocks(BookCase):
    def test_a_stale_listing(self):
        self.replace(MECHANISM, "sum += day", "sum = sum + day")
        self.assert_reports(PAGE, "<!-- listing", "\"for (double day : days) sum += day;\" is now")

    def test_a_stale_output(self):
        self.replace(PROGRAMS[1], "7.5000", "7.6000")
        self.assert_reports(PAGE, "<!-- output: [by hand]", "this output block is stale")
        self.assert_reports("README.md", "<!-- output", "this output block is stale")

    def test_a_stale_diff(self):
        self.replace(MECHANISM, "/ 2);", "* 0.5);")
        self.assert_reports(PAGE, "<!-- diff: [window]", "this diff block is stale")

    def test_a_stale_figure(self):
        self.append("chapters/02_window/figures/means.svg", "\n")
        self.assert_reports(PAGE, "<!-- figure", "means.svg on the disk is not the picture")

    def test_a_stale_static_figure_of_a_live_one(self):
        self.append("chapters/02_window/figures/window.svg", "\n")
        self.assert_reports(PAGE, "<!-- live", "window.svg on the disk is not the picture")

    def test_a_recorded_figure_is_not_drawn_anew(self):
        self.replace(PAGE, '"A window to move" -- --text "1, 2, 3"', '"A window to move" recorded')
        self.append("chapters/02_window/figures/window.svg", "\n")
        self.assert_agrees()
        (self.root / "chapters/02_window/figures/window.svg").unlink()
        self.assert_reports(PAGE, "<!-- live", "there is no chapters/02_window/figures/window.svg")

    def test_a_stale_table(self):
        self.replace("chapters/01_mean/README.md", "nothing before it", "nothing at all")
        self.assert_reports("README.md", "<!-- chapters", "this chapters block is stale")

    def test_all_of_them_at_once(self):
        self.replace(MECHANISM, "sum += day", "sum = sum + day")
        self.replace(PROGRAMS[1], "7.5000", "7.6000")
        self.append("chapters/02_window/figures/means.svg", "\n")
        self.assert_reports(PAGE, "<!-- listing", "stale", "<!-- output: [by hand]", "stale",
                            "<!-- diff: [sum]", "stale", "<!-- figure", "stale")


class BlocksThatCannotBeMade(BookCase):
    def assert_block_reports(self, *reports):
        """Blocks that are appended to the page are reported, and left as they are."""
        markers = [f"<!-- {marker} -->" for marker in reports[::2]]
        self.append(PAGE, "".join(f"\n{marker}\n<!-- end -->\n" for marker in markers))
        before = self.text()
        pairs = zip(markers, reports[1::2])
        self.assert_reports(PAGE, *(part for pair in pairs for part in pair))
        self.assertEqual(run_weave(self.root, "2")[0], 1)
        self.assertEqual(self.text(), before)

    def test_a_region_that_is_gone(self):
        self.assert_block_reports("listing: attention.hpp [total]",
                                  f"{MECHANISM} has no region [total]")

    def test_a_region_that_is_not_closed(self):
        self.append(MECHANISM, "//! [open]\n")
        self.assert_block_reports("listing: attention.hpp [open]", "[open] is opened and not")
        self.assert_reports(MECHANISM, "//! [open]", "[open] is opened and not closed")

    def test_a_region_that_is_opened_again(self):
        self.append(MECHANISM, "//! [loop]\n")
        self.assert_reports(PAGE, "<!-- listing", "[loop] has 3 marker lines, not two")

    def test_regions_that_cross(self):
        self.append(MECHANISM, "//! [a]\n//! [b]\n//! [a]\n//! [b]\n")
        self.assert_block_reports("listing: attention.hpp [b]", "[a] and [b] cross")

    def test_a_listing_of_a_missing_or_unreadable_file(self):
        (self.root / "common/latin.hpp").write_bytes(b"//! [a]\n\xe9\n//! [a]\n")
        self.assert_block_reports("listing: common/none.hpp [a]", "none.hpp cannot be read",
                                  "listing: common/latin.hpp [a]", "is not UTF-8")

    def test_a_program_that_fails_is_quoted(self):
        self.assert_block_reports("output: -- --wrong", "ended with 2, and said on standard error: "
                                                        "02_window: there is no option --wrong")

    def test_a_failure_that_does_not_happen(self):
        self.assert_block_reports("output: fails --", "ended with 0")

    def test_a_section_that_is_not_there_or_not_clear(self):
        self.assert_block_reports("output: [medians] --", "no section contains \"medians\"",
                                  "output: [the means] --", "is a part of 2 sections")

    def test_words_that_are_not_printed(self):
        self.assert_block_reports("output: from \"median\" lines 1 --", "contains \"median\"")

    def test_a_program_that_is_not_built(self):
        (self.root / PROGRAMS[1]).unlink()
        self.assert_reports(PAGE, "<!-- output", "02_window cannot be run: No such file")

    def test_a_program_that_never_ends(self):
        write_program(self.root / PROGRAMS[1], "#!/bin/sh\nexec sleep 9\n")
        with mock.patch.object(programs, "SECONDS", 0.1):
            self.assert_reports(PAGE, "<!-- output", "was still running after 0.1 seconds")

    def test_a_diff_of_what_did_not_change_or_has_no_before(self):
        self.append(MECHANISM, "//! [same]\n//! [same]\n")
        self.assert_block_reports("diff: [same]", "changes nothing in the region [same]")
        name = "chapters/01_mean/README.md"
        self.append(name, "<!-- diff: [sum] -->\n<!-- end -->\n")
        self.assert_reports(name, "<!-- diff", "chapter 01 has no chapter before it")

    def test_two_figures_of_one_name(self):
        self.append(PAGE, "<!-- figure: means.svg \"Others\" -->\n<!-- end -->\n")
        run_weave(self.root)
        self.assert_reports(PAGE, "<!-- figure: means.svg \"Others\"", "means.svg on the disk is")

    def test_a_chapter_that_does_not_say_what_changes(self):
        self.replace(PAGE, "changes: a", "a")
        self.assert_reports("README.md", "<!-- chapters",
                            f"<!-- changes: ... --> is needed in {PAGE}")

    def test_markers_in_another_form(self):
        self.assert_block_reports("listing: attention.hpp", "is written <!-- listing: FILE",
                                  "output: by hand --", "is written <!-- output: [SECTION]",
                                  "live: window \"A\"", "is written <!-- live: CHAPTER NAME",
                                  "command: sh -c 'open", "the options cannot be taken apart")
        self.append("README.md", "<!-- output: -- -->\n<!-- end -->\n")
        self.assert_reports("README.md", "<!-- output: -- -->", "belongs to no chapter")

    def test_markers_that_are_unknown_or_alone(self):
        self.append(PAGE, "<!-- lising: a.hpp [b] -->\n<!-- end -->\nA <!-- chapters --> word\n")
        self.append(PAGE, "<!-- output: -- -->\n```odd\n<!-- end -->\n")
        self.assert_reports(PAGE, "<!-- lising", "no marker is called \"lising\"; did you mean",
                            "<!-- end -->\nA", "ends no block",
                            "A <!-- chapters", "needs a line to itself",
                            "<!-- output: -- -->", "output block has no <!-- end -->",
                            "```odd", "this fence is never closed")

    def test_a_page_that_is_not_text(self):
        (self.root / PAGE).write_bytes(b"one\n\xff\n")
        code, printed, _ = run_weave(self.root, "--check", "2")
        self.assertEqual((code, printed), (1, f"{PAGE}:1: {PAGE} is not UTF-8: "
                                              "see the bytes in its line 2\n"))


class Prose(BookCase):
    def test_a_wrong_value(self):
        self.replace(PAGE, "89.6 %", "89.7 %")
        sentence = "89.7 % is written, and moving.share is 89.61"
        self.assert_reports(PAGE, "<!-- = moving.share", sentence)
        code, printed, _ = run_weave(self.root)
        self.assertEqual(code, 1, "weaving does not rewrite a value")
        self.assertIn(sentence, printed)

    def test_values_that_name_nothing(self):
        reports = ("4<!-- = moving.shares -->", "names no \"shares\"; did you mean \"share\"?",
                   "4<!-- = moving.cold days[2][0] -->", "2 entries where [2] is asked for",
                   "4<!-- = moving.share[0] -->", "no entries where [0]",
                   "4<!-- = moving.cold days -->", "is not a number",
                   "4<!-- = moving.holds -->", "is not a number",
                   "4<!-- = moving.cold days[0 -->", "is not a path",
                   "None<!-- = moving.count -->", "expected a number before this marker")
        self.append(PAGE, "".join(f"{words}\n" for words in reports[::2]))
        self.assert_reports(PAGE, *reports)
        self.append("README.md", "One 4<!-- = moving.count -->\n")
        self.assert_reports("README.md", "One 4", "belongs to no chapter")

    def test_values_with_options(self):
        self.append(PAGE, "`-0.25`<!-- = moving.cold days[0][1] -- --text \"a b\" -->, 3\n")
        self.assert_agrees()

    def test_a_number_that_no_block_shows(self):
        reports = []
        for number in ("0.123", ".4011", "2,000", "−4.0000", "$x = 3{,}000$", "`7.51`"):
            self.append(PAGE, f"\nIt is {number}.\n")
            reports += [f"It is {number}", "is in no block of this page"]
        self.assert_reports(PAGE, *reports)

    def test_a_number_in_a_caption_or_a_formula_is_prose(self):
        self.replace(PAGE, "\"Means of 4.0000", "\"Means of 4.7000")
        run_weave(self.root)
        self.assert_reports(PAGE, "![Means of 4.7", "4.7000 is in no block")
        self.append(PAGE, "```math\nx = 5.25\n```\n")
        self.assert_reports(PAGE, "x = 5.25", "5.25 is in no block")

    def test_a_number_that_only_a_stale_block_shows(self):
        self.replace(PAGE, "coldest -0.2549\n", "coldest -0.2549\nwarmest 12.5000\n")
        self.append(PAGE, "\nThe warmest is 12.5000 today.\n")
        self.assert_reports(PAGE, "The warmest", "12.5000 is in no block")

    def test_numbers_that_are_shown_or_none(self):
        self.append(PAGE, "\nSo 4.0000, 0.2549, -0.2549 and 7.5000; see <https://a.org/1.75>, "
                          "<img width=\"1.75\" src=\"main.cpp\">, [here](https://b.org/2.75(x)), "
                          "version 1.2.3, `W1.25`, $\\sqrt{2}$ and 3 days [✓][half is 0.75] "
                          "<!-- but 9.75 -->, not `[✓][none]`, nor −0.5 or +.5, section\n3.1. [✓][a "
                          "window of all days is the mean]\n"
                          "```text\n8.25 and 1769472\n```\nThis is 8.25 of 1,769,472.\n")
        run_weave(self.root, "2")
        self.assert_agrees()

    def test_an_unknown_test(self):
        self.append(PAGE, "It holds. [✓][order\nmatter now]\n")
        self.assert_reports(PAGE, "It holds", "no test of chapter 02 is named \"order matter now\";"
                                              " did you mean \"order matters now\"?")
        self.append("README.md", "It holds. [✓][nothing holds]\n")
        self.assert_reports("README.md", "It holds", "no test of any chapter is named")

    def test_marks_lead_to_the_lines_of_their_tests(self):
        self.assertIn('<!-- tests -->\n[order matters now]: ../../tests/02_window.cpp#L1 "order '
                      'matters now"\n<!-- end -->', self.text())
        front = self.text("README.md")
        self.assertIn('\n[order matters now]: tests/02_window.cpp#L1 "order matters now"\n[the mean '
                      'of one day is the day]: tests/01_mean.cpp#L2 "the mean of', front)
        self.replace("tests/02_window.cpp", "TEST_CASE", "\n\nTEST_CASE")
        self.assert_reports(PAGE, "<!-- tests", "is now \"[order matters now]: ../../tests/02_window"
                                                ".cpp#L3")

    def test_marks_need_their_block(self):
        self.replace(PAGE, "<!-- tests -->\n", "<!-- chapters -->\n")
        self.assert_reports(PAGE, "[✓][", "a page that cites tests has one block")

    def test_a_citation_that_interrupts_its_sentence(self):
        self.append(PAGE, "It holds (*test: order\nmatters now*).\n")
        self.assert_reports(PAGE, "It holds", "a mark after the claim: [✓][order matters now]")

    def test_a_name_with_quotation_marks_is_a_title(self):
        self.append("tests/02_window.cpp", 'TEST_CASE("a \\"quoted\\" day") {}\n')
        self.append(PAGE, "It holds. [✓][a \"quoted\" day]\n")
        run_weave(self.root, "2")
        self.assert_agrees("2")
        self.assertIn('.cpp#L5 "a \\"quoted\\" day"\n', self.text())

    def test_a_broken_link(self):
        reports = ("A [link](none.md)", "the link to none.md leads nowhere",
                   "A [link](/docs/no.txt)", "the link to /docs/no.txt leads nowhere",
                   "A [link](#the-dif)", "to no heading; did you mean \"the-diff\"?",
                   "A [link](../01_mean/README.md#two-means)", "leads to no heading",
                   "<img src=\"gone.png\">", "the link to gone.png leads nowhere",
                   "[far]: gone.md", "the link to gone.md leads nowhere")
        self.append(PAGE, "".join(f"\n{words}\n" for words in reports[::2]))
        self.assert_reports(PAGE, *reports)

    def test_a_paper_is_named_in_a_link_to_its_entry(self):
        (self.root / "docs/bibliography.md").write_text("# Papers\n\n### Gauss et al., 1809\n\nBy Gauss et al.\n")
        self.append(PAGE, "\nAs [Gauss et\nal., 1809](../../docs/bibliography.md#gauss-et-al-1809) say.\n")
        self.assert_agrees()
        self.append(PAGE, "\nSee [Euler et al.](../../docs/bibliography.md#euler-et-al-1730).\n\nSo say Gauss\net al.\n")
        self.assert_reports(PAGE, "See [Euler", "to no heading; did you mean \"gauss-et-al-1809\"?",
                            "Gauss\net al.\n", "Gauss et al. is named without a link to an entry of docs/biblio")

    def test_links_that_lead_somewhere(self):
        self.append(PAGE, "\n![a](figures/means.svg) [b](/docs/budgets.txt) [c](../../README.md) "
                          "[d](<main.cpp>) [e](mailto:a@b.org) `[f](gone)` [g](attention.hpp#L3)\n")
        self.assert_agrees()


class Terms(BookCase):
    GLOSSARY = "docs/glossary.md"
    FIRST = "chapters/01_mean/README.md"

    def leave_out(self, pattern):
        (self.root / "docs/unrevised.txt").write_text(f"# later\n{pattern}  # soon\n")

    def test_an_entry_leads_to_the_heading_over_the_definition(self):
        self.assertIn("<!-- defined: 01 also means, mean of one day -->\n[One mean](../chapters/01_mean/README.md)\n",
                      self.text(self.GLOSSARY))
        self.replace(PAGE, "## The diff\n", "## The diff\n\nA **moving\nmean.** It\n")
        self.replace(PAGE, "A **moving mean**", "It")
        self.assert_reports(self.GLOSSARY, "<!-- defined: 02 -->", "this defined block is stale")
        run_weave(self.root)
        self.assertIn("[Moving means, “The diff”](../chapters/02_window/README.md#the-diff)", self.text(self.GLOSSARY))
        self.assertIn("<!-- defined: front -->\n[Means](../README.md)\n", self.text(self.GLOSSARY))

    def test_a_chapter_that_is_woven_alone_brings_its_entries_up_to_date(self):
        self.replace(PAGE, "A **moving mean** has a **window**. ", "")
        self.replace(PAGE, "## The diff\n", "## The diff\n\nA **moving mean** has a **window**.\n")
        self.assertEqual(run_weave(self.root, "2")[1], f"wrote {self.GLOSSARY}\n1 page agrees with the code\n")
        self.assert_agrees()

    def test_a_term_that_is_not_bold_where_it_is_first_used(self):
        self.replace(self.FIRST, "**mean**", "mean")
        self.assert_reports(self.FIRST, "The mean is", "\"mean\" is not bold where the chapter first uses it")

    def test_a_term_that_is_defined_nowhere(self):
        self.replace(PAGE, "**moving mean**", "mean")
        self.assertIn(f"{self.GLOSSARY}:15: \"moving mean\" is defined nowhere: chapter 02 does not have it in bold",
                      run_weave(self.root, "--check", "2")[1])

    def test_a_term_that_is_used_before_its_definition(self):
        self.append(self.FIRST, "\nMind the moving\nmean.\n")
        self.assert_reports(self.FIRST, "Mind the", "\"moving mean\" is used here and defined in chapter 02")
        self.replace(PAGE, "One `.5`", "A Moving mean. One `.5`")
        self.assert_reports(PAGE, "A Moving", f"is used here and defined in line {self.line_of(PAGE, 'A **moving')}")

    def test_early_words_that_are_no_early_uses(self):
        self.append(self.FIRST, "\n## A moving mean\n\nA window, `moving mean`, $moving mean$, and the [moving mean]"
                                "(../02_window/README.md), not moving-mean.\n")
        self.assert_agrees("1")

    def test_a_longer_term_hides_those_inside_it(self):
        self.replace(self.FIRST, "The **mean** is 6.", "The mean of one day is the **mean**.")
        self.replace(self.GLOSSARY, "also means, mean of one day", "also means")
        self.assert_reports(self.FIRST, "The mean", "\"mean\" is used here and defined in line")
        self.replace(self.GLOSSARY, "<!-- defined: front -->", "<!-- defined: front also mean of one day -->")
        self.assert_agrees("1")

    def test_what_is_not_revised_is_left_out(self):
        self.replace(self.FIRST, "**mean**", "mean")
        for pattern in ("chapters/01_mean", "chapters/*/README.md"):
            self.leave_out(pattern)
            self.assert_agrees("1")
        self.leave_out("chapters/02_window")
        self.assert_reports(self.FIRST, "The mean is", "is not bold")

    def test_an_entry_in_another_form(self):
        self.replace(self.GLOSSARY, "defined: front", "defined: soon")
        self.assert_reports(self.GLOSSARY, "<!-- defined: soon", "this marker is written <!-- defined: CHAPTER")
        self.replace(self.GLOSSARY, "defined: soon", "defined: 09")
        self.assert_reports(self.GLOSSARY, "<!-- defined: 09", "there is no chapter 9")


class Words(BookCase):
    LIST = "docs/words.txt"
    RULES = "# words\nword   blend(?:s|ed)? -> weighted sum\nname   Pass -> Trace\nword   (?<!no[ ])odd (?!even)one -> right one\n"

    def setUp(self):
        super().setUp()
        (self.root / self.LIST).write_text(self.RULES, encoding="utf-8")

    def test_a_house_word_in_prose_code_names_and_messages(self):
        self.append(PAGE, "\nWe Blend\nthem; an odd\none.\n")
        self.append(MECHANISM, "// It blends.\nint my_blended_days = 1;\nPass last; // a Pass\n"
                               'auto said = "an odd "\n    "one, and Pass";\n')
        self.append("chapters/02_window/figures/means.svg", "<text>blends</text>\n")
        self.append(PROGRAMS[1], "echo blended\n")
        self.append(PAGE, "<!-- output: from \"blended\" lines 1 -->\n<!-- end -->\n")
        run_weave(self.root, "2")
        self.assert_reports(PAGE, "Blend", "‘Blend’: write ‘weighted sum’", "odd\none", "‘odd one’: write ‘right one’",
                            "blended\n```", "‘blended’: write ‘weighted sum’")
        (self.root / PAGE).write_text(self.text().replace("Blend\nthem; an odd\none", "add").replace("blended", "added"))
        said = run_weave(self.root, "--check", "2")[1]
        found = [line.split(": ", 1) for line in said.splitlines() if ": write ‘" in line]
        start = self.line_of(MECHANISM, "// It blends")
        self.assertEqual(found, [[f"{MECHANISM}:{start + number}", sentence] for number, sentence in (
            (0, "‘blends’: write ‘weighted sum’"), (1, "‘blended’: write ‘weighted sum’"), (2, "‘Pass’: write ‘Trace’"),
            (3, "‘odd one’: write ‘right one’"))])

    def test_words_that_are_meant_otherwise(self):
        self.append(PAGE, "\nNo odd one, an odd even one, a blender, a Pass.\n")
        self.append(MECHANISM, "// A Pass.\nint Passes = 0;\n")
        self.assertNotIn("write ‘", run_weave(self.root, "--check", "2")[1])

    def test_listings_diffs_and_names_of_tests_are_not_looked_at(self):
        self.append("tests/02_window.cpp", 'TEST_CASE("a blend of days") {}\n')
        self.append(PAGE, "\nSo it is. [✓][a blend of days]\n\n```diff\n+blend\n```\n")
        run_weave(self.root, "2")
        found = [line for line in run_weave(self.root, "--check", "2")[1].splitlines()]
        self.assertEqual(found, ["tests/02_window.cpp:5: ‘blend’: write ‘weighted sum’"])

    def test_an_exception_covers_its_words_alone(self):
        self.append(PAGE, "\nA blend of\nteas is a blend.\n")
        self.append(self.LIST, "except chapters/*/README.md | a blend of teas | tea is blended\n")
        line = self.line_of(PAGE, "teas is")
        self.assertEqual(run_weave(self.root, "--check", "2")[1], f"{PAGE}:{line}: ‘blend’: write ‘weighted sum’\n")

    def test_an_exception_that_nothing_needs(self):
        self.append(self.LIST, "except * | a blend of teas | tea is blended\n")
        self.assertIn(f"{self.LIST}:5: nothing has these words", run_weave(self.root, "--check")[1])

    def test_what_is_not_revised_is_left_out_of_the_check_and_listed(self):
        self.append(PAGE, "\nWe blend.\n")
        (self.root / "docs/unrevised.txt").write_text("chapters/02_window\n")
        self.assert_agrees()
        for arguments in ((), ("2",), ("02",), (PAGE,), ("chapters",)):
            code, printed, _ = run_weave(self.root, "--words", *arguments)
            line = self.line_of(PAGE, "We blend")
            self.assertEqual((code, printed), (1, f"{PAGE}:{line}: ‘blend’: write ‘weighted sum’\n"
                                                  "1 place with words of docs/words.txt\n"), arguments)
        self.assertEqual(run_weave(self.root, "--words", "1")[0], 0)
        self.assertEqual(run_weave(self.root, "--words", "nothing.md")[0], 2)

    def test_a_chapter_has_its_tests_and_lists_with_it(self):
        (self.root / "tests/mutants").mkdir()
        (self.root / "tests/mutants/02_window.txt").write_text("[a blend]\n")
        self.assertIn("tests/mutants/02_window.txt:1: ‘blend’", run_weave(self.root, "--check", "2")[1])
        self.assertNotIn("blend", run_weave(self.root, "--check", "1")[1])

    def test_lines_that_cannot_be_read(self):
        for line, sentence in (("word blend", 'line 5 is not "word PATTERN'), ("word ( -> x", "line 5 has a pattern"),
                               ("except * | words", "line 5 is not")):
            (self.root / self.LIST).write_text(f"{self.RULES}{line}\n", encoding="utf-8")
            self.assertIn(f"{self.LIST}:1: {sentence}", run_weave(self.root, "--check", "1")[1])


class Answers(BookCase):
    ANSWERS = "docs/answers.md"

    def test_an_exercise_without_answer_or_without_a_link_to_it(self):
        self.replace(PAGE, "three days? [Answer](../../docs/answers.md#02-exercise-2)", "three days?\n3. And four?")
        self.assert_reports(PAGE, "2. How many", "exercise 2 does not end with a link to its answer: [Answer](../../docs/"
                            "answers.md#02-exercise-2)", "3. And four", "exercise 3 has no answer: an entry \"### 02, exercise 3\"")
        (self.root / self.ANSWERS).unlink()
        self.assert_reports(PAGE, "1. Add", "exercise 1 has no answer")

    def test_an_answer_without_exercise(self):
        self.append(self.ANSWERS, "\n### 02, exercise 3\n\n<details>\n<summary>A</summary>\n\nB\n\n</details>\n")
        self.assertIn(f"{self.ANSWERS}:21: chapter 02 has no exercise 3", run_weave(self.root, "--check", "2")[1])

    def test_an_answer_that_is_open_or_empty(self):
        for old, new in (("<details>", ""), ("Two.\n\n", ""), ("</summary>\n\nTwo", "</summary>\nTwo")):
            text = self.text(self.ANSWERS)
            (self.root / self.ANSWERS).write_text(new.join(text.rsplit(old, 1)))
            self.assertIn(f"{self.ANSWERS}:12: an answer is folded", run_weave(self.root, "--check", "2")[1], old)
            (self.root / self.ANSWERS).write_text(text)

    def test_exercises_of_an_unrevised_chapter_need_no_answers(self):
        (self.root / "docs/unrevised.txt").write_text("chapters/02_window\n")
        (self.root / self.ANSWERS).write_text("# Answers\n")
        self.replace(PAGE, "[Answer](../../docs/answers.md#02-exercise-1)", "")
        self.replace(PAGE, "[Answer](../../docs/answers.md#02-exercise-2)", "")
        self.assert_agrees()


class Repetition(BookCase):
    def assert_repeats(self, marker, sentence):
        self.append(PAGE, f"\n<!-- {marker} -->\n<!-- end -->\n")
        run_weave(self.root, "2")
        self.assert_reports(PAGE, f"<!-- {marker} -->\n", sentence)

    def test_a_listing_of_what_a_diff_shows(self):
        line = self.line_of(PAGE, "<!-- diff: [window]")
        self.assert_repeats("listing: attention.hpp [window]", f"this listing shows 4 lines that the diff in line {line} has shown")

    def test_a_listing_inside_another(self):
        line = self.line_of(PAGE, "<!-- listing: attention.hpp [loop]")
        self.assert_repeats("listing: attention.hpp [mean]", f"this listing shows 1 line that the listing in line {line}")

    def test_context_comments_and_brackets_may_be_shown_again(self):
        self.replace(MECHANISM, "means;\n}\n//! [window]", "means;\n//! [end]\n// That was it.\n}\n//! [end]\n//! [window]")
        self.append(PAGE, "\n<!-- listing: attention.hpp [end] -->\n<!-- end -->\n")
        run_weave(self.root, "2")
        self.assert_agrees("2")

    def test_a_diff_of_what_a_listing_shows(self):
        line = self.line_of(PAGE, "<!-- listing: attention.hpp [loop]")
        self.replace(MECHANISM, "sum += day;", "sum -= day;")
        run_weave(self.root, "2")
        self.assert_reports(PAGE, "<!-- diff: [sum]", f"this diff shows 1 line that the listing in line {line} has shown")

    def test_an_unrevised_page_may_repeat(self):
        (self.root / "docs/unrevised.txt").write_text("chapters/02_window/*.md\n")
        self.append(PAGE, "\n<!-- listing: attention.hpp [window] -->\n<!-- end -->\n")
        run_weave(self.root, "2")
        self.assert_agrees("2")


class Coverage(BookCase):
    LIST = "tests/coverage.txt"

    def test_an_uncovered_statement(self):
        self.append(self.LIST, "A4 01,02 nobody tests it\n")
        self.assert_reports(self.LIST, "A4 01", "A4 has no test tagged [A4] in chapter 01",
                            "A4 01", "A4 has no test tagged [A4] in chapter 02")

    def test_a_test_that_is_commented_out_shows_nothing(self):
        self.replace("tests/01_mean.cpp", "TEST_CASE(\"the mean", "// TEST_CASE(\"the mean")
        self.assert_reports(self.LIST, "A1 01", "A1 has no test tagged [A1] in chapter 01")

    def test_a_statement_that_no_text_shows(self):
        self.replace("chapters/01_mean/README.md", " [✓][the mean of one day is the day]", "")
        self.assert_reports(self.LIST, "A1 01", "A1 is not shown in chapters/01_mean/README.md: it "
                            "cites none of its tests, such as [✓][the mean of one day is the day]")

    def test_an_unknown_id(self):
        self.append("tests/02_window.cpp", "TEST_CASE(\"more\", \"[B7]\") {}\n")
        self.assert_reports("tests/02_window.cpp", "TEST_CASE(\"more", "[B7] isn't an id in")

    def test_a_test_name_that_stands_twice(self):
        self.append("tests/02_window.cpp", "\nTEST_CASE(\"order matters now\") {}\n")
        self.assert_reports("tests/02_window.cpp", "TEST_CASE(\"order matters now\")",
                            "has the name of the one in line 1")

    def test_a_line_that_cannot_be_read(self):
        self.append(self.LIST, "A5 01-06 a range\n")
        self.assert_reports(self.LIST, "A5", "this line is not an id, chapter numbers")
        (self.root / self.LIST).unlink()
        self.assertIn(f"{self.LIST}:1: {self.LIST} cannot be read", run_weave(self.root)[1])


class Differences(BookCase):
    BUDGETS = "docs/budgets.txt"

    def test_a_mechanism_over_budget(self):
        self.replace(self.BUDGETS, "02 40", "02 6")
        self.assert_reports(self.BUDGETS, "02 6", "chapter 02 changes 7 lines (+6 −1), and may "
                                                  "change 6")

    def test_a_chapter_without_budget(self):
        self.replace(self.BUDGETS, "02 40", "03 40")
        self.assert_reports(self.BUDGETS, "#", "chapter 02 has no budget")

    @unittest.skipUnless((DOCS.parent / "chapters/diff").exists(), "chapters/diff is not there")
    def test_the_counter_of_the_book_counts_the_same(self):
        for name in REAL_COUNTER:
            shutil.copy(DOCS.parent / name, self.root / name)
        self.assert_agrees()

    def test_a_counter_that_does_not_count(self):
        write_program(self.root / "chapters/diff", "#!/bin/sh\necho many\n")
        self.assert_reports(self.BUDGETS, "#", "printed no two numbers: \"many\"")

    def test_a_change_outside_every_region(self):
        self.replace(MECHANISM, "#pragma once\n", "#pragma once\n\n#include <vector>\n")
        self.assert_reports(MECHANISM, "#include", f"no diff block of {PAGE} shows the change: "
                                                   "+ #include <vector>")

    def test_a_change_in_a_region_that_no_diff_shows(self):
        self.replace(MECHANISM, "/// The mean of all", "/// A mean of all")
        self.assert_reports(MECHANISM, "/// A mean", "the change: - /// The mean of all")

    def test_a_removal_outside_every_region(self):
        self.replace(MECHANISM, "#pragma once\n", "")
        self.assert_reports(MECHANISM, "\n", "shows the change: - #pragma once")

    def test_blank_lines_and_markers_need_no_diff(self):
        self.replace(MECHANISM, "#pragma once\n", "#pragma once\n\n\n")
        self.replace(MECHANISM, "\n  return sum", "\n  //! [rest]\n  return sum")
        self.replace(MECHANISM, "days.size();\n", "days.size();\n  //! [rest]\n")
        self.assert_agrees()


class Regions(unittest.TestCase):
    """Which region a changed line is at home in."""

    @staticmethod
    def changes(old, new):
        return Changes(regions.Regions("old", old), regions.Regions("new", new))

    def test_neighbouring_new_regions_are_separate(self):
        new = "a\n//! [x]\nb\n//! [x]\n//! [y]\nc\n//! [y]\nd\n"
        changes = self.changes("a\nd\n", new)
        self.assertEqual(changes.of_region("x"), " a\n+b")
        self.assertEqual(changes.of_region("y"), "+c\n d")
        self.assertEqual([line.text for line in changes.unexplained(["x"])], ["c"])
        self.assertEqual([line.text for line in changes.unexplained([])], ["b"])
        self.assertEqual(list(changes.unexplained(["x", "y"])), [])

    def test_hunks_of_one_region_are_separated(self):
        old = "//! [x]\na\nb\nc\nd\ne\n//! [x]\n"
        changes = self.changes(old, old.replace("a\n", "A\n").replace("e\n", "E\n"))
        self.assertEqual(changes.of_region("x"), "-a\n+A\n b\n...\n d\n-e\n+E")

    def test_a_blank_line_is_no_context(self):
        changes = self.changes("a\n\nd\n", "a\n\n//! [x]\nb\n//! [x]\nd\n")
        self.assertEqual(changes.of_region("x"), "+b\n d")

    def test_a_removed_line_is_shown_where_it_was(self):
        old = "a\n//! [x]\nb\nc\n//! [x]\nd\n"
        self.assertEqual(self.changes(old, old.replace("c\n", "")).of_region("x"), " b\n-c\n d")

    def test_the_lines_of_a_removed_region_can_be_shown_under_its_name(self):
        changes = self.changes("a\n//! [x]\nb\n//! [x]\nc\n", "a\nc\n")
        self.assertEqual(changes.of_region("x"), " a\n-b\n c")
        self.assertEqual(list(changes.unexplained(["x"])), [])

    def test_a_removed_line_is_shown_in_the_region_around_its_place(self):
        changes = self.changes("//! [y]\na\nb\n//! [y]\n", "//! [x]\na\n//! [x]\n")
        self.assertEqual(changes.of_region("x"), " a\n-b")

    def test_a_replaced_line_is_shown_in_the_region_that_took_its_place(self):
        changes = self.changes("a\nb\nc\n", "a\n//! [x]\nB\n//! [x]\nc\n")
        self.assertEqual(changes.of_region("x"), " a\n-b\n+B\n c")

    def test_a_listing_keeps_relative_indentation_and_drops_inner_markers(self):
        text = "  //! [x]\n  if (a)\n    //! [y]\n    b();\n    //! [y]\n  //! [x]\n"
        self.assertEqual(regions.Regions("f", text).listing("x"), "if (a)\n  b();")


class Pieces(unittest.TestCase):
    def test_rounding_is_that_of_decimal_numbers(self):
        for value, written in (("0.8961", "0.896"), ("2.675", "2.68"), ("2.675", "2.67"),
                               ("-0.00001", "0.0000"), ("-2.5", "-3"), ("-2.5", "-2"),
                               ("7", "7.0")):
            self.assertTrue(numbers.rounds_to(Decimal(value), written), (value, written))
        for value, written in (("0.8966", "0.896"), ("2.6749", "2.68"), ("2.5", "-2.5")):
            self.assertFalse(numbers.rounds_to(Decimal(value), written), (value, written))

    def test_one_spelling_for_each_number(self):
        for written, spelled in (("\u2212.4011", "-0.4011"), ("1{,}769{,}472", "1769472"),
                                 ("+2,000.5", "2000.5"), ("10", "10")):
            self.assertEqual(numbers.plain(written), spelled)

    def test_anchors_are_those_of_github(self):
        text = "# 3. The √d_k, *by hand*\n## A `b`\n## A b\n```\n# no\n```\n<a id=\"here\"></a>\n"
        self.assertEqual(links.anchors(page.Page("p", text)),
                         {"3-the-d_k-by-hand", "a-b", "a-b-1", "here"})

    def test_nothing_in_code_is_a_marker(self):
        text = "Write `<!-- output: x -->` or\n~~~\n<!-- nonsense: x -->\n~~~\n"
        self.assertEqual(page.Page("p", text).markers, [])
        self.assertEqual(page.Page("p", text).problems, [])

    def test_a_write_is_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "page")
            path.write_text("older")
            path.chmod(0o640)
            book.write_whole(path, b"old")
            self.assertEqual(path.stat().st_mode & 0o777, 0o640)
            with mock.patch("os.replace", side_effect=OSError):
                self.assertRaises(OSError, book.write_whole, path, b"new")
            self.assertEqual([kept.read_text() for kept in Path(folder).iterdir()], ["old"])


if __name__ == "__main__":
    unittest.main()
