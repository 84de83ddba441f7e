"""Chats with the Assistant, as a browser sees them (A-1, A-2, A-4, A-7): what a turn sends, what is kept of it, and what
a reload shows."""
import http.client
import http.server
import json
import queue
import threading
import unittest

from assistant_fixture import AssistantTest, Browser, frames
from gate_fixture import Approver
from http_client import CLOSED_WITHIN_S, PATIENCE_S
from test_tokens import form


class ATurn(AssistantTest):
    def test_A1_the_first_one_makes_the_chat(self):
        first = self.turn("say Hello there\nsay second line")
        chat = first.chat["chatId"]
        self.assertEqual(first.chat["title"], "say Hello there")
        self.assertEqual(first.types, ["chat"] + ["delta"] * 4 + ["result", "done"])
        listed = self.client.get("/api/assistant/chats").json()["data"][0]
        self.assertEqual(listed, {"id": chat, "object": "chat", "title": "say Hello there", "running": None,
                                  "agentId": listed["agentId"], "createdAt": first.chat["createdAt"],
                                  "updatedAt": listed["updatedAt"]})
        second = self.turn("say again", chat)
        self.assertEqual(second.chat["chatId"], chat)
        self.assertNotEqual(second.chat["streamId"], first.chat["streamId"])
        self.assertEqual(second.chat["createdAt"], first.chat["createdAt"])
        self.assertEqual(len(self.chat(chat)["messages"]), 4)
        self.assertNotIn(chat, self.client.get("/v1/conversations").body.decode())

    def test_A1_a_step_is_one_row_and_logs_are_for_the_trace(self):
        turn = self.turn("think Let me see.\n$ echo out; echo err >&2\nsay done")
        steps = [frame.data for frame in turn.seen if frame.type == "step"]
        self.assertEqual(len({step["id"] for step in steps}), 1, steps)
        self.assertEqual(steps[-1]["status"], "succeeded")
        self.assertEqual({step["status"] for step in steps[:-1]}, {"running"})
        self.assertTrue(all(isinstance(step["ts"], int) for step in steps))
        self.assertEqual([b["type"] for b in turn.blocks if b["type"] in ("reasoning", "step", "text")],
                         ["reasoning", "step", "text"])
        self.assertNotIn("log", turn.types)
        trace = self.client.get(f"/v1/runs/{turn.chat['streamId']}/stream.jsonl").body.decode()
        self.assertIn('"type":"log"', trace)

    def test_A2_a_reload_shows_the_content_of_the_stream(self):
        chat = self.turn("say hi").chat["chatId"]
        for script in ("$ echo one; seq 1 9000\nsay {{last}}\n$ exit 3\nsay end",
                       "write a.txt: x\nedit a.txt: x -> y\n$ rm a.txt; echo z > b.txt\nsay ok",
                       "think hm\nsay é😀 <script>alert(1)</script>\nread nowhere\nput x",
                       "say so far\ncut", "fail 400 no such model"):
            turn = self.turn(script, chat)
            self.assertEqual(turn.shown(), self.chat(chat)["messages"][-1]["content"], script)

    def test_A2_messages_are_as_documented(self):
        turn = self.turn("say Hello")
        user, assistant = self.chat(turn.chat["chatId"])["messages"]
        self.assertEqual(user, {"id": turn.chat["userMessageId"], "role": "user", "fileAttachments": [],
                                "content": [{"type": "text", "text": "say Hello"}], "status": "completed",
                                "createdAt": user["createdAt"]})
        self.assertEqual(assistant, {"id": turn.chat["messageId"], "role": "assistant", "fileAttachments": [],
                                     "content": [{"type": "text", "text": "Hello"}], "status": "completed",
                                     "createdAt": assistant["createdAt"],
                                     "usage": turn.result["usage"]})

    def test_A7_the_message_is_stored_before_it_is_sent(self):
        answer = self.open_turn("say Hello")
        with answer.connection:
            for frame in frames(answer):
                if frame.type == "result":
                    kept = self.chat(answer.header("x-chat-id"))
                    self.assertEqual(kept["messages"][-1], frame.data["message"])
                    self.assertEqual(frame.data["messageId"], kept["messages"][-1]["id"])
                    self.assertIsNone(kept["running"])
                    return
        self.fail("no result")

    def test_A7_a_failure_is_told_instead_and_keeps_what_was_said(self):
        turn = self.turn("say so far\ncut")
        self.assertIsNone(turn.result)
        self.assertEqual((turn.error["code"], turn.error["status"]), ("model-stream-cut", 502))
        self.assertEqual(turn.error["messageId"], turn.chat["messageId"])
        kept = self.chat(turn.chat["chatId"])["messages"][-1]
        self.assertEqual(kept["status"], "failed")
        self.assertEqual(kept["error"], {"code": turn.error["code"], "message": turn.error["message"]})
        self.assertEqual(kept["content"], [{"type": "text", "text": "so far"}])

    def test_an_approval_is_part_of_the_chat_with_its_end(self):
        approver = Approver.of(self.server)
        answer, browser = self.open_turn("ask May I?\nsay Thanks"), Browser()
        with answer.connection:
            for frame in frames(answer):
                browser.take(frame)
                if frame.type == "approval" and frame.data["status"] == "pending":
                    approval = self.client.get(f"/v1/approvals/{frame.data['approvalId']}").json()
                    self.assertEqual(frame.data["items"], approval["requested_items"])
                    decided = self.client.post(f"/v1/approvals/{approval['id']}/approve",
                                               {"signature": approver.signature(approval["id"])})
                    self.assertEqual(decided.status, 200, decided.body)
        self.assertEqual([f.data["status"] for f in browser.seen if f.type == "approval"], ["pending", "approved"])
        self.assertEqual(browser.shown(), self.chat(browser.chat["chatId"])["messages"][-1]["content"])

    def test_following_from_every_frame_gives_the_rest_byte_for_byte(self):
        turn = self.turn("think hm\n$ echo hi\nsay a few words more")
        stream = turn.chat["streamId"]
        self.assertEqual(self.follow(stream), turn.raw)
        for after in range(len(turn.seen) - 1):
            self.assertEqual(self.follow(stream, after), "".join(f.raw for f in turn.seen[after + 1:]), after)
        last = self.client.get(f"/api/assistant/chat/stream?streamId={stream}&after={len(turn.seen) - 1}")
        self.assertEqual(last.status, 204, "an EventSource must not come back")

    def test_following_while_it_happens_misses_nothing(self):
        answer = self.open_turn("tokens 60 100")
        with answer.connection:
            own = frames(answer)
            seen = [next(own) for _ in range(8)]
            other = self.client.open("GET", f"/api/assistant/chat/stream?streamId={answer.header('x-stream-id')}",
                                     headers={"Last-Event-ID": "3"})
            with other.connection:
                copy = [frame.raw for frame in frames(other)]
            seen += list(own)
        self.assertEqual(copy, [frame.raw for frame in seen[4:]])

    def test_chats_are_renamed_and_deleted(self):
        turn = self.turn("say x")
        at = f"/api/assistant/chats/{turn.chat['chatId']}"
        self.assertEqual(self.client.patch(at, {"title": "<img src=x>"}).json()["title"], "<img src=x>")
        self.assertEqual(self.client.delete(at).status, 204)
        for answer in (self.client.get(at), self.client.delete(at), self.client.patch(at, {"title": "x"}),
                       self.client.post(at + "/stop"),
                       self.client.post("/api/assistant/chat/stream", {"message": "x", "chatId": turn.chat["chatId"]})):
            self.assert_problem(answer, 404, "not-found")


class FakeRunner:
    """A runner elsewhere that redeems its run token and repeats what /config says of the conversation."""

    def __init__(self):
        self.configs = []
        runner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                runner.configs.append(runner.redeem(body))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.end_headers()
                for line in ({"type": "log", "level": "info", "message": "only for the trace", "ts": 1},
                             {"type": "step", "id": "s1", "name": "recipe", "status": "running", "args": {}, "ts": 2},
                             {"type": "step", "id": "s1", "name": "recipe", "status": "succeeded", "result": {"n": 1},
                              "durationMs": 1, "ts": 3},
                             {"type": "result", "message": "From elsewhere.", "ts": 4}):
                    self.wfile.write(json.dumps(line).encode() + b"\n")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True).start()

    def redeem(self, body):
        host, path = body["agent_url"].split("://", 1)[1].split("/", 1)
        name, port = host.rsplit(":", 1)
        connection = http.client.HTTPConnection(name, int(port), timeout=30)
        connection.request("GET", f"/{path}/config", headers={"Authorization": body["otp_run"]})
        return json.loads(connection.getresponse().read())

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class ElsewhereTest(AssistantTest):
    @classmethod
    def setUpClass(cls):
        cls.runner = FakeRunner()
        cls.addClassCleanup(cls.runner.close)
        cls.flags = ("--sandbox.driver", "off", "--runner.sandbox_urls", cls.runner.url)
        super().setUpClass()

    def test_S8_A4_a_named_runner_carries_the_turn_and_gets_the_last_twenty_turns(self):
        chat = self.turn("say turn 0").chat["chatId"]
        for i in range(1, 12):
            self.turn(f"say turn {i}", chat)
        turn = self.turn("And you?", chat, sandboxUrl=self.runner.url)
        self.assertEqual(turn.shown(), [{"type": "step", "id": "s1", "name": "recipe", "status": "succeeded", "args": {},
                                         "result": {"n": 1}, "durationMs": 1},
                                        {"type": "text", "text": "From elsewhere."}])
        conversation = self.runner.configs[-1]["conversation"]
        self.assertEqual(len(conversation), 20)
        self.assertEqual((conversation[0]["role"], conversation[0]["content"]), ("user", "say turn 2"))
        self.assertEqual((conversation[-1]["role"], conversation[-1]["content"]), ("assistant", "turn 11"))
        self.assertTrue(all(isinstance(t["ts"], int) for t in conversation), conversation)

    def test_S8_a_runner_that_is_not_allowed_is_refused_before_anything_is_made(self):
        before = self.client.get("/api/assistant/chats").json()["data"]
        answer = self.client.post("/api/assistant/chat/stream",
                                  {"message": "x", "sandboxUrl": "http://169.254.169.254/latest"})
        problem = self.assert_problem(answer, 422, "validation-error")
        self.assertEqual(problem["errors"][0]["pointer"], "/sandboxUrl")
        self.assertEqual(self.client.get("/api/assistant/chats").json()["data"], before)


class BusyRunner(FakeRunner):
    """One that is at work until its caller has gone, and has not redeemed any of its tokens by then."""

    def __init__(self):
        super().__init__()
        self.dispatches = queue.SimpleQueue()
        self.caller_gone = threading.Event()
        runner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                runner.dispatches.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.end_headers()
                self.wfile.write(b'{"type":"log","level":"info","message":"at work","ts":1}\n')
                self.rfile.read(1)
                runner.caller_gone.set()

            def log_message(self, *_):
                pass

        self.server.RequestHandlerClass = Handler


class StoppedElsewhere(AssistantTest):
    @classmethod
    def setUpClass(cls):
        cls.runner = BusyRunner()
        cls.addClassCleanup(cls.runner.close)
        cls.flags = ("--sandbox.driver", "off", "--runner", cls.runner.url)
        super().setUpClass()

    def test_S10_the_tokens_of_a_turn_that_was_stopped_are_refused_and_its_files_are_not_taken(self):
        answer = self.open_turn("make a report", onDisconnect="keep")
        with answer.connection:
            given = self.runner.dispatches.get(timeout=PATIENCE_S)
            chat = answer.header("x-chat-id")
            stopped = self.client.post(f"/api/assistant/chats/{chat}/stop").json()
            self.assertEqual(stopped["status"], "cancelled")
        self.assertTrue(self.runner.caller_gone.wait(PATIENCE_S))
        nobody, at = self.server.client(""), given["agent_url"].split("/", 3)[3]
        kind, body = form(("late.txt", b"late"))
        for request in (("GET", f"/{at}/env", None, {"Authorization": given["otp_setup"]}),
                        ("GET", f"/{at}/config", None, {"Authorization": given["otp_run"]}),
                        ("POST", f"/{at}/results", body, {"Authorization": given["otp_upload"]} | kind),
                        ("POST", f"/{at}/assets/writeback", body, {"Authorization": given["otp_upload"]} | kind)):
            self.assert_problem(nobody.request(*request), 401, "token-invalid")
        self.assertEqual(self.client.get(f"/api/assistant/chats/{chat}/files").json()["data"], [])
        self.assertEqual(self.client.get(f"/v1/runs/{answer.header('x-stream-id')}/files").json()["data"], [])


class Hostile(AssistantTest):
    def test_every_member_may_be_anything_and_is_pointed_at(self):
        nasty = (None, True, -1, 1e300, [], {}, "", "\u0000", "../../etc/passwd", "<script>", "x" * 70_000, [[]],
                 {"message": {}}, "con_" + "z" * 26, "fil_" + "0" * 26, "'; DROP TABLE chats; --")
        for name in ("message", "chatId", "workspaceId", "agentId", "attachmentIds", "sandboxUrl", "onDisconnect",
                     "onCapacity"):
            for value in nasty:
                body = {"message": "say x"} | {name: value}
                answer = self.client.open("POST", "/api/assistant/chat/stream", body)
                with answer.connection:
                    if answer.status == 200:
                        list(frames(answer))
                        continue
                    self.assertIn(answer.status, (400, 404, 422), (name, value, answer.body))
                    if answer.status == 422:
                        pointers = [e["pointer"] for e in answer.json()["errors"]]
                        self.assertTrue(all(p.startswith("/" + name) for p in pointers), (name, value, pointers))

    def test_scripts_in_every_text_come_back_as_text(self):
        text = "</script><script>alert(1)</script>\u2028 data: x"
        turn = self.turn(f"say {text}\nthink {text}\nwrite a<b>.txt: {text}")
        self.assertIn({"type": "text", "text": text}, turn.blocks)
        self.assertEqual(turn.shown(), self.chat(turn.chat["chatId"])["messages"][-1]["content"])

    def test_queries_that_make_no_sense_are_refused(self):
        stream = self.turn("say x").chat["streamId"]
        for query in ("", "?streamId=" + stream + "&after=-1", "?streamId=" + stream + "&after=9999999999999999999",
                      "?streamId=" + stream + "&after=1&after=2", "?streamId=a&streamId=b"):
            answer = self.client.get("/api/assistant/chat/stream" + query)
            self.assertIn(answer.status, (400, 404, 422), query)
        self.assert_problem(self.client.get("/api/assistant/chat/stream?streamId=run_x"), 404, "not-found")
        nobody = self.server.client("sk_int_nobody")
        self.assertEqual(nobody.get(f"/api/assistant/chat/stream?streamId={stream}").status, 401)


if __name__ == "__main__":
    unittest.main()
