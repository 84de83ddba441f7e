"""I-19: the same key and the same body are the same call, however often and however fast it comes."""
import json
import sqlite3
import threading
import unittest
import uuid

from http_client import PATIENCE_S
from server_process import Server, ServerTest
from test_objects import GZIP, bundle, head
from stream_grammar import check_stream


def fresh_key():
    return {"Idempotency-Key": str(uuid.uuid4())}


class AMessageSentAgain(ServerTest):
    def test_I19_replays_the_very_bytes_of_a_finished_stream(self):
        conversation, key = self.conversation(), fresh_key()
        first = self.client.send(conversation, "tokens 12", headers=key)
        with first.connection:
            self.assertIsNone(first.header("idempotency-replayed"))
            lines = list(first.lines())
        again = self.client.send(conversation, "tokens 12", headers=key)
        with again.connection:
            self.assertEqual((again.status, again.header("idempotency-replayed")), (200, "true"))
            self.assertEqual(again.header("x-run-id"), first.header("x-run-id"))
            self.assertEqual(again.header("x-message-id"), first.header("x-message-id"))
            self.assertEqual(list(again.lines()), lines)
        self.assertEqual(len(self.messages(conversation)), 2)

    def test_I19_joins_a_stream_that_is_still_running_from_seq_0(self):
        conversation, key = self.conversation(), fresh_key()
        first = self.client.send(conversation, "tokens 30 60", headers=key)
        with first.connection:
            stream = first.lines()
            seen = [next(stream) for _ in range(10)]
            again = self.client.send(conversation, "tokens 30 60", headers=key)
            with again.connection:
                self.assertEqual(again.header("idempotency-replayed"), "true")
                copy = list(again.lines())
            self.assertEqual(copy, seen + list(stream))
        check_stream(copy)
        self.assertEqual(len(self.messages(conversation)), 2)

    def test_I19_I20_without_a_stream_returns_the_same_message(self):
        conversation, key = self.conversation(), fresh_key()
        path = f"/v1/conversations/{conversation}/messages?stream=false"
        first = self.client.post(path, {"content": "say once"}, key)
        again = self.client.post(path, {"content": "say once"}, key)
        self.assertEqual((first.status, again.status), (201, 201))
        self.assertEqual(again.body, first.body)
        self.assertEqual(again.header("idempotency-replayed"), "true")
        self.assertEqual(len(self.messages(conversation)), 2)

    def test_I19_replays_a_failure_as_the_failure_it_was(self):
        conversation, key = self.conversation(), fresh_key()
        lines = self.client.say(conversation, "say a\ncut", headers=key)
        self.assertEqual(self.client.say(conversation, "say a\ncut", headers=key), lines)

    def test_I19_another_body_under_the_same_key_is_a_conflict(self):
        conversation, key = self.conversation(), fresh_key()
        self.client.say(conversation, "say one", headers=key)
        answer = self.client.post(f"/v1/conversations/{conversation}/messages", {"content": "say two"}, key)
        self.assert_problem(answer, 422, "idempotency-key-conflict")
        self.assertEqual(len(self.messages(conversation)), 2)

    def test_I19_another_conversation_is_another_call(self):
        key = fresh_key()
        for _ in range(2):
            conversation = self.conversation()
            answer = self.client.send(conversation, "say one", headers=key)
            with answer.connection:
                self.assertIsNone(answer.header("idempotency-replayed"))
                check_stream(list(answer.lines()))

    def test_I19_racing_requests_with_one_key_make_one_message(self):
        conversation, key, outcomes = self.conversation(), fresh_key(), []
        start = threading.Barrier(8)

        def send():
            start.wait()
            answer = self.client.send(conversation, "tokens 20 100", headers=key)
            with answer.connection:
                outcomes.append((answer.status, answer.header("idempotency-replayed"), tuple(answer.lines())))

        racers = [threading.Thread(target=send) for _ in range(8)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(PATIENCE_S)
        self.assertEqual([status for status, _, _ in outcomes], [200] * 8)
        self.assertEqual(sorted(str(replayed) for _, replayed, _ in outcomes), ["None"] + ["true"] * 7)
        self.assertEqual(len({lines for _, _, lines in outcomes}), 1)
        self.assertEqual(len(self.messages(conversation)), 2)
        self.assertEqual(len(self.client.get(f"/v1/runs?conversation_id={conversation}").json()["data"]), 1)

    def test_I19_a_refused_call_does_not_use_up_its_key(self):
        conversation, key = self.conversation(), fresh_key()
        self.client.delete(f"/v1/conversations/{conversation}")
        path = f"/v1/conversations/{conversation}/messages"
        self.assert_problem(self.client.post(path, {"content": "say x"}, key), 409, "conversation-archived")
        self.client.patch(f"/v1/conversations/{conversation}", {"status": "active"})
        check_stream(self.client.say(conversation, "say x", headers=key))

    def test_I19_a_replay_is_not_stopped_by_an_archived_conversation(self):
        conversation, key = self.conversation(), fresh_key()
        lines = self.client.say(conversation, "say kept", headers=key)
        self.client.delete(f"/v1/conversations/{conversation}")
        self.assertEqual(self.client.say(conversation, "say kept", headers=key), lines)

    def test_I19_keys_are_one_to_255_visible_characters(self):
        conversation = self.conversation()
        path = f"/v1/conversations/{conversation}/messages"
        check_stream(self.client.say(conversation, "say long", headers={"Idempotency-Key": "k" * 255}))
        for key in ("k" * 256, "two words", "", "caf\xe9"):
            answer = self.client.post(path, {"content": "say x"}, {"Idempotency-Key": key})
            self.assert_problem(answer, 422, "validation-error")
        self.assertEqual(len(self.messages(conversation)), 2)


class WhatIsGoneSince(ServerTest):
    """A replay needs nothing of what the first call named."""

    def test_I19_I25_a_deleted_skill_and_repository_do_not_stop_a_replay(self):
        skill = self.client.post("/v1/skills", bundle({"SKILL.md": head("gone")}), GZIP).json()["id"]
        repository = self.client.post("/v1/repositories", {"name": "gone", "url": "https://git.example/gone"}).json()["id"]
        conversation, key = self.conversation(), fresh_key()
        path = f"/v1/conversations/{conversation}/messages?stream=false"
        message = {"content": "say once", "skill_ids": [skill]}
        sent = self.client.post(path, message, key)
        self.assertEqual(sent.status, 201, sent.body)
        whole = {"repository_id": repository, "title": "Once"}
        begun = {"title": "Begun", "initial_message": {"content": "say begun", "skill_ids": [skill]}}
        created, keys = self.client.post("/v1/conversations", whole, key), fresh_key()
        self.assertEqual(created.status, 201, created.body)
        stream = self.client.post("/v1/conversations", begun, keys)
        self.assertEqual(stream.status, 200, stream.body)
        for gone in (f"/v1/skills/{skill}", f"/v1/repositories/{repository}"):
            self.assertEqual(self.client.delete(gone).status, 204)
        for where, body, with_key, first in ((path, message, key, sent), ("/v1/conversations", whole, key, created),
                                             ("/v1/conversations", begun, keys, stream)):
            again = self.client.post(where, body, with_key)
            self.assertEqual((again.status, again.body), (first.status, first.body))
            self.assertEqual(again.header("idempotency-replayed"), "true")
            fresh = self.assert_problem(self.client.post(where, body, fresh_key()), 422, "validation-error")
            self.assertRegex(fresh["errors"][0]["pointer"], "(skill_ids/0|repository_id)$")
        other = self.client.post(path, message | {"content": "say other"}, key)
        self.assert_problem(other, 422, "idempotency-key-conflict")
        self.assertEqual(len(self.messages(conversation)), 2)

    def test_I19_a_key_whose_run_is_missing_is_a_problem_and_not_the_end_of_the_server(self):
        server = Server()
        self.addCleanup(server.remove)
        client, key = server.start().client(), fresh_key()
        conversation = client.post("/v1/conversations", {}).json()["id"]
        client.say(conversation, "say once", headers=key)
        server.stop()
        with sqlite3.connect(server.data / "sluice.db") as db:
            db.execute("PRAGMA foreign_keys = OFF")
            self.assertEqual(db.execute("UPDATE idempotency_keys SET run = run + 1000 WHERE run IS NOT NULL").rowcount, 1)
        client = server.start().client()
        answer = client.post(f"/v1/conversations/{conversation}/messages", {"content": "say once"}, key)
        problem = self.assert_problem(answer, 500, "internal")
        self.assertIn("Idempotency-Key", problem["detail"])
        self.assertTrue(server.alive(), server.log()[-3000:])


class ARefusedMessageWithSecrets(ServerTest):
    """I-4, I-19: nothing is created, and nothing on file is changed."""

    flags = ("--capacity.max_running", "1")

    def secrets(self, conversation):
        return self.client.get(f"/v1/conversations/{conversation}/secrets").json()["data"]

    def put_entries(self, conversation):
        """How often the audit chain says that the conversation's secrets were put."""
        return [entry["action"] for entry in self.admin.get("/v1/admin/audit?limit=100").json()["data"]
                if entry["subject"] == conversation].count("secret.put")

    def refused(self, conversation, status, slug, key=None):
        before = self.secrets(conversation), self.put_entries(conversation)
        body = {"content": "say no", "secrets": {"KEY": {"value": "other-value", "hosts": ["b.example"]}, "NEW": "new-value"}}
        answer = self.client.post(f"/v1/conversations/{conversation}/messages", body, key)
        self.assert_problem(answer, status, slug)
        self.assertEqual((self.secrets(conversation), self.put_entries(conversation)), before)

    def test_I4_I19_changes_no_secret(self):
        conversation, key = self.conversation(), fresh_key()
        body = {"content": "say yes", "secrets": {"KEY": {"value": "first-value", "hosts": ["a.example"]}}}
        path = f"/v1/conversations/{conversation}/messages?stream=false"
        self.assertEqual(self.client.post(path, body, key).status, 201)
        self.assertEqual([(s["alias"], s["hosts"]) for s in self.secrets(conversation)], [("KEY", ["a.example"])])
        self.assertEqual(self.put_entries(conversation), 1)
        self.refused(conversation, 422, "idempotency-key-conflict", key)

        rotated = {"secrets": {"KEY": {"value": "rotated-value", "hosts": ["c.example"]}}}
        self.assertEqual(self.client.request("PUT", f"/v1/conversations/{conversation}/secrets", rotated).status, 200)
        again = self.client.post(path, body, key)
        self.assertEqual((again.status, again.header("idempotency-replayed")), (201, "true"))
        self.assertEqual([s["hosts"] for s in self.secrets(conversation)], [["c.example"]], "a replay undoes no rotation")

        stream = self.client.send(conversation, "say in\nhang")
        self.addCleanup(stream.close)
        next(line for line in stream.lines() if json.loads(line)["type"] == "content_delta")
        self.refused(conversation, 409, "conversation-busy")
        self.refused(self.conversation(), 429, "capacity-exhausted")
        self.client.post(f"/v1/runs/{stream.header('x-run-id')}/cancel")


class AConversationCreatedAgain(ServerTest):
    def test_I19_is_the_same_conversation(self):
        key = fresh_key()
        first = self.client.post("/v1/conversations", {"title": "Once"}, key)
        again = self.client.post("/v1/conversations", {"title": "Once"}, key)
        self.assertEqual((first.status, again.status), (201, 201))
        self.assertEqual(again.body, first.body)
        self.assertEqual((first.header("idempotency-replayed"), again.header("idempotency-replayed")), (None, "true"))
        self.assertEqual(again.header("location"), first.header("location"))

    def test_I19_I2_with_a_first_message_replays_its_stream(self):
        key, body, copies = fresh_key(), {"title": "Both", "initial_message": {"content": "say hello"}}, []
        for _ in range(2):
            answer = self.client.open("POST", "/v1/conversations", body, key)
            with answer.connection:
                copies.append(list(answer.lines()))
        self.assertEqual(copies[0], copies[1])
        self.assertIn("conversation", json.loads(copies[1][0])["data"])
        self.assertEqual(answer.header("idempotency-replayed"), "true")

    def test_I19_another_body_is_a_conflict(self):
        key = fresh_key()
        self.client.post("/v1/conversations", {"title": "One"}, key)
        self.assert_problem(self.client.post("/v1/conversations", {"title": "Two"}, key),
                            422, "idempotency-key-conflict")

    def test_I19_racing_creations_make_one_conversation(self):
        key, ids, start = fresh_key(), [], threading.Barrier(6)

        def create():
            start.wait()
            ids.append(self.client.post("/v1/conversations", {"title": "Race", "user_id": "racer"}, key).json()["id"])

        racers = [threading.Thread(target=create) for _ in range(6)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(PATIENCE_S)
        self.assertEqual((len(ids), len(set(ids))), (6, 1))
        self.assertEqual(len(self.client.get("/v1/conversations?user_id=racer").json()["data"]), 1)

    def test_I19_another_key_holder_is_another_caller(self):
        key = fresh_key()
        mine = self.client.post("/v1/conversations", {"title": "Mine"}, key).json()
        tenant = self.server.bootstrap["tenant_id"]
        secret = self.admin.post(f"/v1/tenants/{tenant}/keys", {"name": "second"}).json()["secret"]
        theirs = self.server.client(secret).post("/v1/conversations", {"title": "Theirs"}, key)
        self.assertEqual(theirs.status, 201, theirs.body)
        self.assertNotEqual(theirs.json()["id"], mine["id"])


class AfterARestart(unittest.TestCase):
    def test_I19_a_key_is_still_known(self):
        server = Server()
        self.addCleanup(server.remove)
        client, key = server.start().client(), fresh_key()
        conversation = client.post("/v1/conversations", {}).json()["id"]
        lines = client.say(conversation, "tokens 9", headers=key)
        server.kill()
        again = server.start().client().send(conversation, "tokens 9", headers=key)
        with again.connection:
            self.assertEqual(again.header("idempotency-replayed"), "true")
            self.assertEqual(list(again.lines()), lines)


if __name__ == "__main__":
    unittest.main()
