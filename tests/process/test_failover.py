"""A PostgreSQL with a synchronous standby loses its primary in the middle of everything, and the standby takes its place.
The server finds it by itself: the open stream goes on to its end, and nothing that was told is lost (I-7, I-8)."""
import json
import unittest

import test_postgres
from http_client import PATIENCE_S
from postgres import Pair
from server_process import wait_until
from upkeep_fixture import sluice


class AFailover(test_postgres.Troubled):
    def setUp(self):
        self.postgres = Pair(settings=["fsync=off"])  # processes die here, the machine does not
        self.addCleanup(self.postgres.close)
        self.postgres.start()
        wait_until(self.postgres.is_synchronous, "the standby streams")
        self.serve("postgres")

    def expect_refusal(self):
        answer = wait_until(lambda: (a := self.post("say refused")).status != 200 and a, "messages are refused")
        self.assertEqual((answer.status, answer.header("content-type")), (503, "application/problem+json"), answer.body)
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        wait_until(lambda: self.client.get("/readyz").status == 503, "the server says that it is not ready")
        self.assertEqual(self.client.get("/healthz").status, 200)

    def promote(self):
        self.postgres.standby.promote()
        wait_until(lambda: self.client.get("/readyz").status == 200, "the server finds the new primary", 2 * PATIENCE_S)

    def expect_nothing_lost(self, told, lines):
        self.expect_all_is_well(told, lines)
        deltas = [json.loads(line)["data"]["text"] for line in told if json.loads(line)["type"] == "content_delta"]
        self.assertEqual("".join(deltas), " ".join(f"w{number}" for number in range(1, 81)))
        self.assertNotIn("say refused", self.postgres.standby.psql("SELECT * FROM messages"))
        self.server.stop()
        code, out, err = sluice("store", "verify", "--json", "--data", self.server.data, "--store",
                                self.postgres.url_of("postgres"))
        self.assertEqual((code, json.loads(out)["damage"]), (0, []), err)

    def test_within_a_moment_loses_and_doubles_no_line(self):
        told, lines = self.begin("tokens 80 50")
        self.postgres.primary.stop(immediate=True)
        self.expect_refusal()
        self.promote()
        self.expect_nothing_lost(told, lines)

    def test_after_the_server_was_cut_off_loses_and_doubles_no_line(self):
        told, lines = self.begin("tokens 80 50")
        self.postgres.primary.kill9()
        self.expect_refusal()
        wait_until(lambda: "cut off from the store" in self.server.log(), "the server knows that it is cut off")
        self.promote()
        self.expect_nothing_lost(told, lines)


if __name__ == "__main__":
    unittest.main()
