#include "safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "common/text.hpp"

namespace {

using Json = nlohmann::json;

constexpr const char* metadata_key = "__metadata__";
constexpr std::size_t longest_name = 60;     // in a message
constexpr std::size_t most_dimensions = 32;  // as in NumPy
constexpr std::uint64_t header_alignment = 8;
constexpr std::size_t longest_text = 1'000'000;  // bytes; a name has fewer than a hundred
constexpr std::size_t most_entries = 100'000;

[[noreturn]] void refuse(const std::string& file, const std::string& reason) {
  throw std::runtime_error(fmt::format("{} is not a sound safetensors file: {}", file, reason));
}

std::string shown(const std::string& name) {
  return "\"" + clip(name, longest_name) + "\"";
}

/// Reads a header value by value, and keeps only what belongs there. So a hostile header costs no
/// more memory than its own size, however deeply it is nested.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  SafetensorsHeader header;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::names;
    } else if (place_ == Place::names) {
      begin_entry();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::names) {
      name_ = name;
      if (!names_.insert(name).second) refuse(file_, fmt::format("{} is there twice", where()));
    } else {
      field_ = name;
      if (!fields_.insert(name).second) refuse(file_, fmt::format("{} is there twice", where()));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) finish_tensor();
    place_ = Place::names;
    return true;
  }

  bool start_array(std::size_t) override {
    const bool wanted = place_ == Place::tensor && (field_ == "shape" || field_ == "data_offsets");
    if (!wanted) unexpected("a list");
    place_ = Place::numbers;
    numbers_.clear();
    return true;
  }

  bool number_unsigned(std::uint64_t number) override {
    if (place_ != Place::numbers) unexpected(fmt::format("{}", number));
    if (numbers_.size() == most_dimensions) {
      refuse(file_, fmt::format("{} has more than {} numbers", where(), most_dimensions));
    }
    numbers_.push_back(number);
    return true;
  }

  bool end_array() override {
    TensorInfo& tensor = header.tensors.back();
    if (field_ == "shape") {
      tensor.shape.assign(numbers_.begin(), numbers_.end());
    } else if (numbers_.size() == 2) {
      tensor.begin = numbers_[0];
      tensor.end = numbers_[1];
    } else {
      refuse(file_, fmt::format("{} has {} numbers instead of 2", where(), numbers_.size()));
    }
    place_ = Place::tensor;
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      require_few();
      header.metadata[field_] = text;
    } else if (place_ == Place::tensor && field_ == "dtype") {
      header.tensors.back().dtype = text;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_integer(std::int64_t number) override { unexpected(fmt::format("{}", number)); }
  bool number_float(double, const std::string& text) override { unexpected(text); }
  bool binary(Json::binary_t&) override { unexpected("binary"); }
  bool parse_error(std::size_t place, const std::string&, const Json::exception&) override {
    refuse(file_, fmt::format("its header cannot be read at byte {}", place));
  }

 private:
  enum class Place { start, names, metadata, tensor, numbers };

  void begin_entry() {
    fields_.clear();
    require_few();
    place_ = name_ == metadata_key ? Place::metadata : Place::tensor;
    if (place_ == Place::tensor) header.tensors.emplace_back().name = name_;
  }

  /// A model has a few hundred tensors; a hundred million bytes could name two million.
  void require_few() const {
    if (header.tensors.size() + header.metadata.size() < most_entries) return;
    refuse(file_, fmt::format("it has more than {} tensors and texts", grouped(most_entries)));
  }

  void finish_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (fields_.erase(field) == 0)
        refuse(file_, fmt::format("{} has no {}", shown(name_), field));
    }
    if (!fields_.empty()) {
      refuse(file_,
             fmt::format("{} has the unknown field {}", shown(name_), shown(*fields_.begin())));
    }
  }

  std::string where() const {
    switch (place_) {
      case Place::start:
        return "its header";
      case Place::names:
        return shown(name_);
      default:
        return fmt::format("{} of {}", clip(field_, longest_name), shown(name_));
    }
  }

  [[noreturn]] void unexpected(const std::string& what) const {
    refuse(file_, fmt::format("{} is {}", where(), clip(what, longest_name)));
  }

  const std::string& file_;
  Place place_ = Place::start;
  std::set<std::string> names_;
  std::string name_;              // of the tensor that is being read
  std::set<std::string> fields_;  // that it has had
  std::string field_;
  std::vector<std::uint64_t> numbers_;
};

/// The bytes of one number; none for a kind of numbers that this program doesn't know, as newer
/// versions of the format have them. Some take less than a byte.
std::optional<std::uint64_t> bytes_of_one(const TensorInfo& tensor) {
  static const std::map<std::string, std::uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  const auto found = sizes.find(tensor.dtype);
  if (found == sizes.end()) return std::nullopt;
  return found->second;
}

/// What the shape needs; refuses what 64 bits cannot count.
std::uint64_t bytes_of(const TensorInfo& tensor, std::uint64_t bytes_of_number,
                       const std::string& file) {
  std::uint64_t bytes = bytes_of_number;
  for (const std::uint64_t size : tensor.shape) {
    if (size != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / size) {
      refuse(file, fmt::format("{} has the shape {}, which has too many numbers",
                               shown(tensor.name), shape_text(tensor.shape)));
    }
    bytes *= size;
  }
  return bytes;
}

void require_fitting_size(const TensorInfo& tensor, const std::string& file) {
  const std::optional<std::uint64_t> of_number = bytes_of_one(tensor);
  if (!of_number) {  // nobody can read it, but what else is in the file
    if (tensor.begin <= tensor.end) return;
    refuse(file, fmt::format("{} ends at byte {}, before it begins at {}", shown(tensor.name),
                             tensor.end, tensor.begin));
  }
  const std::uint64_t needed = bytes_of(tensor, *of_number, file);
  if (tensor.end >= tensor.begin && tensor.end - tensor.begin == needed) return;
  refuse(file,
         fmt::format("{} has the shape {} of {}, which needs {} bytes, but its offsets are {} "
                     "and {}",
                     shown(tensor.name), shape_text(tensor.shape), tensor.dtype, needed,
                     tensor.begin, tensor.end));
}

/// Every byte belongs to one tensor.
void require_cover(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes,
                   const std::string& file) {
  std::vector<const TensorInfo*> in_order;
  for (const TensorInfo& tensor : tensors) in_order.push_back(&tensor);
  std::sort(in_order.begin(), in_order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t covered = 0;
  for (const TensorInfo* tensor : in_order) {
    if (tensor->begin != covered) {
      refuse(file, fmt::format("{} begins at byte {}, but the tensors before it end at {}",
                               shown(tensor->name), tensor->begin, covered));
    }
    covered = tensor->end;
  }
  if (covered != data_bytes) {
    refuse(file, fmt::format("its tensors have {} bytes, but {} bytes follow the header", covered,
                             data_bytes));
  }
}

/// Refuses a header that has mostly one name, number or gap: the parser would copy it several
/// times.
void require_short_texts(std::string_view json, const std::string& file) {
  constexpr std::string_view ends = "{}[]:,\"";
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (at - begin > longest_text) {
      refuse(file, fmt::format("byte {} of its header begins a text of more than {} bytes", begin,
                               grouped(longest_text)));
    }
    if (quoted && json[at] == '\\') {
      ++at;
    } else if (quoted ? json[at] == '"' : ends.find(json[at]) != ends.npos) {
      quoted = !quoted && json[at] == '"';
      begin = at;
    }
  }
}

}  // namespace

SafetensorsHeader parse_header(std::string_view json, std::uint64_t data_bytes,
                               const std::string& file) {
  if (json.empty() || json[0] != '{') refuse(file, "its header does not begin with {");
  if (json.find('\0') != json.npos) refuse(file, "its header has a NUL byte");
  json = json.substr(0, json.find_last_not_of(' ') + 1);  // without the padding
  require_short_texts(json, file);
  HeaderReader reader(file);
  Json::sax_parse(json.begin(), json.end(), &reader);
  SafetensorsHeader header = std::move(reader.header);
  for (const TensorInfo& tensor : header.tensors) require_fitting_size(tensor, file);
  require_cover(header.tensors, data_bytes, file);
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return header;
}

std::string header_text(const SafetensorsHeader& header) {
  std::string text;
  if (!header.metadata.empty()) {
    text = fmt::format(",\"{}\":{}", metadata_key, Json(header.metadata).dump());
  }
  std::set<std::string> names = {metadata_key};
  for (const TensorInfo& tensor : header.tensors) {
    if (!names.insert(tensor.name).second) {
      throw std::invalid_argument(fmt::format("the name {} is taken", shown(tensor.name)));
    }
    text += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        Json(tensor.name).dump(), tensor.dtype, fmt::join(tensor.shape, ","),
                        tensor.begin, tensor.end);
  }
  text = "{" + text.substr(std::min<std::size_t>(1, text.size())) + "}";
  text.resize((text.size() + header_alignment - 1) / header_alignment * header_alignment, ' ');
  return text;
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}
