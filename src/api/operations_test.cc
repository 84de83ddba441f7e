#include "api/api_fixture.h"
#include "api/request/request_context.h"
#include "api/routes.h"

namespace sluice::api {
namespace operations_test {

using OperationsTest = ApiTest;

TEST_F(OperationsTest, Health_is_ok_and_readiness_ends_with_the_drain) {
  EXPECT_EQ(ask_as("GET", "/healthz", {})->body, R"({"status":"ok"})");
  EXPECT_EQ(ask_as("GET", "/readyz", {})->body, R"({"status":"ready"})");
  const auto conversation = make_conversation();
  api->begin_drain();
  const auto answer = ask_as("GET", "/readyz", {});
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->header("Retry-After"), "1");
  EXPECT_EQ(ask_as("GET", "/healthz", {})->status, 200);
  EXPECT_EQ(send(conversation, "hello")->slug(), "unavailable");
  EXPECT_EQ(post("/v1/conversations", R"({"initial_message":{"content":"x"}})")->status, 503);
  EXPECT_EQ(agent.dispatch_count, 0);
  EXPECT_EQ(get("/v1/conversations/" + conversation)->status, 200);
}

// The next write is of unknown outcome, and from then on the database is out of reach.
struct Outage final : store::DatabaseWatch {
  std::optional<store::Fault> on_write(model::NodeId) override {
    is_over = false;
    return store::Fault::before_write;
  }
  bool reaches(model::NodeId) override { return is_over; }
  int news_copies(model::NodeId) override { return 1; }
  void on_moved(model::NodeId, const model::Run&) override {}
  bool is_over = true;
};

TEST_F(OperationsTest, A_store_that_cannot_be_written_is_not_ready_and_writes_are_503) {
  Outage outage;
  disk.be_watched(&outage);
  const auto answer = post("/v1/agents", R"({"name":"x"})");
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->slug(), "unavailable");
  EXPECT_EQ(answer->header("Retry-After"), "1");
  EXPECT_EQ(ask_as("GET", "/readyz", {})->status, 503);
  disk.be_watched(nullptr);
}

TEST_F(OperationsTest, A_write_of_unknown_outcome_is_503_and_the_next_one_is_taken) {
  disk.fail_write(0, store::Fault::before_write);
  EXPECT_EQ(post("/v1/agents", R"({"name":"x"})")->status, 503);
  EXPECT_EQ(ask_as("GET", "/readyz", {})->status, 200);
  EXPECT_EQ(post("/v1/agents", R"({"name":"x"})")->status, 201);
}

TEST_F(OperationsTest, A_store_that_does_not_answer_is_not_ready_until_it_does) {
  disk.hold_answers(true);
  EXPECT_EQ(ask_as("GET", "/readyz", {})->status, 200);
  loop.advance({1'500});
  const auto answer = ask_as("GET", "/readyz", {});
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->header("Retry-After"), "1");
  EXPECT_EQ(ask_as("GET", "/healthz", {})->status, 200);
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(ask_as("GET", "/readyz", {})->status, 200);
}

TEST_F(OperationsTest, Clients_without_a_key_cannot_fill_the_log) {
  const auto lines_of = [&](std::string_view words) {
    return std::ranges::count_if(log.lines, [&](const auto& line) { return line.find(words) != std::string::npos; });
  };
  for (int i = 0; i < 3'000; ++i) EXPECT_EQ(ask_as("GET", "/nope", {})->status, 404);
  EXPECT_LT(lines_of("request served"), 1'100);
  const auto before = lines_of("request served");
  EXPECT_EQ(get("/v1/agents")->status, 200);
  EXPECT_EQ(lines_of("request served"), before + 1) << "a tenant has a budget of its own";
  loop.advance({60'000});
  EXPECT_EQ(ask_as("GET", "/nope", {})->status, 404);
  EXPECT_TRUE(logged("requests left out of the log count=")) << "the sum is logged";
}

TEST_F(OperationsTest, A_tenant_cannot_fill_the_log) {
  for (int i = 0; i < 6'000; ++i) EXPECT_EQ(get("/v1/agents/x")->status, 404);
  const auto lines = std::ranges::count_if(
      log.lines, [](const auto& line) { return line.find("request served") != std::string::npos; });
  EXPECT_LT(lines, 5'200);
  EXPECT_GT(lines, 4'900);
}

TEST_F(OperationsTest, Nothing_is_created_while_the_disk_is_short) {
  world::DiskRoom disk_room("/tmp", INT64_MAX / 2, loop, metrics);
  const auto conversation = make_conversation();
  watched_disk = &disk_room;
  make_surfaces({});
  for (const auto* path : {"/v1/conversations", "/v1/agents", "/v1/skills", "/v1/environments"}) {
    const auto refused = post(path, "{}");
    EXPECT_EQ(refused->status, 503) << path;
    EXPECT_EQ(refused->header("Retry-After"), "30");
    EXPECT_NE(refused->body.find("limits.disk_free_bytes_min"), std::string::npos);
  }
  EXPECT_EQ(get("/v1/conversations/" + conversation)->status, 200);
  EXPECT_EQ(remove("/v1/conversations/" + conversation)->status, 204) << "that makes room";
  make_surfaces({});
}

TEST_F(OperationsTest, A_full_disk_is_503_and_worth_trying_again) {
  disk.fail_write(0, store::Fault::full);
  const auto answer = post("/v1/agents", R"({"name":"x"})");
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->header("Retry-After"), "1");
  EXPECT_EQ(post("/v1/agents", R"({"name":"x"})")->status, 201);
}

TEST_F(OperationsTest, Metrics_need_the_admin_key_unless_they_are_public) {
  EXPECT_EQ(ask_as("GET", "/metrics", {})->status, 401);
  const auto answer = admin("GET", "/metrics");
  EXPECT_EQ(answer->status, 200);
  EXPECT_NE(answer->body.find("sluice_api_requests_total{operation=\"getMetrics\",code=\"4xx\"} 1"), std::string::npos)
      << answer->body;
  make_surfaces({.metrics_public = true});
  EXPECT_EQ(ask_as("GET", "/metrics", {})->status, 200);
}

TEST_F(OperationsTest, Every_problem_has_a_page_that_runs_no_script) {
  for (const auto& entry : model::problem_registry()) {
    const auto page = ask_as("GET", "/problems/" + std::string(entry.name), {});
    EXPECT_EQ(page->status, 200) << entry.name;
    EXPECT_NE(page->body.find(entry.title), std::string::npos);
    EXPECT_EQ(page->header("Content-Security-Policy"), "default-src 'none'; style-src 'unsafe-inline'");
    EXPECT_EQ(page->header("X-Content-Type-Options"), "nosniff");
    EXPECT_NE(ask_as("GET", "/problems", {})->body.find("/problems/" + std::string(entry.name)), std::string::npos);
  }
  EXPECT_EQ(ask_as("GET", "/problems/no-such", {})->status, 404);
}

TEST_F(OperationsTest, The_home_page_says_the_version_and_the_openapi_file_is_served_I_23) {
  const auto home = ask_as("GET", "/", {});
  EXPECT_NE(home->body.find("1.2.3"), std::string::npos);
  EXPECT_NE(home->body.find("<title>Sluice</title>"), std::string::npos);
  const auto file = ask_as("GET", "/openapi.yaml", {});
  EXPECT_EQ(file->header("Content-Type"), "application/yaml");
  EXPECT_TRUE(file->body.starts_with("openapi: 3.1.0\n"));
  EXPECT_TRUE(file->body.ends_with("\n"));
}

TEST_F(OperationsTest, The_reference_has_every_operation_and_may_run_nothing_but_its_own_script_I_23) {
  const auto page = ask_as("GET", "/docs", {});
  EXPECT_EQ(page->header("Content-Type"), "text/html; charset=utf-8");
  for (const auto& route : routes()) {
    EXPECT_NE(page->body.find("<article id=\"" + std::string(route.operation) + "\""), std::string::npos)
        << route.operation;
  }
  const auto policy = page->header("Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; style-src 'sha256-")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(page->body.find("src="), std::string::npos) << "it needs nothing else";
  EXPECT_EQ(ask_as("GET", "/docs", {.headers = {{"Accept-Encoding", "gzip"}}})->header("Content-Encoding"), "gzip");
}

TEST_F(OperationsTest, A_request_that_net_refuses_is_answered_with_a_problem) {
  for (const int status : {400, 408, 413, 414, 417, 431, 501, 503, 505}) {
    log.lines.clear();
    const auto response = api->refusal(status, "Too \"slow\".");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.headers.find("Content-Type"), "application/problem+json");
    EXPECT_TRUE(response.headers.find("X-Request-Id")->starts_with("req_"));
    const auto document = json::Document::parse(response.body);
    ASSERT_TRUE(document) << response.body;
    EXPECT_EQ(document.value().root().find("status")->integer(), status);
    EXPECT_EQ(document.value().root().find("detail")->string(), "Too \"slow\".");
    const std::string type(*document.value().root().find("type")->string());
    ASSERT_TRUE(type.starts_with("http://test/problems/")) << type;
    EXPECT_EQ(ask_as("GET", type.substr(11), {})->status, 200) << type;
    EXPECT_TRUE(logged("info request refused status=" + std::to_string(status) + " detail=Too \"slow\"."));
    EXPECT_TRUE(logged("request_id=" + std::string(*response.headers.find("X-Request-Id"))));
  }
}

TEST(Traceparent, Only_what_W3C_allows_is_passed_on) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_TRUE(is_traceparent(good));
  EXPECT_TRUE(is_traceparent("cc" + good.substr(2) + "-later"));
  for (const auto& bad : Texts{"", good + "-x", "ff" + good.substr(2), "00-" + std::string(32, '0') + good.substr(35),
                               good.substr(0, 36) + std::string(16, '0') + "-01",
                               "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", good.substr(0, 54),
                               "cc" + good.substr(2) + "-\n" + good}) {
    EXPECT_FALSE(is_traceparent(bad)) << bad;
  }
}

}  // namespace operations_test
}  // namespace sluice::api
