#include "common/command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>

#include "common/figure.hpp"
#include "common/whole_file.hpp"

namespace {

constexpr int user_error = 2;

/// Colour is for people: not for pipes and files, and not for those who have said so
/// (https://no-color.org).
bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool forbidden = no_color != nullptr && *no_color != '\0';
  const bool dumb = terminal != nullptr && std::strcmp(terminal, "dumb") == 0;
  return isatty(STDOUT_FILENO) == 1 && !forbidden && !dumb;
}

std::string standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

/// A reader that has gone away, such as `head`, has seen what it wanted to see.
/// @throws std::runtime_error when the text does not arrive for another reason, such as a full disk
void print_all(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!written || std::fflush(stdout) != 0) && errno != EPIPE) {
    throw std::runtime_error(std::string("cannot write to standard output: ") +
                             std::strerror(errno));
  }
}

/// The text as a number of the kind that `number` is. Nothing but the number may stand there, and
/// no sign that does not fit its kind.
template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

template <class Number>
Number number_between(const std::string& flag, const std::string& text, Number least, Number most) {
  Number number{};
  if (!read_number(text, number) || !(number >= least && number <= most)) {
    const char* kind = std::is_integral_v<Number> ? "whole number" : "number";
    throw CLI::ValidationError(
        fmt::format("{} {}: a {} from {} to {} is wanted", flag, text, kind, least, most));
  }
  return number;
}

/// A message on one line, whatever the reader has typed.
std::string on_one_line(std::string sentence) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  std::replace_if(sentence.begin(), sentence.end(), is_control, '?');
  return sentence;
}

}  // namespace

struct Command::Parts {
  std::string name;
  CLI::App app;
  Options options;

  Parts(std::string folder, const std::string& summary, std::string text)
      : name(std::move(folder)), app(summary, name) {
    options.text = std::move(text);
    app.set_help_flag("--help", "Print this help and exit");
    app.add_option("--text", options.text,
                   "The words that attend to each other; - reads them from standard input")
        ->capture_default_str();
    add_number<std::uint64_t>("--seed", options.seed, "Seed of all that is drawn at random", 0,
                              std::numeric_limits<std::uint64_t>::max(), "N");
    app.add_flag("--json", options.json, "Print every tensor of the walk as JSON");
    app.add_option_function<std::string>(
           "--figure",
           [this](const std::string& path) {
             if (path.empty()) throw CLI::ValidationError("--figure: the name of a file is wanted");
             options.figure = path;
           },
           "Draw the chapter's figure into this SVG file")
        ->type_name("FILE");
  }

  void add_switch(const std::string& flag, bool& value, const std::string& help) {
    app.add_option_function<std::string>(
           flag,
           [&value, flag](const std::string& text) {
             if (text != "on" && text != "off") {
               throw CLI::ValidationError(fmt::format("{} {}: on or off is wanted", flag, text));
             }
             value = text == "on";
           },
           help)
        ->type_name("on|off")
        ->default_str(value ? "on" : "off");
  }

  template <class Number>
  void add_number(const std::string& flag, Number& value, const std::string& help, Number least,
                  Number most, const std::string& placeholder) {
    app.add_option_function<std::string>(
           flag,
           [&value, flag, least, most](const std::string& text) {
             value = number_between(flag, text, least, most);
           },
           help)
        ->type_name(placeholder)
        ->default_str(fmt::format("{}", value));
  }

  void perform(const Walk& walk) {
    if (options.text == "-") options.text = standard_input();
    const Form form = options.json ? Form::json : wants_color() ? Form::colored : Form::plain;
    Report report(form, !options.figure.empty());
    walk(options, report);
    std::optional<WholeFile> figure;
    if (!options.figure.empty()) {
      figure.emplace(options.figure, heat_map_svg(report.panels(), app.get_description()));
    }
    print_all(report.content());
    if (figure) figure->put_in_place();
  }

  void parse_and_perform(int argc, char** argv, const Walk& walk) {
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      print_all(app.help());
      return;
    }
    perform(walk);
  }

  int refuse(const std::string& sentence) const {
    std::cerr << on_one_line(name + ": " + sentence) << "\n";
    return user_error;
  }
};

Command::Command(std::string name, std::string summary, std::string text)
    : parts_(std::make_unique<Parts>(std::move(name), summary, std::move(text))) {
  add_switch("--positions", parts_->options.positions,
             "Add to each word's vector the vector of its place");
}
Command::~Command() = default;

void Command::add_switch(const std::string& flag, bool& value, const std::string& help) {
  parts_->add_switch(flag, value, help);
}

void Command::add_count(const std::string& flag, std::size_t& value, const std::string& help,
                        std::size_t least, std::size_t most) {
  parts_->add_number<std::size_t>(flag, value, fmt::format("{} ({} to {})", help, least, most),
                                  least, most, "N");
}

void Command::add_number(const std::string& flag, double& value, const std::string& help,
                         double least, double most) {
  parts_->add_number<double>(flag, value, fmt::format("{} ({} to {})", help, least, most), least,
                             most, "X");
}

void Command::add_text(const std::string& flag, std::string& value, const std::string& help) {
  parts_->app.add_option(flag, value, help)->capture_default_str();
}

int Command::run(int argc, char** argv, const Walk& walk) {
  try {
    parts_->parse_and_perform(argc, argv, walk);
  } catch (const CLI::ParseError& error) {
    return parts_->refuse(std::string(error.what()) + " (--help lists the options)");
  } catch (const std::bad_alloc&) {
    return parts_->refuse("there is not enough memory for a text of this length");
  } catch (const std::exception& error) {
    return parts_->refuse(error.what());
  }
  return 0;
}
