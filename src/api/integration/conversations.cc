#include <algorithm>

#include "api/answers/pages.h"
#include "api/answers/streaming.h"
#include "api/handlers.h"
#include "api/inputs/kit_input.h"
#include "api/inputs/message_input.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view runtime_names[] = {"agent_type", "mode", "sticky_ttl_seconds"};

std::optional<model::Runtime> read_runtime(const Fields& fields, const model::TenantLimits& limits,
                                           const model::Runtime& before) {
  if (fields.null("runtime")) return model::Runtime{.agent_type = before.agent_type};
  const auto inner = fields.object("runtime", runtime_names);
  if (!inner) return std::nullopt;
  model::Runtime out = before;
  const auto agent_type = inner->text("agent_type", name_rule);
  if (agent_type && !model::is_agent_type(*agent_type)) {
    inner->refuse("agent_type", "must be one of " + agent_type_words());
  } else if (agent_type && !before.agent_type.empty() && *agent_type != before.agent_type) {
    inner->refuse("agent_type", "is " + before.agent_type + " and cannot be changed: a session belongs to its program");
  }
  out.agent_type = agent_type.value_or(before.agent_type);
  if (inner->null("mode")) {
    out.mode = model::Runtime{}.mode;
  } else {
    out.mode = inner->word("mode", model::placement_mode_named, "pooled, sticky").value_or(before.mode);
  }
  const int64_t most = std::min(limits.max_sticky_ttl_seconds, model::sticky_ttl_seconds_max);
  const auto ttl = inner->integer("sticky_ttl_seconds", model::sticky_ttl_seconds_min, most);
  if (inner->null("sticky_ttl_seconds")) out.sticky_ttl_seconds = model::Runtime{}.sticky_ttl_seconds;
  // A default gives way to a limit that was lowered since.
  out.sticky_ttl_seconds = ttl.value_or(std::min(out.sticky_ttl_seconds, most));
  return out;
}

constexpr std::string_view create_names[] = {"user_id", "title",   "metadata",        "agent_id",   "repository_id",
                                             "filler",  "runtime", "initial_message", "on_capacity"};
constexpr std::string_view update_names[] = {"user_id",       "title",  "metadata", "agent_id",
                                             "repository_id", "filler", "runtime",  "status"};
constexpr std::string_view create_parameters[] = {"detail"};
constexpr std::string_view message_list_parameters[] = {"order", "limit", "starting_after", "ending_before"};
constexpr std::string_view list_parameters[] = {"user_id", "limit", "starting_after", "ending_before"};

std::string location_of(std::string_view conversation_id) {
  return "/v1/conversations/" + std::string(conversation_id);
}

struct ConversationInput {
  model::Conversation conversation;  // without an agent: the default one
  std::optional<MessageInput> initial_message;
  bool hold = false;
  wire::Format format = wire::Format::ndjson;  // of its stream
  std::optional<journal::Idempotency> idempotency;
  std::optional<model::Problem> refusal;  // unless its key is known
};

// They would have to be on file before the conversation is.
void refuse_secrets(const Fields& message) {
  if (!message.given("secrets") || message.null("secrets")) return;
  message.refuse("secrets", "come with createMessage; create the conversation first");
}

// Empty: the body is invalid, and the request has been answered.
std::optional<ConversationInput> read_conversation(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return std::nullopt;
  Findings findings;
  auto key = read_idempotency_key(request, findings);
  const Fields fields(body->root(), "", create_names, findings);
  ConversationInput out;
  const Query query(request, create_parameters, findings);
  out.format = read_detail(query, wire::Format::ndjson);
  auto& conversation = out.conversation;
  conversation.user_id = fields.text("user_id", name_rule);
  conversation.title = fields.text("title", title_rule);
  conversation.metadata = fields.metadata("metadata").value_or(model::Metadata{});
  conversation.agent_id = fields.id<model::AgentId>("agent_id", "an agent").value_or(model::AgentId{});
  conversation.repository_id = fields.text("repository_id", name_rule);
  conversation.filler_enabled = read_filler(fields);
  conversation.runtime = read_runtime(fields, request->tenant().limits, {}).value_or(model::Runtime{});
  if (const auto message = fields.object("initial_message", initial_message_names)) {
    out.initial_message = read_message_input(*message);
    out.hold = read_on_capacity(*message);
    refuse_secrets(*message);
  }
  out.hold |= read_on_capacity(fields);
  if (refused(request, findings)) return std::nullopt;

  conversation.id = request->ids().make<model::ConversationId>();
  conversation.tenant_id = request->tenant().id;
  conversation.created_at = conversation.updated_at = conversation.last_message_at = request->now();
  out.idempotency = idempotency_of(request, std::move(key), "createConversation");
  return out;
}

// The name that the remembered answer gives its conversation.
std::string id_in(std::string_view response_body) {
  const auto document = json::Document::parse(response_body);
  SLUICE_CHECK(static_cast<bool>(document));
  const auto id = document.value().root().find("id");
  return std::string(id ? id->string().value_or("") : "");
}

void refuse_agent(const RequestPtr& request) { request->invalid("/agent_id", "names no agent of this tenant"); }

void answer_created(const RequestPtr& request, std::string body, const Result<journal::ConversationOutcome>& outcome) {
  if (!outcome && outcome.error().kind == ErrorKind::not_found) return refuse_agent(request);
  if (!outcome) return request->fail(outcome.error());
  if (std::holds_alternative<journal::KeyConflict>(outcome.value())) {
    return request->problem(model::Slug::idempotency_key_conflict,
                            "This Idempotency-Key was used within 24 hours for a request with another body.");
  }
  net::Headers headers;
  if (const auto* replay = std::get_if<journal::Replay>(&outcome.value())) {
    body = replay->response_body.value_or("");
    headers.add("Idempotency-Replayed", "true");
  }
  headers.add("Location", location_of(id_in(body)));
  request->answer_json(201, std::move(body), std::move(headers));
}

void create_plainly(const RequestPtr& request, ConversationInput input) {
  std::string body = model::to_json(input.conversation);
  journal::NewConversation made{std::move(input.conversation), body, std::move(input.idempotency),
                                input.refusal.has_value()};
  request->store().create_conversation(
      std::move(made), [request, body = std::move(body), refusal = std::move(input.refusal)](
                           const Result<journal::ConversationOutcome>& outcome) mutable {
        const bool is_refused = outcome && std::holds_alternative<journal::NotCreated>(outcome.value());
        is_refused ? request->problem(*refusal) : answer_created(request, std::move(body), outcome);
      });
}

// The engine finds the default agent itself.
void create_with_message(const RequestPtr& request, ConversationInput input) {
  auto send = send_of(request, std::move(*input.initial_message), std::move(input.conversation));
  send.idempotency = std::move(input.idempotency);
  send.refusal = std::move(input.refusal);
  send.hold = input.hold;
  request->engine().send(std::move(send), [request, format = input.format](const engine::SendOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) {
      return problem->slug == model::Slug::not_found ? refuse_agent(request) : request->problem(*problem);
    }
    const auto& sent = std::get<engine::Sent>(outcome);
    open_stream(request, {.run = sent.run, .format = format, .replayed = sent.replayed});
  });
}

void create(const RequestPtr& request, ConversationInput input) {
  if (input.initial_message) return create_with_message(request, std::move(input));
  // The answer names the agent and its type. A missing agent is refused by the store, because a replay is answered even
  // if its agent was deleted since.
  const auto named = input.conversation.agent_id;
  auto found = [request, input = std::move(input)](const Result<model::Agent>& agent) mutable {
    if (!agent && agent.error().kind != ErrorKind::not_found) return request->fail(agent.error());
    auto& type = input.conversation.runtime.agent_type;
    if (agent) input.conversation.agent_id = agent.value().id;
    if (type.empty()) type = agent ? agent.value().kit.agent_type : model::AgentKit{}.agent_type;
    create_plainly(request, std::move(input));
  };
  if (named == model::AgentId{})
    return store::default_agent(request->database(), request->tenant().id, std::move(found));
  store::agent(request->database(), request->tenant().id, named, std::move(found));
}

std::optional<std::optional<bool>> read_filler_patch(const Fields& fields) {
  if (fields.null("filler")) return std::optional<bool>{};
  const auto enabled = read_filler(fields);
  if (!enabled) return std::nullopt;
  return enabled;
}

// With what there is of its sandbox right now.
std::string shown(const RequestPtr& request, model::Conversation conversation) {
  conversation.sandbox = request->engine().sandbox_of(conversation.id);
  return model::to_json(conversation);
}

void update(const RequestPtr& request, model::ConversationId id, store::ConversationPatch patch) {
  store::update_conversation(request->database(), request->tenant().id, id, std::move(patch), request->now(),
                             [request](const Result<model::Conversation>& conversation) {
                               if (!conversation) return request->fail(conversation.error());
                               request->engine().conversation_changed(conversation.value());
                               request->answer_json(200, shown(request, conversation.value()));
                             });
}

void update_if_agent_is_there(const RequestPtr& request, model::ConversationId id, store::ConversationPatch patch) {
  if (!patch.agent_id) return update(request, id, std::move(patch));
  const auto agent = *patch.agent_id;
  store::agent(request->database(), request->tenant().id, agent,
               [request, id, patch = std::move(patch)](const Result<model::Agent>& found) mutable {
                 if (found) return update(request, id, std::move(patch));
                 if (found.error().kind == ErrorKind::not_found) return refuse_agent(request);
                 request->fail(found.error());
               });
}

// Why the conversation may not become sticky.
std::optional<model::Problem> refusal_of_sticky(const RequestPtr& request, const model::Runtime& wanted,
                                                const model::Runtime& before) {
  if (wanted.mode != model::PlacementMode::sticky || before.mode == model::PlacementMode::sticky) return std::nullopt;
  return request->engine().refusal_of_sticky(request->tenant().id, request->tenant().limits);
}

// `before` is there when the body has a `runtime`.
void patch_conversation(const RequestPtr& request, model::ConversationId id, const json::Document& body,
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
  if (before != nullptr) patch.runtime = read_runtime(fields, request->tenant().limits, before->runtime);
  if (refused(request, findings)) return;
  if (patch.runtime) {
    if (const auto refusal = refusal_of_sticky(request, *patch.runtime, before->runtime))
      return request->problem(*refusal);
  }
  NamedMaterials named{.names = {.repository = patch.repository_id.value_or(std::nullopt)}};
  find_materials(request, std::move(named), [request, id, patch = std::move(patch)](const auto&) mutable {
    update_if_agent_is_there(request, id, std::move(patch));
  });
}

std::optional<store::Order> order_named(std::string_view name) {
  if (name == "asc") return store::Order::ascending;
  if (name == "desc") return store::Order::descending;
  return std::nullopt;
}

// Calls `then` with the conversation that the path names, or answers 404. A deleted chat of the Assistant is not found,
// although its history is kept.
void with_conversation(const RequestPtr& request, Callback<void(const model::Conversation&)> then) {
  const auto id = request->path_id<model::ConversationId>();
  if (!id) return request->not_found();
  store::conversation(request->database(), request->tenant().id, *id,
                      [request, then = std::move(then)](const Result<model::Conversation>& found) mutable {
                        if (!found) return request->fail(found.error());
                        const auto& conversation = found.value();
                        const bool is_deleted = conversation.kind == model::ConversationKind::chat &&
                                                conversation.status == model::ConversationStatus::archived;
                        if (is_deleted) return request->not_found();
                        then(conversation);
                      });
}

}  // namespace

void create_conversation(const RequestPtr& request) {
  auto input = read_conversation(request);
  if (!input || (input->initial_message && refused_while_draining(request))) return;
  std::vector<NamedMaterials> named = {{.names = {.repository = input->conversation.repository_id}}};
  if (input->initial_message) named.push_back(named_by(*input->initial_message, "/initial_message"));
  check_materials(request, std::move(named),
                  [request, input = std::move(*input)](std::optional<model::Problem> missing) mutable {
                    input.refusal = refusal_of_sticky(request, input.conversation.runtime, {});
                    if (!input.refusal) input.refusal = std::move(missing);
                    if (input.refusal && !input.idempotency) return request->problem(*input.refusal);
                    create(request, std::move(input));
                  });
}

void list_conversations(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto page_query = read_page_query<model::ConversationId>(query, findings);
  store::ConversationFilter filter;
  if (const auto given = query.find("user_id")) filter.user_id = std::string(*given);
  if (refused(request, findings)) return;
  store::conversations(request->database(), request->tenant().id, std::move(filter), page_query,
                       [request, page_query](const Result<store::Page<model::Conversation>>& page) {
                         if (!page) return answer_page(request, page_query, page);
                         auto rows = page.value();
                         for (auto& row : rows.rows) row.sandbox = request->engine().sandbox_of(row.id);
                         request->answer_json(200, page_json(rows, page_query));
                       });
}

void get_conversation(const RequestPtr& request) {
  with_conversation(request, [request](const model::Conversation& conversation) {
    request->answer_json(200, shown(request, conversation));
  });
}

void update_conversation(const RequestPtr& request) {
  with_conversation(request, [request](const model::Conversation& before) {
    const auto body = read_body(request);
    if (!body) return;
    const bool is_chat = before.kind == model::ConversationKind::chat;
    if (is_chat && body->root().find("status")) {
      return request->invalid("/status",
                              "is not for chats: DELETE /api/assistant/chats/{id} deletes one and its files");
    }
    patch_conversation(request, before.id, *body, body->root().find("runtime") ? &before : nullptr);
  });
}

void archive_conversation(const RequestPtr& request) {
  with_conversation(request, [request](const model::Conversation& before) {
    if (before.kind == model::ConversationKind::chat) {
      return request->problem(model::Slug::resource_in_use,
                              "This is a chat: DELETE /api/assistant/chats/{id} deletes it and its files.");
    }
    store::ConversationPatch patch;
    patch.status = model::ConversationStatus::archived;
    store::update_conversation(request->database(), request->tenant().id, before.id, std::move(patch), request->now(),
                               [request](const Result<model::Conversation>& conversation) {
                                 if (!conversation) return request->fail(conversation.error());
                                 request->engine().conversation_changed(conversation.value());
                                 request->no_content();
                               });
  });
}

void list_messages(const RequestPtr& request) {
  Findings findings;
  const Query query(request, message_list_parameters, findings);
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

}  // namespace sluice::api::integration
