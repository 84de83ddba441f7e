// The faults that strike a scene: what happens to servers, their sessions, the database and its machine.
#include <algorithm>

#include "tests/sim/scene.h"

namespace sluice::sim {

// ── faults ─────────────────────────────────────────────────────────────────────────────────

void Scene::strike() {
  if (happens(weather_.lost_box) && fleet_->lose_one()) verdict_.count("faults: lost box");
  auto& slot = chance_.pick(slots_);
  if (slot.server && !slot.server->is_dead() && !slot.server->is_buried()) strike(slot);
}

void Scene::begin_trouble(const Server& server, const char* what) {
  verdict_.count("faults: " + std::string(what));
  verdict_.note(server.name() + ": " + what);
  interruptions_.on_trouble(server.node());
  calm_ = false;
}

void Scene::strike(Slot& slot) {
  auto& server = *slot.server;
  const auto begin = [&](const char* what) { begin_trouble(server, what); };
  const auto until = [&](int64_t ms, auto end) {
    slot.trouble = loop_.after({ms}, [life = slot.server, end] {
      if (!life->is_dead()) end(*life);
    });
  };
  if (happens(weather_.crash)) {
    begin("crash");
    return server.die();
  }
  strike_the_database();
  if (happens(weather_.power_cut)) {
    begin("power cut");
    power_is_lost_ = true;
    return server.die();
  }
  strike_a_write(slot);
  strike_a_session(slot);
  if (happens(weather_.clock)) {
    begin("clock jumps");
    server.loop().jump(chance_.between(-600'000, 600'000));
  }
  if (happens(weather_.drain) && server.is_ready()) {
    begin("drain");
    interruptions_.on_gone(server.node());
    server.drain({chance_.between(0, 3'000)}, [life = slot.server] { life->die(); });
  }
  if (happens(weather_.full_disk)) {
    begin("disk full");
    server.disk_full = true;
    server.disk_has_little = chance_.one_in(2);
    return until(chance_.between(50, 4'000), [](Server& life) { life.disk_full = false; });
  }
  if (happens(weather_.slow_link)) {
    begin("slow disk");
    server.link().be_slow(chance_.between(1, 900));
    return until(chance_.between(50, 4'000), [](Server& life) { life.link().be_slow(0); });
  }
  if (happens(weather_.cut)) {
    begin("cut off from the store");
    server.cut_off = true;
    return until(chance_.between(50, 6'000), [](Server& life) { life.cut_off = false; });
  }
  if (happens(weather_.stall)) {
    begin("stands still");
    server.loop().stall();
    return until(chance_.between(50, 8'000), [](Server& life) { life.loop().wake(); });
  }
}

void Scene::strike_a_write(Slot& slot) {
  if (happens(weather_.crash_at_write)) {
    begin_trouble(*slot.server, "crash at a write");
    slot.ordered = {chance_.between(1, 8), true, chance_.one_in(2)};
  }
  if (happens(weather_.unknown_write)) {
    begin_trouble(*slot.server, "answer of a write lost");
    slot.ordered = {chance_.between(1, 8), false, chance_.one_in(2)};
  }
  if (happens(weather_.late_write)) {
    begin_trouble(*slot.server, "write late");
    slot.ordered = {chance_.between(1, 8), chance_.one_in(2), false, false, true};
  }
  if (happens(weather_.collision)) {
    begin_trouble(*slot.server, "write refused");
    slot.ordered = {chance_.between(1, 8), false, false, true};
  }
  if (happens(weather_.overlap)) {
    begin_trouble(*slot.server, "transactions overlap");
    slot.ordered = {chance_.between(1, 8), false, false, false, false, true};
  }
}

void Scene::strike_a_session(Slot& slot) {
  const auto now_us = loop_.monotonic_us();
  const auto any = [&]() -> Session& {
    return slot.sessions[static_cast<std::size_t>(chance_.below(static_cast<int64_t>(slot.sessions.size())))];
  };
  if (happens(weather_.slow_session)) {
    begin_trouble(*slot.server, "session waits");
    any().waits_until_us = now_us + chance_.between(50, 4'000) * 1'000;
  }
  if (happens(weather_.late_answers)) {
    begin_trouble(*slot.server, "answers of a session late");
    auto& session = any();
    session.answer_ms_max = chance_.between(1, 400);
    session.answers_late_until_us = now_us + chance_.between(50, 4'000) * 1'000;
  }
}

// No beat depends on it, so it explains no interruption.
void Scene::strike_the_database() {
  if (!happens(weather_.database_clock)) return;
  verdict_.count("faults: clock of the database steps");
  calm_ = false;
  const auto ms = chance_.one_in(2) ? chance_.between(-600'000, 600'000) : chance_.between(-5'000, 5'000);
  verdict_.note("the clock of the database steps by " + std::to_string(ms) + " ms");
  disk_.step_clock(ms);
}

// Nothing is written for more than a minute, as when the last standby is lost, and everything can be read. It begins
// when a server has asked another one for something. The sessions continue one after the other.
void Scene::on_mail_posted() {
  const auto now_us = loop_.monotonic_us();
  if (quiet_ || slots_.size() == 1 || now_us < writes_hang_until_us_ || !happens(weather_.writes_hang)) return;
  verdict_.count("faults: writes hang");
  verdict_.note("writes hang");
  weather_.writes_hang = 0;  // once is enough, because it takes long
  calm_ = false;
  for (auto& slot : slots_) {
    if (slot.server) interruptions_.on_trouble(slot.server->node());
    for (const auto kind : {store::SessionKind::writer, store::SessionKind::nodes}) {
      auto& session = slot.sessions[static_cast<std::size_t>(kind)];
      session.waits_until_us = now_us + chance_.between(61'000, 64'000) * 1'000;
      writes_hang_until_us_ = std::max(writes_hang_until_us_, session.waits_until_us);
    }
  }
}

int64_t Scene::operation_delay_ms(model::NodeId of, store::SessionKind session) {
  const auto* slot = slot_of(of);
  if (slot == nullptr || slot->server->is_dead()) return 0;
  const auto left_us = slot->sessions[static_cast<std::size_t>(session)].waits_until_us - loop_.monotonic_us();
  return left_us <= 0 ? 0 : (left_us + 999) / 1'000;
}

int64_t Scene::answer_delay_ms(model::NodeId of, store::SessionKind session) {
  const auto* slot = slot_of(of);
  if (slot == nullptr || slot->server->is_dead()) return 0;
  const auto& its = slot->sessions[static_cast<std::size_t>(session)];
  return loop_.monotonic_us() < its.answers_late_until_us ? chance_.below(its.answer_ms_max + 1) : 0;
}

std::optional<store::Fault> Scene::on_write(model::NodeId by) {
  auto* server = server_of(by);
  if (server == nullptr) return std::nullopt;
  if (server->is_dead()) return store::Fault::before_write;
  auto& ordered = std::ranges::find(slots_, by, [](const Slot& slot) {
                    return slot.server ? slot.server->node() : model::NodeId{};
                  })->ordered;
  if (ordered.in > 0 && --ordered.in == 0) {
    const auto fault = ordered.is_late ? store::Fault::late
                       : ordered.after ? store::Fault::after_write
                                       : store::Fault::before_write;
    if (ordered.collides || ordered.overlaps) {
      verdict_.note(server->name() + ": refused, because another row was in the way");
      server->was_refused = true;
      return ordered.collides ? store::Fault::collides : store::Fault::overlaps;
    }
    verdict_.note(server->name() + (ordered.is_late ? ": written later, without an answer"
                                    : ordered.after ? ": written, without an answer"
                                                    : ": not written, without an answer"));
    server->wrote_late = server->wrote_late || ordered.is_late;
    if (ordered.dies) server->die();
    return fault;
  }
  // Where a little space is left, a group fails as a whole, and some of its members fit when each is tried alone.
  if (server->disk_full && !(server->disk_has_little && chance_.one_in(2))) return store::Fault::full;
  return std::nullopt;
}

bool Scene::reaches(model::NodeId node) {
  const auto* server = server_of(node);
  return server == nullptr || !server->cut_off;
}

bool Scene::refuses_list(model::NodeId to) {
  if (quiet_ || !weather_.refuses_lists || server_of(to) == nullptr || !chance_.one_in(3)) return false;
  verdict_.count("faults: refused list");
  return true;
}

bool Scene::refuses_read(model::NodeId to) {
  if (server_of(to) == nullptr || !happens(weather_.refused_read)) return false;
  verdict_.count("faults: refused read");
  return true;
}

int Scene::news_copies(model::NodeId to) {
  const auto* server = server_of(to);
  if (server == nullptr || server->cut_off) return 0;
  if (quiet_) return 1;
  if (weather_.loses_news && chance_.one_in(3)) {
    verdict_.count("faults: lost news");
    return 0;
  }
  if (weather_.doubles_news && chance_.one_in(3)) {
    verdict_.count("faults: doubled news");
    return 2;
  }
  return 1;
}

}  // namespace sluice::sim
