#pragma once
/// @file
/// @brief The losses of a training run: as a table, and as a picture.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The losses at one step.
struct LossPoint {
  std::size_t step;
  double train;       ///< mean over the batches since the point before
  double validation;  ///< on text that was not trained on
};

/// Whether a number can be the loss of a run that goes on: none is below 0, and what is above 1e30
/// has diverged.
bool is_loss(double number);

/// "step,train,validation" and a line for each point.
std::string loss_table(const std::vector<LossPoint>& points);

/// Reads such a table.
/// @param name  what the messages call it
/// @throws std::invalid_argument with the line that is none of its lines
std::vector<LossPoint> parse_loss_table(std::string_view table, const std::string& name);

/// Draws both losses over the steps, as an SVG document that can be read on a light and on a dark
/// page.
std::string loss_curve_svg(const std::vector<LossPoint>& points);
