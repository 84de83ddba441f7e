#include "api/answers/streaming.h"
#include "api/handlers.h"
#include "api/inputs/message_input.h"
#include "api/inputs/secret_input.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view create_parameters[] = {"stream", "detail"};

// Whether the client wants a stream.
bool read_stream_flag(const Query& query) {
  const auto stream = query.find("stream");
  if (!stream || *stream == "true") return true;
  if (*stream != "false") query.refuse("stream", "must be true or false");
  return false;
}

void answer_sent(const RequestPtr& request, const engine::SendOutcome& outcome, bool streamed, wire::Format format) {
  if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
  const auto& sent = std::get<engine::Sent>(outcome);
  if (!streamed) return answer_at_end(request, sent);
  open_stream(request, {.run = sent.run, .format = format, .replayed = sent.replayed});
}

void send_on(const RequestPtr& request, engine::Send send, wire::Format format) {
  const bool streamed = send.streamed;
  request->engine().send(std::move(send), [request, streamed, format](const engine::SendOutcome& outcome) {
    answer_sent(request, outcome, streamed, format);
  });
}

// Secrets are stored in the same write as the message: a refused message changes nothing.
void add_secrets(const RequestPtr& request, model::ConversationId conversation, std::vector<SecretInput> secrets,
                 engine::Send& send) {
  if (secrets.empty()) return;
  const SecretOwner owner{model::SecretScope::conversation, conversation.ulid, conversation.text()};
  send.secrets = seal(request, owner, std::move(secrets));
  send.audit.push_back(audit_of_put(request, owner, send.secrets));
}

// The message of a user exists and has no events, which deserves another problem than a missing message.
void answer_no_events(const RequestPtr& request, model::MessageId message) {
  store::message(
      request->database(), request->tenant().id, message, [request](const Result<store::StoredMessage>& found) {
        if (!found) return request->fail(found.error());
        request->problem(model::Slug::not_found, "A message of the user has no events; the answer to it has.");
      });
}

Task<> stream_events(RequestPtr request, model::Run run, StreamPosition position) {
  const auto follows = position.after < 0 ? Follows::something : co_await find_event(request, run, position);
  // An EventSource reconnects for ever, unless it gets 204.
  if (follows == Follows::nothing && wire::is_sse(position.format)) co_return request->no_content();
  open_stream(request, {.run = run, .format = position.format, .after = position.after});
}

}  // namespace

void create_message(const RequestPtr& request) {
  const auto conversation = request->path_id<model::ConversationId>();
  if (!conversation) return request->not_found();
  if (refused_while_draining(request)) return;
  const auto body = read_body(request);
  if (!body) return;

  Findings findings;
  const Query query(request, create_parameters, findings);
  const bool streamed = read_stream_flag(query);
  const auto format = read_detail(query, wire::Format::ndjson);
  auto key = read_idempotency_key(request, findings);
  const Fields fields(body->root(), "", message_names, findings);
  auto input = read_message_input(fields);
  const bool hold = read_on_capacity(fields);
  auto secrets = read_secrets(fields);
  if (refused(request, findings)) return;

  auto named = named_by(input, "");
  auto send = send_of(request, std::move(input), *conversation);
  send.streamed = streamed;
  send.hold = hold;
  send.idempotency = idempotency_of(request, std::move(key), "createMessage:" + conversation->text());
  add_secrets(request, *conversation, std::move(secrets), send);
  check_materials(request, {std::move(named)},
                  [request, send = std::move(send), format](std::optional<model::Problem> missing) mutable {
                    send.refusal = std::move(missing);
                    send_on(request, std::move(send), format);
                  });
}

void get_message(const RequestPtr& request) {
  const auto id = request->path_id<model::MessageId>();
  if (!id) return request->not_found();
  store::message(request->database(), request->tenant().id, *id, [request](Result<store::StoredMessage> message) {
    if (!message) return request->fail(message.error());
    request->answer_json(200, std::move(message.value().json));
  });
}

void stream_message_events(const RequestPtr& request) {
  const auto message = request->path_id<model::MessageId>();
  if (!message) return request->not_found();
  Findings findings;
  const auto position = read_stream_position(request, findings);
  if (refused(request, findings)) return;

  store::run_of_message(request->database(), request->tenant().id, *message,
                        [request, message = *message, position](const Result<model::Run>& run) {
                          if (run) return start_unowned(stream_events(request, run.value(), position));
                          if (run.error().kind == ErrorKind::not_found) return answer_no_events(request, message);
                          request->fail(run.error());
                        });
}

}  // namespace sluice::api::integration
