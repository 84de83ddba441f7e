#include "engine/open_steps.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace sluice::engine {

void OpenSteps::see(const model::RunEvent& event) {
  if (event.kind != model::EventKind::step) return;
  saw_any_ = true;
  const auto document = json::Document::parse(event.body);
  if (!document) return;
  const auto root = document.value().root();
  const auto id = root.find("id");
  const auto name = root.find("name");
  const auto status = root.find("status");
  if (!id || !status) return;
  if (status->string() == "running") {
    open_.push_back({id->to_text(), name ? name->to_text() : R"("")", event.at});
  } else {
    std::erase_if(open_, [text = id->to_text()](const Step& step) { return step.id == text; });
  }
}

std::vector<model::RunEvent> OpenSteps::close(std::string_view why, Timestamp at) {
  std::vector<model::RunEvent> ends;
  for (const auto& step : std::exchange(open_, {})) {
    std::string body;
    json::Writer writer(body);
    writer.begin_object().key("id").raw(step.id).key("name").raw(step.name).key("status").string("failed");
    writer.key("error").string(why).key("durationMs").integer(std::max<int64_t>(0, at.ms - step.begun_at.ms));
    writer.end_object();
    ends.push_back({model::EventKind::step, at, std::move(body)});
  }
  return ends;
}

}  // namespace sluice::engine
