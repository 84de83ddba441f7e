// The configuration of a server or a runner. One table lists every key with its type, its default and its purpose.
// Values are taken from the table, then from the TOML file, then from the environment, then from flags. A later source
// wins, and each value remembers its source.
//
// A Config is read once at the start, on the main thread, and does not change afterwards. This module reads and prints
// values; it does not know what they are used for (installation/options.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::config {

enum class KeyType : uint8_t { text, integer, boolean, list };

struct Key {
  std::string_view name;  // "server.listen"; SLUICE_SERVER_LISTEN and --server.listen are the same
  KeyType type;
  std::string_view fallback;  // as the environment would spell it; a list is separated by '|'
  std::string_view help;
  std::string_view choices = "";  // "human|json": no other value is accepted
  int64_t least = 0;              // smallest integer that is accepted
  bool secret = false;
};
std::span<const Key> config_keys();
// The keys of each [providers.NAME] table.
std::span<const Key> provider_keys();

// A shorter spelling of a flag: "--listen" for "--server.listen".
struct ShortFlag {
  std::string_view flag;
  std::string_view key;
};
std::span<const ShortFlag> short_flags();

struct Setting {
  const Key* key = nullptr;
  std::string value;               // integers and booleans in their one spelling
  std::vector<std::string> items;  // if the key is a list
  std::string source = "default";  // "sluice.toml:3", "SLUICE_SERVER_LISTEN", "--listen"
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ConfigSources {
  std::vector<std::string> flags;  // configuration flags only; --config FILE names the file
  Environment environment;
};

class Config {
 public:
  // `invalid`, with an explanation, for an unknown key and for a value of the wrong type or out of range.
  static Result<Config> read(const ConfigSources& sources);

  const std::string& text(std::string_view name) const { return at(name).value; }
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const { return at(name).value == "true"; }
  const std::vector<std::string>& list(std::string_view name) const { return at(name).items; }

  // Names of the configured providers, including the built-in ones.
  std::vector<std::string> provider_names() const;
  std::string provider(std::string_view name, std::string_view member) const;

  // Every setting by its full name, including those of providers.
  const std::map<std::string, Setting>& settings() const { return settings_; }

  // Sets one value; `where` is its source, as shown to people.
  Result<Unit> set(const std::string& name, std::string_view value, const std::string& where);
  Result<Unit> set_list(const std::string& name, std::vector<std::string> items, const std::string& where);
  // The key of that name; for "providers.NAME.member", the provider key. Null if there is no such key.
  static const Key* find_key(std::string_view name);
  // Text for an error message: "; did you mean …?", the keys of the section, or nothing.
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

// Sets the values of a TOML file in `config`; errors name the file and the line.
Result<Unit> read_toml_file(const std::string& path, Config& config);

// The effective configuration as TOML with the source of each value, secrets masked.
std::string to_toml(const Config& config);
std::string to_json(const Config& config);

// The text of docs/configuration.md; a test compares both.
std::string reference_page();

// The environment variable of a key: "SLUICE_SERVER_LISTEN" for "server.listen".
std::string variable_of(std::string_view name);

// An address to listen on: "127.0.0.1:8080", "[::1]:0".
struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;

  // "127.0.0.1:8080" or "[::1]:8080", with the port that the socket got.
  std::string authority(uint16_t real_port) const;
  // The authority for a client on this machine: the address of all interfaces becomes loopback.
  std::string local_authority(uint16_t real_port) const;
};
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace sluice::config
