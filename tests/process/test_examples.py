"""The examples that are programs of their own, run as their readers would run them."""
import os
import re
import signal
import subprocess
import unittest

from http_client import PATIENCE_S
from server_process import BINARY, ROOT
from upkeep_fixture import environment


class ThreeNodes(unittest.TestCase):
    """examples/three-nodes.sh: servers are killed while one answer is read through them."""

    deadline_s = 6 * PATIENCE_S

    def told(self):
        """(exit code, what it printed); at the deadline it is ended with all that it started."""
        command = ["examples/three-nodes.sh", os.path.relpath(BINARY, ROOT)]
        with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, start_new_session=True) as script:
            try:
                printed, _ = script.communicate(timeout=self.deadline_s)
            except subprocess.TimeoutExpired:
                os.killpg(script.pid, signal.SIGTERM)
                printed, _ = script.communicate(timeout=PATIENCE_S)
                self.fail(f"not done within {self.deadline_s:.0f} s:\n{printed}")
        return script.returncode, printed

    def test_I8_an_answer_is_read_to_its_end_through_nodes_that_are_killed(self):
        code, printed = self.told()
        self.assertEqual(code, 0, printed)
        self.assertEqual(printed.splitlines()[-1], "── nothing was lost", printed)
        counts = {name: int(count) for count, name in re.findall(r"^ *(\d+) (told|again)$", printed, re.M)}
        self.assertEqual(counts["told"], counts["again"], printed)
        self.assertGreaterEqual(counts["told"], 160, "each word is a line")
        self.assertGreaterEqual(printed.count("kill -9 node"), 2, printed)
        started = re.findall(r"^node\d, process \d+, at (.*)$", printed, re.M)
        self.assertGreaterEqual(len(started), 5, printed)
        for url in started:
            self.assertRegex(url, r"^http://127\.0\.0\.1:\d+$", printed)


if __name__ == "__main__":
    unittest.main()
