"""The tests that every agent program must pass (H-1, H-2, H-3, H-6), in the sandbox, with its own tools. A
test file for one of them says which it is."""
import http.server
import json
import threading

from harness_fixture import KEY, PATIENCE_S
from server_process import Server, wait_until

SILENCE_MS = 2000  # of a program whose model says nothing


class ToolServer:
    """A tenant's own server with one tool: looks things up, and says so while it does."""

    def __init__(self, port):
        self.calls = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.calls.append((dict(self.headers), call))
                lines = [{"type": "custom", "name": "crm.progress", "value": {"percent": 50}},
                         {"type": "result", "result": {"customer": call["arguments"]["name"], "open": 14}}]
                raw = "".join(json.dumps(line) + "\n" for line in lines).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/tools"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


ASK_COMMANDS = [{"effect": "ask", "command": "touch *", "reason": "It makes a file."}]
CRM_KEY = "crm-value-77c1-not-for-models"
LOOKUP = {"name": "lookup_customer", "description": "Looks a customer up.",
          "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}


class Talk:
    """Two messages of one conversation, all their events, and the calls of the tenant's tool meanwhile."""

    def __init__(self, test):
        tools = ToolServer(test.tools_port)
        test.addClassCleanup(tools.close)
        agent = test.agent(tools=[LOOKUP | {"url": tools.url}], policy=[{"effect": "allow", "host": "*", "secrets": ["*"]}])
        self.conversation, self.calls = test.conversation(agent_id=agent), tools.calls
        self.first = test.tell(
            self.conversation, "say I look.", "$ echo here-$((40+2)); pwd", "say It said {{last}}",
            "$ echo apple > fruit; env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; "
            "grep -r model-key- /workspace/.sluice 2>/dev/null | head -3", "say Seen.")
        # Not before: in the first message the only alias is that of the model's key.
        put = test.client.request("PUT", f"/v1/agents/{agent}/secrets", {"secrets": {"CRM_KEY": CRM_KEY}})
        test.assertEqual(put.status, 200, put.body)
        self.second = test.tell(
            self.conversation, "$ cat fruit", "say Two: {{last}}", 'call lookup_customer {"name": "Ada"}', "say Result {{last}}",
            "say I use {{secret:CRM_KEY}} and {{secret:NOT_THERE}}.")


class Stories:
    """Mixed into a HarnessTest. `loosening`: files, by path, with which the program would ask less."""

    talk = None

    def told(self):
        """A conversation of two messages, of which several stories are read: to start a program takes seconds."""
        if self.talk is None:
            type(self).talk = Talk(self)
        return self.talk

    def test_H1_it_answers_and_runs_a_command_in_the_box(self):
        talk = self.told()
        said = self.said(talk.first)
        self.assertIn("I look.", said)
        self.assertIn("here-42", said)
        self.assertIn("/workspace", said)
        running, ended = self.steps(talk.first, "running"), self.steps(talk.first, "succeeded")
        self.assertEqual(len(running), 2, running)
        self.assertEqual([s["id"] for s in ended], [s["id"] for s in running])
        self.assertIn("here-42", json.dumps(running[0]["args"]) + json.dumps(ended[0]["result"]))
        self.assertGreater(talk.first[-1]["data"]["message"]["usage"]["output_tokens"], 0)
        runtime = self.client.get(f"/v1/conversations/{talk.conversation}").json()["runtime"]
        self.assertEqual(runtime["agent_type"], self.agent_type)

    def test_I17_the_models_key_is_put_in_on_the_way_out_and_never_seen_inside(self):
        talk = self.told()
        self.assertEqual(self.model.keys(), {KEY})
        self.assertIn("Seen.", self.said(talk.first))
        self.assertNotIn(KEY, json.dumps(talk.first + talk.second))
        self.assertIn("{{secret:", json.dumps(talk.first))

    def test_I17_an_alias_that_is_talked_about_is_not_replaced_on_the_way_to_the_model(self):
        self.assertIn("{{secret:CRM_KEY}}", self.said(self.told().second))
        sent = json.dumps([body for _, _, body in self.model.requests])
        self.assertIn("{{secret:CRM_KEY}}", sent)
        self.assertNotIn(CRM_KEY, sent)

    def test_H3_the_next_message_goes_on_with_the_session_in_another_box(self):
        talk = self.told()
        self.assertIn("apple", self.said(talk.second))
        self.assertEqual(len(self.sessions(talk.first)), 1)
        self.assertEqual(self.sessions(talk.first), self.sessions(talk.second))
        _, _, body = next(r for r in reversed(self.model.requests) if "Two: {{last}}" in json.dumps(r[2]))
        self.assertIn("Seen.", json.dumps(body), "the program shows the model what was said before")
        events = talk.first + talk.second
        self.assertFalse([e for e in events if e["type"] in ("file", "diff") and ".sluice" in json.dumps(e["data"])])

    def test_H6_a_tool_of_the_tenant_is_called_through_the_bridge(self):
        talk = self.told()
        self.assertIn("14", self.said(talk.second).partition("Result ")[2])
        self.assertEqual([call["arguments"] for _, call in talk.calls], [{"name": "Ada"}])
        self.assertIn("sluice-signature", {name.lower() for name in talk.calls[0][0]})
        steps = [s for s in self.steps(talk.second) if s["name"] == "lookup_customer"]
        self.assertEqual([s["status"] for s in steps], ["running", "succeeded"], self.steps(talk.second))
        kinds = [e["type"] for e in talk.second if e["type"] in ("step", "custom")
                 and (e["data"].get("name") in ("lookup_customer", "crm.progress"))]
        self.assertEqual(kinds, ["step", "custom", "step"])

    def test_H1_its_permission_request_is_an_approval_with_the_process_alive(self):
        self.ask_for_leave(self.conversation(agent_id=self.agent(policy=ASK_COMMANDS), runtime={"mode": "sticky"}))

    def test_H1_its_permission_request_is_an_approval_with_the_process_ended_whatever_it_allows_itself_in_its_files(self):
        conversation = self.conversation(agent_id=self.agent(policy=ASK_COMMANDS), runtime={"mode": "pooled"})
        first = self.tell(conversation, "$ " + "; ".join(
            f"mkdir -p $(dirname {path}) && echo '{text}' > {path}" for path, text in self.loosening.items()), "say Written.")
        self.assertIn("Written.", self.said(first))
        self.assertNotIn("approval_required", [e["type"] for e in first])
        self.ask_for_leave(conversation)

    def ask_for_leave(self, conversation):
        events = self.tell(conversation, "$ touch made-by-leave; ls", "say Then {{last}}")
        kinds = [e["type"] for e in events]
        self.assertEqual(kinds.count("approval_required"), 1, kinds)
        asked = next(e["data"] for e in events if e["type"] == "approval_required")
        self.assertIn("touch made-by-leave", json.dumps(asked["requested_items"]))
        self.assertIn("made-by-leave", self.said(events))
        running = self.steps(events, "running")
        self.assertEqual(len({s["id"] for s in running}), 1, "the call that waited is the call that went on")

    def test_H1_a_denied_command_is_not_run_and_the_run_says_so(self):
        conversation = self.conversation(agent_id=self.agent(policy=ASK_COMMANDS))
        stream = self.client.send(conversation, self.script("$ touch never-made; ls", "say Then {{last}}"), patience_s=PATIENCE_S)
        self.addCleanup(stream.close)
        lines = stream.lines()
        gate = self.until_gate(lines)[-1]
        self.assertEqual(self.deny(gate["data"]["id"]).status, 200)
        end = [json.loads(line) for line in lines][-1]
        self.assertEqual((end["type"], end["data"]["type"].rsplit("/", 1)[-1]), ("error", "approval-denied"))
        self.boxes_gone()

    def test_I16_it_goes_on_after_the_server_was_killed_while_it_waited(self):
        conversation = self.conversation(agent_id=self.agent(policy=ASK_COMMANDS))
        stream = self.client.send(conversation, self.script("$ touch after-crash; ls", "say Then {{last}}"), patience_s=PATIENCE_S)
        gate = self.until_gate(stream.lines())[-1]
        self.server.kill()
        stream.close()
        self.server.start()
        type(self).client, type(self).admin = self.server.client(), self.server.admin()
        self.assertEqual(self.approve(gate["data"]["id"]).status, 200)
        message = wait_until(lambda: next((m for m in self.messages(conversation) if m["role"] == "assistant"
                                           and m["status"] in ("completed", "failed")), None),
                             "the run ends", PATIENCE_S)
        self.assertEqual(message["status"], "completed", self.server.log()[-2000:])
        self.assertIn("after-crash", message["content"])

    def test_S10_a_cancelled_run_leaves_nothing_at_work(self):
        conversation = self.conversation(agent_id=self.agent())
        stream = self.client.send(conversation, self.script("say I begin.", "$ sleep 1000", "say Never."), patience_s=PATIENCE_S)
        self.addCleanup(stream.close)
        run, lines = stream.header("x-run-id"), stream.lines()
        next(line for line in lines if json.loads(line)["type"] == "content_delta")
        self.assertEqual(self.client.post(f"/v1/runs/{run}/cancel", {}).status, 200)
        end = [json.loads(line) for line in lines][-1]
        self.assertEqual(end["data"]["type"].rsplit("/", 1)[-1], "run-cancelled")
        self.boxes_gone()

    def test_H1_a_key_that_the_provider_refuses_is_told_as_that(self):
        conversation = self.conversation(agent_id=self.agent())
        events = self.tell(conversation, "fail 401 no such key")
        self.assertEqual(events[-1]["type"], "error")
        self.assertIn(events[-1]["data"]["type"].rsplit("/", 1)[-1], ("agent-misconfigured", "model-error"))
        self.boxes_gone()

    def test_H1_a_model_that_says_nothing_does_not_hold_the_run_for_ever(self):
        # A server of its own: an honest program, too, may be as quiet as this on a machine that is busy.
        self.server = Server(*self.flags, "--harness.silence_ms_max", str(SILENCE_MS), env=self.env)
        self.addCleanup(self.server.remove)
        self.client = self.server.start().client()
        events = self.tell(self.conversation(agent_id=self.agent()), "hang")
        self.assertEqual(events[-1]["type"], "error", events[-3:])
        self.assertEqual(events[-1]["data"]["type"].rsplit("/", 1)[-1], "model-timeout")
        self.boxes_gone()
