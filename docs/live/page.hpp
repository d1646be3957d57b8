#pragma once
/// @file
/// @brief The interface between a page of the HTML book and a chapter's code.
///
/// JavaScript calls a function that is marked `EMSCRIPTEN_KEEPALIVE`. The function runs parts of
/// the chapter's demo and returns their report: the same JSON that the program prints with
/// `--json`, so a figure can be compared with the program number by number.

#include <emscripten.h>

#include <functional>
#include <string>
#include <vector>

#include "common/report.hpp"

/// The longest text that a figure takes: enough to play with, and fast enough to follow your
/// typing.
constexpr std::size_t most_words = 256;

/// Lets `demo` fill a report and returns its JSON, or {"error": SENTENCE} when the input is at
/// fault. The text is valid until the next call.
const char* answer(const std::function<void(Report&)>& demo);

/// The words of a text that the reader has typed into a figure.
/// @throws std::invalid_argument as `split_words` does, and when there are more than `most_words`
std::vector<std::string> typed_words(const char* text, const std::string& name = "the text");
