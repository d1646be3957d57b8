#pragma once
/// @file
/// @brief A model's folder, as Hugging Face's library reads and writes it for GPT-2.
///
///     config.json              the sizes
///     model.safetensors        the weights, under GPT-2's own names
///     characters.json          which symbol has which number; only in folders of this book
///     optimizer-N.safetensors  what is needed to go on training after step N
///
/// The optimizer's file is written under the name of its step, and the model's after it. So
/// whenever the program is killed, the model that lies there has its optimizer beside it.

#include <filesystem>
#include <optional>

#include "model.hpp"
#include "safetensors.hpp"
#include "vocabulary.hpp"

/// A model and what its symbols stand for.
struct LoadedModel {
  GPT2 model;
  std::optional<Vocabulary> vocabulary;  ///< none: the folder comes from elsewhere
  Metadata metadata;                     ///< of model.safetensors
  std::string untrainable;               ///< see `ConfigFile`
};

/// FNV-1a: tells whether a text is still the same.
std::string checksum(std::string_view text);

/// Tells whether the files beside a model are still the same. A model's metadata have it under
/// `saved_with_key`.
std::string checksum_beside(const Config& config, const Vocabulary& vocabulary);
constexpr const char* saved_with_key = "saved with";

/// Reads a folder of this book or of others: with or without the prefix "transformer.", with the
/// token embedding as head or with one of its own.
/// @throws std::runtime_error, std::invalid_argument with the file and what is wrong with it, also
/// when the files do not belong together, or the memory would not suffice; the memory is not
/// allocated then
LoadedModel load_model(const std::filesystem::path& folder);

/// The memory of `save_model`, in bytes.
double saving_bytes(const Config& config);

/// Writes model.safetensors.
/// @throws std::runtime_error when it cannot be written, std::invalid_argument with the first
/// number that is not finite
void save_model(const std::filesystem::path& folder, GPT2& model, const Metadata& metadata);

/// Refuses a folder that has a model already, or files of others under the names that a run writes.
/// What a run that was killed before its first model has left is no hindrance.
/// @throws std::runtime_error
void require_free(const std::filesystem::path& folder);

/// Removes what a run has written that could not save its first model.
void remove_left_overs(const std::filesystem::path& folder);

/// Removes what killed programs have left of a model's files before they were whole.
void remove_abandoned_files(const std::filesystem::path& folder);

/// Writes the running means of the gradients and of their squares after a step.
/// @throws as `save_model`
void save_optimizer(const std::filesystem::path& folder, std::size_t step, GPT2& mean, GPT2& square,
                    const Metadata& metadata);

/// Reads them into models that have the right sizes.
/// @return the file's metadata
/// @throws std::runtime_error when there is no such file, or it does not fit the models
Metadata load_optimizer(const std::filesystem::path& folder, std::size_t step, GPT2& mean,
                        GPT2& square);

/// Removes the optimizer files of all steps but this one.
/// @throws std::filesystem::filesystem_error when the folder cannot be read
void remove_other_optimizers(const std::filesystem::path& folder, std::size_t step);
