// The events that several parts of a run report: about tools, files, and lines for the trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dispatch/dispatch.h"
#include "model/event.h"
#include "models/models.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"

namespace sluice::runs {

// The outcome of a call of a tool, as the model is shown it.
struct ToolAnswer {
  std::string text;
  bool failed = false;
};

// Long arguments are shortened, because a file that is written need not be reported twice.
model::events::Step step_running(std::string_view id, const models::ToolCall& call);
model::events::Step step_ended(std::string_view id, std::string_view name, const ToolAnswer& answer,
                               int64_t duration_ms);
model::events::Output printed(std::string_view id, sandbox::Stream stream, std::string_view text);
model::events::Log log_line(std::string_view level, std::string_view text);  // valid UTF-8
model::events::File file_event(const workspace::FileNews& news, Timestamp at);
model::events::Custom custom_event(std::string_view name, std::string_view value);  // `value`: JSON
model::events::Custom assets_event(const std::vector<dispatch::KeptAsset>& files);  // returned and kept
model::events::Diff diff_event(std::string_view diff);
// What the run alone changed, where the diff of the whole workspace has more or less in it.
model::events::Custom run_diff_event(std::string_view diff);
model::events::Custom overflow_event();
// So many changes of files were not reported one by one.
model::events::Custom more_files_event(int64_t count);

}  // namespace sluice::runs
