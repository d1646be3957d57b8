#include "common/figure.hpp"

#include <fmt/core.h>

#include <cmath>
#include <stdexcept>

#include "common/color.hpp"
#include "common/text.hpp"

namespace {

constexpr double character_width = 7.3;  // of 12 px type, on the wide side
constexpr std::size_t widest_label = 12;
constexpr std::size_t largest_with_numbers =
    12;  // cells of larger matrices are too small for numbers

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

double text_width(const std::string& text) {
  return character_width * static_cast<double>(display_width(text));
}

double widest(const Labels& labels) {
  double width = 0;
  for (const std::string& label : labels)
    width = std::max(width, text_width(clip(label, widest_label)));
  return width;
}

/// Where the parts of one panel are, in pixels from its corner.
struct Layout {
  double cell_width;
  double cell_height;
  double left;  // room for the names of the rows
  double top;   // room for the title and the names of the columns
  double width;
  double height;

  explicit Layout(const Panel& panel) {
    const std::size_t longest = std::max(panel.values.shape(0), panel.values.shape(1));
    const bool numbers = longest <= largest_with_numbers;
    cell_width = numbers ? std::max(54.0, widest(panel.columns) + 8) : 12;
    cell_height = numbers ? 34 : 12;
    left = panel.rows.empty() || !numbers ? 0 : widest(panel.rows) + 8;
    top = 24 + (panel.columns.empty() || !numbers ? 0 : 20);
    width = left + std::max(cell_width * static_cast<double>(panel.values.shape(1)),
                            text_width(panel.title));
    height = top + cell_height * static_cast<double>(panel.values.shape(0));
  }
};

std::string label_svg(const std::string& text, double x, double y, const char* anchor) {
  return fmt::format(
      "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, escaped(clip(text, widest_label)));
}

std::string cell_svg(double value, double x, double y, const Layout& layout,
                     const ColorScale& scale, bool with_number) {
  const Color c = scale.of(value);
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"#{:02x}{:02x}{:02x}\"/>\n",
      x, y, layout.cell_width - 1, layout.cell_height - 1, c.red, c.green, c.blue);
  if (with_number) {
    const std::string text =
        std::isinf(value) ? (value < 0 ? "−∞" : "∞") : fmt::format("{:.2f}", value);
    svg += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                       wants_black_text(c) ? "on-pale" : "on-full", x + layout.cell_width / 2,
                       y + layout.cell_height / 2 + 4, text == "-0.00" ? "0.00" : text);
  }
  return svg;
}

ColorScale scale_for(const Panel& panel) {
  return panel.full_color > 0 ? ColorScale{panel.full_color} : ColorScale{max_abs(panel.values)};
}

std::string panel_svg(const Panel& panel, double x) {
  const Layout layout(panel);
  const bool numbers = layout.cell_height > 12;
  const ColorScale scale = scale_for(panel);
  std::string svg = fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"16\">{}</text>\n",
                                x + layout.left, escaped(panel.title));
  for (std::size_t j = 0; numbers && j < panel.columns.size(); ++j) {
    const double middle = x + layout.left + layout.cell_width * (static_cast<double>(j) + 0.5);
    svg += label_svg(panel.columns[j], middle, layout.top - 6, "middle");
  }
  for (std::size_t i = 0; i < panel.values.shape(0); ++i) {
    const double y = layout.top + layout.cell_height * static_cast<double>(i);
    if (numbers && i < panel.rows.size()) {
      svg += label_svg(panel.rows[i], x + layout.left - 6, y + layout.cell_height / 2 + 4, "end");
    }
    for (std::size_t j = 0; j < panel.values.shape(1); ++j) {
      svg += cell_svg(static_cast<double>(panel.values(i, j)),
                      x + layout.left + layout.cell_width * static_cast<double>(j), y, layout,
                      scale, numbers);
    }
  }
  return svg;
}

constexpr const char* style = R"(<style>
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328; }
.title { font-weight: bold; }
.on-pale { fill: #000; text-anchor: middle; }
.on-full { fill: #fff; text-anchor: middle; }
@media (prefers-color-scheme: dark) { .title, .label { fill: #e6edf3; } }
</style>
)";

void require_drawable(const Panel& panel) {
  const std::size_t longest = std::max(panel.values.shape(0), panel.values.shape(1));
  if (longest > max_panel_side) {
    throw std::invalid_argument(
        fmt::format("the figure's {} is {}: at most {} rows and columns can be drawn", panel.title,
                    shape_text(panel.values), max_panel_side));
  }
}

}  // namespace

std::string heat_map_svg(const std::vector<Panel>& panels, const std::string& description) {
  constexpr double margin = 8;
  constexpr double gap = 28;
  double x = margin;
  double height = 0;
  std::string content;
  for (const Panel& panel : panels) {
    require_drawable(panel);
    const Layout layout(panel);
    content += panel_svg(panel, x);
    x += layout.width + gap;
    height = std::max(height, layout.height);
  }
  const double width = x - gap + margin;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
             "width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
             width, height + margin, escaped(description)) +
         style + content + "</svg>\n";
}
