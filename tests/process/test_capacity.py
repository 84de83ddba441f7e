"""A full server, through the real interface (I-12, I-13): who is refused, who waits, in which order, and what is left
of a wait when the caller or the server goes away."""
import json
import unittest

from server_process import Server, ServerTest, wait_until
from stream_grammar import check_stream, slug_of


def positions(events):
    return [e["data"]["position"] for e in events if e["type"] == "queued"]


class OneSlot(ServerTest):
    flags = ("--capacity.max_running", "1")

    def occupy(self, client=None, script="say in\nhang"):
        """A run that takes the only slot; its run id."""
        client = client or self.client
        conversation = client.post("/v1/conversations", {}).json()["id"]
        stream = client.send(conversation, script)
        self.addCleanup(stream.close)
        for line in stream.lines():
            if json.loads(line)["type"] == "content_delta":
                break
        run = stream.header("x-run-id")
        self.addCleanup(lambda: client.post(f"/v1/runs/{run}/cancel"))
        return run

    def free(self, run, client=None):
        (client or self.client).post(f"/v1/runs/{run}/cancel")


class Full(OneSlot):
    def test_I12_a_full_server_refuses_honestly_and_creates_nothing(self):
        run = self.occupy()
        conversation = self.conversation()
        answer = self.client.post(f"/v1/conversations/{conversation}/messages", {"content": "say x"})
        self.assert_problem(answer, 429, "capacity-exhausted")
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        self.assertEqual(self.messages(conversation), [])
        known = len(self.client.get("/v1/conversations?limit=100").json()["data"])
        answer = self.client.post("/v1/conversations", {"initial_message": {"content": "say x"}})
        self.assert_problem(answer, 429, "capacity-exhausted")
        self.assertEqual(len(self.client.get("/v1/conversations?limit=100").json()["data"]), known)
        self.free(run)
        self.assertEqual(check_stream(self.client.say(conversation, "say x"))[-1]["type"], "message_end")

    def test_I12_I19_a_known_key_is_answered_even_when_the_server_is_full(self):
        conversation = self.conversation()
        first = self.client.say(conversation, "say x", headers={"Idempotency-Key": "known"})
        run = self.occupy()
        self.assertEqual(self.client.say(conversation, "say x", headers={"Idempotency-Key": "known"}), first)
        self.free(run)

    def test_I12_a_hold_has_the_lines_of_the_contract(self):
        run = self.occupy()
        waiting = [self.client.send(self.conversation(), f"put Done {i}.", on_capacity="hold") for i in range(2)]
        first, second = (s.lines() for s in waiting)
        head = json.loads(next(second))
        self.assertEqual((head["type"], head["seq"], head["message_id"]), ("queued", 0, None))
        self.assertEqual(list(head["data"]), ["position", "retry_hint_seconds"])
        self.assertEqual(head["data"]["position"], 2)
        capacity = self.client.get("/v1/capacity").json()
        self.assertEqual((capacity["held"], capacity["running"], capacity["at_capacity"]), (2, 1, True))
        self.free(run)
        told = check_stream(list(first))
        self.assertEqual((set(positions(told)), told[-1]["data"]["message"]["content"]), ({1}, "Done 0."))
        rest = [head] + [json.loads(line) for line in second]
        self.assertEqual([e["seq"] for e in rest], list(range(len(rest))))
        places = positions(rest)
        self.assertEqual(places, sorted(places, reverse=True), "positions never grow")
        self.assertEqual([e["type"] for e in rest if e["type"] != "queued"],
                         ["message_start", "content_delta", "message_end"])

    def test_I12_who_leaves_while_held_is_served_all_the_same(self):
        run = self.occupy()
        conversation = self.conversation()
        stream = self.client.send(conversation, "say later", on_capacity="hold")
        next(stream.lines())
        stream.close()
        self.free(run)
        done = wait_until(lambda: [m for m in self.messages(conversation) if m["role"] == "assistant"
                                   and m["status"] == "completed"], "the held message is answered")
        self.assertEqual(done[0]["content"], "later")
        check_stream(self.client.events(done[0]["id"]))

    def test_I12_no_tenant_waits_behind_another_ones_crowd(self):
        other = self.admin.post("/v1/tenants", {"name": "small"}).json()["id"]
        small = self.server.client(self.admin.post(f"/v1/tenants/{other}/keys", {"name": "k"}).json()["secret"])
        run = self.occupy()
        crowd = [self.client.send(self.conversation(), f"say {i}", on_capacity="hold") for i in range(6)]
        for stream in crowd:
            next(stream.lines())
        late = small.send(small.post("/v1/conversations", {}).json()["id"], "say mine", on_capacity="hold")
        lines = late.lines()
        self.assertLessEqual(json.loads(next(lines))["data"]["position"], 3)
        self.free(run)
        list(lines)
        for stream in crowd:
            stream.close()
        wait_until(lambda: self.client.get("/v1/capacity").json()["running"] == 0, "all are served")

    def test_I13_capacity_says_what_an_operator_wants_to_know(self):
        capacity = self.client.get("/v1/capacity").json()
        self.assertEqual(capacity["object"], "capacity")
        for name in ("pool_size", "warm_available", "sticky_active", "max_hold_seconds", "running", "held", "parked"):
            self.assertIsInstance(capacity[name], int, name)
        self.assertEqual((capacity["pool_size"], capacity["max_hold_seconds"], capacity["at_capacity"]), (1, 120, False))
        self.assertRegex(capacity["checked_at"], r"^20\d\d-")

    def test_a_held_message_can_be_cancelled(self):
        run = self.occupy()
        stream = self.client.send(self.conversation(), "say x", on_capacity="hold")
        lines = stream.lines()
        next(lines)
        self.assertEqual(self.client.post(f"/v1/runs/{stream.header('x-run-id')}/cancel").status, 200)
        self.assertEqual(slug_of(json.loads(list(lines)[-1])["data"]), "run-cancelled")
        self.assertEqual(self.client.get("/v1/capacity").json()["held"], 0)
        self.free(run)


class AShortLine(OneSlot):
    flags = (*OneSlot.flags, "--capacity.max_held", "1")

    def test_I12_more_than_may_be_held_are_refused(self):
        run = self.occupy()
        held = self.client.send(self.conversation(), "say x", on_capacity="hold")
        self.addCleanup(held.close)
        lines = held.lines()
        events = [json.loads(next(lines))]
        refused = self.client.post(f"/v1/conversations/{self.conversation()}/messages",
                                   {"content": "say y", "on_capacity": "hold"})
        self.assert_problem(refused, 429, "capacity-exhausted")
        self.free(run)
        events += [json.loads(line) for line in lines]
        self.assertEqual((events[0]["type"], events[-1]["type"]), ("queued", "message_end"))


class AShortHold(OneSlot):
    flags = (*OneSlot.flags, "--capacity.max_hold_seconds", "1")

    def test_I12_a_hold_ends_at_its_bound_with_the_words_of_the_registry(self):
        self.occupy()
        events = check_stream(self.client.say(self.conversation(), "say x", on_capacity="hold"))
        self.assertEqual((events[0]["type"], events[-1]["type"], slug_of(events[-1]["data"])),
                         ("queued", "error", "capacity-exhausted"))
        self.assertEqual(self.messages(events[-1]["conversation_id"])[-1]["status"], "failed")

    def test_I12_in_one_piece_a_hold_that_ended_leaves_a_message_which_its_header_names_and_a_refusal_does_not(self):
        conversation, body = self.conversation(), {"content": "say x", "on_capacity": "hold"}
        path, key = f"/v1/conversations/{conversation}/messages?stream=false", {"Idempotency-Key": "one-hold"}
        run = self.occupy()
        answer = self.client.post(path, body, key)
        self.assert_problem(answer, 429, "capacity-exhausted")
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        asked, failed = self.messages(conversation)
        self.assertEqual((failed["id"], failed["status"]), (answer.header("x-message-id"), "failed"))
        self.assertEqual((asked["role"], asked["content"]), ("user", "say x"))
        again = self.client.post(path, body, key)
        self.assertEqual((again.status, again.body, again.header("idempotency-replayed")), (429, answer.body, "true"))
        self.assertEqual(len(self.messages(conversation)), 2, "the same key makes no second message")
        refused = self.client.post(path, {"content": "say x"})
        self.assert_problem(refused, 429, "capacity-exhausted")
        self.assertIsNone(refused.header("x-message-id"))
        self.assertEqual(len(self.messages(conversation)), 2)
        self.free(run)


class Restart(unittest.TestCase):
    def test_I12_a_hold_survives_the_death_of_the_server(self):
        server = Server("--sandbox.driver", "off", "--capacity.max_running", "1").start()
        self.addCleanup(server.remove)
        client = server.client()
        busy = client.send(client.post("/v1/conversations", {}).json()["id"], "sleep 600000")
        next(busy.lines())
        conversations = [client.post("/v1/conversations", {}).json()["id"] for _ in range(3)]
        heads = []
        for i, conversation in enumerate(conversations):
            stream = client.send(conversation, f"say {i}", on_capacity="hold")
            heads.append(next(stream.lines()))
            stream.close()
        server.kill()
        busy.close()
        server.start()
        client = server.client()
        held = wait_until(lambda: client.get("/v1/capacity").json(), "it serves")
        self.assertEqual((held["held"], held["running"]), (3, 1))
        runs = client.get("/v1/runs?limit=100").json()["data"]
        first = next(r for r in runs if r["conversation_id"] not in conversations)
        client.post(f"/v1/runs/{first['id']}/cancel")
        for i, conversation in enumerate(conversations):
            message = wait_until(lambda c=conversation: [m for m in client.get(
                f"/v1/conversations/{c}/messages").json()["data"] if m["status"] == "completed"][1:], "answered")[0]
            lines = client.events(message["id"])
            self.assertEqual(lines[0], heads[i])
            events = check_stream(lines)
            places = positions(events)
            self.assertEqual(places, sorted(places, reverse=True))
            self.assertEqual(events[-1]["data"]["message"]["content"], str(i))
        server.stop()

    def test_I12_the_time_of_a_hold_continues_over_a_restart(self):
        server = Server("--sandbox.driver", "off", "--capacity.max_running", "1", "--capacity.max_hold_seconds", "2").start()
        self.addCleanup(server.remove)
        client = server.client()
        busy = client.send(client.post("/v1/conversations", {}).json()["id"], "sleep 600000")
        next(busy.lines())
        conversation = client.post("/v1/conversations", {}).json()["id"]
        stream = client.send(conversation, "say x", on_capacity="hold")
        next(stream.lines())
        server.kill()
        for s in (busy, stream):
            s.close()
        server.start()
        message = wait_until(lambda: [m for m in server.client().get(
            f"/v1/conversations/{conversation}/messages").json()["data"] if m["status"] == "failed"], "it ends")[0]
        last = json.loads(server.client().events(message["id"])[-1])
        self.assertEqual(slug_of(last["data"]), "capacity-exhausted")
        server.kill()


if __name__ == "__main__":
    unittest.main()
