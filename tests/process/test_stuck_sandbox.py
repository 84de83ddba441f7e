"""Runs whose sandbox does not answer: they can be cancelled at once, and go on in another sandbox."""
import json
import os
import signal
import unittest

from server_process import wait_until
from test_hands import HandsTest, box_processes, comm


def inits(server):
    return [pid for pid in box_processes(server.process.pid) if comm(pid) == "sluice-init\n"]


class StuckSandboxes(HandsTest):
    flags = ("--sandbox.driver", "namespaces", "--sandbox.host_uid", "347000", "--sandbox.warm_target", "2")

    def stop_the_warm_ones(self):
        """From here on no sandbox that waits for a run answers."""
        wait_until(lambda: self.metric("sluice_sandbox_warm") == 2, "two warm sandboxes")
        stopped = inits(self.server)
        self.assertGreaterEqual(len(stopped), 2)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        return stopped

    def test_S10_a_run_whose_sandbox_does_not_answer_is_cancelled_at_once(self):
        self.stop_the_warm_ones()
        before = self.metric("sluice_sandbox_live")
        answer = self.client.send(self.conversation(), "$ echo hi")
        with answer.connection:
            run = answer.header("x-run-id")
            wait_until(lambda: self.metric("sluice_sandbox_live") > before, "another one for the one that the run took")
            cancelled = self.client.post(f"/v1/runs/{run}/cancel")
            self.assertEqual((cancelled.status, cancelled.json()["state"]), (200, "cancelled"))
            list(answer.lines())

    def test_a_run_whose_sandbox_does_not_answer_continues_in_another_one(self):
        stopped = self.stop_the_warm_ones()
        events = self.ask("$ echo hi\nsay {{last}}")
        self.assertEqual(events[-1]["type"], "message_end", events[-1])
        self.assertIn("hi", json.dumps(self.results(events)))
        waited = [line for line in self.server.log().splitlines() if self.run_id in line and "waited 10 s for" in line]
        self.assertEqual(len(waited), 1, self.server.log()[-2000:])
        wait_until(lambda: not set(stopped) <= set(inits(self.server)), "the one that did not answer to be gone")


if __name__ == "__main__":
    unittest.main()
