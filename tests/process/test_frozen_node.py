"""A node that freezes in the middle of a transaction, as a stopped process or a machine without power does, keeps what it
has locked in the database. The other nodes go on within seconds, whether it ever wakes or not (I-8, I-9)."""
import json
import threading
import time
import unittest

from http_client import PATIENCE_S, Truncated
from nodes_fixture import Node, NodesTest, start_postgres
from server_process import wait_until
from stream_grammar import check_stream

QUICK_S = 10 * PATIENCE_S / 30  # within which what waited is answered
DEAD_MS = int(3_000 * PATIENCE_S / 30)
IDLE_IN_TRANSACTION_MS = 5_000  # after which the database ends a session by itself (store/pg_bounds.h)
IN_TRANSACTION = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND state = 'idle in transaction'"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'"


def setUpModule():
    start_postgres()


class Watched:
    """A stream that is read all the time, and the longest silence in it."""

    def __init__(self, stream):
        self.stream, self.lines, self.longest_s = stream, [], 0.0
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        last = time.monotonic()
        try:
            for line in self.stream.lines():
                now = time.monotonic()
                self.longest_s, last = max(self.longest_s, now - last), now
                self.lines.append(line)
        except (OSError, Truncated):
            pass  # what is missing is seen in the lines

    def end(self):
        self.thread.join(2 * PATIENCE_S)
        return self.lines


class AFrozenNode(NodesTest):
    """The first node freezes, and the other one takes it for dead."""

    flags = ("--node.beat_ms", "500", "--node.dead_ms", str(DEAD_MS))

    def setUp(self):
        self.frozen, self.living = self.add_node(), self.add_node()
        self.addCleanup(self.living.kill)
        self.addCleanup(self.frozen.kill)
        self.addCleanup(self.frozen.thaw)
        self.a, self.b = self.frozen.client(), self.living.client()
        self.client = self.b
        self.database = type(self).__name__.lower()

    def freeze_in_a_transaction(self, conversation):
        """While it has looked at what a message needs, and has not committed. The answer to the message comes when it
        wakes."""
        answers = []

        def send():
            try:
                answers.append(self.a.post(f"/v1/conversations/{conversation}/messages?stream=false",
                                           {"content": "say late", "secrets": {"A_KEY": "0123456789"}},
                                           patience_s=4 * PATIENCE_S))
            except (OSError, Truncated):
                pass  # it was killed
        with self.postgres.hold("BEGIN; SELECT id FROM conversations FOR UPDATE;", self.database):
            sender = threading.Thread(target=send)
            sender.start()
            wait_until(lambda: self.postgres.psql(WAITING.format(self.database)) != "0", "the message waits for the row")
            self.frozen.freeze()
        wait_until(lambda: self.postgres.psql(IN_TRANSACTION.format(self.database)) == "1", "its transaction waits for the frozen node")
        return sender, answers

    def expect_the_other_goes_on(self, conversation):
        """Records, secrets, which are in the audit chain, and messages."""
        asked = {"agent": lambda: self.b.post("/v1/agents", {"name": conversation}),
                 "secret": lambda: self.b.request("PUT", f"/v1/conversations/{conversation}/secrets",
                                                  {"secrets": {"A_KEY": "0123456789"}}),
                 "message": lambda: self.b.post(f"/v1/conversations/{conversation}/messages?stream=false",
                                                {"content": "say hi"})}
        answers, began = {}, time.monotonic()

        def ask(name):
            answer = asked[name]()
            answers[name] = (answer.status, time.monotonic() - began)
        threads = [threading.Thread(target=ask, args=(name,)) for name in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(4 * PATIENCE_S)
        self.assertEqual(set(answers), set(asked), "all are answered")
        for name, (status, waited_s) in answers.items():
            self.assertIn(status, (200, 201, 204), answers)
            self.assertLess(waited_s, QUICK_S, name)

    def how_it_ended(self):
        # Servers with a sanitizer are slow, and are given so much time that the database is first.
        return "administrator command" if DEAD_MS < IDLE_IN_TRANSACTION_MS else "idle-in-transaction timeout"

    def go_through(self):
        here, there = self.conversation(self.a), self.conversation(self.b)
        watched = Watched(self.opened(self.b.send(self.conversation(self.b), "tokens 400 20", patience_s=4 * PATIENCE_S)))
        wait_until(lambda: watched.lines, "the stream has begun")
        sender, answers = self.freeze_in_a_transaction(here)
        self.expect_the_other_goes_on(there)
        # The others may have needed nothing that the session had locked, and then its end comes after their answers.
        wait_until(lambda: any("terminating connection due to" in line and self.how_it_ended() in line for line in self.postgres.log),
                   "the session of the frozen node is ended")
        wait_until(lambda: self.b.get("/readyz").status == 200, "the other one is ready")
        return here, watched, sender, answers

    def expect_a_whole_stream(self, watched):
        lines = watched.end()
        self.assertLess(watched.longest_s, QUICK_S)
        events = check_stream(lines)
        self.assertEqual(events[-1]["type"], "message_end")
        deltas = [event["data"]["text"] for event in events if event["type"] == "content_delta"]
        self.assertEqual("".join(deltas), " ".join(f"w{number}" for number in range(1, 401)))
        self.assertEqual(self.b.events(events[0]["message_id"]), lines)

    def said(self, conversation):
        listed = self.b.get(f"/v1/conversations/{conversation}/messages").json()["data"]
        return [message["content"] for message in listed if message["role"] == "user"]

    def test_a_node_that_never_wakes_keeps_no_client_waiting(self):
        here, watched, sender, _ = self.go_through()
        self.expect_a_whole_stream(watched)
        self.assertEqual(self.said(here), [], "what it had not committed is undone")
        check_stream(self.b.say(here, "say hi"))
        self.frozen.kill()
        sender.join(2 * PATIENCE_S)

    def test_that_wakes_later_notices_and_loses_and_doubles_nothing(self):
        here, watched, sender, answers = self.go_through()
        self.frozen.thaw()
        sender.join(4 * PATIENCE_S)
        self.expect_a_whole_stream(watched)
        self.assertEqual(len(answers), 1)
        self.assertIn(answers[0].status, (201, 503), answers[0].body)
        # A run whose outcome is unknown may be listed.
        kept = [["say late"]] if answers[0].status == 201 else [[], ["say late"]]
        self.assertIn(self.said(here), kept)
        wait_until(lambda: self.a.get("/readyz").status == 200, "it is ready again", 2 * PATIENCE_S)
        answer = wait_until(lambda: (a := self.a.post(f"/v1/conversations/{self.conversation(self.b)}/messages?stream=false",
                                                      {"content": "say awake"})).status != 503 and a,
                            "it takes messages again")
        self.assertEqual(answer.status, 201, answer.body)


class AFrozenNodeThatNobodyTakesForDead(AFrozenNode):
    """The database ends its sessions by itself."""

    flags = ("--node.dead_ms", str(int(10_000 * PATIENCE_S)))

    def how_it_ended(self):
        return "idle-in-transaction timeout"


if __name__ == "__main__":
    unittest.main()
