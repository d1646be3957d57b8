#pragma once
/// @file
/// @brief How a page of the HTML book asks a chapter's code, and is answered.
///
/// A question is a function that JavaScript calls, with `EMSCRIPTEN_KEEPALIVE` before its name. It
/// runs parts of the chapter's walk, and answers with what they report: the JSON that the program
/// prints with `--json`. So a figure can be compared with the program, number by number.

#include <emscripten.h>

#include <functional>
#include <string>
#include <vector>

#include "common/report.hpp"

/// The longest text a figure takes: enough to try, and few enough to be answered while one types.
constexpr std::size_t most_words = 256;

/// Lets `walk` fill a report, and gives back its JSON; or {"error": SENTENCE} when the input is at
/// fault. The text stands until the next answer.
const char* answer(const std::function<void(Report&)>& walk);

/// The words of a text that a reader has typed into a figure.
/// @throws std::invalid_argument as `split_words` does, and when there are more than `most_words`
std::vector<std::string> typed_words(const char* text, const std::string& name = "the text");
