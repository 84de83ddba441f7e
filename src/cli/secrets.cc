#include "cli/secrets.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/requests.h"
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

namespace {

constexpr Column secret_columns[] = {
    {"ALIAS", "alias"}, {"SCOPE", "scope"}, {"HOSTS", "hosts"}, {"PLACES", "places"}, {"UPDATED", "updated_at"}};

// Whose secrets; the tenant's when no flag says otherwise. `invalid` in words.
Result<std::string> secrets_path(const Arguments& arguments) {
  const auto conversation = arguments.flag("--conversation"), agent = arguments.flag("--agent");
  if (!conversation.empty() && !agent.empty()) {
    return Error{ErrorKind::invalid, "a secret is of a conversation or of an agent, not of both"};
  }
  if (!conversation.empty()) return "/v1/conversations/" + path_part(conversation) + "/secrets";
  return agent.empty() ? "/v1/secrets" : "/v1/agents/" + path_part(agent) + "/secrets";
}

void write_texts(json::Writer& writer, std::string_view member, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  writer.key(member).begin_array();
  for (const auto& text : texts) writer.string(text);
  writer.end_array();
}

// The value from the second operand; without one, typed at the terminal or read from standard input.
Result<SecretSource> source_of(const Context& context) {
  SecretSource source{.alias = context.operand(0)};
  if (!model::is_alias(source.alias)) {
    return Error{ErrorKind::invalid, "first comes the alias: capitals, digits and _, as CRM_API_KEY"};
  }
  if (context.arguments.operands().size() < 2) {
    source.from = context.console.can_ask() ? "" : "-";
    return source;
  }
  source.from = context.operand(1);
  if (source.from == "-" || source.from.starts_with('@')) return source;
  return Error{ErrorKind::invalid,
               "a secret on the command line would be in the process list and in the shell's history: give @FILE, - to "
               "read standard input, or nothing to be asked"};
}

}  // namespace

int set_secret(Context& c) {
  const auto path = secrets_path(c.arguments);
  if (!path) return complain(c, path.error().what);
  const auto source = source_of(c);
  if (!source) return complain(c, source.error().what);
  const auto value = read_secret(c.console, source.value());
  if (!value) return complain(c, value.error().what);
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("secrets").begin_object().key(source.value().alias);
  writer.begin_object().key("value").string(value.value());
  write_texts(writer, "hosts", c.arguments.all("--host"));
  write_texts(writer, "places", c.arguments.all("--place"));
  writer.end_object().end_object().end_object();
  return request(c, As::service, "PUT", path.value(), body,
                 [](json::Value list) { return table_of(list.find("data").value_or(json::Value()), secret_columns); });
}

int list_secrets(Context& c) {
  const auto path = secrets_path(c.arguments);
  return path ? list_table(c, As::service, path.value(), secret_columns) : complain(c, path.error().what);
}

int delete_secret(Context& c) {
  const auto path = secrets_path(c.arguments);
  if (!path) return complain(c, path.error().what);
  return show(c, As::service, "DELETE", path.value() + "/" + path_part(c.operand(0)));
}

}  // namespace sluice::cli
