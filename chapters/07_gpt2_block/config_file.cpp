#include "config_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/atomic_file.hpp"
#include "common/text.hpp"
#include "json_text.hpp"

namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bytes = 1'000'000;  // a usual file has one thousand
constexpr std::size_t longest_value = 40;      // in a message

/// The settings of a file, by their keys.
class Settings {
 public:
  Settings(const Json& json, const std::string& name) : json_(json), name_(name) {
    if (!json.is_object()) throw std::invalid_argument(name + " is not a JSON object");
  }

  std::size_t size(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) throw std::invalid_argument(fmt::format("{} has no {}", name_, key));
    if (!value->is_number_unsigned()) refuse(key, "a whole number");
    return value->get<std::size_t>();
  }

  double number(const char* key, double without) const {
    const Json* value = find(key);
    if (value == nullptr) return without;
    if (!value->is_number()) refuse(key, "a number");
    return value->get<double>();
  }

  bool yes_or_no(const char* key, bool without) const {
    const Json* value = find(key);
    if (value == nullptr) return without;
    if (!value->is_boolean()) refuse(key, "true or false");
    return value->get<bool>();
  }

  /// Refuses other values than those wanted.
  void require(const char* key, const std::vector<Json>& wanted) const {
    const Json* value = find(key);
    if (value == nullptr || std::count(wanted.begin(), wanted.end(), *value) > 0) return;
    refuse(key, wanted.front().dump());
  }

  [[noreturn]] void refuse(const char* key, const std::string& wanted) const {
    throw std::invalid_argument(fmt::format("{}: {} is {}, but this program needs {}", name_, key,
                                            shown(json_.at(key)), wanted));
  }

 private:
  /// Null: the file does not have it. Values are not copied, since they may be nested so deeply
  /// that copying them would need more stack than there is; nor are such values shown.
  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  static std::string shown(const Json& value) {
    return value.is_structured() ? value.type_name() : clip(value.dump(), longest_value);
  }

  const Json& json_;
  const std::string& name_;
};

Config sizes(const Settings& settings) {
  return {settings.size("vocab_size"), settings.size("n_positions"), settings.size("n_layer"),
          settings.size("n_head"), settings.size("n_embd")};
}

/// The library has three shares to drop, GPT-2 and this program have one.
void take_dropout(ConfigFile& file, const Settings& settings, const std::string& name) {
  constexpr double published = 0.1;
  std::vector<double> shares;
  for (const char* key : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) {
    shares.push_back(settings.number(key, published));
    if (!(shares.back() >= 0 && shares.back() < 1)) settings.refuse(key, "a share below 1");
  }
  if (shares[0] == shares[1] && shares[1] == shares[2]) {
    file.config.dropout = static_cast<Real>(shares[0]);
    return;
  }
  file.untrainable = fmt::format(
      "{}: embd_pdrop, attn_pdrop and resid_pdrop are {}, {} and {}, but this program trains with "
      "one number for all three",
      name, shares[0], shares[1], shares[2]);
}

/// Other names of the sizes, old and new, must not say something else.
void require_agreement(const Settings& settings, const Config& config) {
  settings.require("n_ctx", {config.context});
  settings.require("max_position_embeddings", {config.context});
  settings.require("hidden_size", {config.width});
  settings.require("num_attention_heads", {config.heads});
  settings.require("num_hidden_layers", {config.layers});
}

/// All that would make the same numbers give another result.
void require_gpt2(const Settings& settings, const Config& config) {
  settings.require("n_inner", {nullptr, 4 * config.width});
  settings.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});  // one function
  settings.require("scale_attn_weights", {true});
  settings.require("scale_attn_by_inverse_layer_idx", {false});
  settings.require("add_cross_attention", {false});
  settings.require("is_encoder_decoder", {false});
  settings.require("pruned_heads", {Json::object(), nullptr});
  settings.require("quantization_config", {nullptr});
  if (std::abs(settings.number("layer_norm_epsilon", 1e-5) - 1e-5) > 1e-10) {
    settings.refuse("layer_norm_epsilon", "0.00001");
  }
}

/// The shortest number that is the same Real: 0.1, where a float has 0.100000001490116.
double shortest(Real number) {
  return std::stod(fmt::format("{}", number));
}

}  // namespace

ConfigFile parse_config(std::string_view text, const std::string& name) {
  const Json json = parse_json(text, name);
  const Settings settings(json, name);
  settings.require("model_type", {"gpt2"});
  ConfigFile file{sizes(settings), false, ""};
  take_dropout(file, settings, name);
  file.own_head = !settings.yes_or_no("tie_word_embeddings", true);
  try {
    require_valid(file.config);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + ": " + error.what());
  }
  require_agreement(settings, file.config);
  require_gpt2(settings, file.config);
  return file;
}

ConfigFile read_config(const std::filesystem::path& path) {
  return parse_config(read_regular_file(path, most_bytes), path.string());
}

std::string config_json(const Config& config) {
  const double dropout = shortest(config.dropout);
  const nlohmann::ordered_json json = {{"model_type", "gpt2"},
                                       {"architectures", {"GPT2LMHeadModel"}},
                                       {"vocab_size", config.symbols},
                                       {"n_positions", config.context},
                                       {"n_embd", config.width},
                                       {"n_layer", config.layers},
                                       {"n_head", config.heads},
                                       {"n_inner", nullptr},
                                       {"activation_function", "gelu_new"},
                                       {"embd_pdrop", dropout},
                                       {"attn_pdrop", dropout},
                                       {"resid_pdrop", dropout},
                                       {"layer_norm_epsilon", 1e-5},
                                       {"initializer_range", 0.02},
                                       {"scale_attn_weights", true},
                                       {"scale_attn_by_inverse_layer_idx", false},
                                       {"reorder_and_upcast_attn", false},
                                       {"tie_word_embeddings", true},
                                       {"bos_token_id", nullptr},
                                       {"eos_token_id", nullptr}};
  return json.dump(2) + "\n";
}

void write_config(const std::filesystem::path& path, const Config& config) {
  AtomicFile(path, config_json(config)).commit();
}
