"""`sluice runner` serves any workspace that answers the callbacks (S-1, S-2, S-4, S-5, S-7, S-9, S-10), and carries
the runs of a server that was told where it is (S-3, S-8), by the agent's policy (I-14, I-17)."""
import json
import unittest

from gate_fixture import Upstream
from server_process import Server, wait_until
from workspace_emulator import Workspace

KEY = "a-runner-key-for-tests"


class Runner(Server):
    command = "runner"
    announcement = "sluice: runner listening on "

    def figure(self, name):
        for line in self.client(KEY).get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
        return None


class RunnerCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner("--sandbox.driver", "namespaces", "--sandbox.warm_target", "0", env={"SLUICE_RUNNER_KEY": KEY})
        cls.addClassCleanup(cls.runner.remove)
        cls.runner.start()
        cls.client = cls.runner.client(KEY)

    def tearDown(self):
        if not self.runner.alive():
            self.fail(f"the runner died during the test\n{self.runner.log()[-6000:]}")


class AnyWorkspaceTest(RunnerCase):
    def workspace(self, **given):
        made = Workspace(**given)
        self.addCleanup(made.close)
        return made

    def stream(self, workspace, prompt, query="", **how):
        """All lines of one dispatch."""
        answer = self.client.open("POST", "/stream" + query, workspace.dispatch(prompt, **how))
        with answer.connection:
            self.assertEqual((answer.status, answer.header("content-type")), (200, "application/x-ndjson"))
            return [json.loads(line) for line in answer.lines()]

    def types(self, lines):
        return {line["type"] for line in lines}

    def phases(self, lines):
        return [line["phase"] for line in lines if "phase" in line]

    def test_a_text_run_in_the_plain_profile(self):
        workspace = self.workspace()
        lines = self.stream(workspace, "say Hello there")
        self.assertEqual(self.types(lines), {"log", "result"})
        self.assertEqual(lines[-1]["message"], "Hello there")
        self.assertTrue(all(isinstance(line["ts"], int) for line in lines))
        self.assertEqual(self.phases(lines)[:3], ["dispatch", "bootstrap", "bootstrap"])
        self.assertEqual(self.phases(lines)[-1], "settle")
        self.assertEqual(workspace.seen, [("GET", "/a/env", "otps_one"), ("GET", "/a/config", "otpr_two")])

    def test_the_deltas_of_the_extended_profile_make_the_result(self):
        lines = self.stream(self.workspace(), "say Hello there", "?profile=extended")
        deltas = "".join(line["text"] for line in lines if line["type"] == "delta")
        self.assertEqual((deltas, lines[-1]["message"]), ("Hello there", "Hello there"))
        self.assertIn("usage", lines[-1])

    def test_a_tool_runs_in_a_sandbox_with_what_the_workspace_gave(self):
        workspace = self.workspace(env={"variables": {"GREETING": "salut"}, "script": "echo made > made-by-setup"},
                                   skills={"pdf": {"SKILL.md": "---\nname: pdf\ndescription: A skill\n---\nRead it.\n"}})
        lines = self.stream(workspace, "$ echo $GREETING; cat made-by-setup; cat /skills/pdf/SKILL.md\nsay done")
        steps = [line for line in lines if line["type"] == "step"]
        self.assertEqual([step["status"] for step in steps], ["running", "succeeded"], lines)
        self.assertEqual(steps[0]["id"], steps[1]["id"])
        told = json.dumps(steps[1]["result"])
        for word in ("salut", "made", "Read it."):
            self.assertIn(word, told)
        self.assertEqual(lines[-1], lines[-1] | {"type": "result", "message": "done"})
        self.assertIn(("GET", "/a/skills/skl_pdf", "Bearer asbx_four"), workspace.seen)

    def test_no_token_is_inside(self):
        lines = self.stream(self.workspace(), "$ env; cat /proc/1/environ /proc/*/cmdline | tr '\\0' ' '\nsay done")
        inside = json.dumps([line for line in lines if line["type"] == "step"])
        for secret in ("otps_one", "otpr_two", "otpu_three", "asbx_four", KEY):
            self.assertNotIn(secret, inside)

    def test_files_are_written_back(self):
        workspace = self.workspace()
        lines = self.stream(workspace, "$ mkdir -p assets && echo hi > assets/a.txt\nsay done")
        self.assertEqual(workspace.files, {"a.txt": b"hi\n"}, lines)
        self.assertIn("message", workspace.result)
        self.assertIn("writeback", self.phases(lines))

    def test_without_an_upload_token_nothing_is_written_back(self):
        workspace = self.workspace()
        self.stream(workspace, "$ mkdir -p assets && echo hi > assets/a.txt", upload=False)
        self.assertNotIn("/a/results", workspace.paths())

    def test_a_token_is_good_once(self):
        workspace = self.workspace()
        self.stream(workspace, "say one")
        again = self.stream(workspace, "say two")
        self.assertEqual((again[-1]["type"], again[-1]["code"]), ("error", "token_invalid"))
        self.assertIn("used", again[-1]["message"])
        self.assertNotIn("result", self.types(again))

    def test_what_cannot_be_run_is_one_error_line(self):
        for config, code in ((b"{]", "bootstrap_failed"), (b"{}", "bootstrap_failed"),
                             ({"agent": {"agent_type": "deepagent"}}, "agent_type_unsupported"),
                             ({"agent": {"agent_type": "claude-code"}}, "agent_misconfigured")):  # not installed here
            lines = self.stream(self.workspace(config=config), "say x")
            self.assertEqual((lines[-1]["type"], lines[-1]["code"]), ("error", code), lines)

    def test_a_failing_model_is_an_error_line(self):
        lines = self.stream(self.workspace(), "fail 400 no such model")
        self.assertEqual((lines[-1]["type"], lines[-1]["code"]), ("error", "model_error"))

    def test_when_the_caller_disconnects_the_sandbox_ends_and_nothing_is_written_back(self):
        workspace = self.workspace()
        prompt = "$ mkdir -p assets && echo hi > assets/a.txt\n$ sleep 600"
        answer = self.client.open("POST", "/stream", workspace.dispatch(prompt))
        with answer.connection:
            begun = 0
            for line in answer.lines():
                begun += json.loads(line).get("status") == "running"
                if begun == 2:
                    break
            self.assertEqual(self.runner.figure("sluice_sandbox_live"), 1)
        wait_until(lambda: self.runner.figure("sluice_sandbox_live") == 0, "the box dies with its caller")
        wait_until(lambda: self.runner.figure("sluice_dispatches_live") == 0, "the dispatch ends with its caller")
        self.assertNotIn("/a/results", workspace.paths())

    def test_refusals_are_problems(self):
        wrong = self.runner.client("wrong").post("/stream", self.workspace().dispatch("say x"))
        self.assertEqual((wrong.status, wrong.json()["type"].rsplit("/", 1)[1]), (401, "unauthenticated"))
        empty = self.client.post("/stream", {})
        self.assertEqual(empty.status, 422)
        self.assertEqual({error["pointer"] for error in empty.json()["errors"]},
                         {"/agent_url", "/otp_setup", "/otp_run", "/prompt"})
        self.assertEqual(self.client.get("/stream").status, 405)
        self.assertEqual(self.client.get("/nowhere").status, 404)

    def test_operators_can_look(self):
        self.assertEqual(self.runner.client("").get("/healthz").json(), {"status": "ok", "slots": 64, "free": 64})
        self.assertEqual(self.runner.client("").get("/readyz").json(), {"status": "ready"})
        self.assertEqual(self.runner.client("").get("/metrics").status, 401)
        self.assertIn(b"sluice_dispatches_live", self.client.get("/metrics").body)


class LifeTest(unittest.TestCase):
    def test_SIGTERM_ends_runs_after_the_drain_time_and_exits_0(self):
        runner = Runner("--server.drain_seconds", "1", "--sandbox.driver", "off", env={"SLUICE_RUNNER_KEY": KEY})
        self.addCleanup(runner.remove)
        runner.start()
        workspace = Workspace()
        self.addCleanup(workspace.close)
        answer = runner.client(KEY).open("POST", "/stream", workspace.dispatch("sleep 600000"))
        with answer.connection:
            lines = answer.lines()
            first = next(lines)
            runner.terminate()
            last = json.loads([first, *lines][-1])
        self.assertEqual((last["type"], last["code"]), ("error", "unavailable"))
        self.assertEqual(runner.wait_exit(), 0)

    def test_a_runner_that_others_can_reach_needs_a_key(self):
        runner = Runner(listen="0.0.0.0:0")
        self.addCleanup(runner.remove)
        self.assertEqual(runner.spawn().wait(30), 1)
        self.assertIn("SLUICE_RUNNER_KEY", runner.log())


class ServerWithRunnerTest(RunnerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server("--runner", cls.runner.url, "--sandbox.driver", "off", env={"SLUICE_RUNNER_KEY": KEY})
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()

    def ask(self, content):
        client = self.server.client()
        conversation = client.post("/v1/conversations", {}).json()["id"]
        answer = client.send(conversation, content, query="?detail=full")
        with answer.connection:
            events = [json.loads(line) for line in answer.lines()]
        return answer.header("x-run-id"), events

    def test_a_message_is_answered_by_the_runner(self):
        before = self.runner.figure('sluice_dispatches_total{outcome="result"}') or 0
        _, events = self.ask("say Hello\n$ echo from-the-box\nsay there")
        self.assertEqual(events[-1]["type"], "message_end", events[-1])
        self.assertIn("from-the-box", json.dumps(events))
        self.assertEqual(self.runner.figure('sluice_dispatches_total{outcome="result"}'), before + 1)

    def test_files_of_the_subagent_are_returned_to_the_run(self):
        run, events = self.ask("$ mkdir -p assets && echo hi > assets/a.txt\nsay done")
        self.assertEqual(events[-1]["type"], "message_end", events[-1])
        files = self.server.client().get(f"/v1/runs/{run}/files").json()["data"]
        self.assertEqual([file["name"] for file in files], ["a.txt"])

    def test_when_no_runner_is_there_the_run_says_so(self):
        server = Server("--runner", "http://127.0.0.1:1", "--runner.wait_seconds", "1", "--sandbox.driver", "off")
        self.addCleanup(server.remove)
        server.start()
        client = server.client()
        conversation = client.post("/v1/conversations", {}).json()["id"]
        last = json.loads(client.say(conversation, "say x")[-1])
        self.assertEqual(last["type"], "error")
        self.assertIn("runner-unavailable", json.dumps(last))


class PolicyElsewhereTest(unittest.TestCase):
    """I-14, I-17: a policy holds on a separate runner as it does here, but approvals are not possible there."""

    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.runner = Runner("--sandbox.driver", "namespaces", "--sandbox.warm_target", "0",
                            "--egress.host_addresses", "crm.example 127.0.0.1",
                            "--egress.private_addresses", "127.0.0.1/32", "--egress.ca_file", cls.upstream.ca_file,
                            env={"SLUICE_RUNNER_KEY": KEY})
        cls.addClassCleanup(cls.runner.remove)
        cls.runner.start()
        cls.server = Server("--runner", cls.runner.url, "--sandbox.driver", "off", env={"SLUICE_RUNNER_KEY": KEY})
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()
        client = cls.server.client()
        policy = [{"effect": "allow", "host": "crm.example", "secrets": ["TOKEN"]},
                  {"effect": "deny", "command": "rm -rf*", "reason": "not that"},
                  {"effect": "ask", "command": "git push*"}]
        cls.agent = client.post("/v1/agents", {"name": "careful", "policy": policy}).json()["id"]

    def say(self, script):
        client = self.server.client()
        conversation = client.post("/v1/conversations", {"agent_id": self.agent}).json()["id"]
        events = [json.loads(line) for line in client.say(conversation, script)]
        self.assertEqual(events[-1]["type"], "message_end", events[-1])
        return events[-1]["data"]["message"]["content"]

    def test_what_is_denied_is_refused(self):
        self.assertIn("refused by policy: not that", self.say("$ rm -rf x\nsay {{last}}"))

    def test_an_action_that_needs_approval_is_refused_without_an_approver(self):
        said = self.say("$ git push\nsay {{last}}")
        self.assertIn("refused by policy", said)
        self.assertIn("this runner cannot ask a human", said)

    def test_what_no_rule_is_on_is_done(self):
        self.assertIn("hello", self.say("$ echo hello\nsay {{last}}"))

    def test_a_host_that_is_allowed_can_be_reached_and_no_other(self):
        url = f"https://crm.example:{self.upstream.port}/invoices"
        self.assertIn('{"invoices":14}', self.say(f"$ curl -sS {url}\nsay {{{{last}}}}"))
        self.assertNotIn("invoices", self.say("$ curl -sS https://other.example/x\nsay {{last}}"))

    def test_an_alias_is_on_file_nowhere_there(self):
        url = f"https://crm.example:{self.upstream.port}/with-secret"
        said = self.say("$ curl -sS -H 'X-Key: {{secret:TOKEN}}' " + url + "\nsay {{last}}")
        self.assertIn("is not on file, and no human can be asked for it", said)
        self.assertNotIn("/with-secret", [request["path"] for request in self.upstream.seen()])


if __name__ == "__main__":
    unittest.main()
