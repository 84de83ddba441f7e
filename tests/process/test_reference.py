"""The API reference at /docs as a person reads it: in Chromium, from a real server (I-23). What is read is in
tests/browser/reference.mjs; pictures go to SLUICE_SCREENSHOTS. Needs node, npm and Chromium; where the npm registry cannot be
reached it says so loudly and exits with 77, which is counted as skipped."""
import json
import os
import subprocess
import unittest

from browser_fixture import BROWSER, SHOTS, install
from http_client import PATIENCE_S
from server_process import ServerTest

READING_S_MAX = 20 * PATIENCE_S


class Reference(ServerTest):
    @classmethod
    def setUpClass(cls):
        install(BROWSER)
        super().setUpClass()

    def test_I23_an_operation_is_found_and_opened_and_nothing_is_asked_of_anybody_else(self):
        env = os.environ | {"SLUICE_SCREENSHOTS": str(SHOTS), "SLUICE_URL": self.server.url}
        read = subprocess.run(["node", "reference.mjs"], cwd=BROWSER, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=READING_S_MAX, check=False)
        self.assertEqual(read.returncode, 0, read.stderr)
        seen = json.loads(read.stdout)
        self.assertTrue(seen["ok"], seen.get("failure"))
        self.assertEqual(seen["errors"], [], "what went wrong in the page")
        self.assertEqual(seen["origins"], [self.server.url], "no request goes anywhere else")


if __name__ == "__main__":
    unittest.main()
