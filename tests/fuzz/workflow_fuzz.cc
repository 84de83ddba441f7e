// Workflows from a caller or an agent: refused in words, or a plan in which each block comes after all that it follows;
// and templates that say the same when they are written down and read again.
#include "base/bytes.h"
#include "base/check.h"
#include "base/json.h"
#include "flow/plan.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

void check_template(std::string_view text) {
  const auto parsed = flow::Template::parse(text);
  if (!parsed) return;
  parsed.value().each_place([](const flow::Place& place) {
    const auto again = flow::Template::parse("{{ " + flow::text_of(place) + " }}");
    SLUICE_CHECK(bool(again) && again.value().parts().size() == 1);
    SLUICE_CHECK(std::get<flow::Place>(again.value().parts()[0]) == place);
  });
  const auto rendered = flow::render(
      parsed.value(), [](const flow::Place&) { return Result<std::string>("a/b?c=%&"); }, 1024, flow::Writing::url);
  if (rendered) SLUICE_CHECK(rendered.value().size() <= 1024);
}

void check_definition(json::Value definition) {
  model::FieldErrors faults;
  const auto plan = flow::make_plan(definition, "/definition", faults);
  SLUICE_CHECK(plan.has_value() == faults.empty());
  for (const auto& fault : faults) SLUICE_CHECK(is_utf8(fault.message) && fault.pointer.starts_with("/definition"));
  if (!plan) return;
  SLUICE_CHECK(plan->order.size() == plan->definition.blocks.size());
  std::vector<std::size_t> place(plan->order.size());
  for (std::size_t i = 0; i < plan->order.size(); ++i) place[plan->order[i]] = i;
  for (const auto& edge : plan->definition.edges) {
    SLUICE_CHECK(place[*plan->index_of(edge.from)] < place[*plan->index_of(edge.to)]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  if (is_utf8(text)) check_template(text);
  const auto document = json::Document::parse(text);
  if (document) check_definition(document.value().root());
  return 0;
}
