#include "common/command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <map>

#include "common/figure.hpp"

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

/// @throws std::runtime_error when the text does not arrive (a full disk, say). A reader that has
/// gone away, such
///         as `head`, has seen what it wanted to see.
void print_all(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!written || std::fflush(stdout) != 0) && errno != EPIPE) {
    throw std::runtime_error(std::string("cannot write to standard output: ") +
                             std::strerror(errno));
  }
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
    app.add_option("--seed", options.seed, "Seed of all that is drawn at random")
        ->capture_default_str();
    app.add_flag("--json", options.json, "Print every tensor of the walk as JSON");
    app.add_option("--figure", options.figure, "Draw the chapter's figure into this SVG file")
        ->type_name("FILE");
  }

  void add_switch(const std::string& flag, bool& value, const std::string& help) {
    const std::map<std::string, bool> states = {{"on", true}, {"off", false}};
    app.add_option(flag, value, help)
        ->transform(CLI::CheckedTransformer(states).description(""))
        ->type_name("on|off")
        ->default_str(value ? "on" : "off");
  }

  void perform(const Walk& walk) {
    if (options.text == "-") options.text = standard_input();
    const Form form = options.json ? Form::json : wants_color() ? Form::colored : Form::plain;
    Report report(form, !options.figure.empty());
    walk(options, report);
    if (!options.figure.empty()) {
      write_whole_file(options.figure, heat_map_svg(report.panels(), app.get_description()));
    }
    print_all(report.content());
  }

  int refuse(const std::string& sentence) const {
    std::cerr << name << ": " << sentence << "\n";
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
  parts_->app.add_option(flag, value, help)
      ->check(CLI::Range(least, most))
      ->type_name("N")
      ->capture_default_str();
}

void Command::add_number(const std::string& flag, double& value, const std::string& help,
                         double least, double most) {
  parts_->app.add_option(flag, value, help)
      ->check(CLI::Range(least, most))
      ->type_name("X")
      ->capture_default_str();
}

void Command::add_text(const std::string& flag, std::string& value, const std::string& help) {
  parts_->app.add_option(flag, value, help)->capture_default_str();
}

int Command::run(int argc, char** argv, const Walk& walk) {
  try {
    parts_->app.parse(argc, argv);
    parts_->perform(walk);
  } catch (const CLI::CallForHelp&) {
    print_all(parts_->app.help());
  } catch (const CLI::ParseError& error) {
    return parts_->refuse(std::string(error.what()) + " (--help lists the options)");
  } catch (const std::bad_alloc&) {
    return parts_->refuse("there is not enough memory for a text of this length");
  } catch (const std::exception& error) {
    return parts_->refuse(error.what());
  }
  return 0;
}
