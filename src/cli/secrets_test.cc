// Secrets on file (I-17).
#include "cli/folder_fixture.h"

namespace sluice::cli {
namespace secrets_test {

using SecretsTest = FolderTest;

TEST_F(SecretsTest, A_secret_is_of_the_tenant_unless_a_flag_says_otherwise) {
  const auto file = write("crm.key", "hunter2-value\r\n");
  EXPECT_EQ(run({"secrets", "set", "CRM_API_KEY", "@" + file}), exit_ok);
  EXPECT_EQ(last(), R"(PUT /v1/secrets {"secrets":{"CRM_API_KEY":{"value":"hunter2-value"}}})");
  run({"secrets", "set", "A", "@" + file, "--conversation", "con_1", "--host", "a.example", "--host", "*.b.example",
       "--place", "header"});
  EXPECT_EQ(last(), R"(PUT /v1/conversations/con_1/secrets {"secrets":{"A":{"value":"hunter2-value",)"
                    R"("hosts":["a.example","*.b.example"],"places":["header"]}}})");
  run({"secrets", "list", "--agent", "agt_1"});
  EXPECT_EQ(last(), "GET /v1/agents/agt_1/secrets");
  run({"secrets", "delete", "A", "--agent", "agt_1"});
  EXPECT_EQ(last(), "DELETE /v1/agents/agt_1/secrets/A");
  EXPECT_EQ(run({"secrets", "list", "--agent", "agt_1", "--conversation", "con_1"}), exit_usage);
}

TEST_F(SecretsTest, A_value_comes_from_a_file_a_pipe_or_a_person_and_is_not_printed) {
  console.input = {"hunter2-value"};
  EXPECT_EQ(run({"secrets", "set", "A", "-"}), exit_ok);
  EXPECT_EQ(run({"secrets", "set", "A"}), exit_ok) << "standard input is a pipe";
  console.person = true;
  EXPECT_EQ(run({"secrets", "set", "A"}), exit_ok);
  for (const auto& request : remote.asked) {
    EXPECT_EQ(request, R"(PUT /v1/secrets {"secrets":{"A":{"value":"hunter2-value"}}})");
  }
  EXPECT_EQ(console.prompts, "A: ");
  EXPECT_EQ((console.output + console.errors).find("hunter2"), std::string::npos);
}

TEST_F(SecretsTest, A_value_on_the_command_line_is_refused_and_not_repeated) {
  EXPECT_EQ(run({"secrets", "set", "A", "hunter2-value"}), exit_usage);
  EXPECT_TRUE(reports("process list")) << console.errors;
  EXPECT_EQ(run({"secrets", "set", "hunter2-value"}), exit_usage);
  EXPECT_EQ(run({"secrets", "set", "A", "@/nowhere"}), exit_usage);
  EXPECT_EQ(run({"secrets", "set", "A", "@" + write("empty", "\n")}), exit_usage);
  EXPECT_EQ(run({"secrets", "set", "A", "@" + write("binary", "\xff\xfe\xfd\xfc")}), exit_usage);
  EXPECT_FALSE(reports("hunter2")) << console.errors;
  EXPECT_TRUE(remote.asked.empty());
}

}  // namespace secrets_test
}  // namespace sluice::cli
