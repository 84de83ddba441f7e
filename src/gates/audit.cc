// The chain of audit entries.
#include "gates/gates.h"

namespace sluice::gates {

std::optional<int64_t> first_broken_link(const std::vector<model::AuditEntry>& entries,
                                         std::string_view previous_sha256) {
  const model::AuditEntry* before = nullptr;
  for (const auto& entry : entries) {
    const auto previous = before ? std::string_view(before->sha256) : previous_sha256;
    const bool is_next = before ? entry.number == before->number + 1 : (entry.number == 1) == previous.empty();
    if (!is_next || entry.previous_sha256 != previous || entry.sha256 != model::digest_of(entry)) return entry.number;
    before = &entry;
  }
  return std::nullopt;
}

}  // namespace sluice::gates
