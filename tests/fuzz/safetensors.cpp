/// @file
/// @brief Tries files of tensors.
///
/// An input is a header, a NUL byte, and the numbers. The eight bytes with the header's length are
/// put before it, or hardly any input would get beyond them. It is also tried without them.

#include "safetensors.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "reader.hpp"

namespace {

namespace fs = std::filesystem;

/// A file of a name that the messages must have, anew for each input.
fs::path file_with(const std::string& bytes) {
  static const fs::path path =
      fs::temp_directory_path() / fmt::format("fuzz-{}, {}", getpid(), input_name);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

std::string with_length(const std::string& input) {
  const std::size_t nul = std::min(input.find('\0'), input.size());
  const std::uint64_t length = nul;
  const std::string data = input.substr(std::min(nul + 1, input.size()));
  return std::string(reinterpret_cast<const char*>(&length), 8) + input.substr(0, nul) + data;
}

bool equal(const SafetensorsHeader& a, const SafetensorsHeader& b) {
  const auto same = [](const TensorInfo& x, const TensorInfo& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.begin == y.begin &&
           x.end == y.end;
  };
  return a.metadata == b.metadata &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same);
}

/// The bytes that a tensor needs, in numbers that do not overflow.
long double needed(const TensorInfo& tensor, std::size_t width) {
  long double bytes = static_cast<long double>(width);
  for (const std::size_t size : tensor.shape) bytes *= static_cast<long double>(size);
  return bytes;
}

/// A tensor of a sound file has the bytes that it needs. Its numbers can be read or are refused.
void read_tensor(SafetensorsFile& file, const TensorInfo& tensor) {
  if (tensor.dtype != "F32" && tensor.dtype != "F64") return;
  const std::size_t width = tensor.dtype == "F64" ? 8 : 4;
  const std::uint64_t bytes = tensor.end - tensor.begin;
  if (needed(tensor, width) != static_cast<long double>(bytes)) fail("a tensor of the wrong size");
  std::vector<Real> numbers(bytes / width);
  read_or_refuse([&] { file.read(tensor.name, tensor.shape, numbers.data()); });
}

/// Reads all there is, and returns how many bytes the tensors have.
std::uint64_t read_tensors(SafetensorsFile& file) {
  std::uint64_t data_bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    read_tensor(file, tensor);
    data_bytes += tensor.end - tensor.begin;
  }
  return data_bytes;
}

void try_file(const std::string& bytes) {
  const fs::path path = file_with(bytes);
  read_or_refuse([&] {
    SafetensorsFile file(path);
    const std::uint64_t data_bytes = read_tensors(file);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    if (sizeof(length) + length + data_bytes != bytes.size()) fail("bytes shared or left out");
    const SafetensorsHeader header{file.tensors(), file.metadata()};
    const SafetensorsHeader again = parse_header(header_text(header), data_bytes, input_name);
    if (!equal(header, again)) fail("a header that is written and read again is another");
  });
  fs::remove(path);
}

}  // namespace

void try_input(const std::string& input) {
  try_file(with_length(input));
  try_file(input);
}
