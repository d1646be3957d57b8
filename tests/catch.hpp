#pragma once
/// @file
/// @brief Catch2, version 2.13 or 3: the differences between the two that these tests meet.

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
template <class T>
using MatcherBase = Catch::Matchers::MatcherBase<T>;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
template <class T>
using MatcherBase = Catch::MatcherBase<T>;
inline auto ContainsSubstring(const std::string& part) {
  return Catch::Matchers::Contains(part);
}
#endif

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
