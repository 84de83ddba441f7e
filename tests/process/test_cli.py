"""The command line against a live server: what it prints, what it exits with, and chat through a terminal."""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from provider_emulator import Answer, Emulator
from server_process import BINARY, PATIENCE_S, ServerTest, wait_until
from stream_grammar import check_stream


class CliTest(ServerTest):
    def sluice(self, *words, status=0, text=None, env=None):
        """Runs a client command on the server's data directory and returns its stdout."""
        done = subprocess.run([BINARY, *words, "--data", self.server.data], input=text or "", capture_output=True,
                              text=True, timeout=PATIENCE_S, env=self.server.environment() | (env or {}), check=False)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        self.stderr = done.stderr
        return done.stdout

    def sluice_json(self, *words):
        return json.loads(self.sluice(*words, "--json"))


class Sending(CliTest):
    def test_prints_the_answer_and_exits_0(self):
        self.assertEqual(self.sluice("send", "say hello there"), "hello there\n")
        self.assertEqual(self.sluice("send", "-", text="say from a pipe"), "from a pipe\n")

    def test_with_json_prints_the_stream_as_it_came(self):
        lines = self.sluice("send", "tokens 20", "--json").encode().split(b"\n")[:-1]
        events = check_stream(lines)
        self.assertEqual(self.client.events(events[0]["message_id"]), lines)

    def test_a_conversation_is_continued(self):
        conversation = self.conversation()
        self.sluice("send", "say one", "--conversation", conversation)
        self.sluice("send", "say two", "--conversation", conversation)
        self.assertEqual([m["content"] for m in self.messages(conversation)], ["say one", "one", "say two", "two"])

    def test_a_failed_run_exits_1_and_says_why(self):
        self.assertEqual(self.sluice("send", "say half\ncut", status=1), "half\n")
        self.assertRegex(self.stderr, "broke off|model-stream-cut")
        self.sluice("send", "x", "--conversation", "con_00000000000000000000000000", status=1)
        self.assertRegex(self.stderr, r"404|[Nn]ot found|no such")

    def test_wrong_usage_exits_2_and_helps(self):
        self.sluice("send", status=2)
        self.sluice("send", "x", "--conversaton", "y", status=2)
        self.assertIn("--conversation", self.stderr)

    def test_a_mistyped_command_is_answered_with_the_nearest_one(self):
        self.sluice("sned", "say hi", status=2)
        self.assertIn("there is no command sned; did you mean send?", self.stderr)
        self.sluice("runs", "cancle", "run_x", status=2)
        self.assertIn("there is no command runs cancle; did you mean runs cancel?", self.stderr)

    def test_what_is_not_there_is_named(self):
        self.sluice("agents", "show", "agt_00000000000000000000000000", status=1)
        self.assertIn("asked for /v1/agents/agt_00000000000000000000000000", self.stderr)

    def test_help_of_upkeep_shows_the_flags_that_matter_to_it(self):
        for command in ("backup", "restore", "store"):
            shown = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
            self.assertIn("--server.data, --data", shown)
            self.assertIn("sluice serve --help", shown)
            self.assertNotIn("--models.", shown)
            self.assertLess(len(shown.splitlines()), 50)
        shown = subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
        self.assertIn("--models.", shown)

    def test_with_json_what_goes_wrong_is_json_on_stdout_too(self):
        shown = json.loads(self.sluice("runs", "show", "run_00000000000000000000000000", "--json", status=1))
        self.assertEqual(shown["status"], 404)
        self.assertIn("--limit", json.loads(self.sluice("runs", "list", "--limt", "3", "--json", status=2))["error"])
        unreachable = self.sluice("runs", "list", "--json", "--url", "http://127.0.0.1:9", status=3)
        self.assertIn("127.0.0.1:9", json.loads(unreachable)["error"])
        version = subprocess.run([BINARY, "version", "--json"], capture_output=True, timeout=PATIENCE_S, check=True)
        self.assertRegex(json.loads(version.stdout)["version"], r"^\d+\.\d+")

    def test_a_hint_can_be_pasted(self):
        self.sluice("send", "say one")
        hint = re.search(r"Go on with: (.*) TEXT (.*)\n", self.stderr)
        done = subprocess.run(["sh", "-c", f"{hint[1]} 'say two' {hint[2]}"], capture_output=True, text=True,
                              timeout=PATIENCE_S, env=self.server.environment(), check=True)
        self.assertEqual(done.stdout, "two\n")

    def test_a_server_that_is_not_there_exits_3(self):
        self.sluice("messages", "con_00000000000000000000000000", "--url", "http://127.0.0.1:9", status=3)
        self.assertIn("127.0.0.1:9", self.stderr)

    def test_a_wrong_key_is_told(self):
        self.sluice("send", "x", status=1, env={"SLUICE_KEY": "sk_int_wrong"})
        self.assertNotIn("sk_int_wrong", self.stderr)

    def test_an_answer_cannot_command_the_terminal_of_its_reader(self):
        with Terminal(self.server, "send", "say a \x1b]0;owned\x07 b", "--data", str(self.server.data)) as terminal:
            shown = terminal.read_to_end()
        self.assertIn("a ", shown)
        self.assertNotIn("\x1b]0;owned", shown)


class Reading(CliTest):
    def test_messages_and_conversations(self):
        conversation = self.conversation(title="Ledger", user_id="cli-reader")
        self.client.say(conversation, "say listed words")
        shown = self.sluice("messages", conversation)
        self.assertIn("say listed words", shown)
        self.assertEqual(len(self.sluice_json("messages", conversation)["data"]), 2)
        last = self.sluice_json("messages", conversation, "--order", "desc", "--limit", "1")
        self.assertEqual((last["data"][0]["role"], last["has_more"]), ("assistant", True))
        self.assertIn("Ledger", self.sluice("conversations", "list", "--user", "cli-reader"))
        self.assertEqual(self.sluice_json("conversations", "show", conversation)["id"], conversation)
        self.assertEqual(self.sluice_json("conversations", "archive", conversation)["status"], "archived")
        self.assertEqual(self.sluice_json("conversations", "unarchive", conversation)["status"], "active")

    def test_runs_are_listed_tailed_and_cancelled(self):
        lines = self.client.say(self.conversation(), "say tail me please")
        message = json.loads(lines[0])["message_id"]
        run = next(r["id"] for r in self.sluice_json("runs", "list")["data"] if r["message_id"] == message)
        self.assertEqual(self.sluice("runs", "tail", message), "tail me please\n")
        told = self.sluice("runs", "tail", run, "--after", "1", "--json")
        self.assertEqual(told.encode().split(b"\n")[:-1], lines[2:])
        self.assertEqual(self.sluice_json("runs", "show", run)["state"], "completed")
        self.sluice("runs", "cancel", run, status=1)
        answer = self.client.send(self.conversation(), "hang")
        with answer.connection:
            next(answer.lines())
            self.assertEqual(self.sluice_json("runs", "cancel", answer.header("x-run-id"))["state"], "cancelled")

    def test_tail_follows_a_run_to_its_end(self):
        answer = self.client.send(self.conversation(), "tokens 20 40")
        with answer.connection:
            self.assertEqual(self.sluice("runs", "tail", answer.header("x-run-id")).split()[-1], "w20")


class Operating(CliTest):
    def test_tenants_and_keys(self):
        tenant = self.sluice_json("tenants", "create", "Lines")["id"]
        self.assertIn("Lines", self.sluice("tenants", "list", "--limit", "100"))
        key = self.sluice_json("keys", "create", "--tenant", tenant, "--name", "crm")
        self.assertEqual(self.server.client(key["secret"]).get("/v1/integration/self").json()["tenant"]["id"], tenant)
        self.assertNotIn(key["secret"], self.sluice("keys", "list", "--tenant", tenant))
        self.assertEqual(self.sluice_json("tenants", "suspend", tenant)["status"], "suspended")
        self.assertEqual(self.sluice_json("tenants", "resume", tenant)["status"], "active")
        self.sluice("keys", "revoke", key["id"], "--tenant", tenant)
        self.assertEqual(self.server.client(key["secret"]).get("/v1/conversations").status, 401)

    def test_agents(self):
        agent = self.sluice_json("agents", "create", "scribe", "--system", "You write.", "--max-output-tokens", "50")
        self.assertEqual((agent["system_prompt"], agent["limits"]["max_output_tokens"]), ("You write.", 50))
        self.assertIn("scribe", self.sluice("agents"))
        self.assertEqual(self.sluice_json("agents", "update", agent["id"], "--name", "clerk")["name"], "clerk")
        self.sluice("agents", "delete", agent["id"])
        self.sluice("agents", "show", agent["id"], status=1)

    def test_config_prints_the_values_in_force_with_their_sources_and_no_secret(self):
        words = [BINARY, "config", "--models.idle_seconds", "7"]
        env = self.server.environment() | {"SLUICE_LOG_LEVEL": "warn", "ANTHROPIC_API_KEY": "hush-hush-key"}
        shown = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, env=env, check=True).stdout
        self.assertRegex(shown, r"(?m)^idle_seconds = 7\b.*--models\.idle_seconds")
        self.assertRegex(shown, r'(?m)^level = "warn".*SLUICE_LOG_LEVEL')
        self.assertNotIn("hush-hush-key", shown)
        json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, timeout=PATIENCE_S, env=env,
                                  check=True).stdout)
        wrong = subprocess.run([BINARY, "config", "--models.idle_secnds", "7"], capture_output=True, text=True,
                               timeout=PATIENCE_S, env=env, check=False)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("models.idle_seconds", wrong.stderr)

    def test_doctor_says_what_the_machine_can_do(self):
        done = subprocess.run([BINARY, "doctor", "--data", self.server.home / "other"], capture_output=True, text=True,
                              timeout=PATIENCE_S, env=self.server.environment(), check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertGreater(len(done.stdout.splitlines()), 3)

    def test_doctor_says_when_sandboxes_could_open_all_files_of_the_machine(self):
        most = int(pathlib.Path("/proc/sys/fs/file-max").read_text())
        for processes in (1, 1_000_000):
            verdict = "ok" if 2 * 64 * processes <= most // 2 else "warning"
            done = subprocess.run([BINARY, "doctor", "--json", "--data", self.server.home / "other",
                                   "--capacity.max_running", "2", "--sandbox.open_files_max", "64",
                                   "--sandbox.processes_max", str(processes)], capture_output=True, text=True,
                                  timeout=PATIENCE_S, env=self.server.environment(), check=False)
            found = {check["check"]: check for check in json.loads(done.stdout)}["open files"]
            self.assertEqual(found["verdict"], verdict, found)
            self.assertIn(str(most), found["detail"])


class Doing(CliTest):
    """What an agent does besides talking."""
    flags = ("--sandbox.driver", "namespaces")

    def seen(self, script, *words):
        """All that `sluice send` prints, in the order in which it does."""
        done = subprocess.run([BINARY, "send", script, *words, "--data", self.server.data], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S,
                              env=self.server.environment(), check=False)
        return done.stdout.split("Go on with: ")[0]

    def test_a_message_shows_what_it_changed_itself(self):
        conversation = self.conversation()
        first, second, third = (self.seen(script, "--conversation", conversation) for script in
                                ("write a.txt: one\nwrite b.txt: two", "$ echo hello", "edit a.txt: one -> three"))
        self.assertIn("+ a.txt\n+ b.txt\ndiff --git a/a.txt b/a.txt\nnew file mode", first)
        self.assertEqual(second, "▸ $ echo hello\nhello\n")
        self.assertIn("~ a.txt\ndiff --git a/a.txt b/a.txt\n", third)
        self.assertIn("-one\n", third)
        self.assertIn("+three\n", third)
        self.assertNotIn("b.txt", third)

    def test_a_file_that_came_and_went_is_no_change(self):
        shown = self.seen("write w.txt.tmp.5: 1\n$ ls\n$ mv w.txt.tmp.5 w.txt")
        self.assertIn("+ w.txt\n", shown)
        self.assertNotRegex(shown, r"[-+~] w\.txt\.tmp")

    def test_output_is_shown_as_a_terminal_would_and_each_event_has_its_line(self):
        shown = self.seen(r"$ printf '\033[31mred\033[0m\n\r 10%%\r100%%\nabc'; exit 2" + "\nsay High water.\nwrite f.txt: x")
        self.assertIn("\nred\n100%\nabc\n✗ bash: exit code 2\n", shown)
        self.assertIn("High water.\n▸ write f.txt\n+ f.txt\n", shown)
        with Terminal(self.server, "send", r"$ printf '\033[31mred\033[0m\nabc'", "--data", str(self.server.data)) as terminal:
            self.assertIn("\r\nred\r\nabc\r\n", terminal.read_to_end())


class Terminal:
    """A program on a pseudo terminal."""

    def __init__(self, server, *words):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([BINARY, *words], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, env=server.environment() | {"TERM": "xterm"})
        os.close(slave)
        self.shown, self.seen = "", 0

    def type(self, text):
        os.write(self.master, text.encode())

    def read_some(self, deadline):
        if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
            raise AssertionError(f"the terminal is silent: {self.shown[-500:]!r}")
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # EIO: the other side is gone
            piece = b""
        self.shown += piece.decode(errors="replace")
        return piece

    def wait_for(self, pattern):
        """Reads until `pattern` shows after what was waited for before; returns the match."""
        deadline = time.monotonic() + PATIENCE_S
        while not (match := re.search(pattern, self.shown[self.seen:])):
            if not self.read_some(deadline):
                raise AssertionError(f"the program ended: {self.shown[-500:]!r}")
        self.seen += match.end()
        return match

    def read_to_end(self):
        deadline = time.monotonic() + PATIENCE_S
        while self.read_some(deadline):
            pass
        return self.shown

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


class Chatting(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.provider = Emulator()
        cls.addClassCleanup(cls.provider.close)
        cls.flags = ("--providers.openai-chat.base_url", cls.provider.url + "/v1")
        super().setUpClass()

    def chat(self, *words):
        return Terminal(self.server, "chat", "--data", str(self.server.data), *words)

    def test_streams_answers_and_remembers_the_conversation(self):
        conversation = self.conversation()
        with self.chat("--conversation", conversation) as terminal:
            terminal.type("say good morning\n")
            terminal.wait_for(r"(?<!say )good morning\r?\n")
            terminal.type("tokens 5 20\n")
            terminal.wait_for("w1 w2 w3 w4 w5")
            terminal.type("/quit\n")
            terminal.read_to_end()
            self.assertEqual(terminal.process.wait(PATIENCE_S), 0)
        self.assertEqual([m["content"] for m in self.messages(conversation)],
                         ["say good morning", "good morning", "tokens 5 20", "w1 w2 w3 w4 w5"])

    def test_makes_a_conversation_when_none_is_named(self):
        before = len(self.client.get("/v1/conversations?limit=100").json()["data"])
        with self.chat() as terminal:
            terminal.type("say made up\n")
            terminal.wait_for(r"(?<!say )made up\r?\n")
            terminal.type("\x04")
            terminal.read_to_end()
            self.assertEqual(terminal.process.wait(PATIENCE_S), 0)
        self.assertEqual(len(self.client.get("/v1/conversations?limit=100").json()["data"]), before + 1)

    def test_interrupting_an_answer_leaves_the_run_and_prints_how_to_resume(self):
        # The provider goes on when it is released, so that the answer is not over before it is interrupted.
        self.provider.play(Answer(texts=("one ", "two ", "three"), silent_after=2, goes_on=True))
        agent = self.client.post("/v1/agents", {"name": "slow", "model": {"provider": "openai-chat", "name": "m"}}).json()
        conversation = self.conversation(agent_id=agent["id"])
        with self.chat("--conversation", conversation) as terminal:
            terminal.type("Count.\n")
            terminal.wait_for("two")
            terminal.process.send_signal(signal.SIGINT)
            message = terminal.wait_for(r"runs tail (msg_[0-9a-z]{26})")[1]
        self.provider.released.set()
        self.assertEqual(self.sluice("runs", "tail", message), "one two three\n")
        wait_until(lambda: self.messages(conversation)[1]["status"] == "completed", "the run ends in its own time")

    def test_arrow_keys_edit_the_line_and_fetch_the_message_before(self):
        conversation = self.conversation()
        with self.chat("--conversation", conversation) as terminal:
            terminal.type("say helo\x1b[Dl\n")
            terminal.wait_for(r"(?<!say )hello\r?\n")
            terminal.type("\x1b[A there\n")
            terminal.wait_for(r"(?<!say )hello there\r?\n")
            terminal.type("/quit\n")
            terminal.read_to_end()
            self.assertEqual(terminal.process.wait(PATIENCE_S), 0)
        self.assertEqual([m["content"] for m in self.messages(conversation)],
                         ["say hello", "hello", "say hello there", "hello there"])

    def test_interrupting_the_prompt_ends_the_line_and_the_program(self):
        with self.chat() as terminal:
            terminal.wait_for("you> ")
            terminal.process.send_signal(signal.SIGINT)
            self.assertRegex(terminal.read_to_end(), r"you> \r?\n$")
            self.assertEqual(terminal.process.wait(PATIENCE_S), -signal.SIGINT)

    def test_a_message_to_a_busy_conversation_says_how_to_follow_or_cancel_the_run(self):
        with self.chat() as terminal:
            terminal.type("tokens 2000 30\n")
            terminal.wait_for("w5")
            terminal.process.send_signal(signal.SIGINT)
            terminal.wait_for("you> ")
            terminal.type("say more\n")
            run = terminal.wait_for(r"runs cancel (run_[0-9a-z]{26})")[1]
        self.sluice("runs", "cancel", run)

    def test_a_failure_does_not_end_the_chat(self):
        with self.chat() as terminal:
            terminal.type("fail 400 no such luck\n")
            terminal.wait_for(r"(?s)(502|model).*no such luck")
            terminal.type("say still here\n")
            terminal.wait_for(r"(?<!say )still here\r?\n")


if __name__ == "__main__":
    unittest.main()
