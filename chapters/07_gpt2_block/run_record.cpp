#include "run_record.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
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

}  // namespace

Metadata metadata_of(const RunSettings& settings, std::size_t step, const std::string& text_sum,
                     const std::string& beside_sum) {
  const std::filesystem::path data =
      settings.data.empty() ? std::filesystem::path() : std::filesystem::absolute(settings.data);
  const Json json = {{"data", data.string()},   {"batch", settings.batch},
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
  if (!data.is_string() || !rate.is_number() || !(rate >= 0.0 && rate <= 1e30) ||
      !seed.is_number_unsigned()) {
    throw std::runtime_error(
        fmt::format("{} was trained with data {}, learning_rate {} and seed {}: one of them cannot "
                    "be",
                    name, shown(data), shown(rate), shown(seed)));
  }
  if (!given.data) settings.data = data.get<std::string>();
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
