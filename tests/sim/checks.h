// The judgement of a simulated story, from outside: what the disk has in the end, and what clients were told on the
// way, must fit together. It asks the store by its public door and folds journals by the public folds; it knows nothing
// of the engine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/verdict.h"

namespace sluice::sim {

class Checks final {
 public:
  struct Needs {
    Verdict& verdict;
    store::SimulatedDatabase& disk;
    const Clients& clients;
    const Interruptions& interruptions;
    const Fleet& fleet;
    const vault::Sealer& sealer;
    const std::vector<model::RunId>& accepted;  // all runs, in the order in which the disk had them
    const engine::EngineOptions& options;
    bool fair;  // one server, and nothing that would change whose turn it is
  };
  explicit Checks(Needs needs);

  void judge();

 private:
  struct Told {  // a run as the disk has it
    model::Run run;
    journal::CommittedBatch journal;
    std::string message;  // of the list, as JSON
    model::Message user_message;
    std::vector<model::Approval> approvals;
  };

  template <typename T, typename Ask>
  T have(Ask ask);
  void look();
  void look_at_tenant(model::TenantId tenant);
  // The bytes of one surface, from the whole journal.
  std::string fold(const Told& told, const wire::View& view) const;
  void wrong(const std::string& rule, const Told& told, const std::string& what);

  void check_journal(const Told& told);
  void check_stream(const Told& told);
  void check_end(const Told& told, const std::string& types, const std::string& deltas, const std::string& last);
  void check_interruption(const Told& told);
  void check_gates(const Told& told);
  void check_sendings();
  void check_readings();
  void check_awaitings();
  void check_decidings();
  void check_cancellings();
  void check_holds();
  void check_fairness();
  void check_sealing();
  void check_audit();
  void check_notices();
  void check_secrets();
  void check_kept_secret(const Told& told, const std::string& value);

  Needs needs_;
  world::FakeLoop loop_;
  store::SimulatedStore store_;
  std::map<model::RunId, Told> told_;
  std::map<model::ApprovalId, model::Approval> approvals_;
  std::map<std::string, int> contents_;  // how many messages of hosts say the same
};

template <typename T, typename Ask>
T Checks::have(Ask ask) {
  T found{};
  ask([&](Result<T> answer) {
    if (answer)
      found = std::move(answer).take();
    else
      needs_.verdict.wrong("readable", answer.error().what);
  });
  loop_.settle();
  return found;
}

}  // namespace sluice::sim
