// The stories that the goldens tell: together they have every kind of event, for every kind of client (H-7).
#include "wire/agui_fixture.h"

namespace sluice::wire {
namespace agui_stories_test {

using model::EventKind;
using Events = std::vector<model::RunEvent>;

constexpr std::string_view names =
    R"({"request_id":"req_1","agui":{"thread_id":"thread-1","run_id":"client-run-1","messages":)"
    R"([{"id":"user-1","role":"user","content":"Look around."}]}})";
constexpr std::string_view message = R"({"object":"message","content":"Done.","status":"completed"})";

model::RunEvent event(EventKind kind, std::string_view body) { return {kind, {}, std::string(body)}; }

// Begun by an AG-UI client, and finished.
Events run_of(Events between) {
  Events events = {event(EventKind::accepted, names), event(EventKind::started, "")};
  for (auto& next : between) events.push_back(std::move(next));
  events.push_back(event(EventKind::usage, R"({"input_tokens":120,"output_tokens":30})"));
  events.push_back(event(EventKind::completed, message));
  return events;
}

Events ended_by(Events events, EventKind kind, std::string_view body) {
  events.resize(events.size() - 2);
  events.push_back(event(kind, body));
  return events;
}

std::string approval(std::string_view items) {
  return R"({"object":"approval","id":"apr_01","status":"pending","reason":"It changes production.","requested_items":)" +
         std::string(items) + R"(,"expires_at":"2099-07-02T11:00:00.000Z","resolved_by":null})";
}

Events tools() {
  return run_of({
      event(EventKind::text, "I will look. "),
      event(EventKind::text, "One moment."),
      event(EventKind::step, R"({"id":"step_1","name":"bash","status":"running","args":{"command":"ls"}})"),
      event(EventKind::output, R"({"id":"step_1","stream":"stdout","text":"a.txt\n"})"),
      event(EventKind::file, R"({"type":"create","path":"/workspace/a.txt","timestamp":1782986401000})"),
      event(EventKind::step, R"({"id":"step_1","name":"bash","status":"succeeded","result":"a.txt\n","durationMs":3})"),
      event(EventKind::step, R"({"id":"step_2","name":"bash","status":"running","args":{"command":"false"}})"),
      event(EventKind::step, R"({"id":"step_2","name":"bash","status":"failed","error":"exit code 1","durationMs":3})"),
      event(EventKind::text, "There is a.txt."),
      event(EventKind::diff, R"({"path":".","diff":"diff --git a/a.txt b/a.txt\n"})"),
  });
}

Events parallel_tools() {
  return run_of({
      event(EventKind::call, R"({"id":"toolu_a","name":"read"})"),
      event(EventKind::call, R"({"id":"toolu_b","name":"grep"})"),
      event(EventKind::call, R"({"id":"toolu_a","args":"{\"path\":"})"),
      event(EventKind::call, R"({"id":"toolu_b","args":"{\"pattern\":\"x\"}"})"),
      event(EventKind::call, R"({"id":"toolu_a","args":"\"a.txt\"}"})"),
      event(EventKind::step, R"({"id":"toolu_a","name":"read","status":"running","args":{"path":"a.txt"}})"),
      event(EventKind::step, R"({"id":"toolu_b","name":"grep","status":"running","args":{"pattern":"x"}})"),
      event(EventKind::step, R"({"id":"toolu_b","name":"grep","status":"succeeded","result":"none"})"),
      event(EventKind::step, R"({"id":"toolu_a","name":"read","status":"succeeded","result":"words"})"),
      event(EventKind::text, "Both done."),
  });
}

// Words, thoughts and calls in any order, an answer that comes late, and one that answers nothing.
Events interleaved() {
  return run_of({
      event(EventKind::reasoning, "Perhaps "),
      event(EventKind::reasoning, "so."),
      event(EventKind::text, "First."),
      event(EventKind::reasoning, "Or not."),
      event(EventKind::step, R"({"id":"toolu_1","name":"bash","status":"running","args":{"command":"sleep 9"}})"),
      event(EventKind::text, "It runs meanwhile."),
      event(EventKind::step, R"({"id":"toolu_1","name":"bash","status":"succeeded","result":"slept"})"),
      event(EventKind::call, R"({"id":"toolu_lost","args":"{}"})"),
      event(EventKind::step, R"({"id":"toolu_2","name":"read","status":"succeeded","result":"of nothing"})"),
      event(EventKind::step, R"({"id":"toolu_2","name":"read","status":"succeeded","result":"again"})"),
      event(EventKind::filler, "Still here. "),
      event(EventKind::text, "Last."),
  });
}

Events subagents() {
  return run_of({
      event(EventKind::text, "I ask another. "),
      event(EventKind::step, R"({"id":"toolu_task","name":"Task","status":"running","args":{"prompt":"look"}})"),
      event(EventKind::subagent, R"({"id":"sub-1","name":"explorer","status":"started","step_id":"toolu_task"})"),
      event(EventKind::subagent_text, R"({"id":"sub-1","reasoning":"Where?"})"),
      event(EventKind::subagent_text, R"({"id":"sub-1","text":"I look."})"),
      event(EventKind::step,
            R"({"id":"toolu_in","name":"read","status":"running","args":{"path":"b"},"subagent":"sub-1"})"),
      event(EventKind::step, R"({"id":"toolu_in","name":"read","status":"succeeded","result":"b","subagent":"sub-1"})"),
      event(EventKind::subagent_text, R"({"id":"sub-1","text":"Found."})"),
      event(EventKind::subagent, R"({"id":"sub-1","name":"explorer","status":"finished"})"),
      event(EventKind::subagent, R"({"id":"sub-2","name":"writer","status":"failed","error":"no words"})"),
      event(EventKind::step, R"({"id":"toolu_task","name":"Task","status":"succeeded","result":"found"})"),
      event(EventKind::text, "It was found."),
  });
}

Events replaced() {
  return run_of({
      event(EventKind::text, "Kept."),
      event(EventKind::step, R"({"id":"toolu_1","name":"bash","status":"running","args":{}})"),
      event(EventKind::step, R"({"id":"toolu_1","name":"bash","status":"succeeded","result":"ok"})"),
      event(EventKind::text, "Half of it is wrong"),
      event(EventKind::call, R"({"id":"toolu_2","name":"bash"})"),
      event(EventKind::replaced, R"({"kept_bytes":12})"),
      event(EventKind::text, " right."),
  });
}

Events gate() {
  return run_of({
      event(EventKind::text, "I would deploy."),
      event(EventKind::step, R"({"id":"step_1","name":"bash","status":"running","args":{"command":"deploy"}})"),
      event(EventKind::usage, R"({"input_tokens":100,"output_tokens":20})"),
      event(EventKind::checkpoint, "{}"),
      event(EventKind::gate, approval(R"([{"kind":"action","description":"deploy","call":{"id":"step_1","name":"bash",)"
                                      R"("arguments":"{\"command\":\"deploy\"}"}}])")),
      event(EventKind::answers, R"({"agui_run_id":"client-run-2","results":[]})"),
      event(EventKind::resumed, R"({"approval_id":"apr_01","decision":"approved"})"),
      event(EventKind::checkpoint, ""),
      event(EventKind::step, R"({"id":"step_1","name":"bash","status":"succeeded","result":"deployed"})"),
      event(EventKind::text, "It is deployed."),
  });
}

Events secret() {
  return run_of({
      event(EventKind::text, "I need a key."),
      event(EventKind::gate, approval(R"([{"kind":"secret","description":"The key","alias":"CRM_API_KEY"}])")),
      event(EventKind::resumed, R"({"approval_id":"apr_01","decision":"approved"})"),
      event(EventKind::text, "Thanks."),
  });
}

// As the engine ends a run that waits: what is still open is closed first; no client hears of it.
Events ended_at_gate(EventKind kind, std::string_view problem) {
  auto events = gate();
  events.resize(7);
  events.push_back(event(EventKind::answers, R"({"agui_run_id":"client-run-2","results":[]})"));
  events.push_back(event(EventKind::step,
                         R"({"id":"step_1","name":"bash","status":"failed","error":"The run ended at its gate."})"));
  events.push_back(event(kind, problem));
  return events;
}

// One call in a box that is kept works on while a human is asked about another.
Events late_result() {
  const auto items = R"([{"kind":"action","description":"deploy","call":{"id":"toolu_b","name":"bash",)"
                     R"("arguments":"{\"command\":\"deploy\"}"}}])";
  return run_of({
      event(EventKind::step, R"({"id":"toolu_a","name":"bash","status":"running","args":{"command":"make"}})"),
      event(EventKind::step, R"({"id":"toolu_b","name":"bash","status":"running","args":{"command":"deploy"}})"),
      event(EventKind::gate, approval(items)),
      event(EventKind::step, R"({"id":"toolu_a","name":"bash","status":"succeeded","result":"made"})"),
      event(EventKind::answers, R"({"agui_run_id":"client-run-2","results":[]})"),
      event(EventKind::resumed, R"({"approval_id":"apr_01","decision":"approved"})"),
      event(EventKind::step, R"({"id":"toolu_b","name":"bash","status":"succeeded","result":"deployed"})"),
      event(EventKind::text, "It is deployed."),
  });
}

Events client_tools() {
  const auto items = R"([{"kind":"client_tool","description":"Run locate.","call":{"id":"step_1","name":"locate",)"
                     R"("arguments":"{\"city\":\"Oslo\"}"}}])";
  return run_of({
      event(EventKind::text, "Where are you?"),
      event(EventKind::step, R"({"id":"step_1","name":"locate","status":"running","args":{"city":"Oslo"}})"),
      event(EventKind::gate, approval(items)),
      event(EventKind::answers,
            R"({"agui_run_id":"client-run-2","results":[{"call_id":"step_1","content":"here","failed":false}]})"),
      event(EventKind::resumed, R"({"approval_id":"apr_01","decision":"approved"})"),
      event(EventKind::step, R"({"id":"step_1","name":"locate","status":"succeeded","result":"here"})"),
      event(EventKind::text, "You are here."),
  });
}

Events sandbox() {
  return {
      event(EventKind::accepted, names),
      event(EventKind::queued, R"({"position":2,"retry_hint_seconds":5})"),
      event(EventKind::queued, R"({"position":1,"retry_hint_seconds":3})"),
      event(EventKind::started, ""),
      event(EventKind::log, R"({"level":"info","text":"Opened a sandbox.","phase":"sandbox","durationMs":12})"),
      event(EventKind::log, R"({"level":"info","text":"Ran.","phase":"run","durationMs":12})"),
      event(EventKind::log, R"({"level":"info","text":"Ran.","phase":"run","durationMs":12})"),
      event(EventKind::custom, R"({"name":"claude-code.session-id","value":{"sessionId":"s-1"}})"),
      event(EventKind::custom, R"({"name":"approval-requested","value":null})"),
      event(EventKind::log, R"({"level":"warn","text":"Again in 2 s."})"),
      event(EventKind::egress, R"({"host":"example.org","method":"GET","status":200})"),
      event(EventKind::text, "Ready \"now\".\n"),
      event(EventKind::completed, message),
  };
}

std::vector<AguiStory> all() {
  const auto open = Events{
      event(EventKind::text, "Half a sent"),
      event(EventKind::call, R"({"id":"toolu_1","name":"bash"})"),
      event(EventKind::subagent, R"({"id":"sub-1","name":"explorer","status":"started"})"),
      event(EventKind::subagent_text, R"({"id":"sub-1","text":"I lo"})"),
  };
  return {
      {"text", run_of({event(EventKind::text, "Hello"), event(EventKind::text, " world.")})},
      {"reasoning", run_of({event(EventKind::reasoning, "Hm."), event(EventKind::text, "Yes.")})},
      {"tools", tools()},
      {"parallel_tools", parallel_tools()},
      {"interleaved", interleaved()},
      {"subagents", subagents()},
      {"replaced", replaced()},
      {"gate", gate(), 2},
      {"secret", secret(), 2},
      {"late_result", late_result(), 2},
      {"denied",
       ended_at_gate(EventKind::failed, R"({"type":"https://sluice.dev/problems/approval-denied","title":"Denied",)"
                                        R"("status":403,"detail":"A human said no."})"),
       2},
      {"expired",
       ended_at_gate(EventKind::failed, R"({"type":"https://sluice.dev/problems/approval-expired","title":"Expired",)"
                                        R"("status":410,"detail":"No decision came."})"),
       2},
      {"cancelled_wait",
       ended_at_gate(EventKind::cancelled,
                     R"({"type":"https://sluice.dev/problems/run-cancelled","detail":"Somebody cancelled it."})"),
       2},
      {"client_tools", client_tools(), 2},
      {"sandbox", sandbox()},
      {"failed", ended_by(run_of(open), EventKind::failed,
                          R"({"type":"https://sluice.dev/problems/model-error","title":"Model error","status":502})")},
      {"cancelled",
       ended_by(run_of(open), EventKind::cancelled,
                R"({"type":"https://sluice.dev/problems/run-cancelled","detail":"Somebody cancelled it."})")},
  };
}

}  // namespace agui_stories_test

std::vector<AguiStory> agui_stories() { return agui_stories_test::all(); }

}  // namespace sluice::wire
