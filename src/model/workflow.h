// Workflows: what is kept of one, and what became of running it. Values only; what a definition must look like is the
// business of the room flow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/records.h"

namespace sluice::model {

struct Workflow {
  WorkflowId id;
  TenantId tenant_id;
  std::string name;
  std::string description;
  std::string definition = "{}";  // JSON, checked
  Timestamp created_at;
  Timestamp updated_at;
};

enum class WorkflowRunStatus : uint8_t { running, succeeded, failed, cancelled };
enum class BlockStatus : uint8_t { pending, running, succeeded, failed, skipped };

// Why a block, and with it the run, did not succeed.
struct WorkflowError {
  std::string code;  // a problem's slug, or one of docs/workflows.md
  std::string message;
  bool operator==(const WorkflowError&) const = default;
};

struct BlockState {
  std::string id;
  BlockStatus status = BlockStatus::pending;
  std::optional<RunId> run_id;  // of an agents or inference block that was begun
  bool operator==(const BlockState&) const = default;
};

struct WorkflowRun {
  WorkflowRunId id;
  TenantId tenant_id;
  WorkflowId workflow_id;
  std::string definition = "{}";  // its own copy, as it was; not shown
  std::string inputs = "{}";      // JSON object
  WorkflowRunStatus status = WorkflowRunStatus::running;
  std::string outputs = "{}";  // JSON object
  std::optional<WorkflowError> error;
  std::vector<BlockState> blocks;  // in the definition's order
  Position head;                   // of its last event
  Timestamp created_at;
  std::optional<Timestamp> ended_at;
  NodeId node;  // the server that carries it; all zero where there is only one
};

// ── its journal ──
struct BlockOutputs {
  std::optional<std::string> response;
  std::optional<std::string> files;  // JSON array of the files that its run handed back
  std::optional<std::string> json;   // the response, where that is JSON
  std::optional<int64_t> status;     // of an HTTP answer
  bool operator==(const BlockOutputs&) const = default;
};

struct WorkflowStarted {
  std::string run;  // JSON: the run as it was then
};
struct BlockStarted {
  std::string block;
  std::string kind;             // "agents", "inference", "http", "condition"
  std::optional<RunId> run_id;  // that it will have: named before it is begun, so that it is begun once
};
struct BlockFinished {
  std::string block;
  BlockStatus status = BlockStatus::succeeded;
  BlockOutputs outputs;
  std::optional<WorkflowError> error;
};
struct WorkflowFinished {
  WorkflowRunStatus status = WorkflowRunStatus::succeeded;
  std::string outputs = "{}";
  std::optional<WorkflowError> error;
};
struct WorkflowEvent {
  Timestamp at;
  std::variant<WorkflowStarted, BlockStarted, BlockFinished, WorkflowFinished> what;
};

std::string_view name_of(WorkflowRunStatus status);
std::string_view name_of(BlockStatus status);
std::optional<WorkflowRunStatus> workflow_run_status_named(std::string_view name);
std::optional<BlockStatus> block_status_named(std::string_view name);

void append_json(std::string& out, const Workflow& workflow);
void append_json(std::string& out, const WorkflowRun& run);  // without its definition

// The line that tells it, without its number: kept as it is told.
std::string to_body(const WorkflowEvent& event);
Result<WorkflowEvent> workflow_event_from_body(std::string_view body);
// That line with its number and its end.
void append_numbered(std::string& out, int64_t seq, std::string_view body);

std::string to_text(const std::vector<BlockState>& blocks);
std::vector<BlockState> blocks_from_text(std::string_view text);
std::string to_text(const WorkflowError& error);
std::optional<WorkflowError> workflow_error_from_text(std::string_view text);

}  // namespace sluice::model
