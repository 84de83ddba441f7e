// What runners hand back (S-4, S-12), and how it is fetched.
#include "api/api_fixture.h"
#include "base/bytes.h"

namespace sluice::api {
namespace uploads_test {

class UploadsTest : public ApiTest {
 protected:
  UploadsTest() : execution(post(workspace_of(acme) + "/executions", "{}")) {}

  static std::string file(const std::string& name, const std::string& bytes) {
    return "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + name + "\"\r\n\r\n" + bytes + "\r\n";
  }
  static std::string result(const std::string& json) {
    return "--b\r\nContent-Disposition: form-data; name=\"result\"\r\nContent-Type: application/json\r\n\r\n" + json +
           "\r\n";
  }
  Answer upload(const std::string& parts, const std::string& token, const std::string& where = "/results",
                const std::string& type = "multipart/form-data; boundary=b") {
    return ask_as("POST", "/api/agents/" + execution->text("id") + where,
                  {.body = parts + "--b--\r\n", .headers = {{"Authorization", token}, {"Content-Type", type}}});
  }
  Answer upload(const std::string& parts) { return upload(parts, execution->text("otp_upload")); }
  std::string files_path() const { return workspace_of(acme) + "/executions/" + execution->text("id") + "/files"; }

  Answer execution;
};

TEST_F(UploadsTest, S_12_files_come_back_under_clean_names_and_can_be_fetched) {
  const auto answer = upload(file("../a b.txt", "one") + file("a b.txt", "two") + result(R"({"message":"done"})"));
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_NE(answer->body.find(R"("name":"a_b.txt","size":3,"sha256":")" + to_hex(sha256("one"))), std::string::npos);
  EXPECT_NE(answer->body.find(R"("name":"a_b-1.txt")"), std::string::npos);
  const auto list = get(files_path());
  EXPECT_EQ(list->status, 200);
  const auto at = list->body.find("fil_");
  const auto id = list->body.substr(at, 30);
  EXPECT_EQ(get("/v1/files/" + id)->text("execution_id"), execution->text("id"));
  const auto content = get("/v1/files/" + id + "/content");
  EXPECT_EQ(content->body, "one");
  EXPECT_EQ(content->header("Content-Type"), "text/plain");
  EXPECT_EQ(content->header("Content-Disposition"), "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a_b.txt");
  EXPECT_EQ(content->header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(content->header("Content-Security-Policy"), "sandbox; default-src 'none'");
  EXPECT_EQ(ask_as("GET", "/v1/files/" + id + "/content", {.key = other.key})->status, 404);
  EXPECT_EQ(ask_as("GET", "/v1/files/" + id, {.key = other.key})->status, 404);
  EXPECT_EQ(upload(file("b.txt", "x"))->slug(), "token-invalid") << "spent";
  EXPECT_EQ(get(files_path())->body, list->body);
}

TEST_F(UploadsTest, S_3_a_token_is_spent_only_when_the_body_was_right) {
  const auto token = execution->text("otp_upload");
  EXPECT_EQ(upload("garbage", token)->slug(), "malformed-request");
  EXPECT_EQ(upload(file("a.txt", "x"), token, "/results", "application/json")->slug(), "unsupported-media-type");
  for (const auto& wrong :
       Texts{file("a.exe", "x"), file("noextension", "x"), file("", "x"), result("{"), result("{}") + result("{}"),
             "--b\r\nContent-Disposition: form-data; name=\"else\"\r\n\r\nx\r\n"}) {
    EXPECT_EQ(upload(file("ok.txt", "x") + wrong, token)->slug(), "validation-error") << wrong;
  }
  EXPECT_TRUE(contents.kept.empty());
  EXPECT_EQ(upload(file("a.txt", "x"), execution->text("otp_run"))->slug(), "token-invalid");
  EXPECT_EQ(get(files_path())->member("data"), "[]");
  EXPECT_EQ(upload(file("a.txt", "x"), token, "/assets/writeback")->status, 200);
}

TEST_F(UploadsTest, S_12_number_and_size_have_limits) {
  std::string many;
  for (int i = 0; i < 21; ++i) many += file(std::to_string(i) + ".txt", "x");
  EXPECT_EQ(upload(many)->slug(), "validation-error");
  const auto too_large = upload(file("a.txt", std::string(25'000'001, 'x')));
  EXPECT_EQ(too_large->slug(), "validation-error");
  EXPECT_NE(too_large->body.find("a.txt is larger than 25 MB"), std::string::npos) << too_large->body;
  const std::string large(20'000'000, 'x');
  EXPECT_EQ(upload(file("a.txt", large) + file("b.txt", large) + file("c.txt", large))->slug(), "validation-error");
  EXPECT_TRUE(contents.kept.empty());
  EXPECT_EQ(upload(file("a.txt", large) + file("b.txt", large))->status, 200);
}

TEST_F(UploadsTest, S_3_the_token_of_the_end_is_good_for_an_hour) {
  loop.advance({3'599'999});
  EXPECT_EQ(upload(file("a.txt", "x"))->status, 200);
  const auto late = post(workspace_of(acme) + "/executions", "{}");
  loop.advance({3'600'000});
  execution = late;
  EXPECT_EQ(upload(file("a.txt", "x"))->slug(), "token-invalid");
}

TEST_F(UploadsTest, A_full_disk_keeps_no_file) {
  contents.full = true;
  EXPECT_EQ(upload(file("a.txt", "x"))->slug(), "unavailable");
  EXPECT_EQ(get(files_path())->member("data"), "[]");
}

TEST_F(UploadsTest, An_execution_that_wants_no_files_has_no_token_for_them) {
  execution = post(workspace_of(acme) + "/executions", R"({"upload":false})");
  EXPECT_EQ(upload(file("a.txt", "x"), "otpu_" + execution->text("id"))->slug(), "token-invalid");
}

TEST_F(UploadsTest, Files_of_a_run_are_listed) {
  const auto stream = send(make_conversation(), "hello");
  agent_finishes();
  const auto path = "/v1/runs/" + stream->header("X-Run-Id") + "/files";
  EXPECT_EQ(get(path)->member("data"), "[]");
  const model::RunFile made{.id = ids.make<model::FileId>(),
                            .tenant_id = acme.id,
                            .run_id = model::RunId::parse(stream->header("X-Run-Id")),
                            .name = "page.html",
                            .sha256 = contents.put("<script>").take()};
  store::create_files(store.database(), {made}, [](Result<Unit> kept) { ASSERT_TRUE(kept); });
  loop.settle();
  EXPECT_NE(get(path)->body.find(made.id.text()), std::string::npos);
  EXPECT_EQ(ask_as("GET", path, {.key = other.key})->status, 404);
  EXPECT_EQ(get(files_path().replace(files_path().find("exe_"), 5, "exe_x"))->status, 404);
}

}  // namespace uploads_test
}  // namespace sluice::api
