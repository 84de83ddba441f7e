#define TOML_EXCEPTIONS 0
// It asserts, of a key, what it then looks at itself: "[" at a line's end would be our death, not the file's mistake.
#define TOML_ASSERT(expression) static_assert(true)
#ifdef NDEBUG
#error "with NDEBUG toml++ takes for granted what it otherwise asserts"
#endif
#include <toml++/toml.h>

#include "app/config.h"
#include "base/bytes.h"

namespace sluice::app {
namespace {

class TomlReader {
 public:
  TomlReader(const std::string& path, Config& config) : path_(path), config_(config) {}

  Result<Unit> table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const auto name = prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
      auto taken = node.is_table() && Config::find_key(name) == nullptr ? section(*node.as_table(), name, key.source())
                                                                        : value(node, name, key.source());
      if (!taken) return taken;
    }
    return Unit{};
  }

 private:
  std::string where(const toml::source_region& source) const { return path_ + ":" + std::to_string(source.begin.line); }

  Result<Unit> section(const toml::table& content, const std::string& name, const toml::source_region& source) {
    const bool is_provider = name == "providers" || name.starts_with("providers.");
    bool known = is_provider;
    std::vector<std::string_view> sections = {"providers"};
    for (const auto& key : config_keys()) {
      sections.push_back(key.name.substr(0, key.name.find('.')));
      known = known || sections.back() == name;
    }
    if (known) return table(content, name);
    const auto meant = nearest(name, sections);
    return Error{ErrorKind::invalid, where(source) + ": unknown section [" + name + "]" +
                                         (meant ? "; did you mean [" + std::string(*meant) + "]?" : "")};
  }

  Result<Unit> value(const toml::node& node, const std::string& name, const toml::source_region& source) {
    const auto at = where(source);
    const Key* key = Config::find_key(name);
    if (key == nullptr) return config_.set(name, "", at);  // says what is unknown
    switch (key->type) {
      case KeyType::text:
        if (const auto* text = node.as_string()) return config_.set(name, text->get(), at);
        return wrong_type(node, name, "text in quotes", at);
      case KeyType::integer:
        if (const auto* number = node.as_integer()) return config_.set(name, std::to_string(number->get()), at);
        return wrong_type(node, name, "an integer", at);
      case KeyType::boolean:
        if (const auto* truth = node.as_boolean()) return config_.set(name, truth->get() ? "true" : "false", at);
        return wrong_type(node, name, "true or false", at);
      case KeyType::list: break;
    }
    std::vector<std::string> items;
    const auto* array = node.as_array();
    if (array == nullptr) return wrong_type(node, name, "a list of texts", at);
    for (const auto& item : *array) {
      if (!item.is_string()) return wrong_type(item, name, "a list of texts", where(item.source()));
      items.push_back(item.as_string()->get());
    }
    return config_.set_list(name, std::move(items), at);
  }

  static Result<Unit> wrong_type(const toml::node& node, const std::string& name, std::string_view wanted,
                                 const std::string& at) {
    std::string_view found = "something else";
    if (node.is_string()) found = "text";
    if (node.is_integer()) found = "an integer";
    if (node.is_floating_point()) found = "a number with a point";
    if (node.is_boolean()) found = "true or false";
    if (node.is_array()) found = "a list";
    if (node.is_table()) found = "a table";
    return Error{ErrorKind::invalid,
                 at + ": " + name + " must be " + std::string(wanted) + ", not " + std::string(found)};
  }

  const std::string& path_;
  Config& config_;
};

}  // namespace

Result<Unit> read_toml_file(const std::string& path, Config& config) {
  const auto parsed = toml::parse_file(path);
  if (!parsed) {
    const auto line = parsed.error().source().begin.line;
    return Error{ErrorKind::invalid, path + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                                         std::string(parsed.error().description())};
  }
  return TomlReader(path, config).table(parsed.table(), "");
}

}  // namespace sluice::app
