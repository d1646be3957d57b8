#include "checkpoint.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>

#include "common/memory.hpp"
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

/// A model that gives way where its numbers would not fit into memory.
GPT2 model_of(const Config& config, const std::string& name) {
  require_memory(static_cast<double>(parameter_count(config) * sizeof(Real)), name);
  return GPT2(config);
}

}  // namespace

bool has_model(const fs::path& folder) {
  return fs::exists(folder / "model.safetensors");
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
  if (fs::exists(characters)) {
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
    const std::string name = entry.path().filename().string();
    if (name.starts_with("optimizer-") && name.ends_with(".safetensors") &&
        entry.path().filename() != optimizer_path(folder, step).filename()) {
      fs::remove(entry.path());
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
