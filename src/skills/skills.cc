#include "skills/skills.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "workspace/workspace.h"

// The assembler puts each file into the program as it is.
#define SLUICE_EMBED(symbol, file)                                \
  __asm__(".section .rodata\n" #symbol                            \
          "_begin:\n"                                             \
          ".incbin \"" SLUICE_BUNDLES_DIR "/" file "\"\n" #symbol \
          "_end:\n"                                               \
          ".previous\n");                                         \
  extern "C" const char symbol##_begin[];                         \
  extern "C" const char symbol##_end[]

SLUICE_EMBED(sluice_skill_library, "lib/workspace.sh");
SLUICE_EMBED(sluice_skill_tables_text, "tables/SKILL.md");
SLUICE_EMBED(sluice_skill_tables_command, "tables/bin/tables");
SLUICE_EMBED(sluice_skill_files_text, "files/SKILL.md");
SLUICE_EMBED(sluice_skill_files_command, "files/bin/files");
SLUICE_EMBED(sluice_skill_workflows_text, "workflow_editor/SKILL.md");
SLUICE_EMBED(sluice_skill_workflows_command, "workflow_editor/bin/workflow_editor");

#undef SLUICE_EMBED

namespace sluice::skills {
namespace {

struct Span {
  const char* begin;
  const char* end;
  std::string text() const { return {begin, end}; }
};

struct Source {
  std::string_view name;
  Span text;     // SKILL.md
  Span command;  // bin/NAME
};

constexpr std::array<Source, 3> sources = {{
    {"tables",
     {sluice_skill_tables_text_begin, sluice_skill_tables_text_end},
     {sluice_skill_tables_command_begin, sluice_skill_tables_command_end}},
    {"files",
     {sluice_skill_files_text_begin, sluice_skill_files_text_end},
     {sluice_skill_files_command_begin, sluice_skill_files_command_end}},
    {"workflow_editor",
     {sluice_skill_workflows_text_begin, sluice_skill_workflows_text_end},
     {sluice_skill_workflows_command_begin, sluice_skill_workflows_command_end}},
}};

BuiltinSkill packed(const Source& source) {
  const Span library{sluice_skill_library_begin, sluice_skill_library_end};
  std::vector<workspace::BundleFile> files = {
      {.path = "SKILL.md", .bytes = source.text.text()},
      {.path = "bin/" + std::string(source.name), .bytes = source.command.text(), .executable = true},
      {.path = "lib/workspace.sh", .bytes = library.text()}};
  auto head = workspace::read_skill_head(files);
  SLUICE_CHECK(head && head.value().name == source.name);
  auto bundle = workspace::pack_bundle(std::move(files), {});
  SLUICE_CHECK(bundle);
  BuiltinSkill skill{.name = std::string(source.name),
                     .description = std::move(head.value().description),
                     .bundle = std::move(bundle).take()};
  skill.sha256 = to_hex(sha256(skill.bundle));
  return skill;
}

}  // namespace

std::vector<BuiltinSkill> builtin_skills() {
  std::vector<BuiltinSkill> all;
  for (const auto& source : sources) all.push_back(packed(source));
  return all;
}

bool is_builtin(std::string_view name) { return std::ranges::find(sources, name, &Source::name) != sources.end(); }

}  // namespace sluice::skills
