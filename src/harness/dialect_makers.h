// The dialects, one of which dialects.cc picks for an agent type.
#pragma once

#include <memory>

#include "harness/harness.h"

namespace sluice::harness {

Result<Launch> plan_claude(const Assignment& assignment);
Result<Launch> plan_codex(const Assignment& assignment);
// "opencode", "grok-build" and "acp".
Result<Launch> plan_acp(const Assignment& assignment);

std::unique_ptr<Dialect> make_claude(const Assignment& assignment);
std::unique_ptr<Dialect> make_codex(const Assignment& assignment);
std::unique_ptr<Dialect> make_acp(const Assignment& assignment);

}  // namespace sluice::harness
