"""Several servers on one PostgreSQL, through their public interface: any of them accepts, shows, decides and cancels any
run (I-8, I-14, I-19, A-3), and none of them is needed by the others."""
import json
import threading
import time
import unittest

from assistant_fixture import frames
from http_client import PATIENCE_S, Truncated
from nodes_fixture import Node, NodesTest, start_postgres
from provider_emulator import Answer, Emulator
from server_process import wait_until
from stream_grammar import check_stream, text_of
from workflow_fixture import agents, edges

# Where no node dies, none is taken for dead because the machine has much to do.
NOBODY_DIES = ("--node.dead_ms", str(int(10_000 * PATIENCE_S)))


def setUpModule():
    start_postgres()


def lines_until(stream, kind):
    """The raw lines up to the first event of this type, and the iterator that has the rest."""
    lines, rest = [], stream.lines()
    for line in rest:
        lines.append(line)
        if json.loads(line)["type"] == kind:
            return lines, rest
    raise AssertionError(f"no {kind}: {lines}")


class Readers(NodesTest):
    def read(self, client, message, after=""):
        return self.opened(client.open("GET", f"/v1/messages/{message}/events{after}", patience_s=4 * PATIENCE_S))


class TwoNodes(Readers):
    flags = NOBODY_DIES

    def test_I8_I9_a_live_stream_is_the_same_on_every_node(self):
        here, there = self.clients()
        stream = self.opened(here.send(self.conversation(), "tokens 40 50", patience_s=2 * PATIENCE_S))
        first, rest = lines_until(stream, "content_delta")
        elsewhere = self.read(there, json.loads(first[0])["message_id"])
        told_there = list(elsewhere.lines())
        told_here = first + list(rest)
        self.assertEqual(told_there, told_here)
        events = check_stream(told_here)
        listed = there.get(f"/v1/conversations/{events[0]['conversation_id']}/messages").json()["data"]
        self.assertIn(events[-1]["data"]["message"], listed)
        again = self.read(there, events[0]["message_id"], "?after=20")
        self.assertEqual(list(again.lines()), told_here[21:])

    def test_I20_a_caller_that_waits_may_ask_any_node_and_history_is_one(self):
        here, there = self.clients()
        conversation = self.conversation(here)
        answer = there.post(f"/v1/conversations/{conversation}/messages?stream=false", {"content": "say there"})
        self.assertEqual(answer.status, 201, answer.body)
        self.assertEqual(here.get(f"/v1/conversations/{conversation}/messages").json()["data"],
                         there.get(f"/v1/conversations/{conversation}/messages").json()["data"])

    def test_A3_one_message_is_in_flight_on_all_nodes_together(self):
        here, there = self.clients()
        conversation = self.conversation()
        stream = self.opened(here.send(conversation, "say in\nhang"))
        lines_until(stream, "content_delta")
        answer = there.post(f"/v1/conversations/{conversation}/messages", {"content": "say second"})
        self.assertEqual(answer.status, 409, answer.body)
        self.assertEqual(there.post(f"/v1/runs/{stream.header('x-run-id')}/cancel").status, 200)
        self.assertEqual(check_stream(there.say(conversation, "say second"))[-1]["type"], "message_end")

    def test_I19_the_same_key_at_two_nodes_at_once_is_one_run(self):
        conversation = self.conversation()
        told = [None, None]

        def send(index, client):
            told[index] = client.say(conversation, "tokens 5 50", headers={"Idempotency-Key": "twice"})

        threads = [threading.Thread(target=send, args=pair) for pair in enumerate(self.clients())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
        self.assertEqual(told[0], told[1])
        check_stream(told[0])
        messages = self.client.get(f"/v1/conversations/{conversation}/messages").json()["data"]
        self.assertEqual(len(messages), 2)

    def test_a_run_is_cancelled_through_another_node(self):
        here, there = self.clients()
        stream = self.opened(here.send(self.conversation(), "say in\nhang"))
        first, rest = lines_until(stream, "content_delta")
        answer = there.post(f"/v1/runs/{stream.header('x-run-id')}/cancel")
        self.assertEqual((answer.status, answer.json()["state"]), (200, "cancelled"), answer.body)
        self.assertEqual(check_stream(first + list(rest))[-1]["type"], "error")

    def test_I14_I15_I16_a_decision_counts_at_any_node_and_once(self):
        here, there = self.clients()
        stream = self.opened(here.send(self.conversation(), "say before\nask May I?\nsay after",
                                       patience_s=2 * PATIENCE_S))
        first, rest = lines_until(stream, "approval_required")
        approval = json.loads(first[-1])["data"]["id"]
        self.assertEqual(there.get(f"/v1/approvals/{approval}").json()["status"], "pending")
        statuses = []

        def decide(client):
            signature = self.approver.signature(approval, "approve")
            statuses.append(client.post(f"/v1/approvals/{approval}/approve", {"signature": signature}).status)

        threads = [threading.Thread(target=decide, args=[client]) for client in (there, here, there)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
        self.assertEqual(statuses, [200, 200, 200], "whoever says the same again is told the same")
        denied = here.post(f"/v1/approvals/{approval}/deny", {"signature": self.approver.signature(approval, "deny")})
        self.assertEqual(denied.status, 409, denied.body)
        events = check_stream(first + list(rest))
        self.assertEqual([e["type"] for e in events if e["type"] in ("resumed", "message_end")], ["resumed", "message_end"])


class DyingNodes(Readers):
    """That a dead node's runs are with others within two seconds is proved in simulated time (src/engine/nodes_test.cc),
    where no other work of the machine can delay it. The answers here are a provider's, which falls silent in the middle
    of the first one: so the run is under way when its node is struck, however long that takes, and ends soon after."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.provider = Emulator()
        cls.addClassCleanup(cls.provider.close)
        cls.flags = ("--providers.openai-chat.base_url", cls.provider.url + "/v1")

    def begin(self, here, there):
        """A message whose provider is silent after five words: its lines so far and those to come at the one node, and an
        iterator over the same lines at the other. Whoever asks the provider again is told the rest."""
        self.provider.play(Answer(texts=tuple(f"w{i} " for i in range(5)), silent_after=5),
                           Answer(texts=tuple(f"w{i} " for i in range(5, 100))))
        agent = here.post("/v1/agents", {"name": self.id(), "model": {"provider": "openai-chat", "name": "m"}}).json()["id"]
        stream = self.opened(here.send(self.conversation(agent_id=agent), "Count.", patience_s=4 * PATIENCE_S))
        rest = stream.lines()
        first = [next(rest)]
        while b"w4 " not in first[-1]:
            first.append(next(rest))
        elsewhere = self.read(there, json.loads(first[0])["message_id"]).lines()
        self.assertEqual([next(elsewhere) for _ in first], first)
        return first, rest, elsewhere

    def assert_whole(self, lines):
        events = check_stream(lines)
        self.assertEqual(events[-1]["type"], "message_end")
        self.assertEqual(text_of(events), "".join(f"w{i} " for i in range(100)))
        return events

    def test_I8_the_death_of_a_node_is_not_the_end_of_its_runs(self):
        here, there = self.clients()
        first, rest, elsewhere = self.begin(here, there)
        self.nodes[0].kill()
        told_there = first + list(elsewhere)
        told_here = list(first)
        try:
            told_here += list(rest)
        except (Truncated, ConnectionError):
            pass
        events = self.assert_whole(told_there)
        self.assertEqual(told_here, told_there[:len(told_here)])
        self.assertIn(events[-1]["data"]["message"],
                      there.get(f"/v1/conversations/{events[0]['conversation_id']}/messages").json()["data"])

    def test_a_node_that_wakes_up_late_is_fenced_out_and_its_readers_miss_nothing(self):
        here, there = self.clients()
        first, rest, elsewhere = self.begin(here, there)
        self.addCleanup(self.nodes[0].thaw)
        self.nodes[0].freeze()
        told_there = list(elsewhere)
        self.nodes[0].thaw()
        self.assertEqual(list(rest), told_there)
        self.assert_whole(first + told_there)
        wait_until(lambda: self.carried(self.nodes[0]) == 0, "the fenced node lets go")

    def test_I14_a_parked_run_whose_node_died_is_decided_elsewhere(self):
        here, there = self.clients()
        stream = self.opened(here.send(self.conversation(), "say before\nask May I?\nsay after",
                                       patience_s=2 * PATIENCE_S))
        first, _ = lines_until(stream, "approval_required")
        event = json.loads(first[-1])
        self.nodes[0].kill()
        approval = event["data"]["id"]
        signature = self.approver.signature(approval, "approve")
        answer = wait_until(lambda: (a := there.post(f"/v1/approvals/{approval}/approve", {"signature": signature}))
                            and a.status != 503 and a, "the run has a carrier again")
        self.assertEqual(answer.status, 200, answer.body)
        events = check_stream(list(self.read(there, event["message_id"]).lines()))
        self.assertEqual(events[-1]["type"], "message_end")


class FullNodes(NodesTest):
    flags = ("--capacity.max_running", "1", *NOBODY_DIES)

    def test_I12_I13_a_run_held_by_one_node_starts_on_another_with_a_free_slot(self):
        here, there = self.clients()
        busy = self.opened(here.send(self.conversation(), "say in\nhang"))
        lines_until(busy, "content_delta")
        other = self.opened(there.send(self.conversation(), "say in\nhang"))
        lines_until(other, "content_delta")
        capacity = wait_until(lambda: (c := here.get("/v1/capacity").json())["running"] == 2 and c, "both are counted")
        self.assertTrue(capacity["at_capacity"])
        held = self.opened(here.send(self.conversation(), "say mine", on_capacity="hold", patience_s=2 * PATIENCE_S))
        first, rest = lines_until(held, "queued")
        there.post(f"/v1/runs/{other.header('x-run-id')}/cancel")
        self.assertEqual(check_stream(first + list(rest))[-1]["type"], "message_end")
        here.post(f"/v1/runs/{busy.header('x-run-id')}/cancel")


class WorkOfOthers(NodesTest):
    """What is more than one run of an agent."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.provider = Emulator()
        cls.addClassCleanup(cls.provider.close)
        cls.flags = ("--assistant.leave_grace_ms", "300", "--providers.openai-chat.base_url", cls.provider.url + "/v1",
                     "--sandbox.driver", "namespaces", "--sandbox.warm_target", "0")

    def test_B2_a_workflow_run_whose_node_died_continues_on_another(self):
        here, there = self.clients()
        workspace = "/api/workspaces/wsp_" + self.nodes[0].bootstrap["tenant_id"].removeprefix("tnt_")
        # The provider is silent until the node that asked it has died.
        self.provider.play(Answer(silent_after=0), Answer(texts=("one",)))
        agent = here.post("/v1/agents", {"name": "a", "model": {"provider": "openai-chat", "name": "m"}}).json()["id"]
        definition = {"blocks": [agents("a", "Count.", agent=agent), agents("b", "say {{blocks.a.response}} two")],
                      "edges": edges(("a", "b")), "outputs": {"o": "{{blocks.b.response}}"}}
        made = here.post(workspace + "/workflows", {"name": "taken over", "definition": definition})
        self.assertEqual(made.status, 201, made.body)
        started = here.post(f"{workspace}/workflows/{made.json()['id']}/runs", {}, {"Prefer": "respond-async"})
        self.assertEqual(started.status, 202, started.body)
        run = f"{workspace}/workflow-runs/{started.json()['id']}"
        wait_until(lambda: self.provider.seen, "the first block's agent asks the provider")
        elsewhere = self.opened(there.open("GET", run + "/events", patience_s=4 * PATIENCE_S))
        self.nodes[0].kill()
        told = [json.loads(line) for line in elsewhere.lines()]
        self.assertEqual([line["seq"] for line in told], list(range(len(told))))
        self.assertEqual((told[-1]["status"], told[-1]["outputs"]), ("succeeded", {"o": "one two"}))
        self.assertIn("workflow run taken over", self.nodes[1].log())

    def turn(self, client, there, words):
        """One that is begun at a node and followed at another."""
        turn = self.opened(client.open("POST", "/api/assistant/chat/stream", {"message": words}))
        run = turn.header("x-stream-id")
        follower = self.opened(there.open("GET", f"/api/assistant/chat/stream?streamId={run}",
                                          patience_s=2 * PATIENCE_S))
        return run, turn, follower

    def test_A6_a_turn_continues_only_while_it_is_read_at_any_node(self):
        here, there = self.clients()
        _, turn, follower = self.turn(here, there, "tokens 12 10")
        turn.close()  # four times the grace before the end
        self.assertEqual([frame.type for frame in frames(follower)][-1], "done")
        run, turn, follower = self.turn(here, there, "say in\nhang")
        turn.close()
        follower.close()
        self.wait_for_state(here, run, "cancelled")


class Strangers(NodesTest):
    """Servers that were given other keys than those that run on the store."""

    count = 1

    def refusal_of(self, *flags, like=None):
        stranger = Node(self.url, *flags, like=like)
        self.addCleanup(stranger.remove)
        with self.assertRaises(AssertionError):
            stranger.start()
        return stranger.log()

    def test_another_admin_key_is_noticed_at_the_start(self):
        other = "sk_adm_" + "o" * 43
        said = self.refusal_of("--server.admin_key", other, like=self.keys)
        self.assertIn("SLUICE_SERVER_ADMIN_KEY", said)
        self.assertNotIn(other, said)
        check_stream(self.client.say(self.conversation(), "say undisturbed"))

    def test_another_vault_key_is_noticed_at_the_start(self):
        self.assertIn("vault.key_file", self.refusal_of())

    def test_the_admin_key_is_changed_while_no_server_runs(self):
        self.nodes[0].stop()
        other = self.add_node("--server.admin_key", "sk_adm_" + "o" * 43)
        self.assertEqual(other.admin().get("/v1/tenants").status, 200)
        other.stop()
        self.add_node()  # and back, for the other tests


class RollingUpgrade(NodesTest):
    count = 2

    def test_every_node_is_replaced_under_load_and_no_run_is_lost_or_failed(self):
        stopped, failures, done = threading.Event(), [], []

        def work(index):
            turn = 0
            while not stopped.is_set():
                turn += 1
                self.send_one(index + turn, f"roll-{index}-{turn}", failures, done)

        threads = [threading.Thread(target=work, args=[index], daemon=True) for index in range(6)]
        for thread in threads:
            thread.start()
        for index in range(self.count):
            wait_until(lambda goal=len(done) + 20: len(done) >= goal, "messages are answered", 2 * PATIENCE_S)
            self.nodes[index].stop()
            self.nodes[index].start()
        wait_until(lambda goal=len(done) + 20: len(done) >= goal, "messages are answered", 2 * PATIENCE_S)
        stopped.set()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
        self.assertEqual(failures, [])

    def send_one(self, turn, key, failures, done):
        """As a host would: tries the next node when one is gone, with the same key, and reads on where it stopped."""
        deadline = time.monotonic() + 2 * PATIENCE_S
        while time.monotonic() < deadline:
            turn += 1
            node = self.nodes[turn % self.count]
            if not node.alive():
                continue
            try:
                answer = node.client().open("POST", "/v1/conversations", {"initial_message": {"content": "tokens 20 100"}},
                                            {"Idempotency-Key": key}, patience_s=2 * PATIENCE_S)
                if answer.status == 503:
                    answer.close()
                    continue
                if answer.status != 200:
                    failures.append((key, answer.status, answer.body))
                    return
                with answer.connection:
                    lines = list(answer.lines())
                if not lines or json.loads(lines[-1])["type"] not in ("message_end", "error"):
                    continue
                last = check_stream(lines)[-1]
                if last["type"] != "message_end":
                    failures.append((key, last))
                done.append(key)
                return
            except (ConnectionError, Truncated, OSError):
                continue
        failures.append((key, "no node took it"))


if __name__ == "__main__":
    unittest.main()
