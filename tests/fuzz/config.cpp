/// @file
/// @brief Tries texts of config.json.

#include "config_file.hpp"
#include "reader.hpp"

namespace {

bool equal(const Config& a, const Config& b) {
  return a.symbols == b.symbols && a.context == b.context && a.layers == b.layers &&
         a.heads == b.heads && a.width == b.width && a.dropout == b.dropout;
}

}  // namespace

void try_input(const std::string& input) {
  read_or_refuse([&input] {
    const Config config = parse_config(input, input_name).config;
    require_valid(config);
    const ConfigFile again = parse_config(config_json(config), input_name);
    if (!equal(config, again.config)) fail("a config that is written and read again is another");
  });
}
