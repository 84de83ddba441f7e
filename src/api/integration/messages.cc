#include "api/answers/event_request.h"
#include "api/answers/pages.h"
#include "api/answers/streaming.h"
#include "api/inputs/message_input.h"
#include "api/inputs/secret_input.h"
#include "api/integration/integration.h"
#include "api/integration/lookups.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view create_parameters[] = {"stream", "detail"};
constexpr std::string_view list_parameters[] = {"order", "limit", "starting_after", "ending_before"};

std::optional<store::Order> order_named(std::string_view name) {
  if (name == "asc") return store::Order::ascending;
  if (name == "desc") return store::Order::descending;
  return std::nullopt;
}

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

void stream_events(const RequestPtr& request, const model::Run& run, StreamPosition position) {
  const auto open = [request, run, position](Follows follows) {
    // An EventSource reconnects for ever, unless it gets 204.
    if (follows == Follows::nothing && wire::is_sse(position.format)) return request->no_content();
    open_stream(request, {.run = run, .format = position.format, .after = position.after});
  };
  if (position.after < 0) return open(Follows::something);
  find_event(request, run, position, open);
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

void list_messages(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto page_query = read_page_query<model::MessageId>(query, findings);
  const auto order = order_named(query.find("order").value_or("asc"));
  if (!order) query.refuse("order", "must be asc or desc");
  if (refused(request, findings)) return;

  with_conversation(request, [request, page_query, order = *order](const model::Conversation& conversation) {
    store::messages(request->database(), request->tenant().id, conversation.id, order, page_query,
                    [request, page_query](const Result<store::Page<store::StoredMessage>>& page) {
                      answer_page(request, page_query, page);
                    });
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
                          if (run) return stream_events(request, run.value(), position);
                          if (run.error().kind == ErrorKind::not_found) return answer_no_events(request, message);
                          request->fail(run.error());
                        });
}

}  // namespace sluice::api::integration
