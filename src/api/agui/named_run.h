// Finds the runs and agents that an AG-UI client names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/request/fields.h"
#include "api/request/request_context.h"
#include "journal/journal.h"
#include "wire/wire.h"

namespace sluice::api::agui {

// The last frame of a run that a client has; -1: none.
struct Seen {
  bool is_named = false;  // by Last-Event-ID, or `offset`
  int64_t after = -1;
};
// `id` is "<runId>-<n>", or "-1". An id of another run, or an invalid one, is refused under `name`.
Seen read_seen(std::string_view id, std::string_view run_id, std::string_view name, Findings& findings);

// Calls `then` with the run, or answers 404. An empty thread matches any thread.
void with_named_run(const RequestPtr& request, std::string thread_id, std::string run_id,
                    Callback<void(const journal::AguiRun&)> then);

// Streams the run from the client's position.
void stream_named(const RequestPtr& request, const journal::AguiRun& named, wire::Format format, int64_t after);

// Calls `then` with the agent that the path names by id or name, if it names one. Answers 404 if the tenant has no such
// agent.
void with_agent_of_path(const RequestPtr& request, Callback<void(std::optional<model::AgentId>)> then);

}  // namespace sluice::api::agui
