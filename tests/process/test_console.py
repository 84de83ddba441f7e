"""The console as a person uses it: in Chromium, against a real server with real sandboxes and the offline model. The
stories are in tests/browser/console.mjs, one for each test here; pictures go to SLUICE_SCREENSHOTS. Needs node, npm and
Chromium; where the npm registry cannot be reached it says so loudly and exits with 77, which is counted as skipped."""
import concurrent.futures
import json
import os
import queue
import re
import subprocess
import threading
import unittest

from browser_fixture import BROWSER, SHOTS, install
from http_client import PATIENCE_S
from server_process import BINARY, ServerTest, is_sanitized, wait_until

STORY_S_MAX = 20 * PATIENCE_S
AT_ONCE = 3  # stories, where they may run side by side


def address_in(text):
    return re.search(r"http://\S+/console/#code=[\w-]+", text)


class Narrator:
    """console.mjs with its browser, which all stories share: to start one takes longer than some of them."""

    def __init__(self):
        env = os.environ | {"SLUICE_SCREENSHOTS": str(SHOTS)}
        self.node = subprocess.Popen(["node", "console.mjs"], cwd=BROWSER, env=env, text=True, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
        self.lock, self.heard = threading.Lock(), {}
        self.ear = threading.Thread(target=self.listen, daemon=True)
        self.ear.start()

    def listen(self):
        for line in self.node.stdout:
            said = json.loads(line)
            self.heard[said["story"]].put(said)
        for waiting in self.heard.values():
            waiting.put({"end": {"failure": "console.mjs ended"}})

    def write(self, **words):
        with self.lock:
            self.node.stdin.write(json.dumps(words) + "\n")
            self.node.stdin.flush()

    def live(self, story, url, facts, asked):
        """Runs the story in the page, carries out what it asks for, and returns its result."""
        heard = self.heard[story] = queue.Queue()
        self.write(story=story, url=url, facts=facts)
        while True:
            said = heard.get(timeout=STORY_S_MAX)
            if "ask" in said:
                self.write(story=story, answer=asked[said["ask"]]())
            elif "note" in said:
                print(f"\n  {said['note']}", flush=True)
            else:
                return said["end"]

    def close(self):
        """The end of its input is the end of the browser."""
        self.node.stdin.close()
        try:
            self.node.wait(4 * PATIENCE_S)
        finally:
            self.node.kill()
            self.node.wait()
            self.ear.join()
            self.node.stdout.close()


class ConsoleTest(ServerTest):
    """One server, and people who are each given an address that opens its console once."""

    flags = ("--sandbox.driver", "namespaces")
    keeps_its_port = True

    @classmethod
    def address(cls):
        printed = subprocess.run([str(BINARY), "console", "--data", str(cls.server.data)], capture_output=True, text=True,
                                 env=cls.server.environment(), timeout=2 * PATIENCE_S, check=False)
        if printed.returncode != 0:
            raise AssertionError(f"sluice console failed: {printed.stderr}")
        return address_in(printed.stdout).group(0)

    @classmethod
    def live(cls, story, **facts):
        asked = {"address": cls.address, "stop": cls.server.stop, "start": lambda: cls.server.start().url}
        return narrator.live(story, cls.server.url, facts, asked)

    def check(self, story, seen):
        self.assertTrue(seen.get("ok"), f"{story}: {seen.get('failure')}\n{self.server.log()[-2000:]}")
        self.assertEqual(seen["errors"], [], "what went wrong in the page")
        self.assertEqual(seen["origins"], [self.server.url], "no request goes anywhere else")

    def story(self, name, **facts):
        self.check(name, self.live(name, **facts))


narrator = None


def setUpModule():
    global narrator
    install(BROWSER)
    narrator = Narrator()
    unittest.addModuleCleanup(narrator.close)


class FirstStart(ConsoleTest):
    @classmethod
    def address(cls):
        """What the server printed at its first start."""
        return wait_until(lambda: address_in(cls.server.log()), "the console's address in the log").group(0)

    def test_a_stranger_comes_from_the_printed_address_to_an_answer(self):
        self.story("first answer")


class SideBySide(ConsoleTest):
    """Stories that do not mind each other. What takes long in them is answers that come slowly."""

    stories = ("reload", "written ahead", "two tabs", "steps and files", "changes of one answer", "upload and download", "script", "phone")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        people = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
        cls.addClassCleanup(people.shutdown)
        cls.begun = {name: people.submit(cls.live, name) for name in cls.stories}

    def story(self, name):
        self.check(name, self.begun[name].result())

    def test_a_reload_in_the_middle_of_an_answer_loses_nothing(self):
        self.story("reload")

    def test_messages_written_ahead_are_sent_when_the_answer_has_ended_and_returned_pictures_are_shown(self):
        self.story("written ahead")

    def test_two_tabs_send_at_once(self):
        self.story("two tabs")

    def test_a_step_opens_and_a_file_appears_with_its_diff(self):
        self.story("steps and files")

    def test_an_answer_shows_what_it_changed_itself(self):
        self.story("changes of one answer")

    def test_files_go_up_and_come_down_as_they_are_and_inert(self):
        self.story("upload and download")

    def test_script_is_inert_in_every_text(self):
        self.story("script")

    def test_it_fits_a_phone(self):
        self.story("phone")


class Alone(ConsoleTest):
    """Stories that count what else is at work or waits, or measure, or stop the server."""

    def workspace(self, path):
        return f"/api/workspaces/{self.server.bootstrap['workspace_id']}/{path}"

    def made(self, client, path, body):
        answer = client.post(path, body)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()

    def tearDown(self):
        if self.server.process is None:
            self.server.start()  # the story broke off while it was stopped; the next one needs it
        super().tearDown()

    def test_an_approval_is_signed_here_and_its_secret_is_kept_nowhere(self):
        self.story("approval")

    def test_an_answer_is_stopped(self):
        self.story("stop")

    def test_a_stopped_server_is_reported_and_a_returning_one_too(self):
        self.story("restart")

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
