#include "model/model_endpoint.h"

#include "base/json.h"

namespace sluice::model {

void append_json(std::string& out, const ModelEndpoint& endpoint) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("model_endpoint").key("id").string(endpoint.id.text());
  writer.key("tenant_id").string(endpoint.tenant_id.text()).key("name").string(endpoint.name);
  writer.key("provider").string(endpoint.provider).key("base_url").string_or_null(endpoint.base_url);
  writer.key("key_alias").string_or_null(endpoint.key_alias).key("models").begin_array();
  for (const auto& model : endpoint.models) writer.string(model);
  writer.end_array().key("created_at").string(to_rfc3339(endpoint.created_at));
  writer.key("updated_at").string(to_rfc3339(endpoint.updated_at)).end_object();
}

}  // namespace sluice::model
