#include "api/integration/conversation_reading.h"
#include "api/integration/event_request.h"
#include "api/integration/handlers.h"
#include "api/integration/message_input.h"
#include "api/integration/named_materials.h"
#include "api/integration/secret_input.h"
#include "api/integration/streaming.h"
#include "api/pages.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view create_parameters[] = {"stream", "detail"};
constexpr std::string_view list_parameters[] = {"order", "limit", "starting_after", "ending_before"};

std::optional<store::Order> order_named(std::string_view name) {
  if (name == "asc") return store::Order::ascending;
  if (name == "desc") return store::Order::descending;
  return std::nullopt;
}

// Is the answer wanted as a stream?
bool read_stream_flag(const Query& query) {
  const auto stream = query.find("stream");
  if (!stream || *stream == "true") return true;
  if (*stream != "false") query.refuse("stream", "must be true or false");
  return false;
}

void answer_sent(const Asked& asked, const engine::SendOutcome& outcome, bool streamed, wire::Format format) {
  if (const auto* problem = std::get_if<model::Problem>(&outcome)) return asked->problem(*problem);
  const auto& sent = std::get<engine::Sent>(outcome);
  if (!streamed) return answer_at_end(asked, sent);
  open_stream(asked, {.run = sent.run, .format = format, .replayed = sent.replayed});
}

void send_on(const Asked& asked, engine::Send send, wire::Format format) {
  const bool streamed = send.streamed;
  asked->engine().send(std::move(send), [asked, streamed, format](const engine::SendOutcome& outcome) {
    answer_sent(asked, outcome, streamed, format);
  });
}

// They are kept in the same write as the message: one that is refused changes nothing.
void add_secrets(const Asked& asked, model::ConversationId conversation, std::vector<SecretInput> secrets,
                 engine::Send& send) {
  if (secrets.empty()) return;
  const SecretOwner owner{model::SecretScope::conversation, conversation.ulid, conversation.text()};
  send.secrets = seal(asked, owner, std::move(secrets));
  send.audit.push_back(audit_of_put(asked, owner, send.secrets));
}

// A user's message is there and was never told: worth other words than a message that is not there.
void tell_no_events(const Asked& asked, model::MessageId message) {
  asked->store().message(asked->tenant().id, message, [asked](const Result<store::StoredMessage>& found) {
    if (!found) return asked->fail(found.error());
    asked->problem(model::Slug::not_found, "A message of the user has no events; the answer to it has.");
  });
}

void tell_events(const Asked& asked, const model::Run& run, Wanted wanted) {
  const auto open = [asked, run, wanted](Follows follows) {
    // An EventSource comes back for ever, unless it is told that there is no content.
    if (follows == Follows::nothing && wire::is_sse(wanted.format)) return asked->no_content();
    open_stream(asked, {.run = run, .format = wanted.format, .after = wanted.after});
  };
  if (wanted.after < 0) return open(Follows::something);
  find_event(asked, run, wanted, open);
}

}  // namespace

void create_message(const Asked& asked) {
  const auto conversation = asked->path_id<model::ConversationId>();
  if (!conversation) return asked->not_found();
  if (refused_while_draining(asked)) return;
  const auto body = read_body(asked);
  if (!body) return;

  Findings findings;
  const Query query(asked, create_parameters, findings);
  const bool streamed = read_stream_flag(query);
  const auto format = read_detail(query, wire::Format::ndjson);
  auto key = read_idempotency_key(asked, findings);
  const Fields fields(body->root(), "", message_names, findings);
  auto input = read_message_input(fields);
  const bool hold = read_on_capacity(fields);
  auto secrets = read_secrets(fields);
  if (refused(asked, findings)) return;

  auto named = named_by(input, "");
  auto send = send_of(asked, std::move(input), *conversation);
  send.streamed = streamed;
  send.hold = hold;
  send.idempotency = idempotency_of(asked, std::move(key), "createMessage:" + conversation->text());
  add_secrets(asked, *conversation, std::move(secrets), send);
  check_materials(asked, {std::move(named)},
                  [asked, send = std::move(send), format](std::optional<model::Problem> missing) mutable {
                    send.refusal = std::move(missing);
                    send_on(asked, std::move(send), format);
                  });
}

void list_messages(const Asked& asked) {
  Findings findings;
  const Query query(asked, list_parameters, findings);
  const auto page_query = read_page_query<model::MessageId>(query, findings);
  const auto order = order_named(query.find("order").value_or("asc"));
  if (!order) query.refuse("order", "must be asc or desc");
  if (refused(asked, findings)) return;

  with_conversation(asked, [asked, page_query, order = *order](const model::Conversation& conversation) {
    asked->store().messages(asked->tenant().id, conversation.id, order, page_query,
                            [asked, page_query](const Result<store::Page<store::StoredMessage>>& page) {
                              answer_page(asked, page_query, page);
                            });
  });
}

void get_message(const Asked& asked) {
  const auto id = asked->path_id<model::MessageId>();
  if (!id) return asked->not_found();
  asked->store().message(asked->tenant().id, *id, [asked](Result<store::StoredMessage> message) {
    if (!message) return asked->fail(message.error());
    asked->answer_json(200, std::move(message.value().json));
  });
}

void stream_message_events(const Asked& asked) {
  const auto message = asked->path_id<model::MessageId>();
  if (!message) return asked->not_found();
  Findings findings;
  const auto wanted = read_wanted(asked, findings);
  if (refused(asked, findings)) return;

  asked->store().run_of_message(asked->tenant().id, *message,
                                [asked, message = *message, wanted](const Result<model::Run>& run) {
                                  if (run) return tell_events(asked, run.value(), wanted);
                                  if (run.error().kind == ErrorKind::not_found) return tell_no_events(asked, message);
                                  asked->fail(run.error());
                                });
}

}  // namespace sluice::api::integration
