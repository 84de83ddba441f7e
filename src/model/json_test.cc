#include "model/json.h"

#include <gtest/gtest.h>

namespace sluice::model {
namespace json_test {

constexpr std::string_view some_ulid = "01hzx8c0000000000000000001";

template <typename AnyId>
AnyId some_id() {
  return AnyId{*parse_ulid(some_ulid)};
}

constexpr Timestamp ten_o_clock = {1'782'986'404'000};

Message answer() {
  return {.id = some_id<MessageId>(),
          .conversation_id = some_id<ConversationId>(),
          .role = Role::assistant,
          .content = "You have three open jobs today: two installations and one repair visit.",
          .usage = Usage{1830, 24},
          .created_at = ten_o_clock};
}

// I-10: the fields and their order are those of the contract's example of a plain reply.
TEST(MessageJson, Is_spelt_as_the_contract_spells_it) {
  EXPECT_EQ(
      to_json(answer()),
      R"({"object":"message","id":"msg_01hzx8c0000000000000000001",)"
      R"("conversation_id":"con_01hzx8c0000000000000000001","role":"assistant",)"
      R"("content":"You have three open jobs today: two installations and one repair visit.",)"
      R"("parts":[{"type":"text","text":"You have three open jobs today: two installations and one repair visit."}],)"
      R"("repository_id":null,"skill_ids":null,"env":null,"status":"completed",)"
      R"("usage":{"input_tokens":1830,"output_tokens":24},"created_at":"2026-07-02T10:00:04.000Z"})");
}

TEST(MessageJson, Says_all_that_a_message_may_carry) {
  Message message = answer();
  message.role = Role::user;
  message.content = "";
  message.repository_id = "rep_1";
  message.skill_ids = std::vector<std::string>{"a", "b\"c"};
  message.env = Metadata{{"A", "1"}, {"B \n", ""}};
  message.status = MessageStatus::in_progress;
  message.usage = std::nullopt;
  EXPECT_EQ(to_json(message), R"({"object":"message","id":"msg_01hzx8c0000000000000000001",)"
                              R"("conversation_id":"con_01hzx8c0000000000000000001","role":"user","content":"",)"
                              R"("parts":[],"repository_id":"rep_1","skill_ids":["a","b\"c"],)"
                              R"("env":{"A":"1","B \n":""},"status":"in_progress","usage":null,)"
                              R"("created_at":"2026-07-02T10:00:04.000Z"})");
}

// I-25: instead of variables, the name of an environment.
TEST(MessageJson, An_environment_may_be_named) {
  Message message = answer();
  message.env_name = "build";
  EXPECT_NE(to_json(message).find(R"("env":"build")"), std::string::npos);
  const auto read = message_from_json(to_json(message));
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().env_name, "build");
  EXPECT_FALSE(read.value().env);
}

// I-9: what the store reads back is sent again as the same bytes.
TEST(MessageJson, Comes_back_as_the_same_bytes) {
  Message plain = answer();
  Message full = answer();
  full.content = "quotes \" and \\ and \n and é€😀";
  full.repository_id = "";
  full.skill_ids = std::vector<std::string>{};
  full.env = std::map<std::string, std::string>{};
  full.status = MessageStatus::awaiting_approval;
  full.usage = std::nullopt;
  Message failed = answer();
  failed.status = MessageStatus::failed;
  failed.skill_ids = std::vector<std::string>{"one", "two"};
  failed.env = Metadata{{"KEY", "value"}};
  failed.role = Role::system;
  Message named = answer();
  named.env_name = "build";
  for (const auto& message : {plain, full, failed, named}) {
    auto read = message_from_json(to_json(message));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(read.value()), to_json(message));
  }
}

TEST(MessageJson, Anything_else_is_corrupt) {
  const std::string good = to_json(answer());
  for (const std::string_view word :
       {"msg_01", "con_01", "\"assistant\"", "\"completed\"", "2026-07", "\"content\":"}) {
    std::string bad = good;
    bad[bad.find(word) + 1] = '!';
    auto read = message_from_json(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
  }
  for (const std::string_view text : {"", "null", "[]", "{}", "{"}) EXPECT_FALSE(message_from_json(text)) << text;
}

TEST(ConversationJson, Is_spelt_in_one_way) {
  Conversation conversation{.id = some_id<ConversationId>(),
                            .tenant_id = some_id<TenantId>(),
                            .agent_id = some_id<AgentId>(),
                            .metadata = {{"b", "2"}, {"a", "1"}},
                            .last_message_at = {1},
                            .created_at = {0},
                            .updated_at = {2}};
  conversation.runtime.agent_type = "native";
  EXPECT_EQ(to_json(conversation),
            R"({"object":"conversation","id":"con_01hzx8c0000000000000000001",)"
            R"("tenant_id":"tnt_01hzx8c0000000000000000001","agent_id":"agt_01hzx8c0000000000000000001",)"
            R"("user_id":null,"title":null,"metadata":{"a":"1","b":"2"},"filler":null,"repository_id":null,)"
            R"("runtime":{"agent_type":"native","mode":"pooled","sticky_ttl_seconds":null,"sandbox_state":"none",)"
            R"("expires_at":null},"status":"active","last_message_at":"1970-01-01T00:00:00.001Z",)"
            R"("created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.002Z"})");
  conversation.filler_enabled = false;
  conversation.user_id = "u";
  conversation.title = "t";
  conversation.status = ConversationStatus::archived;
  const std::string text = to_json(conversation);
  EXPECT_NE(text.find(R"("user_id":"u","title":"t",)"), std::string::npos);
  EXPECT_NE(text.find(R"("filler":{"enabled":false})"), std::string::npos);
  EXPECT_NE(text.find(R"("status":"archived")"), std::string::npos);
}

TEST(RunJson, Is_spelt_in_one_way) {
  model::Run run{.id = some_id<RunId>(),
                 .tenant_id = some_id<TenantId>(),
                 .conversation_id = some_id<ConversationId>(),
                 .user_message_id = some_id<MessageId>(),
                 .message_id = some_id<MessageId>(),
                 .agent_id = some_id<AgentId>(),
                 .state = RunState::streaming};
  EXPECT_EQ(to_json(run), R"({"object":"run","id":"run_01hzx8c0000000000000000001",)"
                          R"("tenant_id":"tnt_01hzx8c0000000000000000001",)"
                          R"("conversation_id":"con_01hzx8c0000000000000000001",)"
                          R"("user_message_id":"msg_01hzx8c0000000000000000001",)"
                          R"("message_id":"msg_01hzx8c0000000000000000001",)"
                          R"("agent_id":"agt_01hzx8c0000000000000000001","state":"streaming",)"
                          R"("created_at":"1970-01-01T00:00:00.000Z","ended_at":null})");
}

TEST(AgentJson, Is_spelt_in_one_way) {
  const Agent agent{.id = some_id<AgentId>(),
                    .tenant_id = some_id<TenantId>(),
                    .name = "support",
                    .system_prompt = "Be kind.",
                    .model = {.provider = "offline", .name = "offline"},
                    .skill_ids = {some_id<SkillId>()},
                    .environment_id = some_id<EnvironmentId>(),
                    .is_default = true};
  EXPECT_EQ(
      to_json(agent),
      R"({"object":"agent","id":"agt_01hzx8c0000000000000000001","tenant_id":"tnt_01hzx8c0000000000000000001",)"
      R"("name":"support","system_prompt":"Be kind.",)"
      R"("model":{"provider":"offline","name":"offline","base_url":null,"key_alias":null},)"
      R"("limits":{"max_output_tokens":8192,"max_runtime_seconds":28800,"max_history_messages":200},)"
      R"("skill_ids":["skl_01hzx8c0000000000000000001"],"environment_id":"env_01hzx8c0000000000000000001",)"
      R"("policy":[],"agent_type":"native","command":[],"mcp_servers":[],"tools":[],"code_mode":false,)"
      R"("workspace":"none","is_default":true,"created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"})");
}

// I-25
TEST(MaterialJson, Is_spelt_in_one_way) {
  Repository repository{.id = some_id<RepositoryId>(),
                        .tenant_id = some_id<TenantId>(),
                        .name = "code",
                        .url = "https://git.example/code.git",
                        .ref = "main",
                        .credential_alias = "GIT_TOKEN"};
  EXPECT_EQ(to_json(repository),
            R"({"object":"repository","id":"rep_01hzx8c0000000000000000001",)"
            R"("tenant_id":"tnt_01hzx8c0000000000000000001","name":"code","url":"https://git.example/code.git",)"
            R"("ref":"main","depth":1,"credential":"GIT_TOKEN","created_at":"1970-01-01T00:00:00.000Z",)"
            R"("updated_at":"1970-01-01T00:00:00.000Z"})");
  repository.ref = "";
  EXPECT_NE(to_json(repository).find(R"("ref":null)"), std::string::npos);
  const Skill skill{.id = some_id<SkillId>(),
                    .tenant_id = some_id<TenantId>(),
                    .name = "pdf",
                    .description = "Reads \"PDF\"",
                    .sha256 = "ab",
                    .size_bytes = 12,
                    .file_count = 2};
  EXPECT_EQ(to_json(skill),
            R"({"object":"skill","id":"skl_01hzx8c0000000000000000001",)"
            R"("tenant_id":"tnt_01hzx8c0000000000000000001","name":"pdf","description":"Reads \"PDF\"",)"
            R"("sha256":"ab","size":12,"file_count":2,"created_at":"1970-01-01T00:00:00.000Z",)"
            R"("updated_at":"1970-01-01T00:00:00.000Z"})");
  const Environment environment{
      .id = some_id<EnvironmentId>(), .tenant_id = some_id<TenantId>(), .name = "build", .variables = {{"A", "1"}}};
  EXPECT_EQ(to_json(environment),
            R"({"object":"environment","id":"env_01hzx8c0000000000000000001",)"
            R"("tenant_id":"tnt_01hzx8c0000000000000000001","name":"build","variables":{"A":"1"},"script":null,)"
            R"("created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"})");
  const RunFile file{.id = some_id<FileId>(), .run_id = some_id<RunId>(), .name = "a.txt", .sha256 = "cd"};
  EXPECT_EQ(to_json(file),
            R"({"object":"file","id":"fil_01hzx8c0000000000000000001","run_id":"run_01hzx8c0000000000000000001",)"
            R"("execution_id":null,"name":"a.txt","size":0,"sha256":"cd","created_at":"1970-01-01T00:00:00.000Z"})");
}

// A-5: one file, as the workspace's API shows it and as the Assistant does.
TEST(ObjectJson, A_bag_file_has_its_two_spellings) {
  const BagFile file{.id = some_id<FileId>(),
                     .chat_id = some_id<ConversationId>(),
                     .name = "a.csv",
                     .type = "text/csv",
                     .size_bytes = 3,
                     .sha256 = "cd",
                     .source = FileSource::sandbox,
                     .created_at = ten_o_clock};
  EXPECT_EQ(to_json(file),
            R"({"object":"file","id":"fil_01hzx8c0000000000000000001","chat_id":"con_01hzx8c0000000000000000001",)"
            R"("name":"a.csv","type":"text/csv","size_bytes":3,"sha256":"cd","source":"sandbox",)"
            R"("created_at":"2026-07-02T10:00:04.000Z"})");
  std::string out;
  json::Writer writer(out);
  append_chat_file(writer, file);
  EXPECT_EQ(out,
            R"({"id":"fil_01hzx8c0000000000000000001","object":"file","chatId":"con_01hzx8c0000000000000000001",)"
            R"("name":"a.csv","type":"text/csv","size":3,"sha256":"cd","source":"sandbox","createdAt":1782986404000,)"
            R"("url":"/api/assistant/files/fil_01hzx8c0000000000000000001"})");
}

// I-18: ids and algorithm, never the secret.
TEST(KeyJson, Shows_nothing_secret) {
  const ServiceKey service{.id = some_id<ServiceKeyId>(),
                           .name = "host",
                           .secret_sha256 = "SECRET-HASH",
                           .hint = "wxyz",
                           .revoked_at = ten_o_clock};
  const ApproverKey approver{.id = some_id<ApproverKeyId>(), .material = "SECRET-MATERIAL"};
  EXPECT_EQ(to_json(service).find("SECRET"), std::string::npos);
  EXPECT_EQ(to_json(approver).find("SECRET"), std::string::npos);
  EXPECT_NE(to_json(service).find(R"("hint":"wxyz")"), std::string::npos);
  EXPECT_NE(to_json(service).find(R"("revoked_at":"2026-07-02T10:00:04.000Z")"), std::string::npos);
  EXPECT_NE(to_json(approver).find(R"("key_id":"apk_01hzx8c0000000000000000001")"), std::string::npos);
  EXPECT_NE(to_json(approver).find(R"("algorithm":"hmac-sha256")"), std::string::npos);
}

TEST(TenantJson, Is_spelt_in_one_way) {
  const Tenant tenant{.id = some_id<TenantId>(), .name = "demo", .status = TenantStatus::suspended};
  EXPECT_EQ(to_json(tenant),
            R"({"object":"tenant","id":"tnt_01hzx8c0000000000000000001","name":"demo",)"
            R"("status":"suspended","settings":{"filler_enabled":false,"weight":1,"max_running":0,)"
            R"("max_held":0,"max_concurrent_sticky":5,"max_sticky_ttl_seconds":3600,)"
            R"("require_bound_decisions":false,"agui_unsigned_approvals":false,"webhook_url":null},"metadata":{},)"
            R"("created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"})");
}

TEST(Names, Lead_there_and_back) {
  for (int i = 0; i < run_state_count; ++i) {
    EXPECT_EQ(run_state_named(name_of(static_cast<RunState>(i))), static_cast<RunState>(i));
  }
  EXPECT_EQ(signature_algorithm_named("ed25519"), SignatureAlgorithm::ed25519);
  EXPECT_EQ(tenant_status_named("suspended"), TenantStatus::suspended);
  EXPECT_EQ(conversation_status_named("archived"), ConversationStatus::archived);
  EXPECT_EQ(role_named("assistant"), Role::assistant);
  EXPECT_FALSE(role_named("Assistant"));
  EXPECT_FALSE(run_state_named(""));
}

// I-10: a message's status is a function of its run's state.
TEST(MessageStatus, Follows_the_state_of_the_run) {
  EXPECT_EQ(message_status(RunState::accepted), MessageStatus::in_progress);
  EXPECT_EQ(message_status(RunState::finishing), MessageStatus::in_progress);
  EXPECT_EQ(message_status(RunState::parked), MessageStatus::awaiting_approval);
  EXPECT_EQ(message_status(RunState::completed), MessageStatus::completed);
  EXPECT_EQ(message_status(RunState::failed), MessageStatus::failed);
  EXPECT_EQ(message_status(RunState::cancelled), MessageStatus::failed);
}

}  // namespace json_test
}  // namespace sluice::model
