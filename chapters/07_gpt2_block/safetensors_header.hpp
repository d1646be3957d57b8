#pragma once
/// @file
/// @brief The header of a safetensors file: which tensors there are, and where their numbers lie.
///
/// A safetensors file is eight bytes with the length of its header, the header, and the numbers of
/// all tensors. The header is JSON, padded with spaces to a multiple of eight bytes:
///
///     {"__metadata__": {"format": "pt"},
///      "wte.weight": {"dtype": "F32", "shape": [65, 128], "data_offsets": [0, 33280]}, ...}
///
/// A file may come from anywhere, so nothing in it is believed. The format is described at
/// https://huggingface.co/docs/safetensors.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// One tensor of a file.
struct TensorInfo {
  std::string name;
  std::string dtype;               ///< the kind of its numbers: "F32" is float, "F64" is double
  std::vector<std::size_t> shape;  ///< empty for a single number
  std::uint64_t begin = 0;         ///< its first byte, counted from the end of the header
  std::uint64_t end = 0;           ///< the byte behind its last
};

/// What else a file says: texts, by their names.
using Metadata = std::map<std::string, std::string>;

/// All that a header says.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  ///< in the order of their names
  Metadata metadata;
};

/// The longest header that is read, as in the format's own library: 100 MB.
constexpr std::uint64_t longest_header = 100'000'000;

/// Reads a header and checks all that can be checked without the numbers: each tensor has the bytes
/// that its shape needs, if the kind of its numbers is known, and together they cover all bytes of
/// the file, none of them twice.
/// @param data_bytes  how many bytes of numbers follow the header
/// @param file        what the messages call the file
/// @throws std::runtime_error with the tensor and the numbers that are wrong
SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes,
                               const std::string& file);

/// The header as it stands in a file, padding included.
/// @throws std::invalid_argument when two tensors have one name, or one has the metadata's
std::string header_text(const SafetensorsHeader& header);

/// "(65, 128)"
std::string shape_text(const std::vector<std::size_t>& shape);
