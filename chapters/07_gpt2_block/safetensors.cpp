#include "safetensors.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");
static_assert(sizeof(std::size_t) == 8, "the format's sizes have 64 bits");

constexpr const char* dtype_of_real = sizeof(Real) == 4 ? "F32" : "F64";
constexpr const char* name_of_real = sizeof(Real) == 4 ? "float" : "double";
constexpr std::uint64_t length_bytes = 8;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw std::runtime_error(fmt::format("cannot read {}: {}", path, reason));
}

/// A pipe would never end, and a folder has no bytes.
std::uint64_t size_of_plain_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) refuse(path, error ? error.message() : std::strerror(ENOENT));
  if (fs::is_directory(status)) refuse(path, "it is a folder");
  if (!fs::is_regular_file(status)) refuse(path, "it is not a regular file");
  return fs::file_size(path);
}

std::size_t count_of(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

/// Where in a tensor the number at `place` lies, counted row by row: "(3, 17)".
std::string entry_text(const std::vector<std::size_t>& shape, std::size_t place) {
  std::vector<std::size_t> indices(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    indices[i] = place % shape[i];
    place /= shape[i];
  }
  return shape_text(indices);
}

/// Whether a number is finite, also as a Real.
bool fits(double number) {
  return std::abs(number) <= static_cast<double>(std::numeric_limits<Real>::max());
}

}  // namespace

SafetensorsFile::SafetensorsFile(const fs::path& path) : path_(path.string()) {
  const std::uint64_t size = size_of_plain_file(path_);
  file_.open(path, std::ios::binary);
  if (!file_) refuse(path_, std::strerror(errno));
  std::uint64_t length = 0;
  if (size < length_bytes || !file_.read(reinterpret_cast<char*>(&length), length_bytes)) {
    refuse(path_, fmt::format("it has {} bytes, but a safetensors file begins with 8", size));
  }
  data_begin_ = length_bytes + length;
  if (length > longest_header || data_begin_ > size) {
    refuse(path_, fmt::format("its header should have {} bytes, but the file has {} in all and a "
                              "header at most {}",
                              length, size, longest_header));
  }
  std::string json(length, '\0');
  if (!file_.read(json.data(), static_cast<std::streamsize>(length))) {
    refuse(path_, "it ends in the middle of its header");
  }
  header_ = parse_header(json, size - data_begin_, path_);
}

const TensorInfo* SafetensorsFile::find(const std::string& name) const {
  const auto& all = header_.tensors;
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const TensorInfo& tensor, const std::string& n) { return tensor.name < n; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

void SafetensorsFile::read(const std::string& name, const std::vector<std::size_t>& shape,
                           Real* numbers) {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) refuse(path_, fmt::format("it has no tensor {}", name));
  if (tensor->shape != shape) {
    refuse(path_, fmt::format("{} has the shape {}, but {} is needed", name,
                              shape_text(tensor->shape), shape_text(shape)));
  }
  if (tensor->dtype == "F32") {
    read_as<float>(*tensor, numbers);
  } else if (tensor->dtype == "F64") {
    read_as<double>(*tensor, numbers);
  } else {
    refuse(path_, fmt::format("{} has numbers of the kind {}, but only F32 and F64 can be read",
                              name, tensor->dtype));
  }
}

/// In parts, so that numbers of another kind need no second tensor.
template <class Stored>
void SafetensorsFile::read_as(const TensorInfo& tensor, Real* numbers) {
  std::array<Stored, 4096> part;
  const std::size_t count = count_of(tensor.shape);
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(data_begin_ + tensor.begin));
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(part.size(), count - done);
    if (!file_.read(reinterpret_cast<char*>(part.data()),
                    static_cast<std::streamsize>(n * sizeof(Stored)))) {
      refuse(path_, fmt::format("it ends in the middle of {}", tensor.name));
    }
    for (std::size_t i = 0; i < n; ++i, ++done) {
      if (!fits(static_cast<double>(part[i]))) {
        refuse(path_, fmt::format("{}{} is {}, which is no finite {}", tensor.name,
                                  entry_text(tensor.shape, done), part[i], name_of_real));
      }
      numbers[done] = static_cast<Real>(part[i]);
    }
  }
}

namespace {

/// A file that could not be read again must not take the place of one that can.
void require_finite(const TensorToWrite& tensor) {
  const std::size_t count = count_of(tensor.shape);
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(tensor.numbers[i])) {
      throw std::invalid_argument(fmt::format("{}{} is {}, and only finite numbers are written",
                                              tensor.name, entry_text(tensor.shape, i),
                                              tensor.numbers[i]));
    }
  }
}

SafetensorsHeader header_for(const std::vector<TensorToWrite>& tensors, const Metadata& metadata) {
  SafetensorsHeader header{{}, metadata};
  std::uint64_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::uint64_t begin = end;
    end += count_of(tensor.shape) * sizeof(Real);
    header.tensors.push_back({tensor.name, dtype_of_real, tensor.shape, begin, end});
  }
  return header;
}

}  // namespace

void write_safetensors(AtomicFile& file, const std::vector<TensorToWrite>& tensors,
                       const Metadata& metadata) {
  for (const TensorToWrite& tensor : tensors) require_finite(tensor);
  const std::string header = header_text(header_for(tensors, metadata));
  const std::uint64_t length = header.size();
  file.write(&length, length_bytes);
  file.write(header.data(), header.size());
  for (const TensorToWrite& tensor : tensors) {
    file.write(tensor.numbers, count_of(tensor.shape) * sizeof(Real));
  }
}

void write_safetensors(const fs::path& path, const std::vector<TensorToWrite>& tensors,
                       const Metadata& metadata) {
  AtomicFile file(path);
  write_safetensors(file, tensors, metadata);
  file.commit();
}
