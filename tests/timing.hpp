#pragma once
/// @file
/// @brief What the two benchmarks measure time with.

#include <algorithm>
#include <chrono>
#include <vector>

/// How long a call takes.
template <class Call>
double seconds_of(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The one in the middle, once they are sorted; of an even number the larger of the two.
inline double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}
