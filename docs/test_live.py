#!/usr/bin/python3
"""Tests of the live figures in a real browser: docs/test_live.py [TEST...]

Each chapter's page here is a bare one, made from the live markers of its README; docs/live/build makes the scripts, and
the chapters' programs (build/release) the numbers that the figures are compared with. Needs chromium and chromedriver.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from html import escape
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PROGRAMS = ROOT / "build/release/chapters"
sys.path.insert(0, str(DOCS))

from weaving.blocks import LIVE  # noqa: E402
from weaving.book import Book  # noqa: E402
from weaving.page import Page  # noqa: E402

PATIENCE = 60  # seconds until a figure must be alive: machines that run these tests are busy
TWELVE = "the cat saw the dog and the dog saw the other cat"
LONG = " ".join(f"word{i}" for i in range(200))
SHOWN = 32  # rows and columns of a map: docs/live/shared.js


# --- the pages ---------------------------------------------------------------------------------


def live_figures(book):
    """(chapter, name, caption, picture) of every live figure in the chapters' READMEs."""
    for chapter in book.chapters:
        if not chapter.readme.exists():
            continue  # it is being written
        page = Page(book.name(chapter.readme), book.read(chapter.readme), chapter)
        for marker in page.marked("live"):
            match = LIVE.fullmatch(marker.text)
            yield (f"{int(match['chapter']):02}", match["name"], match["caption"],
                   chapter.folder / "figures" / f"{match['name']}.svg")


def write_page(folder, number, figures):
    content = "".join(
        f'<figure class="live" data-live="{number}-{name}"><img src="{picture.as_uri()}" alt="{escape(caption)}">'
        f'<figcaption aria-hidden="true">{escape(caption)}</figcaption></figure>'
        for chapter, name, caption, picture in figures if chapter == number)
    (folder / f"{number}.html").write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="live.css"></head><body>{content}'
        f'<script src="{number}.js" defer></script></body></html>', encoding="utf-8")


def setUpModule():
    global folder, figures, browser
    folder = Path(tempfile.mkdtemp(prefix="live figures "))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    figures = list(live_figures(Book(ROOT)))
    subprocess.run([DOCS / "live/build", folder], check=True)
    shutil.copy(DOCS / "live/live.css", folder)
    for number in {figure[0] for figure in figures}:
        write_page(folder, number, figures)
    browser = start_browser()
    unittest.addModuleCleanup(browser.quit)


def start_browser():
    options = Options()
    options.binary_location = shutil.which("chromium")
    options.add_argument("--headless=new")
    options.add_argument("--window-size=1200,900")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # it does not work for root, in containers
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def native(number, *arguments):
    """What the chapter's program prints with --json."""
    program = next(PROGRAMS.glob(f"{number}_*"))
    done = subprocess.run([program, "--json", *arguments], capture_output=True, check=True)
    return json.loads(done.stdout)


# --- a figure ----------------------------------------------------------------------------------


class Figure:
    """A live figure in the browser, seen as a reader sees it: controls by their labels, maps by their titles."""

    def __init__(self, number, name):
        browser.get((folder / f"{number}.html").as_uri())
        self.selector = f'figure[data-live="{number}-{name}"]'
        WebDriverWait(browser, PATIENCE).until(lambda _: self.has_stage())

    def has_stage(self):
        return self.js("return figure.querySelector('.live-stage') !== null")

    def js(self, script, *arguments):
        """Runs a script that knows the figure, and functions to find its parts."""
        return browser.execute_script(f"const figure = document.querySelector({json.dumps(self.selector)});{FINDERS}"
                                      f"{script}", *arguments)

    def control(self, label):
        control = self.js("return control(arguments[0])", label)
        assert control is not None, f"{self.selector} has no control {label}"
        return control

    def type(self, label, text):
        """Puts a text into a field, all at once."""
        self.control(label)
        self.js("""const input = control(arguments[0]); input.value = arguments[1];
                   input.dispatchEvent(new Event("input", {bubbles: true}));""", label, str(text))

    def slide(self, label, place):
        """Puts a slider at a place, counted from its left end."""
        self.type(label, place)

    def switch(self, label, on):
        control = self.control(label)
        if control.is_selected() != on:
            control.click()

    def choose(self, label, place):
        self.js("""const list = control(arguments[0]); list.selectedIndex = arguments[1];
                   list.dispatchEvent(new Event("change", {bubbles: true}));""", label, place)

    def set(self, settings):
        """Controls to their values: {label: text, number or bool}."""
        for label, value in settings.items():
            if isinstance(value, bool):
                self.switch(label, value)
            else:
                self.type(label, value)

    def matrix(self, title):
        """The numbers of a map, as exactly as C++ knows them."""
        rows = self.js("return cells(arguments[0]).map((row) => row.map((cell) => cell.dataset.value))", title)
        return [[float(value) for value in row] for row in rows]

    def shown(self, title):
        """The numbers of a map as the reader sees them."""
        return self.js("return cells(arguments[0]).map((row) => row.map((cell) => cell.textContent))", title)

    def titles(self):
        return self.js("return maps().filter((map) => map.offsetParent).map((map) => map.caption.textContent)")

    def row_names(self, title):
        return self.js("return [...map(arguments[0]).tBodies[0].rows].map((row) => row.cells[0].textContent)", title)

    def cell(self, title, i, j):
        return self.js("return cells(arguments[0])[arguments[1]][arguments[2]]", title, i, j)

    def lit(self, title):
        """The places of the cell that is pointed at, and of its twin."""
        return [self.js("""const all = cells(arguments[0]);
                           for (const [i, row] of all.entries()) for (const [j, cell] of row.entries())
                             if (cell.classList.contains(arguments[1])) return [i, j];
                           return null;""", title, kind) for kind in ("live-pointed", "live-twin")]

    def marked(self, title):
        return self.js("""return [...map(arguments[0]).tBodies[0].rows].flatMap(
                            (row, i) => row.classList.contains("live-moved") ? [i] : [])""", title)

    def text(self, part):
        return self.js("return figure.querySelector(arguments[0]).textContent", part)

    def status(self):
        return self.text(".live-status")

    def error(self):
        return self.text(".live-error")


FINDERS = """
  const maps = () => [...figure.querySelectorAll("table[role=grid]")];
  const map = (title) => maps().find((map) => map.caption.textContent === title);
  const cells = (title) => [...map(title).tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const control = (label) => [...figure.querySelectorAll("label")]
    .find((one) => one.textContent.startsWith(label))?.querySelector("input, select, textarea");
"""


class LiveCase(unittest.TestCase):
    """A test that leaves nothing behind in the browser's console."""

    def tearDown(self):
        self.assertEqual(browser.get_log("browser"), [])

    def assert_equal_numbers(self, got, wanted, what):
        """To 1e-5, relative for numbers above 1; of long matrices what the map shows."""
        wanted = [row[:SHOWN] for row in wanted["values"][:SHOWN]]
        self.assertEqual([len(row) for row in got], [len(row) for row in wanted], what)
        for i, (row, other) in enumerate(zip(got, wanted)):
            for j, (a, b) in enumerate(zip(row, map(float, other))):
                close = a == b or abs(a - b) <= 1e-5 * max(1, abs(b))
                self.assertTrue(close, f"{what}({i}, {j}) is {a}, and the program says {b}")


# --- every figure ------------------------------------------------------------------------------


class EveryFigure(LiveCase):
    def test_there_is_one_in_each_chapter(self):
        with_code = {path.name[:2] for path in (DOCS / "live").glob("[0-9][0-9]_*.cpp")}
        self.assertEqual({figure[0] for figure in figures}, with_code)
        self.assertEqual(len(with_code), 7)

    def test_it_takes_the_place_of_the_static_one(self):
        for number, name, caption, _ in figures:
            figure = Figure(number, name)
            self.assertEqual(figure.js("return figure.querySelectorAll('img').length"), 0)
            self.assertFalse(figure.js("return figure.querySelector('figcaption').hasAttribute('aria-hidden')"))
            self.assertNotEqual(figure.text("figcaption"), caption)
            self.assertTrue(figure.titles() or figure.js("return figure.querySelector('svg[role=img]') !== null"))
            self.assertTrue(figure.status())
            self.assertEqual(figure.error(), "")

    def test_without_scripts_the_static_one_is_shown(self):
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        self.addCleanup(browser.execute_cdp_cmd, "Emulation.setScriptExecutionDisabled", {"value": False})
        for number in sorted({figure[0] for figure in figures}):
            browser.get((folder / f"{number}.html").as_uri())
            image = browser.find_element("css selector", "figure.live img")
            self.assertTrue(image.is_displayed())
            self.assertGreater(image.size["width"], 100)

    def test_no_name_reaches_the_page(self):
        for number, name, _, _ in figures:
            figure = Figure(number, name)
            for word in ("load_chapter", "Module", "HeatMap", "Stage", "make", "live_figures"):
                self.assertEqual(figure.js(f"return typeof {word}"), "undefined", word)

    def test_a_narrow_page_does_not_scroll_sideways(self):
        size = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.addCleanup(browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        for number, name, _, _ in figures:
            Figure(number, name)
            width = browser.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, 360, f"the page of {number}-{name}")

    def test_it_can_be_read_in_both_schemes(self):
        for scheme in ("light", "dark"):
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.addCleanup(browser.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"features": []})
            for number, name, _, _ in figures:
                written = Figure(number, name).js(CONTRASTS)
                self.assertGreater(len(written), 10)
                for text, contrast in written:
                    self.assertGreaterEqual(contrast, 4.5, f"{number}-{name}, {scheme}: {text}")

    def test_who_wants_no_motion_gets_none(self):
        number, name = figures[0][:2]
        for wish, moves in (("reduce", False), ("no-preference", True)):
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-reduced-motion", "value": wish}]})
            self.addCleanup(browser.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"features": []})
            duration = Figure(number, name).js(
                "return getComputedStyle(figure.querySelector('tbody td')).transitionDuration")
            self.assertEqual(duration != "0s", moves)

    def test_each_control_has_a_name_and_each_map_too(self):
        for number, name, _, _ in figures:
            figure = Figure(number, name)
            for element in browser.find_elements("css selector", "figure :is(input, select, textarea, button, table, svg)"):
                self.assertTrue(element.accessible_name or not element.is_displayed(),
                                f"{number}-{name}: {element.get_attribute('outerHTML')}")
            self.assertTrue(figure.js("return maps().every((map) => map.querySelector('th[scope=col]')"
                                      " && map.querySelector('th[scope=row]'))"), f"{number}-{name}")


# Text and contrast of all that is written in a figure, by the formula of WCAG 2. `light-dark()` and system colours are
# resolved by painting them.
CONTRASTS = """
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const painted = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const color = painted(getComputedStyle(element).backgroundColor);
      if (color[3] === 255) return color;
    }
    return painted(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff");
  };
  const light = (color) => color.slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0.05);
  const style = document.createElement("style");
  style.textContent = "* { transition: none !important; }";
  document.head.append(style);
  const written = [...figure.querySelectorAll("*")].filter((element) => element.offsetParent &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return written.map((element) => {
    const [a, b] = [painted(getComputedStyle(element).color), ground(element)].map(light).sort((a, b) => b - a);
    return [element.textContent, a / b];
  });
"""


# --- the numbers -------------------------------------------------------------------------------

# Chapter and figure; settings; the program's options; which maps show which tensors.
SAME = [
    ("01", "attention", [
        ({"Your words": text, "Positions": on}, ["--text", text, "--positions", "on" if on else "off"])
        for text in ("draw a map", TWELVE, "naïve 🗺️ <b>&amp; \u0065\u0301té", "alone", LONG)
        for on in (True, False)],
     {"scores": "trace.scores", "weights": "trace.weights", "context": "trace.context"}),
    ("02", "symmetry", [
        ({"Your words": text, "Seed of the weights": seed, "Positions": on},
         ["--text", text, "--seed", str(seed), "--positions", "on" if on else "off"])
        for text, seed, on in (("draw a map", 42, True), (TWELVE, 7, False), ("alone", 2147483647, True))],
     {"scores, one W": "one_weight.scores", "scores, W_query and W_key": "trace.scores"}),
    ("03", "scaling", [
        ({"Rotate token 3's query": 180 + angle, "Width": power, "Divide by √d_k": on},
         ["--rotate", str(angle), "--d-k", str(2 ** (power + 1)), "--scale", "on" if on else "off"])
        for angle, power, on in ((0, 0, True), (30, 5, True), (-137, 8, False), (180, 3, False))],
     {"scores": "widened.scores", "scaled": "widened.scaled", "weights": "widened.weights"}),
    ("04", "causal_mask", [
        ({"Your words": text, "Seed of the weights": seed, "Causal mask": on},
         ["--text", text, "--seed", str(seed), "--mask", "on" if on else "off"])
        for text, seed, on in (("draw a map", 42, True), ("draw a map", 42, False), (TWELVE, 3, True))],
     {"weights": "trace.weights", "context": "trace.context"}),
    ("05", "attention", [
        ({"The encoder's words": text, "The decoder's words": to, "Seed of the weights": seed, "Positions": on},
         ["--text", text, "--to", to, "--seed", str(seed), "--positions", "on" if on else "off"])
        for text, to, seed, on in (("the sky is blue", "el cielo es azul", 42, True),
                                   ("they arrived late", "ils sont arrivés en retard", 42, True),
                                   (TWELVE, "one", 5, False))],
     {"cross-attention": "cross.weights", "encoder": "encoder.weights", "decoder": "decoder.weights"}),
    ("06", "heads", [
        ({"Your words": text, "Heads": heads - 1, "Seed of the weights": seed, "Mix the heads with W_out": True},
         ["--text", text, "--heads", str(heads), "--seed", str(seed)])
        for text, heads, seed in (("draw a map", 2, 42), ("draw a map", 1, 42), (TWELVE, 8, 9))],
     {"head 1": "loop.weights_of_head_1", "context: the heads side by side": "wide.context",
      "output = context W_out": "wide.output"}),
]


class Numbers(LiveCase):
    def test_they_are_those_of_the_program(self):
        for number, name, cases, tensors in SAME:
            figure = Figure(number, name)
            for settings, options in cases:
                figure.set(settings)
                self.assertEqual(figure.error(), "")
                said = native(number, *options)
                for title, path in tensors.items():
                    section, tensor = path.split(".")
                    self.assert_equal_numbers(figure.matrix(title), said[section][tensor],
                                              f"{number} {options}: {title}")

    def test_every_head_has_its_map(self):
        figure = Figure("06", "heads")
        figure.type("Your words", TWELVE)
        for heads in (8, 1, 5):
            figure.slide("Heads", heads - 1)
            said = native("06", "--text", TWELVE, "--heads", str(heads))
            self.assertEqual([title for title in figure.titles() if title.startswith("head ")],
                             [f"head {h + 1}" for h in range(heads)])
            for h in range(1, heads + 1):
                self.assert_equal_numbers(figure.matrix(f"head {h}"), said["loop"][f"weights_of_head_{h}"], f"head {h}")

    def test_W_out_makes_the_output_of_the_context(self):
        figure = Figure("06", "heads")
        figure.switch("Mix the heads with W_out", True)
        titles = ("context: the heads side by side", "W_out", "output = context W_out")
        context, W_out, output = map(figure.matrix, titles)
        product = [[sum(a * b for a, b in zip(row, column)) for column in zip(*W_out)] for row in context]
        self.assert_equal_numbers(output, {"values": product}, "context W_out")
        figure.switch("Mix the heads with W_out", False)
        self.assertNotIn("W_out", figure.titles())

    def test_what_is_shown_are_these_numbers(self):
        figure = Figure("04", "causal_mask")
        shown = figure.shown("scaled scores plus the mask")
        self.assertEqual(shown, [["-0.07", "−∞", "−∞"], ["-0.28", "0.29", "−∞"], ["0.34", "-0.47", "2.86"]])
        self.assertEqual(figure.row_names("weights"), ["draw", "a", "map"])


# --- what each figure is for -------------------------------------------------------------------


class Twins(LiveCase):
    """The transposed twin lights up by mouse, by finger and by keyboard."""

    def test_by_mouse(self):
        for number, name, title in (("01", "attention", "scores"), ("02", "symmetry", "scores, one W")):
            figure = Figure(number, name)
            ActionChains(browser).move_to_element(figure.cell(title, 0, 2)).perform()
            self.assertEqual(figure.lit(title), [[0, 2], [2, 0]])
            ActionChains(browser).move_to_element(figure.control("Your words")).perform()
            self.assertEqual(figure.lit(title), [None, None])

    def test_by_finger(self):
        figure = Figure("01", "attention")
        figure.cell("scores", 1, 2).click()
        ActionChains(browser).move_to_element(figure.control("Your words")).perform()
        self.assertEqual(figure.lit("scores"), [[1, 2], [2, 1]])  # a tap stays

    def test_by_keyboard(self):
        figure = Figure("01", "attention")
        figure.js("cells('scores')[0][0].focus()")
        for key, place in ((Keys.ARROW_RIGHT, [0, 1]), (Keys.ARROW_DOWN, [1, 1]), (Keys.END, [1, 2]),
                           (Keys.ARROW_RIGHT, [1, 2]), (Keys.ARROW_UP, [0, 2]), (Keys.HOME, [0, 0])):
            browser.switch_to.active_element.send_keys(key)
            twin = place[::-1] if place[0] != place[1] else None
            self.assertEqual(figure.lit("scores"), [place, twin])

    def test_it_is_said_in_words(self):
        figure = Figure("02", "symmetry")
        figure.js("cells('scores, one W')[0][2].focus()")
        self.assertIn("“draw” scores “map”", figure.text(".live-pointed-at"))
        self.assertIn("“map” scores “draw”", figure.text(".live-pointed-at"))
        self.assertIn(", the same.", figure.text(".live-pointed-at"))
        figure.js("cells('scores, W_query and W_key')[0][2].focus()")
        self.assertIn("-0.6523", figure.text(".live-pointed-at"))
        self.assertIn("0.4842, not the same.", figure.text(".live-pointed-at"))

    def test_both_maps_light_the_same_pair(self):
        figure = Figure("02", "symmetry")
        figure.js("cells('scores, one W')[1][0].focus()")
        self.assertEqual(figure.lit("scores, W_query and W_key"), [[1, 0], [0, 1]])

    def test_symmetry_is_told(self):
        figure = Figure("02", "symmetry")
        self.assertIn("With one W the scores are symmetric", figure.status())
        self.assertIn("With W_query and W_key they are not symmetric", figure.status())

    def test_a_word_that_stands_twice(self):
        figure = Figure("01", "attention")
        figure.type("Your words", "the cat saw the dog")
        self.assertIn("“the” occurs more than once; with positions on, rows 1 and 4 of the context are different",
                      figure.status())
        figure.switch("Positions", False)
        self.assertIn("with positions off, rows 1 and 4 of the context are identical", figure.status())
        for title in ("scores", "weights", "context"):
            rows = figure.matrix(title)
            self.assertEqual(rows[0], rows[3])


class Scaling(LiveCase):
    """Chapter 03: the query rotated, the width raised, the division switched off."""

    def test_rotating_moves_row_3_alone(self):
        figure = Figure("03", "scaling")
        for on in (True, False):
            figure.switch("Divide by √d_k", on)
            figure.slide("Rotate", 180)
            unrotated = {title: figure.matrix(title) for title in ("scores", "scaled", "weights")}
            for angle in (-180, -61, 1, 90, 135):
                figure.slide("Rotate", 180 + angle)
                for title, rows in unrotated.items():
                    self.assertEqual(figure.matrix(title)[:2], rows[:2])
                    self.assertNotEqual(figure.matrix(title)[2], rows[2])
                self.assertIn(f"Rotated by {angle}°: row 3 has changed, rows 1 and 2 keep every bit.", figure.status())

    def test_with_the_division_the_width_changes_no_digit(self):
        figure = Figure("03", "scaling")
        for angle in (0, 33, -100):
            figure.slide("Rotate", 180 + angle)
            figure.slide("Width", 0)
            narrow = figure.shown("weights")
            for power in range(1, 9):
                figure.slide("Width", power)
                self.assertEqual(figure.shown("weights"), narrow, f"d_k = {2 ** (power + 1)}")
                self.assertIn("the same digits as at d_k = 2", figure.status())

    def test_without_it_the_row_collapses(self):
        figure = Figure("03", "scaling")
        figure.switch("Divide by √d_k", False)
        largest = []
        for power in range(9):
            figure.slide("Width", power)
            largest.append(figure.matrix("weights")[2][2])
        self.assertEqual(largest, sorted(largest))
        self.assertGreater(largest[-1], 0.9999)
        self.assertIn("0.0 %, 0.0 %, 100.0 %", figure.status())
        self.assertIn("other digits than at d_k = 2", figure.status())

    def test_the_views(self):
        figure = Figure("03", "scaling")
        self.assertEqual(figure.titles(), ["weights"])
        for view in ("scores", "scaled", "weights"):
            figure.control(view).click()
            self.assertEqual(figure.titles(), [view])
        self.assertEqual(figure.shown("weights")[2], ["0.2483", "0.2483", "0.5035"])
        self.assertEqual(figure.shown("scaled")[2], ["0.7071", "0.7071", "1.4142"])

    def test_the_arrow_can_be_dragged(self):
        figure = Figure("03", "scaling")
        handle = browser.find_element("css selector", ".live-handle")
        plane = browser.find_element("css selector", ".live-plane")
        up = round(plane.size["height"] * 0.4)
        ActionChains(browser).click_and_hold(handle).move_to_element_with_offset(plane, 0, -up).release().perform()
        self.assertEqual(figure.js("return control('Rotate').getAttribute('aria-valuetext')"), "45°")
        said = native("03", "--rotate", "45", "--d-k", "2")
        self.assert_equal_numbers(figure.matrix("weights"), said["widened"]["weights"], "weights after dragging")
        self.assertIn("row 3 has changed, rows 1 and 2 keep", figure.status())


class Mask(LiveCase):
    """Chapter 04: which rows depend on an exchanged word, and what dropout leaves."""

    def test_under_the_mask_only_later_rows_depend_on_a_word(self):
        figure = Figure("04", "causal_mask")
        figure.type("Your words", TWELVE)
        for position in (0, 4, 11):
            figure.choose("Exchange word", position)
            figure.type("for", "bird")
            figure.switch("Causal mask", True)
            self.assertEqual(figure.marked("context"), list(range(position, 12)))
            self.assertEqual(figure.row_names("context")[position], "bird")
            figure.switch("Causal mask", False)
            self.assertEqual(figure.marked("context"), list(range(12)))

    def test_the_exchanged_sentence_is_the_programs(self):
        figure = Figure("04", "causal_mask")
        figure.choose("Exchange word", 1)
        figure.type("for", "the")
        said = native("04", "--text", "draw the map")
        self.assert_equal_numbers(figure.matrix("context"), said["trace"]["context"], "context of draw the map")
        self.assertEqual(figure.status(),
                         "“a” is now “the”: rows 2 and 3 of the context change; row 1 keeps every bit.")

    def test_the_same_word_changes_nothing(self):
        figure = Figure("04", "causal_mask")
        figure.type("for", "map")
        self.assertEqual(figure.marked("context"), [])
        self.assertIn("no row of the context changes", figure.status())

    def test_two_words_for_one_are_rejected(self):
        figure = Figure("04", "causal_mask")
        figure.type("for", "big map")
        self.assertEqual(figure.error(), "expected one other word, got 2")

    def test_without_the_mask_no_map_claims_one(self):
        figure = Figure("04", "causal_mask")
        self.assertIn("scaled scores plus the mask", figure.titles())
        self.assert_equal_numbers(figure.matrix("scaled scores plus the mask"), native("04")["trace"]["masked"], "masked")
        figure.switch("Causal mask", False)
        self.assert_equal_numbers(figure.matrix("scaled scores, no mask"), native("04")["trace"]["scaled"], "no mask")
        self.assertNotIn("scaled scores plus the mask", figure.titles())

    def test_dropout_drops_what_the_program_drops(self):
        figure = Figure("04", "causal_mask")
        title = "weights after dropout"
        self.assertNotIn(title, figure.titles())
        figure.slide("Dropout", 5)
        self.assertIn(title, figure.titles())
        said = native("04", "--dropout", "0.5")["dropout"]["weights_after_dropout"]["values"]
        dropped = [[weight == 0 for weight in row] for row in said]
        left, weights = figure.matrix(title), figure.matrix("weights")
        self.assertEqual([[weight == 0 for weight in row] for row in left], dropped)
        for row, other in zip(left, weights):
            for a, b in zip(row, other):
                self.assertTrue(a == 0 or abs(a - 2 * b) < 1e-6)

    def test_the_context_beside_dropout_is_that_after_dropout(self):
        figure = Figure("04", "causal_mask")
        values = native("04")["trace"]["values"]["values"]
        figure.slide("Dropout", 5)
        left = figure.matrix("weights after dropout")
        context = [[sum(a * b for a, b in zip(row, column)) for column in zip(*values)] for row in left]
        self.assert_equal_numbers(figure.matrix("context after dropout"), {"values": context}, "context after dropout")

    def test_a_press_draws_a_new_dropout_mask(self):
        figure = Figure("04", "causal_mask")
        figure.type("Your words", TWELVE)
        figure.slide("Dropout", 5)
        before = figure.matrix("weights after dropout")
        figure.js("return figure.querySelector('button')").click()
        self.assertNotEqual(figure.matrix("weights after dropout"), before)


class Rectangle(LiveCase):
    def test_two_lengths_make_a_rectangle(self):
        figure = Figure("05", "attention")
        self.assertIn("5 queries, with the start token's, and 4 keys. The map is a rectangle.", figure.status())
        figure.type("The encoder's words", "one two three")
        figure.type("The decoder's words", "un deux trois quatre cinq")
        self.assertEqual([len(row) for row in figure.matrix("cross-attention")], [3] * 6)
        self.assertIn("6 queries, with the start token's, and 3 keys", figure.status())
        figure.type("The decoder's words", "un deux")
        self.assertIn("happens to be square", figure.status())


class Training(LiveCase):
    """Chapter 07: a model that learns in the page."""

    def setUp(self):
        self.figure = Figure("07", "training")

    def press(self, name):
        self.figure.js("return [...figure.querySelectorAll('button')].find((one) => one.textContent === arguments[0])",
                       name).click()

    def step(self):
        return number_in(self.figure.text(".live-count"))

    def wait_for_step(self, step):
        WebDriverWait(browser, PATIENCE).until(lambda _: self.step() >= step)

    def losses(self):
        """[step, training, validation] at each look, as exactly as C++ knows them."""
        rows = self.figure.js("return [...figure.querySelectorAll('.live-losses tbody tr')]"
                              ".map((row) => [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent))")
        return [[float(cell.replace(",", "")) for cell in row] for row in rows]

    def native_run(self):
        """The folder of the program's model, trained like the figure's."""
        text, out = folder / "text.txt", folder / "model"
        text.write_text(self.figure.control("Your text").get_property("value"), encoding="utf-8")
        options = {"data": text, "layers": 2, "heads": 2, "width": 32, "context": 32, "batch": 4, "steps": 1000,
                   "every": 50, "learning-rate": 0.005, "seed": 42, "out": out}
        arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        subprocess.run([next(PROGRAMS.glob("07_*")), "train", *arguments], capture_output=True, check=True)
        self.addCleanup(shutil.rmtree, out)
        return out

    def test_the_loss_falls_and_is_the_programs(self):
        self.press("Train")
        self.wait_for_step(300)
        self.press("Pause")
        got = self.losses()
        self.assertLess(got[5][1], got[0][1] - 1)
        self.assertLess(got[5][2], got[0][2] - 0.3)
        wanted = (self.native_run() / "losses.csv").read_text().splitlines()[1:]
        for row, line in zip(got[:2], wanted):  # rounding tells the two apart ever more
            for a, b in zip(row, map(float, line.split(","))):
                self.assertAlmostEqual(a, b, delta=1e-5)

    def test_the_static_figure_shows_the_same_run(self):
        static = next(picture for number, _, _, picture in figures if number == "07").read_text(encoding="utf-8")
        drawn = (self.native_run() / "losses.svg").read_text(encoding="utf-8")
        for a, b in zip(points_of(static), points_of(drawn), strict=True):
            self.assertAlmostEqual(a, b, delta=5)  # pixels; from machine to machine it differs a little

    def test_it_pauses_goes_on_and_begins_anew(self):
        self.press("Train")
        self.wait_for_step(20)
        self.press("Pause")
        step = self.step()
        time.sleep(0.5)
        self.assertEqual(self.step(), step)
        self.press("Go on")
        self.wait_for_step(step + 50)
        self.press("Pause")
        self.assertEqual(len(self.losses()), self.step() // 50)
        self.press("Restart")
        self.assertEqual(self.step(), 0)
        self.assertEqual(self.losses(), [])
        self.press("Train")
        self.wait_for_step(1)

    def test_it_writes(self):
        self.press("Train")
        self.wait_for_step(1)
        self.assertIn("untrained", self.figure.text(".live-writing"))
        untrained = self.figure.text(".live-written")
        self.assertEqual(len(untrained), 160)
        self.wait_for_step(200)
        self.assertIn("after step 200", self.figure.text(".live-writing"))
        self.assertGreater(self.figure.text(".live-written").count(" "), untrained.count(" ") + 10)  # it has seen words

    def test_it_comes_to_an_end(self):
        self.figure.type("Your text", "to be or not to be\n" * 20)
        self.press("Train")
        self.wait_for_step(1000)
        self.assertIn("The training is over.", self.figure.status())
        self.assertLess(self.losses()[-1][1], 0.5)
        self.assertIn("not to be", self.figure.text(".live-written"))
        self.press("Train again")
        self.wait_for_step(1)
        self.assertLess(self.step(), 1000)

    def test_another_text_or_seed_is_another_run(self):
        first = self.figure.status()
        self.figure.type("Your text", "<b>👩‍👩‍👧</b> été\n" * 100)
        self.assertEqual(self.figure.error(), "")
        self.assertIn("1,530 characters", self.figure.status())
        self.assertNotEqual(self.figure.status(), first)
        self.press("Train")
        self.wait_for_step(1)
        self.assertEqual(self.figure.js("return figure.querySelectorAll('.live-written b').length"), 0)
        self.figure.type("Seed", 7)
        self.assertEqual(self.step(), 0)

    def test_texts_that_are_refused(self):
        for text, sentence in (("", "the text has 0 different characters"), ("too short", "a context of 32 needs more"),
                               ("a\u0007" * 400, "the control character U+0007 at byte 1"),
                               ("é" * 60_000, "the text has 120,000 bytes; this figure takes at most 100,000")):
            self.figure.type("Your text", text)
            self.assertIn(sentence, self.figure.error())
            self.press("Train")
            time.sleep(0.2)
            self.assertEqual(self.step(), 0)
            self.assertIn(sentence, self.figure.error())


def number_in(text):
    """The first number in a sentence: 1,234."""
    return int(re.search(r"\d[\d,]*", text)[0].replace(",", ""))


def points_of(picture):
    """The coordinates of the lines of a drawn curve."""
    return [float(number) for points in re.findall(r'points="([^"]*)"', picture) for number in re.findall(r"[\d.]+", points)]


# --- what readers type -------------------------------------------------------------------------


class Sentences(LiveCase):
    def fields(self):
        """Each figure with its first field of words."""
        for number, name, _, _ in figures:
            figure = Figure(number, name)
            label = figure.js("return figure.querySelector('.live-sentence span')?.textContent")
            if label:
                yield figure, label

    def test_200_words(self):
        for figure, label in self.fields():
            figure.type(label, LONG)
            self.assertEqual(figure.error(), "")
            self.assertIn("All 200 words are read; the maps show the first 32.", figure.status())
            self.assertIn("word31", figure.js("return figure.textContent"))
            self.assertNotIn("word32", figure.js("return figure.querySelector('.live-maps').textContent"))

    def test_too_many_words(self):
        for figure, label in self.fields():
            figure.type(label, "a " * 257)
            self.assertRegex(figure.error(), r"^the .*text has 257 words; this figure takes at most 256$")

    def test_no_words(self):
        for figure, label in self.fields():
            before = figure.js("return figure.querySelector('.live-maps').textContent")
            for text in ("", "   "):
                figure.type(label, text)
                self.assertRegex(figure.error(), "^the .*text has no word in it; attention needs at least one$")
                self.assertEqual(figure.js("return figure.querySelector('.live-maps').textContent"), before)
            figure.type(label, "words again")
            self.assertEqual(figure.error(), "")

    def test_emoji_and_signs_of_other_scripts(self):
        for figure, label in self.fields():
            figure.type(label, "👩‍👩‍👧 🇫🇷　日本語 \u0065\u0301té ﷽")
            self.assertEqual(figure.error(), "")
            names = figure.js("return [...maps()[0].querySelectorAll('thead th')].map((name) => name.textContent)")
            self.assertEqual(names, ["👩‍👩‍👧", "🇫🇷", "日本語", "été", "﷽"])

    def test_half_an_emoji_and_control_characters(self):
        for figure, label in self.fields():
            figure.js("""const input = control(arguments[0]); input.value = "a\\ud83d b";
                         input.dispatchEvent(new Event("input"));""", label)
            self.assertEqual(figure.error(), "")
            names = figure.js("return [...maps()[0].querySelectorAll('thead th')].map((name) => name.textContent)")
            self.assertEqual(names, ["a\ufffd", "b"])  # nothing is swallowed with it
            figure.type(label, "a \u0007 b")
            self.assertRegex(figure.error(), r"^the .*text has the control character U\+0007 at byte 2$")

    def test_a_nul_does_not_end_the_text(self):
        for figure, label in self.fields():
            figure.js("""const input = control(arguments[0]); input.value = "é\\0b";
                         input.dispatchEvent(new Event("input"));""", label)
            self.assertRegex(figure.error(), r"^the .*text has the control character U\+0000 at byte 2$")

    def test_a_mark_before_the_text_is_not_a_part_of_it(self):
        for figure, label in self.fields():
            figure.type(label, "draw a map")
            usual = figure.js("return figure.querySelector('.live-maps').textContent")
            figure.js("""const input = control(arguments[0]); input.value = "\\ufeffdraw a map";
                         input.dispatchEvent(new Event("input"));""", label)
            self.assertEqual(figure.error(), "")
            self.assertEqual(figure.js("return figure.querySelector('.live-maps').textContent"), usual)

    def test_html_is_shown_as_text(self):
        for figure, label in self.fields():
            figure.type(label, "<img src=x onerror=alert(1)> <b>bold</b> &amp;")
            self.assertEqual(figure.error(), "")
            self.assertEqual(figure.js("return figure.querySelectorAll('img, .live-maps b, p b').length"), 0)
            self.assertIn("<b>bold</b>", figure.js("return figure.querySelector('.live-maps').textContent"))
            self.assertIn("&amp;", figure.js("return figure.querySelector('.live-maps').textContent"))

    def test_a_seed_that_is_none(self):
        figure = Figure("02", "symmetry")
        for text, seed in (("", 0), ("-5", 0), ("1e99", 2147483647), ("3.7", 3)):
            figure.type("Seed of the weights", text)
            said = native("02", "--seed", str(seed))["trace"]["scores"]
            self.assert_equal_numbers(figure.matrix("scores, W_query and W_key"), said, f"seed {text}")


class Keyboard(LiveCase):
    """Everything is reached by Tab, and works without a mouse."""

    def reached(self, figure):
        """What Tab reaches in the figure, in order, as a word for each."""
        browser.execute_script("document.activeElement.blur(); getSelection().removeAllRanges()")
        stops = []
        for _ in range(40):
            browser.switch_to.active_element.send_keys(Keys.TAB)
            stop = figure.js("""const at = document.activeElement; if (!figure.contains(at)) return null;
                                return at.closest("td") ? "map " + at.closest("table").caption.textContent
                                                        : at.type + " " + (at.closest("label")?.textContent ?? "");""")
            if stop is None:
                break
            stops.append(stop)
        return stops

    def test_all_controls_and_maps_are_reached(self):
        for number, name, _, _ in figures:
            figure = Figure(number, name)
            stops = self.reached(figure)
            wanted = figure.js("""const visible = (element) => element.offsetParent !== null;
                const controls = [...figure.querySelectorAll("input, select, textarea, button, summary")].filter(visible)
                  .filter((control) => control.type !== "radio" || control.checked);
                return controls.length + maps().filter(visible).length;""")
            self.assertEqual(len(stops), wanted, f"{number}-{name}: {stops}")

    def test_a_sentence_is_typed_and_a_switch_pressed(self):
        figure = Figure("01", "attention")
        browser.switch_to.active_element.send_keys(Keys.TAB)
        ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
        ActionChains(browser).send_keys("to be or not to be").perform()
        self.assertEqual(figure.row_names("scores"), "to be or not to be".split())
        ActionChains(browser).send_keys(Keys.TAB, Keys.SPACE).perform()
        self.assertFalse(figure.control("Positions").is_selected())
        rows = figure.matrix("scores")
        self.assertEqual(rows[0], rows[4])

    def test_sliders_and_choices_by_arrow_keys(self):
        figure = Figure("03", "scaling")
        figure.control("Rotate").send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(figure.control("Rotate").get_attribute("aria-valuetext"), "1°")
        figure.control("Width").send_keys(Keys.END)
        self.assertEqual(figure.control("Width").get_attribute("aria-valuetext"), "d_k = 512")
        self.assertIn("Rotated by 1°", figure.status())
        figure.control("weights").send_keys(Keys.ARROW_LEFT)
        self.assertEqual(figure.titles(), ["scaled"])

    def test_the_focus_survives_an_answer(self):
        figure = Figure("04", "causal_mask")
        figure.control("Causal mask").send_keys(Keys.SPACE)
        self.assertEqual(browser.switch_to.active_element, figure.control("Causal mask"))
        self.assertFalse(figure.control("Causal mask").is_selected())
        self.assertGreater(figure.matrix("weights")[0][2], 0)


class Speed(LiveCase):
    def test_answers_to_twelve_words_are_measured(self):
        """Printed and not asserted: machines that run these tests are busy. The book's limit is 50 ms."""
        print()
        for number, name, _, _ in figures:
            print(f"  {number}-{name:12} answers in {median_answer(Figure(number, name)):5.1f} ms")

    def test_steps_of_training_are_measured(self):
        """Printed for the same reason. The limit is 20 steps a second."""
        figure = Figure("07", "training")
        figure.js("figure.querySelector('button').click()")
        (first, start), (last, end) = (step_and_time(figure, least) for least in (50, 400))
        print(f"\n  07-training     makes {1000 * (last - first) / (end - start):5.1f} steps a second")


def step_and_time(figure, least):
    """The number of the step, once it is large enough, and the milliseconds at which it was read."""
    read = "return [figure.querySelector('.live-count').textContent, performance.now()]"
    text, time_read = WebDriverWait(browser, PATIENCE).until(
        lambda _: next((seen for seen in [figure.js(read)] if number_in(seen[0]) >= least), None))
    return number_in(text), time_read


def median_answer(figure):
    """Milliseconds from a change of a control to the maps that answer it; twelve words where there are words."""
    times = figure.js("""
      const inputs = [...figure.querySelectorAll("input")];
      for (const input of inputs.filter((input) => input.closest(".live-sentence span")?.textContent !== "for"
                                                   && input.closest(".live-sentence"))) input.value = arguments[0];
      const times = [];
      for (let round = 0; round < 20; ++round) {
        for (const input of inputs.filter((input) => input.type !== "radio")) {
          if (input.type === "range") input.value = (Number(input.value) + 1) % (Number(input.max) + 1);
          if (input.type === "number") input.value = Number(input.value) + 1;
          if (input.type === "checkbox") input.click();
          else input.dispatchEvent(new Event("input"));
          times.push(Number(figure.dataset.milliseconds));
        }
      }
      return times;""", TWELVE)
    return statistics.median(times)


# --- the command -------------------------------------------------------------------------------


class Build(unittest.TestCase):
    def run_build(self, *arguments):
        return subprocess.run([DOCS / "live/build", *arguments], capture_output=True, text=True)

    def test_what_has_not_changed_is_not_compiled_again(self):
        compiled = {path: path.stat().st_mtime_ns for path in (ROOT / "build/live").glob("*.wasm.js")}
        with tempfile.TemporaryDirectory() as other:
            self.assertEqual(self.run_build(Path(other, "a", "b")).returncode, 0)
            self.assertEqual(sorted(path.name for path in Path(other, "a", "b").iterdir()),
                             sorted(path.name.replace(".wasm", "") for path in compiled))
        self.assertEqual({path: path.stat().st_mtime_ns for path in compiled}, compiled)

    def test_help(self):
        self.assertIn("usage: docs/live/build FOLDER", self.run_build("--help").stdout)

    def test_wrong_arguments_end_with_2_and_a_sentence(self):
        regular_file = folder / "live.css"
        for arguments in ((), ("--fast",), ("a", "b"), (str(regular_file),), (str(regular_file / "below"),)):
            done = self.run_build(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)
        self.assertTrue(regular_file.is_file())

    def test_a_script_that_cannot_be_written_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as other:
            Path(other, "01.js.part").mkdir()
            done = self.run_build(other)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"cannot be written into {other}", done.stderr)
            self.assertEqual([path.name for path in Path(other).iterdir()], ["01.js.part"])


if __name__ == "__main__":
    unittest.main()
