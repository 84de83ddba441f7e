// Keys as they lie in files. The pair is that of RFC 8032, test 1.
#include "cli/approver_key_file.h"

#include <sys/stat.h>

#include <sstream>

#include "base/bytes.h"
#include "cli/folder_fixture.h"
#include "gates/gates.h"

namespace sluice::cli {
namespace approver_key_file_test {

constexpr std::string_view private_key = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
constexpr std::string_view public_key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
constexpr std::string_view public_pem =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";

using ApproverKeyFileTest = FolderTest;

TEST_F(ApproverKeyFileTest, What_the_server_and_generate_hand_out_can_be_read) {
  const auto hmac =
      read_approver_key(write("h", R"({"key_id":"apk_1","algorithm":"hmac-sha256","secret":"s"})")).take();
  EXPECT_EQ(hmac.key_id, "apk_1");
  EXPECT_EQ(hmac.material, "s");
  const auto ed =
      read_approver_key(write("e", R"({"algorithm":"ed25519","private_key":")" + std::string(private_key) + "\"}"))
          .take();
  EXPECT_EQ(ed.algorithm, model::SignatureAlgorithm::ed25519);
  EXPECT_EQ(to_base64url(ed.material), private_key);
}

TEST_F(ApproverKeyFileTest, A_public_key_is_PEM_or_base64url_or_beside_the_private_one) {
  const auto json = R"({"algorithm":"ed25519","public_key":")" + std::string(public_key) + "\"}";
  for (const auto& text : {std::string(public_pem), std::string(public_key) + "\n", json}) {
    EXPECT_EQ(read_public_key(write("p", text)).take(), public_key) << text;
  }
  EXPECT_EQ(to_base64url(pair_of(*from_base64url(private_key)).take().public_key), public_key);
}

TEST_F(ApproverKeyFileTest, An_invalid_key_is_reported_without_quoting_it) {
  const auto fault = [&](const std::string& text) {
    const auto key = read_approver_key(write("k", text));
    return key ? "" : key.error().what.substr(folder.string().size() + 3);
  };
  EXPECT_EQ(fault("hush"), "is neither JSON nor PEM");
  EXPECT_EQ(fault(R"({"key_id":"apk_1","secret":"hush"})"), "has no algorithm: hmac-sha256 or ed25519");
  EXPECT_EQ(fault(R"({"key_id":"apk_1","algorithm":"hmac-sha256"})"), "has no secret");
  EXPECT_EQ(fault(R"({"algorithm":"ed25519","private_key":"aHVzaA"})"), "has no private_key of 32 bytes in base64url");
  EXPECT_EQ(fault(std::string(public_pem)), "is not an Ed25519 key");
  EXPECT_FALSE(read_approver_key("/nowhere"));
  EXPECT_FALSE(read_public_key(write("p", "short")));
}

TEST_F(ApproverKeyFileTest, A_pair_is_made_here_and_only_its_owner_can_read_it) {
  const auto path = (folder / "supervisor.json").string();
  EXPECT_EQ(run({"approver-keys", "generate", "--out", path}), exit_ok);
  EXPECT_TRUE(remote.asked.empty()) << "no server hears of it";
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto key = read_approver_key(path).take();
  EXPECT_EQ(console.output, to_base64url(pair_of(key.material).take().public_key) + "\n");
  EXPECT_EQ((console.output + console.errors).find(to_base64url(key.material)), std::string::npos);
  EXPECT_EQ(run({"approver-keys", "generate", "--out", path}), exit_usage) << "a key that is there is not overwritten";
  EXPECT_EQ(read_approver_key(path).take().material, key.material);
  EXPECT_EQ(run({"approver-keys", "generate"}), exit_usage);

  const auto printed = console.output.substr(0, 43);
  EXPECT_EQ(run({"approver-keys", "create", "--name", "ana", "--public-key-file", path}), exit_ok);
  EXPECT_EQ(last(), R"(admin POST /v1/tenants/tnt_1/approver-keys {"algorithm":"ed25519","name":"ana","public_key":")" +
                        printed + "\"}");
}

}  // namespace approver_key_file_test
}  // namespace sluice::cli
