"""Runs as AG-UI events (H-2), for every kind of client: the events, the end of a run, and re-attaching."""
import json
import threading
import unittest

from agui_fixture import PEERS, AguiTest, body_of, user
from agui_grammar import check, customs, frames, text_of
from http_client import PATIENCE_S
from provider_emulator import Answer, Emulator
from server_process import wait_until

# The offline model's whole vocabulary, but for what waits for a human.
VOCABULARY = ["say Hello there.", "think Hmm, let me see.\nsay Aha.", "$ echo one; echo two >&2\nsay It said {{last}}",
              "write notes.txt: first\nread notes.txt\nedit notes.txt: first -> second\n$ cat notes.txt\nsay {{last}}",
              "put A file for you.", "call no_such_tool {}\nsay Went on.", "tokens 40", "sleep 5\nsay Later.",
              "anything else", "$ false\nsay After a failure."]
BAD_ENDS = ["fail 400 no", "say half\ncut", "fail 401 who?"]


class Streams(AguiTest):
    def test_H2_the_whole_vocabulary_keeps_the_rules_for_every_kind_of_client(self):
        for peer in PEERS:
            for script in VOCABULARY:
                events = self.run_text(script, peer)
                self.assertEqual(events[-1]["type"], "RUN_FINISHED", (peer, script, events[-1]))
                self.assertEqual(events[-1].get("outcome", {"type": "success"})["type"], "success")
            for script in BAD_ENDS:
                events = self.run_text(script, peer)
                self.assertEqual(events[-1]["type"], "RUN_ERROR", (peer, script))
                self.assertTrue(events[-1]["message"] and events[-1]["code"], events[-1])

    def test_H2_text_reasoning_and_tool_calls_are_sent_as_their_own_kinds(self):
        events = self.run_text("think Deep.\nsay First.\n$ echo out\nsay Then {{last}}")
        self.assertIn("First.", text_of(events))
        thoughts = "".join(e["delta"] for e in events if e["type"] == "REASONING_MESSAGE_CONTENT")
        self.assertEqual(thoughts.strip(), "Deep.")
        call = next(e for e in events if e["type"] == "TOOL_CALL_START")
        self.assertEqual(call["toolCallName"], "bash")
        arguments = "".join(e["delta"] for e in events if e["type"] == "TOOL_CALL_ARGS")
        self.assertEqual(json.loads(arguments), {"command": "echo out"})
        result = next(e for e in events if e["type"] == "TOOL_CALL_RESULT")
        self.assertEqual(result["toolCallId"], call["toolCallId"])
        self.assertIn("out", result["content"])
        self.assertEqual(customs(events, "sluice.tool-output")[0]["text"], "out\n")

    def test_H4_H5_file_changes_and_the_diff_are_sent(self):
        events = self.run_text("write a.txt: hello\nsay Done.")
        self.assertIn("a.txt", json.dumps(customs(events, "sandbox.file")))
        diff = customs(events, "file.changed")
        self.assertEqual((len(diff), diff[0]["path"]), (1, "."))
        self.assertIn("+hello", diff[0]["diff"])

    def test_H2_the_end_contains_the_usage(self):
        end = self.run_text("say One two three.", "current")[-1]
        self.assertEqual(end["outcome"], {"type": "success"})
        used = end["usage"][0]
        self.assertEqual(used["totalTokens"], used["inputTokens"] + used["outputTokens"])
        tanstack = self.run_text("say One.", "tanstack")[-1]
        self.assertEqual(tanstack["metadata"]["tanstack"]["finishReason"], "stop")

    def test_H2_a_thread_is_a_conversation_and_its_runs_are_messages_of_it(self):
        thread, run = self.names()
        first = self.run_text("say One.", thread=thread, run=run)
        self.run_text("say Two.", thread=thread)
        where = customs(first, "sluice.conversation")[0]
        told = [m["content"] for m in self.messages(where["conversationId"])]
        self.assertEqual(told, ["say One.", "One.", "say Two.", "Two."])
        events = [json.loads(line) for line in self.client.events(where["messageId"])]
        self.assertEqual(events[-1]["data"]["message"]["content"], "One.")

    def test_H2_the_same_run_is_read_through_both_surfaces_at_once(self):
        thread, run = self.names()
        answer = self.post(body_of("current", thread, run, [user("say One.\nsleep 400\nsay Two.")]))
        with answer.connection:
            message, told = answer.header("x-message-id"), []
            reader = threading.Thread(target=lambda: told.extend(self.client.events(message)))
            reader.start()
            events = check([event for _, event in frames(answer.lines())])
            reader.join(PATIENCE_S)
        other = "".join(json.loads(line)["data"].get("text", "") for line in told)
        self.assertEqual(text_of(events), other)

    def test_H2_an_agent_is_named_in_the_path_by_its_id_or_its_name(self):
        agent = self.client.post("/v1/agents", {"name": "Ada of AG-UI"}).json()["id"]
        for path in (f"/agui/{agent}", "/agui/Ada%20of%20AG-UI"):
            thread, run = self.names()
            framed = self.stream(body_of("current", thread, run, [user("say hi")]), path=path)
            where = customs([event for _, event in framed], "sluice.conversation")[0]
            self.assertEqual(self.client.get(f"/v1/conversations/{where['conversationId']}").json()["agent_id"], agent)
        self.assert_problem(self.client.post("/agui/nobody", body_of("current", "t", "r", [user("say hi")])), 404, "not-found")

    def test_H2_lines_instead_of_frames_when_the_client_accepts_only_those(self):
        for peer in PEERS:
            thread, run = self.names()
            answer = self.post(body_of(peer, thread, run, [user("say hi")]), {"Accept": "application/x-ndjson"})
            with answer.connection:
                self.assertEqual(answer.header("content-type"), "application/x-ndjson")
                lines = [json.loads(line) for line in answer.lines()]
            check([line["chunk"] for line in lines] if peer == "tanstack" else lines)

    def test_I12_a_client_that_waits_for_a_slot_gets_its_position(self):
        """Checks only that the run begins at once; queue positions are tested in test_capacity."""
        events = self.run_text("say hi", forwardedProps={"onCapacity": "hold"})
        self.assertEqual(events[0]["type"], "RUN_STARTED")


class FoundAgain(AguiTest):
    @classmethod
    def setUpClass(cls):
        cls.provider = Emulator()
        cls.addClassCleanup(cls.provider.close)
        cls.flags = (*AguiTest.flags, "--providers.openai-chat.base_url", cls.provider.url + "/v1")
        super().setUpClass()

    def test_H2_the_same_post_with_the_last_id_continues_after_it(self):
        for peer in PEERS:
            thread, run = self.names()
            body = body_of(peer, thread, run, [user("tokens 20\nthink x\nsay end")])
            whole = self.stream(body)
            self.assertEqual([frame_id for frame_id, _ in whole], [f"{run}-{n}" for n in range(len(whole))])
            for place in (0, 1, len(whole) // 2, len(whole) - 2):
                self.assertEqual(self.stream(body, {"Last-Event-ID": f"{run}-{place}"}), whole[place + 1:])
            self.assertEqual(self.stream(body), whole, "without a place it is the whole run again")
            tail = self.stream(body, {"Last-Event-ID": whole[-1][0]})
            self.assertEqual(tail, [(None, whole[-1][1])], "the end is repeated, without an id")
        self.assertEqual(len(self.client.get("/v1/runs?limit=100").json()["data"]),
                         len({r["id"] for r in self.client.get("/v1/runs?limit=100").json()["data"]}))

    def test_I8_a_client_that_leaves_changes_nothing(self):
        thread, run = self.names()
        body = body_of("tanstack", thread, run, [user("say One.\nsleep 300\nsay Two.")])
        answer = self.post(body)
        seen = []
        for frame_id, event in frames(answer.lines()):
            seen.append((frame_id, event))
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                break
        answer.close()
        rest = self.stream(body, {"Last-Event-ID": seen[-1][0]})
        events = check([event for _, event in seen + rest])
        self.assertEqual(text_of(events), "One.\nTwo.")

    def test_I8_a_client_that_says_it_has_more_than_there_is_takes_nothing_from_others(self):
        # The provider goes on when everybody reads.
        self.provider.play(Answer(texts=("One. ", "Two."), silent_after=1, goes_on=True))
        agent = self.client.post("/v1/agents", {"name": "slow", "model": {"provider": "openai-chat", "name": "m"}}).json()
        path = f"/agui/{agent['id']}"
        thread, run = self.names()
        body = body_of("tanstack", thread, run, [user("Count.")])
        answer = self.post(body, path=path)
        with answer.connection:
            told = frames(answer.lines())
            seen = []
            while not seen or seen[-1][1]["type"] != "TEXT_MESSAGE_CONTENT":
                seen.append(next(told))
        ahead = self.client.open("GET", f"{path}?runId={run}&offset={run}-1000000")
        again = self.post(body, {"Last-Event-ID": seen[-1][0]}, path)
        with ahead.connection, again.connection:
            self.provider.released.set()
            rest = list(frames(again.lines()))
            self.assertEqual(text_of(check([event for _, event in seen + rest])), "One. Two.")
            self.assertEqual(list(frames(ahead.lines())), [(None, rest[-1][1])], "the end, which is no news to it")

    def test_I7_it_is_found_again_after_the_server_was_killed(self):
        thread, run = self.names()
        body = body_of("current", thread, run, [user("say Before.\nsleep 500\nsay After.")])
        answer = self.post(body)
        seen = []
        for frame_id, event in frames(answer.lines()):
            seen.append((frame_id, event))
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                break
        self.server.kill()
        answer.close()
        self.server.start()
        type(self).client, type(self).admin = self.server.client(), self.server.admin()
        rest = self.stream(body, {"Last-Event-ID": seen[-1][0]})
        self.assertEqual(text_of(check([event for _, event in seen + rest])), "Before.\nAfter.")

    def test_H2_a_run_is_joined_by_get_from_any_place(self):
        thread, run = self.names()
        whole = self.stream(body_of("tanstack", thread, run, [user("tokens 10")]))
        for offset, expected in (("-1", whole), (f"{run}-3", whole[4:])):
            answer = self.client.open("GET", f"/agui?runId={run}&offset={offset}")
            with answer.connection:
                self.assertEqual(list(frames(answer.lines())), expected)
        answer = self.client.open("GET", f"/agui?runId={run}", headers={"Last-Event-ID": f"{run}-3"})
        with answer.connection:
            self.assertEqual(list(frames(answer.lines())), whole[4:])
        self.assert_problem(self.client.get(f"/agui?runId={run}"), 400, "malformed-request")
        self.assert_problem(self.client.get("/agui"), 400, "malformed-request")
        self.assert_problem(self.client.get("/agui?runId=nobody&offset=-1"), 404, "not-found")
        self.assert_problem(self.client.get(f"/agui?runId={run}&offset=other-3"), 422, "validation-error")

    def test_H2_a_thread_is_hydrated_with_the_ids_of_its_streams(self):
        thread, run = self.names()
        asked = user("say One.\n$ echo two\nsay {{last}}")
        events = [e for _, e in self.stream(body_of("tanstack", thread, run, [asked]))]
        found = self.client.get(f"/agui?threadId={thread}&protocolVersion=1.0").json()
        self.assertEqual((found["activeRun"], found["interrupts"], found["page"]), (None, None, {"truncated": False}))
        ids = [m["id"] for m in found["messages"]]
        self.assertEqual(ids[0], asked["id"])
        told = {e["messageId"] for e in events if e["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_RESULT")}
        self.assertLessEqual(told, set(ids))
        self.assertEqual([m["role"] for m in found["messages"]][:3], ["user", "assistant", "tool"])
        shown = self.client.get(f"/agui?threadId={thread}").json()["messages"]
        self.assertEqual([part["type"] for part in shown[1]["parts"]], ["text", "tool-call", "tool-result"])
        empty = self.client.get("/agui?threadId=never-heard-of").json()
        self.assertEqual((empty["messages"], empty["activeRun"]), ([], None))

    def test_H2_a_run_under_way_is_named_when_its_thread_is_hydrated(self):
        thread, run = self.names()
        answer = self.post(body_of("tanstack", thread, run, [user("say One.\nhang")]))
        next(frame for frame in frames(answer.lines()) if frame[1]["type"] == "TEXT_MESSAGE_CONTENT")
        self.assertEqual(self.client.get(f"/agui?threadId={thread}").json()["activeRun"], {"runId": run})
        answer.close()
        cancelled = self.client.delete(f"/agui?runId={run}")
        self.assertEqual((cancelled.status, cancelled.json()["status"]), (200, "cancelled"))
        self.assertIsNone(self.client.get(f"/agui?threadId={thread}").json()["activeRun"])

    def test_H2_a_cancellation_reaches_each_kind_of_client_in_its_own_form(self):
        for peer, kind in (("current", "RUN_FINISHED"), ("old", "RUN_ERROR"), ("tanstack", "RUN_ERROR")):
            thread, run = self.names()
            answer = self.post(body_of(peer, thread, run, [user("say One.\n$ sleep 1000\nsay Never.")]))
            with answer.connection:
                framed, events = frames(answer.lines()), []
                for _, event in framed:
                    events.append(event)
                    if event["type"] == "TOOL_CALL_END":
                        break
                threading.Thread(target=lambda r=run: self.client.delete(f"/agui?runId={r}")).start()
                events = check(events + [event for _, event in framed])
            self.assertEqual(events[-1]["type"], kind)
            if kind == "RUN_FINISHED":
                self.assertEqual(events[-1]["outcome"], {"type": "cancelled"})
            else:
                self.assertEqual(events[-1]["code"], "cancelled")
        wait_until(lambda: self.client.get("/v1/capacity").json()["running"] == 0, "nothing runs any more")
        self.assert_problem(self.client.delete("/agui?runId=nobody"), 404, "not-found")


if __name__ == "__main__":
    unittest.main()
