#include "world/shared_workers.h"

#include <utility>

namespace sluice::world {

class SharedWorkers::Line final : public Workers {
 public:
  Line(SharedWorkers& all, const Ulid& party) : all_(all), party_(party) {}
  void run(Callback<void()> work, Callback<void()> then) override {
    all_.run(party_, {std::move(work), std::move(then)});
  }

 private:
  SharedWorkers& all_;
  const Ulid party_;
};

SharedWorkers::SharedWorkers(Workers& pool, Options options) : pool_(pool), options_(options) {}
SharedWorkers::~SharedWorkers() = default;

Workers& SharedWorkers::of(const Ulid& party) {
  auto& line = lines_[party];
  if (line == nullptr) line = std::make_unique<Line>(*this, party);
  return *line;
}

void SharedWorkers::run(const Ulid& party, Job job) {
  waiting_.push(party, std::move(job));
  begin_some();
}

void SharedWorkers::begin_some() {
  const auto may_begin = [this](const Ulid& party) {
    const auto found = at_work_of_.find(party);
    return found == at_work_of_.end() || found->second < options_.of_party_max;
  };
  while (at_work_ < options_.at_once_max) {
    auto next = waiting_.pop_if(may_begin);
    if (!next) return;
    begin(next->first, std::move(next->second));
  }
}

void SharedWorkers::begin(const Ulid& party, Job job) {
  ++at_work_;
  ++at_work_of_[party];
  pool_.run(std::move(job.work), [this, here = std::weak_ptr(here_), party, then = std::move(job.then)]() mutable {
    if (here.expired()) return;
    on_done(party);
    then();
  });
}

void SharedWorkers::on_done(const Ulid& party) {
  --at_work_;
  const auto found = at_work_of_.find(party);
  if (--found->second == 0) at_work_of_.erase(found);
  begin_some();
}

}  // namespace sluice::world
