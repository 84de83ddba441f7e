"""Workflows through the real server and real sandboxes (B-1, B-2, S-8)."""
import json
import re
import subprocess
import unittest

from server_process import BINARY, ROOT, wait_until
from test_hands import sleepers
from workflow_fixture import WorkflowTest, agents, edges


class Running(WorkflowTest):
    flags = ("--sandbox.driver", "namespaces")

    def story(self):
        return {
            "inputs": [{"name": "topic", "type": "text", "required": True}],
            "environment": {"TONE": "dry"},
            "blocks": [
                agents("draft", "$ mkdir -p assets; echo $TONE > assets/note.txt\nsay About {{inputs.topic}}"),
                {"id": "is_rain", "type": "condition", "left": "{{blocks.draft.response}}", "op": "contains",
                 "right": "rain"},
                agents("sorry", "say Sorry."),
                agents("review", "say Reviewed: {{blocks.draft.response}}"),
                {"id": "send", "type": "http", "method": "POST", "url": self.target.url + "/notes/{{inputs.topic}}",
                 "body": {"text": "{{blocks.review.response}}"}},
                {"id": "sum", "type": "inference", "prompt": "say Sent to {{blocks.send.json.path}}"}],
            "edges": edges(("draft", "is_rain"), ("is_rain", "review", True), ("is_rain", "sorry", False),
                           ("review", "send"), ("send", "sum"), ("sorry", "sum")),
            "outputs": {"text": "{{blocks.sum.response}}", "files": "{{blocks.draft.files}}"}}

    def test_B1_prompt_in_response_and_files_out(self):
        lines = self.lines(self.start(self.story(), {"topic": "rain"}))
        self.check_lines(lines)
        self.assertEqual(lines[-1]["status"], "succeeded", lines[-1])
        self.assertEqual(lines[-1]["outputs"]["text"], "Sent to /notes/rain")
        files = json.loads(lines[-1]["outputs"]["files"])
        self.assertEqual([file["name"] for file in files], ["note.txt"])
        content = self.client.get(f"/v1/files/{files[0]['id']}/content")
        self.assertEqual(content.body, b"dry\n")
        ends = {line["block"]: line for line in lines if line["type"] == "block.finished"}
        self.assertEqual({block: end["status"] for block, end in ends.items()},
                         {"draft": "succeeded", "is_rain": "succeeded", "sorry": "skipped", "review": "succeeded",
                          "send": "succeeded", "sum": "succeeded"})
        method, path, headers, body = self.target.asked[0]
        self.assertEqual((method, path, json.loads(body)), ("POST", "/notes/rain", {"text": "Reviewed: About rain"}))
        self.assertTrue(headers["Idempotency-Key"].endswith(":send"))

    def test_the_other_way_through_it(self):
        lines = self.lines(self.start(self.story(), {"topic": "sun"}))
        ends = {line["block"]: line["status"] for line in lines if line["type"] == "block.finished"}
        self.assertEqual((ends["sorry"], ends["review"], ends["send"]), ("succeeded", "skipped", "skipped"))
        self.assertEqual(lines[-1]["status"], "succeeded", "what was skipped says nothing")

    def test_B2_the_lines_of_the_runner_are_forwarded_as_they_are(self):
        run = self.start({"blocks": [agents("a", "$ echo hi\nsay done")]})
        lines = self.lines(run)
        self.check_lines(lines)
        forwarded = [line["line"] for line in lines if line["type"] == "block.line"]
        run_id = next(line["run_id"] for line in lines if line["type"] == "block.started")
        own = [json.loads(line) for line in self.client.get(f"/v1/runs/{run_id}/stream.jsonl").body.splitlines()]
        self.assertEqual(forwarded, own)
        self.assertIn("step", [line["type"] for line in forwarded])
        extended = self.lines(run, "?profile=extended")
        self.assertIn("output", [line["line"]["type"] for line in extended if line["type"] == "block.line"])
        for after in (0, 1, len(lines) - 2):
            self.assertEqual(self.lines(run, f"?after={after}"), lines[after + 1:])

    def test_B2_cancelling_in_the_middle_leaves_no_sandbox(self):
        run = self.start({"blocks": [agents("a", "$ sleep 600"), agents("b", "say no")], "edges": edges(("a", "b"))})
        wait_until(lambda: sleepers(self.server), "the command runs")
        answer = self.client.post(f"{self.workspace}/workflow-runs/{run}/cancel", None)
        self.assertEqual((answer.status, answer.json()["status"]), (200, "cancelled"))
        self.assertEqual(sleepers(self.server), [], "it is gone when the answer comes")
        lines = self.lines(run)
        self.check_lines(lines)
        self.assertEqual(lines[-1]["status"], "cancelled")
        self.assertNotIn("b", [line.get("block") for line in lines])

    def test_the_caller_may_leave(self):
        path = f"{self.workspace}/workflows/{self.keep({'blocks': [agents('a', 'sleep 300')]})}/runs"
        answer = self.client.open("POST", path, {"inputs": {}})
        first = json.loads(next(answer.lines()))
        answer.close()
        lines = self.lines(first["run"]["id"])
        self.assertEqual(lines[-1]["status"], "succeeded")

    def test_a_block_that_fails_fails_the_run(self):
        self.target.status = 500
        run = self.start({"blocks": [{"id": "a", "type": "http", "method": "GET", "url": self.target.url + "/x"},
                                     agents("b", "say no")], "edges": edges(("a", "b"))})
        lines = self.lines(run)
        self.assertEqual((lines[-1]["status"], lines[-1]["error"]["code"]), ("failed", "http-status"))
        self.assertEqual(lines[-2]["outputs"]["status"], 500)
        lines = self.lines(self.start({"blocks": [agents("a", "fail 400 no such model")]}))
        self.assertEqual((lines[-1]["status"], lines[-1]["error"]["code"]), ("failed", "model-error"))

    def test_where_the_operator_did_not_allow_it_nothing_is_called(self):
        other = self.target.url.replace("127.0.0.1", "localhost")
        lines = self.lines(self.start({"blocks": [{"id": "a", "type": "http", "method": "GET", "url": other}]}))
        self.assertEqual(lines[-1]["error"]["code"], "http-not-allowed")
        self.assertEqual(self.target.asked, [])


class WithoutSandbox(WorkflowTest):
    flags = ("--sandbox.driver", "off")

    def test_S8_an_agents_block_fails_at_once_and_the_server_has_said_so(self):
        end = self.lines(self.start({"blocks": [agents("a", "say x")]}))[-1]
        self.assertEqual((end["status"], end["error"]["code"]), ("failed", "sandbox-missing"))
        self.assertIn("SANDBOX_URL", end["error"]["message"])
        self.assertIn("agents have no sandbox", self.server.log())

    def test_S8_a_sandbox_tool_fails_the_run_and_the_conversation_continues(self):
        plain, working = (self.client.say(self.conversation(), words) for words in ("say hello", "$ echo hi\nsay done"))
        self.assertEqual(json.loads(plain[-1])["type"], "message_end", plain)
        last = json.loads(working[-1])
        self.assertEqual(last["type"], "error", working)
        self.assertIn("there is none on this server", json.dumps(last))


class Mistakes(WorkflowTest):
    def test_a_cycle_is_shown(self):
        found = self.refusal({"blocks": [agents("a", "x"), agents("b", "y")], "edges": edges(("a", "b"), ("b", "a"))})
        self.assertIn("a → b → a", found["/definition/edges"])

    def test_a_missing_block_is_named(self):
        found = self.refusal({"blocks": [agents("a", "x")], "edges": edges(("a", "nowhere"))})
        self.assertEqual(found, {"/definition/edges/0/to": 'names no block: "nowhere"'})

    def test_a_template_that_names_nothing_is_shown(self):
        found = self.refusal({"blocks": [agents("a", "{{blocks.b.response}}"), agents("b", "{{inputs.x}}")]})
        self.assertEqual(set(found), {"/definition/blocks/0/prompt", "/definition/blocks/1/prompt"})

    def test_S8_an_invalid_runner_url_is_refused(self):
        found = self.refusal({"environment": {"SANDBOX_URL": "file:///x"}, "blocks": [agents("a", "x", sandbox_url="no")]})
        self.assertEqual(set(found), {"/definition/environment/SANDBOX_URL", "/definition/blocks/0/sandbox_url"})

    def test_the_example_in_the_documentation_works(self):
        text = (ROOT / "docs/workflows.md").read_text()
        example = re.search(r"<<'JSON'\n(.*?)\nJSON\n", text, re.S).group(1)
        file = self.server.home / "greeting.json"
        file.write_text(example)
        sluice = [str(BINARY), "workflows"]
        access = ["--url", self.server.url, "--key", self.server.bootstrap["service_key"]]
        for _ in range(2):
            pushed = subprocess.run([*sluice, "push", str(file), *access], capture_output=True, timeout=60)
            self.assertEqual(pushed.returncode, 0, pushed.stderr)
        ran = subprocess.run([*sluice, "run", "greeting", "--input", "who=Ann", *access], capture_output=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        last = json.loads(ran.stdout.splitlines()[-1])
        self.assertEqual(last["outputs"], {"text": "Hello, Ann! Bye."})
        self.assertIn('"text":"Hello, Ann! Bye."', text)


if __name__ == "__main__":
    unittest.main()
