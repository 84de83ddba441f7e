// The operator's view: capacity, the audit chain, the vault's key.
#include "base/bytes.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/render.h"
#include "cli/requests.h"
#include "gates/gates.h"

namespace sluice::cli {
namespace {

constexpr Column audit_columns[] = {{"NUMBER", "number"},   {"AT", "at"},       {"ACTION", "action"},
                                    {"SUBJECT", "subject"}, {"ACTOR", "actor"}, {"TENANT", "tenant_id"}};
constexpr Column node_columns[] = {
    {"NAME", "name"}, {"ID", "id"},         {"VERSION", "version"},     {"RUNNING", "running"},  {"FREE", "free_slots"},
    {"HELD", "held"}, {"PARKED", "parked"}, {"SILENT MS", "silent_ms"}, {"DRAINING", "draining"}};
constexpr Column egress_columns[] = {{"AT", "at"},
                                     {"METHOD", "method"},
                                     {"HOST", "host"},
                                     {"PORT", "port"},
                                     {"STATUS", "status"},
                                     {"SENT", "sent_bytes"},
                                     {"RECEIVED", "received_bytes"},
                                     {"SECRETS", "aliases"},
                                     {"MORE", "more"},
                                     {"REFUSED", "refused"}};

// Empty for what to_hex() would not have written.
std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto high = digits.find(text[i]), low = digits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return "";
    bytes += static_cast<char>(high << 4u | low);
  }
  return bytes;
}

// An entry as the server sent it, in the form that its hash covers. A part that differs from the original has
// another hash.
model::AuditEntry entry_of(json::Value sent) {
  model::AuditEntry entry;
  entry.number = sent.find("number").value_or(json::Value()).integer().value_or(0);
  entry.tenant_id = model::TenantId::parse(text_of(sent, "tenant_id"));
  entry.action = text_of(sent, "action");
  entry.subject = text_of(sent, "subject");
  entry.actor = text_of(sent, "actor");
  entry.detail = sent.find("detail").value_or(json::Value()).to_text();
  entry.at = from_rfc3339(text_of(sent, "at")).value_or(Timestamp{});
  entry.previous_sha256 = from_hex(text_of(sent, "previous_sha256"));
  entry.sha256 = from_hex(text_of(sent, "sha256"));
  // An entry without detail is sent as {}.
  if (entry.detail == "{}" && model::digest_of(entry) != entry.sha256) entry.detail.clear();
  return entry;
}

// The chain as far as it was read.
struct Chain {
  int64_t entries = 0;
  std::string head;  // raw; empty before the first entry
  std::optional<int64_t> broken_at;
  bool has_expected = false;
};

// Takes a page; false when there is nothing after it, or no use in it.
bool take_page(json::Value page, std::string_view expected, Chain& chain) {
  std::vector<model::AuditEntry> entries;
  page.find("data").value_or(json::Value()).each_element([&](json::Value sent) { entries.push_back(entry_of(sent)); });
  if (entries.empty()) return false;
  chain.broken_at = gates::first_broken_link(entries, chain.head);
  for (const auto& entry : entries) {
    // A number that is skipped is an entry that is missing, whatever the hashes say.
    if (entry.number != ++chain.entries && !chain.broken_at) chain.broken_at = chain.entries;
    if (!chain.broken_at && entry.sha256 == expected) chain.has_expected = true;
  }
  chain.head = entries.back().sha256;
  return !chain.broken_at;
}

std::string chain_json(const Chain& chain, bool intact) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("intact").boolean(intact).key("entries").integer(chain.entries).key("broken_at");
  chain.broken_at ? writer.integer(*chain.broken_at) : writer.null();
  writer.key("head_sha256").string(chain.broken_at ? "" : to_hex(chain.head)).end_object();
  return out;
}

int tell_chain(Context& context, const Chain& chain, const std::string& expected) {
  const bool intact = !chain.broken_at && (expected.empty() || chain.has_expected);
  if (context.form() == Form::json) context.console.out(chain_json(chain, intact) + "\n");
  if (chain.broken_at) {
    context.console.err("sluice: the chain is broken at entry " + std::to_string(*chain.broken_at) +
                        ": it, or one before it, was changed or taken out\n");
  } else if (!intact) {
    context.console.err("sluice: the chain fits together, but no entry of it has the hash " + harmless(expected) +
                        ": it was cut short or written anew\n");
  } else if (context.form() == Form::human) {
    context.console.out("intact, " + std::to_string(chain.entries) + " entries\n" +
                        (chain.entries > 0 ? "head " + to_hex(chain.head) + "\n" : ""));
  }
  return intact ? exit_ok : exit_failed;
}

}  // namespace

int show_capacity(Context& c) { return show(c, As::service, "GET", "/v1/capacity"); }

int list_nodes(Context& c) { return list_table(c, As::admin, "/v1/admin/nodes", node_columns); }

int open_console(Context& c) {
  return request(c, As::admin, "POST", "/v1/admin/console-codes", "",
                 [](json::Value root) { return harmless(text_of(root, "url")) + "\n"; });
}

int list_run_egress(Context& c) {
  return list_table(c, As::service, "/v1/runs/" + path_part(c.operand(0)) + "/egress", egress_columns);
}

int list_audit(Context& c) {
  // Its cursor is a number and has a name of its own.
  std::string path =
      "/v1/admin/audit?after=" + path_part(c.arguments.has("--after") ? c.arguments.flag("--after") : "0");
  if (c.arguments.has("--limit")) path += "&limit=" + path_part(c.arguments.flag("--limit"));
  if (c.arguments.has("--tenant")) path += "&tenant_id=" + path_part(c.arguments.flag("--tenant"));
  return request(c, As::admin, "GET", path, "", [&](json::Value root) {
    const auto cursor = root.find("next_cursor");
    if (cursor && cursor->string()) c.console.err("There is more: --after " + harmless(*cursor->string()) + "\n");
    return table_of(root.find("data").value_or(json::Value()), audit_columns);
  });
}

int verify_audit(Context& c) {
  const auto expected = c.arguments.flag("--expect");
  const auto expected_raw = from_hex(expected);
  if (!expected.empty() && (expected.size() != 64 || expected_raw.size() != 32)) {
    report_error(c.console, c.form(), "--expect must be a SHA-256 in 64 small hexadecimal digits");
    return exit_usage;
  }
  Chain chain;
  for (bool more = true; more;) {
    const auto path = "/v1/admin/audit?after=" + std::to_string(chain.entries) + "&limit=100";
    const auto reply = c.remote.request(As::admin, "GET", path, "");
    int code = exit_ok;
    if (refused(c, reply, code)) return code;
    const auto page = json::Document::parse(reply.value().body);
    if (!page) return report_error(c.console, c.form(), "the answer is not JSON"), exit_unknown;
    more = take_page(page.value().root(), expected_raw, chain);
  }
  return tell_chain(c, chain, expected);
}

int reseal_vault(Context& c) {
  const auto reply = c.remote.request(As::admin, "POST", "/v1/admin/vault/rotate", "");
  if (const int code = print_reply(c, reply, fields_of); code != exit_ok) return code;
  const auto document = json::Document::parse(reply.value().body);
  if (!document) return exit_unknown;
  const auto count = [&](std::string_view name) {
    const auto value = document.value().root().find(name);
    return value ? value->integer().value_or(0) : 0;
  };
  if (count("unreadable") > 0) {
    c.console.err(
        "sluice: some are sealed under a key that the server does not have; keep every line of the key file.\n");
    return exit_failed;
  }
  if (count("resealed") == 0) {
    c.console.err(
        "Everything is under the server's current key. After `sluice vault new-key` it must be restarted first.\n");
  }
  return exit_ok;
}

namespace {

constexpr Column step_columns[] = {
    {"STARTED", "startedAt"}, {"NAME", "name"}, {"STATUS", "status"}, {"MS", "durationMs"}, {"ARGUMENTS", "args"}};

std::string path_of(Context& context, std::string_view file) {
  return "/v1/runs/" + path_part(context.operand(0)) + std::string(file);
}

std::string result_text(json::Value result) {
  const auto message = result.find("message");
  if (const auto content = message ? message->find("content") : std::nullopt) return plain(*content) + "\n";
  if (const auto error = result.find("error"); error && !error->is_null()) return fields_of(*error);
  return "none yet: the run is " + plain(result.find("state").value_or(json::Value())) + "\n";
}

}  // namespace

int trace_run(Context& context) {
  const auto path = path_of(context, "/stream.jsonl");
  const auto reply =
      context.remote.stream("GET", path + (context.arguments.has("--extended") ? "?profile=extended" : ""), "",
                            [&](std::string_view bytes) { context.console.out(bytes); });
  int code = exit_ok;
  refused(context, reply, code);
  return code;
}

int list_run_steps(Context& context) {
  return request(context, As::service, "GET", path_of(context, "/steps.json"), "",
                 [](json::Value steps) { return table_of(steps, step_columns); });
}

int show_run_result(Context& context) {
  return request(context, As::service, "GET", path_of(context, "/result.json"), "", result_text);
}

}  // namespace sluice::cli
