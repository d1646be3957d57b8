#pragma once
/// @file
/// @brief What mutate.cpp and each of the fuzzed readers agree on.

#include <stdexcept>
#include <string>

/// Reads an input, which may be anything. Ends the program where something is wrong: the reader
/// crashes, throws what is not for the user, or takes an input and does not keep it as it was.
void try_input(const std::string& input);

/// Ends the program; the input is in the file that mutate.cpp names.
[[noreturn]] void fail(const std::string& reason);

/// What the messages must call the input.
constexpr const char* input_name = "the input";

/// Calls `read`, which may refuse the input with a sentence about it.
template <class Read>
void read_or_refuse(const Read& read) {
  constexpr std::size_t longest_sentence = 1000;
  std::string sentence;
  try {
    read();
    return;
  } catch (const std::invalid_argument& error) {
    sentence = error.what();
  } catch (const std::runtime_error& error) {
    sentence = error.what();
  }
  if (sentence.size() > longest_sentence) fail("a message is too long: " + sentence);
  if (sentence.find(input_name) == sentence.npos) fail("which input is this about? " + sentence);
}
