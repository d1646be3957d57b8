/// @file
/// @brief The tensor utility and the plumbing in common/, as tests.

#include <atomic>
#include <cstdlib>
#include <limits>
#include <regex>
#include <thread>

#include "common/atomic_file.hpp"
#include "common/blas.hpp"
#include "common/color.hpp"
#include "common/figure.hpp"
#include "common/measure.hpp"
#include "common/memory.hpp"
#include "common/report.hpp"
#include "common/text.hpp"
#include "files.hpp"
#include "reference.hpp"
#include "support.hpp"

namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("matmul multiplies matrices of any shape") {
  Generator generator(1);
  for (const auto& [n, k, m] :
       {std::tuple(1U, 1U, 1U), std::tuple(1U, 5U, 3U), std::tuple(4U, 1U, 3U),
        std::tuple(4U, 5U, 1U), std::tuple(3U, 7U, 5U), std::tuple(33U, 65U, 17U)}) {
    const Matrix a = normal_matrix(n, k, generator);
    const Matrix b = normal_matrix(k, m, generator);
    CHECK_THAT(matmul(a, b), equals(reference::product(a, b)));
  }
}

TEST_CASE("matmul reads transposes and parts of matrices in place") {
  Generator generator(2);
  const Matrix a = normal_matrix(6, 5, generator);
  const Matrix b = normal_matrix(7, 9, generator);
  const Matrix a_turned = reference::transposed(a);
  CHECK_THAT(matmul(xt::transpose(a), a), equals(reference::product(a_turned, a)));
  CHECK_THAT(matmul(a, xt::transpose(a)), equals(reference::product(a, a_turned)));
  CHECK_THAT(matmul(xt::transpose(a), xt::transpose(a_turned)),
             equals(reference::product(a_turned, a)));

  const Matrix columns = xt::view(b, xt::all(), xt::range(2, 8));
  const Matrix rows = xt::view(b, xt::range(1, 6), xt::all());
  const Matrix block = xt::view(b, xt::range(1, 6), xt::range(2, 4));
  const Matrix one_column = xt::view(b, xt::range(0, 5), xt::range(3, 4));
  CHECK_THAT(matmul(xt::view(b, xt::all(), xt::range(2, 8)), a),
             equals(reference::product(columns, a)));
  CHECK_THAT(matmul(a, xt::view(b, xt::range(1, 6), xt::all())),
             equals(reference::product(a, rows)));
  CHECK_THAT(matmul(a, xt::view(b, xt::range(1, 6), xt::range(2, 4))),
             equals(reference::product(a, block)));
  CHECK_THAT(matmul(a, xt::view(b, xt::range(0, 5), xt::range(3, 4))),
             equals(reference::product(a, one_column)));
  CHECK_THAT(matmul(xt::transpose(xt::view(b, xt::range(1, 6), xt::range(2, 4))), xt::transpose(a)),
             equals(reference::product(reference::transposed(block), a_turned)));
}

TEST_CASE("matmul reads views of every second row and column") {
  Generator generator(3);
  const Matrix b = normal_matrix(8, 10, generator);
  const Matrix every_second = xt::view(b, xt::range(0, 8, 2), xt::range(0, 10, 2));
  const Matrix a = normal_matrix(3, 4, generator);
  CHECK_THAT(matmul(a, xt::view(b, xt::range(0, 8, 2), xt::range(0, 10, 2))),
             equals(reference::product(a, every_second)));
}

TEST_CASE("a product with inner size 0 is zero") {
  const Matrix a = matrix(3, 0);
  const Matrix b = matrix(0, 2);
  CHECK_THAT(matmul(a, b), equals(reference::make(3, 2)));
  CHECK(matmul(b, matrix(2, 4)).size() == 0);
}

TEST_CASE("matmul_into overwrites and matmul_add adds") {
  Generator generator(4);
  const Matrix a = normal_matrix(4, 3, generator);
  const Matrix b = normal_matrix(3, 5, generator);
  const Matrix product = reference::product(a, b);
  const Matrix twice = product * Real(2);
  Matrix out = matrix(4, 5);
  out.fill(std::numeric_limits<Real>::quiet_NaN());
  matmul_into(out, a, b);
  CHECK_THAT(out, equals(product));
  matmul_add(out, a, b);
  CHECK_THAT(out, equals(twice));
}

TEST_CASE("a product of finite numbers that overflows is refused") {
  const Real root = std::sqrt(std::numeric_limits<Real>::max());
  const Matrix unit = {{1, 0}, {0, root}};
  const Matrix fits = {{1, 0}, {0, root / 2}};
  const Matrix large = {{1, 0}, {0, root * 2}};
  const Matrix opposite = {{root * 2, root * 2}};
  const Matrix signs = {{root}, {-root}};
  const Matrix nan = {{std::numeric_limits<Real>::quiet_NaN(), 0}, {0, 0}};
  CHECK(std::isfinite(matmul(fits, unit)(1, 1)));
  CHECK_THAT(
      message_of([&] { matmul(large, unit); }),
      ContainsSubstring("matmul: (2, 2) times (2, 2) is inf at (1, 1): the entries are too large"));
  CHECK_THAT(message_of([&] { matmul(opposite, signs); }),
             ContainsSubstring("matmul: (1, 2) times (2, 1) is "));
  INFO("the caller decides about input that isn't finite");
  CHECK(std::isnan(matmul(nan, unit)(0, 0)));
}

TEST_CASE("a product is not written over its factors") {
  Generator generator(6);
  Matrix a = normal_matrix(4, 4, generator);
  const Matrix before = a;
  const Matrix b = normal_matrix(4, 4, generator);
  CHECK_THAT(
      message_of([&] { matmul_into(a, a, b); }),
      ContainsSubstring("matmul: the result (4, 4) shares memory with the first factor (4, 4)"));
  CHECK_THAT(message_of([&] { matmul_into(a, b, a); }),
             ContainsSubstring("shares memory with the second factor"));
  CHECK_THAT(message_of([&] { matmul_add(a, b, transposed(a)); }),
             ContainsSubstring("with the second factor"));
  CHECK_THAT(message_of([&] { matmul_into(part(a, 0, 4, 0, 2), a, part(b, 0, 4, 0, 2)); }),
             ContainsSubstring("the result (4, 2) shares memory with the first factor (4, 4)"));
  CHECK_THAT(message_of([&] {
               matmul_into(part(a, 1, 2, 0, 2), part(a, 0, 2, 1, 2), part(b, 0, 2, 0, 2));
             }),
             ContainsSubstring("the result (2, 2) shares memory"));
  CHECK(identical(a, before));
  INFO("columns side by side are separate memory, as for the heads of attention");
  matmul_into(part(a, 0, 4, 0, 2), part(a, 0, 4, 2, 2), part(b, 0, 2, 0, 2));
  const Matrix left = xt::view(a, xt::all(), xt::range(0, 2));
  CHECK_THAT(left, equals(reference::product(xt::view(before, xt::all(), xt::range(2, 4)),
                                             xt::view(b, xt::range(0, 2), xt::range(0, 2)))));
  matmul_into(part(a, 0, 2, 0, 4), part(a, 2, 2, 0, 4), b);
}

TEST_CASE("more threads than OpenBLAS has buffers can multiply at the same time") {
  Generator generator(5);
  const Matrix a = normal_matrix(150, 150, generator);
  use_one_thread_a_product();  // as every program that starts threads does
  const Matrix product = matmul(a, a);
  std::atomic<int> different = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 400; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 4; ++round) different += identical(matmul(a, a), product) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(different == 0);
}

TEST_CASE("shapes that don't fit are rejected with their numbers") {
  const Matrix a = matrix(3, 2);
  Matrix out = matrix(3, 3);
  CHECK_THAT(message_of([&] { matmul(a, a); }),
             ContainsSubstring("matmul: (3, 2) times (3, 2): the inner sizes 2 and 3 differ"));
  CHECK_THAT(message_of([&] { matmul_into(out, xt::transpose(a), a); }),
             ContainsSubstring("matmul: (2, 3) times (3, 2) is (2, 2), but the result is (3, 3)"));
  CHECK_THAT(message_of([&] { matmul_add(out, a, a); }), ContainsSubstring("inner sizes"));
  CHECK_THAT(message_of([&] { max_abs_difference(a, out); }),
             ContainsSubstring(
                 "the first matrix is (3, 2) but the second is (3, 3): the shapes must be equal"));
}

TEST_CASE("the BLAS chosen at configuration does the products and a slow one comes with advice") {
  const std::string built_with = BLAS_LIBRARIES;
  const std::string name = blas_name();
  const auto warning = slow_blas_warning();
  INFO("built with \"" << built_with << "\", answered by " << name);
  if (contains(built_with, "openblas")) {
    CHECK(std::regex_match(name, std::regex(R"(OpenBLAS \d+\.\d+\.\d+\S* \(\w+\))")));
    CHECK(!warning);
  } else if (built_with.empty()) {
    CHECK(name == "none: plain loops");
    REQUIRE(warning);
    CHECK(contains(*warning, "common/setup build"));
  } else {
    CHECK(name != "none: plain loops");
  }
}

#ifdef __x86_64__
TEST_CASE(
    "an OpenBLAS that doesn't know this processor uses kernels with its vector instructions") {
  const char* chosen = std::getenv("OPENBLAS_CORETYPE");
  if (chosen != nullptr && std::string(chosen) == "Prescott") return;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  CHECK_THAT(blas_name(), !ContainsSubstring("Prescott"));
}
#endif

TEST_CASE("max_abs_difference covers every entry and is nan when an entry is") {
  const Matrix a = {{1, 2}, {3, 4}};
  Matrix b = {{1, 2}, {3, 5}};
  CHECK(max_abs_difference(a, b) == 1);
  CHECK(nearly_equal(a, a));
  CHECK_FALSE(nearly_equal(a, b));
  b(0, 0) = std::numeric_limits<Real>::quiet_NaN();
  CHECK(std::isnan(max_abs_difference(a, b)));
  CHECK_FALSE(nearly_equal(a, b));
}

TEST_CASE("max_of and sum_of cover every element") {
  for (std::size_t size = 1; size < 40; ++size) {
    Vector numbers(Vector::shape_type{size});
    for (std::size_t i = 0; i < size; ++i) numbers(i) = static_cast<Real>(i % 7) - 3;
    Real sum = 0;
    Real largest = numbers(0);
    for (const Real number : numbers) {
      sum += number;
      largest = std::max(largest, number);
    }
    CHECK(sum_of(numbers) == sum);
    CHECK(max_of(numbers) == largest);
  }
  constexpr Real infinity = std::numeric_limits<Real>::infinity();
  CHECK(max_of({-infinity, -infinity}) == -infinity);
  CHECK(max_of({-infinity, -5}) == -5);
  CHECK(sum_of(Vector(Vector::shape_type{0})) == 0);
}

TEST_CASE("linear_weights equals PyTorch's weights bit for bit") {
  for (const Golden& golden : Golden::load("random")) {
    Generator generator(static_cast<std::uint64_t>(std::llround(golden["seed"](0, 0))));
    const Matrix first = linear_weights(5, 3, generator);
    const Matrix second = linear_weights(5, 3, generator);
    CHECK(identical(first, golden["first"]));
    CHECK(identical(second, golden["second"]));
  }
}

TEST_CASE("normal numbers have mean 0 and variance 1") {
  Generator generator(6);
  const Matrix numbers = normal_matrix(200, 200, generator);
  CHECK_THAT(static_cast<double>(xt::mean(numbers)()), WithinAbs(0, 0.02));
  CHECK_THAT(standard_deviation(numbers), WithinRel(1, 0.02));
  CHECK(std::isfinite(xt::amax(numbers)()));
}

TEST_CASE("half precision has 11 significant bits and nothing beyond 65504") {
  const Real infinity = std::numeric_limits<Real>::infinity();
  for (const Real exact : {Real(0), Real(1), Real(-0.5), Real(2048), Real(65504), -infinity}) {
    CHECK(rounded_to_half(exact) == exact);
  }
  CHECK(rounded_to_half(Real(2049)) == 2048);
  CHECK(rounded_to_half(Real(2051)) == 2052);
  CHECK(rounded_to_half(Real(65519)) == 65504);
  CHECK(rounded_to_half(Real(65520)) == infinity);
  CHECK(rounded_to_half(Real(-1e23)) == -infinity);
  CHECK(rounded_to_half(Real(-1e4)) == Real(-1e4));
  CHECK(rounded_to_half(std::ldexp(Real(1), -24)) == std::ldexp(Real(1), -24));
  CHECK(rounded_to_half(std::ldexp(Real(1), -26)) == 0);
  CHECK(std::isnan(rounded_to_half(std::numeric_limits<Real>::quiet_NaN())));
}

TEST_CASE("words are split at white space of every kind") {
  CHECK(split_words("  draw\ta\n map ") == std::vector<std::string>{"draw", "a", "map"});
  CHECK(split_words("a\u00A0b\u3000c") == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a byte order mark is not a part of the text") {
  CHECK(split_words("\uFEFFdraw a map") == std::vector<std::string>{"draw", "a", "map"});
  CHECK(split_words("draw \uFEFFa") == std::vector<std::string>{"draw", "\uFEFFa"});
  CHECK_THAT(message_of([] { split_words("\uFEFF"); }),
             ContainsSubstring("the text has no word in it"));
  CHECK_THAT(message_of([] { split_words("\uFEFFab\xFF"); }), ContainsSubstring("byte 5 is 0xFF"));
}

TEST_CASE("composed and decomposed accents give the same word") {
  CHECK(split_words("caf\u00E9") == split_words("cafe\u0301"));
}

TEST_CASE("a text without words or with invalid characters is rejected") {
  CHECK_THAT(message_of([] { split_words(""); }), ContainsSubstring("the text has no word in it"));
  CHECK_THAT(message_of([] { split_words(" \t\n"); }),
             ContainsSubstring("the text has no word in it"));
  CHECK_THAT(message_of([] { split_words("ab\xFFz"); }),
             ContainsSubstring("the text is not UTF-8: byte 2 is 0xFF"));
  CHECK_THAT(message_of([] { split_words("a \xC3"); }),
             ContainsSubstring("the text is not UTF-8: byte 2 is 0xC3"));
  CHECK_THAT(message_of([] { split_words("a \x1B[31m"); }),
             ContainsSubstring("the control character U+001B at byte 2"));
  CHECK_THAT(message_of([] { split_words(std::string("a\0b", 3)); }),
             ContainsSubstring("the control character U+0000 at byte 1"));
}

TEST_CASE("a text that is too long is rejected with the size of its scores") {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "w ";
  CHECK_THAT(message_of([&] { split_words(text); }),
             ContainsSubstring("100,000 x 100,000 = 10,000,000,000 scores"));
}

TEST_CASE("equal words have equal token embeddings and different words have different ones") {
  const Sequence input = embed(split_words("the map the city"), 6, false);
  CHECK(identical(reorder_rows(input.X, {0}), reorder_rows(input.X, {2})));
  CHECK_FALSE(identical(reorder_rows(input.X, {0}), reorder_rows(input.X, {1})));
  CHECK(identical(input.position_embeddings, reference::make(4, 6)));
}

TEST_CASE("position embeddings are the sines and cosines of the first transformer") {
  const Matrix places = embed(split_words("a b c"), 4, true).position_embeddings;
  CHECK(places(0, 0) == 0);
  CHECK(places(0, 1) == 1);
  CHECK_THAT(places(2, 0), WithinRel(std::sin(2.0), tolerance));
  CHECK_THAT(places(2, 1), WithinRel(std::cos(2.0), tolerance));
  CHECK_THAT(places(2, 2), WithinRel(std::sin(2.0 / 100), tolerance));
  CHECK_THAT(places(2, 3), WithinRel(std::cos(2.0 / 100), tolerance));
}

TEST_CASE("display_width counts terminal columns") {
  CHECK(display_width("map") == 3);
  CHECK(display_width("cafe\u0301") == 4);
  CHECK(display_width("地図") == 4);
  CHECK(display_width("\U0001F600") == 2);
  CHECK(display_width("\U0001F1E9\U0001F1EA") == 2);
  CHECK(display_width("\U0001F468\u200D\U0001F469\u200D\U0001F467") == 2);
  CHECK(clip("a long word", 6) == "a lon…");
  CHECK(clip("地図帳", 4) == "地…");
  CHECK(clip("short", 5) == "short");
}

TEST_CASE("for_shell quotes a name that the shell would interpret") {
  CHECK(for_shell("build/gpt2") == "build/gpt2");
  CHECK(for_shell("a+b_1.0=2,@%:-") == "a+b_1.0=2,@%:-");
  CHECK(for_shell("my model") == "'my model'");
  CHECK(for_shell("$HOME") == "'$HOME'");
  CHECK(for_shell("it's") == R"('it'\''s')");
  CHECK(for_shell("kä") == "'kä'");
  CHECK(for_shell("") == "''");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(7) == "7");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1769472) == "1,769,472");
}

TEST_CASE("a report shows a matrix with its labels") {
  Report report;
  report.section("trace", "A forward pass");
  report.matrix({"scores", "X Xᵀ", {"draw", "地図"}, {"draw", "地図"}},
                {{1, -2}, {Real(-0.00001), 3}});
  CHECK(report.content() ==
        "== A forward pass ==\n"
        "scores = X Xᵀ   (2, 2)\n"
        "           draw     地図\n"
        "  draw   1.0000  -2.0000\n"
        "  地図   0.0000   3.0000\n");
}

TEST_CASE("a JSON report has every number with all its digits") {
  Report report(Form::json);
  report.section("trace", "A forward pass");
  report.matrix({"mask", "", {}, {"a", "b"}}, {{0, -std::numeric_limits<Real>::infinity()}});
  report.count("parameters", 1769472, "weights");
  report.check("symmetric", false, "the scores are symmetric");
  CHECK(report.content() ==
        R"({"trace":{"mask":{"shape":[1,2],"rows":[],"columns":["a","b"],"values":[[0.0,"-inf"]]},)"
        R"("parameters":1769472,"symmetric":false}})"
        "\n");
}

TEST_CASE("large matrices are shortened to their first and last entries") {
  Report report;
  report.section("trace", "A forward pass");
  report.matrix({"zeros", "", numbered("t", 2048), {}}, reference::make(2048, 3));
  CHECK(contains(report.content(), "  t4 "));
  CHECK_FALSE(contains(report.content(), "  t5 "));
  CHECK(contains(report.content(), "\n  …\n"));
  CHECK(contains(report.content(), "  t2048"));
}

TEST_CASE("a report rejects NaN") {
  Report report;
  report.section("trace", "A forward pass");
  const Matrix nan = {{0, std::numeric_limits<Real>::quiet_NaN()}};
  CHECK_THAT(message_of([&] {
               report.matrix({"scores", "", {}, {}}, nan);
             }),
             ContainsSubstring("scores(0, 1) is not a number"));
  CHECK_THAT(message_of([&] {
               report.matrix({"scores", "", {"a"}, {}}, reference::make(2, 2));
             }),
             ContainsSubstring("scores has 2 rows but 1 names for them"));
}

TEST_CASE("a coloured report shows a matrix as a heat map") {
  Report report(Form::colored);
  report.section("trace", "A forward pass");
  report.matrix({"scores", "", {}, {}}, {{1, -1}});
  CHECK(contains(report.content(), "\033[48;2;29;100;190m"));
  CHECK(contains(report.content(), "\033[48;2;198;88;12m"));
}

TEST_CASE("text on every colour of the scale has enough contrast") {
  for (int step = -40; step <= 40; ++step) {
    const Color c = ColorScale{40}.of(step);
    const double light = luminance(c) + 0.05;
    const double contrast = wants_black_text(c) ? light / 0.05 : 1.05 / light;
    INFO("value " << step << " of 40: contrast " << contrast);
    CHECK(contrast >= 4.5);
  }
}

TEST_CASE("a figure escapes its text and has a description") {
  const std::string svg =
      heat_map_svg({{"scores", {{1, 2}}, {"<b>"}, {"a&b", "\"q\""}}}, "Scores of <two> tokens");
  CHECK(contains(svg, "<title>Scores of &lt;two&gt; tokens</title>"));
  CHECK(contains(svg, ">&lt;b&gt;</text>"));
  CHECK(contains(svg, ">a&amp;b</text>"));
  CHECK(contains(svg, ">&quot;q&quot;</text>"));
  CHECK_THAT(message_of([] {
               heat_map_svg({{"scores", reference::make(65, 3), {}, {}}}, "");
             }),
             ContainsSubstring("the figure's scores is (65, 3): at most 64"));
}

TEST_CASE("an atomic write replaces a file completely or not at all") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "figure.svg";
  AtomicFile(path, "first").commit();
  {
    const AtomicFile abandoned(path, "never");
    CHECK(content_of(path) == "first");
    CHECK(folder.files() == 2);
  }
  CHECK(folder.files() == 1);
  fs::create_symlink(path, folder.path() / "link.svg");
  AtomicFile(folder.path() / "link.svg", "second").commit();
  CHECK(content_of(path) == "second");
  CHECK(folder.files() == 2);
  CHECK_THAT(message_of([&] { AtomicFile(folder.path() / "no" / "figure.svg", "x"); }),
             ContainsSubstring("No such file or directory"));
  CHECK_THAT(message_of([&] { AtomicFile(path / "figure.svg", "x"); }),
             ContainsSubstring("Not a directory"));
  CHECK_THAT(message_of([&] { AtomicFile(folder.path(), "x"); }),
             ContainsSubstring("it is a folder"));
  CHECK_THAT(message_of([] { AtomicFile("/dev/null", "x"); }),
             ContainsSubstring("it is not a regular file"));
  CHECK(folder.files() == 2);
}

TEST_CASE("an atomic write follows a symbolic link") {
  const TemporaryFolder folder;
  fs::create_symlink("second", folder.path() / "first");
  fs::create_symlink(folder.path() / "file", folder.path() / "second");
  AtomicFile(folder.path() / "first", "content").commit();
  CHECK(content_of(folder.path() / "file") == "content");
  CHECK(fs::is_symlink(folder.path() / "first"));
  CHECK(fs::is_symlink(folder.path() / "second"));
  fs::create_symlink("there", folder.path() / "here");
  fs::create_symlink("here", folder.path() / "there");
  CHECK_THAT(message_of([&] { AtomicFile(folder.path() / "here", "x"); }),
             ContainsSubstring("without end"));
}

TEST_CASE("an atomic write keeps the file's permissions") {
  const TemporaryFolder folder;
  const fs::path path = folder.add("private", "first");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  AtomicFile(path, "second").commit();
  CHECK(content_of(path) == "second");
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("an atomic write in parts is invisible before its commit") {
  const TemporaryFolder folder;
  const fs::path path = folder.add("weights", "before");
  AtomicFile file(path);
  file.write("one ", 4);
  file.write(nullptr, 0);
  file.write("two", 3);
  file.flush();
  CHECK(content_of(path) == "before");
  file.commit();
  CHECK(content_of(path) == "one two");
  CHECK(folder.files() == 1);
}

TEST_CASE("a full disk leaves the old file and no temporary one") {
  const TemporaryFolder folder;
  const fs::path path = folder.add("weights", "before");
  {
    const SmallDisk small(100000);
    CHECK_THAT(message_of([&] { AtomicFile(path, std::string(200000, 'x')); }),
               ContainsSubstring("weights: File too large"));
    CHECK_THAT(message_of([&] {
                 AtomicFile file(path);
                 for (int i = 0; i < 200000; ++i) file.write("x", 1);
                 file.commit();
               }),
               ContainsSubstring("weights: File too large"));
  }
  CHECK(content_of(path) == "before");
  CHECK(folder.files() == 1);
}

TEST_CASE("temporary files of killed programs are removed and other files are not") {
  const TemporaryFolder folder;
  folder.add("weights.999999999.unfinished", "left by a program that was killed");
  for (const char* other :
       {"weights.unfinished", "weights..unfinished", "weights.1.unfinished.svg",
        "other.1.unfinished", "weights.1x.unfinished", "my_weights.1.unfinished"}) {
    folder.add(other, "someone's");
  }
  const fs::path path = folder.path() / "weights";
  AtomicFile first(path);
  const fs::path half_written = folder.path() / fmt::format("weights.{}.unfinished", getpid());
  CHECK(fs::exists(half_written));
  CHECK_FALSE(fs::exists(folder.path() / "weights.999999999.unfinished"));
  CHECK_THAT(message_of([&] { AtomicFile second(path); }),
             ContainsSubstring("File exists"));  // the first lives on
  CHECK(fs::exists(half_written));
  first.commit();
  CHECK(folder.files() == 7);
}

namespace {

/// A folder that looks like the root of a system with 8 GB, of which 4 GB are available.
class FakeSystem {
 public:
  FakeSystem() { add("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n"); }

  void add(const std::string& name, const std::string& content) const {
    fs::create_directories((folder_.path() / name).parent_path());
    folder_.add(name, content);
  }

  double available() const { return available_memory(folder_.path().string()); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("available memory is what the system says or what a container leaves") {
  const FakeSystem system;
  CHECK(system.available() == 4000000.0 * 1024);
  system.add("proc/self/cgroup", "0::/\n");
  system.add("sys/fs/cgroup/memory.max", "max\n");
  system.add("sys/fs/cgroup/memory.current", "3000000000\n");
  CHECK(system.available() == 4000000.0 * 1024);
  system.add("sys/fs/cgroup/memory.max", "2000000000\n");
  system.add("sys/fs/cgroup/memory.current", "1983000000\n");
  CHECK(system.available() == 17e6);
  INFO("files that the system keeps at hand are given up when memory is needed");
  system.add("sys/fs/cgroup/memory.stat",
             "anon 100\nfile 1500000000\ninactive_file 900000000\nactive_file 500000000\n"
             "slab_reclaimable 100000000\nslab_unreclaimable 7\n");
  CHECK(system.available() == 17e6 + 1500e6);
}

TEST_CASE("available memory is limited by every group around a program") {
  const FakeSystem system;
  system.add("proc/self/cgroup", "0::/outer/inner\n");
  system.add("sys/fs/cgroup/outer/memory.max", "1000\n");
  system.add("sys/fs/cgroup/outer/memory.current", "400\n");
  system.add("sys/fs/cgroup/outer/inner/memory.max", "900\n");
  system.add("sys/fs/cgroup/outer/inner/memory.current", "100\n");
  CHECK(system.available() == 600);
  system.add("sys/fs/cgroup/outer/memory.current", "1400\n");
  CHECK(system.available() == 0);
}

TEST_CASE("available memory knows the limits of the first version of cgroups") {
  const FakeSystem system;
  system.add("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/12ab\n0::/\n");
  system.add("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  system.add("sys/fs/cgroup/memory/memory.usage_in_bytes", "7000000000\n");
  CHECK(system.available() == 4000000.0 * 1024);
  system.add("sys/fs/cgroup/memory/docker/12ab/memory.limit_in_bytes", "2000000000\n");
  system.add("sys/fs/cgroup/memory/docker/12ab/memory.usage_in_bytes", "1900000000\n");
  CHECK(system.available() == 100e6);
  system.add("sys/fs/cgroup/memory/docker/12ab/memory.stat",
             "inactive_file 1\ntotal_inactive_file 300000000\ntotal_active_file 500000000\n");
  CHECK(system.available() == 900e6);
}

TEST_CASE("read_file returns the whole content or throws") {
  const TemporaryFolder folder;
  const std::string content(100000, 'x');
  const fs::path path = folder.add("text", content);
  CHECK(read_file(path, 100000) == content);
  CHECK_THAT(message_of([&] { read_file(path, 99999); }),
             ContainsSubstring("text: it has more than 99,999 bytes"));
  CHECK(read_file(folder.add("empty", ""), 0).empty());
  CHECK_THAT(message_of([&] { read_file(folder.path() / "no", 9); }),
             ContainsSubstring("no: No such file or directory"));
  CHECK_THAT(message_of([&] { read_file(folder.path(), 9); }), ContainsSubstring("it is a folder"));
  CHECK_THAT(message_of([] { read_file("/dev/zero", 1000); }),
             ContainsSubstring("more than 1,000 bytes"));
  CHECK(read_regular_file(path, 100000) == content);
  CHECK_THAT(message_of([] { read_regular_file("/dev/zero", 1000); }),
             ContainsSubstring("it is not a regular file"));
}

TEST_CASE("entropy and Jacobian norm of known rows of weights") {
  CHECK_THAT(entropy_bits({Real(0.25), Real(0.25), Real(0.25), Real(0.25)}),
             WithinRel(2, tolerance));
  CHECK(entropy_bits({1, 0, 0}) == 0);
  CHECK(softmax_jacobian_norm({1, 0, 0}) == 0);
  CHECK_THAT(softmax_jacobian_norm({Real(0.5), Real(0.5)}),
             WithinRel(0.5, tolerance));  // four entries of ±1/4
  CHECK_THAT(standard_deviation({{1, 3}, {1, 3}}), WithinRel(1, tolerance));
  CHECK(argmax({{1, 5, 5}, {9, 0, 0}}, 0) == 1);
}
