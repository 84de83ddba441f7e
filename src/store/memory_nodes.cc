#include "store/memory_nodes.h"

#include <algorithm>
#include <map>

namespace sluice::store {

MemoryNodes::MemoryNodes(MemoryDisk& disk, MemoryDesk& desk, model::NodeId self)
    : disk_(disk), desk_(desk), self_(self), alive_(std::make_shared<MemoryNodes*>(this)) {
  disk_.listeners_.push_back(this);
}

MemoryNodes::~MemoryNodes() {
  *alive_ = nullptr;
  std::erase(disk_.listeners_, this);
}

template <typename Tell>
void MemoryNodes::tell_others(Tell tell, std::optional<model::RunId> followed) {
  if (disk_.loses_news_) return;
  for (auto* other : disk_.listeners_) {
    if (other == this || (followed && !other->follows(*followed))) continue;
    const int copies = disk_.watch_ == nullptr ? 1 : disk_.watch_->news_copies(other->self_);
    for (int i = 0; i < copies; ++i) {
      other->desk_.loop().post([alive = other->alive_, tell] {
        if (*alive != nullptr && (*alive)->news_ != nullptr) tell(*(*alive)->news_);
      });
    }
  }
}

void MemoryNodes::moved(const model::Run& run) {
  if (disk_.watch_ != nullptr) disk_.watch_->on_moved(self_, run);
  tell_others([id = run.id](NodeNews& news) { news.on_moved(id); }, run.id);
  if (run.state == model::RunState::held) tell_others([](NodeNews& news) { news.on_held(); });
}

void MemoryNodes::taken(const model::Run& run) {
  if (disk_.watch_ != nullptr) disk_.watch_->on_moved(self_, run);
  tell_others([id = run.id](NodeNews& news) { news.on_moved(id); });
  if (run.state == model::RunState::held) tell_others([](NodeNews& news) { news.on_held(); });
}

void MemoryNodes::follow(std::vector<model::RunId> runs) {
  const auto now_us = desk_.loop().monotonic_us();
  std::erase_if(followed_, [&](const auto& wish) { return wish.second <= now_us; });
  for (const auto run : runs) followed_[run] = now_us + follow_ms * 1'000;
}

bool MemoryNodes::follows(model::RunId run) const {
  const auto wish = followed_.find(run);
  return wish != followed_.end() && desk_.loop().monotonic_us() < wish->second;
}

void MemoryNodes::beat(NodeFigures figures, int64_t forget_ms, Answer<std::vector<SeenNode>> done) {
  desk_.write<std::vector<SeenNode>>(std::move(done), [&]() -> Result<std::vector<SeenNode>> {
    const auto now_us = desk_.loop().monotonic_us();
    auto& mine = disk_.nodes_[self_];
    if (mine.beat_us == 0) mine.started_at = desk_.loop().now();
    mine.beat_us = now_us;
    mine.figures = std::move(figures);
    std::erase_if(disk_.nodes_, [&](const auto& entry) {
      const auto carries = [&](const auto& row) {
        return row.second.run.node == entry.first && !model::is_over(row.second.run.state);
      };
      return now_us - entry.second.beat_us > forget_ms * 1'000 && std::ranges::none_of(disk_.runs_, carries);
    });
    std::vector<SeenNode> seen;
    for (const auto& [id, row] : disk_.nodes_) {
      seen.push_back({id, row.started_at, (now_us - row.beat_us) / 1'000, row.figures});
    }
    return seen;
  });
}

void MemoryNodes::leave(Answer<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    disk_.nodes_.erase(self_);
    return Unit{};
  });
}

void MemoryNodes::agree(std::string name, std::string value, Answer<std::string> done) {
  desk_.write<std::string>(std::move(done), [&]() -> Result<std::string> {
    auto& agreed = disk_.agreed_.try_emplace(std::move(name), value).first->second;
    const auto others = std::ranges::count_if(disk_.nodes_, [&](const auto& entry) {
      return entry.first != self_ && desk_.loop().monotonic_us() - entry.second.beat_us < 10'000'000;
    });
    if (disk_.nodes_.contains(self_) && others == 0) agreed = std::move(value);
    return agreed;
  });
}

void MemoryNodes::post(Mail mail, Answer<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    mail.from = self_;
    disk_.mails_.push_back({std::move(mail), std::nullopt});
    tell_others([](NodeNews& news) { news.on_mail(); });
    return Unit{};
  });
}

bool MemoryNodes::is_mine(const Mail& mail) {
  if (mail.to) return *mail.to == self_;
  const auto* row = disk_.runs_.find(mail.run.value_or(model::RunId{}));
  return row != nullptr && row->run.node == self_;
}

void MemoryNodes::inbox(Answer<std::vector<Mail>> done) {
  std::vector<Mail> found;
  for (const auto& row : disk_.mails_) {
    if (!row.answer && is_mine(row.mail)) found.push_back(row.mail);
  }
  desk_.answer<std::vector<Mail>>(std::move(found), std::move(done));
}

void MemoryNodes::answer(model::MailId id, std::string body, Answer<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    const auto found = std::ranges::find(disk_.mails_, id, [](const auto& row) { return row.mail.id; });
    if (found == disk_.mails_.end()) return Error{ErrorKind::not_found, "nobody waits for the answer"};
    if (!found->answer) found->answer = std::move(body);
    tell_others([](NodeNews& news) { news.on_mail(); });
    return Unit{};
  });
}

void MemoryNodes::answers(Answer<std::vector<MailAnswer>> done) {
  desk_.write<std::vector<MailAnswer>>(std::move(done), [&]() -> Result<std::vector<MailAnswer>> {
    std::vector<MailAnswer> found;
    for (const auto& row : disk_.mails_) {
      if (row.answer && row.mail.from == self_) found.push_back({row.mail.id, *row.answer});
    }
    std::erase_if(disk_.mails_, [&](const auto& row) { return row.answer && row.mail.from == self_; });
    return found;
  });
}

void MemoryNodes::withdraw(model::MailId id, Answer<Unit> done) {
  desk_.write<Unit>(std::move(done), [&]() -> Result<Unit> {
    std::erase_if(disk_.mails_, [&](const auto& row) { return row.mail.id == id && row.mail.from == self_; });
    return Unit{};
  });
}

// ── runs that wait ──────────────────────────────────────────────────────────────────────────────

bool MemoryNodes::may_move(const model::Run& run) {
  if (run.state != model::RunState::held || run.node == self_) return false;
  if (run.epoch == model::Epoch{1}) return true;
  const auto holder = disk_.nodes_.find(run.node);
  if (holder != disk_.nodes_.end() && holder->second.figures.free_slots <= 0 && holder->second.figures.held > 0) {
    return true;
  }
  const auto* tenant = disk_.tenants_.find(run.tenant_id);
  const auto works_there = [&](const auto& row) {
    const auto& other = row.second.run;
    return other.node == run.node && other.tenant_id == run.tenant_id && !model::is_over(other.state) &&
           other.state != model::RunState::held && other.state != model::RunState::parked;
  };
  return tenant != nullptr && tenant->limits.max_running > 0 &&
         std::ranges::count_if(disk_.runs_, works_there) >= tenant->limits.max_running;
}

void MemoryNodes::held_elsewhere(Answer<std::vector<HeldElsewhere>> done) {
  std::vector<HeldElsewhere> found;
  std::map<model::TenantId, int64_t> since;  // the oldest of each tenant that waits here
  for (auto& [number, row] : disk_.runs_) {
    if (row.run.state != model::RunState::held || row.run.node != self_) continue;
    const auto mine = since.emplace(row.run.tenant_id, row.run.created_at.ms).first;
    mine->second = std::min(mine->second, row.run.created_at.ms);
  }
  for (auto& [number, row] : disk_.runs_) {
    if (!may_move(row.run)) continue;
    auto mine = std::ranges::find(found, row.run.tenant_id, &HeldElsewhere::tenant);
    if (mine == found.end()) {
      const auto& limits = disk_.tenants_.find(row.run.tenant_id)->limits;
      mine = found.insert(found.end(), HeldElsewhere{});
      mine->tenant = row.run.tenant_id;
      mine->limits.weight = limits.weight;
      mine->limits.max_running = limits.max_running;
    }
    ++mine->count;
    if (mine->oldest.size() >= held_of_tenant_max) continue;
    const auto here = since.find(row.run.tenant_id);
    const bool is_overdue = here != since.end() && row.run.created_at.ms + overdue_ms <= here->second;
    if (is_overdue && mine->overdue == std::ssize(mine->oldest)) ++mine->overdue;
    mine->oldest.push_back({row.run.id, row.run.epoch});
  }
  desk_.answer<std::vector<HeldElsewhere>>(std::move(found), std::move(done));
}

void MemoryNodes::claim(std::vector<HeldRun> wanted, Answer<std::vector<model::Run>> done) {
  desk_.write<std::vector<model::Run>>(std::move(done), [&]() -> Result<std::vector<model::Run>> {
    std::vector<model::Run> claimed;
    for (auto& [number, row] : disk_.runs_) {
      if (row.run.state != model::RunState::held || row.run.node == self_) continue;
      if (std::ranges::find(wanted, HeldRun{row.run.id, row.run.epoch}) == wanted.end()) continue;
      ++row.run.epoch.value;
      row.run.node = self_;
      taken(row.run);
      claimed.push_back(row.run);
    }
    return claimed;
  });
}

}  // namespace sluice::store
