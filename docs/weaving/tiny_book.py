"""A book of two tiny chapters about means, for the tests of docs/weave."""

FIRST_MECHANISM = """\
#pragma once

//! [mean]
/// The mean of all days.
inline double mean(const Days& days) {
  //! [sum]
  double sum = 0;  // of the degrees
  //! [loop]
  // Plain addition: the days are few.
  for (double day : days) sum += day;
  //! [loop]
  //! [sum]
  return sum / days.size();
}
//! [mean]
"""

SECOND_MECHANISM = FIRST_MECHANISM.replace("sum = 0;", "sum = 0.0;") + """
//! [window]
/// The mean of each window of two days.
inline Days moving_mean(const Days& days) {
  Days means;
  for (int i = 1; i < days.size(); ++i) means.push_back((days[i - 1] + days[i]) / 2);
  return means;
}
//! [window]
"""

PROGRAM = """\
#!/bin/sh
form=text days="3, 5, 10" picture=
while [ $# -gt 0 ]; do
  case $1 in
    --json) form=json ;;
    --figure) picture=$2; shift ;;
    --text) days=$2; shift ;;
    *) echo "${0##*/}: there is no option $1" >&2; exit 2 ;;
  esac
  shift
done
echo run >> "${0%/*}/runs"
if [ "$picture" ]; then echo "<svg><!-- $days --></svg>" > "$picture"; fi
if [ $form = json ]; then
  echo '{"moving": {"cold days": {"shape": [2, 2], "values": [[4.0, -0.2549], [0.125, 7.5]]},'
  echo ' "share": 0.8961, "count": 1769472, "holds": true}}'
  exit
fi
echo "== The days =="
echo "$days"
echo
echo "== The means, by hand =="
echo
echo "means   4.0000   7.5000  "
echo "total   11.5000"
echo "coldest -0.2549"
echo
echo "== The means of the days =="
echo "and 0.30 more"
"""

FIRST_README = """\
<!-- changes: nothing before it -->
# One mean

The **mean** is 6. [✓][the mean of one day is the day]

<!-- listing: attention.hpp [mean] -->
<!-- end -->
<!-- graph: "From days to their mean" -->

<!-- tests -->
<!-- end -->
"""

SECOND_README = """\
<!-- changes: a window | of two days -->
# Moving means

<!-- constants: 0.5 -->
<!-- A remark, which is no marker -->
One `.5` is a constant, `v1.2.3` isn't a number, and 11.5000 and $-0.2549$ follow below.
A **moving mean** has a **window**. Day two gives 89.6 %<!-- = moving.share --> and the coldest is **−0.25**<!-- = moving.cold
days[0][1] -->, of 1,769,472<!-- = moving.count -->. [✓][order
matters now] See [the diff](#the-diff) and [the start](../01_mean/README.md#one-mean "0.5").

<!-- listing: attention.hpp [loop] without-comments -->
<!-- end -->
1. In a list:

   <!-- output: [means, by] from "means" lines 2 -- -->
   <!-- end -->

<!-- output: [the days] -- --text "`1` ```2```" -->
<!-- end -->
<!-- output: fails -- --wrong -->
<!-- end -->
<!-- output: [by hand] -- -->
<!-- end -->

## Exercises

1. Add up the days. [Answer](../../docs/answers.md#02-exercise-1)
2. How many windows have
   three days? [Answer](../../docs/answers.md#02-exercise-2)

## The diff

<!-- diff: [sum] -->
<!-- end -->
<!-- diff: [window] -->
<!-- end -->
<!-- figure: means.svg "Means of 4.0000 degrees" -- --text "1, 2" -->
<!-- end -->
<!-- live: 2 window "A window to move" -- --text "1, 2, 3" -->
<!-- end -->

<!-- tests -->
<!-- end -->
"""

FRONT = """\
# Means

Keep a **record**; see 7.5000. [✓][order matters now] [✓][the mean of one day is the day]

<!-- chapters -->
<!-- end -->
<!-- output: 2 [by hand] -->
<!-- end -->
<!-- figure: 1 front.svg "All means" -->
<!-- end -->
<!-- command: ./chapters/diff 2 --stat --machine -->
<!-- end -->
One share is 0.90<!-- = 2 moving.share -->.

<!-- tests -->
<!-- end -->
"""

GLOSSARY = """\
# Glossary

## mean

The sum over the number of days.

<!-- defined: 01 also means, mean of one day -->
<!-- end -->

## moving mean

A mean of the last days.

<!-- defined: 02 -->
<!-- end -->

## window

The days that a moving mean covers.

<!-- defined: 02 everyday -->
<!-- end -->

## record

What a test says.

<!-- defined: front -->
<!-- end -->
"""

ANSWERS = """\
# Answers

### 02, exercise 1

<details>
<summary>Answer</summary>

Their sum is 18.

</details>

### 02, exercise 2

<details>
<summary>Answer</summary>

Two.

</details>
"""

FIRST_TESTS = """\
// TEST_CASE("a test that is commented out", "[A1]")
TEST_CASE("the mean of one day is the day", "[A1]") {}
"""

SECOND_TESTS = """\
TEST_CASE("order matters "
          "now", "[A1][.slow][A2]") {}
TEST_CASE("half is 0.75") {}
TEMPLATE_TEST_CASE("a window of all days is the mean", "[A2]", float, double) {}
"""

FAKE_COUNTER = """\
#!/bin/sh
echo "6 1"
"""

FILES = {
    "README.md": FRONT,
    "chapters/01_mean/README.md": FIRST_README,
    "chapters/01_mean/attention.hpp": FIRST_MECHANISM,
    "chapters/01_mean/main.cpp": "int main() {}\n",
    "chapters/02_window/README.md": SECOND_README,
    "chapters/02_window/attention.hpp": SECOND_MECHANISM,
    "chapters/02_window/main.cpp": "int main() {}\n",
    "common/tensor.hpp": "//! [days]\nusing Days = std::vector<double>;\n//! [days]\n",
    "docs/answers.md": ANSWERS,
    "docs/glossary.md": GLOSSARY,
    "docs/budgets.txt": "# chapter, most lines\n02 40\n",
    "tests/coverage.txt": "# id, chapters, statement\nA1 01,02  a mean\n\nA2   02   windows, 07\n"
                          "A3   07   a chapter that is not written yet\n",
    "tests/01_mean.cpp": FIRST_TESTS,
    "tests/02_window.cpp": SECOND_TESTS,
}
PROGRAMS = ("build/release/chapters/01_mean", "build/release/chapters/02_window")
PAGE = "chapters/02_window/README.md"
MECHANISM = "chapters/02_window/attention.hpp"


def write_book(root):
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for name in PROGRAMS:
        write_program(root / name, PROGRAM)
    write_program(root / "chapters/diff", FAKE_COUNTER)


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
