#include "common/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <optional>

#include "common/atomic_file.hpp"
#include "common/figure.hpp"
#include "common/text.hpp"

namespace {

constexpr int user_error = 2;

/// Colour is for terminals, and only for readers who haven't turned it off
/// (https://no-color.org).
bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool forbidden = no_color != nullptr && *no_color != '\0';
  const bool dumb = terminal != nullptr && std::strcmp(terminal, "dumb") == 0;
  return isatty(STDOUT_FILENO) == 1 && !forbidden && !dumb;
}

/// Occupies standard streams that are closed, so that no file which the program opens becomes its
/// standard output.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream) std::_Exit(user_error);
  }
}

/// @throws std::runtime_error when it does not end
std::string standard_input() {
  constexpr std::size_t most = 100'000'000;
  std::string content;
  std::array<char, 65536> part;
  while (std::cin.read(part.data(), part.size()), std::cin.gcount() > 0) {
    content.append(part.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (content.size() > most) {
      throw std::runtime_error("standard input has more than " + grouped(most) + " bytes");
    }
  }
  return content;
}

/// Whether standard output is a pipe or connection whose reader has gone.
bool reader_has_gone() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/// A file that standard output goes to would be replaced by the figure: the numbers would be lost.
void require_not_standard_output(const std::string& figure) {
  struct stat file {};
  struct stat output {};
  if (stat(figure.c_str(), &file) != 0 || fstat(STDOUT_FILENO, &output) != 0) return;
  if (file.st_dev != output.st_dev || file.st_ino != output.st_ino) return;
  throw std::runtime_error(
      fmt::format("--figure {} is also standard output, which gets the numbers: write the figure "
                  "to another file",
                  figure));
}

/// Prints the text. It isn't an error when the reader has gone away, as `head` does.
/// @throws std::runtime_error when the text, or earlier output, is lost for any other reason, such
/// as a full disk
void print_all(const std::string& text) {
  errno = 0;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  const int reason = errno;
  if (std::ferror(stdout) == 0 || reason == EPIPE || reader_has_gone()) return;
  throw std::runtime_error(fmt::format("cannot write to standard output: {}",
                                       reason == 0 ? "some of it is lost" : std::strerror(reason)));
}

/// Parses the whole text as a number of `number`'s type.
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
        fmt::format("{} {}: expected a {} from {} to {}", flag, text, kind, least, most));
  }
  return number;
}

/// A message on one line, whatever the reader has typed: control characters become "?".
std::string on_one_line(std::string sentence) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  std::replace_if(sentence.begin(), sentence.end(), is_control, '?');
  // Others have two bytes in UTF-8: 0xC2, and 0x80 to 0x9F.
  for (std::size_t i = 0; i + 1 < sentence.size(); ++i) {
    const auto next = static_cast<unsigned char>(sentence[i + 1]);
    if (sentence[i] == '\xC2' && next >= 0x80 && next < 0xA0) sentence.replace(i, 2, "?");
  }
  return sentence;
}

/// CLI11's message about a command line that it can't parse, reworded where it is hard to
/// understand.
std::string sentence_of(const CLI::ParseError& error) {
  const std::string sentence = error.what();
  const std::size_t colon = sentence.find(": ");
  const std::string option = sentence.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : sentence.substr(colon);
  const std::string too_often = ": At Most 1 required but received ";
  if (rest.starts_with(too_often)) {
    return fmt::format("{} may be given once, not {} times", option, rest.substr(too_often.size()));
  }
  if (rest.starts_with(": 1 required ") && rest.ends_with(" missing")) {
    return option + " needs a value";
  }
  return sentence;
}

}  // namespace

struct CommandLine::Parts {
  std::string name;
  CLI::App app;

  Parts(std::string program, const std::string& summary)
      : name(std::move(program)), app(summary, name) {
    app.set_help_flag("-h,--help", "Print this help and exit");
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

  int parse_and_act(int argc, char** argv, const std::function<int()>& act) {
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      print_all(app.help());
      return 0;
    }
    const int code = act();
    print_all("");  // earlier output must have arrived
    return code;
  }

  int refuse(const std::string& sentence) const {
    std::cerr << on_one_line(name + ": " + sentence) << "\n";
    return user_error;
  }
};

CommandLine::CommandLine(std::string name, const std::string& summary)
    : parts_(std::make_unique<Parts>(std::move(name), summary)) {}
CommandLine::~CommandLine() = default;

void CommandLine::add_switch(const std::string& flag, bool& value, const std::string& help) {
  parts_->app
      .add_option_function<std::string>(
          flag,
          [&value, flag](const std::string& text) {
            if (text != "on" && text != "off") {
              throw CLI::ValidationError(fmt::format("{} {}: expected on or off", flag, text));
            }
            value = text == "on";
          },
          help)
      ->type_name("on|off")
      ->default_str(value ? "on" : "off");
}

void CommandLine::add_flag(const std::string& flag, bool& value, const std::string& help) {
  parts_->app.add_flag(flag, value, help);
}

void CommandLine::add_count(const std::string& flag, std::size_t& value, const std::string& help,
                            std::size_t least, std::size_t most) {
  parts_->add_number<std::size_t>(flag, value,
                                  fmt::format("{} ({} to {})", help, grouped(least), grouped(most)),
                                  least, most, "N");
}

void CommandLine::add_number(const std::string& flag, double& value, const std::string& help,
                             double least, double most) {
  parts_->add_number<double>(flag, value, fmt::format("{} ({} to {})", help, least, most), least,
                             most, "X");
}

void CommandLine::add_text(const std::string& flag, std::string& value, const std::string& help) {
  const std::string shown = value == "\n" ? "\\n" : value;  // a line break would break the help
  parts_->app.add_option(flag, value, help)->default_str(shown);
}

void CommandLine::add_path(const std::string& flag, std::string& value, const std::string& help,
                           const std::string& kind) {
  parts_->app
      .add_option_function<std::string>(
          flag,
          [&value, flag](const std::string& path) {
            if (path.empty()) {
              throw CLI::ValidationError(flag + ": expected the path of a file or folder");
            }
            value = path;
          },
          help)
      ->type_name(kind)
      ->default_str(value);
}

void CommandLine::add_seed(std::uint64_t& value) {
  parts_->add_number<std::uint64_t>("--seed", value, "Seed of everything that is drawn at random",
                                    0, std::numeric_limits<std::uint64_t>::max(), "N");
}

void CommandLine::add_note(const std::string& text) {
  parts_->app.footer(text);
}

bool CommandLine::given(const std::string& flag) const {
  return parts_->app.count(flag) > 0;
}

int CommandLine::run(int argc, char** argv, const std::function<int()>& act) {
  occupy_standard_streams();
  try {
    return parts_->parse_and_act(argc, argv, act);
  } catch (const CLI::ParseError& error) {
    return parts_->refuse(sentence_of(error) + " (--help lists the options)");
  } catch (const std::bad_alloc&) {
    return parts_->refuse("there is not enough memory for sizes like these");
  } catch (const std::exception& error) {
    return parts_->refuse(sentence_of(error));
  }
}

Command::Command(std::string name, std::string summary, std::string text)
    : CommandLine(std::move(name), summary), summary_(std::move(summary)) {
  options_.text = std::move(text);
  add_text("--text", options_.text,
           "The words that attend to each other; - reads them from standard input");
  add_seed(options_.seed);
  add_flag("--json", options_.json, "Print every tensor as JSON");
  add_path("--figure", options_.figure, "Draw the chapter's figure into this SVG file", "FILE");
  add_switch("--positions", options_.positions, "Add position embeddings to the token embeddings");
}

void Command::perform(const Demo& demo) {
  if (!options_.figure.empty()) require_not_standard_output(options_.figure);
  if (options_.text == "-") options_.text = standard_input();
  const Form form = options_.json ? Form::json : wants_color() ? Form::colored : Form::plain;
  Report report(form, !options_.figure.empty());
  demo(options_, report);
  std::optional<AtomicFile> figure;
  if (!options_.figure.empty()) {
    figure.emplace(options_.figure, heat_map_svg(report.panels(), summary_));
  }
  print_all(report.content());
  if (figure) figure->commit();
}

int Command::run(int argc, char** argv, const Demo& demo) {
  return CommandLine::run(argc, argv, [&] {
    perform(demo);
    return 0;
  });
}
