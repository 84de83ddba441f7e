// Everybody outside: hosts that send messages, people who read, decide, cancel and archive. They know what they were
// told and nothing else, and they come back when a server dies on them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/server.h"

namespace sluice::sim {

// A message on its way: once, or again and again under its key until an answer comes.
struct Sending {
  int64_t number = 0;
  model::TenantId tenant;
  model::ConversationId conversation;
  std::optional<model::Conversation> made;  // with the message (I-2)
  std::string content;
  std::string key;     // empty: none
  std::string secret;  // its value, which comes with the message; empty: none
  bool hold = false;
  bool is_probe = false;       // nothing else is going on any more: the conversation must be free
  bool after_archive = false;  // the conversation was archived, and this was known, before it was first asked for
  std::vector<std::shared_ptr<Server>> asked;  // and not answered yet
  std::set<model::RunId> runs;                 // that it was told of
  bool is_done = false;
  int tries = 0;
};

// One connection of one reader.
class Reading final : public engine::Reader {
 public:
  Reading(std::shared_ptr<Server> at, model::Run of, wire::View seen) : server(std::move(at)), run(of), view(seen) {}
  void take(SharedBytes lines) override {
    if (server->is_dead()) return;
    text += *lines;
    if (slow) is_full = true;
  }
  bool full() const override { return is_full; }
  void end() override { ended = ended || !server->is_dead(); }
  void lose(const Error&) override { lost = true; }
  bool is_over() const { return ended || lost || server->is_dead(); }
  // What to come back with.
  int64_t last_seq() const;

  std::shared_ptr<Server> server;
  model::Run run;
  wire::View view;
  std::string text;
  bool slow = false;
  bool is_full = false;
  bool ended = false;
  bool lost = false;
  bool is_closed = false;  // the reader has left, come back or seen the end
  std::unique_ptr<engine::Reading> place;
};

// Waits for an end without reading: a request with stream=false.
struct Awaiting {
  std::shared_ptr<Server> server;
  model::Run run;
  std::optional<wire::Ending> ending;
  bool failed = false;
  std::unique_ptr<engine::Waiting> place;
};

struct Deciding {
  std::shared_ptr<Server> server;
  model::Approval approval;
  bool approve = false;
  std::string by;
  std::optional<model::ApprovalStatus> told;  // by a success
  bool refused = false;
};

struct Cancelling {
  std::shared_ptr<Server> server;
  model::Run run;
  bool told_cancelled = false;
  bool told_finished = false;
};

struct Archiving {
  model::ConversationId conversation;
  bool told = false;
};

// The facts that everybody outside has gathered.
struct Testimony {
  std::vector<std::shared_ptr<Sending>> sendings;
  std::vector<std::shared_ptr<Reading>> readings;
  std::vector<std::shared_ptr<Awaiting>> awaitings;
  std::vector<std::shared_ptr<Deciding>> decidings;
  std::vector<std::shared_ptr<Cancelling>> cancellings;
  std::vector<std::shared_ptr<Archiving>> archivings;
  std::vector<model::Run> known;  // runs that somebody was told of
};

class Clients final {
 public:
  struct Needs {
    world::FakeLoop& loop;
    Fleet& fleet;
    Verdict& verdict;
    world::IdSource& ids;
    vault::Sealer& sealer;
  };
  Clients(Needs needs, Chance chance, std::vector<model::Tenant> tenants);

  using Servers = std::vector<std::shared_ptr<Server>>;
  // Each does something at a server that is ready.
  void open_conversation(Server& server);
  void send(const Servers& ready);
  void send_in(const Servers& ready, model::ConversationId conversation, bool hold, bool is_probe = false);
  void read(const Servers& ready);
  void read_one(const std::shared_ptr<Server>& server, const model::Run& run, wire::View view);
  void wait(const Servers& ready);
  void decide(const Servers& ready);
  void cancel(const Servers& ready);
  void archive(const Servers& ready);
  // What they do by themselves as time passes: ask again, come back, read on, leave.
  void stir(const Servers& ready, bool impatient);
  // The server is about to be dropped: nobody may hold a place in it.
  void forget(const Server& server);

  const Testimony& testimony() const { return testimony_; }
  std::vector<model::ConversationId> conversations() const;
  bool is_archived(model::ConversationId conversation) const;
  std::size_t unanswered() const;
  const std::vector<model::Tenant>& tenants() const { return tenants_; }

 private:
  void ask(const std::shared_ptr<Sending>& sending, const std::shared_ptr<Server>& server);
  void on_sent(Sending& sending, const std::shared_ptr<Server>& server, const engine::SendOutcome& outcome);
  void learn(const model::Run& run);
  void decide_one(const std::shared_ptr<Server>& server, const model::Approval& approval, bool approve);
  const model::Tenant& tenant_of(model::TenantId id) const;

  struct Known {
    model::ConversationId id;
    model::TenantId tenant;
  };
  Needs needs_;
  Chance chance_;
  std::vector<model::Tenant> tenants_;
  std::vector<Known> conversations_;
  std::vector<model::Approval> approvals_;
  Testimony testimony_;
  int64_t numbers_ = 0;
};

}  // namespace sluice::sim
