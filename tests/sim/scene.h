// One simulated story: a world made from a seed, the misfortunes in it, the quiet after them, and the judgement.
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/fleet.h"
#include "tests/sim/interruptions.h"
#include "tests/sim/server.h"
#include "tests/sim/verdict.h"

namespace sluice::sim {

struct SceneOptions {
  uint64_t seed = 0;
  int servers_max = 1;  // half the stories have one, if there may be more
  bool told = false;    // the story, as it happens
  int steps_max = 60;
};

// Which misfortunes a seed has, each as one chance in so many steps; 0: never.
struct Weather {
  int64_t crash = 0;
  int64_t crash_at_write = 0;
  int64_t drain = 0;
  int64_t unknown_write = 0;
  int64_t late_write = 0;
  int64_t full_disk = 0;
  int64_t slow_link = 0;
  int64_t cut = 0;
  int64_t stall = 0;
  int64_t clock = 0;
  int64_t lost_box = 0;
  int64_t collision = 0;
  bool refuses_lists = false;
  int64_t refused_read = 0;  // of reads, not of steps
  bool loses_news = false;
  bool doubles_news = false;
};

class Scene final : private store::DatabaseWatch {
 public:
  explicit Scene(const SceneOptions& options);
  ~Scene() override;

  // What was wrong, if anything.
  const Verdict& play();

 private:
  std::optional<store::Fault> on_write(model::NodeId by) override;
  bool reaches(model::NodeId node) override;
  bool refuses_list(model::NodeId to) override;
  bool refuses_read(model::NodeId to) override;
  int news_copies(model::NodeId to) override;
  void on_moved(model::NodeId by, const model::Run& run) override;
  void on_beat(model::NodeId by) override { interruptions_.on_beat(by, loop_.monotonic_us()); }

  void furnish();
  void make_tenants();
  void start_server(std::size_t slot);
  void step();
  void act();
  void tidy_up_later();
  void misfortune();
  void trouble(Server& server, int64_t kind);
  void pass_time(int64_t ms);
  void bury_dead();
  void begin_quiet();
  bool is_quiet() const;
  void check_attended();
  void check_looks();
  void probe();
  Clients::Servers ready() const;
  Server* server_of(model::NodeId node);
  bool happens(int64_t one_in) { return one_in > 0 && chance_.one_in(one_in); }

  struct Ordered {  // a write at which its server dies, or hears nothing
    int64_t in = 0;
    bool dies = false;
    bool after = false;
    bool collides = false;  // instead: it is refused, because another row is in its way
    bool is_late = false;   // instead: it is written later than it gives up
  };
  struct Slot {
    std::shared_ptr<Server> server;
    world::Timer trouble;  // its end
    world::Timer again;    // until it is started again
    Ordered ordered;
    int lives = 0;
  };
  void begin_trouble(const Server& server, const char* what);
  void strike(Slot& slot);
  void strike_a_write(Slot& slot);

  SceneOptions options_;
  Chance chance_;
  world::FakeLoop loop_;
  Verdict verdict_;
  ChanceEntropy entropy_;
  world::IdSource ids_;
  vault::Sealer sealer_;
  store::SimulatedDatabase disk_;
  Weather weather_;
  engine::EngineOptions engine_options_;
  Interruptions interruptions_{engine_options_.dead_ms};
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<Clients> clients_;
  std::vector<Slot> slots_;
  std::vector<std::shared_ptr<Server>> graves_;
  world::Timer tidying_;
  bool quiet_ = false;
  bool calm_ = true;  // no misfortune has happened that changes who waits for what

  // Seen at the disk.
  std::map<model::RunId, model::Run> runs_;
  std::vector<model::RunId> accepted_;  // in the order in which they were written
  std::map<model::ConversationId, model::RunId> flights_;
  std::map<std::pair<model::RunId, uint64_t>, model::NodeId> writers_;  // of each epoch
};

}  // namespace sluice::sim
