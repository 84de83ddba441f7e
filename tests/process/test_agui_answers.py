"""What an AG-UI client answers: approvals as interrupts (I-14, I-15), its own tools (H-6), and everything it may get
wrong."""
import concurrent.futures
import json
import unittest

from agui_fixture import PEERS, AguiTest, body_of, user
from agui_grammar import check, customs, frames, text_of
from gate_fixture import Approver
from server_process import Server, wait_until

WEATHER = {"name": "get_weather", "description": "The weather outside the client's window.",
           "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}


class Interrupts(AguiTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.let_unsigned_answers_count(True)

    @classmethod
    def let_unsigned_answers_count(cls, allowed):
        tenant = cls.server.bootstrap["tenant_id"]
        changed = cls.admin.patch(f"/v1/tenants/{tenant}", {"settings": {"agui_unsigned_approvals": allowed}})
        assert changed.status == 200, changed.body

    def until_interrupt(self, script, peer="current", path=None):
        """Thread, run, the messages so far, and the interrupt with which the run ended."""
        thread, run = self.names()
        messages = [user(script)]
        events = check([e for _, e in self.stream(body_of(peer, thread, run, messages), path=path)])
        self.assertEqual(events[-1]["type"], "RUN_FINISHED", events[-1])
        self.assertEqual(events[-1]["outcome"]["type"], "interrupt", events[-1])
        return thread, run, messages, events[-1]["outcome"]["interrupts"][0], events

    def resume(self, peer, thread, run, messages, *entries):
        return body_of(peer, thread, run + "-again", messages, parentRunId=run, resume=list(entries))

    def test_I14_an_approval_is_an_interrupt_and_the_answer_resumes_the_same_run(self):
        for peer in ("current", "tanstack"):
            thread, run, messages, interrupt, first = self.until_interrupt("say Before.\nask May I?\nsay After.", peer)
            self.assertTrue(interrupt["id"].startswith("apr_"))
            self.assertIn("May I?", interrupt["message"])
            self.assertTrue(interrupt["expiresAt"] and interrupt["responseSchema"])
            if peer == "tanstack":
                binding = interrupt["metadata"]["tanstack:interruptBinding"]
                self.assertEqual((binding["v"], binding["interruptId"], binding["interruptedRunId"], binding["generation"]),
                                 (1, interrupt["id"], run, 0))
                snapshot = next(e for e in first if e["type"] == "MESSAGES_SNAPSHOT")
                self.assertEqual(snapshot["messages"][0]["id"], messages[0]["id"])
            body = self.resume(peer, thread, run, messages,
                               {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}})
            second = check([e for _, e in self.stream(body)])
            self.assertEqual(second[0]["runId"], run + "-again")
            self.assertEqual(text_of(first) + text_of(second), "Before.\nAfter.")
            started = {e["toolCallId"] for e in first if e["type"] == "TOOL_CALL_START"}
            self.assertFalse(started & {e["toolCallId"] for e in second if e["type"] == "TOOL_CALL_START"})
            self.assertEqual(started, {e["toolCallId"] for e in second if e["type"] == "TOOL_CALL_RESULT"})
            where = customs(first, "sluice.conversation")[0]
            self.assertEqual(len(self.client.get(f"/v1/runs?conversation_id={where['conversationId']}").json()["data"]), 1)
            self.assertEqual(self.stream(body), self.stream(body), "and it can be read again")

    def test_I15_a_signed_decision_rides_in_the_metadata(self):
        self.let_unsigned_answers_count(False)
        self.addCleanup(self.let_unsigned_answers_count, True)
        thread, run, messages, interrupt, _ = self.until_interrupt("ask May I?\nsay Yes.")
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        refused = self.client.post("/agui", self.resume("current", thread, run, messages, entry))
        self.assert_problem(refused, 403, "approval-signature-invalid")
        for shape in (None, "x", [], {}, {"key_id": self.approver.key_id}):
            answer = self.client.post("/agui", self.resume("current", thread, run, messages,
                                                           entry | {"metadata": {"signature": shape}}))
            self.assert_problem(answer, 403, "approval-signature-invalid")
        forged = Approver(self.approver.key_id, "wrong").signature(interrupt["id"])
        refused = self.client.post("/agui", self.resume("current", thread, run, messages,
                                                        entry | {"metadata": {"signature": forged}}))
        self.assert_problem(refused, 403, "approval-signature-invalid")
        signed = entry | {"metadata": {"signature": self.approver.signature(interrupt["id"])}}
        events = check([e for _, e in self.stream(self.resume("current", thread, run, messages, signed))])
        self.assertEqual(text_of(events), "Yes.")
        approval = self.client.get(f"/v1/approvals/{interrupt['id']}").json()
        self.assertEqual((approval["status"], approval["resolved_by"]),
                         ("approved", f"approver_key:{self.approver.key_id}"))

    def test_I15_only_an_operator_lets_answers_count_without_a_signature_and_each_start_warns_of_it(self):
        server = Server(*self.flags)
        self.addCleanup(server.remove)
        client = server.start().client()
        tenant = server.bootstrap["tenant_id"]
        self.assertIs(server.admin().get(f"/v1/tenants/{tenant}").json()["settings"]["agui_unsigned_approvals"], False)
        self.assertNotIn("agui_unsigned_approvals", server.log())
        messages = [user("need KEY: a key\nsay Yes.")]
        asked = client.post("/agui", body_of("current", "t", "r", messages))
        outcome = [event for _, event in frames(asked.body.splitlines())][-1]["outcome"]
        entry = {"interruptId": outcome["interrupts"][0]["id"], "status": "resolved",
                 "payload": {"approved": True, "secrets": {"KEY": "planted-value"}}}
        answer = client.post("/agui", self.resume("current", "t", "r", messages, entry))
        problem = self.assert_problem(answer, 403, "approval-signature-invalid")
        self.assertIn("--agui-unsigned-approvals", problem["detail"])
        self.assertEqual(client.get(f"/v1/approvals/{entry['interruptId']}").json()["status"], "pending")
        change = {"settings": {"agui_unsigned_approvals": True}}
        self.assertEqual(server.admin().patch(f"/v1/tenants/{tenant}", change).status, 200)
        server.stop()
        server.start()
        line = wait_until(lambda: next((line for line in server.log().splitlines() if "agui_unsigned_approvals" in line), ""),
                          "a warning")
        self.assertIn("warn", line.lower())
        self.assertIn(tenant, line)

    def test_I14_a_denial_and_a_refusal_to_answer_end_the_run(self):
        for entry in ({"status": "resolved", "payload": {"approved": False, "note": "not now"}}, {"status": "cancelled"}):
            thread, run, messages, interrupt, _ = self.until_interrupt("ask May I?\nsay Never.")
            body = self.resume("current", thread, run, messages, entry | {"interruptId": interrupt["id"]})
            events = check([e for _, e in self.stream(body)])
            self.assertEqual((events[0]["type"], events[-1]["type"], events[-1]["outcome"]),
                             ("RUN_STARTED", "RUN_FINISHED", {"type": "success"}))
            self.assertEqual(events[-2]["name"], "sluice.problem")
            self.assertTrue(events[-2]["value"]["type"].endswith("/approval-denied"), events[-2])
            self.assertEqual(self.client.get(f"/v1/approvals/{interrupt['id']}").json()["status"], "denied")

    def test_I17_a_secret_is_supplied_with_the_answer(self):
        thread, run, messages, interrupt, _ = self.until_interrupt("need CRM_KEY for crm.example: the key\nsay {{last}}")
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        missing = self.client.post("/agui", self.resume("current", thread, run, messages, entry))
        self.assert_problem(missing, 422, "validation-error")
        entry["payload"]["secrets"] = {"CRM_KEY": "s3cret-value-1"}
        events = check([e for _, e in self.stream(self.resume("current", thread, run, messages, entry))])
        self.assertEqual(events[-1]["type"], "RUN_FINISHED")
        self.assertNotIn("s3cret-value-1", json.dumps(events))

    def test_I14_a_decision_made_elsewhere_resumes_the_run_and_the_thread_shows_it(self):
        thread, run, messages, interrupt, first = self.until_interrupt("say Before.\nask May I?\nsay After.", "tanstack")
        waiting = self.client.get(f"/agui?threadId={thread}").json()
        self.assertEqual(waiting["interrupts"]["runId"], run)
        self.assertEqual([i["id"] for i in waiting["interrupts"]["pending"]], [interrupt["id"]])
        self.assertEqual(self.approve(interrupt["id"]).status, 200)
        where = customs(first, "sluice.conversation")[0]
        told = [json.loads(line) for line in self.client.events(where["messageId"])]
        self.assertEqual(told[-1]["data"]["message"]["content"], "Before.\nAfter.")
        late = check([e for _, e in self.stream(self.resume("tanstack", thread, run, messages, {
            "interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}))])
        self.assertEqual([e["type"] for e in late], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"])
        self.assertIn("After.", json.dumps(late[1]), "the thread as it is, so that the client lets go of the interrupt")
        self.assertIsNone(self.client.get(f"/agui?threadId={thread}").json()["interrupts"])

    def test_I14_the_same_answer_twice_at_once_is_one_run(self):
        thread, run, messages, interrupt, _ = self.until_interrupt("ask May I?\nsay Yes.")
        body = self.resume("current", thread, run, messages,
                           {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}})
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            told = list(pool.map(lambda _: self.stream(body), range(6)))
        self.assertTrue(all(frames_of == told[0] for frames_of in told), told)
        self.assertEqual(text_of([e for _, e in told[0]]), "Yes.")

    def test_I14_a_new_message_does_not_come_with_an_answer(self):
        thread, run, messages, interrupt, _ = self.until_interrupt("ask May I?\nsay Yes.")
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        answer = self.client.post("/agui", self.resume("current", thread, run, messages + [user("say more")], entry))
        self.assert_problem(answer, 422, "validation-error")
        self.stream(self.resume("current", thread, run, messages, entry))

    def test_H2_what_a_client_brings_along_is_found_again(self):
        thread, run = self.names()
        brought = [user("hello"), {"id": "a-old", "role": "assistant", "content": "hi"}, user("say And now.")]
        self.stream(body_of("current", thread, run, brought))
        found = self.client.get(f"/agui?threadId={thread}&protocolVersion=1.0").json()["messages"]
        self.assertEqual([m["content"] for m in found], ["hello", "hi", "say And now.", "And now."])

    def test_I14_an_answer_must_cover_what_waits_and_nothing_else(self):
        thread, run, messages, interrupt, _ = self.until_interrupt("ask May I?\nsay Yes.")
        good = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        for entries, pointer in (([good | {"interruptId": "apr_other"}], "/resume/0/interruptId"),
                                 ([good, good], "/resume/1/interruptId"),
                                 ([{"interruptId": interrupt["id"], "status": "resolved"}], "/resume/0/payload/approved"),
                                 ([good | {"status": "perhaps"}], "/resume/0/status"),
                                 ([good | {"payload": {"approved": "yes"}}], "/resume/0/payload/approved"),
                                 ([good | {"payload": {"approved": True, "editedArgs": {}}}], "/resume/0/payload/editedArgs"),
                                 ([{"status": "resolved"}], "/resume/0/interruptId")):
            answer = self.client.post("/agui", self.resume("current", thread, run, messages, *entries))
            problem = self.assert_problem(answer, 422, "validation-error")
            self.assertIn(pointer, [e["pointer"] for e in problem["errors"]], problem)
        plain = self.client.post("/agui", body_of("current", thread, run + "-other", messages + [user("say hi")]))
        self.assert_problem(plain, 409, "conversation-busy")
        self.stream(self.resume("current", thread, run, messages, good))


class ClientTools(AguiTest):
    def call(self, peer):
        thread, run = self.names()
        messages = [user('call get_weather {"place": "Ulm"}\nsay It is {{last}}')]
        first = check([e for _, e in self.stream(body_of(peer, thread, run, messages, tools=[WEATHER]))])
        call = next(e for e in first if e["type"] == "TOOL_CALL_START")
        self.assertEqual(call["toolCallName"], "get_weather")
        return thread, run, messages, call["toolCallId"], first

    def told_back(self, messages, call, content="sunny"):
        asked = {"id": "a1", "role": "assistant", "toolCalls": [
            {"id": call, "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}
        return messages + [asked, {"id": "t1", "role": "tool", "toolCallId": call, "content": content}]

    def test_H6_a_current_client_learns_which_calls_are_its_own(self):
        thread, run, messages, call, first = self.call("current")
        self.assertEqual(first[-1]["outcome"], {"type": "success", "pendingToolCallIds": [call]})
        second = check([e for _, e in self.stream(body_of("current", thread, run + "-2", self.told_back(messages, call),
                                                          tools=[WEATHER]))])
        self.assertEqual(text_of(second), "It is sunny")
        self.assertFalse([e for e in second if e["type"] == "TOOL_CALL_RESULT"], "the client has it already")

    def test_H6_an_old_client_sees_a_plain_end(self):
        thread, run, messages, call, first = self.call("old")
        self.assertEqual(first[-1]["type"], "RUN_FINISHED")
        self.assertNotIn("pendingToolCallIds", json.dumps(first[-1]))
        second = check([e for _, e in self.stream(body_of("old", thread, run + "-2", self.told_back(messages, call),
                                                          tools=[WEATHER]))])
        self.assertEqual(text_of(second), "It is sunny")

    def test_H6_tanstack_is_interrupted_for_its_own_tools(self):
        thread, run, messages, call, first = self.call("tanstack")
        interrupt = first[-1]["outcome"]["interrupts"][0]
        self.assertEqual((interrupt["id"], interrupt["reason"]), (f"client_tool_{call}", "tanstack:client_tool_execution"))
        placeholder = {"id": "t0", "role": "tool", "toolCallId": call,
                       "content": json.dumps({"approved": True, "pendingExecution": True})}
        body = body_of("tanstack", thread, run + "-2", messages + [placeholder], tools=[WEATHER], parentRunId=run,
                       resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": {"sky": "sunny"}}])
        second = check([e for _, e in self.stream(body)])
        self.assertEqual(text_of(second), 'It is {"sky":"sunny"}')

    def test_H6_a_call_waits_through_a_crash(self):
        thread, run, messages, call, _ = self.call("current")
        self.server.kill()
        self.server.start()
        type(self).client, type(self).admin = self.server.client(), self.server.admin()
        second = check([e for _, e in self.stream(body_of("current", thread, run + "-2", self.told_back(messages, call)))])
        self.assertEqual(text_of(second), "It is sunny")

    def test_H6_results_without_a_waiting_call_are_refused(self):
        thread, run, messages, call, _ = self.call("current")
        stranger = self.client.post("/agui", body_of("current", thread, run + "-2", self.told_back(messages, "step_77")))
        problem = self.assert_problem(stranger, 422, "validation-error")
        self.assertIn("step_77", json.dumps(problem["errors"]))
        self.assertIn(call, json.dumps(problem["errors"]), "and what is missing is named")
        self.stream(body_of("current", thread, run + "-3", self.told_back(messages, call)))
        thread, run = self.names()
        unknown = self.client.post("/agui", body_of("current", thread, run, self.told_back([user("say x")], "step_1")))
        self.assert_problem(unknown, 422, "validation-error")


class BadInput(AguiTest):
    def refused(self, change, pointer, status=422):
        thread, run = self.names()
        body = body_of("current", thread, run, [user("say hi")]) | change
        for name in [name for name, value in body.items() if value is ...]:
            del body[name]
        answer = self.client.post("/agui", body)
        self.assertEqual(answer.status, status, answer.body)
        self.assertIn(pointer, [e["pointer"] for e in answer.json()["errors"]], answer.body)
        self.assert_problem(self.client.get(f"/agui?runId={run}&offset=-1"), 404, "not-found")

    def test_I20_each_member_that_is_wrong_is_named(self):
        for change, pointer in (
                ({"threadId": ...}, "/threadId"), ({"threadId": 1}, "/threadId"), ({"threadId": ""}, "/threadId"),
                ({"runId": ...}, "/runId"), ({"runId": "two words"}, "/runId"), ({"runId": "a\nb"}, "/runId"),
                ({"messages": ...}, "/messages"), ({"messages": {}}, "/messages"),
                ({"messages": [1]}, "/messages/0"), ({"messages": [{"role": "user", "content": "x"}]}, "/messages/0/id"),
                ({"messages": [{"id": "m", "role": "king", "content": "x"}]}, "/messages/0/role"),
                ({"messages": [{"id": "m", "role": "user"}]}, "/messages/0/content"),
                ({"messages": [{"id": "m", "role": "user", "content": 7}]}, "/messages/0/content"),
                ({"messages": [{"id": "m", "role": "user", "content": [{"type": "image", "source": {}}]}]},
                 "/messages/0/content/0"),
                ({"messages": [{"id": "m", "role": "user", "content": ""}]}, "/messages"),
                ({"messages": [{"id": "m", "role": "tool", "content": "x"}]}, "/messages/0/toolCallId"),
                ({"tools": {}}, "/tools"), ({"tools": [{"name": "two words"}]}, "/tools/0/name"),
                ({"tools": [{"description": "x"}]}, "/tools/0/name"),
                ({"tools": [{"name": "x", "parameters": []}]}, "/tools/0/parameters"),
                ({"context": [{"value": "x"}]}, "/context/0/description"), ({"context": "x"}, "/context"),
                ({"protocolVersion": "2.0"}, "/protocolVersion"), ({"protocolVersion": "soon"}, "/protocolVersion"),
                ({"parentRunId": 5}, "/parentRunId"), ({"resume": "x"}, "/resume"),
                ({"forwardedProps": {"sessionId": "../../etc"}}, "/forwardedProps/sessionId"),
                ({"forwardedProps": {"onCapacity": "beg"}}, "/forwardedProps/onCapacity")):
            with self.subTest(pointer=pointer, change=str(change)[:80]):
                self.refused(change, pointer)

    def test_I20_what_is_new_or_unknown_is_served(self):
        for change in ({"protocolVersion": "1.7"}, {"whatever": {"x": 1}}, {"state": None}, {"tools": None},
                       {"forwardedProps": "text"}, {"messages": [user("say hi") | {"mood": "good"}]},
                       {"messages": [{"id": "m", "role": "user", "content": [{"type": "text", "text": "say hi"}]}]},
                       {"messages": [{"id": "s", "role": "system", "content": "Be kind."}, user("say hi")]}):
            thread, run = self.names()
            events = check([e for _, e in self.stream(body_of("current", thread, run, [user("say hi")]) | change)])
            self.assertEqual(text_of(events), "hi", change)

    def test_I20_no_json_no_key_no_such_place(self):
        self.assert_problem(self.client.post("/agui", b"{"), 400, "malformed-request")
        body = body_of("current", "t", "r", [user("say hi")])
        self.assert_problem(self.server.client("sk_int_wrong").post("/agui", body), 401, "unauthenticated")
        self.assert_problem(self.client.post("/agui", body, {"Last-Event-ID": "r-3"}), 404, "not-found")
        self.assert_problem(self.client.post("/agui", body, {"Last-Event-ID": "nonsense"}), 422, "validation-error")

    def test_I18_another_tenants_threads_are_not_there(self):
        tenant = self.admin.post("/v1/tenants", {"name": "Other"}).json()["id"]
        key = self.admin.post(f"/v1/tenants/{tenant}/keys", {"name": "k"}).json()["secret"]
        thread, run = self.names()
        self.stream(body_of("current", thread, run, [user("say mine")]))
        other = self.server.client(key)
        self.assert_problem(other.get(f"/agui?runId={run}&offset=-1"), 404, "not-found")
        self.assertEqual(other.get(f"/agui?threadId={thread}").json()["messages"], [])
        self.assert_problem(other.delete(f"/agui?runId={run}"), 404, "not-found")

    def test_I3_a_second_run_in_a_busy_thread_is_refused(self):
        thread, run = self.names()
        answer = self.post(body_of("current", thread, run, [user("say One.\nhang")]))
        next(frame for frame in frames(answer.lines()) if frame[1]["type"] == "TEXT_MESSAGE_CONTENT")
        busy = self.client.post("/agui", body_of("current", thread, run + "-2", [user("say hi")]))
        self.assert_problem(busy, 409, "conversation-busy")
        answer.close()
        self.client.delete(f"/agui?runId={run}")


if __name__ == "__main__":
    unittest.main()
