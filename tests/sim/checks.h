// The checks of a simulated scenario, from outside: what the disk has in the end and what clients received on the way
// must fit together. They use the store's public interface and the public folds of journals, and know nothing of the
// engine.
#pragma once

#include <map>
#include <set>
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
  struct StoredRun {  // a run as the disk has it
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
  static std::string fold(const StoredRun& stored, const wire::View& view);
  static std::string fold(const journal::CommittedBatch& journal, const model::Run& run, const wire::View& view);
  void wrong(const std::string& rule, const StoredRun& stored, const std::string& what);

  void check_journal(const StoredRun& stored);
  void check_stream(const StoredRun& stored);
  void check_end(const StoredRun& stored, const std::string& types, const std::string& deltas, const std::string& last);
  void check_interruption(const StoredRun& stored);
  void check_gates(const StoredRun& stored);
  void check_sendings();
  void check_readings();
  bool is_lost_flow(const StoredRun& stored, const Reading& reading, const std::string& all) const;
  void check_awaitings();
  void check_decidings();
  void check_cancellings();
  void check_holds();
  void check_fairness();
  void check_sealing();
  void check_audit();
  void check_notices();
  void check_secrets();
  void check_kept_secret(const StoredRun& stored, const std::string& value);
  void check_workflows();
  void check_workflow_run(const model::WorkflowRun& run, std::set<model::RunId>& named);
  void check_block_end(const model::WorkflowRun& run, const model::BlockFinished& end,
                       std::optional<model::RunId> block_run);
  void check_workflow_readings();

  Needs needs_;
  world::FakeLoop loop_;
  store::SimulatedStore store_;
  std::map<model::RunId, StoredRun> runs_;
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
