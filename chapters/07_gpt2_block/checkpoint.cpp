#include "checkpoint.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <stdexcept>

#include "common/atomic_file.hpp"
#include "common/memory.hpp"
#include "config_file.hpp"
#include "loss_curve.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_left_over = 100'000'000;  // bytes

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

std::string file_name(const fs::directory_entry& entry) {
  return entry.path().filename().string();
}

/// Whether runs write files of that name.
bool is_of_a_run(const std::string& name) {
  constexpr std::array names = {"config.json", "characters.json", "model.safetensors", "losses.csv",
                                "losses.svg"};
  return is_optimizer(name) || std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether there is something of that name, if only a link that leads nowhere.
bool is_there(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (error) {
    throw std::runtime_error(fmt::format("cannot look at {}: {}", path.string(), error.message()));
  }
  return true;
}

/// Whether a file is what a run that was killed before its first model left behind.
bool is_left_over(const fs::path& path) {
  if (fs::is_symlink(path)) return false;
  const std::string name = path.filename().string();
  try {
    if (name == "config.json") {
      return read_regular_file(path, most_left_over) == config_json(read_config(path).config);
    }
    if (name == "characters.json") {
      return read_regular_file(path, most_left_over) == Vocabulary::load(path).to_json();
    }
    if (name == "losses.csv") {  // of the first model, that is with one point
      const std::string table = read_regular_file(path, most_left_over);
      const std::vector<LossPoint> points = parse_loss_table(table, name);
      return points.size() == 1 && table == loss_table(points);
    }
    return is_optimizer(name) && SafetensorsFile(path).find("mean.token_embedding") != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

/// @throws std::runtime_error when the file has blocks that the sizes do not know of
void require_no_more_blocks(const SafetensorsFile& file, const std::string& name,
                            const std::string& prefix, std::size_t layers) {
  const std::string before = prefix + "h.";
  for (const TensorInfo& tensor : file.tensors()) {
    if (!tensor.name.starts_with(before)) continue;
    std::size_t block = 0;
    const char* digits = tensor.name.data() + before.size();
    const auto [end, error] =
        std::from_chars(digits, tensor.name.data() + tensor.name.size(), block);
    if (error == std::errc() && end != digits && block >= layers) {
      throw std::runtime_error(fmt::format("{} has {}, but the n_layer of config.json is {}", name,
                                           tensor.name, layers));
    }
  }
}

/// Where the weights are there in a form that this program doesn't read, says what to do.
void require_weights(const fs::path& folder) {
  if (is_there(folder / "model.safetensors")) return;
  const char* one_file =
      "Hugging Face's library writes one: "
      "from_pretrained(FOLDER).save_pretrained(FOLDER, max_shard_size=\"100GB\")";
  if (is_there(folder / "model.safetensors.index.json")) {
    throw std::runtime_error(fmt::format(
        "{} has its weights in several files, but this program needs one model.safetensors. {}",
        folder.string(), one_file));
  }
  for (const char* other :
       {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"}) {
    if (!is_there(folder / other)) continue;
    throw std::runtime_error(
        fmt::format("{} has its weights in {}, but this program needs model.safetensors. {}",
                    folder.string(), other, one_file));
  }
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
  bool has_other_files = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    has_other_files = has_other_files || !is_of_a_run(file_name(entry));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (is_of_a_run(file_name(entry)) && (has_other_files || !is_left_over(entry.path()))) {
      throw std::runtime_error(
          fmt::format("{} has a {}, but no model.safetensors: choose another folder with --out",
                      folder.string(), file_name(entry)));
    }
  }
}

void remove_left_overs(const fs::path& folder) {
  std::error_code ignored;
  if (is_there(folder / "model.safetensors")) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (is_of_a_run(file_name(entry)) && is_left_over(entry.path())) {
      fs::remove(entry.path(), ignored);
    }
  }
}

void remove_abandoned_files(const fs::path& folder) {
  remove_abandoned_files(folder, is_of_a_run);
}

std::string checksum(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

std::string checksum_beside(const Config& config, const Vocabulary& vocabulary) {
  return checksum(config_json(config) + vocabulary.to_json());
}

LoadedModel load_model(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const ConfigFile sizes = read_config(path);
  require_weights(folder);
  SafetensorsFile file(folder / "model.safetensors");
  GPT2 model = model_of(sizes.config, "the model of " + path.string());
  const std::string prefix = file.find("wte.weight") == nullptr ? "transformer." : "";
  if (sizes.own_head) {
    model.head.resize({sizes.config.symbols, sizes.config.width});
  }
  require_no_more_blocks(file, (folder / "model.safetensors").string(), prefix,
                         sizes.config.layers);
  for (const StoredTensor& tensor : stored_tensors(model, prefix)) read_tensor(file, tensor);
  LoadedModel loaded{std::move(model), std::nullopt, file.metadata(), sizes.untrainable};
  const fs::path characters = folder / "characters.json";
  if (is_there(characters)) {
    loaded.vocabulary = Vocabulary::load(characters);
    if (loaded.vocabulary->size() != sizes.config.symbols) {
      throw std::runtime_error(fmt::format("{} has {} symbols, but the model has {}",
                                           characters.string(), loaded.vocabulary->size(),
                                           sizes.config.symbols));
    }
    const auto saved_with = loaded.metadata.find(saved_with_key);
    if (saved_with != loaded.metadata.end() &&
        saved_with->second != checksum_beside(sizes.config, *loaded.vocabulary)) {
      throw std::runtime_error(fmt::format(
          "config.json or characters.json in {} is not the one that the model was saved with",
          folder.string()));
    }
  }
  return loaded;
}

double saving_bytes(const Config& config) {
  const auto width = static_cast<double>(config.width);
  return sizeof(Real) * static_cast<double>(config.layers) * 3 * width * (width + 1);
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
  const fs::path path = optimizer_path(folder, step);
  SafetensorsFile file(path);
  for (const auto& [kind, model] : {std::pair{"mean.", &mean}, {"square.", &square}}) {
    for (const Parameter& parameter : model->parameters()) {
      file.read(kind + parameter.name, parameter.shape, parameter.numbers.data());
    }
  }
  for (const Parameter& parameter : square.parameters()) {
    const Real least = *std::min_element(parameter.numbers.begin(), parameter.numbers.end());
    if (least < 0) {
      throw std::runtime_error(
          fmt::format("{}: square.{} has the entry {}, but the mean of squares is never negative",
                      path.string(), parameter.name, least));
    }
  }
  return file.metadata();
}

void remove_other_optimizers(const fs::path& folder, std::size_t step) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = file_name(entry);
    std::error_code ignored;
    if (is_optimizer(name) && name != optimizer_path(folder, step).filename() &&
        entry.is_regular_file(ignored)) {
      fs::remove(entry.path(), ignored);
    }
  }
}
