// What workflow runs must be in the end: each has ended once, its blocks followed one another as the definition says,
// and none was executed twice.
#include <algorithm>

#include "base/json.h"
#include "tests/sim/checks.h"

namespace sluice::sim {
namespace {

// Folds the events of one workflow run, and names the first rule that they break.
class BlockOrder final {
 public:
  explicit BlockOrder(const std::string& definition) {
    const auto document = json::Document::parse(definition);
    document.value().root().find("edges")->each_element([&](json::Value edge) {
      const auto from = std::string(*edge.find("from")->string());
      before_[std::string(*edge.find("to")->string())].push_back(from);
    });
  }

  void take(const model::WorkflowStarted&) {
    if (count_++ > 0) wrong("begins twice");
  }
  void take(const model::BlockStarted& start) {
    ++count_;
    if (!open_.empty()) wrong("begins " + start.block + " while " + open_ + " is at work");
    if (!begun_.insert(start.block).second) wrong("begins " + start.block + " twice");
    check_before(start.block);
    open_ = start.block;
    run_ = start.run_id;
  }
  void take(const model::BlockFinished& end) {
    ++count_;
    const bool is_skipped = end.status == model::BlockStatus::skipped;
    if (is_skipped == (open_ == end.block)) wrong("ends " + end.block + ", which is not at work");
    if (!ended_.insert(end.block).second) wrong("ends " + end.block + " twice");
    if (is_skipped) return check_before(end.block);
    open_.clear();
    if (end.status == model::BlockStatus::failed) failed_ = end.block;
  }
  void take(const model::WorkflowFinished& end) {
    ++count_;
    if (end_) wrong("ends twice");
    end_ = end.status;
    if (!open_.empty()) wrong("ends while " + open_ + " is at work");
    if (!failed_.empty() && end.status == model::WorkflowRunStatus::succeeded) wrong("succeeds though a block failed");
  }

  // The block that was at work last, and its run.
  std::optional<model::RunId> run() const { return run_; }
  bool is_over() const { return end_.has_value(); }
  std::optional<model::WorkflowRunStatus> end() const { return end_; }
  const std::string& what_is_wrong() const { return wrong_; }
  std::size_t ended_count() const { return ended_.size(); }

 private:
  void wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  void check_before(const std::string& block) {
    for (const auto& from : before_[block]) {
      if (!ended_.contains(from)) wrong("takes " + block + " before " + from + " has ended");
    }
    if (!failed_.empty()) wrong("takes " + block + " after " + failed_ + " failed");
  }

  std::map<std::string, std::vector<std::string>> before_;
  int64_t count_ = 0;
  std::string open_;
  std::string failed_;
  std::optional<model::RunId> run_;
  std::set<std::string> begun_;
  std::set<std::string> ended_;
  std::optional<model::WorkflowRunStatus> end_;
  std::string wrong_;
};

}  // namespace

void Checks::check_workflows() {
  std::set<model::RunId> named;  // runs of blocks, as the journals of workflow runs name them
  for (const auto& workflow : needs_.clients.workflows()) {
    const auto runs = have<store::Page<model::WorkflowRun>>([&](auto done) {
      store::workflow_runs(store_.database(), workflow.tenant_id, workflow.id, {.limit = 1'000}, std::move(done));
    });
    needs_.verdict.count("workflow runs", static_cast<int64_t>(runs.rows.size()));
    for (const auto& run : runs.rows) check_workflow_run(run, named);
  }
  for (const auto& start : needs_.clients.testimony().workflow_starts) {
    if (!start->run) continue;
    const auto found = have<model::WorkflowRun>(
        [&](auto done) { store::workflow_run(store_.database(), start->tenant, start->run->id, std::move(done)); });
    if (start->is_cancelled && found.status != model::WorkflowRunStatus::cancelled) {
      needs_.verdict.wrong("workflows", start->run->id.text() + " was reported as cancelled, and is not");
    }
  }
  std::set<std::string> sent;
  for (const auto& sending : needs_.clients.testimony().sendings) sent.insert(sending->content);
  for (const auto& [id, stored] : runs_) {
    if (!named.contains(id) && !sent.contains(stored.user_message.content)) {
      wrong("workflows", stored, "belongs to no message and to no block");
    }
  }
  check_workflow_readings();
}

void Checks::check_workflow_run(const model::WorkflowRun& run, std::set<model::RunId>& named) {
  const auto fail = [&](const std::string& what) { needs_.verdict.wrong("workflows", run.id.text() + " " + what); };
  needs_.verdict.count("workflow runs " + std::string(model::name_of(run.status)));
  const auto page = have<store::WorkflowJournalPage>(
      [&](auto done) { store::workflow_journal(store_.database(), run.id, {}, std::move(done)); });
  if (page.bodies.size() != run.head.value) fail("has a head that is not its journal's");
  BlockOrder order(run.definition);
  for (const auto& body : page.bodies) {
    const auto event = model::workflow_event_from_body(body);
    if (!event) return fail("has an event that cannot be read");
    if (order.is_over()) fail("continues after its end");
    if (const auto* start = std::get_if<model::BlockStarted>(&event.value().what); start != nullptr && start->run_id) {
      if (!named.insert(*start->run_id).second) fail("has a run that another block has");
    }
    std::visit([&](const auto& what) { order.take(what); }, event.value().what);
    if (const auto* end = std::get_if<model::BlockFinished>(&event.value().what);
        end != nullptr && end->status != model::BlockStatus::skipped) {
      needs_.verdict.count("workflow blocks");
      check_block_end(run, *end, order.run());
    }
  }
  if (!order.what_is_wrong().empty()) fail(order.what_is_wrong());
  if (order.end() != run.status) fail("ends otherwise than its record says");
  if (run.status == model::WorkflowRunStatus::succeeded && order.ended_count() != run.blocks.size()) {
    fail("succeeded, and not all of its blocks have ended");
  }
}

// The block's run ended as the block did, and its words are the block's response.
void Checks::check_block_end(const model::WorkflowRun& run, const model::BlockFinished& end,
                             std::optional<model::RunId> block_run) {
  if (!block_run) return;
  const auto found = runs_.find(*block_run);
  if (found == runs_.end()) {
    if (end.status == model::BlockStatus::succeeded) {
      needs_.verdict.wrong("workflows", run.id.text() + " has a block that succeeded without its run");
    }
    return;
  }
  const auto& stored = found->second;
  const bool is_completed = stored.run.state == model::RunState::completed;
  if (is_completed != (end.status == model::BlockStatus::succeeded)) {
    wrong("workflows", stored, "ended otherwise than its block " + end.block + " of " + run.id.text());
  }
  if (is_completed && end.outputs.response != script_of(stored.user_message.content).whole_text()) {
    wrong("workflows", stored, "has other words than its block " + end.block + " of " + run.id.text());
  }
}

// All readers received the same lines, whenever and wherever they read.
void Checks::check_workflow_readings() {
  std::map<model::WorkflowRunId, std::string> whole;
  const auto& readings = needs_.clients.testimony().workflow_readings;
  for (const auto& reading : readings) {
    if (reading->ended && whole[reading->run].empty()) whole[reading->run] = reading->text;
  }
  for (const auto& reading : readings) {
    const auto& all = whole[reading->run];
    const bool is_part = reading->ended ? all == reading->text : all.starts_with(reading->text);
    if (is_part) continue;
    needs_.verdict.wrong("workflows", reading->run.text() + " was read otherwise at " + reading->server->name());
  }
}

}  // namespace sluice::sim
