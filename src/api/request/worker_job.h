// Jobs that block, such as reading files, on the worker threads of a tenant. Called from the loop's thread, on which
// the result arrives, too.
#pragma once

#include <utility>

#include "api/request/request_context.h"
#include "world/worker_job.h"

namespace sluice::api {

// How many jobs of one tenant's requests may wait for a thread.
inline constexpr std::size_t jobs_waiting_max = 256;

// `work` runs on another thread and must not use the request. `then` gets its result, or `overloaded` if too many jobs
// of the tenant wait already.
template <typename T, typename Work>
void on_worker(const RequestPtr& request, model::TenantId tenant, Work work, Callback<void(Result<T>)> then) {
  auto& workers = request->services().needs.workers;
  if (workers.waiting(tenant.ulid) >= jobs_waiting_max) {
    return request->services().needs.loop.defer([then = std::move(then)]() mutable {
      then(Error{ErrorKind::overloaded, "too many files of this tenant are being read or written"});
    });
  }
  world::run_job<Result<T>>(workers.of(tenant.ulid), std::move(work), std::move(then));
}

}  // namespace sluice::api
