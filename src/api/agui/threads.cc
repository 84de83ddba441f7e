#include "api/agui/agui.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answers/streaming.h"
#include "api/request/waiting.h"
#include "base/check.h"
#include "base/json.h"
#include "wire/wire.h"

namespace sluice::api::agui {
namespace {

void add_messages(ThreadNow& now, const std::string& messages) {
  if (!messages.empty()) now.messages += (now.messages.empty() ? "" : ",") + messages;
}

constexpr int searched_page_max = 50;
constexpr int searched_runs_max = 1'000;
constexpr int runs_of_brief_clients_max = 100;  // that send the last message only

// What an AG-UI run began with.
struct PromptBeginning {
  bool is_of_client = false;
  bool knows = false;  // a message of the user with that id is among its messages
  bool asks = false;   // and is the last of them
  int prompts = 0;     // messages of the user
};

PromptBeginning beginning_of(const model::RunEvent& accepted, std::string_view prompt_id) {
  PromptBeginning out;
  const auto begun = model::event_as<model::events::Accepted>(accepted);
  if (!begun || !begun->extras.agui) return out;
  const auto messages = json::Document::parse(begun->extras.agui->messages);
  if (!messages) return out;
  out.is_of_client = true;
  messages.value().root().each_element([&](json::Value message) {
    const auto role = message.find("role");
    const auto id = message.find("id");
    if (!role || role->string() != "user" || !id) return;
    ++out.prompts;
    out.asks = id->string() == prompt_id;
    out.knows |= out.asks;
  });
  return out;
}

Task<store::Page<model::Run>> read_runs(const RequestPtr& request, model::ConversationId conversation, int limit,
                                        std::optional<model::RunId> before) {
  co_return co_await found<store::Page<model::Run>>(
      request, &store::runs, request->tenant().id, store::RunFilter{.conversation = conversation},
      store::PageQuery<model::RunId>{.limit = limit, .starting_after = before});
}

auto read_message(const RequestPtr& request, model::MessageId message) {
  return found<store::StoredMessage>(request, &store::message, request->tenant().id, message);
}

class Frames {
 public:
  Frames(wire::Format format, const model::AguiNames& names) : format_(format), names_(names) {}

  void add(std::string_view event) {
    std::string id;
    json::append_string(id, names_.run_id + "-" + std::to_string(count_++));
    if (wire::is_sse(format_)) {
      out_.append("id: ").append(id, 1, id.size() - 2).append("\ndata: ").append(event).append("\n\n");
    } else if (format_ == wire::Format::agui_tanstack_ndjson) {
      out_.append(R"({"id":)").append(id).append(R"(,"chunk":)").append(event).append("}\n");
    } else {
      out_.append(event).append("\n");
    }
  }

  // An event of that type with the client's names in it, open for more members.
  std::string named(std::string_view type) const {
    std::string event = R"({"type":")" + std::string(type) + R"(","threadId":)";
    json::append_string(event, names_.thread_id);
    event += R"(,"runId":)";
    json::append_string(event, names_.run_id);
    return event;
  }

  std::string take() { return std::move(out_); }

 private:
  const wire::Format format_;
  const model::AguiNames& names_;
  int count_ = 0;
  std::string out_;
};

}  // namespace

Task<ThreadNow> read_thread(const RequestPtr& request, model::ConversationId conversation, ThreadPart part) {
  ThreadNow now;
  const auto page = co_await read_runs(request, conversation, part.limit, part.before);
  if (page.has_more) now.cursor = page.rows.back().id.text();
  std::optional<model::Run> newest;  // of those whose messages count
  std::optional<wire::AguiHistory> history;
  for (auto run = page.rows.rbegin(); run != page.rows.rend(); ++run) {
    const auto stored = co_await read_message(request, run->user_message_id);
    if (stored.is_replaced) continue;  // a client sees what stands now
    history.emplace(*run);
    if (const auto message = model::message_from_json(stored.json)) history->set_user_text(message.value().content);
    const bool is_first = !newest;
    newest = co_await walk_journal(request, run->id, {}, [&](const journal::Committed& news) {
      history->apply(news);
      return true;
    });
    if (is_first && now.cursor.empty()) add_messages(now, history->earlier_messages());
    // Only the thread's newest run can be active. It is added when it is known how a client joins it.
    const bool is_last = !part.before && std::next(run) == page.rows.rend();
    if (!is_last || model::is_over(newest->state)) add_messages(now, history->messages());
  }
  if (!newest || part.before || model::is_over(newest->state)) co_return now;

  // The name of the run's last part, as the client knows it.
  const auto named = co_await found<std::vector<journal::AguiRun>>(request, &store::agui_runs_of, newest->id);
  now.newest_run = named.empty() ? newest->id.text() : named.back().run_id;
  now.waits = newest->state == model::RunState::parked;
  now.interrupts = history->interrupts();
  // A client cannot join a run that waits, or one that has no name of a client.
  const bool is_joined = part.is_joined && !named.empty() && !now.waits;
  add_messages(now, is_joined ? history->messages_before_stream() : history->messages());
  co_return now;
}

// Looks through the runs, newest first. The newest that a client began has all messages of the user that count, if the
// client sends what it shows: if that run does not know the id, no other run is looked at.
Task<std::optional<model::MessageId>> find_earlier_prompt(const RequestPtr& request, model::ConversationId conversation,
                                                          std::string prompt_id) {
  std::optional<model::RunId> after;
  std::optional<model::MessageId> oldest;
  bool is_known = false;
  for (int seen = 0;;) {
    const auto page = co_await read_runs(request, conversation, searched_page_max, after);
    for (const auto& run : page.rows) {
      const auto first = co_await read_first_event(request, run.id);
      const auto beginning =
          first.events.empty() ? PromptBeginning{} : beginning_of(first.events.front().event(), prompt_id);
      oldest = run.user_message_id;
      ++seen;
      if (beginning.asks) {
        // A message that was replaced already is not what the client shows.
        const auto message = co_await read_message(request, *oldest);
        if (message.is_replaced) continue;
        co_return oldest;
      }
      const bool is_brief = beginning.prompts <= 1;
      if (beginning.is_of_client && !is_known && !beginning.knows && !is_brief) co_return std::nullopt;
      is_known |= beginning.knows;
    }
    // A message that is known and was not found came with a history that the thread began with: then all runs are about
    // what follows it.
    const bool looks_on = page.has_more && seen < (is_known ? searched_runs_max : runs_of_brief_clients_max);
    if (!looks_on) co_return is_known ? oldest : std::nullopt;
    after = page.rows.back().id;
  }
}

std::string settled_stream(wire::Format format, const model::AguiNames& names, std::string_view messages) {
  Frames frames(format, names);
  frames.add(frames.named("RUN_STARTED") + R"(,"protocolVersion":"1.0"})");
  frames.add(R"({"type":"MESSAGES_SNAPSHOT","messages":[)" + std::string(messages) + "]}");
  const bool is_tanstack = format == wire::Format::agui_tanstack_sse || format == wire::Format::agui_tanstack_ndjson;
  frames.add(frames.named("RUN_FINISHED") + R"(,"outcome":{"type":"success"})" +
             (is_tanstack ? R"(,"metadata":{"tanstack":{"finishReason":"stop"}}})" : "}"));
  return frames.take();
}

namespace {

struct UiMessage {
  std::string id;
  std::string role;
  std::vector<std::string> parts;  // JSON objects
  std::vector<std::string> call_ids;
};

std::string text_in(json::Value object, std::string_view name) {
  const auto value = object.find(name);
  return std::string(value ? value->string().value_or("") : "");
}

// The text of a text, or of its parts.
std::string content_of(json::Value message) {
  const auto content = message.find("content");
  if (!content || content->kind() != json::Kind::array) return text_in(message, "content");
  std::string out;
  content->each_element([&](json::Value part) { out += (out.empty() ? "" : "\n") + text_in(part, "text"); });
  return out;
}

std::string text_part(std::string_view type, std::string_view content) {
  std::string out;
  json::Writer(out).begin_object().key("type").string(type).key("content").string(content).end_object();
  return out;
}

std::string call_part(json::Value call) {
  const auto function = call.find("function").value_or(json::Value());
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("tool-call").key("id").string(text_in(call, "id"));
  writer.key("name").string(text_in(function, "name")).key("arguments").string(text_in(function, "arguments"));
  writer.key("state").string("input-complete").end_object();
  return out;
}

std::string result_part(json::Value message) {
  const auto error = text_in(message, "error");
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("tool-result").key("toolCallId").string(text_in(message, "toolCallId"));
  writer.key("content").string(content_of(message)).key("state").string(error.empty() ? "complete" : "error");
  if (!error.empty()) writer.key("error").string(error);
  writer.end_object();
  return out;
}

class UiMessages {
 public:
  void take(json::Value message) {
    const auto role = text_in(message, "role");
    if (role == "reasoning") {
      thoughts_.push_back(text_part("thinking", content_of(message)));
    } else if (role == "tool") {
      take_result(message);
    } else if (role == "user" || role == "system" || role == "developer") {
      made_.push_back(
          {text_in(message, "id"), role == "user" ? role : "system", {text_part("text", content_of(message))}, {}});
    } else if (role == "assistant") {
      take_turn(message);
    }
  }

  std::string json() {
    if (!thoughts_.empty()) made_.push_back({"thoughts", "assistant", std::move(thoughts_), {}});
    std::string out = "[";
    for (const auto& message : made_) {
      if (out.size() > 1) out += ',';
      json::Writer writer(out);
      writer.begin_object().key("id").string(message.id).key("role").string(message.role).key("parts").begin_array();
      for (const auto& part : message.parts) writer.raw(part);
      writer.end_array().end_object();
    }
    return out + "]";
  }

 private:
  void take_turn(json::Value message) {
    UiMessage made{text_in(message, "id"), "assistant", std::exchange(thoughts_, {}), {}};
    if (auto text = content_of(message); !text.empty()) made.parts.push_back(text_part("text", text));
    if (const auto calls = message.find("toolCalls")) {
      calls->each_element([&](json::Value call) {
        made.parts.push_back(call_part(call));
        made.call_ids.push_back(text_in(call, "id"));
      });
    }
    made_.push_back(std::move(made));
  }

  void take_result(json::Value message) {
    const auto call_id = text_in(message, "toolCallId");
    for (auto turn = made_.rbegin(); turn != made_.rend(); ++turn) {
      if (std::ranges::find(turn->call_ids, call_id) == turn->call_ids.end()) continue;
      turn->parts.push_back(result_part(message));
      return;
    }
  }

  std::vector<UiMessage> made_;
  std::vector<std::string> thoughts_;  // of the turn that comes
};

}  // namespace

std::string ui_messages(std::string_view messages) {
  const auto document = json::Document::parse(messages);
  SLUICE_CHECK(static_cast<bool>(document));  // we wrote it
  UiMessages gathered;
  document.value().root().each_element([&](json::Value message) { gathered.take(message); });
  return gathered.json();
}

}  // namespace sluice::api::agui
