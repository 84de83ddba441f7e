#include "cli/decisions.h"

#include <charconv>

#include "base/bytes.h"
#include "cli/cli.h"
#include "cli/requests.h"
#include "gates/gates.h"

namespace sluice::cli {
namespace {

constexpr Column approval_columns[] = {{"ID", "id"},
                                       {"STATUS", "status"},
                                       {"EXPIRES", "expires_at"},
                                       {"CONVERSATION", "conversation_id"},
                                       {"REASON", "reason"}};

Result<ApproverKeyFile> key_at_hand(const Context& context) {
  auto path = context.arguments.flag("--key-file");
  if (path.empty()) path = context.access.approver_file;
  if (path.empty()) {
    return Error{ErrorKind::invalid,
                 "no approver key: give --key-file FILE, or --data DIR of a server on this machine"};
  }
  auto key = read_approver_key(path);
  if (!key) return key;
  if (context.arguments.has("--key-id")) key.value().key_id = context.arguments.flag("--key-id");
  if (!key.value().key_id.empty()) return key;
  return Error{ErrorKind::invalid, path + " does not say which key it is: give --key-id apk_…, as the server named it"};
}

Result<int64_t> read_valid_seconds(const Arguments& arguments) {
  int64_t seconds = Decision{}.valid_seconds;
  if (!arguments.has("--valid-seconds")) return seconds;
  const auto text = arguments.flag("--valid-seconds");
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && seconds > 0 && seconds <= 86'400) {
    return seconds;
  }
  return Error{ErrorKind::invalid, "--valid-seconds must be 1 to 86400, not \"" + text + "\""};
}

// The secrets that flags give, and those that the person at the terminal types.
Result<Unit> supply_secrets(Context& context, const std::vector<SecretSource>& sources, Decision& decision) {
  for (const auto& source : sources) {
    auto value = read_secret(context.console, source);
    if (!value) return value.error();
    decision.secrets[source.alias] = std::move(value).take();
  }
  for (const auto& item : decision.items) {
    if (!item.alias || decision.secrets.contains(*item.alias) || !context.console.can_ask()) continue;
    const auto typed = context.console.read_hidden(harmless(*item.alias) + " (Enter if it is on file): ");
    if (!typed || typed->empty()) continue;
    if (!is_utf8(*typed)) return Error{ErrorKind::invalid, "the value is not valid UTF-8"};
    decision.secrets[*item.alias] = *typed;
  }
  return Unit{};
}

Result<client::Reply> send_decision(Context& context, const Decision& decision, const ApproverKeyFile& key,
                                    const std::string& body) {
  const auto path = "/v1/approvals/" + decision.approval.text() + (decision.approve ? "/approve" : "/deny");
  auto reply = context.remote.request(As::service, "POST", path, body);
  if (reply && reply.value().status == 403) {
    context.console.err("sluice: nothing was decided. Is " + harmless(key.key_id) +
                        " a key of this tenant that is not revoked, and is this machine's clock right?" + "\n");
  }
  return reply;
}

int decide(Context& context, bool approve) {
  const auto id = model::ApprovalId::parse(context.operand(0));
  if (!id) return complain(context, context.operand(0) + " is not the id of an approval: apr_…");
  const auto key = key_at_hand(context);
  if (!key) return complain(context, key.error().what);
  const auto valid_seconds = read_valid_seconds(context.arguments);
  if (!valid_seconds) return complain(context, valid_seconds.error().what);
  const auto sources = parse_secret_flags(context.arguments.all("--secret"));
  if (!sources) return complain(context, sources.error().what);

  const auto reply = context.remote.request(As::service, "GET", "/v1/approvals/" + id->text(), "");
  int code = exit_ok;
  if (refused(context, reply, code)) return code;
  const auto document = json::Document::parse(reply.value().body);
  if (!document) return report_error(context.console, context.form(), "the answer is not JSON"), exit_unknown;
  const auto approval = document.value().root();
  context.console.err(approval_text(approval));

  Decision decision{.approval = *id,
                    .approve = approve,
                    .items = model::items_from_json(approval.find("requested_items").value_or(json::Value())),
                    .valid_seconds = valid_seconds.value()};
  if (context.arguments.has("--note")) decision.note = context.arguments.flag("--note");
  if (approve) {
    if (const auto supplied = supply_secrets(context, sources.value(), decision); !supplied) {
      return complain(context, supplied.error().what);
    }
  }
  const auto body = signed_body(decision, key.value(), context.now());
  if (!body) return complain(context, body.error().what);
  return print_reply(context, send_decision(context, decision, key.value(), body.value()), approval_text);
}

}  // namespace

Result<std::string> signed_body(const Decision& decision, const ApproverKeyFile& key, Timestamp now) {
  gates::Signature signature{.key_id = key.key_id,
                             .algorithm = std::string(model::name_of(key.algorithm)),
                             .exp = now.ms / 1000 + decision.valid_seconds};
  signature.items_digest = gates::items_digest(decision.items);
  signature.secrets_digest = gates::secrets_digest(decision.secrets);
  auto value =
      gates::sign(gates::payload_of(decision.approval, decision.approve, signature), key.algorithm, key.material);
  if (!value) return value.error();
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("signature").begin_object().key("key_id").string(signature.key_id);
  writer.key("algorithm").string(signature.algorithm).key("exp").integer(signature.exp);
  writer.key("value").string(value.value());
  if (signature.items_digest) writer.key("items_digest").string(*signature.items_digest);
  if (signature.secrets_digest) writer.key("secrets_digest").string(*signature.secrets_digest);
  writer.end_object();
  if (!decision.secrets.empty()) {
    writer.key("secrets").begin_object();
    for (const auto& [alias, secret] : decision.secrets) writer.key_escaped(alias).string(secret);
    writer.end_object();
  }
  if (decision.note) writer.key("note").string(*decision.note);
  writer.end_object();
  return body;
}

void offer_decision(Context& context, const std::string& approval_id) {
  const auto key = read_approver_key(context.access.approver_file);
  const auto id = model::ApprovalId::parse(approval_id);
  if (!key || !id) return;
  // A stream that is replayed contains approvals that may be decided already.
  const auto reply = context.remote.request(As::service, "GET", "/v1/approvals/" + id->text(), "");
  const auto document = json::Document::parse(reply ? reply.value().body : "");
  if (!document || text_of(document.value().root(), "status") != "pending") return;
  const auto approval = document.value().root();
  const auto answer = context.console.read_line("decide now? y approves, n denies, Enter leaves it waiting> ");
  const bool approve = answer == "y" || answer == "yes";
  if (!approve && answer != "n" && answer != "no") {
    context.console.err("It waits until it is decided elsewhere or expires. Ctrl-C leaves; the run stays.\n");
    return;
  }
  Decision decision{.approval = *id,
                    .approve = approve,
                    .items = model::items_from_json(approval.find("requested_items").value_or(json::Value()))};
  if (approve) {
    if (const auto supplied = supply_secrets(context, {}, decision); !supplied) {
      return report_error(context.console, context.form(), supplied.error().what);
    }
  }
  const auto body = signed_body(decision, key.value(), context.now());
  if (!body) return report_error(context.console, context.form(), body.error().what);
  // The stream reports the consequences of the decision.
  int code = exit_ok;
  refused(context, send_decision(context, decision, key.value(), body.value()), code);
}

int list_approvals(Context& c) {
  return list_table(c, As::service, "/v1/approvals", approval_columns,
                    {{"conversation_id", "--conversation"}, {"status", "--status"}});
}
int get_approval(Context& c) {
  return request(c, As::service, "GET", "/v1/approvals/" + path_part(c.operand(0)), "", approval_text);
}
int approve_approval(Context& c) { return decide(c, true); }
int deny_approval(Context& c) { return decide(c, false); }

}  // namespace sluice::cli
