#include <gtest/gtest.h>

#include "net/fake_client.h"
#include "notices/notices.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::notices {
namespace post_test {

class PostTest : public testing::Test {
 protected:
  PostTest() { make_tenant(tenant_, agent_, "https://host.example/hooks"); }

  void make_tenant(model::TenantId id, model::AgentId agent, const std::string& webhook_url) {
    model::Tenant tenant{.id = id, .name = id.text()};
    tenant.webhook_url = webhook_url;
    store::create_tenant(store_.database(), tenant, {.id = agent, .tenant_id = id, .is_default = true},
                         [](Result<Unit>) {});
    loop_.settle();
  }

  // A run parks: its notice is in the store from then on.
  model::NoticeId raise(std::string body) { return raise(std::move(body), tenant_, agent_); }
  model::NoticeId raise(std::string body, model::TenantId tenant, model::AgentId agent) {
    journal::NewRun made;
    const auto conversation = ids_.make<model::ConversationId>();
    made.conversation = model::Conversation{.id = conversation, .tenant_id = tenant, .agent_id = agent};
    made.user_message = {.id = ids_.make<model::MessageId>(), .conversation_id = conversation};
    made.assistant_message = {.id = ids_.make<model::MessageId>(), .conversation_id = conversation};
    made.run = {.id = ids_.make<model::RunId>(), .tenant_id = tenant, .conversation_id = conversation};
    made.run.user_message_id = made.user_message.id;
    made.run.message_id = made.assistant_message.id;
    made.events = {{model::EventKind::accepted, loop_.now(), "{}"}};
    journal::Append append{.run = made.run.id, .epoch = {1}, .head = {1}};
    append.events = {{model::EventKind::log, loop_.now(), "{}"}};
    const auto notice = ids_.make<model::NoticeId>();
    append.notices = {{notice, tenant, "approval.required", std::move(body), loop_.now()}};
    store_.accept(std::move(made), [](Result<journal::AcceptOutcome> outcome) { ASSERT_TRUE(outcome); });
    loop_.settle();
    store_.append(std::move(append), [](Result<journal::CommittedBatch> written) { ASSERT_TRUE(written); });
    loop_.settle();
    return notice;
  }
  Post& post() {
    if (!post_) post_ = make_post(options_, store_, client_, loop_, log_, metrics_);
    return *post_;
  }
  std::size_t due_count() {
    std::size_t count = 99;
    store::due_notices(store_.database(), {loop_.now().ms + 1'000'000'000}, 100,
                       [&](Result<std::vector<store::DueNotice>> due) { count = due.value().size(); });
    loop_.settle();
    return count;
  }

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  world::FakeLog log_;
  world::Metrics metrics_;
  store::SimulatedDatabase disk_;
  store::SimulatedStore store_{disk_, loop_};
  net::FakeClient client_{loop_};
  PostOptions options_{.signing_root = "root", .webhook_urls = {"https://host.example"}};
  model::TenantId tenant_ = ids_.make<model::TenantId>();
  model::AgentId agent_ = ids_.make<model::AgentId>();
  std::unique_ptr<Post> post_;
};

// I-14: a host need not poll for approvals.
TEST_F(PostTest, A_notice_is_sent_once_signed_with_what_only_the_tenant_knows) {
  const auto id = raise(R"({"approval":1})");
  client_.answer(net::FakeAnswer::whole(204, ""));
  post().nudge();
  loop_.advance({60'000});
  ASSERT_EQ(client_.requests.size(), 1U);
  const auto& request = client_.requests[0];
  EXPECT_EQ(request.method + " " + request.url, "POST https://host.example/hooks");
  EXPECT_EQ(request.body, R"({"approval":1})");
  EXPECT_EQ(request.headers.find("sluice-notice-id"), id.text());
  const auto signature_then = request.headers.find("sluice-signature");
  EXPECT_EQ(signature_then, signature(webhook_secret("root", tenant_), "1782986400", request.body));
  EXPECT_EQ(due_count(), 0U);
}

TEST_F(PostTest, A_refused_notice_is_sent_again_with_growing_delays_under_the_same_id) {
  const auto id = raise("{}");
  client_.answer(net::FakeAnswer::whole(500, "no"));
  client_.answer(net::FakeAnswer::connection_refused());
  client_.answer(net::FakeAnswer().head(200).wait(3'600'000));
  client_.answer(net::FakeAnswer::whole(200, "yes"));
  post().nudge();
  loop_.advance({999});
  EXPECT_EQ(client_.requests.size(), 1U);
  loop_.advance({1'000});
  EXPECT_EQ(client_.requests.size(), 2U);
  loop_.advance({900});
  EXPECT_EQ(client_.requests.size(), 2U) << "twice as long as the first time";
  loop_.advance({60'000});
  ASSERT_EQ(client_.requests.size(), 4U);
  for (const auto& request : client_.requests) EXPECT_EQ(request.headers.find("sluice-notice-id"), id.text());
  EXPECT_EQ(due_count(), 0U);
}

TEST_F(PostTest, A_notice_outlives_the_server_that_meant_to_send_it) {
  raise("{}");
  client_.answer(net::FakeAnswer().head(200).wait(3'600'000));
  post().nudge();
  loop_.advance({10});
  post_.reset();
  loop_.settle();
  client_.answer(net::FakeAnswer::whole(200, ""));
  post().nudge();
  loop_.advance({10});
  EXPECT_EQ(client_.requests.size(), 2U);
  EXPECT_EQ(due_count(), 0U);
}

TEST_F(PostTest, A_host_that_the_operator_does_not_allow_is_never_called) {
  options_.webhook_urls = {"https://other.example"};
  raise("{}");
  post().nudge();
  loop_.advance({100});
  EXPECT_TRUE(client_.requests.empty());
  EXPECT_EQ(due_count(), 1U) << "it waits for the operator to think again";
}

TEST_F(PostTest, I_17_hosts_that_only_the_star_allows_are_called_at_public_addresses_only) {
  for (const bool is_named : {false, true}) {
    client_.requests.clear();
    options_.webhook_urls = {"*"};
    if (is_named) options_.webhook_urls.emplace_back("https://host.example/hooks");
    post_.reset();
    raise("{}");
    client_.answer(net::FakeAnswer::whole(200, "yes"));
    post().nudge();
    loop_.advance({100});
    ASSERT_EQ(client_.requests.size(), 1U);
    EXPECT_EQ(client_.requests[0].public_addresses_only, !is_named);
  }
}

TEST_F(PostTest, After_a_day_a_notice_is_given_up) {
  raise("{}");
  post().nudge();
  loop_.advance({26LL * 3'600'000});
  EXPECT_EQ(due_count(), 0U);
  EXPECT_GT(client_.requests.size(), 20U);
}

TEST_F(PostTest, Many_are_sent_a_few_at_a_time_and_each_once) {
  for (int i = 0; i < 50; ++i) {
    raise("{}");
    client_.answer(net::FakeAnswer::whole(200, ""));
  }
  post().nudge();
  loop_.step();
  loop_.settle();
  EXPECT_LE(client_.calls_in_flight(), 8U);
  loop_.advance({1'000});
  EXPECT_EQ(client_.requests.size(), 50U);
  EXPECT_EQ(due_count(), 0U);
}

TEST_F(PostTest, A_tenant_whose_host_is_silent_does_not_make_another_tenant_wait) {
  const auto other = ids_.make<model::TenantId>();
  const auto its_agent = ids_.make<model::AgentId>();
  make_tenant(other, its_agent, "https://host.example/other");
  for (int i = 0; i < 70; ++i) raise("silent");
  raise("other", other, its_agent);
  client_.answer(net::FakeAnswer().wait(3'600'000));
  client_.answer(net::FakeAnswer::whole(200, ""));
  client_.answer(net::FakeAnswer().wait(3'600'000));
  post().nudge();
  loop_.advance({100});
  ASSERT_EQ(client_.requests.size(), 3U) << "two of one tenant, and one of the other";
  EXPECT_EQ(client_.requests[1].body, "other") << "each tenant has one notice sent before any has two";
}

}  // namespace post_test
}  // namespace sluice::notices
