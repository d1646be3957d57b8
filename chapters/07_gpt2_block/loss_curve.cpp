#include "loss_curve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "common/text.hpp"

namespace {

constexpr const char* headline = "step,train,validation";

constexpr double width = 640;
constexpr double height = 360;
constexpr double left = 56;
constexpr double right = 110;
constexpr double top = 20;
constexpr double bottom = 44;

constexpr const char* style = R"(<style>
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328; }
.grid { stroke: #d0d7de; }
.line { fill: none; stroke-width: 2; }
.train { stroke: #0550ae; }
.validation { stroke: #bc4c00; stroke-dasharray: 7 4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .grid { stroke: #484f58; }
  .train { stroke: #79c0ff; }
  .validation { stroke: #ffa657; }
}
</style>
)";

/// Where a step and a loss lie in the picture.
struct Axes {
  double last_step = 1;
  double lowest = 0;
  double highest = 1;

  explicit Axes(const std::vector<LossPoint>& points) {
    if (points.empty()) return;
    lowest = std::min(points[0].train, points[0].validation);
    highest = lowest;
    for (const LossPoint& point : points) {
      last_step = std::max(last_step, static_cast<double>(point.step));
      lowest = std::min({lowest, point.train, point.validation});
      highest = std::max({highest, point.train, point.validation});
    }
    lowest = std::floor(2 * lowest) / 2;
    highest = std::max(std::ceil(2 * highest) / 2, lowest + 0.5);
  }

  double x(double step) const { return left + step / last_step * (width - left - right); }
  double y(double loss) const {
    return top + (highest - loss) / (highest - lowest) * (height - top - bottom);
  }
};

std::string grid(const Axes& axes) {
  std::string svg;
  const double range = axes.highest - axes.lowest;
  double step = 0.5;
  while (range / step > 7) step *= 2;
  for (int k = 0; k <= static_cast<int>(range / step + 0.01); ++k) {
    const double loss = axes.lowest + k * step;
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n"
        "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.1f}</text>\n",
        left, width - right, axes.y(loss), left - 8, axes.y(loss) + 4, loss);
  }
  for (const double share : {0.0, 0.5, 1.0}) {
    const double at = std::round(share * axes.last_step);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>\n",
                       axes.x(at), height - bottom + 18, at);
  }
  return svg + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">step</text>\n",
                           axes.x(axes.last_step / 2), height - 8);
}

/// Where the names of two lines stand: at their ends, and not over each other.
struct Labels {
  double train;
  double validation;

  Labels(double train_end, double validation_end) : train(train_end), validation(validation_end) {
    constexpr double least = 16;  // from one to the other
    const double missing = std::max(0.0, least - std::abs(train - validation));
    const double up = train < validation ? missing / 2 : -missing / 2;
    train -= up;
    validation += up;
  }
};

std::string line(const Axes& axes, const std::vector<LossPoint>& points, const std::string& name,
                 double LossPoint::*loss, double label) {
  std::string path;
  for (const LossPoint& point : points) {
    path +=
        fmt::format("{:.1f},{:.1f} ", axes.x(static_cast<double>(point.step)), axes.y(point.*loss));
  }
  constexpr double half_a_letter = 4;
  return fmt::format(
      "<polyline class=\"line {0}\" points=\"{1}\"/>\n"
      "<text x=\"{2:.0f}\" y=\"{3:.1f}\">{0}</text>\n",
      name, path, width - right + 8, label + half_a_letter);
}

}  // namespace

bool is_loss(double number) {
  return number >= 0 && number < 1e30;
}

std::string loss_table(const std::vector<LossPoint>& points) {
  std::string table = fmt::format("{}\n", headline);
  for (const LossPoint& point : points) {
    table += fmt::format("{},{:.6f},{:.6f}\n", point.step, point.train, point.validation);
  }
  return table;
}

std::vector<LossPoint> parse_loss_table(std::string_view table, const std::string& name) {
  std::istringstream lines{std::string(table.substr(byte_order_mark_length(table)))};
  std::string text;
  if (!std::getline(lines, text) || text != headline) {
    throw std::invalid_argument(fmt::format("{} does not begin with {}", name, headline));
  }
  std::vector<LossPoint> points;
  while (std::getline(lines, text)) {
    LossPoint point{};
    int end = 0;
    const bool is_row = text.find_first_not_of("0123456789.,e+-") == text.npos && !text.empty() &&
                        text[0] >= '0' && text[0] <= '9';
    if (!is_row ||
        std::sscanf(text.c_str(), "%zu,%lf,%lf%n", &point.step, &point.train, &point.validation,
                    &end) != 3 ||
        static_cast<std::size_t>(end) != text.size() || !is_loss(point.train) ||
        !is_loss(point.validation) || (!points.empty() && points.back().step >= point.step)) {
      throw std::invalid_argument(
          fmt::format("line {} of {} is \"{}\", which is no step with two losses",
                      points.size() + 2, name, text.substr(0, 80)));
    }
    points.push_back(point);
  }
  return points;
}

std::string loss_curve_svg(const std::vector<LossPoint>& points) {
  const Axes axes(points);
  const LossPoint end = points.empty() ? LossPoint{0, axes.highest, axes.highest} : points.back();
  const Labels labels(axes.y(end.train), axes.y(end.validation));
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>The loss over the steps of training</title>\n",
      width, height);
  svg += style;
  svg += grid(axes);
  svg += line(axes, points, "train", &LossPoint::train, labels.train);
  svg += line(axes, points, "validation", &LossPoint::validation, labels.validation);
  return svg + "</svg>\n";
}
