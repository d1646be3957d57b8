#pragma once
/// @file
/// @brief The colours of the book's heat maps, the same on a terminal and in a picture.

#include <algorithm>
#include <cmath>

/// A colour, each part from 0 to 255.
struct Color {
  int red;
  int green;
  int blue;
};

/// The colours of a matrix's entries: blue is positive, orange is negative, pale is zero.
struct ColorScale {
  double largest;  ///< the |value| that gets the full colour

  /// The colour of one value; a value beyond the scale, or infinite, gets the full colour.
  Color of(double value) const {
    constexpr Color pale{243, 244, 246};
    constexpr Color blue{29, 100, 190};
    constexpr Color orange{198, 88, 12};
    const Color& full = value < 0 ? orange : blue;
    const double share = largest > 0 ? std::min(1.0, std::abs(value) / largest) : 0.0;
    const auto mix = [share](int from, int to) {
      return static_cast<int>(std::lround(from + share * (to - from)));
    };
    return {mix(pale.red, full.red), mix(pale.green, full.green), mix(pale.blue, full.blue)};
  }
};

/// How light a colour is, from 0 (black) to 1 (white): the relative luminance of WCAG 2.
inline double luminance(const Color& c) {
  const auto linear = [](int part) {
    const double share = part / 255.0;
    return share <= 0.03928 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

/// Whether black writing has more contrast on this colour than white writing. The better of the two
/// always has a contrast of 4.5 or more.
inline bool wants_black_text(const Color& c) {
  const double light = luminance(c) + 0.05;
  return light / 0.05 > 1.05 / light;
}
