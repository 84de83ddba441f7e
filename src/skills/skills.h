// The skills that come with the server: tables, files and workflow_editor, with which an agent uses its own workspace.
//
// Their files lie in bundles/ and are part of the program. They need nothing in a box but bash, and no key: requests to
// http://workspace.sluice get theirs on the way out of the box.
// Not its business: who is given them (engine), how they get into a box (runner).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::skills {

// What their ids begin with; no tenant's skill has such an id.
inline constexpr std::string_view id_prefix = "builtin.";

struct BuiltinSkill {
  std::string name;
  std::string description;
  std::string bundle;  // a gzipped tar, the same in every process of one build
  std::string sha256;  // of the bundle: 64 hexadecimal digits

  std::string id() const { return std::string(id_prefix) + name; }
};

// All of them, packed anew: keep what you get.
std::vector<BuiltinSkill> builtin_skills();
// Is there one of that name?
bool is_builtin(std::string_view name);

}  // namespace sluice::skills
