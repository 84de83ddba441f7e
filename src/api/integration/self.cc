#include "api/integration/integration.h"
#include "api/request/request_context.h"

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

void collect_keys(const RequestPtr& request, std::vector<model::ApproverKey> keys) {
  store::PageQuery<model::ApproverKeyId> query{.limit = limits::page_max};
  if (!keys.empty()) query.starting_after = keys.back().id;
  store::approver_keys(request->database(), request->tenant().id, query,
                       [request, keys = std::move(keys)](const Result<store::Page<model::ApproverKey>>& page) mutable {
                         if (!page) return request->fail(page.error());
                         keys.insert(keys.end(), page.value().rows.begin(), page.value().rows.end());
                         if (page.value().has_more) return collect_keys(request, std::move(keys));
                         request->answer_json(200, self_json(request->holder(), keys));
                       });
}

}  // namespace

void get_self(const RequestPtr& request) { collect_keys(request, {}); }

}  // namespace sluice::api::integration
