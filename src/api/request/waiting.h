// What a handler waits for when it has more than two steps: tasks, answers of the store, and jobs that block. Called
// from the loop's thread. A handler's task is owned by nothing but the answer that it waits for, like a callback that
// shares the request: when a step has answered the request itself, it drops that answer, and with it the task.
#pragma once

#include <optional>
#include <utility>

#include "api/request/request_context.h"
#include "base/task.h"
#include "world/worker_job.h"

namespace sluice::api {

// co_await asked<model::Run>(request, &store::run, tenant, id): what the store answers.
template <typename T, typename Ask, typename... Given>
auto asked(const RequestPtr& request, Ask ask, Given... given) {
  return answer<Result<T>>([request, ask, ... given = std::move(given)](auto done) mutable {
    ask(request->database(), std::move(given)..., std::move(done));
  });
}

// The same for what must be there. An error is answered, and ends the task.
template <typename T, typename Ask, typename... Given>
auto found(const RequestPtr& request, Ask ask, Given... given) {
  return answer<T>([request, ask, ... given = std::move(given)](auto done) mutable {
    ask(request->database(), std::move(given)..., [request, done = std::move(done)](Result<T> result) mutable {
      result ? done(std::move(result).take()) : request->fail(result.error());
    });
  });
}

// The same for what may be missing.
template <typename T, typename Ask, typename... Given>
auto found_if_any(const RequestPtr& request, Ask ask, Given... given) {
  return answer<std::optional<T>>([request, ask, ... given = std::move(given)](auto done) mutable {
    ask(request->database(), std::move(given)..., [request, done = std::move(done)](Result<T> result) mutable {
      if (result) return done(std::optional<T>(std::move(result).take()));
      result.error().kind == ErrorKind::not_found ? done(std::optional<T>()) : request->fail(result.error());
    });
  });
}

// co_await answered(): the request has been answered, and nothing of its task is done after this.
inline auto answered() {
  return answer<Unit>([](const auto&) {});
}

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

// co_await worked<T>(…): the same in a task. An error is answered, and ends the task.
template <typename T, typename Work>
auto worked(const RequestPtr& request, model::TenantId tenant, Work work) {
  return answer<T>([request, tenant, work = std::move(work)](auto done) mutable {
    on_worker<T>(request, tenant, std::move(work), [request, done = std::move(done)](Result<T> result) mutable {
      result ? done(std::move(result).take()) : request->fail(result.error());
    });
  });
}

}  // namespace sluice::api
