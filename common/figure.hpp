#pragma once
/// @file
/// @brief Heat maps as SVG pictures, and how a file is written whole or not at all.

#include <filesystem>
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

/// A file that appears whole or not at all: written under a temporary name beside its own, flushed,
/// and renamed when it is wanted. What stood there before stays until then.
class WholeFile {
 public:
  /// Writes the content under the temporary name. A link is followed to the file that it names.
  /// @throws std::runtime_error with the path and the system's reason, also where the path is no
  /// plain file
  WholeFile(const std::filesystem::path& path, const std::string& content);

  /// Removes the temporary file, if it has not been put in place.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Gives the file its own name.
  /// @throws std::runtime_error with the path and the system's reason
  void put_in_place();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};
