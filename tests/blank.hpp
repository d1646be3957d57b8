#pragma once
/// @file
/// @brief The placeholder for lines of a chapter that the reader still has to write.

#include <stdexcept>
#include <string>

/// Somebody ran into lines that are still to be written.
struct StillEmpty : std::logic_error {
  using std::logic_error::logic_error;
};

/// Stands in for the lines that tests/exercise has taken out.
/// @param exercise  its number and title
/// @param belongs   what the lines do
/// @param names     what they have at hand: the compiler does not complain that it is unused
/// @throws StillEmpty always
template <class... Names>
[[noreturn]] void blank(const std::string& exercise, const std::string& belongs, const Names&...) {
  throw StillEmpty(exercise + " is still empty. What belongs there: " + belongs);
}
