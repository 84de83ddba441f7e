#include "api/integration/conversation_reading.h"
#include "api/integration/event_request.h"
#include "api/integration/handlers.h"
#include "api/integration/message_input.h"
#include "api/integration/named_materials.h"
#include "api/integration/runtime_input.h"
#include "api/integration/streaming.h"
#include "api/pages.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view create_names[] = {"user_id", "title",   "metadata",        "agent_id",   "repository_id",
                                             "filler",  "runtime", "initial_message", "on_capacity"};
constexpr std::string_view update_names[] = {"user_id",       "title",  "metadata", "agent_id",
                                             "repository_id", "filler", "runtime",  "status"};
constexpr std::string_view create_parameters[] = {"detail"};
constexpr std::string_view list_parameters[] = {"user_id", "limit", "starting_after", "ending_before"};

std::string location_of(std::string_view conversation_id) {
  return "/v1/conversations/" + std::string(conversation_id);
}

struct ConversationInput {
  model::Conversation conversation;  // without an agent: the default one
  std::optional<MessageInput> initial_message;
  bool hold = false;
  wire::Format format = wire::Format::ndjson;  // of its stream
  std::optional<store::Idempotency> idempotency;
  std::optional<model::Problem> refusal;  // unless its key is known
};

// They would have to be on file before the conversation is.
void refuse_secrets(const Fields& message) {
  if (!message.given("secrets") || message.null("secrets")) return;
  message.refuse("secrets", "come with createMessage; create the conversation first");
}

// Empty when it was wrong and the caller has been told so.
std::optional<ConversationInput> read_conversation(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return std::nullopt;
  Findings findings;
  auto key = read_idempotency_key(asked, findings);
  const Fields fields(body->root(), "", create_names, findings);
  ConversationInput out;
  const Query query(asked, create_parameters, findings);
  out.format = read_detail(query, wire::Format::ndjson);
  auto& conversation = out.conversation;
  conversation.user_id = fields.text("user_id", name_rule);
  conversation.title = fields.text("title", title_rule);
  conversation.metadata = fields.metadata("metadata").value_or(model::Metadata{});
  conversation.agent_id = fields.id<model::AgentId>("agent_id", "an agent").value_or(model::AgentId{});
  conversation.repository_id = fields.text("repository_id", name_rule);
  conversation.filler_enabled = read_filler(fields);
  conversation.runtime = read_runtime(fields, asked->tenant().limits, {}).value_or(model::Runtime{});
  if (const auto message = fields.object("initial_message", initial_message_names)) {
    out.initial_message = read_message_input(*message);
    out.hold = read_on_capacity(*message);
    refuse_secrets(*message);
  }
  out.hold |= read_on_capacity(fields);
  if (refused(asked, findings)) return std::nullopt;

  conversation.id = asked->ids().make<model::ConversationId>();
  conversation.tenant_id = asked->tenant().id;
  conversation.created_at = conversation.updated_at = conversation.last_message_at = asked->now();
  out.idempotency = idempotency_of(asked, std::move(key), "createConversation");
  return out;
}

// The name that the remembered answer gives its conversation.
std::string id_in(std::string_view response_body) {
  const auto document = json::Document::parse(response_body);
  SLUICE_CHECK(static_cast<bool>(document));
  const auto id = document.value().root().find("id");
  return std::string(id ? id->string().value_or("") : "");
}

void refuse_agent(const Asked& asked) { asked->invalid("/agent_id", "names no agent of this tenant"); }

void answer_created(const Asked& asked, std::string body, const Result<store::ConversationOutcome>& outcome) {
  if (!outcome && outcome.error().kind == ErrorKind::not_found) return refuse_agent(asked);
  if (!outcome) return asked->fail(outcome.error());
  if (std::holds_alternative<store::KeyConflict>(outcome.value())) {
    return asked->problem(model::Slug::idempotency_key_conflict,
                          "This Idempotency-Key was used within 24 hours for a request with another body.");
  }
  net::Headers headers;
  if (const auto* replay = std::get_if<store::Replay>(&outcome.value())) {
    body = replay->response_body.value_or("");
    headers.add("Idempotency-Replayed", "true");
  }
  headers.add("Location", location_of(id_in(body)));
  asked->answer_json(201, std::move(body), std::move(headers));
}

void create_plainly(const Asked& asked, ConversationInput input) {
  std::string body = model::to_json(input.conversation);
  store::NewConversation made{std::move(input.conversation), body, std::move(input.idempotency),
                              input.refusal.has_value()};
  asked->store().create_conversation(
      std::move(made), [asked, body = std::move(body),
                        refusal = std::move(input.refusal)](const Result<store::ConversationOutcome>& outcome) mutable {
        const bool is_refused = outcome && std::holds_alternative<store::NotCreated>(outcome.value());
        is_refused ? asked->problem(*refusal) : answer_created(asked, std::move(body), outcome);
      });
}

// The engine finds the default agent itself.
void create_with_message(const Asked& asked, ConversationInput input) {
  auto send = send_of(asked, std::move(*input.initial_message), std::move(input.conversation));
  send.idempotency = std::move(input.idempotency);
  send.refusal = std::move(input.refusal);
  send.hold = input.hold;
  asked->engine().send(std::move(send), [asked, format = input.format](const engine::SendOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) {
      return problem->slug == model::Slug::not_found ? refuse_agent(asked) : asked->problem(*problem);
    }
    const auto& sent = std::get<engine::Sent>(outcome);
    open_stream(asked, {.run = sent.run, .format = format, .replayed = sent.replayed});
  });
}

void create(const Asked& asked, ConversationInput input) {
  if (input.initial_message) return create_with_message(asked, std::move(input));
  // The answer names the agent and what kind it is. One that is not there is the store's to refuse: a replay is told
  // even when the agent is gone since.
  const auto named = input.conversation.agent_id;
  auto found = [asked, input = std::move(input)](const Result<model::Agent>& agent) mutable {
    if (!agent && agent.error().kind != ErrorKind::not_found) return asked->fail(agent.error());
    auto& type = input.conversation.runtime.agent_type;
    if (agent) input.conversation.agent_id = agent.value().id;
    if (type.empty()) type = agent ? agent.value().kit.agent_type : model::AgentKit{}.agent_type;
    create_plainly(asked, std::move(input));
  };
  if (named == model::AgentId{}) return asked->store().default_agent(asked->tenant().id, std::move(found));
  asked->store().agent(asked->tenant().id, named, std::move(found));
}

std::optional<std::optional<bool>> read_filler_patch(const Fields& fields) {
  if (fields.null("filler")) return std::optional<bool>{};
  const auto enabled = read_filler(fields);
  if (!enabled) return std::nullopt;
  return enabled;
}

// With what there is of its sandbox right now.
std::string shown(const Asked& asked, model::Conversation conversation) {
  conversation.sandbox = asked->engine().sandbox_of(conversation.id);
  return model::to_json(conversation);
}

void update(const Asked& asked, model::ConversationId id, store::ConversationPatch patch) {
  asked->store().update_conversation(asked->tenant().id, id, std::move(patch), asked->now(),
                                     [asked](const Result<model::Conversation>& conversation) {
                                       if (!conversation) return asked->fail(conversation.error());
                                       asked->engine().conversation_changed(conversation.value());
                                       asked->answer_json(200, shown(asked, conversation.value()));
                                     });
}

void update_if_agent_is_there(const Asked& asked, model::ConversationId id, store::ConversationPatch patch) {
  if (!patch.agent_id) return update(asked, id, std::move(patch));
  const auto agent = *patch.agent_id;
  asked->store().agent(asked->tenant().id, agent,
                       [asked, id, patch = std::move(patch)](const Result<model::Agent>& found) mutable {
                         if (found) return update(asked, id, std::move(patch));
                         if (found.error().kind == ErrorKind::not_found) return refuse_agent(asked);
                         asked->fail(found.error());
                       });
}

// Why the conversation may not become sticky.
std::optional<model::Problem> refusal_of_sticky(const Asked& asked, const model::Runtime& wanted,
                                                const model::Runtime& before) {
  if (wanted.mode != model::PlacementMode::sticky || before.mode == model::PlacementMode::sticky) return std::nullopt;
  return asked->engine().refusal_of_sticky(asked->tenant().id, asked->tenant().limits);
}

// `before` is there when the body has a `runtime`.
void patch_conversation(const Asked& asked, model::ConversationId id, const json::Document& body,
                        const model::Conversation* before) {
  Findings findings;
  const Fields fields(body.root(), "", update_names, findings);
  store::ConversationPatch patch;
  patch.user_id = fields.text_or_cleared("user_id", name_rule);
  patch.title = fields.text_or_cleared("title", title_rule);
  patch.repository_id = fields.text_or_cleared("repository_id", name_rule);
  patch.filler_enabled = read_filler_patch(fields);
  patch.metadata = fields.null("metadata") ? model::Metadata{} : fields.metadata("metadata");
  patch.status = fields.word("status", model::conversation_status_named, "active, archived");
  patch.agent_id = fields.id<model::AgentId>("agent_id", "an agent", Null::refused);
  if (before != nullptr) patch.runtime = read_runtime(fields, asked->tenant().limits, before->runtime);
  if (refused(asked, findings)) return;
  if (patch.runtime) {
    if (const auto refusal = refusal_of_sticky(asked, *patch.runtime, before->runtime)) return asked->problem(*refusal);
  }
  Named named{.names = {.repository = patch.repository_id.value_or(std::nullopt)}};
  find_materials(asked, std::move(named), [asked, id, patch = std::move(patch)](const auto&) mutable {
    update_if_agent_is_there(asked, id, std::move(patch));
  });
}

}  // namespace

void create_conversation(const Asked& asked) {
  auto input = read_conversation(asked);
  if (!input || (input->initial_message && refused_while_draining(asked))) return;
  std::vector<Named> named = {{.names = {.repository = input->conversation.repository_id}}};
  if (input->initial_message) named.push_back(named_by(*input->initial_message, "/initial_message"));
  check_materials(asked, std::move(named),
                  [asked, input = std::move(*input)](std::optional<model::Problem> missing) mutable {
                    input.refusal = refusal_of_sticky(asked, input.conversation.runtime, {});
                    if (!input.refusal) input.refusal = std::move(missing);
                    if (input.refusal && !input.idempotency) return asked->problem(*input.refusal);
                    create(asked, std::move(input));
                  });
}

void list_conversations(const Asked& asked) {
  Findings findings;
  const Query query(asked, list_parameters, findings);
  const auto page_query = read_page_query<model::ConversationId>(query, findings);
  store::ConversationFilter filter;
  if (const auto given = query.find("user_id")) filter.user_id = std::string(*given);
  if (refused(asked, findings)) return;
  asked->store().conversations(asked->tenant().id, std::move(filter), page_query,
                               [asked, page_query](const Result<store::Page<model::Conversation>>& page) {
                                 if (!page) return answer_page(asked, page_query, page);
                                 auto rows = page.value();
                                 for (auto& row : rows.rows) row.sandbox = asked->engine().sandbox_of(row.id);
                                 asked->answer_json(200, page_json(rows, page_query));
                               });
}

void with_conversation(const Asked& asked, Callback<void(const model::Conversation&)> then) {
  const auto id = asked->path_id<model::ConversationId>();
  if (!id) return asked->not_found();
  asked->store().conversation(asked->tenant().id, *id,
                              [asked, then = std::move(then)](const Result<model::Conversation>& found) mutable {
                                if (!found) return asked->fail(found.error());
                                const auto& conversation = found.value();
                                const bool is_deleted = conversation.kind == model::ConversationKind::chat &&
                                                        conversation.status == model::ConversationStatus::archived;
                                if (is_deleted) return asked->not_found();
                                then(conversation);
                              });
}

void get_conversation(const Asked& asked) {
  with_conversation(
      asked, [asked](const model::Conversation& conversation) { asked->answer_json(200, shown(asked, conversation)); });
}

void update_conversation(const Asked& asked) {
  with_conversation(asked, [asked](const model::Conversation& before) {
    const auto body = read_body(asked);
    if (!body) return;
    const bool is_chat = before.kind == model::ConversationKind::chat;
    if (is_chat && body->root().find("status")) {
      return asked->invalid("/status", "is not for chats: DELETE /api/assistant/chats/{id} deletes one and its files");
    }
    patch_conversation(asked, before.id, *body, body->root().find("runtime") ? &before : nullptr);
  });
}

void archive_conversation(const Asked& asked) {
  with_conversation(asked, [asked](const model::Conversation& before) {
    if (before.kind == model::ConversationKind::chat) {
      return asked->problem(model::Slug::resource_in_use,
                            "This is a chat: DELETE /api/assistant/chats/{id} deletes it and its files.");
    }
    store::ConversationPatch patch;
    patch.status = model::ConversationStatus::archived;
    asked->store().update_conversation(asked->tenant().id, before.id, std::move(patch), asked->now(),
                                       [asked](const Result<model::Conversation>& conversation) {
                                         if (!conversation) return asked->fail(conversation.error());
                                         asked->engine().conversation_changed(conversation.value());
                                         asked->no_content();
                                       });
  });
}

}  // namespace sluice::api::integration
