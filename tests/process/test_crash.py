"""SIGKILL at random moments under load: no event or response that a client received is lost.

SLUICE_CRASH_ROUNDS (10) and SLUICE_CRASH_SEED choose how long and which story; the seed is printed.
"""
import json
import os
import random
import sys
import threading
import time
import unittest

from http_client import PATIENCE_S, Truncated
from ports import lasting_port
from server_process import Server
from stream_grammar import NotAStream, check_stream, message_bytes

ROUNDS = int(os.environ.get("SLUICE_CRASH_ROUNDS", "10"))
SEED = int(os.environ.get("SLUICE_CRASH_SEED", str(time.time_ns() % 1_000_000)))
CLIENTS = 8
GONE = (ConnectionError, TimeoutError, Truncated, OSError)


class Sent:
    """One message as its sender remembers it."""

    def __init__(self, conversation, content, expected):
        self.conversation, self.content, self.expected = conversation, content, expected
        self.accepted = False  # the sender saw an event, or the 201
        self.refused = False   # the sender saw a problem: nothing may have happened
        self.lines = []        # raw, as they came
        self.answer = None     # the 201's body


class Ledger:
    """What all clients know, and how many lines they have seen together."""

    def __init__(self):
        self.sent, self.line_count, self.changed = [], 0, threading.Condition()

    def note(self, entry):
        with self.changed:
            self.sent.append(entry)

    def count_line(self):
        with self.changed:
            self.line_count += 1
            self.changed.notify_all()

    def wait_for_lines(self, count, patience_s=4 * PATIENCE_S):
        with self.changed:
            target = self.line_count + count
            if not self.changed.wait_for(lambda: self.line_count >= target, patience_s):
                raise AssertionError(f"only {self.line_count} lines of {target} within {patience_s} s")


class Sender(threading.Thread):
    """Sends message after message in conversations of its own until the server is gone."""

    def __init__(self, client, ledger, seed):
        super().__init__(daemon=True)
        self.client, self.ledger, self.random = client, ledger, random.Random(seed)
        self.stopped = threading.Event()
        self.failure = None

    def run(self):
        try:
            conversation = None
            while not self.stopped.is_set():
                if conversation is None or self.random.random() < 0.2:
                    conversation = self.client.post("/v1/conversations", {}).json()["id"]
                if not self.send(conversation):
                    conversation = None
        except GONE:
            pass  # the server was killed; that is the point
        except Exception as why:  # pylint: disable=broad-except
            self.failure = why

    def send(self, conversation):
        """One message. False: its run may go on without us, so the conversation is busy."""
        entry = self.compose(conversation)
        self.ledger.note(entry)
        if self.random.random() < 0.15:
            return self.send_blocking(entry)
        answer = self.client.send(entry.conversation, entry.content)
        with answer.connection:
            if answer.status != 200:
                entry.refused = True
                raise AssertionError(f"{answer.status} {answer.body[:300]!r}")
            leave_after = self.random.randrange(1, 30) if self.random.random() < 0.25 else None
            for line in answer.lines():
                entry.lines.append(line)
                entry.accepted = True
                self.ledger.count_line()
                if leave_after is not None and len(entry.lines) >= leave_after:
                    return False
        return True

    def send_blocking(self, entry):
        answer = self.client.post(f"/v1/conversations/{entry.conversation}/messages?stream=false",
                                  {"content": entry.content})
        if answer.status != 201:
            raise AssertionError(f"{answer.status} {answer.body[:300]!r}")
        entry.accepted, entry.answer = True, answer.body.strip()
        return True

    def compose(self, conversation):
        mark = f"{self.random.getrandbits(48):012x}"
        if self.random.random() < 0.3:
            return Sent(conversation, f"plain {mark}", f"You said: plain {mark}")
        count = self.random.choice((1, 5, 40, 200))
        rate = self.random.choice((50, 200, 1000, None))
        if rate is not None:
            count = min(count, rate)
        words = " ".join(f"w{i}" for i in range(1, count + 1))
        directive = f"tokens {count}" + (f" {rate}" if rate else "")
        return Sent(conversation, f"{directive}\nsay {mark}", f"{words}\n{mark}")


class ACrash(unittest.TestCase):
    def setUp(self):
        print(f"crash test: seed {SEED}, {ROUNDS} rounds", file=sys.stderr, flush=True)
        self.random = random.Random(SEED)
        # Clients must not meet a server of another test where this one was.
        self.server = Server("--sandbox.driver", "off", listen=f"127.0.0.1:{lasting_port()}")
        self.addCleanup(self.server.remove)
        self.ledger = Ledger()

    def load_until_killed(self):
        """Clients at work; then, in the middle of it, the end."""
        client = self.server.client()
        senders = [Sender(client, self.ledger, self.random.random()) for _ in range(CLIENTS)]
        for sender in senders:
            sender.start()
        self.ledger.wait_for_lines(self.random.randrange(1, 3000))
        self.server.kill()
        for sender in senders:
            sender.stopped.set()
            sender.join(PATIENCE_S)
            self.assertFalse(sender.is_alive(), "a client hangs although its server is dead")
            if sender.failure:
                raise sender.failure

    def verify(self, entries):
        client = self.server.client()
        by_conversation = {}
        for entry in entries:
            by_conversation.setdefault(entry.conversation, []).append(entry)
        for conversation, sent in by_conversation.items():
            self.verify_conversation(client, conversation, sent)
        return by_conversation

    def verify_conversation(self, client, conversation, sent):
        listed = list_messages(client, conversation)
        asked = [m for m in listed if m["role"] == "user"]
        for entry in sent:
            copies = [m for m in asked if m["content"] == entry.content]
            if entry.accepted:
                self.assertEqual(len(copies), 1, f"an accepted message is lost or doubled: {entry.content!r}")
            else:
                self.assertLessEqual(len(copies), 0 if entry.refused else 1, entry.content)
            if copies:
                self.verify_answer(client, conversation, entry, answer_to(listed, copies[0]))

    def verify_answer(self, client, conversation, entry, answering):
        try:
            lines = client.events(answering["id"])
            events = check_stream(lines)
        except NotAStream as why:
            raise AssertionError(f"the stream of {answering['id']} is broken: {why}") from why
        self.assertEqual(lines[:len(entry.lines)], entry.lines, "a reader was told something else")
        self.assertEqual(events[-1]["type"], "message_end", f"an offline run was not finished: {lines[-1]!r}")
        self.assertEqual(events[-1]["data"]["message"]["content"], entry.expected)
        stored = client.get(f"/v1/messages/{answering['id']}").body.strip()
        self.assertEqual(message_bytes(lines[-1]), stored)
        raw_list = client.get(f"/v1/conversations/{conversation}/messages?limit=100").body
        self.assertIn(stored, raw_list)
        if entry.answer is not None:
            self.assertEqual(stored, entry.answer)

    def verify_nothing_is_stuck(self, conversations):
        """Each conversation whose runs have ended takes a message at once."""
        client = self.server.client()
        for conversation in conversations:
            events = check_stream(client.say(conversation, "say going on"))
            self.assertEqual(events[-1]["type"], "message_end")

    def test_I8_a_crash_loses_no_event_that_a_client_received(self):
        verified = 0
        self.server.start()
        for _ in range(ROUNDS):
            self.load_until_killed()
            self.server.start()
            for _ in range(self.random.choice((0, 0, 1, 2))):
                self.server.kill()  # in the middle of recovery, perhaps
                self.server.start()
            touched = self.verify(self.ledger.sent[verified:])
            self.verify_nothing_is_stuck(list(touched)[-CLIENTS:])
            verified = len(self.ledger.sent)
        self.verify(self.ledger.sent)
        accepted = sum(entry.accepted for entry in self.ledger.sent)
        cut = sum(entry.accepted and not entry.answer and b'"message_end"' not in entry.lines[-1]
                  for entry in self.ledger.sent)
        print(f"crash test: {len(self.ledger.sent)} sent, {accepted} accepted, {cut} streams cut, "
              f"{self.ledger.line_count} lines", file=sys.stderr)
        self.assertGreater(cut, 0, "no stream was cut: the test proved nothing")


def list_messages(client, conversation):
    rows, cursor = [], ""
    while True:
        page = client.get(f"/v1/conversations/{conversation}/messages?limit=100{cursor}").json()
        rows += page["data"]
        if not page["has_more"]:
            return rows
        cursor = f"&starting_after={page['next_cursor']}"


def answer_to(listed, asked):
    place = [m["id"] for m in listed].index(asked["id"])
    if place + 1 >= len(listed) or listed[place + 1]["role"] != "assistant":
        raise AssertionError(f"{asked['id']} has no answer: {json.dumps(listed[place:])[:500]}")
    return listed[place + 1]


if __name__ == "__main__":
    unittest.main()
