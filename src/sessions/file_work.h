// Work on a workspace's files on another thread, with a deadline. A tenant decides how much there is to copy, and a
// disk how long that takes; a run must come to its end all the same. Whatever walks over files looks at its stop token
// at each of them, so that the thread is soon free for others.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/callback.h"
#include "base/lifetime.h"
#include "base/result.h"
#include "base/task.h"
#include "world/world.h"

namespace sluice::sessions {

// `work` runs on a thread of `workers`, and must touch nothing that is not its own; `then` gets its answer on the
// loop's thread, unless `asker` has gone by then. If it has, `unwanted` gets the answer on a thread of `workers`, to
// clear away what came of the work.
template <typename Answer>
void run_off_loop(world::Workers& workers, Lifetime::Watch asker, Callback<Answer()> work, Callback<void(Answer)> then,
                  Callback<void(Answer)> unwanted = nullptr) {
  // Shared by the two sides, because either may be destroyed last.
  auto answer = std::make_shared<std::optional<Answer>>();
  workers.run(
      [answer, work = std::move(work)]() mutable { answer->emplace(work()); },
      [answer, &workers, asker = std::move(asker), then = std::move(then), unwanted = std::move(unwanted)]() mutable {
        if (!asker.is_over()) return then(*std::move(*answer));
        if (!unwanted) return;
        workers.run([answer, unwanted = std::move(unwanted)]() mutable { unwanted(*std::move(*answer)); }, [] {});
      });
}

struct FileWorkers {
  world::Loop& loop;
  world::Workers& workers;
  int64_t ms_max = 0;  // of one job, waiting for its turn included
};

// Dropping it stops the job.
template <typename Answer>
class FileJob final {
 public:
  using Then = Callback<void(Result<Answer>)>;

  // When `work` has not answered in time, `then` gets an error that says that `what` took too long. `unwanted` is as
  // for run_off_loop(). `then` may drop this, and is not called from inside.
  FileJob(const FileWorkers& where, std::string what, Callback<Result<Answer>(std::stop_token)> work, Then then,
          Then unwanted)
      : then_(std::move(then)),
        deadline_(where.loop.after({where.ms_max}, [this, what = std::move(what), ms_max = where.ms_max] {
          stop_.request_stop();
          wanted_.begin_anew();
          finish(Error{ErrorKind::unavailable, what + " took longer than " + std::to_string(ms_max / 1000) + " s"});
        })) {
    run_off_loop<Result<Answer>>(
        where.workers, wanted_.watch(),
        [work = std::move(work), stop = stop_.get_token()]() mutable { return work(std::move(stop)); },
        [this](Result<Answer> answer) {
          deadline_.cancel();
          finish(std::move(answer));
        },
        std::move(unwanted));
  }
  ~FileJob() { stop_.request_stop(); }
  FileJob(const FileJob&) = delete;
  FileJob& operator=(const FileJob&) = delete;

 private:
  void finish(Result<Answer> answer) {
    auto then = std::move(then_);
    then(std::move(answer));
  }

  Then then_;
  std::stop_source stop_;
  world::Timer deadline_;
  Lifetime wanted_;
};

// co_await file_job<T>(…): the Result<T> of the work. Dropping the sequence stops the job.
template <typename T>
auto file_job(FileWorkers where, std::string what, Callback<Result<T>(std::stop_token)> work,
              Callback<void(Result<T>)> unwanted = nullptr) {
  return answer<Result<T>>([where, what = std::move(what), work = std::move(work),
                            unwanted = std::move(unwanted)](auto done) mutable {
    return std::make_unique<FileJob<T>>(where, std::move(what), std::move(work), std::move(done), std::move(unwanted));
  });
}

inline auto next_turn(world::Loop& loop) {
  return answer<Unit>([&loop](auto done) { loop.defer(std::move(done)); });
}

}  // namespace sluice::sessions
