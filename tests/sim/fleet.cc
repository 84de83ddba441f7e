#include "tests/sim/fleet.h"

#include <algorithm>
#include <charconv>

#include "vault/vault.h"

namespace sluice::sim {
namespace {

constexpr std::string_view mark_head = R"({"box":)";
constexpr std::string_view mark_middle = R"(,"line":)";

std::string mark_of(const Box& box, std::size_t line) {
  return std::string(mark_head) + std::to_string(box.id) + std::string(mark_middle) + std::to_string(line) + "}";
}

struct Mark {
  int64_t box = 0;
  std::size_t line = 0;
};
Mark parse_mark(std::string_view text) {
  Mark mark;
  const auto middle = text.find(mark_middle);
  if (!text.starts_with(mark_head) || middle == std::string_view::npos) return mark;
  std::from_chars(text.data() + mark_head.size(), text.data() + middle, mark.box);
  std::from_chars(text.data() + middle + mark_middle.size(), text.data() + text.size(), mark.line);
  return mark;
}

dispatch::Gate gate_of(const Box& box, const Act& act) {
  dispatch::Gate gate;
  gate.reason = "May I?";
  gate.items = {{model::ItemKind::action, "something", std::nullopt, {}}};
  gate.checkpoint = R"({"at":)" + act.body + "}";
  gate.keeps_box = box.keeps_box;
  return gate;
}

std::size_t place_of(std::string_view checkpoint) {
  std::size_t at = 0;
  const auto colon = checkpoint.find(':');
  std::from_chars(checkpoint.data() + colon + 1, checkpoint.data() + checkpoint.size(), at);
  return at + 1;
}

model::EventKind kind_of(Act::Kind kind) {
  switch (kind) {
    case Act::Kind::text: return model::EventKind::text;
    case Act::Kind::reasoning: return model::EventKind::reasoning;
    case Act::Kind::filler: return model::EventKind::filler;
    case Act::Kind::usage: return model::EventKind::usage;
    case Act::Kind::step_begins:
    case Act::Kind::step_ends: return model::EventKind::step;
    case Act::Kind::log:
    case Act::Kind::gate:
    case Act::Kind::finish:
    case Act::Kind::fail:
    case Act::Kind::vanish: break;
  }
  return model::EventKind::log;
}

std::string name_of(const Box& box) { return "box " + std::to_string(box.id) + " of " + box.run.text(); }

class BoxWork final : public dispatch::Work {
 public:
  BoxWork(Fleet& fleet, std::shared_ptr<Box> box, std::shared_ptr<Ear> ear)
      : fleet_(fleet), box_(std::move(box)), ear_(std::move(ear)) {}
  ~BoxWork() override {
    const bool is_heard = std::exchange(ear_->listener, nullptr) != nullptr && box_ != nullptr && box_->ear == ear_;
    // Whoever is dropped while it is being stopped ends at once, like any other.
    if ((is_heard || is_stopping_) && !ear_->server->loop().is_dead()) fleet_.let_go(box_);
  }
  void stop(Callback<void()> gone) override {
    ear_->listener = nullptr;
    auto& loop = ear_->server->loop();
    if (box_ == nullptr) return loop.defer(std::move(gone));
    is_stopping_ = true;
    fleet_.stop(box_, loop, std::move(gone));
  }
  void go_on(std::vector<model::ClientResult>) override {
    if (box_ != nullptr) fleet_.go_on(box_);
  }
  void suspend(bool suspended) override {
    if (box_ != nullptr && !ear_->server->loop().is_dead()) fleet_.suspend(box_, suspended);
  }
  void written(std::string_view mark) override {
    if (box_ != nullptr && !ear_->server->loop().is_dead()) fleet_.acknowledge(box_, parse_mark(mark).line);
  }

 private:
  Fleet& fleet_;
  std::shared_ptr<Box> box_;  // null: there is none
  std::shared_ptr<Ear> ear_;
  bool is_stopping_ = false;
};

}  // namespace

// ── a server's own way ──────────────────────────────────────────────────────────────────────────

std::unique_ptr<dispatch::Work> BoxDispatcher::dispatch(dispatch::Dispatch dispatch,
                                                        dispatch::DispatchListener& listener) {
  const auto ear = std::make_shared<Ear>(Ear{this, &listener, 0});
  if (loop_.is_dead()) return std::make_unique<BoxWork>(fleet_, nullptr, ear);
  if (dispatch.mark.empty()) {
    return std::make_unique<BoxWork>(fleet_, fleet_.begin(*this, dispatch, ear), ear);
  }
  const auto box = fleet_.of_mark(dispatch.mark);
  if (box == nullptr) {
    loop_.post([ear] {
      if (ear->listener != nullptr) {
        ear->listener->on_failed({.slug = model::Slug::run_interrupted, .detail = "The box is gone."});
      }
    });
    return std::make_unique<BoxWork>(fleet_, nullptr, ear);
  }
  fleet_.hear(box, ear, parse_mark(dispatch.mark).line);
  return std::make_unique<BoxWork>(fleet_, box, ear);
}

bool BoxDispatcher::can_resume(const model::Agent&, std::string_view told_text) const {
  return fleet_.habits().resumable || told_text.empty();
}
bool BoxDispatcher::can_reattach(std::string_view mark) const {
  return fleet_.habits().survives_server && !mark.empty();
}
void BoxDispatcher::release(model::ConversationId conversation) {
  if (!loop_.is_dead()) fleet_.release(conversation, node_);
}
void BoxDispatcher::forget_parked(model::RunId run, model::ConversationId) {
  if (!loop_.is_dead()) fleet_.forget_parked(machine_, run);
}
void BoxDispatcher::list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) {
  loop_.post([kept = fleet_.parked_at(machine_), done = std::move(done)]() mutable { done(std::move(kept)); });
}

// ── boxes ───────────────────────────────────────────────────────────────────────────────────────

void Fleet::check_start(const Box& box, const dispatch::Dispatch& dispatch, const BoxDispatcher& server) {
  if (dispatch.checkpoint.empty()) return;
  if (!used_up_.emplace(dispatch.run, dispatch.checkpoint).second) {
    verdict_.wrong("I-16", name_of(box) + " goes on from a checkpoint that was used: " + dispatch.checkpoint);
  }
  if (forgotten_.contains({server.machine(), box.run})) {
    verdict_.wrong("I-21", name_of(box) + " goes on, and the workspace that was kept for it is gone");
  }
}

// What the conversation's runs did since must be in it.
void Fleet::check_shelf(const Box& kept, const Box& next) {
  for (const auto& box : boxes_) {
    if (box->id <= kept.id || box->conversation != kept.conversation || box->run == next.run) continue;
    verdict_.wrong("I-21", name_of(next) + " goes on in box " + std::to_string(kept.id) + ", but box " +
                               std::to_string(box->id) + " came after that");
  }
}

std::shared_ptr<Box> Fleet::begin(BoxDispatcher& server, const dispatch::Dispatch& dispatch,
                                  const std::shared_ptr<Ear>& ear) {
  auto box = std::make_shared<Box>();
  box->id = static_cast<int64_t>(boxes_.size()) + 1;
  box->run = dispatch.run;
  box->conversation = dispatch.conversation;
  box->node = server.node();
  // One that outlives the server is a runner's elsewhere, which keeps none between two messages.
  box->keeps_box = dispatch.keeps_box && !habits_.survives_server;
  box->script = script_of(dispatch.prompt);
  box->witness = dispatch.witness;
  box->is_known = !dispatch.checkpoint.empty() || (!habits_.survives_server && !dispatch.witness);
  if (!dispatch.checkpoint.empty()) {
    box->at = place_of(dispatch.checkpoint);
    parked_.erase({server.machine(), dispatch.run});
  } else if (const auto place = box->script.place_after(dispatch.told_text, dispatch.told_reasoning)) {
    box->at = *place;
  } else {
    verdict_.wrong("I-8", name_of(*box) + " is to go on after a text that it never told: " + dispatch.told_text);
  }
  check_start(*box, dispatch, server);
  const auto* const secret = dispatch.secrets ? dispatch.secrets->find(secret_alias) : nullptr;
  secrets_given_[box->run].insert(secret == nullptr ? "" : secret->value);
  for (auto& other : boxes_) {
    // The conversation's kept box becomes this one.
    if (other->state == Box::State::kept && other->conversation == box->conversation && other->node == box->node) {
      check_shelf(*other, *box);
      end(other);
    }
    if (other->state == Box::State::gone || other->run != box->run) continue;
    if (other->node == box->node) verdict_.wrong("S-2", name_of(*box) + " begins while " + name_of(*other) + " lives");
    if (other->orphan_us == 0) other->orphan_us = loop_.monotonic_us();
  }
  boxes_.push_back(box);
  verdict_.count("boxes");
  verdict_.note(name_of(*box) + " begins at act " + std::to_string(box->at));
  hear(box, ear, 0);
  // Where it can be heard again is told before it does anything.
  if (habits_.survives_server)
    server.loop().post([box, ear] {
      if (ear->listener != nullptr)
        ear->listener->on_event({model::EventKind::mark, ear->server->loop().now(), mark_of(*box, 0)});
    });
  go(box);
  return box;
}

void Fleet::go(const std::shared_ptr<Box>& box) {
  if (box->state != Box::State::working || box->at >= box->script.acts.size()) return;
  if (box->is_suspended) return static_cast<void>(box->goes_later = true);
  box->next = loop_.after({box->script.acts[box->at].after_ms + 1}, [this, box] { act(box); });
}

void Fleet::act(const std::shared_ptr<Box>& box) {
  const auto& act = box->script.acts[box->at++];
  if (act.kind == Act::Kind::gate) {
    box->state = Box::State::at_gate;
    if (!box->keeps_box) {
      // A runner elsewhere keeps nothing: it is whoever hears it that does.
      if (!habits_.survives_server) park(*box, *box->ear->server);
      end(box);
    }
  }
  if (act.kind == Act::Kind::finish) box->keeps_box ? void(box->state = Box::State::kept) : end(box);
  if (act.kind == Act::Kind::fail || act.kind == Act::Kind::vanish) end(box);
  add_line(box, act);
  if (act.kind != Act::Kind::step_begins) return go(box);
  if (box->is_known) return do_step(box);
  box->awaited_line = box->lines.size();
}

void Fleet::acknowledge(const std::shared_ptr<Box>& box, std::size_t lines) {
  if (box->awaited_line == 0 || lines < box->awaited_line || box->state != Box::State::working) return;
  box->awaited_line = 0;
  box->is_known = true;
  do_step(box);
}

// The one it told of last.
void Fleet::do_step(const std::shared_ptr<Box>& box) {
  if (box->is_suspended) return static_cast<void>(box->begins_later = true);
  const auto& step = box->lines.back().body;
  if (!done_.emplace(box->run, step).second)
    verdict_.wrong("I-8", name_of(*box) + " does again what was done: " + step);
  verdict_.count("steps done");
  go(box);
}

void Fleet::add_line(const std::shared_ptr<Box>& box, Act act) {
  box->lines.push_back(std::move(act));
  deliver(box, box->ear);
}

// A line is told on the server's own loop, which may be standing still.
void Fleet::deliver(const std::shared_ptr<Box>& box, const std::shared_ptr<Ear>& ear) {
  if (!ear || ear->listener == nullptr) return;
  ear->server->loop().post([this, box, ear] {
    while (ear->listener != nullptr && ear->heard < box->lines.size()) tell(box, *ear, ear->heard++);
  });
}

void Fleet::tell(const std::shared_ptr<Box>& box, Ear& ear, std::size_t line) {
  const auto& act = box->lines[line];
  auto& listener = *ear.listener;
  switch (act.kind) {
    case Act::Kind::gate:
      if (habits_.survives_server) park(*box, *ear.server);
      return listener.on_gate(gate_of(*box, act));
    case Act::Kind::finish: return listener.on_finished({3, 4});
    case Act::Kind::fail:
      return listener.on_failed({.slug = model::Slug::model_error, .detail = "The model did not like it."});
    case Act::Kind::vanish:
      return listener.on_failed({.slug = model::Slug::runner_lost, .detail = "The box was lost."});
    case Act::Kind::text:
    case Act::Kind::reasoning:
    case Act::Kind::filler:
    case Act::Kind::log:
    case Act::Kind::usage:
    case Act::Kind::step_begins:
    case Act::Kind::step_ends: break;
  }
  listener.on_event({kind_of(act.kind), ear.server->loop().now(), act.body});
  if (ear.listener == nullptr) return;
  if (!habits_.survives_server) {
    if (box->awaited_line == line + 1)
      box->witness->see([this, box, &loop = ear.server->loop()] {
        if (!loop.is_dead()) acknowledge(box, box->lines.size());
      });
    return;
  }
  listener.on_event({model::EventKind::mark, ear.server->loop().now(), mark_of(*box, line + 1)});
}

void Fleet::hear(const std::shared_ptr<Box>& box, const std::shared_ptr<Ear>& ear, std::size_t after) {
  if (box->ear) box->ear->listener = nullptr;
  ear->heard = after;
  box->ear = ear;
  box->node = ear->server->node();
  box->orphan_us = 0;
  interruptions_.on_work(box->run, box->node, loop_.monotonic_us());
  box->patience.cancel();
  acknowledge(box, after);
  verdict_.note(name_of(*box) + " is heard from line " + std::to_string(after));
  deliver(box, ear);
}

std::shared_ptr<Box> Fleet::of_mark(std::string_view mark) const {
  const auto id = parse_mark(mark).box;
  if (id <= 0 || id > static_cast<int64_t>(boxes_.size())) return nullptr;
  const auto& box = boxes_[static_cast<std::size_t>(id) - 1];
  // One that ended is known for as long as nobody had the patience to wait for its last line.
  return box->ear == nullptr ? nullptr : box;
}

void Fleet::end(const std::shared_ptr<Box>& box) {
  if (box->state == Box::State::gone) return;
  box->state = Box::State::gone;
  box->next.cancel();
  verdict_.note(name_of(*box) + " is gone");
}

void Fleet::let_go(const std::shared_ptr<Box>& box) {
  // Its end was told, so it stands on the shelf until its lease ends.
  if (box->state == Box::State::kept && box->ear && box->ear->heard == box->lines.size()) return;
  end(box);
  box->ear.reset();
}

void Fleet::stop(const std::shared_ptr<Box>& box, NodeLoop& loop, Callback<void()> gone) {
  box->ear.reset();
  const auto wait = habits_.stop_ms_max == 0 ? 0 : chance_.below(habits_.stop_ms_max);
  box->next.cancel();
  box->awaited_line = 0;  // a box that is being stopped begins nothing, also when it resumes
  box->goes_later = box->begins_later = false;
  box->stopping = loop_.after({wait}, [this, box, &loop, gone = std::move(gone)]() mutable {
    end(box);
    loop.post(std::move(gone));
  });
}

void Fleet::go_on(const std::shared_ptr<Box>& box) {
  if (box->state != Box::State::at_gate) {
    verdict_.wrong("I-16", name_of(*box) + " is to go on, but does not wait");
    return;
  }
  box->state = Box::State::working;
  go(box);
}

void Fleet::suspend(const std::shared_ptr<Box>& box, bool suspended) {
  if (habits_.survives_server || box->state == Box::State::gone || box->is_suspended == suspended) return;
  box->is_suspended = suspended;
  verdict_.note(name_of(*box) + (suspended ? " is suspended" : " resumes"));
  if (suspended) {
    verdict_.count("boxes suspended");
    const bool is_being_stopped = !box->ear;
    box->goes_later = !is_being_stopped && box->state == Box::State::working && box->awaited_line == 0;
    return box->next.cancel();
  }
  if (box->orphan_us != 0) verdict_.wrong("S-10", name_of(*box) + " resumes though another server has the run");
  if (std::exchange(box->begins_later, false)) return do_step(box);
  if (std::exchange(box->goes_later, false)) go(box);
}

void Fleet::release(model::ConversationId conversation, model::NodeId node) {
  for (auto& box : boxes_) {
    if (box->conversation == conversation && box->node == node && box->state == Box::State::kept) end(box);
  }
}

void Fleet::park(const Box& box, const BoxDispatcher& server) {
  parked_[{server.machine(), box.run}] = box.conversation;
  verdict_.count("workspaces parked");
}

void Fleet::forget_parked(const std::string& machine, model::RunId run) {
  if (parked_.erase({machine, run}) > 0) forgotten_.emplace(machine, run);
}

std::vector<dispatch::ParkedRun> Fleet::parked_at(const std::string& machine) const {
  std::vector<dispatch::ParkedRun> found;
  for (const auto& [shelf, conversation] : parked_) {
    if (shelf.first == machine) found.push_back({shelf.second, conversation});
  }
  return found;
}

// ── misfortune ──────────────────────────────────────────────────────────────────────────────────

void Fleet::lose_server(model::NodeId node) {
  interruptions_.on_gone(node);
  for (auto& box : boxes_) {
    if (box->node != node || !box->ear) continue;
    box->ear->listener = nullptr;
    const bool goes_on = habits_.survives_server && box->state != Box::State::kept;
    if (!goes_on) {
      end(box);
      box->ear.reset();
      continue;
    }
    box->patience = loop_.after({habits_.reattach_ms}, [this, box] {
      end(box);
      box->ear.reset();
    });
  }
}

bool Fleet::lose_one() {
  std::vector<std::shared_ptr<Box>> living;
  for (auto& box : boxes_) {
    if (box->state == Box::State::working) living.push_back(box);
  }
  if (living.empty()) return false;
  auto& box = chance_.pick(living);
  verdict_.note(name_of(*box) + " is lost");
  interruptions_.on_lost_sandbox(box->run);
  end(box);
  box->at = box->script.acts.size();
  add_line(box, {Act::Kind::vanish, 0, ""});
  return true;
}

// ── counting ────────────────────────────────────────────────────────────────────────────────────

int64_t Fleet::working_on(model::RunId run, model::NodeId node) const {
  return std::ranges::count_if(boxes_, [&](const auto& box) {
    return box->run == run && box->node == node &&
           (box->state == Box::State::working || box->state == Box::State::at_gate);
  });
}

std::vector<std::string> Fleet::left() const {
  std::vector<std::string> found;
  for (const auto& box : boxes_) {
    if (box->state != Box::State::gone) found.push_back(name_of(*box));
  }
  for (const auto& [shelf, conversation] : parked_) {
    found.push_back("the parked workspace of " + shelf.second.text() + " at " + shelf.first);
  }
  return found;
}

std::size_t Fleet::left_count() const { return left().size(); }

void Fleet::check_masters(int64_t fence_ms, const std::set<model::NodeId>& excused) {
  const auto now_us = loop_.monotonic_us();
  for (auto& box : boxes_) {
    if (box->orphan_us == 0 || box->state == Box::State::gone) continue;
    if (excused.contains(box->node) || box->is_suspended) box->orphan_us = now_us;
    if (now_us - box->orphan_us <= fence_ms * 1'000) continue;
    verdict_.wrong("S-10", name_of(*box) + " works on while another server has the run");
    box->orphan_us = 0;
  }
}

}  // namespace sluice::sim
