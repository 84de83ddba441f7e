// The rows of the command table, by what they are about.
#pragma once

#include "cli/commands.h"

namespace sluice::cli {

std::span<const Command> talk_commands();      // messages, conversations, runs, approvals
std::span<const Command> material_commands();  // agents and what they are given
std::span<const Command> operator_commands();  // tenants, keys, capacity, audit, vault

// ── flags that several of them take ──
inline constexpr std::span<const Flag> no_flags{};
inline constexpr Flag paged[] = {
    {"--limit", "N", "how many, 1 to 100 (default 20)"},
    {"--after", "ID", "those after this one"},
};
inline constexpr Flag repository_flag{"--repository", "ID", "the repository to work in"};
inline constexpr Flag skill_flag{"--skill", "ID[,ID…]", "skills to have at hand, besides the agent's own"};
inline constexpr Flag env_flag{"--env", "ID|NAME", "the environment to work in"};
inline constexpr Flag tenant_flag[] = {{"--tenant", "ID", "the tenant; absent: the one of bootstrap.json"}};

}  // namespace sluice::cli
