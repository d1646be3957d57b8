#pragma once
/// @file
/// @brief A model's sizes as Hugging Face's library keeps them: config.json of a GPT-2.

#include <filesystem>
#include <string>
#include <string_view>

#include "config.hpp"

/// What a config.json says about a model.
struct ConfigFile {
  Config config;

  /// Whether the head is a table of its own (`"tie_word_embeddings": false`). The head of a GPT-2
  /// is its token embedding.
  bool own_head = false;

  /// Why it cannot be trained on, in a sentence; empty if it can. Nothing is dropped where a model
  /// is only used, so dropout that differs from place to place is no reason to refuse it there.
  std::string untrainable;
};

/// Reads the text of a config.json. The five sizes must be there; for all else GPT-2's own values
/// stand in. What makes no difference, such as how a text is cut into tokens, is ignored.
/// @param name  what the messages call it
/// @throws std::invalid_argument when it is not the JSON of a valid GPT-2, or describes a model
/// that computes something else than this book's: another activation, another ε, ...
ConfigFile parse_config(std::string_view text, const std::string& name);

/// @throws std::runtime_error when the file cannot be read, std::invalid_argument as `parse_config`
ConfigFile read_config(const std::filesystem::path& path);

/// The text of a config.json from which Hugging Face's library makes the same model.
std::string config_json(const Config& config);

/// @throws std::runtime_error when the file cannot be written
void write_config(const std::filesystem::path& path, const Config& config);
