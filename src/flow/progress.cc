#include "flow/progress.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/limits.h"

namespace sluice::flow {
namespace {

using model::BlockStatus;

// A string shows its words, anything else its JSON.
std::string shown(json::Value value) {
  const auto text = value.string();
  return text ? std::string(*text) : value.to_text();
}

std::optional<json::Value> element_at(json::Value list, std::string_view word) {
  std::size_t index = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), index);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
  std::optional<json::Value> found;
  std::size_t at = 0;
  list.each_element([&](json::Value element) {
    if (at++ == index) found = element;
  });
  return found;
}

}  // namespace

Progress::Progress(const Plan& plan, const std::string& inputs) : plan_(plan), states_(plan.definition.blocks.size()) {
  const auto document = json::Document::parse(inputs);
  if (!document) return;
  document.value().root().each_member(
      [&](std::string_view name, json::Value value) { inputs_.emplace(name, shown(value)); });
}

void Progress::apply(const model::WorkflowEvent& event) {
  if (const auto* started = std::get_if<model::BlockStarted>(&event.what)) {
    const auto block = plan_.index_of(started->block);
    if (!block) return;
    states_[*block].status = BlockStatus::running;
    states_[*block].run_id = started->run_id;
  } else if (const auto* finished = std::get_if<model::BlockFinished>(&event.what)) {
    const auto block = plan_.index_of(finished->block);
    if (!block) return;
    auto& state = states_[*block];
    state.status = finished->status;
    state.outputs = finished->outputs;
    state.error = finished->error;
  } else if (std::holds_alternative<model::WorkflowFinished>(event.what)) {
    over_ = true;
  }
}

Progress::Lead Progress::lead_of(const Edge& edge) const {
  const auto& from = states_[*plan_.index_of(edge.from)];
  if (from.status == BlockStatus::skipped) return Lead::not_taken;
  if (from.status != BlockStatus::succeeded) return Lead::waits;
  if (!edge.when) return Lead::taken;
  return (from.outputs.response == "true") == *edge.when ? Lead::taken : Lead::not_taken;
}

NextStep Progress::next() const {
  if (over_) return NothingLeft{};
  for (const auto block : plan_.order) {
    const auto& state = states_[block];
    if (state.status == BlockStatus::running) return CarryBlock{block, state.run_id};
    if (state.status != BlockStatus::failed) continue;
    const bool cancelled = state.error && state.error->code == cancelled_code;
    return end_of(cancelled ? model::WorkflowRunStatus::cancelled : model::WorkflowRunStatus::failed, state.error);
  }
  for (const auto block : plan_.order) {
    if (states_[block].status != BlockStatus::pending) continue;
    // Whatever it follows is earlier in the order, so it is settled by now.
    const auto& edges = plan_.incoming[block];
    const bool taken = edges.empty() || std::ranges::any_of(edges, [&](std::size_t edge) {
                         return lead_of(plan_.definition.edges[edge]) == Lead::taken;
                       });
    if (taken) return BeginBlock{block};
    return SkipBlock{block};
  }
  return end_of(model::WorkflowRunStatus::succeeded, std::nullopt);
}

NextStep Progress::end_of(model::WorkflowRunStatus status, std::optional<model::WorkflowError> error) const {
  FinishRun finish{{status, "{}", std::move(error)}};
  if (status != model::WorkflowRunStatus::succeeded) return finish;
  std::string outputs;
  json::Writer writer(outputs);
  writer.begin_object();
  for (const auto& [name, words] : plan_.definition.outputs) {
    const auto rendered =
        render(words, [this](const Place& place) { return value_of(place); }, limits::block_output_bytes_max);
    if (!rendered) {
      finish.end.status = model::WorkflowRunStatus::failed;
      finish.end.error =
          model::WorkflowError{"template-failed", "The output \"" + name + "\": " + rendered.error().what + "."};
      return finish;
    }
    writer.key_escaped(name).string(rendered.value());
  }
  writer.end_object();
  finish.end.outputs = std::move(outputs);
  return finish;
}

Result<std::string> Progress::value_of(const Place& place) const {
  if (const auto* input = std::get_if<InputPlace>(&place)) {
    const auto found = inputs_.find(input->name);
    return found == inputs_.end() ? std::string() : found->second;
  }
  const auto& wanted = std::get<BlockPlace>(place);
  const auto index = plan_.index_of(wanted.block);
  SLUICE_CHECK(index.has_value());
  const auto& state = states_[*index];
  switch (wanted.field) {
    case BlockField::response: return state.outputs.response.value_or("");
    case BlockField::files: return state.outputs.files.value_or("[]");
    case BlockField::status:
      return state.outputs.status ? std::to_string(*state.outputs.status) : std::string(name_of(state.status));
    case BlockField::json: return json_at(state, wanted);
  }
  return std::string();
}

Result<std::string> Progress::json_at(const State& state, const BlockPlace& place) const {
  if (state.status == BlockStatus::skipped) return std::string();
  const auto nothing = [&](std::string_view why) {
    return Error{ErrorKind::invalid, "{{" + text_of(place) + "}} names nothing: " + std::string(why)};
  };
  if (!state.outputs.json) return nothing("what the block gave is not JSON");
  const auto document = json::Document::parse(*state.outputs.json);
  if (!document) return nothing("what the block gave is not JSON");
  auto value = document.value().root();
  for (const auto& word : place.path) {
    const auto inner = value.kind() == json::Kind::array ? element_at(value, word) : value.find(word);
    if (!inner) return nothing("there is no \"" + word + "\"");
    value = *inner;
  }
  return shown(value);
}

std::vector<model::BlockState> Progress::blocks() const {
  std::vector<model::BlockState> out;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    out.push_back({plan_.definition.blocks[i].id, states_[i].status, states_[i].run_id});
  }
  return out;
}

}  // namespace sluice::flow
