#include "api/integration/integration.h"
#include "api/request/capacity_history.h"
#include "api/request/request_context.h"

namespace sluice::api::integration {

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
