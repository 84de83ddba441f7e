// A whole house in one thread: a disk that can fail, a server that can die, the real engine, the
// real native runner and the offline model. Stories are told in it; how the world misbehaves is
// chosen outside the story.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "net/fake_client.h"
#include "runner/runner.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::stories {

enum class Way : uint8_t {
  as_written,
  server_dies_after_write,  // the n-th, before anybody hears of it
  server_dies_after_each_write,
  disk_silent_before_write,  // the n-th
  disk_silent_after_write,   // the n-th
  disk_full_at_write,        // the n-th and the two after it
  reader_is_slow,
  reader_leaves_after_each_line,
  clock_jumps,
};

std::string name_of(Way way);

// Ana, who reads one message's stream through a line that may break, and comes back for the rest.
class Ana final : public engine::Reader {
 public:
  void take(SharedBytes lines) override;
  bool full() const override { return is_full; }
  void end() override { done = true; }
  void lose(const Error&) override { cut = true; }

  int64_t last_seq() const;

  std::string text;  // every line she has, in order
  bool is_full = false;
  bool done = false;
  bool cut = true;  // she is not connected
};

class StoryWorld {
 public:
  StoryWorld(Way way, int nth);
  ~StoryWorld();

  // ── what Ana does ──
  void ana_sends(const std::string& content);
  void ana_reads_to_the_end();
  void ana_reads_lines(int count);
  void ana_leaves();
  void ana_reads_to_the_end_later();  // she comes back when all is said
  void ana_cancels();

  // What she has read, a short line an event: `start`, `delta "…"`, `end "…"`, `error slug`.
  std::string ana_has_read() const;

  // ── what must be true whatever happened ──
  // Empty, or what is wrong.
  std::string what_is_wrong();

  int writes() const { return disk_.write_count() - writes_before_; }

 private:
  void start_server();
  void stop_server();
  void connect();
  // Lets the world go on until `done`; dies, reconnects and stumbles on the way as this telling has it.
  void go_on_until(const std::function<bool()>& done);
  void misbehave();
  template <typename T>
  T ask(const std::function<void(store::Done<T>)>& question);

  Way way_;
  int nth_;
  int writes_before_ = 0;
  int last_writes_ = 0;
  int64_t steps_ = 0;

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  vault::Sealer sealer_{vault::parse_key_file(vault::fresh_key_line(entropy_)).take(), entropy_};
  world::FakeLog log_;
  world::Metrics metrics_;
  world::IdSource ids_{loop_, entropy_};
  store::SimulatedDatabase disk_;
  net::FakeClient client_{loop_};

  std::unique_ptr<store::SimulatedStore> store_;
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
  std::unique_ptr<engine::Engine> engine_;
  bool recovered_ = false;
  uint64_t life_ = 0;

  model::Tenant tenant_{.id = ids_.make<model::TenantId>(), .name = "Acme"};
  model::Agent agent_{.id = ids_.make<model::AgentId>(), .tenant_id = tenant_.id, .name = "default"};
  model::ConversationId conversation_ = ids_.make<model::ConversationId>();
  model::ServiceKeyId key_ = ids_.make<model::ServiceKeyId>();
  int sent_count_ = 0;
  bool wants_to_read_ = true;

  Ana ana_;
  std::optional<model::Run> run_;
  std::unique_ptr<engine::Reading> reading_;
};

// Tells the story as written, then in every other way, and once for each write that could go
// wrong. Whatever happens, Ana has read `expected`.
void tell(const std::function<void(StoryWorld&)>& story, const std::string& expected);

}  // namespace sluice::stories
