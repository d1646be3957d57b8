#pragma once
/// @file
/// @brief Catch2, version 2.13 or 3: the differences between the two that these tests meet.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
template <class T>
using MatcherBase = Catch::Matchers::MatcherBase<T>;
#else
#include <catch2/catch.hpp>
template <class T>
using MatcherBase = Catch::MatcherBase<T>;
#endif

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
