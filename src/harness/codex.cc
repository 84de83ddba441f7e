#include <map>
#include <set>
#include <utility>

#include "harness/answer_text.h"
#include "harness/codex_items.h"
#include "harness/complaint.h"
#include "harness/dialect_makers.h"
#include "harness/json_line.h"
#include "harness/json_rpc.h"

namespace sluice::harness {
namespace {

using json::Value;

constexpr std::size_t open_max = 4096;  // questions and subagents at once: a program that ends none of them

// `codex app-server`: initialize, a thread, one turn in it.
class Codex final : public Dialect {
 public:
  explicit Codex(const Assignment& assignment) : assignment_(assignment) {}

  std::string opening() override;
  std::vector<Heard> feed(std::string_view bytes) override;
  std::vector<Heard> end(std::string_view exit_words, std::string_view stderr_tail) override;
  std::string take_output() override { return rpc_.take_output(); }
  bool is_done_writing() const override { return is_over_; }
  void answer(uint64_t number, const Answer& answer) override;
  void interrupt() override;

 private:
  struct Question {
    std::string id;  // the request's
    std::string thread;
    enum class Kind : uint8_t { approval, elicitation, tool } kind = Kind::approval;
  };
  struct Call {
    ProgramCall call;    // empty when it is over
    std::string server;  // of MCP
    bool is_over = false;
  };

  void hear(const RpcMessage& message);
  void hear_result(const RpcMessage& message);
  void hear_refusal(const RpcMessage& message);
  void hear_request(const RpcMessage& message);
  void hear_notification(const RpcMessage& message);
  void hear_item(std::string_view method, const Value& params, const std::string& subagent);
  void hear_delta(std::string_view method, const Value& params, const std::string& subagent);
  void hear_agents(const Value& item);
  void hear_elicitation(const RpcMessage& message);
  void hear_plan(const Value& plan);
  void hear_usage(const Value& params);
  void hear_error(const Value& params);
  void hear_turn_end(const Value& turn);

  std::string instructions() const;
  void start_thread();
  void start_turn(std::string thread_id);
  void stop_turn();
  // Null: there is none, or it is over.
  Call* find_call(std::string_view id);
  void begin_call(const ProgramCall& call, std::string_view server, const std::string& subagent);
  void ask_host(Heard::Kind kind, Question question, ProgramCall call);
  void fail(model::Slug slug, std::string text);
  Heard& say(Heard::Kind kind, std::string_view text = "", const std::string& subagent = "");

  Assignment assignment_;
  JsonRpc rpc_{JsonRpc::Version::left_out};
  AnswerText answer_;
  std::vector<Heard> heard_;
  std::string initialize_id_, thread_request_id_, turn_request_id_;
  std::string thread_id_, turn_id_;
  std::string message_id_;  // of the message that is being said
  std::map<std::string, Call, std::less<>> calls_;
  bool are_calls_full_ = false;  // and that was said
  std::map<uint64_t, Question> questions_;
  uint64_t last_question_ = 0;
  std::set<std::string> subagents_;           // their threads
  std::optional<model::Usage> usage_before_;  // of the thread, before this turn
  bool is_interrupted_ = false;
  bool is_over_ = false;
};

model::Usage usage_in(const Value& tokens) {
  return {count_in(tokens, "inputTokens"), count_in(tokens, "outputTokens")};
}

std::string Codex::opening() {
  initialize_id_ = rpc_.ask("initialize", R"({"clientInfo":{"name":"sluice","title":"Sluice","version":"1"},)"
                                          R"("capabilities":{"experimentalApi":true}})");
  return rpc_.take_output();
}

std::vector<Heard> Codex::feed(std::string_view bytes) {
  if (is_over_) return {};
  rpc_.feed(bytes, heard_, [this](const RpcMessage& message) {
    hear(message);
    return !is_over_;
  });
  return std::exchange(heard_, {});
}

std::vector<Heard> Codex::end(std::string_view exit_words, std::string_view stderr_tail) {
  if (!is_over_) heard_.push_back(ended_early(!thread_id_.empty(), exit_words, stderr_tail));
  is_over_ = true;
  return std::exchange(heard_, {});
}

Heard& Codex::say(Heard::Kind kind, std::string_view text, const std::string& subagent) {
  Heard& heard = heard_.emplace_back();
  heard.kind = kind;
  heard.text = text;
  heard.subagent = subagent;
  return heard;
}

void Codex::fail(model::Slug slug, std::string text) {
  heard_.push_back(failed_as(slug, std::move(text)));
  is_over_ = true;
}

void Codex::hear(const RpcMessage& message) {
  switch (message.kind) {
    case RpcMessage::Kind::request: return hear_request(message);
    case RpcMessage::Kind::notification: return hear_notification(message);
    case RpcMessage::Kind::result: return hear_result(message);
    case RpcMessage::Kind::error: return hear_refusal(message);
  }
}

// ── the way to the turn ──
void Codex::hear_result(const RpcMessage& message) {
  if (message.id == initialize_id_) {
    rpc_.tell("initialized", "{}");
    start_thread();
  } else if (message.id == thread_request_id_) {
    start_turn(std::string(text_in(value_in(message.body, "thread"), "id")));
  } else if (message.id == turn_request_id_) {
    turn_id_ = text_in(value_in(message.body, "turn"), "id");
    if (is_interrupted_) stop_turn();
  }
}

void Codex::hear_refusal(const RpcMessage& message) {
  const std::string words(text_in(message.body, "message"));
  if (message.id == thread_request_id_ && assignment_.session_id) {
    fail(model::Slug::agent_misconfigured,
         "Codex cannot go on with the session " + *assignment_.session_id + ": " + words);
  } else if (message.id == initialize_id_ || message.id == thread_request_id_ || message.id == turn_request_id_) {
    fail(slug_of_complaint(std::nullopt, words), "Codex refused to begin: " + words);
  }
}

// To models it knows, Codex offers the tools of servers only by way of a search.
std::string Codex::instructions() const {
  std::string words = assignment_.system_prompt;
  if (assignment_.bridge_url.empty() || assignment_.tools.empty()) return words;
  if (!words.empty()) words += "\n\n";
  words += "The host offers you more tools by the MCP server \"sluice\"; search for them if you do not see them:";
  for (const model::HostTool& tool : assignment_.tools) words += ' ' + tool.name;
  return words;
}

void Codex::start_thread() {
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  if (assignment_.session_id) writer.key("threadId").string(*assignment_.session_id).key("excludeTurns").boolean(true);
  writer.key("model").string(assignment_.model.name).key("cwd").string("/workspace");
  // Only "untrusted" asks for every command; "on-request" leaves it to the model. The box is the sandbox: one inside it
  // would hide what it denies.
  writer.key("approvalPolicy").string(assignment_.asks ? "untrusted" : "never");
  writer.key("sandbox").string("danger-full-access");
  if (const std::string words = instructions(); !words.empty()) writer.key("developerInstructions").string(words);
  // A thread keeps the tools it was started with for ever, so that they are given this way only when there is no
  // bridge.
  if (!assignment_.session_id && assignment_.bridge_url.empty() && !assignment_.tools.empty()) {
    writer.key("dynamicTools").begin_array();
    for (const model::HostTool& tool : assignment_.tools) {
      writer.begin_object().key("type").string("function").key("name").string(tool.name);
      writer.key("description").string(tool.description).key("inputSchema").raw(tool.parameters).end_object();
    }
    writer.end_array();
  }
  writer.end_object();
  thread_request_id_ = rpc_.ask(assignment_.session_id ? "thread/resume" : "thread/start", params);
}

void Codex::start_turn(std::string thread_id) {
  if (thread_id.empty()) return fail(model::Slug::model_error, "Codex began a thread without saying its id.");
  if (!thread_id_.empty()) return;
  thread_id_ = std::move(thread_id);
  say(Heard::Kind::session, thread_id_);
  if (is_interrupted_) return fail(model::Slug::run_cancelled, "Codex was interrupted.");
  std::string params;
  json::Writer(params)
      .begin_object()
      .key("threadId")
      .string(thread_id_)
      .key("input")
      .begin_array()
      .begin_object()
      .key("type")
      .string("text")
      .key("text")
      .string(assignment_.prompt)
      .end_object()
      .end_array()
      .end_object();
  turn_request_id_ = rpc_.ask("turn/start", params);
}

// ── what it asks ──
void Codex::hear_request(const RpcMessage& message) {
  const Value& params = message.body;
  const std::string thread(text_in(params, "threadId"));
  if (message.method == "item/commandExecution/requestApproval" ||
      message.method == "item/fileChange/requestApproval") {
    const auto* const known = find_call(text_in(params, "itemId"));
    ask_host(Heard::Kind::permission, {message.id, thread, Question::Kind::approval},
             known != nullptr ? known->call : call_of_approval(params));
  } else if (message.method == "mcpServer/elicitation/request") {
    hear_elicitation(message);
  } else if (message.method == "item/tool/call") {
    ProgramCall call{std::string(text_in(params, "callId")), std::string(text_in(params, "tool")),
                     object_in(params, "arguments")};
    if (call.id.empty() || call.name.empty()) return rpc_.refuse(message.id, message.method);
    begin_call(call, "", "");
    ask_host(Heard::Kind::host_call, {message.id, thread, Question::Kind::tool}, std::move(call));
  } else {
    rpc_.refuse(message.id, message.method);
  }
}

// A server of MCP wants to know something of the user. Only the question whether its tool may be called is for us; and
// for a tool of the host it is answered where the tool is carried out.
void Codex::hear_elicitation(const RpcMessage& message) {
  const Value meta = value_in(message.body, "_meta");
  const auto server = text_in(message.body, "serverName");
  if (text_in(meta, "codex_approval_kind") != "mcp_tool_call")
    return rpc_.answer(message.id, R"({"action":"decline"})");
  if (server == bridge_name) return rpc_.answer(message.id, R"({"action":"accept","content":{},"_meta":null})");
  ProgramCall call{"", std::string(server) + "__", object_in(meta, "tool_params")};
  for (const auto& [id, known] : calls_)
    if (!known.is_over && known.server == server && known.call.arguments == call.arguments) call = known.call;
  const std::string thread(text_in(message.body, "threadId"));
  ask_host(Heard::Kind::permission, {message.id, thread, Question::Kind::elicitation}, std::move(call));
}

void Codex::ask_host(Heard::Kind kind, Question question, ProgramCall call) {
  if (questions_.size() >= open_max) return;
  Heard& heard = say(kind);
  heard.call = std::move(call);
  heard.question = ++last_question_;
  if (subagents_.contains(question.thread)) heard.subagent = question.thread;
  questions_.emplace(heard.question, std::move(question));
}

void Codex::answer(uint64_t number, const Answer& answer) {
  const auto found = questions_.find(number);
  if (found == questions_.end() || answer.kind == Answer::Kind::defer) return;
  const Question question = std::move(found->second);
  questions_.erase(found);
  const bool allowed = answer.kind == Answer::Kind::allow;
  std::string result;
  json::Writer writer(result);
  writer.begin_object();
  switch (question.kind) {
    case Question::Kind::approval: writer.key("decision").string(allowed ? "accept" : "decline"); break;
    case Question::Kind::elicitation:
      writer.key("action").string(allowed ? "accept" : "decline").key("content").raw(allowed ? "{}" : "null");
      writer.key("_meta").null();
      break;
    case Question::Kind::tool:
      writer.key("contentItems").begin_array().begin_object().key("type").string("inputText");
      writer.key("text").string(plain_words(answer.text)).end_object().end_array();
      writer.key("success").boolean(answer.kind == Answer::Kind::result && !answer.failed);
      break;
  }
  writer.end_object();
  rpc_.answer(question.id, result);
}

void Codex::interrupt() {
  is_interrupted_ = true;
  if (!turn_id_.empty()) stop_turn();
}

void Codex::stop_turn() {
  std::string params;
  json::Writer(params).begin_object().key("threadId").string(thread_id_).key("turnId").string(turn_id_).end_object();
  rpc_.ask("turn/interrupt", params);
}

// ── what it tells ──
void Codex::hear_notification(const RpcMessage& message) {
  const std::string_view method = message.method;
  const Value& params = message.body;
  if (method == "warning" || method == "configWarning") {
    const auto words = text_in(params, "message");
    say(Heard::Kind::log, words.empty() ? text_in(params, "summary") : words);
    return;
  }
  if (thread_id_.empty()) return;
  const std::string thread(text_in(params, "threadId"));
  if (thread != thread_id_ && !subagents_.contains(thread)) return;
  const std::string subagent = thread == thread_id_ ? "" : thread;
  if (method == "item/started" || method == "item/completed") {
    hear_item(method, params, subagent);
  } else if (method.starts_with("item/")) {
    hear_delta(method, params, subagent);
  } else if (!subagent.empty()) {
    if (method != "turn/completed") return;
    subagents_.erase(thread);
    const Value turn = value_in(params, "turn");
    Heard& ended = say(Heard::Kind::subagent_ended, text_in(value_in(turn, "error"), "message"), subagent);
    ended.failed = text_in(turn, "status") != "completed";
  } else if (method == "turn/plan/updated") {
    hear_plan(value_in(params, "plan"));
  } else if (method == "thread/tokenUsage/updated") {
    hear_usage(params);
  } else if (method == "error") {
    hear_error(params);
  } else if (method == "serverRequest/resolved") {
    const auto id = value_in(params, "requestId").to_text();
    for (auto at = questions_.begin(); at != questions_.end(); ++at) {
      if (at->second.id != id) continue;
      say(Heard::Kind::withdrawn).question = at->first;
      questions_.erase(at);
      return;
    }
  } else if (method == "turn/completed") {
    hear_turn_end(value_in(params, "turn"));
  }
}

void Codex::hear_item(std::string_view method, const Value& params, const std::string& subagent) {
  const Value item = value_in(params, "item");
  const bool is_whole = method == "item/completed";
  const std::string id(text_in(item, "id"));
  if (text_in(item, "type") == "agentMessage" && is_whole && subagent.empty()) {
    answer_.whole(text_in(item, "text"), heard_);
    message_id_.clear();
    return;
  }
  const auto call = call_of_item(item);
  if (!call) return;
  begin_call(*call, text_in(item, "server"), subagent);
  if (text_in(item, "type") == "collabAgentToolCall") hear_agents(item);
  auto* const known = find_call(id);
  if (!is_whole || known == nullptr) return;
  *known = {.call = {}, .server = {}, .is_over = true};
  const ItemEnd ended = end_of_item(item);
  Heard& heard = say(Heard::Kind::call_ended, ended.text, subagent);
  heard.call.id = id;
  heard.failed = ended.failed;
}

// The agents that a call of the collaboration tools set to work.
void Codex::hear_agents(const Value& item) {
  value_in(item, "receiverThreadIds").each_element([&](const Value& receiver) {
    const std::string thread(receiver.string().value_or(""));
    if (thread.empty() || text_in(item, "tool") != "spawnAgent" || subagents_.size() >= open_max) return;
    if (!subagents_.insert(thread).second) return;
    say(Heard::Kind::subagent_began, text_in(item, "prompt"), thread).call.id = text_in(item, "id");
  });
}

Codex::Call* Codex::find_call(std::string_view id) {
  const auto found = calls_.find(id);
  return found == calls_.end() || found->second.is_over ? nullptr : &found->second;
}

void Codex::begin_call(const ProgramCall& call, std::string_view server, const std::string& subagent) {
  if (calls_.contains(call.id)) return;
  if (calls_.size() >= calls_max) {
    if (!std::exchange(are_calls_full_, true)) heard_.push_back(too_many_calls());
    return;
  }
  if (subagent.empty()) answer_.complete(heard_);
  calls_.emplace(call.id, Call{call, std::string(server)});
  say(Heard::Kind::call_running, "", subagent).call = call;
}

void Codex::hear_delta(std::string_view method, const Value& params, const std::string& subagent) {
  const auto delta = text_in(params, "delta");
  if (method == "item/agentMessage/delta") {
    if (!subagent.empty()) return void(say(Heard::Kind::text, delta, subagent));
    const auto id = text_in(params, "itemId");
    if (id != message_id_) answer_.begin();
    message_id_ = id;
    answer_.add(delta, heard_);
  } else if (method == "item/reasoning/summaryTextDelta" || method == "item/reasoning/textDelta") {
    say(Heard::Kind::reasoning, delta, subagent);
  } else if (method == "item/reasoning/summaryPartAdded") {
    if (count_in(params, "summaryIndex") > 0) say(Heard::Kind::reasoning, "\n\n", subagent);
  } else if (method == "item/commandExecution/outputDelta") {
    const auto* const known = find_call(text_in(params, "itemId"));
    if (known != nullptr) say(Heard::Kind::call_output, delta, subagent).call.id = known->call.id;
  }
}

void Codex::hear_plan(const Value& plan) {
  Heard& heard = say(Heard::Kind::custom, "codex.todo");
  json::Writer writer(heard.json);
  writer.begin_object().key("todos").begin_array();
  plan.each_element([&](const Value& step) {
    const auto status = text_in(step, "status");
    writer.begin_object().key("content").string(text_in(step, "step"));
    writer.key("status").string(status == "inProgress" ? "in_progress" : status).end_object();
  });
  writer.end_array().end_object();
}

// The counts are the thread's, and its last count comes once more when it is resumed.
void Codex::hear_usage(const Value& params) {
  const Value counted = value_in(params, "tokenUsage");
  const model::Usage total = usage_in(value_in(counted, "total"));
  if (turn_id_.empty() || text_in(params, "turnId") != turn_id_) {
    usage_before_ = total;
    return;
  }
  if (!usage_before_) {
    const model::Usage last = usage_in(value_in(counted, "last"));
    usage_before_ = {total.input_tokens - last.input_tokens, total.output_tokens - last.output_tokens};
  }
  say(Heard::Kind::usage).usage = {std::max<int64_t>(0, total.input_tokens - usage_before_->input_tokens),
                                   std::max<int64_t>(0, total.output_tokens - usage_before_->output_tokens)};
}

void Codex::hear_error(const Value& params) {
  if (!is_true_in(params, "willRetry")) return;  // the turn's end says it again
  const Value error = value_in(params, "error");
  std::string words(text_in(error, "message"));
  if (const auto details = text_in(error, "additionalDetails"); !details.empty()) words += ": " + std::string(details);
  heard_.push_back(warned(std::move(words)));
  if (!message_id_.empty()) answer_.again();
}

void Codex::hear_turn_end(const Value& turn) {
  const auto status = text_in(turn, "status");
  if (status == "completed") {
    answer_.complete(heard_);
    say(Heard::Kind::finished);
    is_over_ = true;
    return;
  }
  if (status == "interrupted") {
    return is_interrupted_ ? fail(model::Slug::run_cancelled, "Codex was interrupted.")
                           : fail(model::Slug::model_error, "Codex broke its turn off.");
  }
  const Value error = value_in(turn, "error");
  const Value info = value_in(error, "codexErrorInfo");
  std::optional<int64_t> http_status;
  info.each_member(
      [&](std::string_view, const Value& detail) { http_status = value_in(detail, "httpStatusCode").integer(); });
  const std::string words(text_in(error, "message"));
  const bool refused = info.string() == "unauthorized";
  fail(refused ? model::Slug::agent_misconfigured : slug_of_complaint(http_status, words),
       words.empty() ? "Codex failed without saying why." : "Codex failed: " + words);
}

}  // namespace

std::unique_ptr<Dialect> make_codex(const Assignment& assignment) { return std::make_unique<Codex>(assignment); }

}  // namespace sluice::harness
