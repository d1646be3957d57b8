#!/usr/bin/env python3
"""Tests of tests/exercise: its parts, and sessions at a terminal as a reader has them.

usage: python3 tests/test_exercise.py [TEST...]      for example: Session.test_a_blank_is_written

Most sessions are in a small stand-in for the book, whose chapters are a few lines and compile at once; `RealBook` drives
the book itself, in a copy of it.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import time
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "common")]
sys.dont_write_bytecode = True

from exercising import compiler, blanks, processes, results, sanitizers, screen, verdict  # noqa: E402
from exercising.book import Book  # noqa: E402
from exercising.errors import StaleList  # noqa: E402

SHOWN = r"q\s+quit\."  # the last words that watch shows of a verdict
CALL = r'(?s)blank\("%s .*?\);'  # what a reader takes out of the copy
PATIENCE = 600  # seconds for what takes half a minute on a machine with nothing else to do

# --- the stand-in ------------------------------------------------------------------------------

CHAPTER = """
    #pragma once
    #include <vector>

    //! [half]
    /// Half of a number.
    inline int half(int x) {
      int result = 0;
      //! [division]
      result = x / 2;
      //! [division]
      return result;
    }
    //! [half]

    //! [twice]
    /// Twice a number.
    inline int twice(int x) {
      const int two = 2;
      return two * x;
    }
    //! [twice]

    //! [pair]
    struct Pair {
      int first;
      int second;
      Pair(int a, int b)
          : first(a),
            second(b) {}
    };
    //! [pair]
    """
EXERCISES = """
    # the exercises of the stand-in
    [1.1 the division]
    lines: [division]
    belongs: result, half of x
    names: x
    hint: where
    hint: what
    hint: x / 2
    passes: twice four is eight

    [1.2 twice]
    lines: body of twice in [twice]
    belongs: two times x
    names: x
    hint: where
    hint: what
    hint: 2 * x

    [1.3 a pair]
    lines: body of Pair in [pair]
    belongs: first and second
    names: a b
    hint: where
    hint: what
    hint: : first(a), second(b)
    """
# As Catch2 writes its XML, into the file after --out.
TEST = r"""
    #include "attention.hpp"
    #include <cstdio>
    #include <exception>

    std::FILE* told;

    template <class Function>
    void check(const char* name, int line, int want, const Function& function) {
      std::fprintf(told, "<TestCase name=\"%s\" filename=\"%s\" line=\"%d\">", name, __FILE__, line);
      std::fflush(told);
      try {
        const int got = function();
        if (got != want) {
          std::fprintf(told, "<Expression success=\"false\" type=\"CHECK\" filename=\"%s\" line=\"%d\"><Original>value == want</Original>"
                      "<Expanded>%d == %d%s</Expanded></Expression>", __FILE__, line, got, want,
                      got == 2 * 8 ? "\n  This looks like: doubled, and not halved." : "");
        }
      } catch (const std::exception& error) {
        std::fprintf(told, "<Exception filename=\"%s\" line=\"%d\">%s</Exception>", __FILE__, line, error.what());
      }
      std::fprintf(told, "</TestCase>\n");
    }

    int main(int, char** words) {
      told = std::fopen(words[6], "w");
      std::fprintf(told, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Catch name=\"stand-in\">");
      check("half of eight is four", __LINE__, 4, [] { return half(8); });
      check("twice four is eight", __LINE__, 8, [] { return twice(4); });
      check("a pair is two numbers", __LINE__, 12, [] { return 10 * Pair(1, 2).first + Pair(1, 2).second; });
      std::fprintf(told, "</Catch>\n");
    }
    """
FILES = {
    "common/packages": "build  command:c++  g++\nbuild  command:cmake  cmake\ntests  command:ninja  ninja-build\n",
    "chapters/01_one/attention.hpp": CHAPTER,
    "chapters/02_two/attention.hpp": CHAPTER,
    "chapters/02_two/part.cpp": '#include "attention.hpp"\nint part() { return twice(2); }\n',
    "chapters/02_two/main.cpp": "int main() {}\n",
    "tests/exercises/01_one.txt": EXERCISES,
    "tests/exercises/02_two.txt": EXERCISES.replace("[1.", "[2."),
    "tests/01_one.cpp": TEST,
    "tests/02_two.cpp": TEST,
    "CMakePresets.json": """
        {
          "version": 3,
          "configurePresets": [
            { "name": "exercise", "generator": "Ninja", "binaryDir": "${sourceDir}/build/exercise",
              "cacheVariables": { "CMAKE_CXX_FLAGS": "-Wall -Wextra -Werror=return-type" } },
            { "name": "sanitize", "generator": "Ninja", "binaryDir": "${sourceDir}/build/sanitize",
              "cacheVariables": { "CMAKE_CXX_FLAGS": "-g1 -fsanitize=address,undefined" } }
          ]
        }
        """,
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.20)
        project(stand_in LANGUAGES CXX)
        set(ATTENTION_CHAPTERS "${PROJECT_SOURCE_DIR}/chapters" CACHE PATH "")
        foreach(chapter 01_one 02_two)
          file(GLOB parts CONFIGURE_DEPENDS "${ATTENTION_CHAPTERS}/${chapter}/*.cpp")
          add_executable(test_${chapter} EXCLUDE_FROM_ALL tests/${chapter}.cpp ${parts})
          target_include_directories(test_${chapter} PRIVATE "${ATTENTION_CHAPTERS}/${chapter}" "${PROJECT_SOURCE_DIR}")
          set_target_properties(test_${chapter} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        endforeach()
        """,
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


def make_stand_in(folder):
    for name, text in FILES.items():
        write(folder / name, text)
    for name in ("tests/exercise", "tests/blank.hpp", "common/entry.py", "common/setup"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tests/exercising", folder / "tests/exercising", ignore=shutil.ignore_patterns("__py*"))


def setUpModule():
    global scratch, shelf
    scratch = tempfile.TemporaryDirectory(prefix="the exercises ")
    shelf = Path(scratch.name)
    make_stand_in(shelf / "a clone")


def tearDownModule():
    scratch.cleanup()


class Terminal:
    """A command on a terminal, with somebody who types and reads."""

    def __init__(self, command, columns=100, cwd=None, environment=None):
        self.shown = ""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(cwd or "/")
            os.execve(str(command[0]), [str(word) for word in command], environment or dict(os.environ, TERM="xterm"))
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, seconds=0.1):
        """Whether something came; False at the end too."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self.terminal, 65536)
        except OSError:  # how Linux says that the other side has closed
            return False
        self.shown += part.decode(errors="replace")
        return bool(part)

    def wait_for(self, words, seconds=PATIENCE):
        """What was shown up to the words, which are then taken as read."""
        end = time.monotonic() + seconds
        while not re.search(words, plain(self.shown)):
            if time.monotonic() > end:
                raise AssertionError(f"{words} was not shown within {seconds} s:\n{plain(self.shown)}")
            self.read()
        shown, self.shown = plain(self.shown), ""
        return shown

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def echoes(self):
        """Whether the terminal shows what is typed, as it does when nobody has changed its settings."""
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def interrupt(self):
        self.type("\x03")

    def kill(self):
        """Whatever a test has come to, its command does not go on."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    def end(self, seconds=PATIENCE):
        """The exit code."""
        end = time.monotonic() + seconds
        while True:
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                while self.read(0):
                    pass
                os.close(self.terminal)
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                os.kill(self.process, signal.SIGKILL)
            self.read(0.05)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def plain(shown):
    """The text on the screen, without colours and without what was erased."""
    shown = re.sub(r"\r+\n", "\n", shown).split("\033[2J")[-1]
    return re.sub(r"\033\[[0-9;]*[A-Za-z]", "", re.sub(r"[^\n]*\r", "", shown))


class Session(unittest.TestCase):
    """The stand-in, whose build folder stays from one test to the next; the reader's folder does not."""

    def setUp(self):
        self.book = shelf / "a clone"
        self.mine = self.book / "exercises"
        self.remove_mine()
        self.addCleanup(self.remove_mine)
        self.copy = self.mine / "01_one" / "attention.hpp"

    def remove_mine(self):
        if self.mine.is_dir() and not self.mine.is_symlink():
            shutil.rmtree(self.mine)
        else:
            self.mine.unlink(missing_ok=True)
        write(self.book / "chapters/01_one/attention.hpp", CHAPTER)

    def call(self, *words, expect=0, environment=None):
        done = subprocess.run([self.book / "tests/exercise", *words], capture_output=True, text=True, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, env=environment)
        self.assertEqual(done.returncode, expect, f"{words}\n{done.stdout}\n{done.stderr}")
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

    def on_a_terminal(self, *words, **options):
        terminal = Terminal([self.book / "tests/exercise", *words], **options)
        self.addCleanup(terminal.kill)
        return terminal

    def edit(self, old, new):
        text = self.copy.read_text()
        self.assertIn(old, text)
        self.copy.write_text(text.replace(old, new, 1))

    def fill(self, number, lines):
        """As a reader does: the call of blank() goes, the lines come."""
        text, count = re.subn(CALL % number, lambda found: lines, self.copy.read_text(), count=1)
        self.assertEqual(count, 1)
        self.copy.write_text(text)

    # --- the way through ---------------------------------------------------------------------

    def test_without_words_it_says_what_to_type_next(self):
        self.assertRegex(self.call(), r"Nothing is started yet\.\nType: ./tests/exercise start 1\n")
        self.call("start", "1")
        self.assertRegex(self.call(), r"chapter 01, one: 0 of 3 passed.\n1.1 the division is still empty: exercises/01_one/attention.hpp:10")

    def test_the_list_has_a_line_for_each_chapter_and_opens_one(self):
        rows = self.call("list").splitlines()
        self.assertEqual(len(rows), 4)
        self.assertRegex(rows[0], r"^1 +one +0 of 3 passed$")
        rows = self.call("list", "2").splitlines()
        self.assertEqual([row.split()[0] for row in rows[:5]], ["1", "2", "2.1", "2.2", "2.3"])
        self.assertRegex(rows[2], r"^2\.1  the division +1 line +-$")
        self.assertRegex(rows[3], r"^2\.2  twice +2 lines +-$")
        self.assertRegex(rows[-1], "^0 of 6 passed")
        self.call("start", "1.1")
        self.assertRegex(self.call("list"), r"(?m)^1\.1  the division +1 line +empty$")

    def test_the_book_s_list_fits_a_terminal_whatever_is_open(self):
        for number in range(1, 8):
            done = subprocess.run([ROOT / "tests/exercise", "list", str(number)], capture_output=True, text=True)
            self.assertLessEqual(len(done.stdout.splitlines()), 22, done.stdout)
            self.assertIn(f"\n{number}.1 ", done.stdout)

    def test_a_mistyped_command_is_guessed(self):
        for word, sentence in (("strat", "There is no command strat; did you mean start?"), ("Solutions", "did you mean solution?"),
                               ("xyzzy", "there are list, start, watch,")):
            self.assertIn(sentence, self.call(word, "3", expect=2))

    def test_a_blank_is_written(self):
        self.assertIn("1.1 the division, line 10: result, half of x", self.call("start", "1.1"))
        self.assertIn("1.1 the division is still empty", self.call("check", "--quick", expect=1))
        self.fill("1.1", "result = x * 2;")
        shown = self.call("check", "--quick", expect=1)
        self.assertIn("✗ half of eight is four\n  This looks like: doubled, and not halved.\n  tests/01_one.cpp:27", shown)
        self.assertIn("2 tests pass, 1 fails.", shown)
        self.fill_right()
        shown = self.call("check")
        self.assertIn("✓ 1.1 the division\n✓ 3 tests pass", shown)
        self.assertIn("sanitizers found no wrong access", shown)
        self.assertRegex(self.call("list"), r"(?m)^1\.1 .* passed$")

    def fill_right(self):
        self.edit("result = x * 2;", "result = x / 2;")

    def test_each_of_several_blanks_gets_its_own_verdict(self):
        self.call("start", "1")
        self.assertEqual(self.copy.read_text().count("blank("), 3)
        self.fill("1.2", "return 3 * x;")
        self.assertIn("✗ twice four is eight", self.call("check", "--quick", expect=1))
        self.edit("3 * x", "x + x")
        self.assertRegex(self.call("check", "--quick", expect=1), r"✓ 1.2 twice\n1.1 the division is still empty")
        self.fill("1.3", "first = a, second = b;")
        self.fill("1.1", "result = x / 2;")
        self.assertIn("chapter 01, one, is right", self.call("check", "--quick"))
        self.assertIn("start 2", self.call())

    def test_hints_come_one_by_one(self):
        self.call("start", "1")
        self.assertNotIn("what", self.call("hint"))
        self.assertNotIn("x / 2", self.call("hint"))
        self.assertRegex(self.call("hint"), r"1 of 3: where\n +2 of 3: what\n +3 of 3: x / 2\n")
        self.assertIn("1.3 a pair\n  1 of 3", self.call("hint", "1.3"))

    def test_the_solution_waits_for_the_reader_s_own(self):
        self.call("start", "1.1")
        self.assertNotIn("x / 2", self.call("solution", expect=1))
        self.assertIn("  result = x / 2;", self.call("solution", "--insist"))
        self.fill("1.1", "result = x - x / 2;")
        self.call("check", "--quick")
        self.assertIn("  result = x / 2;", self.call("solution", "1.1"))

    def test_the_difference_hides_what_is_not_passed(self):
        self.call("start", "1.1")
        self.assertIn("Nothing differs besides.", self.call("diff"))
        self.fill("1.1", "result = x - x / 2;")
        self.edit("const int two = 2;", "const int two = 1 + 1;")
        shown = self.call("diff")
        self.assertIn("-  const int two = 1 + 1;\n+  const int two = 2;", shown)
        self.assertNotIn("result = x / 2;", shown)
        self.call("check", "--quick")
        self.assertIn("-  result = x - x / 2;\n+  result = x / 2;", self.call("diff"))

    def test_the_difference_is_one_of_code_and_is_not_cut(self):
        self.call("goto", "1")
        self.edit("/// Twice a number.", "/// Two times\n/* a number,\n   // in other words */")
        self.edit("const int two = 2;", "const  int two = 2;   // \"two\"")
        self.edit("//! [half]", "// mine")
        self.assertEqual(self.call("diff"), "Nothing differs.\n")
        long = 'const char* text = "' + "// no comment " * 9 + '";'
        self.edit("const  int two", f"{long}\n  const  int two")
        command = self.on_a_terminal("diff", columns=60)
        command.end()
        self.assertRegex(plain(command.shown), r'@@ line \d+ @@\n(?s:.*)\n-  const char\* text = "(// no comment ){9}";\n')
        self.assertEqual(len(re.findall(r"(?m)^[-+](?![-+])", plain(command.shown))), 1)

    def test_reset_keeps_what_there_was(self):
        self.call("start", "1.1")
        self.fill("1.1", "result = 17;")
        shown = self.call("reset")
        backup = self.book / re.search(r"kept in (\S+)", shown)[1] / "attention.hpp"
        self.assertIn("result = 17;", backup.read_text())
        self.assertIn("blank(", self.copy.read_text())
        self.assertRegex(backup.parent.name, r"^01_one_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$")
        self.call("reset")
        self.assertEqual(len(list(backup.parent.parent.iterdir())), 2)

    def test_one_exercise_can_be_reset_alone(self):
        self.call("start", "1")
        self.fill("1.1", "result = 17;")
        self.fill("1.2", "return 18;")
        self.call("reset", "1.1")
        self.assertIn('blank("1.1', self.copy.read_text())
        self.assertIn("return 18;", self.copy.read_text())
        self.edit("//! [twice]", "// mine")
        self.assertIn("cannot be found in your copy", self.call("reset", "1.2", expect=2))

    def test_goto_copies_the_whole_chapter(self):
        self.assertIn("chapter 02, two: 2 files in exercises/02_two\n", self.call("goto", "2"))
        self.assertEqual(sorted(path.name for path in (self.mine / "02_two").iterdir()), ["attention.hpp", "part.cpp"])
        mine = self.mine / "02_two" / "attention.hpp"
        self.assertEqual(mine.read_text(), (self.book / "chapters/02_two/attention.hpp").read_text())
        self.assertIn("is right", self.call("check", "--quick"))
        self.assertIn("You are in chapter 02", self.call())
        self.call("start", "2.2")
        self.assertEqual(mine.read_text().count("blank("), 1)

    def test_a_part_of_the_chapter_is_built_with_the_copy(self):
        self.call("goto", "2")
        part = self.mine / "02_two/part.cpp"
        part.write_text(part.read_text().replace("twice(2)", "thrice(2)"))
        self.assertIn("exercises/02_two/part.cpp:2", self.call("check", "--quick", expect=1))
        part.unlink()
        self.assertIn("exercises/02_two/part.cpp is gone", self.call("check", "--quick", expect=1))

    def test_a_part_that_the_book_has_no_longer_is_not_built(self):
        self.call("goto", "2")
        old = self.book / "build/exercise_runner/chapters/02_two/old.cpp"
        write(old, "int main() {}\n")
        self.assertIn("is right", self.call("check", "--quick"))
        self.assertFalse(old.exists())

    def test_progress_survives_another_build_and_another_place(self):
        self.call("start", "1.1")
        self.fill("1.1", "result = x / 2;")
        self.call("check", "--quick")
        moved = shelf / "moved"
        shutil.copytree(self.book, moved, ignore=shutil.ignore_patterns("exercise_sanitizers"))
        self.addCleanup(shutil.rmtree, moved)
        done = subprocess.run([moved / "tests/exercise", "check", "--quick"], capture_output=True, text=True)
        self.assertIn("is right", done.stdout, done.stderr)
        shown = subprocess.run([moved / "tests/exercise", "list"], capture_output=True, text=True).stdout
        self.assertIn("1 of 6 passed", shown)

    # --- what goes wrong in a copy -------------------------------------------------------------

    def test_a_compile_error_is_one_error_with_its_line(self):
        self.call("start", "1")
        self.fill("1.1", "result = y / 2;")
        shown = self.call("check", expect=1)
        self.assertRegex(shown, r"It does not compile.\n  exercises/01_one/attention.hpp:10\n  .*\by\b")
        self.assertNotIn("FAILED", shown)
        self.assertLess(len(shown.splitlines()), 12)
        self.assertGreater(len(self.call("check", "--verbose", expect=1)), len(shown))

    def test_a_missing_return_is_an_error_and_not_a_riddle(self):
        self.call("start", "1.2")
        self.fill("1.2", "x = 2 * x;")
        self.assertRegex(self.call("check", expect=1), r"It does not compile.[^✗]*return")

    def test_an_endless_loop_is_stopped_and_called_that(self):
        self.call("start", "1.1")
        self.fill("1.1", "for (volatile int i = x;;) i = x;")
        start = time.monotonic()
        shown = self.call("check", expect=1)
        self.assertGreater(time.monotonic() - start, 19)
        self.assertIn("this looks like an endless loop", " ".join(shown.split()))
        self.assertIn("It was in the test: half of eight is four", shown)

    def test_a_wrong_access_is_explained_in_a_line(self):
        self.call("start", "1.1")
        self.fill("1.1", "std::vector<int> four(4); four.data()[x - 4] = 1; result = x / 2;")
        shown = " ".join(self.call("check", expect=1).split())
        self.assertIn("heap-buffer-overflow", shown)
        self.assertIn("It means: something is read or written beyond the end of a matrix or vector", shown)
        self.assertIn("exercises/01_one/attention.hpp:10", shown)

    def test_a_crash_is_told_and_looked_into(self):
        self.call("start", "1.1")
        self.fill("1.1", "result = *static_cast<volatile int*>(nullptr);")
        shown = " ".join(self.call("check", expect=1).split())
        self.assertIn("The tests crashed: SIGSEGV", shown)
        self.assertIn("The sanitizers report", shown)

    def test_what_the_reader_s_code_prints_is_shown_and_never_a_result(self):
        self.call("start", "1.1")
        self.edit("#include <vector>", "#include <iostream>\n#include <vector>")
        self.fill("1.1", r"""
            std::cout << "i < " << x << " & </TestCase></Catch>" << std::endl;
            std::cout << "\033[31mred\033[0m\033[2J nul:" << '\0' << " not UTF-8:\xff" << std::endl;
            std::cerr << "to standard error" << std::endl;
            result = x / 2;""")
        shown = self.call("check", "--quick")
        self.assertIn("Your code printed:\n  i < 8 & </TestCase></Catch>\n"
                      "  red␛[2J nul:␀ not UTF-8:\ufffd\n  to standard error\n", shown)
        self.assertIn("✓ 3 tests pass", shown)
        self.edit("result = x / 2;", "result = x * 2;")
        self.assertRegex(self.call("check", "--quick", expect=1), r"This looks like: doubled[^✓]*i < 8 & </TestCase></Catch>")

    def test_what_is_printed_before_a_crash_is_shown(self):
        self.call("start", "1.1")
        self.edit("#include <vector>", "#include <cstdio>\n#include <vector>")
        self.fill("1.1", 'std::fprintf(stderr, "x is %d\\n", x); result = *static_cast<volatile int*>(nullptr);')
        self.assertRegex(self.call("check", "--quick", expect=1), "(?s)crashed: SIGSEGV.*Your code printed:\n  x is 8\n")

    def test_endless_printing_is_bounded_and_said_to_be_cut(self):
        self.call("start", "1.1")
        self.edit("#include <vector>", "#include <cstdio>\n#include <vector>")
        self.fill("1.1", 'for (;;) std::puts("a line");')
        shown = self.call("check", "--quick", expect=1)
        self.assertIn("this looks like an endless loop", shown)
        self.assertEqual(shown.count("a line"), verdict.PRINTED)
        self.assertRegex(shown, r"That was cut: it printed [\d,]{9,} bytes. --verbose shows the first and the last of them.")
        self.assertLess(len(self.call("check", "--quick", "--verbose", expect=1)), 4 * processes.LIMIT_OF_OUTPUT)

    def test_a_copy_that_sleeps_is_ended_at_the_limit(self):
        self.call("start", "1.1")
        self.edit("#include <vector>", "#include <unistd.h>\n#include <vector>")
        self.fill("1.1", "for (;;) pause();")
        start = time.monotonic()
        self.assertIn("so it waits for something", " ".join(self.call("check", "--quick", expect=1).split()))
        self.assertLess(time.monotonic() - start, 60)

    def test_whatever_ends_the_runner_ends_the_tests_and_what_they_forked(self):
        self.call("start", "1.1")
        self.edit("#include <vector>", "#include <unistd.h>\n#include <vector>")
        self.fill("1.1", "fork(); for (volatile int i = x;;) i = x;")
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
            with self.subTest(number):
                runner = subprocess.Popen([self.book / "tests/exercise", "check"], stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True)
                self.wait_for_programs(2)
                runner.send_signal(number)
                shown, errors = runner.communicate(timeout=30)
                self.assertEqual((runner.returncode, errors), (code, ""))
                self.assertIn("Stopped.", shown)
                time.sleep(0.2)
                self.assertEqual(self.programs(), [])

    def test_a_closed_terminal_ends_the_tests(self):
        self.call("start", "1.1")
        self.fill("1.1", "for (volatile int i = x;;) i = x;")
        watch = self.on_a_terminal("watch")
        self.wait_for_programs(1)
        os.close(watch.terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(watch.process, 0)[1]), 128 + signal.SIGHUP)
        self.assertEqual(self.programs(), [])

    def wait_for_programs(self, count):
        end = time.monotonic() + PATIENCE
        while len(self.programs()) < count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def programs(self):
        """The processes that run this book's tests."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if path.read_bytes().startswith(os.fsencode(self.book / "build/exercise_runner/tests/")):
                    found.append(path.parent.name)
        return found

    # --- bad input -----------------------------------------------------------------------------

    def test_wrong_words_end_in_a_sentence(self):
        for words, sentence in ((["start", "7"], "There are no exercises for 7; there are 01_one 02_two."),
                                (["start", "1.9"], "There is no exercise 1.9; those of chapter 1 are 1.1 to 1.3."),
                                (["start"], "required"), (["begin"], "There is no command begin"), (["check"], "Nothing is started yet."),
                                (["reset", "2"], "Chapter 2 is not started."), (["hint"], "Nothing is started yet.")):
            shown = self.call(*words, expect=2)
            self.assertIn(sentence, shown)
            self.assertEqual(shown.count("\n"), 1, shown)

    def test_starting_twice_changes_nothing(self):
        self.call("start", "1")
        self.fill("1.1", "result = 17;")
        before = self.copy.read_text()
        for word in ("1", "1.1", "01_one"):
            self.assertIn("already started", self.call("start", word))
            self.assertEqual(self.copy.read_text(), before)

    def test_another_exercise_is_started_in_the_same_copy(self):
        self.call("start", "1.1")
        self.fill("1.1", "result = 17;")
        self.call("start", "1.2")
        self.assertIn("result = 17;", self.copy.read_text())
        self.assertIn('blank("1.2 twice"', self.copy.read_text())
        self.edit("second(b)", "second(b + 0)")
        self.assertIn("goto 1 makes a fresh copy", self.call("start", "1.3", expect=2))

    def test_a_deleted_copy_is_missed(self):
        self.call("start", "1")
        self.copy.unlink()
        self.assertIn("exercises/01_one/attention.hpp is gone", self.call("check", expect=1))
        self.assertIn("is gone", self.call("start", "1.1", expect=2))
        self.assertIn("reset 1", self.call("diff", expect=2))
        self.call("reset", "1")
        self.assertIn("blank(", self.copy.read_text())
        shutil.rmtree(self.mine / "01_one")
        self.assertIn("Nothing is started yet", self.call("check", expect=2))
        self.call("start", "1")

    def test_a_renamed_function_is_not_blamed_on_the_tests(self):
        self.call("start", "1.1")
        self.edit("int twice(", "int two_times(")
        shown = " ".join(self.call("check", expect=1).split())
        self.assertIn("tests/01_one.cpp", shown)
        self.assertIn("Is something renamed, deleted, or of another type?", shown)

    def test_a_copy_of_an_older_book_is_told_of(self):
        self.call("start", "1.1")
        path = self.book / "chapters/01_one/attention.hpp"
        path.write_text(path.read_text().replace("Half of a number.", "One half of a number."))
        for words, code in ((["check", "--quick"], 1), ([], 0)):
            self.assertIn("The book's 01_one/attention.hpp has changed since you copied it", self.call(*words, expect=code))
        self.call("reset", "1")
        self.assertNotIn("has changed", self.call())

    def test_other_line_ends_tabs_and_marks_of_editors_do_not_matter(self):
        self.call("start", "1")
        self.fill("1.1", "\tresult = x / 2;")
        text = self.copy.read_text().replace("\n", "\r\n").replace("  ", "\t")
        self.copy.write_bytes(b"\xef\xbb\xbf" + text.encode())
        self.assertRegex(self.call("check", "--quick", expect=1), r"✓ 1.1 the division\n1.2 twice is still empty")
        self.assertIn("Nothing", self.call("hint", "1.1") + self.call("reset", "1.1") and "Nothing")
        self.copy.write_bytes(self.copy.read_bytes() + b"// caf\xe9\n")
        self.assertIn("still empty", self.call("check", "--quick", expect=1))

    def test_only_a_newline_ends_a_line_and_the_reader_s_bytes_stay(self):
        odd = "// \u2028 \u2029 \x85 \x0c \x0b \x1c \x1d \x1e \u00e9 ".encode() + b"\xff"
        for ending in (b"\n", b"\r\n"):
            self.remove_mine()
            self.call("start", "1.1")
            text = self.copy.read_bytes().replace(b"#pragma once", b"#pragma once\n" + odd).replace(b"//! [pair]\n", b"//! [pair]\n" + odd + b"\n", 1)
            self.copy.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", ending) + odd)
            self.assertRegex(self.call("check", "--quick", expect=1), r"\A1.1 the division is still empty")
            before = self.copy.read_bytes()
            self.call("start", "1.2")
            after = self.copy.read_bytes()
            self.assertIn(b"blank(\"1.2", after)
            self.assertEqual(after.count(ending), after.count(b"\n"))
            for end in (lambda text: text[:text.index(b"const int two") if b"const int two" in text else text.index(b"blank(\"1.2")],
                        lambda text: text[text.rindex(b"//! [twice]"):]):
                self.assertEqual(end(after), end(before))

    def test_a_link_to_the_chapter_does_not_let_the_book_be_blanked_out(self):
        before = (self.book / "chapters/01_one/attention.hpp").read_bytes()
        self.mine.mkdir()
        for target in (self.book / "chapters/01_one", Path("../chapters/02_two")):
            (self.mine / "01_one").symlink_to(target)
            for words in (["reset", "1"], ["start", "1"], ["goto", "1"], ["reset", "1.1"]):
                self.assertRegex(self.call(*words, expect=2), r"\Aexercises/01_one is a link to the book's own chapters[^\n]*\n\Z")
            (self.mine / "01_one").unlink()
        shutil.rmtree(self.mine)
        self.mine.symlink_to("chapters")
        self.assertIn("is a link", self.call("start", "1", expect=2))
        self.assertEqual((self.book / "chapters/01_one/attention.hpp").read_bytes(), before)
        self.assertFalse((self.book / "chapters/progress.json").exists())

    def test_special_files_end_in_a_sentence(self):
        self.call("start", "1")
        self.copy.unlink()
        os.mkfifo(self.copy)
        (self.mine / "01_one/dangling").symlink_to("nowhere")
        self.assertIn("attention.hpp is gone", self.call("check", expect=1))
        self.assertIn("is empty again", self.call("reset"))
        self.copy.unlink()
        self.copy.mkdir()
        self.assertRegex(self.call("reset", expect=2), r"\n[^\n]*attention.hpp: Is a directory\.\n\Z")

    def test_odd_progress_is_put_aside_or_taken_as_it_is(self):
        self.call("start", "1")
        for text in ("[" * 300000, "null", "[]", '{"blanks": 3}', '{"blanks": {"1.1": 3}}', '{"a":' * 9000, "9" * 9000, "\udcff"):
            (self.mine / "progress.json").write_text(text, errors="surrogateescape")
            self.assertRegex(self.call("list"), r"\Aexercises/progress.json cannot be read: [^\n]*")
        for entry in ('"hints": -5', '"hints": 1e999', '"hints": true', '"passed": "no"', '"started": []'):
            (self.mine / "progress.json").write_text(f'\ufeff{{"blanks": {{"1.1": {{{entry}}}}}, "chapter": 7}}')
            self.assertIn("1 of 3: where", self.call("hint", "1.1"))

    def test_a_closed_or_full_output_ends_in_a_sentence(self):
        for redirection, words in ((">&-", "standard output is closed"), (">/dev/full", "No space left on device")):
            for arguments in (["list"], ["--help"], []):
                done = subprocess.run(["bash", "-c", f'"$@" {redirection}', "bash", self.book / "tests/exercise", *arguments],
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, rf"\A[^\n]*{words}\.\n\Z")
        done = subprocess.run(["bash", "-c", '"$@" 2>&- <&-', "bash", self.book / "tests/exercise", "list"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1][:13]), (0, "0 of 6 passed"))

    def test_an_error_nobody_foresaw_ends_in_a_sentence(self):
        module = self.book / "tests/exercising/showing.py"
        text = module.read_text()
        self.addCleanup(module.write_text, text)
        module.write_text(text.replace("def list_all(", "def list_all(*a): raise KeyError(5)\ndef list_none("))
        self.assertRegex(self.call("list", expect=2), r"\Atests/exercise: this should not happen[^\n]*KeyError: 5 \(showing.py:\d+\)\.\n\Z")

    def test_a_build_folder_that_was_cut_off_heals(self):
        self.call("goto", "1")
        self.call("check", "--quick")
        for name in ("build.ninja", "CMakeFiles/rules.ninja", "CMakeCache.txt"):
            for part in (0, 0.5):
                path = self.book / "build/exercise_runner" / name
                path.write_bytes(path.read_bytes()[:int(part * path.stat().st_size)])
                self.assertIn("is right", self.call("check", "--quick"))

    def test_a_colon_in_the_path_hides_no_error(self):
        clone = shelf / "a: clone"
        make_stand_in(clone)
        self.addCleanup(shutil.rmtree, clone)
        subprocess.run([clone / "tests/exercise", "goto", "1"], capture_output=True)
        mine = clone / "exercises/01_one/attention.hpp"
        mine.write_text(mine.read_text().replace("x / 2", "y / 2"))
        done = subprocess.run([clone / "tests/exercise", "check"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "de_DE.UTF-8"})
        self.assertRegex(done.stdout, r"It does not compile.\n  exercises/01_one/attention.hpp:9\n  .*\by\b")
        mine.write_text(mine.read_text().replace("y / 2", "new int[2][x - 7]"))
        mine.write_text(mine.read_text().replace("new int[2][x - 7]", "x / 2; std::vector<int> two(2); two.data()[x] = 0"))
        done = subprocess.run([clone / "tests/exercise", "check"], capture_output=True, text=True)
        self.assertIn("  exercises/01_one/attention.hpp:9\n", done.stdout)

    def test_a_folder_that_cannot_be_written_is_named(self):
        self.mine.write_text("a file")
        shown = self.call("start", "1", expect=2)
        self.assertRegex(shown, r"exercises.*(Not a directory|File exists)\.\n$")
        self.assertEqual(shown.count("\n"), 1, shown)

    def test_a_folder_without_permission_is_named(self):
        self.mine.mkdir()
        self.mine.chmod(0o555)
        self.addCleanup(self.mine.chmod, 0o755)
        if os.access(self.mine, os.W_OK):
            self.skipTest("this user may write everywhere")
        self.assertRegex(self.call("start", "1", expect=2), r"exercises.*Permission denied\.\n$")

    def test_without_a_compiler_it_says_what_is_missing(self):
        shown = self.call("start", "1", expect=2, environment=dict(os.environ, CXX="nosuch++"))
        self.assertIn("$CXX names the compiler nosuch++, which is not there.", shown)
        self.assertFalse(self.mine.exists())

    def test_progress_that_cannot_be_read_is_put_aside(self):
        self.call("start", "1")
        (self.mine / "progress.json").write_text("{ half of it")
        self.assertIn("cannot be read", self.call("list"))
        self.assertEqual((self.mine / "progress.broken").read_text(), "{ half of it")
        self.assertIn("1.1 the division is still empty", self.call())

    # --- watch ---------------------------------------------------------------------------------

    def test_watch_answers_every_save(self):
        self.call("start", "1.1")
        watch = self.on_a_terminal("watch", "--quick")
        self.assertIn("1.1 the division is still empty", watch.wait_for(SHOWN))
        self.fill("1.1", "result = x * 2;")
        self.assertIn("This looks like: doubled, and not halved.", watch.wait_for(SHOWN))
        self.edit("x * 2", "x / two")
        self.assertIn("It does not compile.", watch.wait_for(SHOWN))
        self.copy.rename(self.copy.with_suffix(".old"))
        self.assertIn("is gone", watch.wait_for(SHOWN))
        self.copy.with_suffix(".old").rename(self.copy)
        watch.wait_for(SHOWN)
        self.edit("x / two", "x / 2")
        self.assertIn("✓ 1.1 the division", watch.wait_for(SHOWN))
        watch.interrupt()
        self.assertEqual(watch.end(), 0)
        self.assertRegex(plain(watch.shown), r"Stopped. Your copies are as you saved them.")
        self.assertNotIn("Traceback", watch.shown)

    def test_the_keys_do_what_the_status_line_says(self):
        self.call("start", "1.1")
        watch = self.on_a_terminal("watch", "--quick")
        self.assertIn("0 of 6 passed.", watch.wait_for(SHOWN))
        for key, answer in (("h", "1 of 3: where"), ("h", "2 of 3: what"), ("s", "1.1 the division hasn't passed yet"),
                            ("l", "1.1  the division +1 line +empty"), ("n", "1.1 the division hasn't passed yet; h gives a hint")):
            watch.type(key)
            self.assertRegex(watch.wait_for(SHOWN), answer)
        self.fill("1.1", "result = x / 2;")
        self.assertIn("✓ 1.1 the division", watch.wait_for(SHOWN))
        watch.type("n")
        self.assertIn("1.2 twice is still empty", watch.wait_for(SHOWN))
        watch.type("r")
        self.assertIn("1.2 twice is still empty", watch.wait_for(SHOWN))
        watch.type("xyz")
        watch.type("q")
        shown = watch.wait_for("as you saved them")
        self.assertNotIn("xyz", shown)
        self.assertTrue(watch.echoes())
        self.assertEqual(watch.end(), 0)

    def test_q_ends_a_try_that_is_under_way(self):
        self.call("start", "1.1")
        self.fill("1.1", "for (volatile int i = x;;) i = x;")
        watch = self.on_a_terminal("watch", "--quick")
        watch.wait_for("testing")
        self.assertFalse(watch.echoes())
        start = time.monotonic()
        watch.type("q")
        self.assertEqual(watch.end(), 0)
        self.assertLess(time.monotonic() - start, 10)

    def test_watch_follows_what_another_terminal_starts(self):
        self.call("start", "1.1")
        watch = self.on_a_terminal("watch", "--quick")
        watch.wait_for(SHOWN)
        self.call("start", "2")
        self.assertIn("2.1 the division is still empty", watch.wait_for(SHOWN))
        watch.interrupt()
        self.assertEqual(watch.end(), 0)
        self.assertTrue("Stopped." in watch.shown)

    def test_a_save_ends_what_is_under_way(self):
        self.call("start", "1.1")
        self.fill("1.1", "for (volatile int i = x;;) i = x;")
        watch = self.on_a_terminal("watch", "--quick")
        time.sleep(3)
        start = time.monotonic()
        self.edit("for (volatile int i = x;;) i = x;", "result = x / 2;")
        watch.wait_for("✓ 1.1 the division")
        self.assertLess(time.monotonic() - start, 15)
        watch.interrupt()
        self.assertEqual(watch.end(), 0)

    def test_control_c_is_clean_in_every_state(self):
        self.call("start", "1.1")
        self.fill("1.1", "for (volatile int i = x;;) i = x;")
        for words, code in ((["check"], 130), (["watch"], 0)):
            for seconds in (0, 1, 3):  # at the latest then it is testing
                command = self.on_a_terminal(*words)
                command.wait_for("building|testing")
                time.sleep(seconds)
                command.interrupt()
                self.assertEqual(command.end(20), code, command.shown)
                self.assertIn("Stopped.", command.shown)
                self.assertNotIn("Traceback", command.shown)
        json.loads((self.mine / "progress.json").read_text())

    def test_two_watchers_do_not_disturb_each_other(self):
        self.call("start", "1.1")
        both = [self.on_a_terminal("watch", "--quick") for _ in "12"]
        for watch in both:
            watch.wait_for(SHOWN)
        self.fill("1.1", "result = x / 2;")
        for watch in both:
            self.assertIn("is right", watch.wait_for(SHOWN))
        for watch in both:
            watch.interrupt()
            self.assertEqual(watch.end(), 0)
        self.assertIn("1 of 6 passed", self.call("list"))

    def test_the_sanitizers_let_other_commands_go_first(self):
        self.call("start", "1.1")
        self.fill("1.1", "result = x / 2;")
        slow = self.book / "build/exercise_sanitizers"
        self.call("check")
        self.addCleanup(shutil.rmtree, slow)  # from here on building with the sanitizers takes for ever
        rules = slow / "CMakeFiles/rules.ninja"
        rules.write_text(rules.read_text().replace("  command = ", "  command = sleep 600; "))
        (slow / "tests/test_01_one").unlink()
        watch = self.on_a_terminal("watch")
        watch.wait_for("building with the sanitizers")
        start = time.monotonic()
        self.assertIn("2.1 the division, line", self.call("start", "2"))
        self.assertIn("is right", self.call("check", "1", "--quick"))
        self.assertLess(time.monotonic() - start, 60)
        watch.wait_for("building with the sanitizers")  # again, once nobody else wants to build
        watch.interrupt()
        self.assertEqual(watch.end(), 0)

    def test_who_waits_counts_the_seconds(self):
        self.call("start", "1.1")
        self.call("check", "--quick", expect=1)
        with open(self.book / "build/exercise_runner.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            check = self.on_a_terminal("check", "--quick")
            check.wait_for("waiting for another ./tests/exercise that builds: 2 s")
        self.assertEqual(check.end(), 1)

    def test_sixty_columns_are_enough(self):
        self.call("start", "1")
        self.fill("1.1", "result = x * 2;")
        for words in (["list"], ["check", "--quick"], [], ["hint"], ["diff"], ["reset"], ["solution"]):
            command = self.on_a_terminal(*words, columns=60)
            command.end()
            for row in plain(command.shown).splitlines():
                self.assertLessEqual(len(row), 60, row)

    def test_nothing_of_it_is_in_git_s_way(self):
        ignored = (ROOT / ".gitignore").read_text().split()
        self.assertIn("/exercises/", ignored)
        self.assertIn("/build/", ignored)


# --- the parts ---------------------------------------------------------------------------------


class Lists(unittest.TestCase):
    def read(self, text):
        path = shelf / "01_one.txt"
        write(path, text)
        return blanks.read_list(path)

    def test_a_list_that_cannot_be_read_names_its_line(self):
        good = "lines: [a]\nbelongs: b\nhint: 1\nhint: 2\nhint: 3\n"
        for text, message in {
            "lines: [a]": r"01_one.txt:1: a line \[number title\] must come first",
            "[1.2 a]\n" + good: "01_one.txt:1: this is exercise 1.1, not 1.2",
            "[1.1 a]\nbelongs: b": "01_one.txt:1: 1.1 needs lines: and belongs:",
            "[1.1 a]\nlines: a": r"01_one.txt:2: lines: wants \[region\]",
            "[1.1 a]\nlines: [a]\nbelongs: b\nhint: 1": "01_one.txt:1: 1.1 has 1 hints, not 3",
            "[1.1 a]\nline: [a]": "01_one.txt:2: neither",
        }.items():
            with self.subTest(text), self.assertRaisesRegex(StaleList, message):
                self.read(text)

    def test_a_blank_whose_region_is_gone_is_rotten(self):
        blank = self.read(EXERCISES)[0]
        with self.assertRaisesRegex(StaleList, r"01_one/attention.hpp needs two lines //! \[division\]"):
            blanks.blanked(blank, "int x;\n")
        with self.assertRaisesRegex(StaleList, "has no function twice in"):
            blanks.blanked(self.read(EXERCISES)[1], "//! [twice]\nint x;\n//! [twice]\n")

    def test_filling_undoes_blanking(self):
        text = textwrap.dedent(CHAPTER).lstrip("\n")
        for blank in self.read(EXERCISES):
            emptied = blanks.blanked(blank, text)
            self.assertTrue(blanks.is_empty(blank, emptied))
            self.assertFalse(blanks.is_empty(blank, text))
            self.assertEqual(blanks.filled(blank, emptied, text).replace(blanks.INCLUDE + "\n", ""), text)

    def test_several_regions_can_be_blanked_again(self):
        blank = self.read(EXERCISES.replace("lines: [division]", "lines: [one] [two]"))[0]
        text = "//! [one]\nint a;\n//! [one]\n//! [two]\nint b;\n//! [two]\nint c;\n"
        emptied = blanks.blanked(blank, text)
        self.assertNotIn("int a", emptied)
        self.assertNotIn("int b", emptied)
        written = re.sub(CALL % "1.1", "int d;", emptied)
        self.assertIn("int d;", written)
        self.assertEqual(blanks.blanked(blank, written), emptied)

    def test_a_call_in_a_comment_is_not_a_blank(self):
        blank = self.read(EXERCISES)[0]
        self.assertFalse(blanks.is_empty(blank, '  // blank("1.1 the division", "result");\n'))

    def test_the_lines_after_a_filled_blank_keep_their_numbers(self):
        text = textwrap.dedent(CHAPTER).lstrip("\n")
        blank = self.read(EXERCISES)[1]
        emptied = blanks.blanked(blank, text)
        new = blanks.filled(blank, emptied, text, "/mine.hpp").splitlines()
        number = next(number for number, line in enumerate(new) if line.startswith("#line"))
        old = emptied.splitlines()
        self.assertEqual(new[number + 1], old[int(new[number].split()[1]) - 1])

    def test_the_book_has_enough_exercises_of_the_right_size(self):
        sizes, numbers = [], []
        for chapter in Book(ROOT).chapters:
            for blank in chapter.blanks:
                sizes.append(blanks.size(blank, chapter.text(blank.file)))
                numbers.append(blank.number)
        self.assertTrue(4 <= sorted(sizes)[len(sizes) // 2] <= 6, sizes)
        self.assertLessEqual(max(sizes), 20)
        self.assertEqual(len(numbers), len(set(numbers)))
        self.assertGreaterEqual(len(numbers), 28)


class Reading(unittest.TestCase):
    """What other programs say."""

    FAILURE = ('<TestCase name="a" filename="t.cpp" line="1"><Info>T = 2</Info>'
               '<Expression success="false" type="CHECK" filename="t.cpp" line="2"><Original>x == 1</Original>'
               '<Expanded>2 == 1</Expanded></Expression><OverallResult success="false"/></TestCase>')

    def test_the_xml_of_both_catch2_versions_is_understood(self):
        for begin, end in (('<Catch name="t"><Group name="t">', "</Group></Catch>"), ('<Catch2TestRun name="t">', "</Catch2TestRun>")):
            read = results.read(f'<?xml version="1.0"?>{begin}{self.FAILURE}<TestCase name="b" filename="t.cpp" line="5"/>{end}'.encode())
            self.assertTrue(read.complete)
            self.assertEqual(([test.name for test in read.failing], [test.name for test in read.passing]), (["a"], ["b"]))
            failure = read.failing[0].failures[0]
            self.assertEqual((failure.line, failure.original, failure.expanded, failure.infos), (2, "x == 1", "2 == 1", ["T = 2"]))

    def test_characters_that_xml_lacks_do_not_end_the_results(self):
        read = results.read(b'<Catch><TestCase name="a" filename="t" line="1"><Exception filename="t" line="2">a\x0cb\0\xff\xef\xbf\xbf'
                            b'</Exception></TestCase></Catch>')
        self.assertTrue(read.complete)
        self.assertEqual(read.failing[0].failures[0].message, "a\ufffdb\ufffd\ufffd\ufffd")

    def test_what_came_before_a_crash_counts(self):
        read = results.read(f'<Catch>{self.FAILURE}<TestCase name="b" filename="t.cpp" line="5"><Info>x'.encode())
        self.assertFalse(read.complete)
        self.assertEqual([test.name for test in read.interrupted], ["b"])
        self.assertEqual([test.name for test in read.failing], ["a"])

    def test_an_exception_within_a_check_is_told(self):
        read = results.read(b'<Catch><TestCase name="a" filename="t" line="1"><Expression success="false" filename="t" line="2">'
                            b'<Original>f()</Original><Expanded>f()</Expanded><Exception filename="t" line="2"> why </Exception>'
                            b'</Expression></TestCase></Catch>')
        told = [line.text for line in verdict.told(read.failing[0].failures[0])]
        self.assertEqual((len(read.failing[0].failures), told), (1, ["It threw: why"]))

    def test_a_check_of_words_shows_the_words_and_no_code(self):
        def told(original, expanded):
            return [line.text for line in verdict.told(results.Failure("Expression", "t", 1, original=original, expanded=expanded))]

        error = "message_of([&] { f(x); }), ContainsSubstring(\"nan\")"
        self.assertEqual(told(error, '"(nothing was thrown)" contains: "is nan"'), ["Nothing was thrown; it should say “is nan”."])
        self.assertEqual(told(error, '"bad" ( contains: "(4, 5)" and contains: "(3, 5)" )'),
                         ["The error says “bad”; it should say “(4, 5)” and “(3, 5)”."])
        self.assertEqual(told('wrong(x) == ""', '"3 of 4 are wrong\n  This looks like: a." == ""'),
                         ["3 of 4 are wrong", "This looks like: a."])
        self.assertEqual(told("a == b", "1 == 2"), ["This does not hold: a == b", "With its values: 1 == 2"])

    def test_the_guess_that_most_failures_share_is_shown(self):
        def failing(name, *guesses):
            return results.Test(name, "t", 1, [results.Failure("Expression", "t", 1, expanded=f"m\n  This looks like: {guess}.")
                                               for guess in guesses], True)

        summary = verdict.summary(results.Results([failing("a", "one", "two", "two"), failing("b", "three")], True), str)
        text = "\n".join(line.text for line in summary)
        self.assertIn("This looks like: two.", text)
        self.assertNotIn("one", text)
        self.assertIn("And “b” says:\nThis looks like: three.", text)

    def test_the_first_error_in_the_reader_s_file_is_found(self):
        clang = ("/usr/include/x.hpp:5:1: error: deep\n    code\n    ^\n"
                 "/mine/a.hpp:7:3: note: in instantiation of function 'f' requested here\n    f(x);\n    ^\n")
        error = compiler.first_error(clang, Path("/mine"))
        self.assertEqual((error.line, error.text, error.source), (7, "deep", ["    f(x);", "    ^"]))
        gcc = "/usr/x.hpp:1:1: error: first\n/mine/a.hpp:3:5: warning: w\n/mine/a.hpp:4:5: error: second\n    4 | x\n      | ^\n"
        self.assertEqual(compiler.first_error(gcc, Path("/mine")).text, "second")
        self.assertEqual(compiler.first_warning(gcc, Path("/mine")).line, 3)
        self.assertIsNone(compiler.first_error("ninja: error: no rule", Path("/mine")))
        self.assertIn("ninja: error", compiler.linker_error("ninja: error: no rule"))

    def test_reports_of_the_sanitizers_are_explained(self):
        report = sanitizers.report("==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n")
        self.assertIn("no longer exists", sanitizers.meaning(report))
        report = sanitizers.report("/mine/a.hpp:3:7: runtime error: signed integer overflow: 1 + 2\n")
        self.assertIn("beyond what its type can hold", sanitizers.meaning(report))
        self.assertEqual(sanitizers.report("all is well"), "")
        self.assertEqual(sanitizers.place("    #0 0x1 in f() /usr/b.hpp:1\n    #1 0x2 in g() /mine/a.hpp:9\n", Path("/mine")),
                         (Path("/mine/a.hpp"), 9))

    def test_a_program_that_gets_no_processor_gets_more_time(self):
        self.addCleanup(setattr, processes, "Times", processes.Times)
        processes.Times = lambda pid: types.SimpleNamespace(used=0.0, starved=0.35)
        start = time.monotonic()
        self.assertTrue(processes.run(["sleep", "60"], limit=0.1).too_long)
        self.assertTrue(0.44 < time.monotonic() - start < 5)

    def test_a_program_is_stopped_at_its_limit_whether_it_works_or_sleeps(self):
        for command in (["sleep", "60"], ["sh", "-c", "while :; do :; done"]):
            start = time.monotonic()
            done = processes.run(command, limit=0.5)
            self.assertTrue(done.too_long)
            self.assertLess(time.monotonic() - start, 4)
            self.assertEqual(done.busy > 0.1, command[0] == "sh")

    def test_nothing_that_a_program_has_started_outlives_it(self):
        for script in ("sleep 300 & echo $!", "sleep 300 >&- 2>&- & echo $!", "trap '' TERM; sleep 300 & echo $!; wait"):
            done = processes.run(["bash", "-c", script], limit=1)
            self.assertRegex(done.output, r"^\d+\n$")
            time.sleep(0.2)
            self.assertFalse(is_running(int(done.output)), script)

    @unittest.skipUnless(hasattr(resource, "prlimit"), "only Linux lets a process limit another one")
    def test_even_a_killed_runner_leaves_no_endless_loop(self):
        seconds = processes.run(["sh", "-c", "sleep 0.1; ulimit -t"], limit=20).output
        self.assertLessEqual(int(seconds), 23 * os.cpu_count())

    def test_of_what_is_printed_the_first_and_the_last_are_kept(self):
        done = processes.run(["sh", "-c", "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo last"])
        self.assertTrue(done.output.startswith("first\nxxx"))
        self.assertTrue(done.output.endswith("xxxlast\n"))
        self.assertEqual(done.lost, 5000000 + len("first\nlast\n") - 2 * processes.LIMIT_OF_OUTPUT)
        self.assertIn(f"[{done.lost:,} bytes are left out here]", done.output)

    def test_text_is_set_to_the_width(self):
        self.assertEqual(screen.wrapped("one two three", 8), ["one two", "three"])
        self.assertEqual(screen.wrapped("", 8), [""])


# --- the book itself ---------------------------------------------------------------------------


class RealBook(unittest.TestCase):
    """One long session with chapter 03, in a copy of the book that has never been built."""

    def test_a_reader_works_through_a_chapter(self):
        book = shelf / "the book"
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                               capture_output=True).stdout.decode().split("\0")
        for name in filter(None, files):
            (book / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, book / name)
        self.command, self.book = book / "tests/exercise", book
        self.copy = book / "exercises/03_scaling/attention.hpp"
        self.start()
        watch = Terminal([self.command, "watch", "--quick"], columns=60)
        self.addCleanup(watch.kill)
        watch.wait_for(SHOWN)
        self.wrong_and_right(watch)
        watch.interrupt()
        self.assertEqual(watch.end(), 0)
        self.through_plain_cmake()

    def say(self, *words, expect=0):
        done = subprocess.run([self.command, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def start(self):
        start = time.monotonic()
        self.assertIn("3.1 the division", self.say("start", "3"))
        print(f"(the first start took {time.monotonic() - start:.0f} s)", file=sys.stderr)

    def replace(self, number, lines):
        text, count = re.subn(CALL % number, lambda found: lines, self.copy.read_text(encoding="utf-8"), count=1)
        self.assertEqual(count, 1)
        self.copy.write_text(text, encoding="utf-8")

    def wrong_and_right(self, watch):
        """Each exercise is first written wrong, then as the solution says."""
        wrong = {"3.1": ("trace.scaled = trace.scores;", "the weights without the division by √d_k"),
                 "3.2": ("trace.weights = softmax(trace.scores);\n  trace.context = matmul(trace.weights, values);", "without the division"),
                 "3.3": ("return attend(matmul(X, W_query), matmul(X, W_key), matmul(X, W_value));", "non-finite input is rejected"),
                 "3.4": ("return scores;", "entries are wrong")}
        for number, (lines, words) in wrong.items():
            self.replace(number, lines)
            self.assertIn(words, " ".join(watch.wait_for(SHOWN).split()))
            self.assertIn("1 of 3", self.say("hint", number))
            self.say("reset", number)
            watch.wait_for(f"{number} .* is still empty[^✗]*{SHOWN}")
            solution = self.say("solution", number, "--insist").partition("\n")[2]
            self.replace(number, solution.strip())
            self.assertIn(f"✓ {number}", watch.wait_for(SHOWN))
        self.assertIn("4 of 4 passed", self.say())

    def through_plain_cmake(self):
        """The same with CMake and CTest alone, where a blank that is reached throws."""
        def run(*words):
            return subprocess.run(words, cwd=self.book, capture_output=True, text=True)

        self.say("reset", "3.2")
        self.assertEqual(run("cmake", "--preset", "exercise").returncode, 0)
        self.assertIn("Chapter 4 is not started. Type: ./tests/exercise start 4",
                      run("cmake", "--build", "--preset", "exercise", "--target", "test_04_causal_mask").stdout)
        built = run("cmake", "--build", "--preset", "exercise", "--target", "test_03_scaling")
        self.assertEqual(built.returncode, 0, built.stdout)
        self.assertNotIn("warning:", built.stdout)
        tested = run("ctest", "--preset", "exercise", "-L", "03")
        self.assertNotEqual(tested.returncode, 0)
        self.assertIn("3.2 the weighted sum is still empty. What belongs there: trace.weights,", " ".join(tested.stdout.split()))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with it ignored
    if set(sys.argv) & {"-h", "--help"}:
        print(__doc__.strip())
    else:
        unittest.main(verbosity=1)
