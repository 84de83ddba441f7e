#include "config/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"

namespace sluice::config {
namespace {

constexpr std::string_view providers_prefix = "providers.";

// Variables of ours that are not configuration of the server.
constexpr std::string_view client_variables[] = {"SLUICE_URL", "SLUICE_KEY", "SLUICE_ADMIN_KEY", "SLUICE_CONFIG"};

struct BuiltIn {
  std::string_view name;
  std::string_view key_variable;
  std::string_view url_variable;
};
constexpr BuiltIn built_in[] = {
    {"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
    {"openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
    {"openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
    {"offline", "", ""},
};

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '.' || c == '-') c = '_';
  }
  return out;
}

const std::string* find_variable(const Environment& environment, std::string_view name) {
  for (const auto& [variable, value] : environment) {
    if (variable == name) return &value;
  }
  return nullptr;
}

// The member of "providers.NAME.member"; a name may have dots of its own.
std::string_view member_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string_view section_of(std::string_view name) { return name.substr(0, name.find('.')); }

std::optional<std::string> nearest_of(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const auto found = nearest(name, candidates);
  if (!found) return std::nullopt;
  return std::string(*found);
}

Result<std::string> checked_integer(const Key& key, std::string_view name, std::string_view value,
                                    const std::string& where) {
  int64_t number = 0;
  const auto end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) {
    return wrong(where + ": " + std::string(name) + " must be an integer, not \"" + std::string(value) + "\"");
  }
  if (number < key.least) {
    return wrong(where + ": " + std::string(name) + " must be at least " + std::to_string(key.least) + ", not " +
                 std::to_string(number));
  }
  return std::to_string(number);
}

Result<std::string> checked(const Key& key, std::string_view name, std::string_view value, const std::string& where) {
  if (key.type == KeyType::integer) return checked_integer(key, name, value, where);
  if (key.type == KeyType::boolean && value != "true" && value != "false") {
    return wrong(where + ": " + std::string(name) + " must be true or false, not \"" + std::string(value) + "\"");
  }
  if (key.secret && value.find_first_of("\r\n") != std::string_view::npos) {
    return wrong(where + ": " + std::string(name) + " must be one line");
  }
  const auto choices = split(key.choices, '|');
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
    std::string said;
    for (const auto& choice : choices) said += (said.empty() ? "" : ", ") + choice;
    return wrong(where + ": " + std::string(name) + " must be one of " + said + ", not \"" + std::string(value) + "\"");
  }
  return std::string(value);
}

}  // namespace

std::string variable_of(std::string_view name) { return "SLUICE_" + upper_case(name); }

Config::Config() {
  for (const auto& key : config_keys()) {
    Setting setting{&key, std::string(key.fallback)};
    if (key.type == KeyType::list) setting.items = split(key.fallback, '|');
    settings_.emplace(key.name, std::move(setting));
  }
  for (const auto& provider : built_in) {
    const std::string name(provider.name);
    add_provider(name);
    settings_.at("providers." + name + ".dialect").value = name;
    settings_.at("providers." + name + ".api_key_env").value = provider.key_variable;
  }
}

void Config::add_provider(const std::string& name) {
  for (const auto& key : provider_keys()) {
    settings_.try_emplace("providers." + name + "." + std::string(key.name), Setting{.key = &key});
  }
}

const Key* Config::find_key(std::string_view name) {
  for (const auto& key : config_keys()) {
    if (key.name == name) return &key;
  }
  if (!name.starts_with(providers_prefix) || name.rfind('.') < providers_prefix.size() + 1) return nullptr;
  for (const auto& key : provider_keys()) {
    if (key.name == member_of(name)) return &key;
  }
  return nullptr;
}

std::string Config::suggestion(std::string_view name, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& key : config_keys()) names.emplace_back(key.name);
  if (const auto dot = name.rfind('.'); name.starts_with(providers_prefix) && dot > providers_prefix.size()) {
    for (const auto& key : provider_keys())
      names.push_back(std::string(name.substr(0, dot + 1)) + std::string(key.name));
  }
  if (const auto meant = nearest_of(name, names)) return "; did you mean " + prefix + *meant + "?";
  // Too far from any key; its section may still be known, or nearly.
  if (name.find('.') == std::string_view::npos) return "";
  std::vector<std::string> sections = {"providers"};
  for (const auto& key : config_keys()) sections.emplace_back(section_of(key.name));
  const auto section = nearest_of(section_of(name), sections);
  if (!section || *section == "providers") return "";
  std::string members;
  for (const auto& key : config_keys()) {
    if (section_of(key.name) == *section) members += (members.empty() ? "" : ", ") + prefix + std::string(key.name);
  }
  return "; there are " + members;
}

const Setting& Config::at(std::string_view name) const {
  const auto found = settings_.find(std::string(name));
  SLUICE_CHECK(found != settings_.end());
  return found->second;
}

int64_t Config::integer(std::string_view name) const {
  const auto& setting = at(name);
  SLUICE_CHECK(setting.key->type == KeyType::integer);
  return std::stoll(setting.value);
}

std::vector<std::string> Config::provider_names() const {
  std::vector<std::string> names;
  for (const auto& [name, setting] : settings_) {
    if (!name.starts_with(providers_prefix) || member_of(name) != "dialect") continue;
    names.push_back(name.substr(providers_prefix.size(), name.rfind('.') - providers_prefix.size()));
  }
  return names;
}

std::string Config::provider(std::string_view name, std::string_view member) const {
  return text("providers." + std::string(name) + "." + std::string(member));
}

Result<Unit> Config::set(const std::string& name, std::string_view value, const std::string& where) {
  const Key* key = find_key(name);
  if (key == nullptr) return wrong(where + ": unknown key " + name + suggestion(name));
  if (key->type == KeyType::list) return set_list(name, split(value, '|'), where);
  auto taken = checked(*key, name, value, where);
  if (!taken) return taken.error();
  if (name.starts_with(providers_prefix)) {
    add_provider(name.substr(providers_prefix.size(), name.rfind('.') - providers_prefix.size()));
  }
  auto& setting = settings_.at(name);
  setting.value = std::move(taken).take();
  setting.source = where;
  return Unit{};
}

Result<Unit> Config::set_list(const std::string& name, std::vector<std::string> items, const std::string& where) {
  auto& setting = settings_.at(name);
  setting.items = std::move(items);
  setting.source = where;
  return Unit{};
}

Result<Unit> Config::read_environment(const Environment& environment) {
  std::vector<std::string> known(std::begin(client_variables), std::end(client_variables));
  for (const auto& key : config_keys()) known.push_back(variable_of(key.name));
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with("SLUICE_")) continue;
    if (std::ranges::find(client_variables, variable) != std::end(client_variables)) continue;
    if (variable.starts_with("SLUICE_PROVIDERS_")) {
      if (auto taken = read_provider_variable(variable, value); !taken) return taken;
      continue;
    }
    const auto key = std::ranges::find_if(config_keys(), [&](const Key& k) { return variable_of(k.name) == variable; });
    if (key == config_keys().end()) {
      const auto meant = nearest_of(variable, known);
      return wrong("unknown environment variable " + variable + (meant ? "; did you mean " + *meant + "?" : ""));
    }
    if (auto taken = set(std::string(key->name), value, variable); !taken) return taken;
  }
  return Unit{};
}

Result<Unit> Config::read_provider_variable(std::string_view variable, const std::string& value) {
  const auto rest = variable.substr(std::string_view("SLUICE_PROVIDERS_").size());
  for (const auto& key : provider_keys()) {
    const auto suffix = "_" + upper_case(key.name);
    if (!rest.ends_with(suffix) || rest.size() == suffix.size()) continue;
    const auto spelt = rest.substr(0, rest.size() - suffix.size());
    // A provider that is known keeps its spelling; another is named in lower case.
    std::string name(spelt);
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    for (const auto& known : provider_names()) {
      if (upper_case(known) == spelt) name = known;
    }
    return set("providers." + name + "." + std::string(key.name), value, std::string(variable));
  }
  return wrong("unknown environment variable " + std::string(variable) +
               "; a provider has DIALECT, BASE_URL, API_KEY and API_KEY_ENV");
}

// Before our own variables, which win.
void Config::read_vendor_urls(const Environment& environment) {
  for (const auto& provider : built_in) {
    const auto* url = provider.url_variable.empty() ? nullptr : find_variable(environment, provider.url_variable);
    if (url == nullptr || url->empty()) continue;
    auto& setting = settings_.at("providers." + std::string(provider.name) + ".base_url");
    setting.value = *url;
    setting.source = provider.url_variable;
  }
  // systemd's LoadCredential=sluice.vault.key:…
  if (const auto* where = find_variable(environment, "CREDENTIALS_DIRECTORY"); where != nullptr && !where->empty()) {
    const auto file = *where + "/sluice.vault.key";
    auto& setting = settings_.at("vault.key_file");
    if (access(file.c_str(), R_OK) == 0) setting.value = file;
    if (!setting.value.empty()) setting.source = "CREDENTIALS_DIRECTORY";
  }
  if (const auto* url = find_variable(environment, "SANDBOX_URL"); url != nullptr && !url->empty()) {
    auto& runners = settings_.at("runner.urls");
    runners.items = {*url};
    runners.source = "SANDBOX_URL";
  }
}

// Last, when it is known which providers there are and which of them have no key yet.
void Config::read_provider_keys(const Environment& environment) {
  for (const auto& name : provider_names()) {
    auto& key = settings_.at("providers." + name + ".api_key");
    const auto& variable = text("providers." + name + ".api_key_env");
    if (!key.value.empty() || variable.empty()) continue;
    if (const auto* value = find_variable(environment, variable)) {
      key.value = *value;
      key.source = variable;
    }
  }
}

Result<Unit> Config::read_flags(const std::vector<std::string>& flags) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const auto equals = flags[i].find('=');
    const auto flag = flags[i].substr(0, equals);
    if (!flag.starts_with("--")) return wrong("unexpected argument " + flag);
    auto name = flag.substr(2);
    for (const auto& shorter : short_flags()) {
      if (shorter.flag == flag) name = shorter.key;
    }
    if (flag != "--config" && find_key(name) == nullptr) {
      std::vector<std::string> known = {"--config"};
      for (const auto& shorter : short_flags()) known.emplace_back(shorter.flag);
      const auto meant = name.find('.') == std::string::npos ? nearest_of(flag, known) : std::nullopt;
      return wrong("unknown flag " + flag + (meant ? "; did you mean " + *meant + "?" : suggestion(name, "--")));
    }
    if (equals == std::string::npos && i + 1 == flags.size()) return wrong("flag " + flag + " needs a value");
    const auto value = equals != std::string::npos ? flags[i].substr(equals + 1) : flags[++i];
    if (flag == "--config") continue;
    if (auto taken = set(name, value, flag); !taken) return taken;
  }
  return Unit{};
}

Result<Config> Config::read(const ConfigSources& sources) {
  std::string file;
  if (const auto* named = find_variable(sources.environment, "SLUICE_CONFIG")) file = *named;
  for (std::size_t i = 0; i < sources.flags.size(); ++i) {
    if (sources.flags[i] == "--config" && i + 1 < sources.flags.size()) file = sources.flags[i + 1];
    if (sources.flags[i].starts_with("--config=")) file = sources.flags[i].substr(9);
  }
  Config config;
  if (!file.empty()) {
    if (auto taken = read_toml_file(file, config); !taken) return taken.error();
  }
  config.read_vendor_urls(sources.environment);
  if (auto taken = config.read_environment(sources.environment); !taken) return taken.error();
  if (auto taken = config.read_flags(sources.flags); !taken) return taken.error();
  config.read_provider_keys(sources.environment);
  for (const auto& name : config.provider_names()) {
    if (config.provider(name, "dialect").empty()) {
      return wrong("providers." + name + " has no dialect; it must be one of " +
                   "anthropic, openai-responses, openai-chat, offline");
    }
  }
  return config;
}

}  // namespace sluice::config
