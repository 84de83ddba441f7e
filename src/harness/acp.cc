#include <algorithm>
#include <set>

#include "harness/acp_calls.h"
#include "harness/answer_text.h"
#include "harness/complaint.h"
#include "harness/dialect_makers.h"
#include "harness/json_line.h"
#include "harness/json_rpc.h"

namespace sluice::harness {
namespace {

using json::Value;
using model::Slug;

constexpr std::size_t questions_max = 1024;
constexpr std::size_t sessions_max = 1024;

std::string_view vendor_of(const Assignment& assignment) {
  return assignment.model.dialect == "anthropic" ? "anthropic" : "openai";
}

// The Agent Client Protocol: initialize, a session, one prompt in it.
class Acp final : public Dialect {
 public:
  explicit Acp(const Assignment& assignment) : assignment_(assignment), calls_(assignment) {}

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
    std::string allow_option, reject_option;
  };

  void hear(const RpcMessage& message);
  void hear_result(const RpcMessage& message);
  void hear_refusal(const RpcMessage& message);
  void hear_permission(const RpcMessage& message);
  void hear_update(const Value& update);
  void hear_below(const std::string& session, const Value& update);
  void hear_grok(const Value& update);
  void hear_retry(std::string_view reason);
  void hear_subagent(Heard::Kind kind, const Value& update);
  void hear_todos(const Value& entries);
  void hear_usage(const Value& usage);
  void hear_end(const Value& result);

  void start_session(const Value& capabilities);
  void remember_login(const Value& methods);
  bool log_in(const Value& refusal);
  void ask_for_session();
  void write_servers(json::Writer& writer, const Value& capabilities);
  void hear_tools_known(std::string_view session);
  void begin_turn();
  void start_prompt();
  void choose(const Question& question, const std::string& option);
  void say(Heard::Kind kind, std::string_view text);
  void fail(Slug slug, std::string text);

  Assignment assignment_;
  JsonRpc rpc_{JsonRpc::Version::named};
  AcpCalls calls_;
  AnswerText answer_;
  std::vector<Heard> heard_;
  std::string initialize_id_, session_request_id_, login_id_, prompt_id_;
  std::string session_params_;  // sent again after a login
  std::string login_method_;    // the one that takes a key from the environment; empty: none is offered
  std::string session_id_;
  std::set<std::string> sessions_below_;  // its subagents
  std::string message_id_;                // of the message that is being said, where messages have one
  std::map<uint64_t, Question> questions_;
  uint64_t last_question_ = 0;
  model::Usage usage_;
  bool can_resume_ = false;
  bool awaits_tools_ = false;
  std::string session_with_tools_;  // which may be reported before the session itself is
  bool is_interrupted_ = false;
  bool is_over_ = false;
};

std::string Acp::opening() {
  // The program is to use the files and the shell of the box, not ours.
  initialize_id_ = rpc_.ask(
      "initialize",
      R"({"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},)"
      R"("clientInfo":{"name":"sluice","title":"Sluice","version":"1"}})");
  return rpc_.take_output();
}

std::vector<Heard> Acp::feed(std::string_view bytes) {
  if (is_over_) return {};
  rpc_.feed(bytes, heard_, [this](const RpcMessage& message) {
    hear(message);
    return !is_over_;
  });
  return std::exchange(heard_, {});
}

std::vector<Heard> Acp::end(std::string_view exit_words, std::string_view stderr_tail) {
  if (!is_over_) heard_.push_back(ended_early(!session_id_.empty(), exit_words, stderr_tail));
  is_over_ = true;
  return std::exchange(heard_, {});
}

void Acp::say(Heard::Kind kind, std::string_view text) {
  Heard& heard = heard_.emplace_back();
  heard.kind = kind;
  heard.text = text;
}

void Acp::fail(Slug slug, std::string text) {
  heard_.push_back(failed_as(slug, std::move(text)));
  is_over_ = true;
}

void Acp::hear(const RpcMessage& message) {
  switch (message.kind) {
    case RpcMessage::Kind::request:
      return message.method == "session/request_permission" ? hear_permission(message)
                                                            : rpc_.refuse(message.id, message.method);
    case RpcMessage::Kind::result: return hear_result(message);
    case RpcMessage::Kind::error: return hear_refusal(message);
    case RpcMessage::Kind::notification: break;
  }
  if (message.method == "_x.ai/mcp/server_status" && text_in(message.body, "status") == "unavailable")
    heard_.push_back(warned("The agent cannot reach the server of tools \"" +
                            std::string(text_in(message.body, "name")) +
                            "\": " + std::string(text_in(message.body, "detail"))));
  if (message.method == "_x.ai/mcp_initialized") hear_tools_known(text_in(message.body, "sessionId"));
  if (prompt_id_.empty()) return;  // it is history, which is replayed when a session is loaded
  const Value update = value_in(message.body, "update");
  const std::string session(text_in(message.body, "sessionId"));
  if (message.method == "session/update") session == session_id_ ? hear_update(update) : hear_below(session, update);
  if (session != session_id_) return;
  if (message.method == "_x.ai/session_notification") hear_grok(update);
  if (message.method == "_sluice/retry" && assignment_.agent_type == "opencode") hear_retry(text_in(update, "reason"));
}

// ── the way to the prompt ──
void Acp::hear_result(const RpcMessage& message) {
  if (message.id == initialize_id_) {
    remember_login(value_in(message.body, "authMethods"));
    start_session(value_in(message.body, "agentCapabilities"));
  } else if (message.id == login_id_) {
    ask_for_session();
  } else if (message.id == session_request_id_ && session_id_.empty()) {
    session_id_ = assignment_.session_id ? *assignment_.session_id : std::string(text_in(message.body, "sessionId"));
    if (session_id_.empty()) return fail(Slug::model_error, "The agent began a session without saying its id.");
    say(Heard::Kind::session, session_id_);
    if (assignment_.agent_type == "acp" && assignment_.asks) {
      heard_.push_back(
          warned("This program itself decides which of its tools it asks permission for: the agent's policy and its "
                 "approvals apply only to those. What the sandbox and the egress policy forbid is forbidden for all."));
    }
    if (is_interrupted_ || !awaits_tools_ || session_with_tools_ == session_id_) begin_turn();
  } else if (message.id == prompt_id_) {
    hear_end(message.body);
  }
}

// Grok has a session before it has asked the session's servers for their tools, and would answer a model that is
// quicker than that that there is no such tool. It says when it has asked, whether or not they answered.
void Acp::hear_tools_known(std::string_view session) {
  session_with_tools_ = session;
  if (awaits_tools_ && !session_id_.empty() && session == session_id_) begin_turn();
}

void Acp::begin_turn() {
  awaits_tools_ = false;
  if (is_interrupted_) return fail(Slug::run_cancelled, "The agent was interrupted.");
  start_prompt();
}

void Acp::hear_refusal(const RpcMessage& message) {
  std::string words(text_in(message.body, "message"));
  const Value data = value_in(message.body, "data");
  for (const auto more : {data.string().value_or(""), text_in(data, "message"), text_in(data, "details")})
    if (!more.empty()) words += ": " + std::string(more);
  if (message.id.empty()) {
    heard_.push_back(warned("The agent complains: " + plain_words(words)));
  } else if (message.id == prompt_id_) {
    if (is_interrupted_) return fail(Slug::run_cancelled, "The agent was interrupted.");
    fail(slug_of_complaint(std::nullopt, words), "The agent failed: " + words);
  } else if (message.id == session_request_id_ && log_in(message.body)) {
    return;
  } else if (message.id == session_request_id_ && assignment_.session_id) {
    fail(Slug::agent_misconfigured,
         "The agent cannot go on with the session " + *assignment_.session_id + ": " + words);
  } else if (message.id == initialize_id_ || message.id == session_request_id_) {
    fail(Slug::agent_misconfigured, "The agent refused to begin: " + words);
  } else if (message.id == login_id_) {
    fail(Slug::agent_misconfigured, "The agent refused the model's key (" + login_method_ + "): " + words);
  }
}

// Every other way to log in needs a person with a browser. The key is in the environment already.
void Acp::remember_login(const Value& methods) {
  methods.each_element([&](const Value& method) {
    const std::string id(text_in(method, "id"));
    const bool takes_key = id.find("api-key") != id.npos || id.find("api_key") != id.npos;
    const bool is_of_vendor = id.find(vendor_of(assignment_)) != id.npos;
    if (takes_key && (login_method_.empty() || is_of_vendor)) login_method_ = id;
  });
}

// Whether the session was refused for want of a login, which is then asked for, once.
bool Acp::log_in(const Value& refusal) {
  constexpr int64_t auth_required = -32000;
  if (value_in(refusal, "code").integer().value_or(0) != auth_required || login_method_.empty() || !login_id_.empty())
    return false;
  std::string params;
  json::Writer(params).begin_object().key("methodId").string(login_method_).end_object();
  login_id_ = rpc_.ask("authenticate", params);
  return true;
}

void Acp::ask_for_session() {
  const std::string_view method = !assignment_.session_id ? "session/new"
                                  : can_resume_           ? "session/resume"
                                                          : "session/load";
  session_request_id_ = rpc_.ask(method, session_params_);
}

void Acp::start_session(const Value& capabilities) {
  if (!session_request_id_.empty()) return;
  can_resume_ = value_in(value_in(capabilities, "sessionCapabilities"), "resume").kind() == json::Kind::object;
  json::Writer writer(session_params_);
  writer.begin_object().key("cwd").string("/workspace");
  if (assignment_.session_id) {
    if (!can_resume_ && !is_true_in(capabilities, "loadSession"))
      return fail(Slug::agent_misconfigured,
                  "The agent cannot go on with a session: it offers neither session/resume nor session/load.");
    writer.key("sessionId").string(*assignment_.session_id);
  }
  write_servers(writer, capabilities);
  if (assignment_.agent_type == "grok-build" && !assignment_.system_prompt.empty())
    writer.key("_meta").begin_object().key("rules").string(assignment_.system_prompt).end_object();
  writer.end_object();
  ask_for_session();
}

void Acp::write_servers(json::Writer& writer, const Value& capabilities) {
  const bool can_reach = is_true_in(value_in(capabilities, "mcpCapabilities"), "http");
  writer.key("mcpServers").begin_array();
  if (!assignment_.bridge_url.empty() && can_reach) {
    writer.begin_object().key("type").string("http").key("name").string("sluice");
    writer.key("url").string(assignment_.bridge_url).key("headers").begin_array().end_array().end_object();
    awaits_tools_ = assignment_.agent_type == "grok-build";
  }
  writer.end_array();
  if (!can_reach && !assignment_.tools.empty())
    heard_.push_back(
        warned("The agent does not speak to MCP servers over HTTP: it is not offered the tools of the host."));
}

void Acp::start_prompt() {
  std::string params;
  json::Writer writer(params);
  writer.begin_object().key("sessionId").string(session_id_).key("prompt").begin_array();
  // An agent of which nothing is known has no other place for it.
  if (assignment_.agent_type == "acp" && !assignment_.session_id && !assignment_.system_prompt.empty())
    writer.begin_object().key("type").string("text").key("text").string(assignment_.system_prompt).end_object();
  writer.begin_object().key("type").string("text").key("text").string(assignment_.prompt).end_object();
  writer.end_array().end_object();
  prompt_id_ = rpc_.ask("session/prompt", params);
}

// ── permissions ──
// Whichever session it is of: the program waits for the answer to each.
void Acp::hear_permission(const RpcMessage& message) {
  std::string below(text_in(message.body, "sessionId"));
  if (below == session_id_) below.clear();
  if (!below.empty() && sessions_below_.size() < sessions_max) sessions_below_.insert(below);
  Question question{message.id, "", ""};
  value_in(message.body, "options").each_element([&](const Value& option) {
    const auto kind = text_in(option, "kind");
    if (kind == "allow_once") question.allow_option = text_in(option, "optionId");
    if (kind == "reject_once") question.reject_option = text_in(option, "optionId");
  });
  Heard permission = calls_.asked_for(value_in(message.body, "toolCall"), below, heard_);
  if (calls_.is_of_host(permission.call)) return choose(question, question.allow_option);
  if (questions_.size() >= questions_max) return choose(question, question.reject_option);
  permission.question = ++last_question_;
  questions_.emplace(last_question_, std::move(question));
  heard_.push_back(std::move(permission));
}

// Without such an option it is as if the prompt had been cancelled, which a program must not take for an agreement.
void Acp::choose(const Question& question, const std::string& option) {
  std::string result;
  json::Writer writer(result);
  writer.begin_object().key("outcome").begin_object();
  writer.key("outcome").string(option.empty() ? "cancelled" : "selected");
  if (!option.empty()) writer.key("optionId").string(option);
  writer.end_object().end_object();
  rpc_.answer(question.id, result);
}

void Acp::answer(uint64_t number, const Answer& answer) {
  const auto found = questions_.find(number);
  if (found == questions_.end() || answer.kind == Answer::Kind::defer) return;
  const Question question = std::move(found->second);
  questions_.erase(found);
  choose(question, answer.kind == Answer::Kind::allow ? question.allow_option : question.reject_option);
}

void Acp::interrupt() {
  is_interrupted_ = true;
  if (prompt_id_.empty() || is_over_) return;
  std::string params;
  json::Writer(params).begin_object().key("sessionId").string(session_id_).end_object();
  rpc_.tell("session/cancel", params);
  for (const auto& [number, question] : questions_) choose(question, "");
  questions_.clear();
}

// ── what it tells ──
void Acp::hear_update(const Value& update) {
  const auto what = text_in(update, "sessionUpdate");
  if (what == "agent_message_chunk") {
    const auto id = text_in(update, "messageId");
    if (id != message_id_) answer_.begin();
    message_id_ = id;
    answer_.add(text_in(value_in(update, "content"), "text"), heard_);
  } else if (what == "agent_thought_chunk") {
    say(Heard::Kind::reasoning, text_in(value_in(update, "content"), "text"));
  } else if (what == "tool_call" || what == "tool_call_update") {
    answer_.complete(heard_);
    const auto before = heard_.size();
    calls_.hear(update, "", heard_);
    // OpenCode has its list in a tool, and no plan.
    for (auto at = before; assignment_.agent_type == "opencode" && at < heard_.size(); ++at)
      if (heard_[at].kind == Heard::Kind::call_running && heard_[at].call.name == "todowrite")
        hear_todos(value_in(value_in(update, "rawInput"), "todos"));
  } else if (what == "plan") {
    hear_todos(value_in(update, "entries"));
  }
}

// A session that the agent began by itself, and reported or asks in.
void Acp::hear_below(const std::string& session, const Value& update) {
  if (!sessions_below_.contains(session)) return;
  const auto what = text_in(update, "sessionUpdate");
  if (what == "tool_call" || what == "tool_call_update") return calls_.hear(update, session, heard_);
  if (what != "agent_message_chunk" && what != "agent_thought_chunk") return;
  say(what == "agent_message_chunk" ? Heard::Kind::text : Heard::Kind::reasoning,
      text_in(value_in(update, "content"), "text"));
  heard_.back().subagent = session;
}

void Acp::hear_subagent(Heard::Kind kind, const Value& update) {
  const std::string session(text_in(update, "child_session_id"));
  if (session.empty() || sessions_below_.size() >= sessions_max) return;
  sessions_below_.insert(session);
  const bool began = kind == Heard::Kind::subagent_began;
  say(kind, text_in(update, began ? "description" : "error"));
  heard_.back().subagent = session;
  heard_.back().failed = !began && text_in(update, "status") != "completed";
}

void Acp::hear_grok(const Value& update) {
  const auto what = text_in(update, "sessionUpdate");
  if (what == "tool_call_delta_chunk") {
    calls_.hear_piece(update, heard_);
  } else if (what == "subagent_spawned") {
    hear_subagent(Heard::Kind::subagent_began, update);
  } else if (what == "subagent_finished") {
    hear_subagent(Heard::Kind::subagent_ended, update);
  } else if (what == "retry_state" && text_in(update, "type") == "retrying") {
    hear_retry(text_in(update, "reason"));
  } else if (what == "response_completed") {
    answer_.complete(heard_);
    calls_.end_pieces();
    const Value usage = value_in(update, "usage");
    usage_.input_tokens += count_in(usage, "input_tokens") + count_in(usage, "cache_read_input_tokens") +
                           count_in(usage, "cache_creation_input_tokens");
    usage_.output_tokens += count_in(usage, "output_tokens");
    say(Heard::Kind::usage, "");
    heard_.back().usage = usage_;
  }
}

// The message will be said again, from its start.
void Acp::hear_retry(std::string_view reason) {
  heard_.push_back(warned("The model is asked again: " + std::string(reason)));
  answer_.again();
  calls_.end_pieces();
}

void Acp::hear_todos(const Value& entries) {
  say(Heard::Kind::custom, assignment_.agent_type + ".todo");
  json::Writer writer(heard_.back().json);
  writer.begin_object().key("todos").begin_array();
  entries.each_element([&](const Value& entry) {
    writer.begin_object().key("content").string(text_in(entry, "content"));
    writer.key("status").string(text_in(entry, "status")).end_object();
  });
  writer.end_array().end_object();
}

// Some count what was read from a cache as input and some do not; the total has it always.
void Acp::hear_usage(const Value& usage) {
  const int64_t output = count_in(usage, "outputTokens") + count_in(usage, "thoughtTokens");
  const int64_t input = std::max(count_in(usage, "inputTokens"), count_in(usage, "totalTokens") - output);
  if (input + output == 0) return;
  say(Heard::Kind::usage, "");
  heard_.back().usage = {input, output};
}

void Acp::hear_end(const Value& result) {
  const Value grok = value_in(value_in(result, "_meta"), "usage");
  hear_usage(grok.is_null() ? value_in(result, "usage") : grok);
  const auto reason = text_in(result, "stopReason");
  if (reason == "cancelled") {
    if (is_interrupted_) return fail(Slug::run_cancelled, "The agent was interrupted.");
    // Grok gives up when it is not allowed something; the others go on without it.
    if (text_in(value_in(result, "_meta"), "cancellationCategory") == "PermissionRejected")
      return fail(Slug::agent_failed, "The agent gave its turn up because it was not allowed what it asked for.");
    return fail(Slug::model_error, "The agent broke its turn off.");
  }
  if (reason == "refusal") return fail(Slug::model_error, "The model refused to answer.");
  answer_.complete(heard_);
  if (reason == "max_tokens") heard_.push_back(warned("The model stopped because its answer became too long."));
  if (reason == "max_turn_requests")
    heard_.push_back(warned("The agent stopped because it had asked its model too often."));
  say(Heard::Kind::finished, "");
  is_over_ = true;
}

}  // namespace

std::unique_ptr<Dialect> make_acp(const Assignment& assignment) { return std::make_unique<Acp>(assignment); }

}  // namespace sluice::harness
