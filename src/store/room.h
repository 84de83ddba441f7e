// How much still goes into an answer that is read row by row: so many rows, and so many bytes. A
// hundred rows can be a hundred answers of megabytes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "model/tables.h"
#include "store/questions.h"

namespace sluice::store {

class Room final {
 public:
  Room(int count_max, std::size_t bytes_max) : count_left_(count_max), bytes_left_(bytes_max) {}

  // Takes the room of one row. False: there is none, read no further. The first row may be of any
  // size, or a reader would never get past it.
  bool take(std::size_t bytes) {
    if (count_left_ <= 0 || (taken_ && bytes > bytes_left_)) return false;
    taken_ = true;
    --count_left_;
    bytes_left_ -= std::min(bytes, bytes_left_);
    return true;
  }

 private:
  int count_left_;
  std::size_t bytes_left_;
  bool taken_ = false;
};

// What a row adds to a page. Rows of kinds that the limits of the API keep small count for nothing.
inline std::size_t bytes_of(const StoredMessage& message) { return message.json.size(); }
inline std::size_t bytes_of(const model::Agent& agent) { return agent.system_prompt.size(); }
inline std::size_t bytes_of(const model::Environment& environment) {
  std::size_t bytes = environment.script.size();
  for (const auto& [name, value] : environment.variables) bytes += name.size() + value.size();
  return bytes;
}
inline std::size_t bytes_of(const model::Approval& approval) {
  std::size_t bytes = approval.reason.size() + approval.note.value_or("").size();
  for (const auto& item : approval.requested_items) bytes += item.description.size();
  return bytes;
}
inline std::size_t bytes_of(const model::TableRow& row) { return row.cells.size(); }
inline std::size_t bytes_of(const model::Workflow& workflow) { return workflow.definition.size(); }
inline std::size_t bytes_of(const model::WorkflowRun& run) {
  return run.definition.size() + run.inputs.size() + run.outputs.size();
}
template <typename Row>
std::size_t bytes_of(const Row&) {
  return 0;
}

}  // namespace sluice::store
