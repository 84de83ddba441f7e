#include "base/json.h"
#include "config/config.h"

namespace sluice::config {
namespace {

// A URL without its passwords, whatever else is in it. Up to the last @: one that was not escaped has its own.
std::string shown(std::string_view value) {
  std::string out(value);
  const auto authority = value.find("://");
  if (authority == std::string_view::npos) return out;
  for (auto at = out.find("password="); at != std::string::npos; at = out.find("password=", at)) {
    at += std::string_view("password=").size();
    const auto end = out.find('&', at);
    out.replace(at, end == std::string::npos ? end : end - at, "…");
  }
  const auto at = out.rfind('@');
  const auto colon = out.find(':', authority + 3);
  if (at != std::string::npos && colon < at) out.replace(colon + 1, at - colon - 1, "…");
  return out;
}

// The end of a key tells two keys apart and opens nothing.
std::string masked(std::string_view secret) {
  if (secret.empty()) return "";
  return secret.size() < 16 ? "…" : "…" + std::string(secret.substr(secret.size() - 4));
}

// JSON's strings are TOML's basic strings: the escapes JSON writes are all known to TOML.
void append_value(std::string& out, const Setting& setting) {
  if (setting.key->type == KeyType::list) {
    json::Writer writer(out);
    writer.begin_array();
    for (const auto& item : setting.items) writer.string(setting.key->secret ? masked(item) : shown(item));
    writer.end_array();
  } else if (setting.key->type == KeyType::text) {
    json::append_string(out, setting.key->secret ? masked(setting.value) : shown(setting.value));
  } else {
    out += setting.value;
  }
}

void append_section(std::string& out, std::string_view section) {
  const auto dot = section.find('.');
  out += "\n[";
  out += section.substr(0, dot);
  if (dot != std::string_view::npos) {
    out += '.';
    json::append_string(out, section.substr(dot + 1));  // quoted: a name may have dots
  }
  out += "]\n";
}

void append_line(std::string& out, std::string_view key, const Setting& setting) {
  std::string line(key);
  line += " = ";
  append_value(line, setting);
  if (line.size() < 44) line.resize(44, ' ');
  out += line + "  # " + setting.source + "\n";
}

}  // namespace

std::string to_toml(const Config& config) {
  std::string out = "# The configuration in force, and where each value comes from.\n";
  std::string section;
  const auto put = [&](const std::string& name, const Setting& setting) {
    const auto dot = name.rfind('.');
    if (section != name.substr(0, dot)) append_section(out, section = name.substr(0, dot));
    append_line(out, name.substr(dot + 1), setting);
  };
  for (const auto& key : config_keys()) {
    const std::string name(key.name);
    put(name, config.settings().at(name));
  }
  for (const auto& provider : config.provider_names()) {
    for (const auto& key : provider_keys()) {
      const auto name = "providers." + provider + "." + std::string(key.name);
      put(name, config.settings().at(name));
    }
  }
  return out;
}

std::string to_json(const Config& config) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  for (const auto& [name, setting] : config.settings()) {
    std::string value;
    append_value(value, setting);
    writer.key_escaped(name).begin_object().key("value").raw(value).key("source").string(setting.source).end_object();
  }
  writer.end_object();
  return out;
}

}  // namespace sluice::config
