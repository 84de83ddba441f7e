// Work that blocks, done on another thread, and its result brought back.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "api/request_context.h"

namespace sluice::api {

// How many jobs of one tenant's requests may wait for a thread.
inline constexpr std::size_t jobs_waiting_max = 256;

// For that tenant. `work` must not touch the request: it runs on another thread. `then` runs on the loop's;
// `overloaded` when too many of the tenant's jobs wait already.
template <typename T, typename Work>
void on_worker(const Asked& asked, model::TenantId tenant, Work work, Callback<void(Result<T>)> then) {
  auto& workers = asked->surface().needs.workers;
  if (workers.waiting(tenant.ulid) >= jobs_waiting_max) {
    return asked->surface().needs.loop.defer([then = std::move(then)]() mutable {
      then(Error{ErrorKind::overloaded, "too many files of this tenant are being read or written"});
    });
  }
  // Shared by the two halves, which are never at work at the same time.
  auto result = std::make_shared<std::optional<Result<T>>>();
  workers.of(tenant.ulid)
      .run([result, work = std::move(work)]() mutable { result->emplace(work()); },
           [result, then = std::move(then)]() mutable { then(*std::move(*result)); });
}

}  // namespace sluice::api
