#include <algorithm>

#include "harness/harness.h"

namespace sluice::harness {
namespace {

// Of a program's package for this machine: the name's middle, which npm chooses by the processor too.
#if defined(__aarch64__)
#define SLUICE_NPM_CPU "arm64"
#define SLUICE_RUST_CPU "aarch64"
#else
#define SLUICE_NPM_CPU "x64"
#define SLUICE_RUST_CPU "x86_64"
#endif

constexpr Program known[] = {
    {"claude-code", "@anthropic-ai/claude-code", "2.1.325",
     "node_modules/@anthropic-ai/claude-code-linux-" SLUICE_NPM_CPU "/claude", "claude"},
    {"codex", "@openai/codex", "0.166.0",
     "node_modules/@openai/codex-linux-" SLUICE_NPM_CPU "/vendor/" SLUICE_RUST_CPU "-unknown-linux-musl/bin/codex",
     "codex"},
    {"opencode", "opencode-ai", "1.18.33", "node_modules/opencode-linux-" SLUICE_NPM_CPU "/bin/opencode", "opencode"},
    {"grok-build", "@xai-official/grok", "1.0.41", "node_modules/@xai-official/grok-linux-" SLUICE_NPM_CPU "/bin/grok",
     "grok"},
};

}  // namespace

std::span<const Program> programs() { return known; }

const Program* find_program(std::string_view agent_type) {
  const auto* const found = std::ranges::find(known, agent_type, &Program::agent_type);
  return found == std::end(known) ? nullptr : found;
}

}  // namespace sluice::harness
