#include "run_record.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "checkpoint.hpp"
#include "common/text.hpp"
#include "json_text.hpp"

namespace {

using Json = nlohmann::json;

/// A value in a message. Lists are not shown: writing them out would recurse as deep as they are.
std::string shown(const Json& value) {
  if (value.is_structured()) return value.type_name();
  return clip(value.dump(-1, ' ', false, Json::error_handler_t::replace), 40);
}

const Json& entry(const Json& json, const char* key, const std::string& name) {
  if (json.is_object() && json.contains(key)) return json.at(key);
  throw std::runtime_error(fmt::format("{} does not say with which {} it was trained", name, key));
}

void take_count(std::size_t& value, const Json& json, const char* key, const std::string& name) {
  const Json& number = entry(json, key, name);
  if (!number.is_number_unsigned() || number == 0 || number > most_counted) {
    throw std::runtime_error(
        fmt::format("{} was trained with {} {}, but a whole number from 1 to {} is needed", name,
                    key, shown(number), grouped(most_counted)));
  }
  value = number.get<std::size_t>();
}

/// The name of a file, which may be any bytes. JSON can have it as a text only if it is UTF-8;
/// where it isn't, the bytes stand there as a list of numbers.
Json json_of(const std::filesystem::path& path) {
  Json name = path.string();
  try {
    [[maybe_unused]] const std::string text = name.dump();
  } catch (const Json::type_error&) {
    name = Json::array();
    for (const char c : path.string()) name.push_back(static_cast<unsigned char>(c));
  }
  return name;
}

std::optional<std::string> path_of(const Json& name) {
  if (name.is_string()) return name.get<std::string>();
  if (!name.is_array()) return std::nullopt;
  std::string path;
  for (const Json& byte : name) {
    if (!byte.is_number_unsigned() || byte == 0 || byte > 255) return std::nullopt;
    path += static_cast<char>(byte.get<unsigned char>());
  }
  return path;
}

}  // namespace

Metadata metadata_of(const RunSettings& settings, std::size_t step, const std::string& text_sum,
                     const std::string& beside_sum) {
  const std::filesystem::path data =
      settings.data.empty() ? std::filesystem::path() : std::filesystem::absolute(settings.data);
  const Json json = {{"data", json_of(data)},   {"batch", settings.batch},
                     {"steps", settings.steps}, {"learning_rate", settings.learning_rate},
                     {"seed", settings.seed},   {"every", settings.every}};
  return {{"format", "pt"},
          {"step", std::to_string(step)},
          {"training", json.dump(-1, ' ', false, Json::error_handler_t::replace)},
          {"text", text_sum},
          {saved_with_key, beside_sum}};
}

bool is_same_text(const std::string& text, const Metadata& metadata) {
  const auto sum = metadata.find("text");
  return sum != metadata.end() && sum->second == checksum(text);
}

void take_settings(RunSettings& settings, const Metadata& metadata, const Resumption& given,
                   const std::string& name) {
  const auto training = metadata.find("training");
  if (training == metadata.end())
    throw std::runtime_error(name + " does not say how it was trained");
  const Json json = parse_json(training->second, name);
  const Json& data = entry(json, "data", name);
  const Json& rate = entry(json, "learning_rate", name);
  const Json& seed = entry(json, "seed", name);
  const std::optional<std::string> path = path_of(data);
  if (!path || !rate.is_number() || !(rate >= 0.0 && rate <= 1e30) || !seed.is_number_unsigned()) {
    throw std::runtime_error(
        fmt::format("{} was trained with data {}, learning_rate {} and seed {}: one of them cannot "
                    "be",
                    name, shown(data), shown(rate), shown(seed)));
  }
  if (!given.data) settings.data = *path;
  if (!given.steps) take_count(settings.steps, json, "steps", name);
  if (!given.every) take_count(settings.every, json, "every", name);
  take_count(settings.batch, json, "batch", name);
  settings.learning_rate = rate.get<double>();
  settings.seed = seed.get<std::uint64_t>();
}

std::size_t step_of(const Metadata& metadata, const std::string& name) {
  const auto step = metadata.find("step");
  std::size_t number = 0;
  if (step != metadata.end()) {
    const char* end = step->second.data() + step->second.size();
    const auto [stop, error] = std::from_chars(step->second.data(), end, number);
    if (error == std::errc() && stop == end && number <= most_counted) return number;
  }
  throw std::runtime_error(name + " does not say after which step it was saved");
}
