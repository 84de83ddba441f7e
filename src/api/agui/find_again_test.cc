// Runs and threads are found by the client's names for them, and cancelled by those (H-2).
#include "api/agui/agui_fixture.h"

namespace sluice::api::agui {
namespace find_again_test {

class FindAgainTest : public AguiTest {
 protected:
  void talk(const std::string& run_id, const std::string& said, const std::string& answer) {
    start(run_id, user(said));
    agent_says(answer);
    agent_finishes();
  }
};

TEST_F(FindAgainTest, H_2_a_run_is_joined_from_any_place_of_it) {
  const auto stream = start("r1", user("hello"), R"(,"data":{})");
  agent_says("Hi.");
  const auto joined = get("/agui?runId=r1&offset=-1");
  EXPECT_EQ(joined->header("Content-Type"), "text/event-stream");
  agent_finishes();
  EXPECT_EQ(joined->body, stream->body) << "TanStack's client is who comes by GET";
  const auto rest = get("/agui?runId=r1&threadId=t1&offset=r1-2");
  EXPECT_TRUE(rest->body.starts_with("id: r1-3\n")) << rest->body;
  EXPECT_TRUE(stream->body.ends_with(rest->body));
  net::Headers headers;
  headers.add("Last-Event-ID", "r1-2");
  EXPECT_EQ(ask_as("GET", "/agui?runId=r1&offset=-1", {.key = acme.key, .body = "", .headers = headers})->body,
            rest->body)
      << "the header is the newer word";
}

TEST_F(FindAgainTest, A_run_must_be_named_and_a_place_in_it) {
  start("r1", user("hello"));
  EXPECT_EQ(get("/agui")->status, 400);
  EXPECT_EQ(get("/agui?runId=r1")->status, 400);
  expect_refused(get("/agui?runId=r1&offset=r2-1"), "offset");
  EXPECT_EQ(get("/agui?runId=r2&offset=-1")->status, 404);
  EXPECT_EQ(get("/agui?runId=r1&threadId=t2&offset=-1")->status, 404);
  EXPECT_EQ(ask_as("GET", "/agui?runId=r1&offset=-1", {.key = other.key})->status, 404);
}

TEST_F(FindAgainTest, H_2_a_thread_is_returned_in_the_form_of_its_client) {
  talk("r1", "one", "First.");
  start("r2", user("two"));
  agent_says("Second");
  const auto thread = get("/agui?threadId=t1");
  EXPECT_EQ(thread->status, 200);
  EXPECT_EQ(thread->member("activeRun"), R"({"runId":"r2"})");
  EXPECT_EQ(thread->member("interrupts"), "null");
  EXPECT_EQ(thread->member("page"), R"({"truncated":false})");
  EXPECT_NE(thread->member("messages").find(R"("role":"user","parts":[{"type":"text","content":"one"}])"),
            std::string::npos)
      << thread->body;
  const auto messages = get("/agui?threadId=t1&protocolVersion=1.0")->member("messages");
  EXPECT_NE(messages.find(R"("role":"user","content":"one")"), std::string::npos) << messages;
  EXPECT_LT(messages.find("First."), messages.find(R"("content":"two")"));
  EXPECT_EQ(messages.find("Second"), std::string::npos) << "a client that joins the run gets it as a stream";
  agent_finishes();
  EXPECT_TRUE(has(get("/agui?threadId=t1&protocolVersion=1.0"), "Second"));
  EXPECT_EQ(get("/agui?threadId=t1")->member("activeRun"), "null");
}

TEST_F(FindAgainTest, A_thread_without_messages_is_empty) {
  const std::string empty = R"({"messages":[],"activeRun":null,"interrupts":null,"page":{"truncated":false}})";
  EXPECT_EQ(get("/agui?threadId=t1")->body, empty);
  talk("r1", "one", "First.");
  EXPECT_EQ(ask_as("GET", "/agui?threadId=t1", {.key = other.key})->body, empty) << "and another tenant's is another";
}

TEST_F(FindAgainTest, A_long_thread_comes_in_pages) {
  for (const auto& name : Texts{"1", "2", "3"}) talk("r" + name, "said" + name, "answer" + name);
  const auto newest = get("/agui?threadId=t1&limit=2");
  EXPECT_TRUE(has(newest, "answer2") && has(newest, "answer3") && !has(newest, "answer1")) << newest->body;
  const auto page = newest->member("page");
  EXPECT_TRUE(page.starts_with(R"({"truncated":true,"cursor":"run_)")) << page;
  const auto cursor = page.substr(page.find("run_"), 30);
  const auto oldest = get("/agui?threadId=t1&limit=2&before=" + cursor);
  EXPECT_TRUE(has(oldest, "answer1") && !has(oldest, "answer2")) << oldest->body;
  EXPECT_EQ(oldest->member("page"), R"({"truncated":false})");
  for (const auto& wrong : Texts{"limit=0", "limit=101", "limit=x", "before=r1"}) {
    EXPECT_EQ(get("/agui?threadId=t1&" + wrong)->status, 422) << wrong;
  }
}

TEST_F(FindAgainTest, I_14_a_thread_shows_what_waits_until_it_is_answered) {
  allow_unsigned();
  start_and_ask("r1", {an_action()});
  const auto waiting = get("/agui?threadId=t1");
  EXPECT_EQ(waiting->member("activeRun"), "null");
  EXPECT_TRUE(waiting->member("interrupts").starts_with(R"({"runId":"r1","pending":[{"id":")" + approval + "\""))
      << waiting->body;
  resume("r2", R"({"interruptId":")" + approval + R"(","status":"resolved","payload":true})");
  const auto going = get("/agui?threadId=t1");
  EXPECT_EQ(going->member("interrupts"), "null");
  EXPECT_EQ(going->member("activeRun"), R"({"runId":"r2"})") << "the newest of the client's names";
}

TEST_F(FindAgainTest, H_2_a_thread_shows_what_an_active_run_sent_before_it_waited) {
  start("r1", user("one"));
  agent_says("Before.");
  agent_asks({a_call("toolu_a")});
  EXPECT_TRUE(has(get("/agui?threadId=t1"), "Before.")) << "no client can join a run that waits";
  EXPECT_EQ(start("r2", user("one") + "," + result("toolu_a", "mine"))->status, 200);
  agent_says(R"({"id":"toolu_a","name":"pick","status":"succeeded","result":"mine"})", model::EventKind::step);
  agent_says("After.");
  const auto going = get("/agui?threadId=t1&protocolVersion=1.0");
  EXPECT_TRUE(has(going, "Before.") && !has(going, "After.")) << going->body;
  EXPECT_TRUE(has(going, R"("toolCallId":"toolu_a","content":"mine")")) << "no stream repeats it: " << going->body;
}

TEST_F(FindAgainTest, H_2_what_was_answered_anew_is_not_shown_any_more) {
  talk("r1", "one", "First.");
  talk("r2", "two", "Second.");
  talk("r3", "one", "Anew.");
  const auto thread = get("/agui?threadId=t1");
  EXPECT_TRUE(has(thread, "Anew.") && !has(thread, "First.") && !has(thread, "Second.")) << thread->body;
  EXPECT_TRUE(agent.last.history.empty());
}

TEST_F(FindAgainTest, Messages_sent_by_v1_are_part_of_the_thread) {
  const auto first = start("r1", user("one"));
  agent_finishes();
  const auto conversation = get("/v1/runs/" + first->header("X-Run-Id"))->text("conversation_id");
  send(conversation, "from elsewhere");
  agent_says("Heard.");
  const auto thread = get("/agui?threadId=t1");
  EXPECT_TRUE(has(thread, "from elsewhere") && has(thread, "Heard.")) << thread->body;
  EXPECT_TRUE(thread->member("activeRun").starts_with(R"({"runId":"run_)")) << "no client gave it another name";
}

TEST_F(FindAgainTest, H_2_a_run_is_cancelled_by_its_name) {
  const auto stream = start("r1", user("hello"));
  EXPECT_EQ(remove("/agui?runId=r2")->status, 404);
  EXPECT_EQ(remove("/agui?runId=r1&threadId=t2")->status, 404);
  EXPECT_EQ(ask_as("DELETE", "/agui?runId=r1", {.key = other.key})->status, 404);
  expect_refused(remove("/agui"), "runId");
  const auto gone = remove("/agui?runId=r1&threadId=t1");
  EXPECT_EQ(gone->status, 200);
  EXPECT_EQ(gone->body, R"({"threadId":"t1","runId":"r1","status":"cancelled"})");
  EXPECT_TRUE(stream->finished);
  talk("r3", "x", "y");
  EXPECT_EQ(remove("/agui?runId=r3")->slug(), "run-finished");
}

}  // namespace find_again_test
}  // namespace sluice::api::agui
