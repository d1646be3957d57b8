#include "common/report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "common/color.hpp"
#include "common/text.hpp"

namespace {

constexpr std::size_t longest_side = 10;      // a longer side of a matrix is shortened …
constexpr std::size_t shown_at_each_end = 4;  // … to this many at both ends
constexpr std::size_t widest_label = 14;
constexpr std::size_t narrowest_cell = 9;

/// The indices of a side that are shown; `omitted` stands for all those that are not.
constexpr std::size_t omitted = static_cast<std::size_t>(-1);
std::vector<std::size_t> shown_indices(std::size_t size) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < size; ++i) {
    const bool at_an_end = i < shown_at_each_end || i + shown_at_each_end >= size;
    if (size <= longest_side || at_an_end) {
      indices.push_back(i);
    } else if (i == shown_at_each_end) {
      indices.push_back(omitted);
    }
  }
  return indices;
}

std::string number_text(double value, int decimals) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (std::abs(value) >= 1e7) return fmt::format("{:.{}e}", value, decimals);
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool minus_zero = text[0] == '-' && text.find_first_of("123456789") == std::string::npos;
  return minus_zero ? text.substr(1) : text;
}

std::string padded_left(const std::string& text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ') + text;
}

std::string padded_right(const std::string& text, std::size_t width) {
  const std::size_t used = display_width(text);
  return text + std::string(used < width ? width - used : 0, ' ');
}

std::string colored(const std::string& text, double value, const ColorScale& scale) {
  const Color c = scale.of(value);
  const int text_color = wants_black_text(c) ? 16 : 231;
  return fmt::format("\033[48;2;{};{};{}m\033[38;5;{}m{}\033[0m", c.red, c.green, c.blue,
                     text_color, text);
}

void require_numbers(const std::string& name, const Matrix& values) {
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    for (std::size_t j = 0; j < values.shape(1); ++j) {
      if (std::isnan(values(i, j))) {
        throw std::invalid_argument(
            fmt::format("{}({}, {}) is not a number: the input is too large", name, i, j));
      }
    }
  }
}

void require_labels(const std::string& name, const std::string& side, const Labels& labels,
                    std::size_t size) {
  if (!labels.empty() && labels.size() != size) {
    throw std::invalid_argument(
        fmt::format("{} has {} {} but {} names for them", name, size, side, labels.size()));
  }
}

/// A matrix as lines of text, built row by row.
class MatrixText {
 public:
  MatrixText(const Shown& how, const Matrix& values, bool color)
      : how_(how),
        values_(values),
        color_(color),
        scale_{max_abs(values)},
        rows_(shown_indices(values.shape(0))),
        columns_(shown_indices(values.shape(1))) {
    for (const std::size_t i : rows_) {
      if (i != omitted && !how.rows.empty()) {
        label_width_ = std::max(label_width_, display_width(clip(how.rows[i], widest_label)));
      }
      for (const std::size_t j : columns_) {
        if (i != omitted && j != omitted)
          cell_width_ = std::max(cell_width_, cell(i, j).size() + 2);
      }
    }
    for (const std::size_t j : columns_) {
      if (j != omitted && !how.columns.empty()) {
        cell_width_ = std::max(cell_width_, display_width(clip(how.columns[j], widest_label)) + 2);
      }
    }
  }

  std::string text() const {
    std::string lines = title();
    if (!how_.columns.empty()) lines += column_names();
    for (const std::size_t i : rows_) lines += i == omitted ? omitted_row() : row(i);
    return lines;
  }

 private:
  std::string title() const {
    const std::string formula = how_.formula.empty() ? "" : " = " + how_.formula;
    return fmt::format("{}{}   {}\n", how_.name, formula, shape_text(values_));
  }

  std::string column_names() const {
    std::string line(indent_ + label_width_, ' ');
    for (const std::size_t j : columns_) {
      line += padded_left(j == omitted ? "…" : clip(how_.columns[j], widest_label), width_of(j));
    }
    return line + "\n";
  }

  std::string row(std::size_t i) const {
    const std::string label = how_.rows.empty() ? "" : clip(how_.rows[i], widest_label);
    std::string line = std::string(indent_, ' ') + padded_right(label, label_width_);
    for (const std::size_t j : columns_) {
      const std::string text = padded_left(j == omitted ? "…" : cell(i, j), width_of(j));
      line +=
          color_ && j != omitted ? colored(text, static_cast<double>(values_(i, j)), scale_) : text;
    }
    return line + "\n";
  }

  std::string omitted_row() const { return std::string(indent_, ' ') + "…\n"; }

  std::size_t width_of(std::size_t j) const { return j == omitted ? 4 : cell_width_; }

  std::string cell(std::size_t i, std::size_t j) const {
    return number_text(static_cast<double>(values_(i, j)), how_.decimals);
  }

  static constexpr std::size_t indent_ = 2;
  const Shown& how_;
  const Matrix& values_;
  bool color_;
  ColorScale scale_;
  std::vector<std::size_t> rows_;
  std::vector<std::size_t> columns_;
  std::size_t label_width_ = 0;
  std::size_t cell_width_ = narrowest_cell;
};

nlohmann::ordered_json json_number(Real value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

nlohmann::ordered_json json_matrix(const Shown& how, const Matrix& values) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::size_t j = 0; j < values.shape(1); ++j) row.push_back(json_number(values(i, j)));
    rows.push_back(std::move(row));
  }
  return {{"shape", {values.shape(0), values.shape(1)}},
          {"rows", how.rows},
          {"columns", how.columns},
          {"values", std::move(rows)}};
}

}  // namespace

Labels numbered(const std::string& letter, std::size_t count) {
  Labels labels;
  for (std::size_t i = 1; i <= count; ++i) labels.push_back(fmt::format("{}{}", letter, i));
  return labels;
}

struct Report::Parts {
  Form form = Form::plain;
  bool with_figure = false;
  std::string text;
  std::string key;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::set<std::string> names;
  std::vector<Panel> panels;

  bool for_scripts() const { return form == Form::json; }

  /// Two things of one name could not both be in the JSON.
  void require_new(const std::string& name) {
    if (!names.insert(key + "." + name).second) {
      throw std::logic_error(fmt::format("the report has {}.{} twice", key, name));
    }
  }

  /// Adds what a script reads, or the line that a reader reads.
  void add(const std::string& name, const nlohmann::ordered_json& value, const std::string& line) {
    require_new(name);
    if (for_scripts()) {
      json[key][name] = value;
    } else {
      text += line + "\n";
    }
  }
};

Report::Report(Form form, bool with_figure) : parts_(std::make_unique<Parts>()) {
  parts_->form = form;
  parts_->with_figure = with_figure;
}
Report::~Report() = default;
Report::Report(Report&&) noexcept = default;
Report& Report::operator=(Report&&) noexcept = default;

void Report::section(const std::string& key, const std::string& title) {
  if (!parts_->text.empty()) parts_->text += "\n";
  parts_->text += fmt::format("== {} ==\n", title);
  parts_->key = key;
  parts_->json[key] = nlohmann::ordered_json::object();
}

void Report::say_line(const std::string& line) {
  parts_->text += line + "\n";
}

void Report::matrix(const Shown& how, const Matrix& values) {
  require_numbers(how.name, values);
  require_labels(how.name, "rows", how.rows, values.shape(0));
  require_labels(how.name, "columns", how.columns, values.shape(1));
  parts_->require_new(how.name);
  if (parts_->for_scripts()) {
    parts_->json[parts_->key][how.name] = json_matrix(how, values);
  } else {
    parts_->text += MatrixText(how, values, parts_->form == Form::colored).text();
  }
}

void Report::number(const std::string& name, double value, int decimals, const std::string& note) {
  parts_->add(name, value,
              fmt::format("  {:<26} {:>16}   {}", name, number_text(value, decimals), note));
}

void Report::count(const std::string& name, std::size_t value, const std::string& note) {
  parts_->add(name, value, fmt::format("  {:<26} {:>16}   {}", name, grouped(value), note));
}

void Report::check(const std::string& name, bool holds, const std::string& statement) {
  parts_->add(name, holds, fmt::format("  {:<3}  {}", holds ? "yes" : "no", statement));
}

void Report::panel(const std::string& title, const Matrix& values, const Labels& rows,
                   const Labels& columns, double full_color) {
  if (parts_->with_figure) parts_->panels.push_back({title, values, rows, columns, full_color});
}

std::string Report::content() const {
  return parts_->for_scripts() ? parts_->json.dump() + "\n" : parts_->text;
}

const std::vector<Panel>& Report::panels() const {
  return parts_->panels;
}
