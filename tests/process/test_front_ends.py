"""The front ends of examples/, as docs/front-ends (ag-ui.md, tanstack-ai.md) has people start them, in a real browser,
against a real server (H-2): streaming, an approval, a tool of the page, and a reload in the middle of a run. Needs node, npm
and Chromium; where the npm registry cannot be reached it says so loudly and exits with 77, which is counted as skipped."""
import json
import os
import subprocess
import unittest

from browser_fixture import BROWSER, SHOTS, install
from http_client import PATIENCE_S
from server_process import ROOT, ServerTest


class FrontEnds(ServerTest):
    flags = ("--sandbox.driver", "namespaces")

    def drive(self, kind):
        example = ROOT / "examples" / kind
        install(example)
        install(BROWSER)
        built = subprocess.run(["npm", "run", "build"], cwd=example, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        env = os.environ | {"SLUICE_URL": self.server.url, "SLUICE_KEY": self.server.bootstrap["service_key"], "PORT": "0",
                            "APPROVER_KEY_FILE": str(self.server.data / "bootstrap.json")}
        with subprocess.Popen(["node", "../serve.mjs"], cwd=example, env=env, stdout=subprocess.PIPE, text=True) as serving:
            try:
                url = serving.stdout.readline().strip()
                SHOTS.mkdir(parents=True, exist_ok=True)
                driven = subprocess.run(["node", "drive.mjs", url, kind, str(SHOTS / f"{kind}.png")], cwd=BROWSER,
                                        capture_output=True, text=True, timeout=10 * PATIENCE_S, check=False)
            finally:
                serving.terminate()
        self.assertEqual(driven.returncode, 0, driven.stderr)
        seen = json.loads(driven.stdout)
        self.assertTrue(seen.get("ok"), (seen, self.server.log()[-2000:]))
        self.assertEqual(seen["errors"], [])
        self.assertEqual({host.split(":")[0] for host in seen["requests"]}, {"127.0.0.1"}, "nothing comes from elsewhere")
        self.assertIn("Good morning.", "\n".join(seen["text"]))
        self.assertIn("from-the-box", "\n".join(seen["text"]))
        self.assertIn("Sluice and", seen["tool"], "the page's own tool was carried out by the page")
        return seen

    def test_H2_tanstacks_react_client(self):
        seen = self.drive("tanstack-react")
        self.assertEqual(seen["reloaded"].count("Before the reload."), 1, "a reload loses and repeats nothing")
        self.assertEqual(seen["reloaded"].count("After the reload."), 1)

    def test_H2_ag_uis_own_client(self):
        self.drive("agui-client")


if __name__ == "__main__":
    unittest.main()
