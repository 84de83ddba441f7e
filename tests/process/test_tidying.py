"""What is tidied up in the background, while the server has other things to do."""
import json
import re
import unittest

from server_process import ServerTest, wait_until


class UnderLoad(ServerTest):
    def figure(self, name):
        found = re.search(rf"^{name} (\d+)$", self.admin.get("/metrics").body.decode(), re.MULTILINE)
        return int(found[1])

    def stream(self):
        """A run that writes more than the server would tidy up beside, for longer than the test takes."""
        stream = self.client.send(self.conversation(), "tokens 1000000 300")
        for line in stream.lines():
            if json.loads(line)["type"] == "content_delta":
                break
        run = stream.header("x-run-id")
        stream.close()
        self.addCleanup(lambda: self.client.post(f"/v1/runs/{run}/cancel"))
        return run

    def test_journals_are_sealed_while_streams_keep_the_store_busy(self):
        runs = [self.stream() for _ in range(4)]
        for _ in range(20):
            self.client.say(self.conversation(), "say It is so.")
        wait_until(lambda: self.figure("sluice_store_sealed_journals_total") >= 20, "the journals are sealed")
        wait_until(lambda: self.figure("sluice_store_unsealed_runs") == 0, "none waits")
        self.assertEqual(self.figure("sluice_store_unsealed_oldest_seconds"), 0)
        self.assertEqual({self.client.get(f"/v1/runs/{run}").json()["state"] for run in runs}, {"streaming"})


if __name__ == "__main__":
    unittest.main()
