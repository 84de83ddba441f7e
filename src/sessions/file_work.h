// Work on a workspace's files on another thread, for which somebody waits no longer than a given time. A tenant decides
// how much there is to copy, and a disk how long that takes; a run must come to its end all the same. What walks over
// files looks at its stop token at each of them, so that the thread is soon free for others.
#pragma once

#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/callback.h"
#include "base/result.h"
#include "runs/runs.h"
#include "world/world.h"

namespace sluice::sessions {

class FileWork final {
 public:
  FileWork(world::Loop& loop, int64_t ms_max) : loop_(loop), ms_max_(ms_max) {}
  // The answers are not wanted any more: what is under way stops.
  ~FileWork() { stop_.request_stop(); }
  FileWork(const FileWork&) = delete;
  FileWork& operator=(const FileWork&) = delete;

  // Like runs::run_off_loop(). When `work` has not answered in time, waiting for its turn included, `then` hears that
  // `what` took too long, everything here stops, and `unwanted` has the answer once it comes. `then` may drop this.
  template <typename Answer>
  void send(world::Workers& workers, std::string what, Callback<Result<Answer>(std::stop_token)> work,
            Callback<void(Result<Answer>)> then, Callback<void(Result<Answer>)> unwanted = nullptr) {
    const auto job = jobs_.emplace(jobs_.end());
    auto waiting = std::make_shared<Callback<void(Result<Answer>)>>(std::move(then));
    job->deadline = loop_.after({ms_max_}, [this, job, waiting, what = std::move(what)] {
      stop_.request_stop();
      Error late{ErrorKind::unavailable, what + " took longer than " + std::to_string(ms_max_ / 1000) + " s"};
      auto callback = std::exchange(*waiting, nullptr);
      jobs_.erase(job);
      callback(std::move(late));
    });
    runs::run_off_loop<Result<Answer>>(
        workers, job->wanted.watch(),
        [work = std::move(work), stop = stop_.get_token()]() mutable { return work(std::move(stop)); },
        [this, job, waiting](Result<Answer> answer) {
          auto callback = std::exchange(*waiting, nullptr);
          jobs_.erase(job);
          callback(std::move(answer));
        },
        std::move(unwanted));
  }

 private:
  struct Job {
    runs::Lifeline wanted;
    world::Timer deadline;
  };

  world::Loop& loop_;
  const int64_t ms_max_;
  std::stop_source stop_;
  std::list<Job> jobs_;
};

}  // namespace sluice::sessions
