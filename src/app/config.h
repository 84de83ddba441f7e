// The configuration: one table says every key, its type, its default and what it is for. Values come
// from the table, then the TOML file, then the environment, then flags; the later wins, and each
// value remembers where it came from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::app {

enum class KeyType : uint8_t { text, integer, boolean, list };

struct Key {
  std::string_view name;  // "server.listen"; SLUICE_SERVER_LISTEN and --server.listen are the same
  KeyType type;
  std::string_view fallback;  // as the environment would spell it; a list is separated by '|'
  std::string_view help;
  std::string_view choices = "";  // "human|json": nothing else is taken
  int64_t least = 0;              // of an integer
  bool secret = false;
};
std::span<const Key> config_keys();
// Of each [providers.NAME] table.
std::span<const Key> provider_keys();

// "--listen" for "--server.listen" and so on.
struct ShortFlag {
  std::string_view flag;
  std::string_view key;
};
std::span<const ShortFlag> short_flags();

struct Setting {
  const Key* key = nullptr;
  std::string value;               // integers and booleans in their one spelling
  std::vector<std::string> items;  // of a list
  std::string source = "default";  // "sluice.toml:3", "SLUICE_SERVER_LISTEN", "--listen"
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ConfigSources {
  std::vector<std::string> flags;  // all of them must be configuration; --config FILE names the file
  Environment environment;
};

class Config {
 public:
  // `invalid`, in words, for what is unknown, of the wrong type or out of range.
  static Result<Config> read(const ConfigSources& sources);

  const std::string& text(std::string_view name) const { return at(name).value; }
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const { return at(name).value == "true"; }
  const std::vector<std::string>& list(std::string_view name) const { return at(name).items; }

  // The providers that are configured, built-in ones included, by name.
  std::vector<std::string> provider_names() const;
  std::string provider(std::string_view name, std::string_view member) const;

  // Every setting by its full name, providers included.
  const std::map<std::string, Setting>& settings() const { return settings_; }

  // Takes one value; `where` is for people.
  Result<Unit> set(const std::string& name, std::string_view value, const std::string& where);
  Result<Unit> set_list(const std::string& name, std::vector<std::string> items, const std::string& where);
  // The key of that name; a provider's key for "providers.NAME.member".
  static const Key* find_key(std::string_view name);
  // For an error message: "; did you mean …?", what there is in the section that was meant, or nothing.
  static std::string suggestion(std::string_view name, const std::string& prefix = "");

 private:
  Config();
  const Setting& at(std::string_view name) const;
  void add_provider(const std::string& name);
  Result<Unit> read_environment(const Environment& environment);
  Result<Unit> read_provider_variable(std::string_view variable, const std::string& value);
  void read_vendor_urls(const Environment& environment);
  void read_provider_keys(const Environment& environment);
  Result<Unit> read_flags(const std::vector<std::string>& flags);

  std::map<std::string, Setting> settings_;
};

// Puts the values of a TOML file into `config`; errors name the file and the line.
Result<Unit> read_toml_file(const std::string& path, Config& config);

// The effective configuration as TOML with the source of each value, secrets masked.
std::string to_toml(const Config& config);
std::string to_json(const Config& config);

// docs/configuration.md is this, and a test holds it to that.
std::string reference_page();

// "SLUICE_SERVER_LISTEN" for "server.listen".
std::string variable_of(std::string_view name);

}  // namespace sluice::app
