#pragma once
/// @file
/// @brief A demo's report, as text for a reader or as JSON for a script.

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "common/tensor.hpp"

/// Names for the rows or the columns of a matrix; empty: no names.
using Labels = std::vector<std::string>;

/// The names "x1", "x2" and so on.
Labels numbered(const std::string& letter, std::size_t count);

/// How a matrix is shown in a report.
struct Shown {
  std::string name;     ///< the name in the code, and the key in the JSON
  std::string formula;  ///< how it is computed, such as "X Xᵀ"; may be empty
  Labels rows;
  Labels columns;
  int decimals = 4;
};

/// One heat map of a figure.
struct Panel {
  std::string title;
  Matrix values;
  Labels rows;
  Labels columns;
  double full_color = 0;  ///< the |value| that gets the full colour; 0: the largest in `values`
};

/// The form of a report: text for a reader, with matrices plain (for a pipe) or as heat maps (for a
/// terminal), or JSON for a script.
enum class Form { plain, colored, json };

/// Collects a demo's report. Nothing is printed before `content` is called, so a demo that fails
/// half-way prints no half report.
class Report {
 public:
  /// @param with_figure  whether to keep the panels of the chapter's figure as well
  explicit Report(Form form = Form::plain, bool with_figure = false);
  ~Report();
  Report(Report&&) noexcept;
  Report& operator=(Report&&) noexcept;

  /// Starts a section.
  /// @param key    its name in the JSON
  /// @param title  its headline in the text
  void section(const std::string& key, const std::string& title);

  /// A sentence for the reader, in fmt's format; not in the JSON.
  template <class... Arguments>
  void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    say_line(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  /// A labelled matrix. A side of more than ten entries is shortened to its first and last ones.
  /// @throws std::invalid_argument when an entry is not a number, or the labels do not fit the
  /// shape
  void matrix(const Shown& how, const Matrix& values);

  /// One number with its name.
  void number(const std::string& name, double value, int decimals = 4,
              const std::string& note = "");

  /// A whole number with its name, printed as 1,769,472.
  void count(const std::string& name, std::size_t value, const std::string& note = "");

  /// A statement that the program has checked, and "yes" or "no" before it.
  void check(const std::string& name, bool holds, const std::string& statement);

  /// A heat map of the chapter's figure; ignored without a figure.
  /// @param full_color  the |value| that gets the full colour, 1 for weights; 0: the largest there
  /// is
  void panel(const std::string& title, const Matrix& values, const Labels& rows,
             const Labels& columns, double full_color = 0);

  /// The whole report. As JSON it is {section: {name: ...}}; a matrix is {"shape": [T, d], "rows":
  /// [...], "columns": [...], "values": [[...]]}, in which infinities are "inf" and "-inf".
  std::string content() const;

  /// The figure's panels, in the order in which the demo added them.
  const std::vector<Panel>& panels() const;

 private:
  void say_line(const std::string& line);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};
