// Skills: bundles in and out (I-25).
#include "api/api_fixture.h"
#include "base/bytes.h"
#include "workspace/workspace.h"

namespace sluice::api {
namespace skills_test {

class SkillsTest : public ApiTest {
 protected:
  static std::string head(const std::string& name) {
    return "---\nname: " + name + "\ndescription: Reads.\n---\nDo.\n";
  }
  static std::string packed(std::vector<workspace::BundleFile> files) {
    return workspace::pack_bundle(std::move(files), {}).take();
  }
  Answer push(std::string bundle, const std::string& target = "/v1/skills", const std::string& method = "POST") {
    return ask_as(method, target,
                  {.key = acme.key, .body = std::move(bundle), .headers = {{"Content-Type", "application/gzip"}}});
  }
};

TEST_F(SkillsTest, A_bundle_is_kept_and_given_back_in_its_one_form) {
  const std::vector<workspace::BundleFile> files = {{"SKILL.md", head("pdf")}, {"run.sh", "echo", true}};
  const auto made = push(packed(files));
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->text("name"), "pdf");
  EXPECT_EQ(made->text("description"), "Reads.");
  EXPECT_EQ(made->member("file_count"), "2");
  const auto bundle = get(made->header("Location") + "/bundle");
  EXPECT_EQ(bundle->status, 200);
  EXPECT_EQ(bundle->body, packed(files));
  EXPECT_EQ(to_hex(sha256(bundle->body)), made->text("sha256"));
  EXPECT_EQ(made->member("size"), std::to_string(bundle->body.size()));
  EXPECT_EQ(bundle->header("Content-Type"), "application/gzip");
  EXPECT_EQ(bundle->header("Content-Disposition"), "attachment; filename=\"pdf.tar.gz\"; filename*=UTF-8''pdf.tar.gz");
  EXPECT_EQ(bundle->header("X-Content-Type-Options"), "nosniff");
}

TEST_F(SkillsTest, Files_in_JSON_make_the_same_bundle) {
  const auto made = post("/v1/skills", R"({"files":[{"path":"run.sh","content_base64":"ZWNobw==","executable":true},
      {"path":"SKILL.md","content":"---\nname: pdf\ndescription: Reads.\n---\nDo.\n"}]})");
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(get(made->header("Location") + "/bundle")->body,
            packed({{"SKILL.md", head("pdf")}, {"run.sh", "echo", true}}));
}

TEST_F(SkillsTest, The_same_name_is_a_new_version) {
  const auto first = push(packed({{"SKILL.md", head("pdf")}}));
  const auto second = push(packed({{"SKILL.md", head("pdf") + "more"}}));
  EXPECT_EQ(second->status, 200);
  EXPECT_EQ(second->text("id"), first->text("id"));
  EXPECT_NE(second->text("sha256"), first->text("sha256"));
  const auto path = "/v1/skills/" + first->text("id");
  EXPECT_EQ(get(path)->body, second->body);
  EXPECT_EQ(push(packed({{"SKILL.md", head("pdf")}}), path, "PUT")->text("sha256"), first->text("sha256"));
  const auto another = push(packed({{"SKILL.md", head("other")}}), path, "PUT");
  EXPECT_EQ(another->status, 422);
  EXPECT_NE(another->body.find("SKILL.md names another skill: other, not pdf"), std::string::npos) << another->body;
  EXPECT_EQ(remove(path)->status, 204);
  EXPECT_EQ(get(path + "/bundle")->status, 404);
}

TEST_F(SkillsTest, A_bad_bundle_is_refused_with_its_reason_and_nothing_is_kept) {
  const auto refused = [&](const Answer& answer, const std::string& words) {
    EXPECT_EQ(answer->status, 422) << answer->body;
    EXPECT_EQ(answer->slug(), "validation-error");
    EXPECT_NE(answer->body.find(words), std::string::npos) << answer->body;
  };
  refused(push("not gzip"), "/files");
  refused(push(packed({{"README.md", "x"}})), "SKILL.md");
  refused(push(packed({{"SKILL.md", "no head"}})), "SKILL.md");
  refused(post("/v1/skills", R"({"files":[]})"), "one at least");
  refused(post("/v1/skills", R"({"files":[{"path":"SKILL.md"}]})"), "/files/0/content");
  refused(post("/v1/skills", R"({"files":[{"path":"a","content":"x","content_base64":"eA=="}]})"), "/files/0/content");
  refused(post("/v1/skills", R"({"files":[{"path":"a","content_base64":"e_A"}]})"), "is not base64");
  refused(post("/v1/skills", R"({"files":[{"path":"../a","content":"x"},
      {"path":"SKILL.md","content":"---\nname: p\ndescription: d\n---\n"}]})"),
          "/files");
  EXPECT_TRUE(contents.kept.empty());
  EXPECT_EQ(get("/v1/skills")->member("data"), "[]");
}

TEST_F(SkillsTest, A_full_disk_is_a_problem_and_nothing_is_stored) {
  contents.full = true;
  EXPECT_EQ(push(packed({{"SKILL.md", head("pdf")}}))->slug(), "unavailable");
  EXPECT_EQ(get("/v1/skills")->member("data"), "[]");
}

TEST_F(SkillsTest, A_bundle_may_be_larger_than_other_bodies) {
  EXPECT_EQ(body_bytes_max_of("POST", "/v1/skills"), limits::skill_request_bytes_max);
  EXPECT_EQ(body_bytes_max_of("PUT", "/v1/skills/skl_1"), limits::skill_request_bytes_max);
  EXPECT_EQ(body_bytes_max_of("POST", "/api/agents/exe_1/results"), limits::upload_request_bytes_max);
  EXPECT_EQ(body_bytes_max_of("POST", "/v1/conversations"), 0U);
  EXPECT_EQ(body_bytes_max_of("GET", "/nowhere"), 0U);
}

}  // namespace skills_test
}  // namespace sluice::api
