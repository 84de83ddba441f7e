"""The console as a person uses it: in Chromium, against a real server with real sandboxes and the offline model. The
stories are in tests/browser/console.mjs, one for each test here; pictures go to SLUICE_SCREENSHOTS. Needs node, npm and
Chromium; where the npm registry cannot be reached it says so loudly and exits with 77, which is counted as skipped."""
import json
import os
import re
import subprocess
import threading
import unittest

from browser_fixture import BROWSER, SHOTS, install
from http_client import PATIENCE_S
from server_process import BINARY, ServerTest, is_sanitized, wait_until

STORY_S_MAX = 8 * PATIENCE_S


def address_in(text):
    return re.search(r"http://\S+/console/#code=[\w-]+", text)


class ConsoleTest(ServerTest):
    """One server, and people who are each given an address that opens its console once."""

    flags = ("--sandbox.driver", "namespaces")

    @classmethod
    def setUpClass(cls):
        install(BROWSER)
        super().setUpClass()
        cls.server.listen = f"127.0.0.1:{cls.server.port}"  # where it is found again

    def address(self):
        printed = subprocess.run([str(BINARY), "console", "--data", str(self.server.data)], capture_output=True, text=True,
                                 env=self.server.environment(), timeout=2 * PATIENCE_S, check=False)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        return address_in(printed.stdout).group(0)

    def story(self, name, **facts):
        """Tells a story of console.mjs and carries out what it asks for."""
        env = os.environ | {"SLUICE_SCREENSHOTS": str(SHOTS), "SLUICE_URL": self.server.url, "SLUICE_FACTS": json.dumps(facts)}
        asked = {"address": self.address, "stop": self.server.stop, "start": lambda: self.server.start().url}
        seen = {}
        with subprocess.Popen(["node", "console.mjs", name], cwd=BROWSER, env=env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as told:
            deadline = threading.Timer(STORY_S_MAX, told.kill)
            self.addCleanup(deadline.cancel)
            deadline.start()
            for line in told.stdout:
                said = json.loads(line)
                if "ask" in said:
                    told.stdin.write(json.dumps(asked[said["ask"]]()) + "\n")
                    told.stdin.flush()
                elif "tell" in said:
                    print(f"\n  {said['tell']}", flush=True)
                else:
                    seen = said
        if self.server.process is None:
            self.server.start()  # the story broke off while it was stopped; the next one needs it
        self.assertTrue(seen.get("ok"), f"{name}: {seen.get('failure', 'no end in time')}\n{self.server.log()[-2000:]}")
        self.assertEqual(seen["errors"], [], "what went wrong in the page")
        self.assertEqual(seen["origins"], [self.server.url], "no request goes anywhere else")


class FirstStart(ConsoleTest):
    def address(self):
        """What the server printed when it was first started, to whoever looked."""
        return wait_until(lambda: address_in(self.server.log()), "the console's address in the log").group(0)

    def test_a_stranger_comes_from_the_printed_address_to_an_answer(self):
        self.story("first answer")


class Console(ConsoleTest):
    def workspace(self, path):
        return f"/api/workspaces/{self.server.bootstrap['workspace_id']}/{path}"

    def made(self, client, path, body):
        answer = client.post(path, body)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()

    def test_a_step_opens_and_a_file_appears_with_its_diff(self):
        self.story("steps and files")

    def test_an_approval_is_signed_here_and_its_secret_is_kept_nowhere(self):
        self.story("approval")

    def test_a_reload_in_the_middle_of_an_answer_loses_nothing(self):
        self.story("reload")

    def test_an_answer_is_stopped(self):
        self.story("stop")

    def test_files_go_up_and_come_down_as_they_are_and_inert(self):
        self.story("upload and download")

    def test_script_is_inert_in_every_text(self):
        self.story("script")

    def test_two_tabs_send_at_once(self):
        self.story("two tabs")

    def test_a_stopped_server_is_told_of_and_comes_back(self):
        self.story("restart")

    def test_it_fits_a_phone(self):
        self.story("phone")

    def test_how_fast_it_is(self):
        self.story("speed", sanitized=is_sanitized())

    def test_axe_finds_nothing_on_the_pages(self):
        conversation = self.conversation()
        self.client.say(conversation, "think Hm.\n$ echo one\nwrite a.txt: b\nsay Done.")
        run = self.client.get(f"/v1/runs?conversation_id={conversation}").json()["data"][0]["id"]
        agent = self.made(self.client, "/v1/agents", {"name": "bookkeeper"})["id"]
        table = self.made(self.client, self.workspace("tables"), {
            "name": "invoices", "columns": [{"name": "customer", "type": "text"}, {"name": "total", "type": "number"}]})["id"]
        self.made(self.client, self.workspace(f"tables/{table}/rows"), {"rows": [{"customer": "Ada", "total": 12.5}]})
        workflow = self.made(self.client, self.workspace("workflows"), {"name": "month-end", "definition": {
            "blocks": [{"id": "draft", "type": "inference", "prompt": "say Hello."},
                       {"id": "is_kind", "type": "condition", "left": "{{blocks.draft.response}}", "op": "contains", "right": "Hello"}],
            "edges": [{"from": "draft", "to": "is_kind"}]}})["id"]
        tenant = self.server.bootstrap["tenant_id"]
        self.story("pages", places=[
            ["runs", run[-5:]], [f"runs/{run}", "The phases as a table"], [f"runs/{run}?show=trace", "lines"], ["capacity", "Over time"],
            ["tenants", "demo"], [f"tenants/{tenant}", "demo"], ["agents", "bookkeeper"], [f"agents/{agent}", "bookkeeper"],
            ["tables", "invoices"], [f"tables/{table}", "Ada"], ["workflows", "month-end"],
            [f"workflows/{workflow}", "draft"]])


class Queue(ConsoleTest):
    flags = (*ConsoleTest.flags, "--capacity.max_running", "1")

    def test_a_message_that_must_wait_says_where_it_stands(self):
        holder = self.client.send(self.conversation(), "put Busy.\nhang")
        self.addCleanup(holder.close)
        lines = holder.lines()
        while json.loads(next(lines))["type"] != "content_delta":
            pass
        self.story("queue", run=self.client.get("/v1/runs?limit=1").json()["data"][0]["id"])


if __name__ == "__main__":
    unittest.main()
