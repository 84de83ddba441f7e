"""The inspector finds what it is there to find: a world that is told as it should be, and the same with one lie."""
import json
import pathlib
import sqlite3
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "process"))

import leaks  # noqa: E402
from ledger import Ledger, Sent, Strike  # noqa: E402
from outcomes import Inspector  # noqa: E402
from server_process import Server  # noqa: E402

CONVERSATION = "con_" + "0" * 26
QUESTION, ANSWER = "msg_" + "1" * 26, "msg_" + "2" * 26
APPROVAL = "apr_" + "3" * 26
AT = "2026-07-02T10:00:01.123Z"


def encode(value):
    return json.dumps(value, separators=(",", ":")).encode()


def message(name, role, content, status="completed"):
    return {"object": "message", "id": name, "conversation_id": CONVERSATION, "role": role, "content": content,
            "parts": [{"type": "text", "text": content}], "repository_id": None, "skill_ids": [], "env": None,
            "status": status, "usage": None, "created_at": AT}


def event(seq, kind, data):
    return encode({"object": "conversation.event", "type": kind, "conversation_id": CONVERSATION,
                   "message_id": ANSWER, "seq": seq, "data": data, "created_at": AT})


class Told(Inspector):
    """Asks a table instead of a server."""

    def __init__(self, ledger, listed, lines, approval="approved", stored=None, may_fail=(), strikes=None):
        super().__init__(self, ledger, self, 1, set(may_fail), strikes)
        self.listed, self.lines, self.approval = listed, lines, approval
        self.stored = stored if stored is not None else encode(listed[-1])

    keys = {"service_key": ""}

    def carriers(self, run):
        return {"node1"} if run == "run_1" else {"node1", "node2"}

    def through(self, key):
        return key

    def get(self, path):
        if path.startswith("/v1/conversations/"):
            return 200, encode({"data": self.listed, "has_more": False})
        if path.startswith("/v1/approvals/"):
            return 200, encode({"status": self.approval})
        if "/events" in path:
            first = int(path.split("after=")[1]) + 1 if "after=" in path else 0
            return 200, b"".join(line + b"\n" for line in self.lines[first:])
        return 200, self.stored


class Inspection(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger()
        self.entry = Sent("text", CONVERSATION, "say hello there", "hello there")
        self.entry.attempts, self.entry.accepted, self.entry.message_ids = 1, True, {ANSWER}
        self.listed = [message(QUESTION, "user", "say hello there"), message(ANSWER, "assistant", "hello there")]
        self.lines = [event(0, "message_start", {"role": "assistant"}), event(1, "content_delta", {"text": "hello "}),
                      event(2, "content_delta", {"text": "there"}),
                      event(3, "message_end", {"message": self.listed[1]})]
        self.entry.fragments = [(0, self.lines[:3]), (2, self.lines[2:])]

    def finds(self, words, **told):
        Told(self.ledger, self.listed, self.lines, **told).inspect(CONVERSATION, [self.entry])
        if words is None:
            self.assertEqual(self.ledger.violations, [])
        else:
            self.assertIn(words, "\n".join(self.ledger.violations))

    def test_I7_nothing_where_nothing_is_wrong(self):
        self.finds(None)
        self.assertGreater(self.ledger.counts["invariants checked"], 8)

    def test_I8_an_accepted_message_that_is_lost(self):
        self.listed = []
        self.finds("was accepted and is there 0 times", stored=b"")

    def test_I8_a_message_that_is_doubled(self):
        self.listed += self.listed
        self.finds("is there 2 times")

    def test_a_refused_message_that_is_there_all_the_same(self):
        self.entry.accepted, self.entry.message_ids, self.entry.refusals = False, set(), 1
        self.finds("was refused each time and is there")

    def test_a_question_without_an_answer(self):
        self.listed.pop()
        self.finds("has no outcome")

    def test_I7_a_gap_in_a_stream(self):
        del self.lines[1]
        self.finds("seq is not 1")

    def test_I7_something_after_the_end(self):
        self.lines.append(event(4, "content_delta", {"text": "more"}))
        self.finds("not the grammar")

    def test_I8_a_reader_who_was_told_something_else(self):
        self.entry.fragments[0] = (0, [self.lines[0], event(1, "content_delta", {"text": "hallo "})])
        self.finds("was told something else")

    def test_I9_an_end_that_is_not_the_stored_message(self):
        self.finds("message_end is not the stored message", stored=encode(message(ANSWER, "assistant", "hello")))

    def test_an_answer_that_is_not_what_was_asked_for(self):
        self.entry.expected = "hello here"
        self.finds("the answer is 'hello there'")

    def test_another_message_than_the_sender_was_told(self):
        self.entry.message_ids = {"msg_" + "9" * 26}
        self.finds("was told")

    def test_a_problem_that_nothing_excuses(self):
        self.listed[1]["status"] = "failed"
        self.lines[3] = event(3, "error", {"type": "https://x/problems/run-interrupted", "title": "t", "status": 500})
        self.entry.fragments = []
        self.finds("nothing that struck excuses")

    def ends_with(self, slug):
        """A run on node1 that lasted from 10 to 20 and ended badly."""
        self.listed[1]["status"] = "failed"
        self.lines[3] = event(3, "error", {"type": f"https://x/problems/{slug}", "title": "t", "status": 500})
        self.entry.fragments = []
        self.entry.kind, self.entry.run_id = "tool", "run_1"
        self.entry.began, self.entry.seen_to_end = 10, 20

    def finds_no_reason(self, slug, *strikes):
        self.finds(f"ended with {slug}, carried by ['node1'], and nothing", may_fail={"tool"}, strikes=strikes)
        self.ledger.violations.clear()

    def test_an_interruption_is_explained_by_what_struck_its_server_while_it_was_at_work(self):
        self.ends_with("run-interrupted")
        self.finds(None, may_fail={"tool"}, strikes=[Strike("server killed", 12, 15, {"node1"})])
        self.assertEqual(self.ledger.counts["run-interrupted beside: server killed"], 1)
        self.finds_no_reason("run-interrupted")

    def test_what_struck_another_server_explains_nothing(self):
        self.ends_with("run-interrupted")
        self.finds_no_reason("run-interrupted", Strike("server killed", 12, 15, {"node2"}))

    def test_what_struck_before_a_run_began_or_after_it_ended_explains_nothing(self):
        self.ends_with("run-interrupted")
        self.finds_no_reason("run-interrupted", Strike("server killed", 1, 9, {"node1"}),
                             Strike("server killed", 21, 30, {"node1"}))

    def test_a_fault_that_takes_no_work_away_explains_no_interruption(self):
        self.ends_with("run-interrupted")
        self.finds_no_reason("run-interrupted", Strike("clock put", 12, 15, {"node1"}), Strike("database killed", 12, 15))

    def test_an_unavailable_store_has_a_reason(self):
        self.ends_with("unavailable")
        self.finds(None, may_fail={"tool"}, strikes=[Strike("database killed", 12, 15)])
        self.finds_no_reason("unavailable", Strike("clock put", 12, 15, {"node1"}), Strike("disk full", 12, 15, {"node2"}))

    def test_files_that_were_not_handed_back_have_a_reason(self):
        self.ends_with("writeback-failed")
        self.finds(None, may_fail={"tool"}, strikes=[Strike("disk full", 12, 15, {"node1"})])
        self.finds_no_reason("writeback-failed", Strike("store kept busy", 12, 15, {"node1"}),
                             Strike("disk full", 12, 15, {"node2"}), Strike("database stopped", 21, 30))

    def test_I16_a_gate_that_was_decided_otherwise(self):
        self.entry.kind, self.entry.decided = "gate", [(APPROVAL, "deny")]
        gate = {"object": "approval", "id": APPROVAL, "status": "pending"}
        self.lines = [self.lines[0], event(1, "approval_required", gate),
                      event(2, "resumed", {"approval_id": APPROVAL, "decision": "approved"}),
                      event(3, "content_delta", {"text": "hello there"}),
                      event(4, "message_end", {"message": self.listed[1]})]
        self.entry.fragments = []
        self.finds("was decided as denied and is approved")
        self.entry.decided.append((APPROVAL, "approve"))
        self.finds("was decided as {")


class Rows(unittest.TestCase):
    def test_one_that_is_left_over_is_found(self):
        server = Server("--sandbox.driver", "off")
        self.addCleanup(server.remove)
        server.start()
        world = types.SimpleNamespace(nodes=[server], database=None)
        rows, faults = leaks.look_through(world)
        self.assertGreater(rows, 3)
        self.assertEqual(faults, [])
        with sqlite3.connect(server.data / "sluice.db", timeout=30) as store:
            store.execute("INSERT INTO workflow_events VALUES (77, 1, '{}')")
        store.close()
        self.assertIn("workflow_events run 77: its run is not in workflow_runs", leaks.look_through(world)[1])


if __name__ == "__main__":
    unittest.main()
