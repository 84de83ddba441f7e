#include "egress/outlet.h"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>

#include "egress/acceptor.h"
#include "egress/errand.h"

namespace sluice::egress {
namespace {

class BoxOutlet final : public Outlet {
 public:
  BoxOutlet(std::shared_ptr<House> house, OwnedFd listener_fd);
  ~BoxOutlet() override { end_visits(); }

  void serve(Guest guest, OutletListener& listener) override {
    end_visits();
    premises_.welcome(std::move(guest), listener);
  }
  std::vector<Passage> break_off() override;
  void close_gate() override {
    end_visits();
    premises_.see_off();
  }
  void settle(uint64_t number, bool go_on, std::string_view words) override { premises_.settle(number, go_on, words); }
  void hold(bool held) override;
  int64_t sent_for_good() const override { return premises_.sent_for_good(); }

 private:
  using Visits = std::list<std::unique_ptr<Visit>>;

  void admit(OwnedFd fd);
  void bury(Visits::iterator visit);
  void end_visits();

  std::shared_ptr<House> house_;
  Premises premises_;
  Visits visits_;
  Visits buried_;  // until nobody can be inside of them
  world::Timer burial_;
  Acceptor acceptor_;
};

BoxOutlet::BoxOutlet(std::shared_ptr<House> house, OwnedFd listener_fd)
    : house_(std::move(house)),
      premises_(house_),
      acceptor_(house_->reactor, std::move(listener_fd), [this](OwnedFd fd) { admit(std::move(fd)); }) {}

void BoxOutlet::admit(OwnedFd fd) {
  if (visits_.size() >= static_cast<std::size_t>(house_->options.connections_per_box_max)) {
    const std::string words = own_answer(503, "this sandbox has too many connections open; close some", false, "");
    send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL);
    return;
  }
  house_->figures.connections.add(1);
  visits_.emplace_back();
  const auto at = std::prev(visits_.end());
  *at = std::make_unique<Visit>(premises_, std::move(fd), [this, at] { bury(at); });
}

void BoxOutlet::bury(Visits::iterator visit) {
  house_->figures.connections.add(-1);
  buried_.splice(buried_.end(), visits_, visit);
  if (buried_.size() == 1) burial_ = house_->reactor.after({0}, [this] { buried_.clear(); });
}

void BoxOutlet::hold(bool held) {
  premises_.hold(held);
  if (held) return;
  // One that is woken may end, and leaves the list then.
  for (auto at = visits_.begin(); at != visits_.end();) (*at++)->wake();
}

std::vector<Passage> BoxOutlet::break_off() {
  std::vector<Passage> unfinished;
  for (const auto& visit : visits_) {
    auto passage = visit->unfinished();
    if (passage && premises_.count(*passage)) unfinished.push_back(*std::move(passage));
  }
  auto passages = premises_.take_untold();
  std::ranges::move(unfinished, std::back_inserter(passages));
  end_visits();
  return passages;
}

void BoxOutlet::end_visits() {
  house_->figures.connections.add(-static_cast<int64_t>(visits_.size()));
  visits_.clear();
  buried_.clear();
}

}  // namespace

std::unique_ptr<Outlet> make_outlet(std::shared_ptr<House> house, OwnedFd listener_fd) {
  return std::make_unique<BoxOutlet>(std::move(house), std::move(listener_fd));
}

}  // namespace sluice::egress
