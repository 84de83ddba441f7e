#include "api/operations/handlers.h"
#include "api/request_context.h"

namespace sluice::api::operations {

void get_health(const Asked& asked) { asked->answer_json(200, R"({"status":"ok"})"); }

void get_readiness(const Asked& asked) {
  std::string_view why;
  if (asked->surface().draining) why = "The server is about to stop.";
  // An empty write to a disk that is full succeeds, so it is not asked for what is known.
  if (asked->store().broken()) {
    why = "The store cannot be written to.";
  } else if (!asked->engine().reaches_store()) {
    why = "The store does not answer.";
  }
  if (why.empty()) return asked->answer_json(200, R"({"status":"ready"})");
  asked->problem(
      model::Problem{.slug = model::Slug::unavailable, .detail = std::string(why), .retry_after_seconds = 1});
}

void get_metrics(const Asked& asked) {
  asked->answer(200, "text/plain; version=0.0.4; charset=utf-8", asked->surface().needs.metrics.to_text());
}

}  // namespace sluice::api::operations
