#include "checkpoint.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>

#include "common/memory.hpp"
#include "common/whole_file.hpp"
#include "config_file.hpp"

namespace {

namespace fs = std::filesystem;

/// One of GPT-2's tensors: what the file calls it, and the parts of ours that lie in it side by
/// side.
struct StoredTensor {
  std::string name;
  std::vector<Parameter> parts;

  std::vector<std::size_t> shape() const {
    std::vector<std::size_t> shape = parts[0].shape;
    shape.back() *= parts.size();
    return shape;
  }
};

/// A block's tensors: GPT-2's name after "h.0.", and ours after "blocks.0.". Its Conv1D has the
/// orientation of the book, (d_in, d_out), and keeps the three projections of attention as one.
const std::vector<std::pair<std::string, std::vector<std::string>>> block_names = {
    {"ln_1.weight", {"norm_1.gain"}},
    {"ln_1.bias", {"norm_1.bias"}},
    {"attn.c_attn.weight", {"attention.W_query", "attention.W_key", "attention.W_value"}},
    {"attn.c_attn.bias", {"attention.b_query", "attention.b_key", "attention.b_value"}},
    {"attn.c_proj.weight", {"attention.W_out"}},
    {"attn.c_proj.bias", {"attention.b_out"}},
    {"ln_2.weight", {"norm_2.gain"}},
    {"ln_2.bias", {"norm_2.bias"}},
    {"mlp.c_fc.weight", {"feed_forward.W_up"}},
    {"mlp.c_fc.bias", {"feed_forward.b_up"}},
    {"mlp.c_proj.weight", {"feed_forward.W_down"}},
    {"mlp.c_proj.bias", {"feed_forward.b_down"}},
};

std::vector<StoredTensor> stored_tensors(GPT2& model, const std::string& prefix) {
  std::map<std::string, Parameter> parameters;
  for (const Parameter& parameter : model.parameters())
    parameters.emplace(parameter.name, parameter);
  std::vector<StoredTensor> all = {
      {prefix + "wte.weight", {parameters.at("token_embedding")}},
      {prefix + "wpe.weight", {parameters.at("position_embedding")}},
      {prefix + "ln_f.weight", {parameters.at("norm.gain")}},
      {prefix + "ln_f.bias", {parameters.at("norm.bias")}},
  };
  for (std::size_t layer = 0; layer < model.blocks.size(); ++layer) {
    for (const auto& [theirs, ours] : block_names) {
      StoredTensor tensor{fmt::format("{}h.{}.{}", prefix, layer, theirs), {}};
      for (const std::string& name : ours) {
        tensor.parts.push_back(parameters.at(fmt::format("blocks.{}.{}", layer, name)));
      }
      all.push_back(std::move(tensor));
    }
  }
  if (model.head.size() > 0) all.push_back({"lm_head.weight", {parameters.at("head")}});
  return all;
}

/// Calls copy(part, where): for each row of each part the numbers that it has in the stored tensor.
template <class Copy>
void for_each_row(const StoredTensor& tensor, std::vector<Real>& stored, const Copy& copy) {
  const std::size_t width = tensor.parts[0].shape.back();
  const std::size_t rows = tensor.parts[0].numbers.size() / width;
  Row rest(stored);
  for (std::size_t i = 0; i < rows; ++i) {
    for (const Parameter& part : tensor.parts) {
      copy(part.numbers.subspan(i * width, width), rest.first(width));
      rest = rest.subspan(width);
    }
  }
}

void read_tensor(SafetensorsFile& file, const StoredTensor& tensor) {
  const std::size_t size = tensor.parts.size() * tensor.parts[0].numbers.size();
  std::vector<Real> stored(size);
  file.read(tensor.name, tensor.shape(), stored.data());
  for_each_row(tensor, stored,
               [](Row ours, Row theirs) { std::copy(theirs.begin(), theirs.end(), ours.begin()); });
}

fs::path optimizer_path(const fs::path& folder, std::size_t step) {
  return folder / fmt::format("optimizer-{}.safetensors", step);
}

/// Whether a file in a model's folder is the optimizer's after some step.
bool is_optimizer(const std::string& name) {
  const std::string before = "optimizer-";
  const std::string behind = ".safetensors";
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) ||
      !name.ends_with(behind)) {
    return false;
  }
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(before.size()),
                     name.end() - static_cast<std::ptrdiff_t>(behind.size()),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) || error;
}

/// A model that gives way where its numbers would not fit into memory.
GPT2 model_of(const Config& config, const std::string& name) {
  require_memory(model_bytes(config), name);
  return GPT2(config);
}

}  // namespace

void require_free(const fs::path& folder) {
  if (is_there(folder / "model.safetensors")) {
    throw std::runtime_error(fmt::format(
        "{} has a model already: go on with it by --resume, or choose another folder with --out",
        folder.string()));
  }
  const auto require_ours = [&](const char* name, const auto& read) {
    if (!is_there(folder / name)) return;
    try {
      read(folder / name);
    } catch (const std::exception&) {
      throw std::runtime_error(
          fmt::format("{} has a {} that is not a model's: choose another folder with --out",
                      folder.string(), name));
    }
  };
  require_ours("config.json", read_config);
  require_ours("characters.json", Vocabulary::load);
  for (const char* name : {"losses.csv", "losses.svg"}) {  // written after the model only
    if (is_there(folder / name)) {
      throw std::runtime_error(
          fmt::format("{} has a {}, but no model.safetensors: choose another folder with --out",
                      folder.string(), name));
    }
  }
}

void remove_abandoned_files(const fs::path& folder) {
  remove_abandoned_files(folder, [](const std::string& name) {
    constexpr std::array names = {"config.json", "characters.json", "model.safetensors",
                                  "losses.csv", "losses.svg"};
    return is_optimizer(name) || std::find(names.begin(), names.end(), name) != names.end();
  });
}

LoadedModel load_model(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const ConfigFile sizes = read_config(path);
  SafetensorsFile file(folder / "model.safetensors");
  GPT2 model = model_of(sizes.config, "the model of " + path.string());
  const std::string prefix = file.find("wte.weight") == nullptr ? "transformer." : "";
  if (sizes.own_head) {
    model.head.resize({sizes.config.symbols, sizes.config.width});
  }
  for (const StoredTensor& tensor : stored_tensors(model, prefix)) read_tensor(file, tensor);
  LoadedModel loaded{std::move(model), std::nullopt, file.metadata()};
  const fs::path characters = folder / "characters.json";
  if (is_there(characters)) {
    loaded.vocabulary = Vocabulary::load(characters);
    if (loaded.vocabulary->size() != sizes.config.symbols) {
      throw std::runtime_error(fmt::format("{} has {} symbols, but the model has {}",
                                           characters.string(), loaded.vocabulary->size(),
                                           sizes.config.symbols));
    }
  }
  return loaded;
}

void save_model(const fs::path& folder, GPT2& model, const Metadata& metadata) {
  const std::vector<StoredTensor> tensors = stored_tensors(model, "transformer.");
  std::vector<std::vector<Real>> joined;
  std::vector<TensorToWrite> to_write;
  joined.reserve(tensors.size());  // what has been pointed at stays where it is
  for (const StoredTensor& tensor : tensors) {
    if (tensor.parts.size() == 1) {
      to_write.push_back({tensor.name, tensor.shape(), tensor.parts[0].numbers.data()});
      continue;
    }
    joined.emplace_back(tensor.parts.size() * tensor.parts[0].numbers.size());
    for_each_row(tensor, joined.back(),
                 [](Row ours, Row theirs) { std::copy(ours.begin(), ours.end(), theirs.begin()); });
    to_write.push_back({tensor.name, tensor.shape(), joined.back().data()});
  }
  write_safetensors(folder / "model.safetensors", to_write, metadata);
}

void save_optimizer(const fs::path& folder, std::size_t step, GPT2& mean, GPT2& square,
                    const Metadata& metadata) {
  std::vector<TensorToWrite> to_write;
  for (const auto& [kind, model] : {std::pair{"mean.", &mean}, {"square.", &square}}) {
    for (const Parameter& parameter : model->parameters()) {
      to_write.push_back({kind + parameter.name, parameter.shape, parameter.numbers.data()});
    }
  }
  write_safetensors(optimizer_path(folder, step), to_write, metadata);
}

Metadata load_optimizer(const fs::path& folder, std::size_t step, GPT2& mean, GPT2& square) {
  SafetensorsFile file(optimizer_path(folder, step));
  for (const auto& [kind, model] : {std::pair{"mean.", &mean}, {"square.", &square}}) {
    for (const Parameter& parameter : model->parameters()) {
      file.read(kind + parameter.name, parameter.shape, parameter.numbers.data());
    }
  }
  return file.metadata();
}

void remove_other_optimizers(const fs::path& folder, std::size_t step) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    std::error_code ignored;
    if (is_optimizer(name.string()) && name != optimizer_path(folder, step).filename() &&
        entry.is_regular_file(ignored)) {
      fs::remove(entry.path(), ignored);
    }
  }
}

FolderLock::FolderLock(const fs::path& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) {
    throw std::runtime_error(
        fmt::format("cannot open the folder {}: {}", folder.string(), std::strerror(errno)));
  }
  if (::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
    ::close(folder_);
    throw std::runtime_error(fmt::format(
        "another program is training in {}; choose another folder with --out", folder.string()));
  }
}

FolderLock::~FolderLock() {
  ::close(folder_);
}
