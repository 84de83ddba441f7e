// Files in chats (A-5, S-12): what comes in, what goes out, and to whom.
#include "api/assistant/chat_fixture.h"
#include "api/inputs/file_uploads.h"
#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::api {
namespace files_test {

class BagFilesTest : public ChatTest {
 protected:
  static std::string file(const std::string& name, const std::string& bytes, const std::string& type = "") {
    return "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + name + "\"\r\n" +
           (type.empty() ? "" : "Content-Type: " + type + "\r\n") + "\r\n" + bytes + "\r\n";
  }
  Answer upload(const std::string& parts, const std::string& where = "/api/assistant/files",
                const std::string& type = "multipart/form-data; boundary=b") {
    return ask_as("POST", where, {.key = acme.key, .body = parts + "--b--\r\n", .headers = {{"Content-Type", type}}});
  }
  static std::string id_in(const Answer& answer) { return answer->body.substr(answer->body.find("fil_"), 30); }
  std::string in_chat(const std::string& chat) const { return "/api/assistant/chats/" + chat + "/files"; }
};

TEST_F(BagFilesTest, A_file_comes_into_a_chat_and_is_got_again_A_5) {
  const auto chat_id = finished_chat();
  const auto made = upload(file("../../etc/März 1.csv", "a,b", "text/html"), in_chat(chat_id));
  EXPECT_EQ(made->status, 201) << made->body;
  const auto id = id_in(made);
  EXPECT_EQ(made->body, R"({"files":[{"id":")" + id + R"(","object":"file","chatId":")" + chat_id +
                            R"(","name":"März 1.csv","type":"text/csv","size":3,"sha256":")" + to_hex(sha256("a,b")) +
                            R"(","source":"upload","createdAt":)" + std::to_string(loop.now().ms) +
                            R"(,"url":"/api/assistant/files/)" + id + R"("}]})");
  const auto list = get(in_chat(chat_id));
  EXPECT_EQ(list->status, 200);
  EXPECT_NE(list->body.find(id), std::string::npos);
  const auto got = get("/api/assistant/files/" + id);
  EXPECT_EQ(got->body, "a,b");
  EXPECT_EQ(got->header("Content-Type"), "text/csv");
  EXPECT_EQ(got->header("Content-Disposition"),
            "attachment; filename=\"M__rz_1.csv\"; filename*=UTF-8''M%C3%A4rz%201.csv");
}

TEST_F(BagFilesTest, A_file_that_a_browser_could_execute_is_sent_as_a_download) {
  for (const auto* name : {"x.html", "x.svg"}) {
    const auto got = get("/api/assistant/files/" + id_in(upload(file(name, "<script>"))) + "?inline=1");
    EXPECT_TRUE(got->header("Content-Disposition").starts_with("attachment;")) << name;
    EXPECT_EQ(got->header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(got->header("Content-Security-Policy"), "sandbox; default-src 'none'");
  }
  const auto picture = id_in(upload(file("x.png", "png")));
  EXPECT_TRUE(
      get("/api/assistant/files/" + picture + "?inline=1")->header("Content-Disposition").starts_with("inline;"));
  EXPECT_TRUE(get("/api/assistant/files/" + picture)->header("Content-Disposition").starts_with("attachment;"));
  EXPECT_EQ(get("/api/assistant/files/" + picture + "?inline=maybe")->status, 422);
}

TEST_F(BagFilesTest, All_files_of_a_request_are_kept_or_none_S_12) {
  for (const auto& wrong : Texts{file("a.exe", "x"), file("noextension", "x"), file("", "x"), file("..", "x"),
                                 file("/", "x"), file(std::string(260, 'a') + ".txt", "x"),
                                 "--b\r\nContent-Disposition: form-data; name=\"else\"\r\n\r\nx\r\n"}) {
    EXPECT_EQ(upload(file("ok.txt", "x") + wrong)->slug(), "validation-error") << wrong;
  }
  EXPECT_EQ(upload("garbage")->slug(), "malformed-request");
  EXPECT_EQ(upload("")->slug(), "validation-error") << "a form without files";
  EXPECT_EQ(upload(file("a.txt", "x"), "/api/assistant/files", "text/plain")->slug(), "unsupported-media-type");
  contents.full = true;
  EXPECT_EQ(upload(file("a.txt", "x"))->status, 503);
  EXPECT_TRUE(contents.kept.empty());
  EXPECT_EQ(get(workspace_of(acme) + "/files")->body,
            R"({"object":"list","data":[],"has_more":false,"next_cursor":null})");
}

TEST_F(BagFilesTest, A_file_of_no_bytes_is_a_file) {
  const auto made = upload(file("empty.txt", ""));
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_NE(made->body.find(R"("chatId":null)"), std::string::npos);
  const auto got = get("/api/assistant/files/" + id_in(made));
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "");
}

TEST_F(BagFilesTest, A_large_file_is_written_piece_by_piece) {
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += std::to_string(i % 10) + "\n";
  large += "the end";
  const auto got = get("/api/assistant/files/" + id_in(upload(file("large.txt", large))));
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body.size(), large.size());
  EXPECT_EQ(to_hex(sha256(got->body)), to_hex(sha256(large)));
}

TEST_F(BagFilesTest, Nothing_of_it_is_there_for_another_workspace) {
  const auto chat_id = finished_chat();
  const auto id = id_in(upload(file("a.txt", "x"), in_chat(chat_id)));
  const auto status = [&](const std::string& method, const std::string& path) {
    return ask_as(method, path, {.key = other.key})->status;
  };
  EXPECT_EQ(status("GET", "/api/assistant/files/" + id), 404);
  EXPECT_EQ(status("DELETE", "/api/assistant/files/" + id), 404);
  EXPECT_EQ(status("GET", in_chat(chat_id)), 404);
  EXPECT_EQ(status("GET", in_chat(chat_id) + ".zip"), 404);
  EXPECT_EQ(status("GET", workspace_of(other) + "/files/" + id), 404);
  EXPECT_EQ(status("GET", workspace_of(other) + "/files/" + id + "/content"), 404);
  EXPECT_EQ(ask_as("POST", in_chat(chat_id),
                   {.key = other.key,
                    .body = file("a.txt", "x") + "--b--\r\n",
                    .headers = {{"Content-Type", "multipart/form-data; boundary=b"}}})
                ->status,
            404);
  EXPECT_EQ(get("/api/assistant/files/" + id)->status, 200);
}

TEST_F(BagFilesTest, Deleted_files_and_files_of_a_deleted_chat_are_gone_A_5) {
  const auto chat_id = finished_chat();
  const auto one = id_in(upload(file("a.txt", "x"), in_chat(chat_id)));
  const auto two = id_in(upload(file("b.txt", "y"), in_chat(chat_id)));
  EXPECT_EQ(ask_as("DELETE", "/api/assistant/files/" + one, {.key = acme.key})->status, 204);
  EXPECT_EQ(ask_as("DELETE", "/api/assistant/files/" + one, {.key = acme.key})->status, 404);
  EXPECT_EQ(get("/api/assistant/files/" + one)->status, 404);
  EXPECT_EQ(ask_as("DELETE", "/api/assistant/chats/" + chat_id, {.key = acme.key})->status, 204);
  EXPECT_EQ(get("/api/assistant/files/" + two)->status, 404);
  EXPECT_EQ(upload(file("c.txt", "z"), in_chat(chat_id))->status, 404);
}

TEST_F(BagFilesTest, All_files_of_a_chat_are_sent_as_one_zip) {
  const auto chat_id = finished_chat();
  upload(file("a.txt", "first") + file("a.txt", "second"), in_chat(chat_id));
  const auto zip = get(in_chat(chat_id) + ".zip");
  EXPECT_EQ(zip->status, 200);
  EXPECT_EQ(zip->header("Content-Type"), "application/zip");
  EXPECT_TRUE(zip->body.starts_with("PK"));
  EXPECT_NE(zip->body.find("a-1.txt"), std::string::npos);
}

TEST_F(BagFilesTest, The_workspace_lists_and_serves_them_all) {
  const auto id = id_in(upload(file("a.txt", "x")));
  const auto path = workspace_of(acme) + "/files";
  EXPECT_NE(get(path)->body.find(R"("chat_id":null,"name":"a.txt","type":"text/plain","size_bytes":1)"),
            std::string::npos);
  EXPECT_EQ(get(path + "/" + id)->text("source"), "upload");
  EXPECT_EQ(get(path + "/" + id + "/content")->body, "x");
  const auto made = upload(file("b.txt", "y"), path);
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(ask_as("DELETE", path + "/" + id_in(made), {.key = acme.key})->status, 204);
  EXPECT_EQ(get(path + "/" + id_in(made))->status, 404);
}

TEST(FileName, A_file_name_has_one_part_and_no_control_characters) {
  EXPECT_EQ(clean_file_name("a.txt"), "a.txt");
  EXPECT_EQ(clean_file_name("C:\\x\\a.txt"), "a.txt");
  EXPECT_EQ(clean_file_name("/etc/../a b.txt"), "a b.txt");
  EXPECT_EQ(clean_file_name("..hidden.txt"), "hidden.txt");
  EXPECT_EQ(clean_file_name("a\r\nX: y.txt"), "a__X: y.txt");
  EXPECT_EQ(clean_file_name("a.txt. . "), "a.txt");
  for (const auto* name : {"", ".", "..", "x/", " ", "..."}) EXPECT_EQ(clean_file_name(name), "") << name;
}

}  // namespace files_test
}  // namespace sluice::api
