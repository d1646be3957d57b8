#include "json_text.hpp"

#include <fmt/core.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "common/text.hpp"

namespace {

using Json = nlohmann::json;

/// Looks at every object while it is being read, and remembers which keys it has had.
class KeysSeen {
 public:
  explicit KeysSeen(const std::string& name) : name_(name) {}

  bool operator()(int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) objects_.emplace_back();
    if (event == Json::parse_event_t::object_end) objects_.pop_back();
    if (event == Json::parse_event_t::key) add(value.get_ref<const std::string&>());
    return true;
  }

 private:
  void add(const std::string& key) {
    if (!objects_.back().insert(key).second) {
      throw std::invalid_argument(fmt::format("{} has the key {} twice", name_, quoted(key)));
    }
  }

  const std::string& name_;
  std::vector<std::set<std::string>> objects_;  // those that are open, the outermost first
};

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  const std::size_t nul = text.find('\0');
  if (nul != text.npos) {
    throw std::invalid_argument(fmt::format("{} is not JSON: byte {} is 0x00", name, nul));
  }
  KeysSeen keys(name);
  try {
    return Json::parse(text.begin(), text.end(), std::ref(keys));
  } catch (const Json::parse_error& error) {
    throw std::invalid_argument(
        fmt::format("{} is not JSON: it cannot be read at byte {}", name, error.byte));
  } catch (const Json::exception&) {  // the one other reason there is
    throw std::invalid_argument(fmt::format("{} has a number that is too large", name));
  }
}
