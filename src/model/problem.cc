#include "model/problem.h"

#include <array>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace sluice::model {
namespace {

constexpr std::array<SlugEntry, 46> registry = {{
    {Slug::malformed_request, "malformed-request", 400, "The request could not be read",
     "The body is not valid JSON in UTF-8, or the HTTP request itself is malformed. Correct it and send it again."},
    {Slug::unauthenticated, "unauthenticated", 401, "No valid key was given",
     "Send the header 'Authorization: Bearer sk_int_…' with a key that exists and is not revoked."},
    {Slug::token_invalid, "token-invalid", 401, "The token is not good",
     "A one-time token is good once, for one execution and one purpose, and only for minutes; a sandbox's bearer as "
     "long as its execution. This one is used, expired, of another execution, or none of ours. Nothing was changed. "
     "Ask for a new execution."},
    {Slug::insufficient_scope, "insufficient-scope", 403, "This key may not do that",
     "The key is valid but of the wrong kind for this route: tenants and keys need the admin key, everything else a "
     "service key."},
    {Slug::tenant_suspended, "tenant-suspended", 403, "The tenant is suspended",
     "Reading still works. Ask the operator to resume the tenant before writing."},
    {Slug::approval_signature_invalid, "approval-signature-invalid", 403, "The decision is not signed as it must be",
     "Sign this approval's id, this decision and an exp in the near future with a key of the tenant that is not "
     "revoked, in the canonical form that the documentation of approvals gives. The approval is still pending."},
    {Slug::csrf, "csrf", 403, "The request is not from this server's own page",
     "A request with the console's session cookie that changes something needs the header X-CSRF-Token with the "
     "csrfToken of GET /console/session, and must come from a page of this server. Nothing was changed."},
    {Slug::not_found, "not-found", 404, "There is no such thing",
     "The id or the path does not exist for this key's tenant. Check the spelling and the tenant."},
    {Slug::method_not_allowed, "method-not-allowed", 405, "This path does not take that method",
     "The Allow header lists the methods that work."},
    {Slug::request_timeout, "request-timeout", 408, "The request took too long to arrive",
     "The connection was closed before the whole request had come. Send it again, in one go."},
    {Slug::conversation_busy, "conversation-busy", 409, "The conversation is answering another message",
     "One message is answered at a time. Wait for its terminal event, or cancel the run named in "
     "conflicting_resource_id, then send again. Nothing was created."},
    {Slug::conversation_archived, "conversation-archived", 409, "The conversation is archived",
     "Its history can be read. To write, set its status to active with PATCH first."},
    {Slug::name_conflict, "name-conflict", 409, "The name is taken",
     "Choose another name, or use the object named in conflicting_resource_id."},
    {Slug::resource_in_use, "resource-in-use", 409, "The object is still in use",
     "Take it out of use first: make another agent the default, or move the conversations that use it."},
    {Slug::run_finished, "run-finished", 409, "The run is already over",
     "There is nothing to cancel. Read the message for its outcome."},
    {Slug::approval_expired, "approval-expired", 409, "The approval is not open any more",
     "It was decided already, or no decision came before its expires_at. Read it for its status. The run of one that "
     "expired has failed: send the message again."},
    {Slug::content_too_large, "content-too-large", 413, "The request body is too large",
     "Send less. The detail names the limit."},
    {Slug::uri_too_long, "uri-too-long", 414, "The request line is too long",
     "Send a shorter URL; what is long belongs in the body."},
    {Slug::unsupported_media_type, "unsupported-media-type", 415, "The body is not plain JSON",
     "Send 'Content-Type: application/json' and no Content-Encoding."},
    {Slug::expectation_failed, "expectation-failed", 417, "The request expects what the server does not know",
     "Send 'Expect: 100-continue' or no Expect header."},
    {Slug::validation_error, "validation-error", 422, "Something in the request is not valid",
     "Each entry of errors points at one field and says what is wrong with it. Nothing was created."},
    {Slug::idempotency_key_conflict, "idempotency-key-conflict", 422,
     "The idempotency key was used for another request",
     "A key stands for one request. Use a fresh key for a different body. Nothing was created."},
    {Slug::headers_too_large, "headers-too-large", 431, "The request's headers are too large",
     "Send fewer or shorter headers."},
    {Slug::rate_limited, "rate-limited", 429, "Too many requests",
     "Wait as long as Retry-After says, then go on. A key may ask so often, and an address may show so many wrong "
     "keys."},
    {Slug::capacity_exhausted, "capacity-exhausted", 429, "All places are taken",
     "Wait as long as Retry-After says and send again, or send with on_capacity hold to wait in the queue. On a "
     "refused request nothing was created; a message that waited until max_hold_seconds has failed."},
    {Slug::internal, "internal", 500, "The server made a mistake",
     "This is our fault. Report the request_id to the operator; what was written before it stands."},
    {Slug::not_implemented, "not-implemented", 501, "The request is coded in a way the server does not know",
     "Send the body with a Content-Length, or with 'Transfer-Encoding: chunked' and nothing else."},
    {Slug::agent_misconfigured, "agent-misconfigured", 500, "The agent's model cannot be called as configured",
     "Check the agent's model, the provider's base URL and its key. The detail says which."},
    {Slug::model_error, "model-error", 502, "The model provider refused or failed",
     "The detail carries the provider's words. Retrying is safe: send the message again."},
    {Slug::model_stream_cut, "model-stream-cut", 502, "The model's answer broke off",
     "Part of the answer had been sent, so the model was not asked again. The part is kept in the message. Send "
     "again to retry."},
    {Slug::model_timeout, "model-timeout", 504, "The model did not answer in time",
     "Try again later, or raise the deadlines in the configuration."},
    {Slug::answer_too_large, "answer-too-large", 502, "The answer is larger than a message may be",
     "Ask for less, or limit the agent's max_output_tokens."},
    {Slug::run_interrupted, "run-interrupted", 500, "The server restarted while the run was answering",
     "The run could not be continued without repeating or losing text. What was sent is kept. Send the message again."},
    {Slug::approval_denied, "approval-denied", 403, "A human did not approve",
     "The run ended at its gate. The approval's note may say why. Send the message again, or another one."},
    {Slug::run_cancelled, "run-cancelled", 409, "The run was cancelled",
     "Somebody asked for it. Send the message again if that was not meant."},
    {Slug::runtime_exceeded, "runtime-exceeded", 504, "The run took longer than its agent allows",
     "Raise the agent's max_runtime_seconds or ask for less."},
    {Slug::sandbox_failed, "sandbox-failed", 500, "The run's sandbox failed",
     "It could not be opened, or it went away. Send the message again; if that does not help, the operator finds out "
     "with 'sluice doctor'. The workspace is as it was before the run."},
    {Slug::repository_failed, "repository-failed", 502, "The repository could not be fetched",
     "The detail says why. Check the repository's url, ref and credential_alias, and that the operator allows the "
     "url."},
    {Slug::skill_failed, "skill-failed", 500, "A skill could not be used",
     "The detail names it. Upload its bundle again, or take it out of skill_ids."},
    {Slug::setup_failed, "setup-failed", 500, "The environment's setup script failed",
     "Its last words are in the detail, all of them in the run's log. Correct the script and send the message again."},
    {Slug::agent_failed, "agent-failed", 502, "The agent program failed",
     "The detail says how: it ended without an answer, fell silent, or sent what cannot be understood. `sluice harness "
     "check` shows whether it works on this server. Send the message again to retry."},
    {Slug::writeback_failed, "writeback-failed", 502, "What the run made could not be handed back",
     "The answer is kept, the workspace is as it was before the run. Send the message again."},
    {Slug::runner_unavailable, "runner-unavailable", 503, "No runner took the run",
     "Every runner in runner.urls is unreachable, full or refuses this server's key; the server's log says which. "
     "Nothing was done: send the message again later."},
    {Slug::runner_lost, "runner-lost", 502, "The runner was lost while it worked",
     "It went silent, broke off or sent something that cannot be understood, and its sandbox is gone with it. What "
     "was sent is kept. Send the message again."},
    {Slug::unavailable, "unavailable", 503, "The server cannot do this right now",
     "It is stopping, or its store cannot be written. Retry after the time in Retry-After; use an Idempotency-Key so "
     "that a retry cannot act twice."},
    {Slug::http_version_not_supported, "http-version-not-supported", 505, "This version of HTTP is not spoken here",
     "Speak HTTP/1.1 or HTTP/1.0."},
}};

constexpr bool registry_is_in_order() {
  for (std::size_t i = 0; i < registry.size(); ++i) {
    if (static_cast<std::size_t>(registry[i].slug) != i) return false;
  }
  return true;
}
static_assert(registry_is_in_order());

// At most as long as a pointer or a message may be; it never ends within a character.
std::string cut(std::string text) {
  if (text.size() <= limits::field_error_text_bytes_max) return text;
  text.resize(utf8_prefix_size(text, limits::field_error_text_bytes_max));
  return text + "…";
}

}  // namespace

std::span<const SlugEntry> problem_registry() { return registry; }

const SlugEntry& entry_of(Slug slug) { return registry.at(static_cast<std::size_t>(slug)); }

void append_json(std::string& out, const Problem& problem, const ProblemContext& context) {
  const auto& entry = entry_of(problem.slug);
  json::Writer writer(out);
  writer.begin_object();
  writer.key("type").string(std::string(context.base_url) + "/problems/" + std::string(entry.name));
  writer.key("title").string(entry.title).key("status").integer(entry.status);
  if (!problem.detail.empty()) writer.key("detail").string(problem.detail);
  if (!context.instance.empty()) writer.key("instance").string(context.instance);
  if (!context.request_id.empty()) writer.key("request_id").string(context.request_id);
  if (problem.conflicting_resource_id) {
    writer.key("conflicting_resource_id").string(*problem.conflicting_resource_id);
  }
  for (const auto& [name, text] : problem.more) writer.key(name).string(text);
  if (!problem.errors.empty()) {
    writer.key("errors").begin_array();
    for (const auto& error : problem.errors) {
      writer.begin_object().key("pointer").string(error.pointer).key("message").string(error.message).end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

Problem validation_error(const FieldErrors& errors) {
  Problem problem{.slug = Slug::validation_error};
  const auto count = std::to_string(errors.size());
  if (errors.has_more()) {
    problem.detail = "More than " + count + " fields are not valid; these are the first " + count + ".";
  } else {
    problem.detail = errors.size() == 1 ? "One field is not valid." : count + " fields are not valid.";
  }
  problem.errors.assign(errors.begin(), errors.end());
  return problem;
}

bool FieldErrors::is_full() const { return kept_.size() >= limits::field_errors_max; }

void FieldErrors::push_back(FieldError error) {
  if (is_full()) {
    has_more_ = true;
    return;
  }
  kept_.push_back({cut(std::move(error.pointer)), cut(std::move(error.message))});
}

void FieldErrors::append(FieldErrors others) {
  for (auto& error : others.kept_) push_back(std::move(error));
  has_more_ = has_more_ || others.has_more_;
}

std::string pointer_to(std::string at, std::string_view step) {
  if (at.size() > limits::field_error_text_bytes_max) return at;
  at += '/';
  for (const char c : step) {
    if (at.size() > limits::field_error_text_bytes_max + 4)
      break;  // enough for cut() to see, and for a whole character
    if (c == '~') {
      at += "~0";
    } else if (c == '/') {
      at += "~1";
    } else {
      at += c;
    }
  }
  return at;
}

}  // namespace sluice::model
