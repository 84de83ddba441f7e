#include "agents/agents.h"

#include <utility>

namespace sluice::agents {

json::Value CheckpointReader::member(json::Value from, std::string_view name, json::Kind kind) {
  const auto value = from.find(name);
  if (value && value->kind() == kind) return *value;
  blame("its \"" + std::string(name) + "\" is missing or of another kind");
  return {};
}

std::string CheckpointReader::text(json::Value from, std::string_view name) {
  return std::string(member(from, name, json::Kind::string).string().value_or(""));
}

int64_t CheckpointReader::number(json::Value from, std::string_view name) {
  const auto value = member(from, name, json::Kind::integer).integer().value_or(0);
  if (value < 0) blame("its \"" + std::string(name) + "\" is negative");
  return value;
}

bool CheckpointReader::flag(json::Value from, std::string_view name) {
  return member(from, name, json::Kind::boolean).boolean().value_or(false);
}

std::vector<std::string> CheckpointReader::names(json::Value from, std::string_view name) {
  std::vector<std::string> found;
  member(from, name, json::Kind::array).each_element([&](json::Value value) {
    if (!value.string()) return blame("its \"" + std::string(name) + "\" are not all strings");
    found.emplace_back(*value.string());
  });
  return found;
}

sessions::SessionState CheckpointReader::session(json::Value from) {
  const auto state = member(from, "hands", json::Kind::object);
  return {.parked_layers = names(state, "parked_layers"),
          .instructions = text(state, "instructions"),
          .were_open = flag(state, "were_open"),
          .allowed_hosts = names(state, "allowed_hosts")};
}

Result<Unit> CheckpointReader::verdict() const {
  if (!fault_.empty()) return Error{ErrorKind::corrupt, fault_};
  return Unit{};
}

void write_names(json::Writer& writer, const std::vector<std::string>& names) {
  writer.begin_array();
  for (const auto& name : names) writer.string(name);
  writer.end_array();
}

void write_session(json::Writer& writer, const sessions::SessionState& state) {
  writer.begin_object().key("parked_layers");
  write_names(writer, state.parked_layers);
  writer.key("instructions").string(state.instructions).key("were_open").boolean(state.were_open).key("allowed_hosts");
  write_names(writer, state.allowed_hosts);
  writer.end_object();
}

void RunFiller::begin() {
  if (!dispatch_.filler || has_words_) return;
  inference::FillerListener& listener = *this;
  filler_ = std::make_unique<inference::Filler>(
      context_.inference(), inference::Filler::Setting{dispatch_.prompt, dispatch_.traceparent, count_}, listener);
}

void RunFiller::end() {
  if (!filler_) return;
  const bool is_mid_phrase = filler_->is_mid_phrase();
  count_ = filler_->phrase_count();
  filler_.reset();
  if (is_mid_phrase) output_.speak(model::EventKind::filler, " ");
}

}  // namespace sluice::agents
