#include "api/admin/handlers.h"
#include "api/request_context.h"

namespace sluice::api::admin {

// Those that live, as far as the one that was asked has heard; itself first.
void list_nodes(const Asked& asked) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("object").string("list").key("data").begin_array();
  for (const auto& node : asked->engine().nodes()) {
    const auto& figures = node.figures;
    writer.begin_object().key("object").string("node").key("id").string(node.id.text());
    writer.key("name").string(figures.name).key("version").string(figures.version);
    writer.key("draining").boolean(figures.draining).key("silent_ms").integer(node.silent_ms);
    writer.key("slots").integer(figures.slots).key("free_slots").integer(figures.free_slots);
    writer.key("running").integer(figures.running).key("held").integer(figures.held);
    writer.key("parked").integer(figures.parked).key("sticky").integer(figures.sticky);
    writer.key("warm").integer(figures.warm).key("started_at").string(to_rfc3339(node.started_at)).end_object();
  }
  writer.end_array().end_object();
  asked->answer_json(200, std::move(body), {{"Cache-Control", "no-store"}});
}

}  // namespace sluice::api::admin
