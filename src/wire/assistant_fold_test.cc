#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "wire/agui_fixture.h"
#include "wire/frames_fixture.h"
#include "wire/wire.h"

namespace sluice::wire {
namespace assistant_fold_test {

using model::EventKind;
using Events = std::vector<model::RunEvent>;

constexpr std::string_view turn =
    R"({"request_id":"req_1","chat":{"attachments":[{"id":"fil_01h455vb4pex5vsknk084sn02q","name":"a <b>.csv",)"
    R"("type":"text/csv","size_bytes":12,"sha256":"ab","created_at_ms":7,"source":"sandbox"}],)"
    R"("keep_on_disconnect":true,"title":"Figures","created_at_ms":1782986400000}})";
constexpr std::string_view message =
    R"({"object":"message","id":"msg_01h455vb4pex5vsknk084sn02q","conversation_id":"con_01h455vb4pex5vsknk084sn02q",)"
    R"("role":"assistant","content":"Done.","parts":[{"type":"text","text":"Done."}],"status":"completed",)"
    R"("usage":{"input_tokens":3,"output_tokens":4},"created_at":"2026-07-02T10:00:01.000Z"})";

model::RunEvent event(EventKind kind, std::string_view body) { return {kind, {}, std::string(body)}; }

class AssistantFoldTest : public testing::Test {
 protected:
  std::string fold(const Events& events, int64_t after = -1) {
    AssistantFold fold(journals_.run(), after);
    std::string out;
    for (const auto& news : journals_.journal_of(events)) fold.apply(news, out);
    return out;
  }
  ChatHistory history_of(const Events& events) {
    ChatHistory history(journals_.run());
    for (const auto& news : journals_.journal_of(events)) history.apply(news);
    return history;
  }
  std::string answer_of(const Events& events) {
    std::string out;
    json::Writer writer(out);
    history_of(events).append_answer(writer);
    return out;
  }
  std::vector<Row> blocks_of(const Events& events) {
    const auto answer = json::Document::parse(answer_of(events));
    SLUICE_CHECK(answer);
    return rows_of(*answer.value().root().find("content"));
  }
  // A whole turn with these in the middle.
  static Events turn_with(Events between) {
    Events events = {event(EventKind::accepted, turn), event(EventKind::started, "")};
    for (auto& next : between) events.push_back(std::move(next));
    events.push_back(event(EventKind::completed, message));
    return events;
  }

  AguiJournals journals_;
};

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// SLUICE_WRITE_GOLDENS=1 in the environment writes them anew.
void expect_golden(const std::string& name, const std::string& stream) {
  const auto path = std::filesystem::path(SLUICE_SOURCE_DIR "/src/wire/testdata/assistant") / name;
  if (std::getenv("SLUICE_WRITE_GOLDENS") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << stream;
  }
  EXPECT_EQ(stream, content_of(path)) << name;
}

TEST_F(AssistantFoldTest, Every_story_is_sent_to_a_browser_and_kept_as_written_down_A_1_A_2) {  // A-1, A-2
  for (const auto& story : agui_stories()) {
    expect_golden(story.name + ".sse", fold(story.events));
    if (history_of(story.events).ended()) expect_golden(story.name + ".message.json", answer_of(story.events) + "\n");
  }
}

TEST_F(AssistantFoldTest, The_chat_is_the_first_frame_and_done_the_last_after_the_message_that_is_kept_A_7) {  // A-7
  const auto events = turn_with({event(EventKind::text, "Done.")});
  const auto& run = journals_.run();
  const auto kept = answer_of(events);
  EXPECT_EQ(fold(events),
            "id: 0\nevent: chat\ndata: {\"chatId\":\"" + run.conversation_id.text() + "\",\"streamId\":\"" +
                run.id.text() + "\",\"userMessageId\":\"" + run.user_message_id.text() + "\",\"messageId\":\"" +
                run.message_id.text() + "\",\"title\":\"Figures\",\"createdAt\":1782986400000}\n\n" +
                "id: 1\nevent: delta\ndata: {\"text\":\"Done.\"}\n\n" +
                "id: 2\nevent: result\ndata: {\"messageId\":\"" + run.message_id.text() + "\",\"message\":" + kept +
                ",\"usage\":{\"inputTokens\":3,\"outputTokens\":4}}\n\n" + "id: 3\nevent: done\ndata: {}\n\n");
}

TEST_F(AssistantFoldTest, A_client_that_returns_with_any_number_gets_the_rest_byte_for_byte) {
  for (const auto& story : agui_stories()) {
    auto rest = fold(story.events);
    for (int64_t after = -1; !rest.empty(); ++after) {
      EXPECT_EQ(fold(story.events, after), rest) << story.name << " after " << after;
      rest.erase(0, rest.find("\n\n") + 2);
    }
  }
}

TEST_F(AssistantFoldTest, Logs_are_for_the_trace_and_a_step_is_one_row_A_1) {
  const auto events = turn_with({
      event(EventKind::log, R"({"level":"info","text":"Loaded 3 skills"})"),
      event(EventKind::egress, R"({"host":"a.example","method":"GET","status":200})"),
      event(EventKind::call, R"({"id":"step_1","name":"bash"})"),
      event(EventKind::call, R"({"id":"step_1","args":"{\"command\":"})"),
      event(EventKind::step, R"({"id":"step_1","name":"bash","status":"running","args":{"command":"ls"}})"),
      event(EventKind::output, R"({"id":"step_1","stream":"stdout","text":"a\n"})"),
      event(EventKind::output, R"({"id":"step_1","stream":"stderr","text":"b\n"})"),
      event(EventKind::step, R"({"id":"step_1","name":"bash","status":"succeeded","result":{"n":1},"durationMs":3})"),
  });
  const auto text = fold(events);
  EXPECT_EQ(text.find("Loaded"), std::string::npos);
  EXPECT_EQ(text.find("a.example"), std::string::npos);
  FrameReducer browser;
  browser.feed(text);
  EXPECT_EQ(browser.types,
            (std::vector<std::string>{"chat", "step", "step", "output", "output", "step", "result", "done"}));
  const std::vector<Row> expected = {{{"type", R"("step")"},
                                      {"id", R"("step_1")"},
                                      {"name", R"("bash")"},
                                      {"status", R"("succeeded")"},
                                      {"args", R"({"command":"ls"})"},
                                      {"result", R"({"n":1})"},
                                      {"durationMs", "3"},
                                      {"output", R"("a\nb\n")"}}};
  EXPECT_EQ(browser.blocks(), expected);
  EXPECT_EQ(blocks_of(events), expected);
}

TEST_F(AssistantFoldTest, A_question_is_kept_with_the_files_that_came_along_A_5) {
  std::string out;
  json::Writer writer(out);
  history_of(turn_with({})).append_question(writer, "What \"is\" this?");
  const auto question = json::Document::parse(out);
  ASSERT_TRUE(question) << out;
  const auto row = row_of(question.value().root());
  EXPECT_EQ(row.at("role"), R"("user")");
  EXPECT_EQ(row.at("content"), R"([{"type":"text","text":"What \"is\" this?"}])");
  const auto chat = journals_.run().conversation_id.text();
  EXPECT_EQ(row.at("fileAttachments"),
            R"([{"id":"fil_01h455vb4pex5vsknk084sn02q","object":"file","chatId":")" + chat +
                R"(","name":"a <b>.csv","type":"text/csv","size":12,"sha256":"ab","source":"sandbox","createdAt":7,)"
                R"("url":"/api/assistant/files/fil_01h455vb4pex5vsknk084sn02q"}])");
}

TEST_F(AssistantFoldTest, Files_that_were_handed_back_are_told_as_the_bag_has_them_A_5) {
  const auto blocks = blocks_of(turn_with(
      {event(EventKind::custom,
             R"({"name":"sluice.assets","value":{"files":[{"id":"fil_01h455vb4pex5vsknk084sn02q","name":"a.csv",)"
             R"("type":"text/csv","size":3,"sha256":"ab"},{"id":"nonsense"}]}})")}));
  EXPECT_EQ(blocks[0].at("type"), R"("assets")");
  EXPECT_EQ(blocks[0].at("files"),
            R"([{"id":"fil_01h455vb4pex5vsknk084sn02q","object":"file","chatId":")" +
                journals_.run().conversation_id.text() +
                R"(","name":"a.csv","type":"text/csv","size":3,"sha256":"ab","source":"sandbox",)"
                R"("createdAt":1782986401002,"url":"/api/assistant/files/fil_01h455vb4pex5vsknk084sn02q"}])");
}

TEST_F(AssistantFoldTest, The_diff_of_the_run_alone_is_a_block_of_its_own_beside_the_whole_one) {
  const auto blocks =
      blocks_of(turn_with({event(EventKind::custom, R"({"name":"sluice.run-diff","value":{"diff":"own"}})"),
                           event(EventKind::diff, R"({"path":".","diff":"whole"})")}));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].at("type"), R"("run_diff")");
  EXPECT_EQ(blocks[0].at("diff"), R"("own")");
  EXPECT_EQ(blocks[1].at("type"), R"("diff")");
  EXPECT_EQ(blocks[1].at("diff"), R"("whole")");
}

TEST_F(AssistantFoldTest, What_is_too_long_to_be_shown_is_cut_at_a_characters_border_and_says_so) {
  std::string large = "x";
  while (large.size() < 2 * shown_bytes_max) large += "é";
  const auto quoted = json_text(large);
  const auto blocks = blocks_of(turn_with({
      event(EventKind::step,
            R"({"id":"s","name":"write","status":"running","args":{"path":"a","text":)" + quoted + "}}"),
      event(EventKind::output, R"({"id":"s","stream":"stdout","text":)" + quoted + "}"),
      event(EventKind::output, R"({"id":"s","stream":"stdout","text":"more"})"),
      event(EventKind::step, R"({"id":"s","name":"write","status":"succeeded","result":)" + quoted + "}"),
      event(EventKind::diff, R"({"path":".","diff":"small"})"),
  }));
  const auto cut = json_text(large.substr(0, shown_bytes_max - 1) + std::string(cut_note));
  EXPECT_EQ(blocks[0].at("result"), cut);
  EXPECT_EQ(blocks[0].at("output"), cut);
  EXPECT_EQ(blocks[0].at("args"), R"({"path":"a","text":)" + cut + "}");
  EXPECT_EQ(blocks[1].at("diff"), R"("small")");
}

TEST_F(AssistantFoldTest, A_turn_that_failed_or_was_stopped_keeps_what_it_had_said) {
  for (const auto kind : {EventKind::failed, EventKind::cancelled}) {
    auto events = turn_with({event(EventKind::text, "I beg"), event(EventKind::call, R"({"id":"c","name":"bash"})")});
    events.back() =
        event(kind, R"({"type":"http://x/problems/run-cancelled","title":"T","status":409,"detail":"It was."})");
    const auto answer = json::Document::parse(answer_of(events));
    const auto row = row_of(answer.value().root());
    EXPECT_EQ(row.at("status"), kind == EventKind::failed ? R"("failed")" : R"("cancelled")");
    EXPECT_EQ(row.at("error"), R"({"code":"run-cancelled","message":"It was."})");
    const auto blocks = blocks_of(events);
    EXPECT_EQ(blocks[0].at("text"), R"("I beg")");
    EXPECT_EQ(blocks[1].at("status"), R"("failed")") << "a call that was only written runs no more";
    EXPECT_NE(fold(events).find(R"({"code":"run-cancelled","message":"It was.","status":409,"messageId":")"),
              std::string::npos);
  }
}

TEST_F(AssistantFoldTest, An_approval_is_told_again_with_its_end) {
  const std::string gate =
      R"({"object":"approval","id":"apr_1","status":"pending","reason":"Deploys.","requested_items":[{"kind":"tool"}],)"
      R"("expires_at":"2026-07-02T10:00:01.000Z"})";
  const std::string told_gate = R"("reason":"Deploys.","items":[{"kind":"tool"}],"expiresAt":1782986401000})";
  const auto resumed =
      fold(turn_with({event(EventKind::gate, gate), event(EventKind::resumed, R"({"approval_id":"apr_1"})")}));
  EXPECT_NE(resumed.find(R"({"approvalId":"apr_1","status":"pending",)" + told_gate), std::string::npos) << resumed;
  EXPECT_NE(resumed.find(R"({"approvalId":"apr_1","status":"approved",)" + told_gate), std::string::npos) << resumed;
  for (const auto& [slug, status] : {std::pair{"approval-denied", "denied"}, {"approval-expired", "expired"}}) {
    auto events = turn_with({event(EventKind::gate, gate)});
    events.back() = event(EventKind::failed, R"({"type":"http://x/problems/)" + std::string(slug) + "\"}");
    EXPECT_EQ(blocks_of(events)[0].at("status"), json_text(status));
  }
}

// ── what a browser makes of the frames is what is kept, whatever happens ──

// Short enough to be read; empty when there is none.
std::string first_difference(const std::vector<Row>& shown, const std::vector<Row>& kept) {
  if (shown.size() != kept.size()) return std::to_string(shown.size()) + " blocks, not " + std::to_string(kept.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == kept[i]) continue;
    std::string difference = "block " + std::to_string(i) + ":";
    for (const auto* row : {&shown[i], &kept[i]}) {
      for (const auto& [name, value] : *row) difference += " " + name + "=" + value.substr(0, 40);
      difference += row == &shown[i] ? ", not" : "";
    }
    return difference;
  }
  return "";
}

class RandomJournal {
 public:
  explicit RandomJournal(unsigned seed) : random_(seed) {}

  Events make() {
    Events events = {event(EventKind::accepted, turn)};
    for (auto left = pick(3); left > 0; --left) events.push_back(event(EventKind::queued, R"({"position":1})"));
    events.push_back(event(EventKind::started, ""));
    for (auto left = pick(60); left > 0; --left) events.push_back(something());
    constexpr EventKind ends[] = {EventKind::completed, EventKind::failed, EventKind::cancelled};
    const auto end = ends[pick(3)];
    events.push_back(event(
        end, end == EventKind::completed ? std::string(message) : R"({"type":"x/approval-denied","detail":"No."})"));
    return events;
  }

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_()) % count; }
  std::string id() { return "\"id\":\"s" + std::to_string(pick(4)) + "\""; }
  std::string words() {
    constexpr std::string_view said[] = {"", "a", "é\n", "\U0001F600 <script>", "\"quoted\" \\ ", "data: x\n\nid: 9\n"};
    std::string text(said[pick(6)]);
    if (pick(20) == 0) {
      while (text.size() < shown_bytes_max) text += "long é ";
    }
    return text;
  }
  std::string quoted() { return json_text(words()); }

  model::RunEvent something() {
    constexpr const char* status[] = {"running", "succeeded", "failed", "odd"};
    constexpr const char* change[] = {"create", "change", "delete"};
    switch (pick(16)) {
      case 0:
      case 1:
      case 2: return event(EventKind::text, words());
      case 3: return event(EventKind::reasoning, words());
      case 4: return event(EventKind::filler, words());
      case 5:
      case 6:
        return event(EventKind::step, "{" + id() + R"(,"name":"bash","status":")" + status[pick(4)] +
                                          (pick(2) == 0 ? R"(","args":{"a":)" + quoted() + "}" : "\"") +
                                          (pick(2) == 0 ? R"(,"result":)" + quoted() + R"(,"durationMs":3})" : "}"));
      case 7: return event(EventKind::call, "{" + id() + (pick(2) == 0 ? R"(,"name":"bash"})" : R"(,"args":"{"})"));
      case 8: return event(EventKind::output, "{" + id() + R"(,"stream":"stdout","text":)" + quoted() + "}");
      case 9:
        return event(EventKind::file, R"({"type":")" + std::string(change[pick(3)]) + R"(","path":"/p)" +
                                          std::to_string(pick(3)) + "\"}");
      case 10: return event(EventKind::diff, R"({"path":".","diff":)" + quoted() + "}");
      case 11:
        return event(EventKind::custom, (pick(2) == 0 ? R"({"name":"chart","value":{"v":)"
                                                      : R"({"name":"sluice.run-diff","value":{"diff":)") +
                                            quoted() + "}}");
      case 12:
        return event(
            EventKind::custom,
            R"({"name":"sluice.assets","value":{"files":[{"id":"fil_01h455vb4pex5vsknk084sn02q","name":"a.csv"}]}})");
      case 13: return event(EventKind::replaced, R"({"kept_bytes":)" + std::to_string(pick(12)) + "}");
      case 14:
        return pick(2) == 0 ? event(EventKind::gate, R"({"id":"apr_)" + std::to_string(pick(3)) + R"(","reason":"r"})")
                            : event(EventKind::resumed, "{}");
      default:
        return pick(2) == 0 ? event(EventKind::subagent, "{" + id() + R"(,"name":"n","status":"started","error":"e"})")
                            : event(EventKind::subagent_text, "{" + id() + R"(,"text":)" + quoted() + "}");
    }
  }

  std::minstd_rand random_;
};

TEST_F(AssistantFoldTest, What_a_browser_makes_of_the_frames_is_what_a_reload_shows_A_2) {  // A-2
  for (unsigned seed = 0; seed < 400; ++seed) {
    const auto events = RandomJournal(seed).make();
    FrameReducer browser;
    browser.feed(fold(events));
    ASSERT_EQ(first_difference(browser.blocks(), blocks_of(events)), "") << "seed " << seed;
    ASSERT_EQ(browser.types.front(), "chat");
    ASSERT_EQ(browser.types.back(), "done");
    ASSERT_EQ(std::ranges::count(browser.types, "done"), 1);
  }
}

}  // namespace assistant_fold_test
}  // namespace sluice::wire
