#include "wire/agui_call_ids.h"

namespace sluice::wire {
namespace {
constexpr std::string_view counted = "step_";
constexpr std::string_view of_message = "@msg_";
}  // namespace

std::string call_id_of(const model::Run& run, std::string_view step_id) {
  std::string id(step_id);
  if (step_id.starts_with(counted)) id += "@" + run.message_id.text();
  return id;
}

std::string_view step_id_of(std::string_view call_id) {
  return call_id.starts_with(counted) ? call_id.substr(0, call_id.find(of_message)) : call_id;
}

}  // namespace sluice::wire
