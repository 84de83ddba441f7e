"""The streaming surface as the contract has it: I-1, I-2, I-3, I-4, I-5, I-6, I-7, I-9, I-10, I-11, I-20."""
import time
import unittest

from server_process import ServerTest, wait_until
from stream_grammar import MESSAGE, check_stream, message_bytes, slug_of, text_of


class AStream(ServerTest):
    def test_I1_is_ndjson_chunked_without_a_length(self):
        answer = self.client.send(self.conversation(), "say hello there")
        with answer.connection:
            self.assertEqual((answer.version, answer.status), ("HTTP/1.1", 200))
            self.assertEqual(answer.header("content-type"), "application/x-ndjson")
            self.assertEqual(answer.header("transfer-encoding"), "chunked")
            self.assertIsNone(answer.header("content-length"))
            body = b"".join(answer.pieces())
        self.assertTrue(body.endswith(b"\n"))
        self.assertNotIn(b"\n\n", body)
        check_stream(body.split(b"\n")[:-1])

    def test_I3_forbids_caching_buffering_and_compression(self):
        answer = self.client.send(self.conversation(), "say hi", headers={"Accept-Encoding": "gzip, br, zstd"})
        with answer.connection:
            self.assertEqual(answer.header("cache-control"), "no-store")
            self.assertEqual(answer.header("x-accel-buffering"), "no")
            self.assertIsNone(answer.header("content-encoding"))
            events = check_stream(list(answer.lines()))
        self.assertRegex(answer.header("x-request-id"), r"^req_[0-9a-z]{26}$")
        self.assertRegex(answer.header("x-run-id"), r"^run_[0-9a-z]{26}$")
        self.assertEqual(answer.header("x-message-id"), events[0]["message_id"])

    def test_I3_each_event_is_flushed_as_it_is_produced(self):
        answer = self.client.send(self.conversation(), "say one two three\nhang")
        with answer.connection:
            lines = answer.lines()
            head = [next(lines) for _ in range(4)]  # the model says nothing more: what is held back never comes
            self.cancel(answer)
            events = check_stream(head + list(lines))
        self.assertEqual([e["type"] for e in events], ["message_start", *["content_delta"] * 3, "error"])
        self.assertEqual(slug_of(events[-1]["data"]), "run-cancelled")

    def come_one_by_one(self):
        """Whether most of a second's deltas arrived apart from each other."""
        answer = self.client.send(self.conversation(), "tokens 30 30")
        with answer.connection:
            arrivals = [time.monotonic() for line in answer.lines() if b'"content_delta"' in line]
        self.assertEqual(len(arrivals), 30)
        return sum(b - a > 0.01 for a, b in zip(arrivals, arrivals[1:])) > 15

    def test_I3_events_are_not_gathered_for_a_while_either(self):
        # On a machine with much to do they may come in heaps now and then; from a server that gathers them, always.
        wait_until(self.come_one_by_one, "an answer whose deltas come one by one")

    def test_I3_the_first_event_does_not_wait_for_the_model(self):
        answer = self.client.send(self.conversation(), "hang")
        with answer.connection:
            lines = answer.lines()
            first = next(lines)
            self.cancel(answer)
            events = check_stream([first, *lines])
        self.assertIn(b'"type":"message_start"', first)
        self.assertEqual((len(events), slug_of(events[-1]["data"])), (2, "run-cancelled"))

    def cancel(self, answer):
        """Ends a run whose model is silent; that it was still there to be ended is part of the story."""
        cancelled = self.client.post(f"/v1/runs/{answer.header('x-run-id')}/cancel")
        self.assertEqual((cancelled.status, cancelled.json()["state"]), (200, "cancelled"))

    def test_I6_I7_a_plain_reply_is_start_deltas_end(self):
        lines = self.client.say(self.conversation(), "say one two three")
        events = check_stream(lines)
        self.assertEqual([e["type"] for e in events],
                         ["message_start", "content_delta", "content_delta", "content_delta", "message_end"])
        self.assertEqual(events[0]["data"], {"role": "assistant"})
        self.assertEqual(text_of(events).split(), ["one", "two", "three"])

    def test_I9_any_text_survives_the_way_through(self):
        said = "naïve 漢字 🦦 \"quotes\" back\\slash tab\there </script> \u2028 \x7f \u0001 end"
        lines = self.client.say(self.conversation(), said)
        self.assertEqual(text_of(check_stream(lines)), "You said: " + said)

    def test_I9_many_deltas_add_up_to_the_message(self):
        events = check_stream(self.client.say(self.conversation(), "tokens 3000"))
        self.assertEqual(text_of(events).split(), [f"w{i}" for i in range(1, 3001)])
        self.assertEqual(sum(e["type"] == "content_delta" for e in events), 3000)

    def test_I9_the_message_in_message_end_is_byte_for_byte_the_listed_one(self):
        conversation = self.conversation()
        ends = [message_bytes(self.client.say(conversation, text)[-1])
                for text in ("say first", "tokens 40", 'ünï "code" \\ /')]
        listed = self.client.get(f"/v1/conversations/{conversation}/messages?limit=100")
        for end in ends:
            self.assertEqual(listed.body.count(end), 1, end)
        single = self.client.get(f"/v1/messages/{listed.json()['data'][1]['id']}")
        self.assertEqual(single.body.strip(), ends[0])

    def test_I10_user_and_assistant_messages_carry_the_documented_fields(self):
        conversation = self.conversation()
        head = "---\nname: one\ndescription: The first.\n---\n"
        skill = self.client.post("/v1/skills", {"files": [{"path": "SKILL.md", "content": head}]}).json()["id"]
        self.client.say(conversation, "say yes", env={"STAGE": "test"}, skill_ids=[skill])
        asked, answered = self.messages(conversation)
        self.assertEqual(list(asked), MESSAGE)
        self.assertEqual(list(answered), MESSAGE)
        self.assertEqual((asked["role"], asked["content"], asked["status"]), ("user", "say yes", "completed"))
        self.assertEqual((asked["env"], asked["skill_ids"], asked["repository_id"]),
                         ({"STAGE": "test"}, [skill], None))
        self.assertEqual((answered["role"], answered["status"]), ("assistant", "completed"))
        self.assertEqual(set(answered["usage"]), {"input_tokens", "output_tokens"})

    def test_I10_a_message_that_is_being_written_is_in_progress(self):
        conversation = self.conversation()
        answer = self.client.send(conversation, "say a\nhang")
        with answer.connection:
            lines = answer.lines()
            next(lines)
            asked, answering = self.messages(conversation)
            self.assertEqual((asked["role"], asked["status"]), ("user", "completed"))
            self.assertEqual((answering["role"], answering["status"]), ("assistant", "in_progress"))
            self.client.post(f"/v1/runs/{answer.header('x-run-id')}/cancel")
            self.assertEqual(check_stream(list(lines), first_seq=1)[-1]["type"], "error")
        self.assertEqual(self.messages(conversation)[1]["status"], "failed")

    def test_I7_seq_starts_again_with_each_message(self):
        conversation = self.conversation()
        first = check_stream(self.client.say(conversation, "say a"))
        second = check_stream(self.client.say(conversation, "say b"))
        self.assertEqual((first[0]["seq"], second[0]["seq"]), (0, 0))
        self.assertNotEqual(first[0]["message_id"], second[0]["message_id"])

    def test_I4_a_failure_after_the_200_is_one_terminal_error(self):
        conversation = self.conversation()
        events = check_stream(self.client.say(conversation, "fail 400 no such luck"))
        self.assertEqual(events[-1]["type"], "error")
        self.assertEqual((slug_of(events[-1]["data"]), events[-1]["data"]["status"]), ("model-error", 502))
        failed = self.messages(conversation)[1]
        self.assertEqual(failed["status"], "failed")
        check_stream(self.client.say(conversation, "say the conversation goes on"))

    def test_I6_an_answer_that_breaks_off_is_an_error(self):
        events = check_stream(self.client.say(self.conversation(), "say half an\ncut"))
        self.assertEqual(slug_of(events[-1]["data"]), "model-stream-cut")

    def test_reasoning_is_not_part_of_the_message(self):
        events = check_stream(self.client.say(self.conversation(), "think secretly\nsay openly"))
        self.assertEqual(events[-1]["data"]["message"]["content"].strip(), "openly")

    def test_an_unfinished_answer_says_that_it_is_busy(self):
        conversation = self.conversation()
        answer = self.client.send(conversation, "say a\nhang")
        with answer.connection:
            problem = self.assert_problem(
                self.client.post(f"/v1/conversations/{conversation}/messages", {"content": "me too"}),
                409, "conversation-busy")
            self.assertEqual(problem["conflicting_resource_id"], answer.header("x-run-id"))
            self.cancel(answer)
            check_stream(list(answer.lines()))
        self.assertEqual(len(self.messages(conversation)), 2)


class AFirstMessage(ServerTest):
    def test_I2_rides_with_the_creation_of_its_conversation(self):
        answer = self.client.open("POST", "/v1/conversations",
                                  {"title": "Harbour", "user_id": "ada", "initial_message": {"content": "say ahoy"}})
        with answer.connection:
            self.assertEqual((answer.status, answer.header("content-type")), (200, "application/x-ndjson"))
            events = check_stream(list(answer.lines()))
        conversation = events[0]["data"]["conversation"]
        self.assertEqual((conversation["title"], conversation["user_id"]), ("Harbour", "ada"))
        stored = self.client.get(f"/v1/conversations/{conversation['id']}").json()
        for field in stored.keys() - {"last_message_at", "updated_at"}:
            self.assertEqual(conversation[field], stored[field], field)
        self.assertEqual([m["content"] for m in self.messages(conversation["id"])], ["say ahoy", "ahoy"])

    def test_I2_without_one_the_answer_is_plain_json(self):
        answer = self.client.post("/v1/conversations", {"title": "Quiet"})
        self.assertEqual((answer.status, answer.header("content-type")), (201, "application/json"))
        self.assertEqual(answer.header("location").split("/v1/")[-1], f"conversations/{answer.json()['id']}")

    def test_I4_a_bad_one_creates_no_conversation(self):
        before = self.client.get("/v1/conversations?limit=100").json()["data"]
        self.assert_problem(self.client.post("/v1/conversations", {"initial_message": {"content": ""}}),
                            422, "validation-error")
        self.assertEqual(self.client.get("/v1/conversations?limit=100").json()["data"], before)


class OtherTransports(ServerTest):
    def test_I1_http_1_0_gets_the_same_lines_without_chunks(self):
        answer = self.client.open("POST", f"/v1/conversations/{self.conversation()}/messages",
                                  {"content": "tokens 30"}, version="HTTP/1.0")
        with answer.connection:
            self.assertIsNone(answer.header("transfer-encoding"))
            self.assertIsNone(answer.header("content-length"))
            body = answer.connection.read_to_end()
        self.assertEqual(text_of(check_stream(body.split(b"\n")[:-1])).split()[-1], "w30")

    def test_head_has_no_body_and_leaves_the_connection_usable(self):
        with self.client.connect() as connection:
            connection.send(self.client.encode("HEAD", "/healthz"))
            self.assertIn(connection.response("HEAD").status, (200, 405))
            connection.send(self.client.encode("GET", "/healthz"))
            self.assertEqual(connection.response().json(), {"status": "ok"})

    def test_a_connection_carries_stream_after_stream(self):
        conversation = self.conversation()
        path = f"/v1/conversations/{conversation}/messages"
        with self.client.connect() as connection:
            for count in (1, 200, 3):
                connection.send(self.client.encode("POST", path, {"content": f"tokens {count}"}))
                events = check_stream(list(connection.response("POST").lines()))
                self.assertEqual(len(text_of(events).split()), count)


class WithoutAStream(ServerTest):
    flags = ("--filler.first_ms", "50")

    def blocking(self, conversation, content, **fields):
        return self.client.post(f"/v1/conversations/{conversation}/messages?stream=false",
                                {"content": content} | fields)

    def test_I20_the_call_blocks_and_returns_the_completed_message(self):
        conversation = self.conversation()
        began = time.monotonic()
        answer = self.blocking(conversation, "tokens 10 20")
        self.assertGreater(time.monotonic() - began, 0.3)
        self.assertEqual((answer.status, answer.header("content-type")), (201, "application/json"))
        self.assertEqual(answer.json()["content"].split(), [f"w{i}" for i in range(1, 11)])
        listed = self.client.get(f"/v1/conversations/{conversation}/messages")
        self.assertIn(answer.body.strip(), listed.body)
        stream = self.client.events(answer.json()["id"])
        check_stream(stream)
        self.assertEqual(message_bytes(stream[-1]), answer.body.strip())

    def test_I20_a_failure_has_its_natural_status(self):
        self.assert_problem(self.blocking(self.conversation(), "fail 400 nothing doing"), 502, "model-error")
        self.assert_problem(self.blocking(self.conversation(), "say part\ncut"), 502, "model-stream-cut")

    def test_I20_I11_there_is_no_filler_even_when_it_is_on(self):
        conversation = self.conversation(filler={"enabled": True})
        answer = self.blocking(conversation, "sleep 400\nsay done")
        self.assertEqual(answer.json()["content"].strip(), "done")
        events = check_stream(self.client.events(answer.json()["id"]))
        self.assertFalse([e for e in events if e["data"].get("filler")])

    def test_I20_the_run_continues_when_the_caller_disconnects(self):
        conversation = self.conversation()
        with self.client.connect() as connection:
            connection.send(self.client.encode("POST", f"/v1/conversations/{conversation}/messages?stream=false",
                                               {"content": "tokens 10 20"}))
            runs = f"/v1/runs?conversation_id={conversation}"
            message = wait_for_run(self.client, runs)["message_id"]
        self.assertEqual(check_stream(self.client.events(message))[-1]["type"], "message_end")
        self.assertEqual(self.messages(conversation)[1]["status"], "completed")

    def test_I20_other_words_for_stream_are_refused(self):
        conversation = self.conversation()
        answer = self.client.post(f"/v1/conversations/{conversation}/messages?stream=perhaps", {"content": "x"})
        self.assert_problem(answer, 422, "validation-error")
        self.assertEqual(self.messages(conversation), [])


def wait_for_run(client, path):
    return wait_until(lambda: client.get(path).json()["data"], "the run shows up")[0]


class Filler(ServerTest):
    """I-11: tenant → conversation → message, the most specific wins."""

    flags = ("--filler.first_ms", "50")

    def said(self, conversation, **fields):
        lines = self.client.say(conversation, "sleep 600\nsay real words", **fields)
        events = check_stream(lines)
        self.assertEqual(events[-1]["data"]["message"]["content"].split(), ["real", "words"])
        self.assertEqual(self.client.events(events[0]["message_id"]), lines)
        return [e for e in events if e["data"].get("filler")], events

    def test_I11_filler_is_off_by_default(self):
        self.assertEqual(self.said(self.conversation())[0], [])

    def test_I11_bridges_the_time_before_the_first_word_and_is_not_kept(self):
        conversation = self.conversation(filler={"enabled": True})
        filler, events = self.said(conversation)
        self.assertTrue(filler)
        first_word = next(e["seq"] for e in events if e["type"] == "content_delta" and not e["data"].get("filler"))
        self.assertLess(max(e["seq"] for e in filler), first_word)
        for told in self.messages(conversation):
            self.assertNotIn(filler[0]["data"]["text"], told["content"])

    def test_I11_the_message_overrules_the_conversation(self):
        self.assertEqual(self.said(self.conversation(filler={"enabled": True}), filler={"enabled": False})[0], [])
        self.assertTrue(self.said(self.conversation(filler={"enabled": False}), filler={"enabled": True})[0])

    def test_I11_the_conversation_overrules_the_tenant(self):
        tenant = self.admin.post("/v1/tenants", {"name": "Talkative", "settings": {"filler_enabled": True}}).json()
        key = self.admin.post(f"/v1/tenants/{tenant['id']}/keys", {"name": "host"}).json()["secret"]
        client = self.server.client(key)
        for field, expected in ((None, True), ({"enabled": False}, False)):
            body = {} if field is None else {"filler": field}
            conversation = client.post("/v1/conversations", body).json()["id"]
            events = check_stream(client.say(conversation, "sleep 400\nsay hm"))
            self.assertEqual(any(e["data"].get("filler") for e in events), expected, field)


if __name__ == "__main__":
    unittest.main()
