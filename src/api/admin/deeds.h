// What the operator did, for the audit chain.
#pragma once

#include <string>

#include "api/request_context.h"

namespace sluice::api::admin {

// Adds an entry and goes on, or tells the caller that it could not be written.
inline void record(const Asked& asked, model::AuditEntry entry, Callback<void()> then) {
  entry.actor = "admin";
  entry.at = asked->now();
  asked->store().append_audit({std::move(entry)}, [asked, then = std::move(then)](const Result<Unit>& kept) mutable {
    kept ? then() : asked->fail(kept.error());
  });
}

}  // namespace sluice::api::admin
