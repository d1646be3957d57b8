/// @file
/// @brief Feeds a reader with files that are almost right: known ones, changed at random in a few
/// places.
///
/// usage: fuzz_NAME SECONDS FILE...
///
/// The same program tries the same inputs in the same order every time. The one that is being tried
/// is in fuzz_NAME.input: after a failure, `fuzz_NAME 0 fuzz_NAME.input` tries it again.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "common/atomic_file.hpp"
#include "reader.hpp"

namespace {

constexpr std::size_t largest_file = 100'000'000;
constexpr time_t longest_try = 60;  // seconds of the processor; a reader that takes longer hangs

/// What readers of JSON and of sizes stumble over.
const std::vector<std::string> words = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        ",",
                                        ":",
                                        "\\",
                                        "\\u0000",
                                        "\\ud800",
                                        "null",
                                        "true",
                                        "{}",
                                        "[]",
                                        "0",
                                        "-0",
                                        "-1",
                                        "1",
                                        "2",
                                        "4",
                                        "7",
                                        "8",
                                        "0.5",
                                        "1e-5",
                                        "1e400",
                                        "-1e400",
                                        "NaN",
                                        "Infinity",
                                        "255",
                                        "256",
                                        "65536",
                                        "2147483648",
                                        "4294967296",
                                        "4611686018427387904",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "\"dtype\":",
                                        "\"shape\":",
                                        "\"data_offsets\":",
                                        "\"__metadata__\":{",
                                        "\"F32\"",
                                        "\"F64\"",
                                        "\"n_embd\":",
                                        "\"n_head\":",
                                        "\"attn_pdrop\":",
                                        "\"a\"",
                                        "é",
                                        "\xC3",
                                        "\xFF",
                                        "\xF0\x9F\x98\x80",
                                        "\xED\xA0\x80",
                                        std::string(1, '\0'),
                                        std::string(8, '\0'),
                                        std::string("\0\0\xC0\x7F", 4),
                                        std::string(100, '['),
                                        std::string(8, ' ')};

/// Random changes to a text, one after the other.
class Mutation {
 public:
  Mutation(std::mt19937_64& engine, const std::vector<std::string>& files)
      : engine_(engine), files_(files), text_(files[below(files.size())]) {}

  std::string text() {
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) change();
    return text_;
  }

 private:
  /// A random number from 0 to `end` - 1; 0 if `end` is 0.
  std::size_t below(std::size_t end) { return end == 0 ? 0 : engine_() % end; }

  std::size_t place() { return below(text_.size() + 1); }

  void change() {
    switch (below(8)) {
      case 0:
        return flip_a_bit();
      case 1:
        text_.insert(place(), words[below(words.size())]);
        return;
      case 2:
        text_.erase(place(), 1 + below(1 + below(32)));
        return;
      case 3:
        text_.insert(place(), text_.substr(place(), 1 + below(64)));
        return;
      case 4:
        text_.resize(place());
        return;
      case 5:
        return splice();
      default:
        return replace_a_number();
    }
  }

  void flip_a_bit() {
    if (!text_.empty()) text_[below(text_.size())] ^= static_cast<char>(1U << below(8));
  }

  void splice() {
    const std::string& other = files_[below(files_.size())];
    text_.insert(place(), other.substr(below(other.size() + 1), 1 + below(128)));
  }

  void replace_a_number() {
    const std::size_t begin = text_.find_first_of("0123456789", place());
    if (begin == text_.npos) return;
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", begin), text_.size());
    text_.replace(begin, end - begin, words[below(words.size())]);
  }

  std::mt19937_64& engine_;
  const std::vector<std::string>& files_;
  std::string text_;
};

/// The input that is being tried, in a file that outlives a crash.
class LastInput {
 public:
  explicit LastInput(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail("cannot write " + path);
  }
  ~LastInput() { close(file_); }
  LastInput(const LastInput&) = delete;
  LastInput& operator=(const LastInput&) = delete;

  void keep(const std::string& input) const {
    const auto written = pwrite(file_, input.data(), input.size(), 0);
    if (written != static_cast<ssize_t>(input.size()) || ftruncate(file_, written) != 0) {
      fail("the input cannot be kept");
    }
  }

 private:
  int file_;
};

void keep_and_try(const LastInput& last, const std::string& input) {
  last.keep(input);
  const itimerval limit{{0, 0}, {longest_try, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);  // ends the program
  try_input(input);
}

/// The files as they are, and then changed until the time is over. Returns how many were tried.
std::size_t try_all(const std::vector<std::string>& files, int seconds, const LastInput& last) {
  constexpr std::size_t largest_to_mutate = 10'000;
  std::vector<std::string> small;
  for (const std::string& file : files) {
    keep_and_try(last, file);
    if (file.size() <= largest_to_mutate) small.push_back(file);
  }
  std::size_t tried = files.size();
  std::mt19937_64 engine(2017);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (; std::chrono::steady_clock::now() < end && !small.empty(); ++tried) {
    keep_and_try(last, Mutation(engine, small).text());
  }
  return tried;
}

}  // namespace

void fail(const std::string& reason) {
  std::fprintf(stderr, "%s\n", reason.c_str());
  std::abort();
}

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (arguments.size() < 3) fail("usage: fuzz_NAME SECONDS FILE...");
  std::vector<std::string> files;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    files.push_back(read_file(arguments[i], largest_file));
  }
  const LastInput last(arguments[0] + ".input");
  const std::size_t tried = try_all(files, std::stoi(arguments[1]), last);
  fmt::print("{} inputs\n", tried);
}
