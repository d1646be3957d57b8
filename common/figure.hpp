#pragma once
/// @file
/// @brief Heat maps as SVG pictures.

#include <string>
#include <vector>

#include "common/report.hpp"

/// The longest side of a panel that can still be read in a picture.
constexpr std::size_t max_panel_side = 64;

/// Draws the panels side by side. The picture needs no fonts or styles from outside and can be read
/// on a light and on a dark page.
/// @param description  what the picture shows, for readers who cannot see it
/// @return an SVG document
/// @throws std::invalid_argument when a side is longer than `max_panel_side`
std::string heat_map_svg(const std::vector<Panel>& panels, const std::string& description);
