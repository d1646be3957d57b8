#pragma once
/// @file
/// @brief The command line of a chapter's program: the options that all chapters share, and the
/// chapter's own.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/report.hpp"
#include "common/text.hpp"

/// The options of every chapter's program.
struct Options {
  std::string text =
      "draw a map";  ///< the words that attend to each other; "-": read them from standard input
  std::uint64_t seed = 42;  ///< of everything that is drawn at random
  bool positions = true;    ///< whether position embeddings are added
  bool json = false;        ///< print every tensor as JSON instead of text
  std::string figure;       ///< file to draw the chapter's figure into; empty: none
};

/// A program's command line: its options, its help, and one way to say what went wrong.
class CommandLine {
 public:
  /// @param name     what the messages begin with, such as "03_scaling"
  /// @param summary  one sentence for `--help`
  CommandLine(std::string name, const std::string& summary);
  ~CommandLine();

  /// An option whose value is "on" or "off".
  void add_switch(const std::string& flag, bool& value, const std::string& help);

  /// An option without a value.
  void add_flag(const std::string& flag, bool& value, const std::string& help);

  /// An option with a whole number from `least` to `most`.
  void add_count(const std::string& flag, std::size_t& value, const std::string& help,
                 std::size_t least, std::size_t most);

  /// An option with a number from `least` to `most`.
  void add_number(const std::string& flag, double& value, const std::string& help, double least,
                  double most);

  /// An option with words.
  void add_text(const std::string& flag, std::string& value, const std::string& help);

  /// An option whose value is the path of a file or a folder, and not empty.
  /// @param kind  what the help calls it, such as "FILE"
  void add_path(const std::string& flag, std::string& value, const std::string& help,
                const std::string& kind);

  /// The option `--seed`.
  void add_seed(std::uint64_t& value);

  /// A paragraph at the end of the help.
  void add_note(const std::string& text);

  /// Whether the reader has given the option. To be called from within `act` only.
  bool given(const std::string& flag) const;

  /// Reads the options, then calls `act`.
  /// @return the program's exit code: what `act` returns, or 2 after one sentence on standard error
  int run(int argc, char** argv, const std::function<int()>& act);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// A chapter's demo: the options that all chapters share, and a report.
///
/// The demo gets the options and an empty report, and fills the report.
class Command : public CommandLine {
 public:
  /// @param name     the chapter's folder, such as "03_scaling"
  /// @param summary  one sentence for `--help`
  /// @param text     the words to use when the reader gives none
  Command(std::string name, std::string summary, std::string text = "draw a map");

  using Demo = std::function<void(const Options&, Report&)>;

  /// @return the program's exit code: 0, or 2 after one sentence on standard error. After an
  ///         error nothing has been printed and no file has been written.
  int run(int argc, char** argv, const Demo& demo);

 private:
  void perform(const Demo& demo);

  std::string summary_;
  Options options_;
};
