#include "api/downloads.h"
#include "api/integration/handlers.h"
#include "api/integration/skill_bundles.h"
#include "api/rows.h"
#include "api/worker_job.h"

namespace sluice::api::integration {
namespace {

void tell_bundle_is_wrong(const Asked& asked, const Error& error) {
  if (error.kind != ErrorKind::invalid) return asked->fail(error);
  asked->invalid("/files", error.what);
}

void answer_put(const Asked& asked, model::SkillId made, const model::Skill& skill) {
  if (skill.id != made) return asked->answer_json(200, model::to_json(skill));
  asked->created("/v1/skills/" + skill.id.text(), model::to_json(skill));
}

void put(const Asked& asked, model::Skill skill) {
  skill.id = asked->ids().make<model::SkillId>();
  skill.tenant_id = asked->tenant().id;
  skill.created_at = skill.updated_at = asked->now();
  asked->store().put_skill(skill, [asked, id = skill.id](const Result<model::Skill>& kept) {
    if (!kept) return asked->fail(kept.error());
    answer_put(asked, id, kept.value());
  });
}

// With the bundle kept, if it is a good one.
void with_bundle(const Asked& asked, Callback<void(model::Skill)> then) {
  auto given = read_given_bundle(asked);
  if (!given) return;
  auto& contents = asked->surface().needs.contents;
  on_worker<model::Skill>(
      asked, asked->tenant().id, [given = std::move(*given), &contents] { return keep_bundle(given, contents); },
      [asked, then = std::move(then)](Result<model::Skill> skill) mutable {
        if (!skill) return tell_bundle_is_wrong(asked, skill.error());
        then(std::move(skill).take());
      });
}

}  // namespace

void list_skills(const Asked& asked) { list_rows<model::Skill>(asked, &store::Store::skills); }
void get_skill(const Asked& asked) { get_row<model::Skill>(asked, &store::Store::skill); }

void create_skill(const Asked& asked) {
  with_bundle(asked, [asked](model::Skill skill) { put(asked, std::move(skill)); });
}

// The name is that of the bundle, so a bundle of another name would be another skill.
void replace_skill(const Asked& asked) {
  const auto id = asked->path_id<model::SkillId>();
  if (!id) return asked->not_found();
  asked->store().skill(asked->tenant().id, *id, [asked](const Result<model::Skill>& former) {
    if (!former) return asked->fail(former.error());
    with_bundle(asked, [asked, name = former.value().name](model::Skill skill) {
      if (skill.name == name) return put(asked, std::move(skill));
      asked->invalid("/files", "SKILL.md names another skill: " + skill.name + ", not " + name);
    });
  });
}

void delete_skill(const Asked& asked) {
  delete_row<model::Skill>(asked, &store::Store::delete_skill, "An agent names this skill.");
}

void get_skill_bundle(const Asked& asked) {
  const auto id = asked->path_id<model::SkillId>();
  if (!id) return asked->not_found();
  asked->store().skill(asked->tenant().id, *id, [asked](const Result<model::Skill>& skill) {
    if (!skill) return asked->fail(skill.error());
    send_bundle(asked, skill.value());
  });
}

}  // namespace sluice::api::integration
