#include "api/handlers.h"
#include "api/request/services.h"
#include "api/request/waiting.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view scopes[] = {"conversations:read", "conversations:write", "runs:read",
                                       "runs:cancel",        "agents:read",         "agents:write",
                                       "approvals:read",     "approvals:decide",    "secrets:write"};

std::string self_json(const store::KeyHolder& holder, const std::vector<model::ApproverKey>& keys) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("object").string("integration_principal");
  writer.key("key_id").string(holder.key.id.text()).key("name").string(holder.key.name);
  writer.key("tenant").raw(model::to_json(holder.tenant));
  writer.key("scopes").begin_array();
  for (const auto scope : scopes) writer.string(scope);
  writer.end_array().key("approver_keys").begin_array();
  for (const auto& key : keys) {
    if (key.revoked_at) continue;
    writer.begin_object().key("key_id").string(key.id.text());
    writer.key("algorithm").string(model::name_of(key.algorithm));
    writer.key("created_at").string(to_rfc3339(key.created_at)).end_object();
  }
  writer.end_array().end_object();
  return out;
}

Task<> answer_self(RequestPtr request) {
  std::vector<model::ApproverKey> keys;
  while (true) {
    store::PageQuery<model::ApproverKeyId> query{.limit = limits::page_max};
    if (!keys.empty()) query.starting_after = keys.back().id;
    const auto page =
        co_await found<store::Page<model::ApproverKey>>(request, &store::approver_keys, request->tenant().id, query);
    keys.insert(keys.end(), page.rows.begin(), page.rows.end());
    if (!page.has_more) break;
  }
  request->answer_json(200, self_json(request->holder(), keys));
}

}  // namespace

void get_self(const RequestPtr& request) { start_unowned(answer_self(request)); }

void get_capacity(const RequestPtr& request) {
  const auto now = request->engine().capacity();
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("object").string("capacity").key("pool_size").integer(now.pool_size);
  writer.key("warm_available").integer(now.warm_available).key("sticky_active").integer(now.sticky_active);
  writer.key("max_sticky").integer(now.max_sticky).key("at_capacity").boolean(now.at_capacity);
  writer.key("running").integer(now.running).key("held").integer(now.held).key("parked").integer(now.parked);
  writer.key("max_hold_seconds").integer(now.max_hold_seconds);
  writer.key("retry_hint_seconds").integer(now.retry_hint_seconds);
  writer.key("checked_at").string(to_rfc3339(request->now())).end_object();
  request->answer_json(200, std::move(out), {{"Cache-Control", "no-store"}});
}

void get_capacity_history(const RequestPtr& request) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("interval_seconds").integer(CapacityHistory::interval.value / 1000);
  writer.key("samples").begin_array();
  for (const auto& [at, then] : request->services().capacity_history.samples()) {
    writer.begin_object().key("at_ms").integer(at.ms).key("running").integer(then.running);
    writer.key("held").integer(then.held).key("parked").integer(then.parked);
    writer.key("sticky").integer(then.sticky_active).key("warm").integer(then.warm_available);
    writer.key("pool_size").integer(then.pool_size).end_object();
  }
  writer.end_array().end_object();
  request->answer_json(200, std::move(out), {{"Cache-Control", "no-store"}});
}

}  // namespace sluice::api::integration
