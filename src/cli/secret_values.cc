#include "cli/secret_values.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "model/gates.h"

namespace sluice::cli {
namespace {

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

Result<SecretSource> parse_flag(const std::string& flag) {
  const auto equals = flag.find('=');
  SecretSource out{flag.substr(0, equals), equals == std::string::npos ? "" : flag.substr(equals + 1)};
  if (!model::is_alias(out.alias))
    return wrong("--secret begins with the alias: capitals, digits and _, as CRM_API_KEY");
  const bool bare_equals = equals != std::string::npos && out.from.empty();
  if (bare_equals || (!out.from.empty() && out.from != "-" && !out.from.starts_with('@'))) {
    return wrong(
        "a secret on the command line would be in the process list and in the shell's history: give --secret " +
        out.alias + "=@FILE, --secret " + out.alias + "=- to read standard input, or --secret " + out.alias +
        " to be asked");
  }
  return out;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) return wrong(path + " cannot be read");
  return std::move(bytes).str();
}

Result<std::string> read_raw(Console& console, const SecretSource& source) {
  if (source.from == "-") return console.read_all();
  if (source.from.starts_with('@')) return read_file(source.from.substr(1));
  auto typed = console.read_hidden(source.alias + ": ");
  if (!typed) return wrong("no terminal to type " + source.alias + " at: give it as @FILE, or - for standard input");
  return std::move(*typed);
}

}  // namespace

Result<std::vector<SecretSource>> parse_secret_flags(const std::vector<std::string>& flags) {
  std::vector<SecretSource> out;
  for (const auto& flag : flags) {
    auto source = parse_flag(flag);
    if (!source) return source.error();
    out.push_back(std::move(source).take());
  }
  if (std::ranges::count(out, "-", &SecretSource::from) > 1) return wrong("standard input can be one secret, not two");
  return out;
}

Result<std::string> read_secret(Console& console, const SecretSource& source) {
  auto value = read_raw(console, source);
  if (!value) return value;
  auto& text = value.value();
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return wrong("the value of " + source.alias + " is empty");
  if (!is_utf8(text)) return wrong("the value of " + source.alias + " is not valid UTF-8");
  return value;
}

}  // namespace sluice::cli
