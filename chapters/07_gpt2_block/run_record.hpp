#pragma once
/// @file
/// @brief What a run writes beside its numbers, so that it can go on.

#include <string>

#include "safetensors_header.hpp"
#include "train.hpp"

/// More steps, or sequences in a step, are not taken.
constexpr std::size_t most_counted = 1'000'000'000;

/// The metadata of a model and its optimizer after a step.
/// @param text_sum    the checksum of the text
/// @param beside_sum  see `checksum_beside`
Metadata metadata_of(const RunSettings& settings, std::size_t step, const std::string& text_sum,
                     const std::string& beside_sum);

/// Whether a text is the one whose checksum is in the metadata.
bool is_same_text(const std::string& text, const Metadata& metadata);

/// The settings of the run that wrote the metadata; what was given anew stays as it is.
/// @param name  what the messages call what the metadata are of
/// @throws std::runtime_error, std::invalid_argument with the setting that is missing or cannot be
void take_settings(RunSettings& settings, const Metadata& metadata, const Resumption& given,
                   const std::string& name);

/// The step after which the metadata were written.
/// @throws std::runtime_error when they do not say
std::size_t step_of(const Metadata& metadata, const std::string& name);
