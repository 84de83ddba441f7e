"""Nodes that lose the store in the middle of what their agents do in sandboxes (I-8): what runs there stands still, and
resumes when the store answers again; or, where another node took the run meanwhile, is killed as it stands."""
import json
import os
import pathlib
import signal
import threading
import time
import unittest

from http_client import PATIENCE_S
from nodes_fixture import NodesTest, start_postgres
from server_process import wait_until
from test_hands import alive, box_processes

DEAD_MS = 3000  # more than a busy machine lets a node wait for its turn
TICKS = 200
LOOP = f"for i in $(seq {TICKS}); do echo $i $EPOCHREALTIME; echo $i >> ticks; sleep 0.05; done"

# An agent of the Agent Client Protocol whose answer is a tick now and then.
AGENT = """
import json, sys, time
def send(**what): print(json.dumps({"jsonrpc": "2.0", **what}), flush=True)
def say(text): send(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": text}}})
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize": send(id=asked["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif asked.get("method") == "session/new": send(id=asked["id"], result={"sessionId": "s"})
    elif asked.get("method") == "session/prompt":
        for i in range(1, TICKS + 1):
            say(f"{i} {time.time():.6f}\\n")
            time.sleep(0.05)
        send(id=asked["id"], result={"stopReason": "end_turn"})
    elif "id" in asked: send(id=asked["id"], result={})
""".replace("TICKS", str(TICKS))


def setUpModule():
    start_postgres()


def stands_still(pid):
    """Whether a shell is stopped. One that waits for a child to exec cannot become so before the child does: then the
    child is. Without a child it waits for the disk, and goes on by itself."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return False
    return state == "T" or (state == "D" and any(stands_still(child) for child in children))


class Stream(threading.Thread):
    """Reads a run's stream to its end, and keeps the times of its ticks."""

    def __init__(self, client, conversation, message):
        super().__init__(daemon=True)
        self.answer = client.send(conversation, message, query="?detail=full", patience_s=4 * PATIENCE_S)
        self.run_id = self.answer.header("x-run-id")
        self.lines, self.fault = [], None
        self.start()

    def run(self):
        try:
            with self.answer.connection:
                for line in self.answer.lines():
                    self.lines.append(line)
        except Exception as fault:  # raised by the thread that joins
            self.fault = fault

    def text(self):
        told = [json.loads(line) for line in list(self.lines)]
        return "".join(e["data"]["text"] for e in told if e["type"] in ("output", "content_delta"))

    def ticks(self):
        """(number, time) of each."""
        whole = [line.split() for line in self.text().split("\n")[:-1]]
        return [(int(number), float(when)) for number, when in whole]

    def end(self):
        self.join(4 * PATIENCE_S)
        if self.fault or self.is_alive():
            raise AssertionError(f"the stream did not end: {self.fault}\n{self.lines[-3:]}")
        return json.loads(self.lines[-1])


def metric(node, name):
    figures = node.admin().get("/metrics").body.decode()
    return next(int(float(line.split()[-1])) for line in figures.splitlines() if line.startswith(name + " "))


class SandboxNodes(NodesTest):
    flags = ("--sandbox.driver", "namespaces", "--node.dead_ms", str(DEAD_MS))

    def tick(self, node, **fields):
        client = node.client()
        stream = Stream(client, self.conversation(client, **fields), "$ " + LOOP)
        wait_until(lambda: len(stream.ticks()) > 3, "the loop is at work")
        return stream

    def expect_all_ticks(self, stream, still_from, still_to):
        self.assertEqual(stream.end()["type"], "message_end", stream.lines[-1])
        self.assertEqual([json.loads(line)["seq"] for line in stream.lines], list(range(len(stream.lines))))
        ticks = stream.ticks()
        self.assertEqual([number for number, _ in ticks], list(range(1, TICKS + 1)), "none is lost and none is doubled")
        early = [when for _, when in ticks if still_from < when < still_to]
        self.assertEqual(early, [], "nothing went on while it was suspended")
        self.assertGreater(ticks[-1][1], still_to)


class APausedDatabase(SandboxNodes):
    def agent(self):
        answer = self.client.post("/v1/agents", {"name": "ticker", "agent_type": "acp",
                                                 "command": ["python3", "-c", AGENT]})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["id"]

    def program(self, node):
        client = node.client()
        stream = Stream(client, self.conversation(client, agent_id=self.agent_id), "tick")
        wait_until(lambda: len(stream.ticks()) > 3, f"the program is at work: {stream.lines}")
        return stream

    def test_no_working_agent_ends_and_none_continues_before_the_database_answers(self):
        self.agent_id = self.agent()
        streams = [self.tick(node) for node in self.nodes] + [self.program(self.nodes[0])]
        logs = [node.log().count("runs suspended") for node in self.nodes]
        stopped = self.postgres.pids()
        began = time.monotonic()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            for node, before in zip(self.nodes, logs):
                wait_until(lambda n=node, b=before: n.log().count("runs suspended") > b, "the node suspends its runs")
            still_from = time.time() + 0.5  # the order is on its way to the sandboxes
            wait_until(lambda: time.monotonic() > began + 3 * DEAD_MS / 1000, "three times as long as a node may be silent")
            for node in self.nodes:
                self.assertGreaterEqual(metric(node, "sluice_runs_suspended"), 1)
                self.assertEqual(node.client().get("/healthz").status, 200)
            still_to = time.time()
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        for stream in streams:
            self.expect_all_ticks(stream, still_from, still_to)
        for node in self.nodes:
            self.assertEqual(metric(node, "sluice_runs_suspended"), 0)
            self.assertEqual(metric(node, "sluice_runs_taken_over_total"), 0)


class ANodeThatLosesTheStoreAlone(SandboxNodes):
    """It has a role of its own, which the database turns away."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.postgres.psql("CREATE ROLE lonely SUPERUSER LOGIN")

    def setUp(self):
        whole = self.url
        type(self).nodes = [node for node in self.nodes if node.alive()]
        while len(self.nodes) < 2:
            type(self).url = whole if not self.nodes else whole.replace("//sluice@", "//lonely@")
            self.add_node()
        type(self).url = whole
        super().setUp()
        self.addCleanup(self.mend)

    def cut(self):
        self.postgres.psql("ALTER ROLE lonely NOLOGIN")
        self.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lonely'")

    def mend(self):
        self.postgres.psql("ALTER ROLE lonely LOGIN")

    @staticmethod
    def loopers(node):
        found = []
        for pid in box_processes(node.process.pid):
            try:
                if b"EPOCHREALTIME" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue
        return found

    def test_never_acts_again_on_a_run_that_the_other_one_took(self):
        other, lonely = self.nodes
        stream = self.tick(lonely)
        shell = self.loopers(lonely)[0]  # its children come after it
        self.cut()
        wait_until(lambda: stands_still(shell), "its loop is stopped")
        done = pathlib.Path(f"/proc/{shell}/root/workspace/ticks").read_text()
        self.wait_for_state(other.client(), stream.run_id, "failed")
        self.assertTrue(stands_still(shell))
        self.assertEqual(pathlib.Path(f"/proc/{shell}/root/workspace/ticks").read_text(), done)
        self.mend()
        wait_until(lambda: not alive(shell), "its sandbox is gone")
        self.assertEqual(stream.end()["type"], "error")
        self.assertIn(b"run-interrupted", stream.lines[-1])
        ticks = stream.ticks()
        self.assertLessEqual(ticks[-1][0], int(done.split()[-1]) + 1)
        self.assertIn("run is carried on by another server", lonely.log())
        wait_until(lambda: lonely.client().get("/readyz").status == 200, "it takes messages again", 2 * PATIENCE_S)
        answer = lonely.client().say(self.conversation(lonely.client()), "$ echo works again\nsay {{last}}",
                                     patience_s=4 * PATIENCE_S)
        self.assertIn(b"works again", answer[-1])

    def test_a_suspended_server_that_gets_SIGTERM_stops_in_time(self):
        _, lonely = self.nodes
        self.tick(lonely)
        loopers = self.loopers(lonely)
        self.cut()
        wait_until(lambda: "runs suspended" in lonely.log(), "it suspends its run")
        lonely.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not lonely.alive(), "it ends", 2 * PATIENCE_S)
        wait_until(lambda: not any(alive(pid) for pid in loopers), "its sandbox is gone")


if __name__ == "__main__":
    unittest.main()
