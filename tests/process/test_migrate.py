"""An installation that is carried from one database to another and served from each: nothing in it is other than before,
and whatever waited for a human goes on there."""
import json
import unittest

from gate_fixture import Approver
from postgres import Postgres
from server_process import Server
from stream_grammar import check_stream
from test_files import form
from upkeep_fixture import messages, sluice, talk

SECRET = "mail-k3y-0123456789"


def lines_to_gate(lines):
    """Those of a stream up to the one that asks for a human, or all."""
    told = []
    for line in lines:
        told.append(line)
        if json.loads(line)["type"] == "approval_required":
            break
    return told


class Moves(unittest.TestCase):
    def setUp(self):
        self.postgres = Postgres(settings=["fsync=off"]).start()
        self.addCleanup(self.postgres.close)
        self.server = Server("--sandbox.driver", "off")
        self.addCleanup(self.server.remove)
        self.client = self.server.start().client()
        self.maxDiff = 4000
        self.place = f"sqlite:{self.server.data / 'sluice.db'}"
        self.conversations = [talk(self.client, "say hello\ntokens 50"), talk(self.client, "think hm\nsay Zoë, 東京 🎏")]
        talk(self.client, "say and again", self.conversations[0])
        agent = self.client.get("/v1/agents").json()["data"][0]["id"]
        rule = {"effect": "allow", "host": "mail.example", "secrets": ["MAIL_KEY"]}  # else it is not looked for
        self.assertEqual(self.client.patch(f"/v1/agents/{agent}", {"policy": [rule]}).status, 200)
        kept = self.client.request("PUT", "/v1/secrets", {"secrets": {"MAIL_KEY": SECRET}})
        self.assertEqual(kept.status, 200, kept.body)
        kind, body = form(("sales.csv", b"a,b\n1,2\n"))
        made = self.client.post("/api/assistant/files", body, kind)
        self.assertEqual(made.status, 201, made.body)
        self.file = made.json()["files"][0]["url"]
        self.parked = [self.park() for _ in range(3)]

    def park(self):
        """(message, approval) of a run that waits for a human."""
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        self.conversations.append(conversation)
        stream = self.client.send(conversation, "say before\nask May I?\nsay after")
        with stream.connection:
            event = json.loads(lines_to_gate(stream.lines())[-1])
        self.assertEqual(event["type"], "approval_required", event)
        return event["message_id"], event["data"]["id"]

    def told(self, message):
        """A stream from its position 0, byte for byte: to its end, or to where it waits."""
        stream = self.client.open("GET", f"/v1/messages/{message}/events")
        with stream.connection:
            self.assertEqual(stream.status, 200)
            is_waiting = message in [waiting for waiting, _ in self.parked]
            return lines_to_gate(stream.lines()) if is_waiting else list(stream.lines())

    def picture(self):
        """All that callers can see."""
        said = {conversation: messages(self.client, conversation) for conversation in self.conversations}
        answers = {m["id"] for told in said.values() for m in told if m["role"] == "assistant"}
        answers |= {message for message, _ in self.parked}
        shown = {}
        for path in ("/v1/secrets", "/v1/runs?limit=100", "/v1/approvals?limit=100", "/v1/agents", self.file):
            answer = self.client.get(path)
            self.assertEqual(answer.status, 200, answer.body)
            shown[path] = answer.body
        self.assertEqual(shown[self.file], b"a,b\n1,2\n")
        return {"said": said, "streams": {message: self.told(message) for message in answers}, "shown": shown}

    def run_sluice(self, *words):
        code, out, err = sluice(*words)
        self.assertEqual(code, 0, out + err)

    def move_to(self, place, by):
        """Carries the store elsewhere, empties the place where it was, and serves the other."""
        before = self.picture()
        self.server.stop()
        if by == "migrate":
            self.run_sluice("store", "migrate", self.place, place)
        else:
            file = self.server.home / "store.export"
            self.run_sluice("store", "export", file, "--data", self.server.data, "--store", self.place)
            self.run_sluice("store", "import", file, "--data", self.server.data, "--store", place)
        self.empty(self.place)
        self.run_sluice("store", "verify", "--data", self.server.data, "--store", place)
        self.place, self.server.flags = place, ["--store", place]
        self.client = self.server.start().client()
        self.assertEqual(self.picture(), before)

    def empty(self, place):
        if place.startswith("sqlite:"):
            for file in self.server.home.rglob("*.db*"):
                file.unlink()
        else:
            self.postgres.psql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def decide_one(self):
        """One that was parked before the move goes on after it, where it had stopped."""
        message, approval = self.parked[-1]
        before = self.told(message)
        self.parked.pop()
        signature = Approver.of(self.server).signature(approval)
        decided = self.client.post(f"/v1/approvals/{approval}/approve", {"signature": signature})
        self.assertEqual(decided.status, 200, decided.body)
        whole = self.client.events(message)
        self.assertEqual(whole[:len(before)], before)
        end = check_stream(whole)[-1]
        self.assertEqual((end["type"], end["data"]["message"]["content"]), ("message_end", "before\nafter"))

    def assert_alive(self):
        """What was carried over is not only shown: talked with, and the vault's secrets opened."""
        self.decide_one()
        talk(self.client, f"say it is {SECRET}.", self.conversations[1])
        self.assertEqual(messages(self.client, self.conversations[1])[-1]["content"], "it is {{secret:MAIL_KEY}}.")

    def test_a_migration_from_sqlite_to_postgresql_and_back_keeps_everything_and_runs_continue(self):
        self.move_to(self.postgres.url, "migrate")
        self.assert_alive()
        self.move_to(f"sqlite:{self.server.home / 'back.db'}", "migrate")
        self.assert_alive()
        self.move_to(self.postgres.create_database("again"), "export")
        self.assert_alive()


if __name__ == "__main__":
    unittest.main()
