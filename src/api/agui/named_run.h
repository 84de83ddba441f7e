// From an AG-UI client's names to what they stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/request/fields.h"
#include "api/request/request_context.h"
#include "store/store.h"
#include "wire/wire.h"

namespace sluice::api::agui {

// What a client has seen of a run: -1 for nothing yet.
struct Seen {
  bool is_named = false;  // by Last-Event-ID, or `offset`
  int64_t after = -1;
};
// `id` is "<runId>-<n>", or "-1". Refused, under `name`, when it is another run's or no such thing.
Seen read_seen(std::string_view id, std::string_view run_id, std::string_view name, Findings& findings);

// Calls `then` with the run, or answers. An empty thread stands for any.
void with_named_run(const RequestPtr& request, std::string thread_id, std::string run_id,
                    Callback<void(const store::AguiRun&)> then);

// Streams it, from where the client is.
void stream_named(const RequestPtr& request, const store::AguiRun& named, wire::Format format, int64_t after);

// The agent that the path names by its id or its name, if it names one; answers when the tenant has no such agent.
void with_agent_of_path(const RequestPtr& request, Callback<void(std::optional<model::AgentId>)> then);

}  // namespace sluice::api::agui
