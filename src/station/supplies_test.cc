// S-4, S-10: what a dispatch fetches from its workspace, and what it leaves there.
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "station/station_fixture.h"
#include "station/workspace_supplies.h"
#include "workspace/workspace.h"

namespace sluice::station {
namespace supplies_test {

constexpr std::string_view with_skill =
    R"({"agent":{},"skills":[{"id":"skl_1","name":"pdf","sha256":"0000000000000000000000000000000000000000000000000000000000000000"}],
        "callback":{"base_url":"http://w","token":"asbx_9"}})";

TEST_F(StationTest, A_skill_is_fetched_with_the_bearer) {
  at_work("", std::string(with_skill));
  const auto& dispatch = agents_.dispatched.at(0);
  ASSERT_EQ(dispatch.materials.skills.size(), 1u);
  std::string answers;
  client_.answer(net::FakeAnswer::whole(200, "a bundle"));
  client_.answer(net::FakeAnswer::whole(404, R"({"detail":"gone"})"));
  const auto record = [&](Result<std::string> got) { answers += (got ? got.value() : got.error().what) + ";"; };
  dispatch.supplies->skill_bundle(dispatch.materials.skills[0], record);
  EXPECT_EQ(answers, "");
  loop_.settle();
  dispatch.supplies->skill_bundle(dispatch.materials.skills[0], record);
  loop_.settle();
  EXPECT_EQ(answers, "a bundle;the workspace refused the skill pdf with status 404: gone;");
  EXPECT_EQ(client_.requests.back().url, "http://workspace.example/api/agents/exe_1/skills/skl_1");
  EXPECT_EQ(client_.requests.back().headers.find("Authorization"), "Bearer asbx_9");
}

std::string with_file(const std::string& url) {
  return R"({"agent":{},"files":{"url":")" + url + R"(","items":[{"name":"a.csv","size":3,"sha256":")" +
         std::string(64, 'a') + R"("}]},"callback":{"base_url":"http://w","token":"asbx_9"}})";
}

// A-5
TEST_F(StationTest, Attached_files_come_out_of_one_zip) {
  const std::string url = "http://workspace.example/api/assistant/sandbox/exe_1/files.zip";
  at_work("", with_file(url));
  const auto& dispatch = agents_.dispatched.at(0);
  ASSERT_EQ(dispatch.materials.files.size(), 1u);
  const OwnedFd fd(memfd_create("zip", MFD_CLOEXEC));
  ASSERT_TRUE(workspace::write_zip(fd.get(), {{"a.csv", "1,2"}}));
  std::string zip(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), '\0');
  ASSERT_GT(pread(fd.get(), zip.data(), zip.size(), 0), 0);
  client_.answer(net::FakeAnswer::whole(200, zip));
  const auto asked = client_.requests.size();
  std::string answers;
  for (int i = 0; i < 2; ++i) {
    dispatch.supplies->file(dispatch.materials.files[0],
                            [&](Result<std::string> got) { answers += got.value() + ";"; });
    loop_.settle();
  }
  EXPECT_EQ(answers, "1,2;1,2;");
  EXPECT_EQ(client_.requests.size(), asked + 1) << "one zip for all of them";
  EXPECT_EQ(client_.requests.back().url, url);
  EXPECT_EQ(client_.requests.back().headers.find("Authorization"), "Bearer asbx_9");
}

TEST_F(StationTest, Files_are_not_fetched_from_another_server) {
  client_.answer(net::FakeAnswer::whole(200, "{}"));
  client_.answer(net::FakeAnswer::whole(200, with_file("http://169.254.169.254/x.zip")));
  const auto exchange = post(body());
  EXPECT_TRUE(agents_.dispatched.empty());
  EXPECT_NE(exchange->body.find("leads to another server"), std::string::npos);
}

TEST_F(StationTest, The_box_is_led_to_the_workspace_with_the_bearer) {
  at_work("",
          R"({"agent":{},"callback":{"base_url":"http://workspace.example/api/workspaces/wsp_1","token":"asbx_9"}})");
  EXPECT_EQ(agents_.dispatched.at(0).workspace.base_url, "http://workspace.example/api/workspaces/wsp_1");
  EXPECT_EQ(agents_.dispatched.at(0).workspace.token, "asbx_9");
}

TEST_F(StationTest, The_box_is_not_led_to_a_workspace_that_it_may_not_use) {
  const auto callback = [](const std::string& use) {
    return R"({"agent":{},"callback":{"base_url":"http://workspace.example/api/workspaces/wsp_1","token":"asbx_9",)"
           R"("workspace":")" +
           use + R"("}})";
  };
  at_work("", callback("none"));
  EXPECT_EQ(agents_.dispatched.at(0).workspace.base_url, "");
  at_work("", callback("read"));
  EXPECT_EQ(agents_.dispatched.at(1).workspace.use, model::WorkspaceUse::read);
}

TEST_F(StationTest, The_box_is_not_led_to_another_server_than_the_workspace_s) {
  for (const std::string url : {"http://10.0.0.1/api/workspaces/wsp_1", "http://workspace.example.evil/x",
                                "https://workspace.example/x", "http://workspace.example:81/x", ""}) {
    at_work("", R"({"agent":{},"callback":{"base_url":")" + url + R"(","token":"asbx_9"}})");
    EXPECT_EQ(agents_.dispatched.back().workspace.base_url, "") << url;
    EXPECT_EQ(agents_.dispatched.back().workspace.token, "");
  }
}

TEST_F(StationTest, Files_are_posted_with_the_upload_token) {
  at_work();
  client_.answer(net::FakeAnswer::whole(201, R"({"files":[]})"));
  std::optional<bool> kept;
  agents_.dispatched.at(0).supplies->take_assets(
      {{"a.txt", "A"}}, "done", [&](Result<std::vector<dispatch::KeptAsset>> done) { kept = bool(done); });
  loop_.settle();
  EXPECT_EQ(kept, true);
  const auto& request = client_.requests.back();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "http://workspace.example/api/agents/exe_1/results");
  EXPECT_EQ(request.headers.find("Authorization"), "otpu_3");
  EXPECT_TRUE(request.headers.find("Content-Type")->starts_with("multipart/form-data; boundary=sluice-"));
}

TEST_F(StationTest, Files_that_are_refused_are_said_to_be) {
  at_work();
  client_.answer(net::FakeAnswer::whole(413, R"({"detail":"too large"})"));
  std::string why;
  agents_.dispatched.at(0).supplies->take_assets(
      {{"a.txt", "A"}}, "", [&](Result<std::vector<dispatch::KeptAsset>> done) { why = done.error().what; });
  loop_.settle();
  EXPECT_EQ(why, "the workspace refused the files with status 413: too large");
}

TEST_F(StationTest, Where_there_are_no_files_the_upload_token_stays_unused) {
  at_work();
  std::optional<bool> kept;
  agents_.dispatched.at(0).supplies->take_assets(
      {}, "done", [&](Result<std::vector<dispatch::KeptAsset>> done) { kept = bool(done); });
  EXPECT_FALSE(kept);
  loop_.settle();
  EXPECT_EQ(kept, true);
  EXPECT_EQ(client_.requests.size(), 2u);
}

TEST_F(StationTest, Without_an_upload_token_files_are_not_wanted) {
  client_.answer(net::FakeAnswer::whole(200, "{}"));
  client_.answer(net::FakeAnswer::whole(200, R"({"agent":{}})"));
  post(body(""));
  EXPECT_FALSE(agents_.dispatched.at(0).supplies->wants_assets());
}

TEST_F(StationTest, When_the_caller_leaves_nothing_is_written_back_any_more_S_10) {
  const auto exchange = at_work();
  const auto supplies = agents_.dispatched.at(0).supplies;
  const auto never = [](Result<std::vector<dispatch::KeptAsset>>) { FAIL(); };
  client_.answer(net::FakeAnswer().wait(1'000).head(201).finish());
  supplies->take_assets({{"a.txt", "A"}}, "", never);
  EXPECT_EQ(client_.calls_in_flight(), 1u);
  exchange->hang_up();
  EXPECT_EQ(client_.calls_in_flight(), 0u);
  const auto asked = client_.requests.size();
  supplies->take_assets({{"a.txt", "A"}}, "", never);
  loop_.advance(Millis{5'000});
  EXPECT_EQ(client_.requests.size(), asked);
}

TEST(Multipart, Is_as_RFC_7578_says) {
  const auto made = multipart_of({{"a\"\r\n.txt", "A\r\n"}, {"b", ""}}, "di\"d", "cut");
  EXPECT_EQ(made.content_type, "multipart/form-data; boundary=cut");
  EXPECT_EQ(made.body,
            "--cut\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a%22%0D%0A.txt\"\r\n"
            "Content-Type: application/octet-stream\r\n\r\nA\r\n\r\n"
            "--cut\r\nContent-Disposition: form-data; name=\"files\"; filename=\"b\"\r\n"
            "Content-Type: application/octet-stream\r\n\r\n\r\n"
            "--cut\r\nContent-Disposition: form-data; name=\"result\"\r\nContent-Type: application/json\r\n\r\n"
            "{\"message\":\"di\\\"d\"}\r\n--cut--\r\n");
}

TEST(Multipart, No_file_can_contain_its_boundary) {
  const auto made = multipart_of({{"a", "x--cut--\r\n--cutx"}}, "", "cut");
  EXPECT_EQ(made.content_type, "multipart/form-data; boundary=cutxx");
}

}  // namespace supplies_test
}  // namespace sluice::station
