// A journal gone mad: steps that end before they begin, answers to nobody, subagents that talk after their end. Each
// line of the input is one event: a letter for its kind, a digit for whose it is. Whatever comes, every stream of it
// keeps the rules, and ends at most once; and what a browser makes of the Assistant's frames is what is kept.
#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "tests/fuzz/pieces.h"
#include "wire/agui_fixture.h"
#include "wire/agui_writer.h"
#include "wire/frames_fixture.h"

using namespace sluice;
using model::EventKind;
using wire::AguiType;

namespace {

constexpr std::size_t events_max = 60;

std::string quoted(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

model::RunEvent event_of(char letter, char whose, std::string_view rest) {
  const auto id = R"({"id":"x)" + std::string(1, whose) + "\"";
  const std::string owner = rest.starts_with('~') ? R"(,"subagent":"x1")" : "";
  const auto words = quoted(rest);
  switch (letter) {
    case 't': return {EventKind::text, {}, std::string(rest)};
    case 'r': return {EventKind::reasoning, {}, std::string(rest)};
    case 'c': return {EventKind::call, {}, id + R"(,"name":"tool")" + owner + "}"};
    case 'a': return {EventKind::call, {}, id + R"(,"args":)" + words + owner + "}"};
    case 's': return {EventKind::step, {}, id + R"(,"name":"tool","status":"running","args":{})" + owner + "}"};
    case 'd': return {EventKind::step, {}, id + R"(,"status":"succeeded","result":)" + words + owner + "}"};
    case 'f': return {EventKind::step, {}, id + R"(,"status":"failed","error":)" + words + owner + "}"};
    case 'n': return {EventKind::subagent, {}, id + R"(,"name":"n","status":"started","step_id":"x2"})"};
    case 'm': return {EventKind::subagent, {}, id + R"(,"status":"finished"})"};
    case 'x': return {EventKind::subagent, {}, id + R"(,"status":"failed","error":)" + words + "}"};
    case 'u': return {EventKind::subagent_text, {}, id + R"(,"text":)" + words + "}"};
    case 'v': return {EventKind::subagent_text, {}, id + R"(,"reasoning":)" + words + "}"};
    case 'k': return {EventKind::replaced, {}, R"({"kept_bytes":)" + std::string(1, whose) + "}"};
    case 'l': return {EventKind::log, {}, R"({"phase":"p)" + std::string(1, whose) + "\"}"};
    case 'g':
      return {EventKind::gate,
              {},
              R"({"id":"apr_1","requested_items":[{"kind":"action","description":"d","call":)" + id +
                  R"(,"name":"tool","arguments":"{}"}}]})"};
    case 'h':
      return {EventKind::gate,
              {},
              R"({"id":"apr_2","requested_items":[{"kind":"client_tool","description":"d","call":)" + id +
                  R"(,"name":"tool","arguments":"{}"}}]})"};
    case 'w':
      return {EventKind::answers,
              {},
              R"({"agui_run_id":"again","results":[{"call_id":"x)" + std::string(1, whose) + R"(","content":"c"}]})"};
    case 'e': return {EventKind::resumed, {}, "{}"};
    case 'o': return {EventKind::completed, {}, "{}"};
    case 'y': return {EventKind::failed, {}, "{}"};
    case 'z': return {EventKind::cancelled, {}, "{}"};
    default: return {EventKind::custom, {}, std::string(rest)};  // JSON or not
  }
}

std::vector<model::RunEvent> events_of(std::string_view text) {
  std::vector<model::RunEvent> events = {
      {EventKind::accepted, {}, R"({"agui":{"thread_id":"t","run_id":"r","messages":[{"id":"u","role":"user"}]}})"}};
  while (!text.empty() && events.size() < events_max) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() < 2 || !is_utf8(line)) continue;
    const char whose = static_cast<char>('0' + static_cast<uint8_t>(line[1]) % 4);
    events.push_back(
        event_of(line[0], whose, static_cast<uint8_t>(line[1]) < 0x80 ? line.substr(2) : std::string_view{}));
    if (model::is_terminal(events.back().kind)) break;
  }
  return events;
}

std::string text_at(json::Value object, std::string_view name) {
  const auto found = object.find(name);
  return std::string(found ? found->string().value_or("") : "");
}

// The stream again, as a client reads it: by what is written, not by what was meant.
void check_stream(std::string_view told, wire::AguiPeer peer, bool is_first) {
  wire::AguiRules rules(peer);
  if (!is_first) {
    for (const auto* call : {"x0", "x1", "x2", "x3"}) rules.know_call(call);
  }
  int ends = 0;
  while (!told.empty()) {
    const auto line = told.substr(0, told.find('\n'));
    told.remove_prefix(line.size() + 1);
    const auto document = json::Document::parse(line);
    SLUICE_CHECK(document);
    const auto root = document.value().root();
    const auto event = root.find("chunk").value_or(root);
    const auto type = wire::agui_type_named(text_at(event, "type"));
    SLUICE_CHECK(type);
    std::string id;
    for (const auto* name : {"runId", "stepName", "toolCallId", "messageId", "subagentRunId", "name"}) {
      if (id.empty()) id = text_at(event, name);
    }
    const bool is_subagent = *type >= AguiType::subagent_started && *type <= AguiType::subagent_error;
    const auto owner = is_subagent ? std::string() : text_at(event, "subagentRunId");
    if (is_subagent) id = text_at(event, "subagentRunId");
    const auto parent = text_at(event, "parentMessageId");
    SLUICE_CHECK(rules.admit({*type, id, owner, parent}).empty());
    if (is_terminal(*type)) ++ends;
  }
  SLUICE_CHECK(ends <= 1);
}

void check_assistant(const model::Run& run, const journal::CommittedBatch& journal) {
  wire::AssistantFold fold(run, -1);
  wire::ChatHistory history(run);
  std::string frames;
  for (const auto& news : journal) {
    fold.apply(news, frames);
    history.apply(news);
  }
  wire::FrameReducer browser;
  browser.feed(frames);
  std::string kept;
  json::Writer writer(kept);
  history.append_answer(writer);
  const auto answer = json::Document::parse(kept);
  SLUICE_CHECK(answer);
  SLUICE_CHECK(browser.blocks() == wire::rows_of(*answer.value().root().find("content")));
  SLUICE_CHECK(fold.ended() == (browser.types.back() == "done"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  wire::AguiJournals journals;
  const auto journal = journals.journal_of(events_of(fuzz::text_of(data, size)));
  const bool is_over = model::is_terminal(journal.back().event().kind);
  check_assistant(journals.run(), journal);
  for (const auto format :
       {wire::Format::agui_ndjson, wire::Format::agui_old_ndjson, wire::Format::agui_tanstack_ndjson}) {
    for (int64_t segment = 0; segment < 3; ++segment) {
      wire::AguiFold fold({.format = format, .segment = segment}, journals.run());
      std::string out;
      for (const auto& news : journal) fold.apply(news, out);
      SLUICE_CHECK(fold.violations() == 0);
      SLUICE_CHECK(!is_over || fold.ended());
      check_stream(out, wire::peer_of(format), segment == 0);
    }
  }
  return 0;
}
