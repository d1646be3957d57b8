#pragma once
/// @file
/// @brief Tensors in a file: safetensors, which Hugging Face's models come in.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/atomic_file.hpp"
#include "common/real.hpp"
#include "safetensors_header.hpp"

/// A file of tensors that is open for reading.
class SafetensorsFile {
 public:
  /// Reads and checks the header, see `parse_header`, and no number.
  /// @throws std::runtime_error with the path and the reason
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// In the order of their names.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }

  /// What else its header says.
  const Metadata& metadata() const { return header_.metadata; }

  /// The tensor of a name; null: there is none.
  const TensorInfo* find(const std::string& name) const;

  /// Reads the numbers of one tensor, float or double.
  /// @param shape    what the tensor must have
  /// @param numbers  memory for as many numbers
  /// @throws std::runtime_error when there is no such tensor, when its shape or the kind of its
  /// numbers is another, or with the first number that is not finite
  void read(const std::string& name, const std::vector<std::size_t>& shape, Real* numbers);

 private:
  template <class Stored>
  void read_as(const TensorInfo& tensor, Real* numbers);

  std::string path_;
  std::ifstream file_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

/// One tensor that is to be written.
struct TensorToWrite {
  std::string name;
  std::vector<std::size_t> shape;
  const Real* numbers;  ///< as many as the shape has, row by row
};

/// Writes the tensors one after the other, as float or double, whichever Real is.
/// @param file  is left for the caller to flush and to put in place
/// @throws std::runtime_error when the file cannot be written, std::invalid_argument when two
/// tensors have one name, or with the first number that is not finite
void write_safetensors(AtomicFile& file, const std::vector<TensorToWrite>& tensors,
                       const Metadata& metadata = {});

/// The same, into a file that appears whole or not at all.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                       const Metadata& metadata = {});
