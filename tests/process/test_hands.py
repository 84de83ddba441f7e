"""What an agent does with its hands, through the real server and a real sandbox (S-2, S-5, S-9, S-10, S-11, H-4,
H-5): every tool the offline model can drive, the files it leaves, and what is left when it ends."""
import json
import pathlib
import subprocess
import unittest

from server_process import Server, ServerTest, wait_until


def box_processes(server_pid):
    """The processes below the server: the zygote, and whatever runs in boxes."""
    children = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, waiting = [], [server_pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def sleepers(server):
    return [p for p in box_processes(server.process.pid) if "sleep" in comm(p)]


class HandsTest(ServerTest):
    flags = ("--sandbox.driver", "namespaces")

    def ask(self, script, conversation=None):
        """All events of one run, in full detail."""
        conversation = conversation or self.conversation()
        answer = self.client.send(conversation, script, query="?detail=full")
        with answer.connection:
            self.run_id = answer.header("x-run-id")
            return [json.loads(line) for line in answer.lines()]

    def steps(self, events):
        return [e["data"] for e in events if e["type"] == "step"]

    def results(self, events):
        for event in events:
            if event["type"] == "error":
                self.fail(f"the run failed: {event['data']}")
        return [s.get("result", s.get("error")) for s in self.steps(events) if s["status"] != "running"]

    def metric(self, name):
        text = self.admin.get("/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(name + " ") or line.startswith(name + "{"))


class Tools(HandsTest):
    def test_S9_a_command_is_a_step_with_its_output_as_it_comes(self):
        events = self.ask("$ echo one; echo two >&2; exit 3\nsay {{last}}")
        running, ended = self.steps(events)
        self.assertEqual((running["status"], running["name"], running["args"]),
                         ("running", "bash", {"command": "echo one; echo two >&2; exit 3"}))
        self.assertEqual(ended["id"], running["id"])
        self.assertIn(ended["status"], ("succeeded", "failed"))
        self.assertGreaterEqual(ended["durationMs"], 0)
        told = {(e["data"]["stream"], e["data"]["text"]) for e in events if e["type"] == "output"}
        self.assertEqual(told, {("stdout", "one\n"), ("stderr", "two\n")})
        self.assertIn("exit code 3", json.dumps(ended))
        self.assertEqual(events[-1]["type"], "message_end")

    def test_every_tool_works_on_the_same_workspace(self):
        events = self.ask("\n".join([
            "write notes/tide.md: high water at noon",
            "edit notes/tide.md: noon -> dusk",
            "read notes/tide.md",
            'call grep {"pattern":"d[u]sk"}',
            'call glob {"pattern":"**/*.md"}',
            'call list {"path":"notes"}',
            "$ cat notes/tide.md && pwd",
        ]))
        results = self.results(events)
        self.assertEqual(len(results), 7)
        self.assertIn("high water at dusk", results[2])
        self.assertIn("notes/tide.md", results[3])
        self.assertIn("notes/tide.md", results[4])
        self.assertIn("tide.md", results[5])
        self.assertIn("high water at dusk", results[6])
        self.assertIn("/workspace", results[6])

    def test_a_failed_tool_reports_why_and_the_run_continues(self):
        events = self.ask("read no/such/file\nsay after")
        ended = self.steps(events)[-1]
        self.assertEqual(ended["status"], "failed")
        self.assertIn("no/such/file", ended["error"])
        self.assertEqual(events[-1]["data"]["message"]["content"], "after")

    def test_H4_H5_file_changes_are_sent_at_once_and_the_diff_at_the_end(self):
        events = self.ask("$ mkdir -p a/b/c && echo x > a/b/c/deep.txt\n$ echo y >> a/b/c/deep.txt; echo z > gone; rm gone")
        told = [(e["data"]["type"], e["data"]["path"]) for e in events if e["type"] == "file"]
        self.assertIn(("create", "a/b/c/deep.txt"), told)
        diffs = [e["data"] for e in events if e["type"] == "diff"]
        self.assertEqual([d["path"] for d in diffs], ["."])
        self.assertIn("diff --git a/a/b/c/deep.txt b/a/b/c/deep.txt", diffs[0]["diff"])
        self.assertIn("+x\n+y\n", diffs[0]["diff"])
        self.assertNotIn("gone", diffs[0]["diff"])

    def test_H5_what_the_run_alone_changed_comes_beside_a_diff_that_has_more_in_it(self):
        conversation = self.conversation()
        told = [self.ask(script, conversation) for script in
                ("write one.md: first\nwrite two.md: second", "$ date", "edit one.md: first -> third", "$ rm one.md two.md")]
        own = [[e["data"]["value"]["diff"] for e in events if e["type"] == "custom" and e["data"]["name"] == "sluice.run-diff"]
               for events in told]
        self.assertEqual(own[:2], [[], [""]], "the diff is the first run's own, and the second one changed nothing")
        self.assertIn("-first\n", own[2][0])
        self.assertIn("+third\n", own[2][0])
        self.assertNotIn("two.md", own[2][0])
        self.assertIn("deleted file mode", own[3][0])
        self.assertEqual([sum(e["type"] == "diff" for e in events) for events in told], [1, 1, 1, 0],
                         "after every run that leaves one")

    def test_H5_the_diff_is_all_that_was_changed_since_the_conversation_began(self):
        conversation = self.conversation()
        told = [self.ask(words, conversation) for words in ("write one.txt: first", "write two.txt: second", "read one.txt",
                                                            "say Thanks.")]
        diffs = [[e["data"]["diff"] for e in events if e["type"] == "diff"] for events in told]
        self.assertEqual([len(of_run) for of_run in diffs], [1, 1, 1, 1])
        self.assertIn("+first", diffs[1][0])
        self.assertIn("+second", diffs[1][0])
        self.assertEqual(diffs[2], diffs[1], "also after a run that changed nothing")
        self.assertEqual(diffs[3], diffs[1], "also after a run that only talked")
        self.assertFalse([e for e in told[3] if e["type"] == "log" and e["data"].get("phase") == "sandbox"])

    def test_I9_the_texts_of_two_rounds_are_two_paragraphs_of_one_content(self):
        events = self.ask("put First.\n$ echo x\nput Second.")
        message = events[-1]["data"]["message"]
        self.assertEqual(message["content"], "First.\n\nSecond.")
        self.assertEqual(message["parts"], [{"type": "text", "text": message["content"]}])
        self.assertEqual("".join(e["data"]["text"] for e in events if e["type"] == "content_delta"), message["content"])
        apart = self.ask("put First. \n$ echo x\nput Second.")
        self.assertEqual(apart[-1]["data"]["message"]["content"], "First. Second.", "which the agent parted itself")

    def test_a_conversation_finds_its_files_again_and_another_does_not(self):
        conversation = self.conversation()
        self.ask("write kept.txt: still here", conversation)
        self.assertIn("still here", self.results(self.ask("read kept.txt", conversation))[0])
        self.assertIn("No such file", json.dumps(self.ask("$ cat kept.txt")))

    def test_the_first_words_do_not_wait_for_a_sandbox(self):
        opened = self.metric("sluice_sandbox_opened_total")
        self.ask("say only words")
        self.assertEqual(self.metric("sluice_sandbox_opened_total"), opened)

    def test_an_output_flood_is_cut_and_says_so(self):
        events = self.ask("$ head -c 50000000 /dev/zero | tr '\\\\0' x; echo end")
        told = sum(len(e["data"]["text"]) for e in events if e["type"] == "output")
        self.assertLess(told, 5_000_000)
        result = self.results(events)[0]
        self.assertLess(len(result), 40_000)
        self.assertIn("left out", result)


class Trace(HandsTest):
    def test_S11_the_files_of_a_run_look_the_same_live_and_afterwards(self):
        conversation = self.conversation()
        answer = self.client.send(conversation, "$ echo hi\nsay done", query="")
        with answer.connection:
            run = answer.header("x-run-id")
            live = self.client.get(f"/v1/runs/{run}/stream.jsonl").body
            list(answer.lines())
        self.assertEqual(self.client.get(f"/v1/runs/{run}/stream.jsonl").body, live)
        lines = [json.loads(line) for line in live.decode().splitlines()]
        self.assertLessEqual({line["type"] for line in lines}, {"log", "step", "result", "error"})
        self.assertEqual((lines[-1]["type"], lines[-1]["message"]), ("result", "done"))
        steps = self.client.get(f"/v1/runs/{run}/steps.json").json()
        self.assertEqual([(s["name"], s["status"], s["args"]) for s in steps],
                         [("bash", "succeeded", {"command": "echo hi"})])
        result = self.client.get(f"/v1/runs/{run}/result.json").json()
        self.assertEqual((result["state"], result["message"]["content"]), ("completed", "done"))

    def test_S5_each_phase_is_in_the_log_with_its_duration(self):
        self.ask("$ true")
        lines = [json.loads(line) for line in
                 self.client.get(f"/v1/runs/{self.run_id}/stream.jsonl").body.decode().splitlines()]
        phases = {line["phase"]: line["durationMs"] for line in lines if line.get("phase")}
        self.assertLessEqual({"sandbox", "run", "settle"}, set(phases), phases)
        self.assertTrue(all(isinstance(ms, int) and ms >= 0 for ms in phases.values()), phases)

    def test_S12_files_under_assets_are_returned(self):
        self.ask("$ mkdir assets; echo a,b > 'assets/my table.csv'; ln -s /etc/passwd assets/p.txt; cp /bin/true assets/x.exe")
        files = self.client.get(f"/v1/runs/{self.run_id}/files").json()["data"]
        self.assertEqual([f["name"] for f in files], ["my_table.csv"])
        content = self.client.get(f"/v1/files/{files[0]['id']}/content")
        self.assertEqual((content.status, content.body), (200, b"a,b\n"))


class Ends(HandsTest):
    def test_S10_cancel_ends_the_sandbox_and_answers_when_it_is_gone(self):
        answer = self.client.send(self.conversation(), "$ (trap '' TERM; sleep 600) & sleep 600", query="?detail=full")
        with answer.connection:
            run = answer.header("x-run-id")
            inside = wait_until(lambda: sleepers(self.server), "the command begins")
            self.assertEqual(self.client.post(f"/v1/runs/{run}/cancel", {}).status, 200)
            self.assertEqual([p for p in inside if alive(p)], [], "proven dead when the answer came")
        self.assertEqual(self.client.get(f"/v1/runs/{run}").json()["state"], "cancelled")

    def test_a_run_that_takes_too_long_is_ended_with_its_sandbox(self):
        agent = self.client.post("/v1/agents", {"name": "hasty", "limits": {"max_runtime_seconds": 1}}).json()["id"]
        events = self.ask("$ sleep 600", self.conversation(agent_id=agent))
        self.assertEqual(events[-1]["type"], "error")
        self.assertIn("runtime-exceeded", events[-1]["data"]["type"])
        wait_until(lambda: not sleepers(self.server), "the box is gone")


class ModelOnTheLoopback(ServerTest):
    flags = ("--sandbox.driver", "namespaces", "--providers.near.dialect", "openai-responses", "--providers.near.base_url",
             "http://127.0.0.1:1/v1", "--providers.near.api_key_env", "GPU_KEY")

    def test_an_agent_program_cannot_be_given_a_model_on_the_loopback_which_a_native_agent_may_have(self):
        near = {"provider": "near", "name": "m"}
        refused = self.client.post("/v1/agents", {"name": "codex", "agent_type": "codex", "model": near})
        problem = self.assert_problem(refused, 422, "validation-error")
        self.assertEqual([error["pointer"] for error in problem["errors"]], ["/model"])
        self.assertIn("http://127.0.0.1:1/v1 is on the loopback interface", problem["errors"][0]["message"])
        native = self.client.post("/v1/agents", {"name": "native", "model": near})
        self.assertEqual(native.status, 201, native.body)
        path = f"/v1/agents/{native.json()['id']}"
        self.assert_problem(self.client.patch(path, {"agent_type": "codex"}), 422, "validation-error")
        self.assertEqual(self.client.get(path).json()["agent_type"], "native")


class Death(unittest.TestCase):
    def test_sandboxes_end_with_a_killed_server_and_the_run_reports_it(self):
        server = Server("--sandbox.driver", "namespaces")
        self.addCleanup(server.remove)
        server.start()
        client = server.client()
        conversation = client.post("/v1/conversations", {}).json()["id"]
        answer = client.send(conversation, "write kept.txt: x\n$ sleep 600", query="?detail=full")
        with answer.connection:
            run = answer.header("x-run-id")
            wait_until(lambda: sleepers(server), "the command begins")
            below = box_processes(server.process.pid)
            server.kill()
        wait_until(lambda: not [p for p in below if alive(p)], "no process outlives the server")
        server.start()
        client = server.client()
        wait_until(lambda: client.get(f"/v1/runs/{run}").json()["state"] == "failed", "the run is told to be over")
        error = client.get(f"/v1/runs/{run}/result.json").json()["error"]
        self.assertTrue(error["type"].endswith("/run-interrupted"), error)
        again = client.send(conversation, "$ ls", query="?detail=full")
        with again.connection:
            self.assertEqual(json.loads(list(again.lines())[-1])["type"], "message_end")
        mounts = subprocess.run(["grep", "-c", str(server.data), "/proc/self/mounts"], capture_output=True, text=True)
        self.assertEqual(mounts.stdout.strip(), "0")


if __name__ == "__main__":
    unittest.main()
