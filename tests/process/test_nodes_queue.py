"""Runs that wait for a slot, on several servers with one PostgreSQL (I-12): a tenant at its own limit delays nobody
anywhere, and what waits moves to a slot as often as it must."""
import json
import unittest

from nodes_fixture import NodesTest, start_postgres
from http_client import PATIENCE_S
from server_process import wait_until
from stream_grammar import check_stream


def setUpModule():
    start_postgres()


class Queues(NodesTest):
    def customer(self, node, **settings):
        """Clients of a tenant of its own, one for each node that lives."""
        admin = node.admin()
        made = admin.post("/v1/tenants", {"name": self.id(), "settings": settings})
        self.assertEqual(made.status, 201, made.body)
        key = admin.post(f"/v1/tenants/{made.json()['id']}/keys", {"name": "k"}).json()["secret"]
        return [each.client(key) for each in self.nodes]

    def sent(self, client, content):
        """A message that may wait; the kind of its first line, and an iterator over it and the others."""
        conversation = client.post("/v1/conversations", {}).json()["id"]
        stream = self.opened(client.send(conversation, content, on_capacity="hold", patience_s=4 * PATIENCE_S))
        lines = stream.lines()
        first = next(lines)
        run = stream.header("x-run-id")
        self.addCleanup(lambda: client.post(f"/v1/runs/{run}/cancel"))
        return json.loads(first)["type"], (line for part in ([first], lines) for line in part)


class ATenantAtItsLimit(Queues):
    # No node dies, and none is taken for dead because the machine has much to do.
    flags = ("--capacity.max_running", "3", "--node.dead_ms", str(int(10_000 * PATIENCE_S)))

    def test_I12_a_tenant_at_its_limit_delays_no_other_on_any_node(self):
        busy, limited, other = (self.customer(self.nodes[0], max_running=limit) for limit in (0, 1, 0))
        for client in (busy[0], busy[0], busy[0], limited[1]):
            self.assertEqual(self.sent(client, "hang")[0], "message_start")
        for _ in range(6):
            self.assertEqual(self.sent(limited[0], "say in")[0], "queued")
        for _ in range(4):
            kind, lines = self.sent(other[0], "say mine")
            self.assertEqual(kind, "queued")
            self.assertEqual(check_stream(list(lines))[-1]["type"], "message_end")
        capacity = wait_until(lambda: (c := self.client.get("/v1/capacity").json())["running"] == 4 and c, "all are over")
        self.assertEqual(capacity["held"], 6)
        # The stream of a run may have been read to its end through one node before the other one dropped the run.
        wait_until(lambda: self.carried(self.nodes[1]) == 1, "the other node has slots, but none for this tenant")


class AFullHolder(Queues):
    flags = ("--capacity.max_running", "1", "--node.dead_ms", "4000")

    def test_I12_what_a_full_node_took_over_from_a_dead_one_moves_on_to_the_next_slot(self):
        here, there = self.customer(self.nodes[0])
        self.assertEqual(self.sent(there, "hang")[0], "message_start")
        self.assertEqual(self.sent(here, "hang")[0], "message_start")
        kind, lines = self.sent(here, "say mine")
        self.assertEqual(kind, "queued")
        message = there.get("/v1/runs?limit=1").json()["data"][0]["message_id"]
        self.nodes[0].kill()

        def is_taken_over():
            now = there.get("/v1/capacity").json()
            return (now["pool_size"], now["held"]) == (1, 1)

        wait_until(is_taken_over, "what waits is taken over", 2 * PATIENCE_S)
        self.nodes[0].start()
        events = check_stream(list(self.opened(there.open("GET", f"/v1/messages/{message}/events",
                                                          patience_s=4 * PATIENCE_S)).lines()))
        self.assertEqual((events[-1]["type"], events[-1]["data"]["message"]["content"]), ("message_end", "mine"))


if __name__ == "__main__":
    unittest.main()
