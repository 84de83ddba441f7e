#include "wire/agui_fold.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "wire/agui_fixture.h"
#include "wire/agui_rules.h"

namespace sluice::wire {
namespace agui_fold_test {

using model::EventKind;

struct Peer {
  std::string_view name;
  AguiPeer peer;
  Format sse;
  Format ndjson;
};
constexpr Peer peers[] = {
    {"current", AguiPeer::current, Format::agui_sse, Format::agui_ndjson},
    {"old", AguiPeer::old, Format::agui_old_sse, Format::agui_old_ndjson},
    {"tanstack", AguiPeer::tanstack, Format::agui_tanstack_sse, Format::agui_tanstack_ndjson},
};

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// SLUICE_WRITE_GOLDENS=1 in the environment writes them anew.
void expect_golden(const std::string& name, const std::string& stream) {
  const auto path = std::filesystem::path(SLUICE_SOURCE_DIR "/src/wire/testdata/agui") / name;
  if (std::getenv("SLUICE_WRITE_GOLDENS") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << stream;
  }
  EXPECT_EQ(stream, content_of(path)) << name;
}

std::string text_at(json::Value object, std::string_view name) {
  const auto found = object.find(name);
  return std::string(found ? found->string().value_or("") : "");
}

class AguiFoldTest : public testing::Test {
 protected:
  std::string fold(std::vector<model::RunEvent> events, const View& view) {
    return journals_.fold(journals_.journal_of(std::move(events)), view);
  }
  std::vector<std::string> lines_of(const std::vector<model::RunEvent>& events, const View& view) {
    std::istringstream stream(fold(events, view));
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
  std::vector<std::string> types_of(const std::vector<model::RunEvent>& events, const View& view) {
    std::vector<std::string> types;
    for (const auto& line : lines_of(events, view)) {
      const auto document = json::Document::parse(line);
      EXPECT_TRUE(document) << line;
      types.push_back(text_at(document.value().root(), "type"));
    }
    return types;
  }
  std::string history_of(const std::vector<model::RunEvent>& events, std::string user_text = {}) {
    AguiHistory history(journals_.run());
    history.set_user_text(std::move(user_text));
    for (const auto& news : journals_.journal_of(events)) history.apply(news);
    return history.messages();
  }

  AguiJournals journals_;
};

TEST_F(AguiFoldTest, Every_story_is_told_to_every_kind_of_client_as_written_down_H_7) {  // H-7
  for (const auto& story : agui_stories()) {
    expect_golden(story.name + ".messages.json", "[" + history_of(story.events) + "]\n");
    for (const auto& peer : peers) {
      for (int segment = 0; segment < story.segments; ++segment) {
        const auto stream = fold(story.events, {.format = peer.sse, .segment = segment});
        expect_golden(story.name + "." + std::to_string(segment) + "." + std::string(peer.name) + ".sse", stream);
      }
    }
  }
}

TEST_F(AguiFoldTest, A_reader_who_returns_gets_what_it_has_not_and_the_end_without_a_number_when_it_has_all) {
  for (const auto& story : agui_stories()) {
    for (const auto& peer : peers) {
      const View view{.format = peer.sse, .segment = story.segments - 1};
      auto rest = fold(story.events, view);
      std::string last;
      for (int64_t after = -1; !rest.empty(); ++after) {
        EXPECT_EQ(fold(story.events, {.format = peer.sse, .after = after, .segment = view.segment}), rest);
        last = rest;
        rest.erase(0, rest.find("\n\n") + 2);
        if (!rest.empty()) continue;
        const auto again = fold(story.events, {.format = peer.sse, .after = after + 1, .segment = view.segment});
        EXPECT_EQ(again, last.substr(last.find("data: ")));
      }
    }
  }
}

TEST_F(AguiFoldTest, Lines_say_what_frames_say_and_have_their_ids_only_for_the_client_that_reads_them) {
  const auto events = agui_stories()[0].events;
  for (const auto& peer : peers) {
    std::string expected;
    std::istringstream frames(fold(events, {.format = peer.sse}));
    std::string id;
    for (std::string line; std::getline(frames, line);) {
      if (line.starts_with("id: ")) id = line.substr(4);
      if (!line.starts_with("data: ")) continue;
      const auto data = line.substr(6);
      expected += peer.peer == AguiPeer::tanstack ? R"({"id":")" + id + R"(","chunk":)" + data + "}\n" : data + "\n";
    }
    EXPECT_EQ(fold(events, {.format = peer.ndjson}), expected);
  }
  const auto end = fold(events, {.format = Format::agui_tanstack_ndjson, .after = 999});
  EXPECT_TRUE(end.starts_with(R"({"type":"RUN_FINISHED")")) << end;
}

TEST_F(AguiFoldTest, A_run_that_no_AG_UI_client_began_has_our_names_and_no_snapshot_of_what_is_not_known) {
  auto gated = agui_stories()[7].events;
  gated[0].body = R"({"request_id":"req_1"})";
  std::erase_if(gated, [](const auto& event) { return event.kind == EventKind::answers; });
  const auto run = journals_.run();
  const auto first = fold(gated, {.format = Format::agui_sse});
  EXPECT_TRUE(first.starts_with("id: " + run.id.text() + "-0\ndata: ")) << first;
  EXPECT_NE(first.find(R"("threadId":")" + run.conversation_id.text()), std::string::npos);
  EXPECT_EQ(first.find("MESSAGES_SNAPSHOT"), std::string::npos);
  const auto second = fold(gated, {.format = Format::agui_sse, .segment = 1});
  EXPECT_TRUE(second.starts_with("id: " + run.id.text() + ".1-0\ndata: ")) << second;
  const auto history = history_of(gated, "Say \"hi\"");
  EXPECT_TRUE(
      history.starts_with(R"({"id":")" + run.user_message_id.text() + R"(","role":"user","content":"Say \"hi\""})"))
      << history;
}

TEST_F(AguiFoldTest, A_humans_no_is_an_ordinary_end_that_answers_what_was_asked_and_any_other_failure_is_an_error) {
  const auto problem = [](std::string_view slug) {
    return R"({"type":"https://sluice.dev/problems/)" + std::string(slug) + R"(","detail":"No."})";
  };
  std::vector<model::RunEvent> events = {
      {EventKind::accepted, {}, "{}"},
      {EventKind::subagent, {}, R"({"id":"sub-1","name":"writer","status":"started"})"},
      {EventKind::step, {}, R"({"id":"in","name":"bash","status":"running","args":{},"subagent":"sub-1"})"},
      {EventKind::gate, {}, R"({"id":"apr_1","requested_items":[{"kind":"action","description":"x"}]})"},
      {EventKind::failed, {}, problem("approval-denied")}};
  const View second{.format = Format::agui_ndjson, .segment = 1};
  EXPECT_EQ(types_of(events, second),
            (std::vector<std::string>{"RUN_STARTED", "CUSTOM", "SUBAGENT_STARTED", "TOOL_CALL_RESULT", "SUBAGENT_ERROR",
                                      "CUSTOM", "RUN_FINISHED"}));
  const auto lines = lines_of(events, second);
  EXPECT_NE(lines[5].find(R"("name":"sluice.problem","value":)" + problem("approval-denied")), std::string::npos);

  events.insert(events.end() - 1, {EventKind::resumed, {}, "{}"});
  events.back().body = problem("model-error");
  EXPECT_EQ(types_of(events, second), (std::vector<std::string>{"RUN_STARTED", "CUSTOM", "RUN_ERROR"}));
}

TEST_F(AguiFoldTest, What_a_client_had_before_it_came_is_told_apart_from_what_it_says_now) {
  const auto earlier_of = [&](const std::string& messages) {
    AguiHistory history(journals_.run());
    const auto body = R"({"agui":{"thread_id":"t","run_id":"r","messages":)" + messages + "}}";
    for (const auto& news : journals_.journal_of({{EventKind::accepted, {}, body}})) history.apply(news);
    return history.earlier_messages();
  };
  const std::string before = R"({"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant","content":"b"})";
  const std::string last = R"({"id":"3","role":"user","content":"c"})";
  EXPECT_EQ(earlier_of("[" + before + "," + last + "]"), before);
  EXPECT_EQ(earlier_of("[" + last + "]"), "");
  EXPECT_EQ(earlier_of("[]"), "");
}

TEST_F(AguiFoldTest, A_copy_goes_on_by_itself_and_a_segment_that_never_comes_is_over_with_the_run) {
  const auto journal = journals_.journal_of(agui_stories()[2].events);
  AguiFold fold({.format = Format::agui_sse}, journals_.run());
  AguiFold never({.format = Format::agui_sse, .segment = 3}, journals_.run());
  std::string out;
  for (std::size_t i = 0; i < 5; ++i) fold.apply(journal[i], out);
  AguiFold copy(fold);
  std::string rest;
  std::string again;
  for (std::size_t i = 5; i < journal.size(); ++i) {
    fold.apply(journal[i], rest);
    copy.apply(journal[i], again);
  }
  EXPECT_EQ(rest, again);
  EXPECT_EQ(fold.next_seq(), copy.next_seq());
  EXPECT_TRUE(copy.ended());
  for (const auto& news : journal) never.apply(news, out);
  EXPECT_TRUE(never.ended());
  EXPECT_EQ(never.next_seq(), 0);
}

TEST_F(AguiFoldTest, A_runs_name_cannot_begin_a_line_of_its_own) {
  const auto stream =
      fold({{EventKind::accepted, {}, R"({"agui":{"thread_id":"t","run_id":"r\ndata: {}","messages":[]}})"}},
           {.format = Format::agui_sse});
  EXPECT_TRUE(stream.starts_with("id: run-0\ndata: {\"type\":\"RUN_STARTED\"")) << stream;
  EXPECT_EQ(stream.find("\ndata: {}"), std::string::npos);
}

TEST_F(AguiFoldTest, What_is_no_JSON_or_has_no_names_is_left_out) {
  std::vector<model::RunEvent> events = {{EventKind::accepted, {}, "nonsense"}};
  for (const auto kind : {EventKind::log, EventKind::usage, EventKind::step, EventKind::output, EventKind::call,
                          EventKind::subagent, EventKind::subagent_text, EventKind::gate, EventKind::custom}) {
    events.push_back({kind, {}, "nonsense"});
  }
  events.push_back({EventKind::step, {}, "{}"});
  events.push_back({EventKind::call, {}, R"({"id":"x"})"});
  events.push_back({EventKind::text, {}, ""});
  events.push_back({EventKind::completed, {}, ""});
  EXPECT_EQ(types_of(events, {.format = Format::agui_ndjson}),
            (std::vector<std::string>{"RUN_STARTED", "RUN_FINISHED"}));
}

TEST_F(AguiFoldTest, Long_results_and_diffs_are_cut_between_characters) {
  std::string accents;
  for (int i = 0; i < 600'000; ++i) accents += "é";
  const auto lines =
      lines_of({{EventKind::accepted, {}, "{}"},
                {EventKind::step, {}, R"({"id":"a","name":"x","status":"succeeded","result":"z)" + accents + "\"}"},
                {EventKind::diff, {}, R"({"path":".","diff":")" + accents + "\"}"}},
               {.format = Format::agui_ndjson});
  for (const auto& line : lines) {
    EXPECT_LT(line.size(), std::size_t{2} << 20);
    EXPECT_TRUE(json::Document::parse(line));
  }
  EXPECT_NE(lines.back().find(R"("truncated":true)"), std::string::npos);
}

TEST_F(AguiFoldTest, The_break_between_two_rounds_is_in_no_message_and_counts_where_text_is_taken_back) {
  const auto stream = fold({{EventKind::accepted, {}, R"({"agui":{"thread_id":"t","run_id":"r","messages":[]}})"},
                            {EventKind::text, {}, "First."},
                            {EventKind::step, {}, R"({"id":"a","name":"x","status":"succeeded","result":"z"})"},
                            {EventKind::text, {}, "\n\n"},
                            {EventKind::text, {}, "Second."},
                            {EventKind::replaced, {}, R"({"kept_bytes":11})"}},
                           {.format = Format::agui_ndjson});
  EXPECT_EQ(stream.find(R"("delta":"\n)"), std::string::npos) << stream;
  EXPECT_NE(stream.find(R"("delta":"Second.")"), std::string::npos) << stream;
  EXPECT_NE(stream.find(R"("content":"Sec"})"), std::string::npos) << stream;
}

TEST_F(AguiFoldTest, Ids_of_counted_steps_are_of_one_run_and_find_back) {
  const auto id = call_id_of(journals_.run(), "step_3");
  EXPECT_EQ(id, "step_3@" + journals_.run().message_id.text());
  EXPECT_EQ(step_id_of(id), "step_3");
  EXPECT_EQ(step_id_of("step_3"), "step_3");
  EXPECT_EQ(step_id_of(call_id_of(journals_.run(), "toolu_1")), "toolu_1");
}

}  // namespace agui_fold_test
}  // namespace sluice::wire
