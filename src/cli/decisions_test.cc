// A decision is signed here, over exactly the canonical bytes (I-15), and no secret is printed on the way (I-17). The
// expected signatures were made with other programs.
#include "cli/decisions.h"
#include "cli/render.h"

#include "cli/folder_fixture.h"

namespace sluice::cli {
namespace decisions_test {

constexpr std::string_view id = "apr_01jzz000000000000000000001";
constexpr std::string_view bootstrap =
    R"({"tenant_id":"tnt_1","approver_key":{"key_id":"apk_1","algorithm":"hmac-sha256","secret":"topsecret"}})";
constexpr std::string_view pem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr std::string_view approval =
    R"({"id":"apr_01jzz000000000000000000001","status":"pending","reason":"To read the customer",)"
    R"("requested_items":[{"kind":"secret","description":"The key","alias":"CRM_API_KEY","hosts":["crm.example"]}],)"
    R"("expires_at":"2026-07-02T12:15:00.000Z","resolved_by":null})";

class DecisionsTest : public FolderTest {
 protected:
  DecisionsTest() {
    access.approver_file = write("bootstrap.json", std::string(bootstrap));
    remote.answers["GET /v1/approvals/" + std::string(id)] = {200, std::string(approval)};
    remote.answer = R"({"id":"apr_1","status":"approved","resolved_by":"approver_key:apk_1"})";
  }
  int decide(std::string verb, std::vector<std::string> flags) {
    std::vector<std::string> words = {"approvals", std::move(verb), std::string(id)};
    words.insert(words.end(), flags.begin(), flags.end());
    return run(words);
  }
  bool is_printed(std::string_view text) const {
    return (console.output + console.errors + console.prompts).find(text) != std::string::npos;
  }
};

TEST_F(DecisionsTest, The_canonical_bytes_are_signed_with_the_key_of_bootstrap) {
  EXPECT_EQ(decide("approve", {}), exit_ok);
  EXPECT_EQ(last(),
            "POST /v1/approvals/apr_01jzz000000000000000000001/approve "
            R"({"signature":{"key_id":"apk_1","algorithm":"hmac-sha256","exp":1782993900,)"
            R"("value":"ZSCugIsJGcazzREYlTKxaMA2pfS_qBW_kwKDhgh4ZMQ",)"
            R"("items_digest":"B2218d9FBSkY1gJLTffI07DRsWWlLnmcN1QQ-MdSDkk",)"
            R"("secrets_digest":"RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o"}})");
  EXPECT_EQ(console.output, "approval    apr_1\nstatus      approved\ndecided by  approver_key:apk_1\n");
  decide("deny", {"--note", "no"});
  EXPECT_EQ(last(),
            "POST /v1/approvals/apr_01jzz000000000000000000001/deny "
            R"({"signature":{"key_id":"apk_1","algorithm":"hmac-sha256","exp":1782993900,)"
            R"("value":"6sZ5Sx8fua_ZtoysHALzB3suo7QsN2hXN3xHfErzeuU",)"
            R"("items_digest":"B2218d9FBSkY1gJLTffI07DRsWWlLnmcN1QQ-MdSDkk",)"
            R"("secrets_digest":"RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o"},"note":"no"})");
}

TEST_F(DecisionsTest, An_Ed25519_key_in_PEM_signs_too_once_it_is_said_which_it_is) {
  const auto file = write("key.pem", std::string(pem));
  EXPECT_EQ(decide("deny", {"--key-file", file}), exit_usage);
  EXPECT_TRUE(reports("give --key-id apk_")) << console.errors;
  EXPECT_EQ(decide("deny", {"--key-file", file, "--key-id", "apk_2"}), exit_ok);
  EXPECT_NE(last().find(R"("key_id":"apk_2","algorithm":"ed25519","exp":1782993900,"value":")"
                        "kjOHDUOoC8BTql0JXktn2r9kiHWf_r-z5krNhh0k8kqt8HCtlqyk2XEC1ory88eNluAdJeLW9XUqQMb51KgADQ\""),
            std::string::npos)
      << last();
}

TEST_F(DecisionsTest, What_is_asked_and_what_is_supplied_is_bound_to_the_signature) {
  const auto file = write("crm.key", "hunter2-value\n");
  EXPECT_EQ(decide("approve", {"--bind", "--secret", "CRM_API_KEY=@" + file}), exit_ok) << "older scripts say so";
  const auto said = last();
  EXPECT_EQ(decide("approve", {"--secret", "CRM_API_KEY=@" + file}), exit_ok);
  EXPECT_EQ(last(), said);
  EXPECT_NE(last().find(R"("value":"pDz2-G0xImUYdYYYiOPLc27WLUdHj11dYzRzYY0v81M",)"
                        R"("items_digest":"B2218d9FBSkY1gJLTffI07DRsWWlLnmcN1QQ-MdSDkk",)"
                        R"("secrets_digest":"3aBy-0-JekzqDysDEDC7dCFDBVp717nhXWZOrxLZZF4"},)"
                        R"("secrets":{"CRM_API_KEY":"hunter2-value"}})"),
            std::string::npos)
      << last();
}

TEST_F(DecisionsTest, Whoever_decides_sees_all_of_it_first_and_no_line_can_pass_for_another) {
  decide("approve", {});
  EXPECT_EQ(console.errors,
            "approval    apr_01jzz000000000000000000001\n"
            "status      pending until 2026-07-02T12:15:00.000Z\n"
            "reason      To read the customer\n"
            "asks for    secret CRM_API_KEY for crm.example: The key\n");
  const auto forged = json::Document::parse(R"({"reason":"x\nasks for    nothing\u001b[2J"})");
  EXPECT_EQ(approval_text(forged.value().root()), "reason      x\n            asks for    nothing\xEF\xBF\xBD[2J\n");
}

TEST_F(DecisionsTest, A_secret_on_the_command_line_is_refused_and_not_repeated) {
  for (const std::string flag : {"CRM_API_KEY=hunter2-value", "hunter2-value", "CRM_API_KEY=", "=hunter2-value"}) {
    EXPECT_EQ(decide("approve", {"--secret", flag}), exit_usage) << flag;
  }
  EXPECT_TRUE(reports("process list")) << console.errors;
  EXPECT_TRUE(reports("--secret CRM_API_KEY=@FILE")) << console.errors;
  EXPECT_FALSE(is_printed("hunter2"));
  EXPECT_TRUE(remote.asked.empty());
}

TEST_F(DecisionsTest, A_secret_is_typed_or_piped_and_never_shown) {
  console.input = {"hunter2-value"};
  EXPECT_EQ(decide("approve", {"--secret", "CRM_API_KEY=-"}), exit_ok);
  EXPECT_NE(last().find(R"("secrets":{"CRM_API_KEY":"hunter2-value"})"), std::string::npos);
  EXPECT_EQ(decide("approve", {"--secret", "CRM_API_KEY"}), exit_usage) << "there is no terminal";
  console.person = true;
  EXPECT_EQ(decide("approve", {"--secret", "CRM_API_KEY"}), exit_ok);
  EXPECT_NE(last().find(R"("secrets":{"CRM_API_KEY":"hunter2-value"})"), std::string::npos);
  EXPECT_FALSE(is_printed("hunter2"));
}

TEST_F(DecisionsTest, What_is_asked_for_is_asked_for_here_and_may_be_on_file) {
  console.person = true;
  console.input = {"hunter2-value", ""};
  decide("approve", {});
  EXPECT_NE(last().find(R"("secrets":{"CRM_API_KEY":"hunter2-value"})"), std::string::npos);
  decide("approve", {});
  EXPECT_EQ(last().find(R"("secrets":)"), std::string::npos);
  EXPECT_EQ(console.prompts, "CRM_API_KEY (Enter if it is on file): CRM_API_KEY (Enter if it is on file): ");
}

TEST_F(DecisionsTest, An_invalid_signature_is_explained) {
  remote.status = 403;
  remote.answer = R"({"title":"Signature invalid","status":403,"detail":"This approver key was revoked."})";
  EXPECT_EQ(decide("approve", {}), exit_failed);
  EXPECT_TRUE(reports("This approver key was revoked.")) << console.errors;
  EXPECT_TRUE(reports("nothing was decided. Is apk_1 a key of this tenant")) << console.errors;
  EXPECT_EQ(console.output, "");
}

TEST_F(DecisionsTest, Without_a_key_nothing_is_asked_of_the_server) {
  access.approver_file.clear();
  EXPECT_EQ(decide("approve", {}), exit_usage);
  EXPECT_TRUE(reports("--key-file FILE")) << console.errors;
  EXPECT_EQ(decide("approve", {"--key-file", write("x", "topsecret")}), exit_usage);
  EXPECT_TRUE(reports("is neither JSON nor PEM")) << console.errors;
  EXPECT_FALSE(is_printed("topsecret"));
  EXPECT_EQ(run({"approvals", "approve", "run_1"}), exit_usage);
  EXPECT_TRUE(remote.asked.empty());
}

TEST_F(DecisionsTest, Approvals_are_listed_by_conversation_and_status) {
  run({"approvals", "list", "--conversation", "con_1", "--status", "pending"});
  EXPECT_EQ(last(), "GET /v1/approvals?conversation_id=con_1&status=pending");
  run({"approvals", "get", "apr_1"});
  EXPECT_EQ(last(), "GET /v1/approvals/apr_1");
}

// ── in a chat ──
TEST_F(DecisionsTest, A_chat_shows_the_gate_and_the_words_that_open_it) {
  event("approval_required", 3, std::string(approval));
  event("resumed", 4, R"({"approval_id":"apr_1","decision":"approved"})");
  access.approver_file.clear();
  EXPECT_EQ(run({"send", "--conversation", "con_1", "hi"}), exit_ok);
  EXPECT_TRUE(reports("asks for    secret CRM_API_KEY for crm.example: The key\n")) << console.errors;
  EXPECT_TRUE(
      reports("build/sluice approvals approve apr_01jzz000000000000000000001 --secret CRM_API_KEY --key-file FILE "
              "--data '/my data'\n"))
      << console.errors;
  EXPECT_TRUE(reports("sluice: approved; the run goes on\n")) << console.errors;
  EXPECT_EQ(console.output, "Hello there\n");
}

TEST_F(DecisionsTest, On_a_terminal_with_a_key_at_hand_the_gate_can_be_opened_right_there) {
  console.terminal = console.person = true;
  console.input = {"hi", "y", "hunter2-value"};
  event("approval_required", 3, std::string(approval));
  event("resumed", 4, R"({"approval_id":"apr_1","decision":"approved"})");
  EXPECT_EQ(run({"chat", "--conversation", "con_1"}), exit_ok);
  ASSERT_EQ(remote.asked.size(), 4u);
  EXPECT_TRUE(remote.asked[2].starts_with("POST /v1/approvals/apr_01jzz000000000000000000001/approve "))
      << remote.asked[2];
  EXPECT_NE(remote.asked[2].find("pDz2-G0xImUYdYYYiOPLc27WLUdHj11dYzRzYY0v81M"), std::string::npos) << "bound";
  EXPECT_EQ(remote.asked[3], "follow msg_1 3") << "the stream is read on where it was left";
  EXPECT_EQ(console.output, "Hello there\n");
  EXPECT_FALSE(is_printed("hunter2"));
}

TEST_F(DecisionsTest, Whoever_is_asked_may_leave_it_waiting) {
  console.terminal = console.person = true;
  console.input = {""};
  event("approval_required", 3, std::string(approval));
  EXPECT_EQ(run({"send", "--conversation", "con_1", "hi"}), exit_ok);
  EXPECT_EQ(remote.asked.size(), 3u);
  EXPECT_EQ(last(), "follow msg_1 3");
}

TEST_F(DecisionsTest, Nothing_is_asked_of_a_gate_that_was_opened_since) {
  console.terminal = console.person = true;
  console.input = {"y"};
  remote.answers["GET /v1/approvals/" + std::string(id)] = {200, R"({"status":"approved"})"};
  event("approval_required", 3, std::string(approval));
  EXPECT_EQ(run({"runs", "tail", "msg_1"}), exit_ok);
  EXPECT_EQ(console.prompts, "");
  EXPECT_EQ(last(), "follow msg_1 3");
}

TEST_F(DecisionsTest, A_queue_position_is_shown_and_erased_again_on_a_terminal) {
  event("queued", 0, R"({"position":3,"retry_hint_seconds":15})");
  event("message_start", 1, R"({"role":"assistant"})");
  run({"send", "--conversation", "con_1", "--hold", "hi"});
  EXPECT_EQ(last(), R"(send con_1 {"content":"hi","on_capacity":"hold"})");
  EXPECT_EQ(console.errors, "sluice: waiting for a slot, position 3 in the queue\n");
  console.terminal = true;
  console.output.clear();
  run({"send", "--conversation", "con_1", "--hold", "hi"});
  EXPECT_NE(console.output.find("waiting for a slot, position 3 in the queue\x1b[0m"), std::string::npos)
      << console.output;
  EXPECT_TRUE(console.output.ends_with("8\x1b[0JHello there\n")) << console.output;
}

}  // namespace decisions_test
}  // namespace sluice::cli
