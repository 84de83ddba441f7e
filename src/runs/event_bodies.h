// The bodies of events about tools and files (docs/formats/events.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dispatch/dispatch.h"
#include "models/models.h"
#include "sandbox/sandbox.h"
#include "workspace/workspace.h"

namespace sluice::runs {

// What a call of a tool came to, as the model is shown it.
struct ToolAnswer {
  std::string text;
  bool failed = false;
};

// Long arguments are shortened: a file that is written need not be reported twice.
std::string step_running(std::string_view id, const models::ToolCall& call);
std::string step_ended(std::string_view id, std::string_view name, const ToolAnswer& answer, int64_t duration_ms);
std::string printed_body(std::string_view id, sandbox::Stream stream, std::string_view text);
std::string log_body(std::string_view level, std::string_view text);  // valid UTF-8
std::string file_body(const workspace::FileNews& news, Timestamp at);
std::string custom_body(std::string_view name, std::string_view value);  // `value`: JSON
std::string assets_body(const std::vector<dispatch::KeptAsset>& files);  // what was handed back and kept
std::string diff_body(std::string_view diff);
// What the run alone changed, where the diff of the whole workspace has more or less in it.
std::string run_diff_body(std::string_view diff);
std::string overflow_body();
// So many changes of files were not reported one by one.
std::string more_files_body(int64_t count);

}  // namespace sluice::runs
