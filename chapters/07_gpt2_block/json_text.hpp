#pragma once
/// @file
/// @brief JSON that can be understood in one way only.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// What a JSON text says. Where readers of JSON disagree, this one refuses: a key that an object
/// has twice, and anything behind a NUL byte.
/// @param name  what the messages call the text, such as the path of its file
/// @throws std::invalid_argument with the place that cannot be read
nlohmann::json parse_json(std::string_view text, const std::string& name);
