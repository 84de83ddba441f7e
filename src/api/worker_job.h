// Work that blocks, done on another thread, and its result brought back.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "api/request_context.h"

namespace sluice::api {

// `work` must not touch the request: it runs on another thread. `then` runs on the loop's.
template <typename T, typename Work>
void on_worker(const Asked& asked, Work work, Callback<void(Result<T>)> then) {
  // Shared by the two halves, which are never at work at the same time.
  auto result = std::make_shared<std::optional<Result<T>>>();
  asked->surface().needs.workers.run([result, work = std::move(work)]() mutable { result->emplace(work()); },
                                     [result, then = std::move(then)]() mutable { then(*std::move(*result)); });
}

}  // namespace sluice::api
