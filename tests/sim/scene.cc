#include "tests/sim/scene.h"

#include <algorithm>

#include "tests/sim/checks.h"

namespace sluice::sim {
namespace {

constexpr int64_t quiet_ms_max = 180'000;
constexpr int64_t attended_after_ms = 5'000;  // of quiet
constexpr int64_t asks_again_ms = 6'000;
constexpr int64_t fence_ms = 2'500;  // until whoever lost a run has let it go

std::vector<vault::MasterKey> master_keys() {
  return vault::parse_key_file("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s").take();
}

}  // namespace

Scene::Scene(const SceneOptions& options)
    : options_(options),
      chance_(options.seed * 2 + 1),
      verdict_(loop_, options.told),
      entropy_(options.seed ^ 0xc0ffee),
      ids_(loop_, entropy_),
      sealer_(master_keys(), entropy_) {
  furnish();
  make_tenants();
  disk_.be_watched(this);
  const bool alone = options_.servers_max == 1 || chance_.one_in(2);
  const auto count = static_cast<std::size_t>(alone ? 1 : chance_.between(2, options_.servers_max));
  slots_.resize(count);
  for (std::size_t slot = 0; slot < count; ++slot) start_server(slot);
  if (chance_.one_in(2)) tidy_up_later();
}

Scene::~Scene() {
  for (auto& slot : slots_) {
    if (!slot.server) continue;
    slot.server->die();
    graves_.push_back(slot.server);
  }
  for (const auto& server : graves_) {
    clients_->forget(*server);
    server->bury();
  }
}

// ── the world of a seed ─────────────────────────────────────────────────────────────────────────

void Scene::furnish() {
  const auto now_and_then = [&](int64_t percent, int64_t one_in) { return chance_.percent(percent) ? one_in : 0; };
  const bool fair_weather = chance_.one_in(5);
  if (!fair_weather) {
    weather_.crash = now_and_then(40, 25);
    weather_.crash_at_write = now_and_then(40, 15);
    weather_.drain = now_and_then(15, 40);
    weather_.unknown_write = now_and_then(30, 20);
    weather_.late_write = now_and_then(30, 20);
    weather_.full_disk = now_and_then(30, 20);
    weather_.slow_link = now_and_then(40, 15);
    weather_.cut = now_and_then(25, 25);
    weather_.stall = now_and_then(25, 25);
    weather_.clock = now_and_then(25, 20);
    weather_.lost_box = now_and_then(30, 15);
    weather_.collision = now_and_then(25, 15);
    weather_.refuses_lists = chance_.one_in(4);
    weather_.refused_read = now_and_then(25, 12);
    weather_.loses_news = chance_.one_in(4);
    weather_.doubles_news = chance_.one_in(4);
  }
  disk_.gather(chance_.one_in(2));
  FleetHabits habits;
  habits.survives_server = chance_.one_in(3);
  habits.resumable = chance_.one_in(2);
  habits.reattach_ms = chance_.between(1, 8) * 1'000;
  habits.stop_ms_max = chance_.one_in(2) ? 0 : chance_.between(1, 800);
  fleet_ = std::make_unique<Fleet>(loop_, verdict_, interruptions_, habits, Chance(chance_.next()));
  engine_options_.public_base_url = "http://sim";
  engine_options_.max_running = chance_.one_in(3) ? 1 : chance_.between(2, 6);
  engine_options_.max_sticky = chance_.between(0, 3);
  engine_options_.max_held = chance_.one_in(4) ? chance_.between(1, 4) : 100;
  engine_options_.max_hold_seconds = chance_.between(2, 30);
  engine_options_.approval_seconds = chance_.between(2, 30);
}

void Scene::make_tenants() {
  store::SimulatedStore store(disk_, loop_);
  std::vector<model::Tenant> tenants;
  const auto count = chance_.between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    model::Tenant tenant{.id = ids_.make<model::TenantId>(), .name = "tenant " + std::to_string(i)};
    tenant.limits.weight = chance_.between(1, 4);
    tenant.created_at = loop_.now();
    tenant.webhook_url = "https://hooks.sim/" + tenant.name;  // nothing is delivered, so all notices stay in the store
    const model::Agent agent{.id = ids_.make<model::AgentId>(), .name = "default"};
    store::create_tenant(store.database(), tenant, agent, [](Result<Unit>) {});
    tenants.push_back(tenant);
  }
  loop_.settle();
  clients_ = std::make_unique<Clients>(Clients::Needs{loop_, *fleet_, verdict_, ids_, sealer_}, Chance(chance_.next()),
                                       tenants);
}

void Scene::start_server(std::size_t number) {
  auto& slot = slots_[number];
  slot.ordered = {};
  slot.trouble.cancel();
  const auto name = std::string(1, static_cast<char>('A' + number)) + std::to_string(++slot.lives);
  slot.server = std::make_shared<Server>(Server::Needs{loop_, disk_, *fleet_, verdict_, sealer_}, name, chance_.next(),
                                         engine_options_);
  verdict_.count("server lives");
  slot.server->start();
}

Clients::Servers Scene::ready() const {
  Clients::Servers found;
  for (const auto& slot : slots_) {
    if (slot.server && slot.server->is_ready()) found.push_back(slot.server);
  }
  return found;
}

Server* Scene::server_of(model::NodeId node) {
  for (const auto& slot : slots_) {
    if (slot.server && slot.server->node() == node) return slot.server.get();
  }
  return nullptr;
}

// ── the story ───────────────────────────────────────────────────────────────────────────────────

const Verdict& Scene::play() {
  pass_time(10);
  const auto steps = chance_.between(10, options_.steps_max);
  for (int64_t i = 0; i < steps && verdict_.wrongs.empty(); ++i) step();
  begin_quiet();
  for (int64_t passed = 0; !is_quiet() && passed < quiet_ms_max && verdict_.wrongs.empty(); passed += 500) {
    pass_time(500);
    clients_->stir(ready(), true);
    if (passed + 500 == attended_after_ms) check_attended();
  }
  if (verdict_.wrongs.empty()) probe();
  check_looks();
  if (verdict_.wrongs.empty()) {
    Checks checks({verdict_, disk_, *clients_, interruptions_, *fleet_, sealer_, accepted_, engine_options_,
                   calm_ && slots_.size() == 1});
    checks.judge();
  }
  return verdict_;
}

void Scene::step() {
  misfortune();
  if (chance_.one_in(3)) disk_.land();
  act();
  clients_->stir(ready(), false);
  pass_time(chance_.one_in(3) ? chance_.below(5) : chance_.between(1, 400));
  std::set<model::NodeId> excused;
  for (const auto& slot : slots_) {
    if (!slot.server) continue;
    // Cut off, and without others as far as it has heard, it works on until it hears of one.
    const bool is_lone = slot.server->cut_off && slot.server->is_ready() && slot.server->engine().nodes().size() == 1;
    if (slot.server->loop().is_stalled() || is_lone) excused.insert(slot.server->node());
  }
  // A box that outlives its server gives up by itself.
  const auto& habits = fleet_->habits();
  fleet_->check_masters(fence_ms + (habits.survives_server ? habits.reattach_ms : 0), excused);
}

void Scene::act() {
  auto at = ready();
  if (at.empty()) return;
  const auto dice = chance_.below(100);
  if (dice < 10) return clients_->open_conversation(*chance_.pick(at));
  if (dice < 50) return clients_->send(at);
  if (dice < 70) return clients_->read(at);
  if (dice < 75) return clients_->wait(at);
  if (dice < 92) return clients_->decide(at);
  if (dice < 98) return clients_->cancel(at);
  clients_->archive(at);
}

void Scene::pass_time(int64_t ms) {
  bury_dead();
  loop_.advance({ms});
  bury_dead();
}

// Whoever died does so for good, and is started again after a while as somebody else.
void Scene::bury_dead() {
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    auto& slot = slots_[number];
    if (!slot.server || !slot.server->is_dead()) continue;
    clients_->forget(*slot.server);
    slot.server->bury();
    graves_.push_back(std::move(slot.server));
    slot.server = nullptr;
    const auto wait = quiet_ ? 1 : chance_.one_in(2) ? chance_.between(1, 50) : chance_.between(50, 4'000);
    slot.again = loop_.after({wait}, [this, number] { start_server(number); });
  }
}

// As each server does now and then, beside whatever else it writes.
void Scene::tidy_up_later() {
  tidying_ = loop_.after({chance_.between(200, 2'000)}, [this] {
    auto at = ready();
    if (!at.empty()) {
      chance_.pick(at)->store().tidy_up(loop_.now(), [this](const Result<int>& sealed) {
        if (sealed) verdict_.count("journals sealed beside work", sealed.value());
      });
    }
    tidy_up_later();
  });
}

// ── misfortunes ─────────────────────────────────────────────────────────────────────────────────

void Scene::misfortune() {
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
  strike_a_write(slot);
  if (happens(weather_.clock)) {
    begin("clock jumps");
    server.loop().jump(chance_.between(-600'000, 600'000));
  }
  if (happens(weather_.drain) && server.is_ready()) {
    begin("drain");
    server.draining = true;
    interruptions_.on_gone(server.node());
    server.engine().drain({chance_.between(0, 3'000)}, [life = slot.server] { life->die(); });
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
    if (ordered.collides) {
      verdict_.note(server->name() + ": refused, because another row was in the way");
      server->was_refused = true;
      return store::Fault::collides;
    }
    verdict_.note(server->name() + (ordered.is_late ? ": written later, and not told"
                                    : ordered.after ? ": written, but not told"
                                                    : ": not written, and not told"));
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

// ── what the disk sees ──────────────────────────────────────────────────────────────────────────

void Scene::on_moved(model::NodeId by, const model::Run& run) {
  auto& before = runs_[run.id];
  if (before.id == model::RunId{}) accepted_.push_back(run.id);
  const auto who = [&](model::NodeId node) {
    const auto* server = server_of(node);
    return server == nullptr ? node.text() : server->name();
  };
  if (before.id == model::RunId{} || before.state != run.state || before.epoch != run.epoch) {
    verdict_.note(who(by) + " has " + run.id.text() + " " + std::string(model::name_of(run.state)) + ", epoch " +
                  std::to_string(run.epoch.value) + ", head " + std::to_string(run.head.value));
  }
  if (before.id != model::RunId{} && model::is_over(before.state)) {
    verdict_.wrong("I-7", run.id.text() + " is written after its end");
  }
  const auto [writer, fresh] = writers_.emplace(std::pair(run.id, run.epoch.value), by);
  if (!fresh && writer->second != by) {
    verdict_.wrong("single writer",
                   run.id.text() + " is written by two servers in epoch " + std::to_string(run.epoch.value));
  }
  if (run.head < before.head || run.epoch < before.epoch) {
    verdict_.wrong("single writer", run.id.text() + " goes back");
  }
  const auto flight = flights_.find(run.conversation_id);
  if (flight != flights_.end() && flight->second != run.id) {
    verdict_.wrong("A-3", run.conversation_id.text() + " has two runs in flight");
  }
  const bool begins = run.state == model::RunState::streaming && before.state != run.state;
  interruptions_.on_moved(by, run, begins, loop_.monotonic_us());
  if (model::is_over(run.state))
    flights_.erase(run.conversation_id);
  else
    flights_[run.conversation_id] = run.id;
  before = run;
}

// Every run that is not over is live at the server that its row names, without any help of the periodic look.
void Scene::check_attended() {
  const bool was_refused =
      std::ranges::any_of(slots_, [](const auto& slot) { return slot.server && slot.server->was_refused; });
  for (const auto& [id, run] : runs_) {
    if (model::is_over(run.state)) continue;
    auto* server = server_of(run.node);
    const bool is_explained = server != nullptr && (server->wrote_late || server->was_refused);
    if (is_explained || (server != nullptr && server->is_ready() && server->engine().attends(id))) continue;
    // Who could not take it over believes that another has, and looks again after half a minute.
    if (server == nullptr && was_refused) continue;
    verdict_.wrong("attended",
                   id.text() + " is " + std::string(model::name_of(run.state)) + ", and " +
                       (server == nullptr ? "no server has it" : server->name() + " does not attend to it"));
  }
}

// The periodic look had nothing to do, except after writes whose outcome a server took for another.
void Scene::check_looks() {
  auto lives = graves_;
  for (const auto& slot : slots_) lives.push_back(slot.server);
  for (const auto& server : lives) {
    if (server == nullptr || server->unattended_found() == 0) continue;
    verdict_.count("runs unattended, explained");
    if (server->wrote_late || server->was_refused) continue;
    verdict_.wrong("attended", server->name() + " found runs by its periodic look, and no fault explains it");
  }
}

// ── the quiet after it ──────────────────────────────────────────────────────────────────────────

void Scene::begin_quiet() {
  verdict_.note("quiet");
  quiet_ = true;
  weather_ = {};
  disk_.land();
  for (std::size_t number = 0; number < slots_.size(); ++number) {
    auto& slot = slots_[number];
    slot.ordered = {};
    slot.trouble.cancel();
    if (!slot.server) {
      slot.again.cancel();
      start_server(number);
      continue;
    }
    slot.server->disk_full = false;
    slot.server->cut_off = false;
    slot.server->link().be_slow(0);
    if (slot.server->loop().is_stalled()) slot.server->loop().wake();
  }
}

bool Scene::is_quiet() const {
  const bool all_over = std::ranges::all_of(runs_, [](const auto& run) { return model::is_over(run.second.state); });
  const bool all_up =
      std::ranges::all_of(slots_, [](const auto& slot) { return slot.server && slot.server->is_ready(); });
  return all_over && all_up && fleet_->left_count() == 0 && clients_->unanswered() == 0;
}

void Scene::probe() {
  for (const auto& [id, run] : runs_) {
    if (!model::is_over(run.state)) {
      verdict_.wrong("I-8", id.text() + " does not come to an end: " + std::string(model::name_of(run.state)));
    }
  }
  for (const auto& left : fleet_->left()) verdict_.wrong("S-10", "left after everything: " + left);
  const auto at = ready();
  if (at.size() != slots_.size()) verdict_.wrong("ready", "a server does not get ready");
  if (!verdict_.wrongs.empty()) return;
  // Every conversation can be used, and everything can be read at every server.
  for (const auto& conversation : clients_->conversations()) clients_->send_in(at, conversation, true, true);
  for (int64_t passed = 0; passed < quiet_ms_max && (passed < 500 || !is_quiet()); passed += 500) {
    pass_time(500);
    clients_->stir(ready(), true);
  }
  const auto known = clients_->testimony().known;
  for (const auto& run : known) {
    for (const auto& server : at) clients_->read_one(server, run, {.format = wire::Format::ndjson});
  }
  for (int i = 0; i < 40; ++i) {
    pass_time(5);
    clients_->stir(ready(), true);
  }
  if (!is_quiet()) return verdict_.wrong("stuck", "the last messages do not come to an end");
  const auto is_free = [](const auto& server) {
    const auto figures = server->engine().nodes().front().figures;
    return figures.free_slots + figures.sticky == figures.slots;
  };
  // A server that could not reach the store asks it again within some seconds, and hears then whose its runs are.
  for (int64_t passed = 0; passed < asks_again_ms && !std::ranges::all_of(at, is_free); passed += 500) pass_time(500);
  for (const auto& server : at) {
    const auto figures = server->engine().nodes().front().figures;
    if (is_free(server)) continue;
    verdict_.wrong("I-12", server->name() + " has " + std::to_string(figures.free_slots) + " of " +
                               std::to_string(figures.slots) + " slots free when nothing is at work");
  }
}

}  // namespace sluice::sim
