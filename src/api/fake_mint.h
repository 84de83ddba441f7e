// Mints executions with tokens that a test can read: "setup of exe_…".
#pragma once

#include "api/api.h"
#include "base/digest.h"
#include "world/world.h"

namespace sluice::api {

class FakeMint final : public ExecutionMint {
 public:
  FakeMint(const world::Loop& loop, world::IdSource& ids) : loop_(loop), ids_(ids) {}

  MintedExecution make(const dispatch::Dispatch& dispatch, model::TenantId tenant) override {
    last = dispatch;
    const auto now = loop_.now().ms;
    MintedExecution out;
    out.execution = {.id = ids_.make<model::ExecutionId>(), .tenant_id = tenant};
    out.execution.env_json = R"({"variables":{},"script":null})";
    out.execution.config_json = R"({"skills":[)";
    for (const auto& skill : dispatch.materials.skills) {
      out.execution.skill_ids.push_back(*model::SkillId::parse(skill.id));
      out.execution.config_json += out.execution.skill_ids.size() > 1 ? "," : "";
      out.execution.config_json +=
          R"({"id":")" + skill.id + R"(","name":")" + skill.name + R"(","sha256":")" + skill.sha256 + R"("})";
    }
    out.execution.config_json += "]}";
    out.execution.created_at = {now};
    out.execution.expires_at = {now + 3'600'000};
    const auto id = out.execution.id.text();
    out.bearer = "asbx_" + id;
    out.otp_setup = "otps_" + id;
    out.otp_run = "otpr_" + id;
    out.otp_upload = "otpu_" + id;
    out.agent_url = "http://test/api/agents/" + id;
    out.hashed = {{sha256(out.otp_setup), model::TokenPurpose::setup, {now + 600'000}},
                  {sha256(out.otp_run), model::TokenPurpose::run, {now + 600'000}},
                  {sha256(out.otp_upload), model::TokenPurpose::upload, {now + 3'600'000}}};
    return out;
  }
  std::string config_answer(const model::Execution& execution) override {
    return R"({"callback":{"token":"asbx_)" + execution.id.text() + R"("}})";
  }

  dispatch::Dispatch last;

 private:
  const world::Loop& loop_;
  world::IdSource& ids_;
};

}  // namespace sluice::api
