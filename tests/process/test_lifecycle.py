"""A server's life: first start, health, full disk, drain, and what it must never write down."""
import json
import os
import pathlib
import resource
import signal
import ssl
import stat
import subprocess
import tempfile
import time
import unittest

from http_client import PATIENCE_S, Client, Truncated
from server_process import BINARY, Server, ServerTest, wait_until
from stream_grammar import check_stream, slug_of, text_of
from test_hands import box_processes, comm

MARKER = "xylographic-marker-word"


class FirstStart(ServerTest):
    def test_keeps_its_secrets_to_itself(self):
        self.assertEqual(stat.S_IMODE(self.server.data.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((self.server.data / "bootstrap.json").stat().st_mode), 0o600)
        boxes = self.server.data / "sandbox"
        self.assertEqual(stat.S_IMODE(boxes.stat().st_mode) & 0o067, 0, "a box's user may pass through, no more")
        for path in self.server.data.rglob("*"):
            if boxes in (path, *path.parents):
                continue
            # Certificates are public, and boxes must be able to read them; their directory is not.
            others = 0o033 if path.suffix == ".pem" else 0o077
            # Agent programs are no secrets, and a sandbox's user passes through their directory as its group.
            others = 0o027 if path == self.server.data / "harness" else others
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & others, 0, f"others may read {path}")

    def test_I17_does_not_start_without_the_key_that_its_secrets_are_sealed_under(self):
        server = Server().start()
        self.addCleanup(server.remove)
        server.stop()
        (server.data / "vault.key").unlink()
        done = subprocess.run([BINARY, "serve", "--data", server.data, "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=2 * PATIENCE_S, env=server.environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn("vault.key_file", done.stderr)

    def test_writes_down_what_a_host_needs(self):
        boot = self.server.bootstrap
        self.assertEqual(set(boot), {"tenant_id", "service_key", "approver_key", "admin_key", "runner_key",
                                     "workspace_id", "base_url"})
        for field, prefix in (("tenant_id", "tnt_"), ("service_key", "sk_int_"), ("admin_key", "sk_adm_"),
                              ("runner_key", "sk_run_"), ("workspace_id", "wsp_")):
            self.assertTrue(boot[field].startswith(prefix), field)
        self.assertEqual(set(boot["approver_key"]), {"key_id", "algorithm", "secret"})
        self.assertEqual(boot["base_url"], self.server.url)
        me = self.client.get("/v1/integration/self").json()
        self.assertEqual(me["tenant"]["id"], boot["tenant_id"])
        self.assertEqual([k["key_id"] for k in me["approver_keys"]], [boot["approver_key"]["key_id"]])

    def test_a_second_server_on_the_same_data_is_refused(self):
        second = Server(data=self.server.data)
        self.addCleanup(second.remove)
        second.process = second.spawn()
        self.assertNotEqual(second.process.wait(PATIENCE_S), 0)
        self.assertEqual(second.process.stdout.read(), b"")
        self.assertIn(str(self.server.data), second.log())
        self.assertRegex(second.log(), r"(?i)another|already|in use|locked")
        check_stream(self.client.say(self.conversation(), "say the first one is not disturbed"))

    def test_a_port_that_is_taken_is_said_so(self):
        other = Server(listen=f"127.0.0.1:{self.server.port}")
        self.addCleanup(other.remove)
        other.process = other.spawn()
        self.assertNotEqual(other.process.wait(PATIENCE_S), 0)
        self.assertIn(str(self.server.port), other.log())

    def test_an_unknown_setting_is_an_error_with_a_suggestion(self):
        for flags in (("--models.idle_secons", "3"), ("--models.idle_seconds", "three"), ("--nonsense",)):
            wrong = Server(*flags)
            self.addCleanup(wrong.remove)
            wrong.process = wrong.spawn()
            self.assertNotEqual(wrong.process.wait(PATIENCE_S), 0)
            self.assertIn(flags[0].strip("-"), wrong.log())
        self.assertFalse((wrong.home / "data").exists(), "a refused start leaves a data directory behind")

    def test_S8_what_is_no_url_of_a_runner_ends_the_start(self):
        for url in ("garbage", "ftp://x"):
            for setting, wrong in (("SANDBOX_URL", Server(env={"SANDBOX_URL": url})),
                                   ("runner.urls", Server("--runner", url))):
                self.addCleanup(wrong.remove)
                wrong.process = wrong.spawn()
                self.assertNotEqual(wrong.process.wait(PATIENCE_S), 0)
                self.assertRegex(wrong.log(), f'{setting}: "{url}" must be the http or https URL of a runner')


class AgentPrograms(unittest.TestCase):
    def test_they_belong_to_the_server_and_not_to_a_user_of_sandboxes(self):
        server = Server()
        self.addCleanup(server.remove)
        programs = server.data / "harness"
        is_root = os.geteuid() == 0
        wanted = (0, 2_100_000_000, 0o750) if is_root else (os.geteuid(), os.getegid(), 0o700)
        for _ in range(2):
            server.start()
            there = programs.stat()
            self.assertEqual((there.st_uid, there.st_gid, there.st_mode & 0o777), wanted)
            server.stop()
            if is_root:  # as an earlier version left it
                os.chown(programs, 200_000, 200_000)
                os.chmod(programs, 0o700)


class Operations(ServerTest):
    def test_health_and_readiness_need_no_key(self):
        anyone = self.server.client("")
        self.assertEqual(anyone.get("/healthz").json(), {"status": "ok"})
        self.assertEqual(anyone.get("/readyz").json(), {"status": "ready"})
        self.assertEqual(anyone.get("/").status, 200)

    def test_metrics_are_prometheus_text_for_the_admin(self):
        self.client.say(self.conversation(), "say counted")
        self.assert_problem(self.server.client("").get("/metrics"), 401, "unauthenticated")
        self.assert_problem(self.client.get("/metrics"), 403, "insufficient-scope")
        answer = self.admin.get("/metrics")
        self.assertEqual(answer.header("content-type").split(";")[0], "text/plain")
        names = set()
        for line in answer.body.decode().splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? [-+0-9.eE]+(Inf|NaN)?( \d+)?$')
                names.add(line.split("{")[0].split(" ")[0])
        self.assertTrue(any(name.startswith("sluice_") for name in names), names)

    def test_every_answer_has_a_request_id_of_its_own(self):
        paths = ("/healthz", "/v1/runs", "/v1/none", "/problems")
        ids = [self.client.get(path).header("x-request-id") for path in paths]
        self.assertEqual(len(set(ids)), 4)

    def test_the_log_holds_no_key_and_no_content(self):
        conversation = self.conversation(title=MARKER, metadata={"k": MARKER})
        self.client.say(conversation, f"say {MARKER}", env={"WORD": MARKER})
        self.client.say(conversation, f"fail 400 {MARKER}\n")
        self.client.post("/v1/agents", {"name": "Logged", "system_prompt": MARKER})
        self.client.post(f"/v1/conversations/{conversation}/messages", {"contents": MARKER})
        self.client.post(f"/v1/conversations/{conversation}/messages", b'{"content":"' + MARKER.encode())
        self.server.client("sk_int_" + MARKER).get(f"/v1/conversations?user_id={MARKER}")
        fresh = self.admin.post(f"/v1/tenants/{self.server.bootstrap['tenant_id']}/keys", {}).json()["secret"]
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        answer = self.client.send(self.conversation(), "say traced", headers={"traceparent": trace})
        with answer.connection:
            list(answer.lines())
        request_id = answer.header("x-request-id")
        wait_until(lambda: request_id in self.server.log(), "the request shows up in the log")
        log, boot = self.server.log(), self.server.bootstrap
        self.assertNotIn(MARKER, log)
        for secret in (boot["service_key"], boot["admin_key"], boot["runner_key"], boot["approver_key"]["secret"],
                       fresh):
            self.assertNotIn(secret, log)
        self.assertIn("4bf92f3577b34da6a3ce929d0e0e4736", log)

    def test_a_near_miss_of_a_field_is_named_in_the_log(self):
        self.client.say(self.conversation(), "say hm", skil_ids=["x"])
        wait_until(lambda: "skil_ids" in self.server.log() and "skill_ids" in self.server.log(), "a warning")


class Cancelling(ServerTest):
    def test_ends_the_stream_with_an_error_and_answers_when_it_is_over(self):
        conversation = self.conversation()
        answer = self.client.send(conversation, "tokens 1000 10")
        with answer.connection:
            lines = answer.lines()
            head = [next(lines) for _ in range(3)]
            run = answer.header("x-run-id")
            cancelled = self.client.post(f"/v1/runs/{run}/cancel")
            self.assertEqual((cancelled.status, cancelled.json()["state"]), (200, "cancelled"))
            self.assertIsNotNone(cancelled.json()["ended_at"])
            events = check_stream(head + list(lines))
        self.assertEqual((events[-1]["type"], slug_of(events[-1]["data"])), ("error", "run-cancelled"))
        again = self.client.post(f"/v1/runs/{run}/cancel")
        self.assertEqual((again.status, again.json()), (200, cancelled.json()))
        self.assertEqual(self.messages(conversation)[1]["status"], "failed")
        check_stream(self.client.say(conversation, "say going on"))

    def test_a_run_that_is_over_is_a_conflict(self):
        answer = self.client.send(self.conversation(), "say done")
        with answer.connection:
            list(answer.lines())
        self.assert_problem(self.client.post(f"/v1/runs/{answer.header('x-run-id')}/cancel"), 409, "run-finished")

    def test_a_blocking_caller_hears_of_it(self):
        conversation = self.conversation()
        with self.client.connect() as connection:
            connection.send(self.client.encode("POST", f"/v1/conversations/{conversation}/messages?stream=false",
                                               {"content": "hang"}))
            runs = f"/v1/runs?conversation_id={conversation}"
            run = wait_until(lambda: self.client.get(runs).json()["data"], "a run")
            self.client.post(f"/v1/runs/{run[0]['id']}/cancel")
            answer = connection.response("POST")
            self.assert_problem(answer, 409, "run-cancelled")
            self.assertEqual(answer.header("x-message-id"), run[0]["message_id"])


class Ending(unittest.TestCase):
    # Whoever waits for the end of a drain that need not be waits in vain.
    flags = ("--sandbox.driver", "off", "--server.drain_seconds", str(int(10 * PATIENCE_S)))

    def setUp(self):
        self.server = Server(*self.flags)
        self.addCleanup(self.server.remove)
        self.client = self.server.start().client()
        self.conversation = self.client.post("/v1/conversations", {}).json()["id"]

    def test_sigterm_lets_a_stream_finish_and_exits_0(self):
        answer = self.client.send(self.conversation, "tokens 40 40")
        with answer.connection:
            lines = answer.lines()
            head = [next(lines) for _ in range(3)]
            self.server.terminate()
            self.assertEqual(text_of(check_stream(head + list(lines))).split()[-1], "w40")
        self.assertEqual(self.server.wait_exit(), 0)

    def test_sigterm_refuses_messages_while_it_drains(self):
        """A request whose end comes too late is refused or disconnected; it is never partly accepted."""
        other = self.client.post("/v1/conversations", {}).json()["id"]
        late = self.client.encode("POST", f"/v1/conversations/{other}/messages", {"content": "late"})
        answer = self.client.send(self.conversation, "tokens 80 40")
        with answer.connection, self.client.connect() as early:
            early.send(late[:-1])
            next(answer.lines())
            self.server.terminate()
            wait_until(self.is_not_ready, "the server says that it is about to go")
            try:
                early.send(late[-1:])
                refused = early.response("POST")
                self.assertEqual(refused.status, 503, refused.body)
                self.assertIn(b"/problems/unavailable", refused.body)
                self.assertIsNotNone(refused.header("retry-after"))
            except (ConnectionError, Truncated):
                pass
        self.assertEqual(self.server.wait_exit(), 0)
        self.assertEqual(self.server.start().client().get(f"/v1/conversations/{other}/messages").json()["data"], [])

    def is_not_ready(self):
        try:
            return self.client.get("/readyz").status == 503
        except ConnectionError:
            return True

    def test_an_idle_server_ends_at_once(self):
        with self.client.connect() as idle:
            idle.send(self.client.encode("GET", "/healthz"))
            idle.response().body
            self.server.terminate()
            self.assertEqual(self.server.wait_exit(), 0)

    def test_a_signal_while_it_starts_ends_it_before_it_serves(self):
        """The signal is there before the program is: it stays pending through exec."""
        def with_a_pending_signal():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            os.kill(os.getpid(), signal.SIGTERM)

        other = Server()
        self.addCleanup(other.remove)
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data", other.data], capture_output=True,
                              env=other.environment(), preexec_fn=with_a_pending_signal, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertIn(b"stopped before serving", done.stderr)
        other.start().stop()

    def test_a_second_signal_does_not_wait(self):
        answer = self.client.send(self.conversation, "hang")
        with answer.connection:
            next(answer.lines())
            self.server.terminate()
            self.server.process.send_signal(signal.SIGINT)
            self.server.process.wait(PATIENCE_S)
        self.server.kill()
        self.server.start()
        runs = self.server.client().get(f"/v1/runs?conversation_id={self.conversation}").json()["data"]
        self.assertEqual(len(runs), 1)

    def test_what_a_drain_leaves_is_taken_up_by_the_next_server(self):
        self.server.stop()
        self.server.flags = ["--sandbox.driver", "off", "--server.drain_seconds", "1"]
        client = self.server.start().client()
        answer = client.send(self.conversation, "tokens 100 50")  # twice as long as the drain
        with answer.connection:
            lines = answer.lines()
            head = [next(lines) for _ in range(3)]
            self.server.terminate()
            self.assertEqual(self.server.wait_exit(), 0)
        client = self.server.start().client()
        again = client.events(answer.header("x-message-id"))
        self.assertEqual(again[:3], head)
        self.assertEqual(text_of(check_stream(again)).split()[-1], "w100")


class Tls(unittest.TestCase):
    def test_a_stream_over_tls_is_the_same_stream(self):
        home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        cert, key = home / "cert.pem", home / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = Server("--tls-cert", str(cert), "--tls-key", str(key))
        self.addCleanup(server.remove)
        server.start()
        self.assertTrue(server.url.startswith("https://"), server.url)
        trust = ssl.create_default_context(cafile=cert)
        client = Client(server.host, server.port, server.bootstrap["service_key"], tls=trust)
        conversation = client.post("/v1/conversations", {}).json()["id"]
        self.assertEqual(text_of(check_stream(client.say(conversation, "tokens 5000"))).split()[-1], "w5000")
        with Client(server.host, server.port, "").connect() as plain:
            plain.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertNotIn(b"200 OK", plain.read_to_end())
        self.assertEqual(client.get("/healthz").json(), {"status": "ok"})
        server.stop()

    def test_a_bad_certificate_is_said_so_at_the_start(self):
        server = Server("--tls-cert", "/nonexistent.pem", "--tls-key", "/nonexistent.key")
        self.addCleanup(server.remove)
        server.process = server.spawn()
        self.assertNotEqual(server.process.wait(PATIENCE_S), 0)
        self.assertIn("/nonexistent", server.log())


class AFullDisk(unittest.TestCase):
    """The data directory is on a tmpfs of its own; without the right to mount, on a file size limit."""

    may_mount = True

    def setUp(self):
        self.mount = pathlib.Path(tempfile.mkdtemp(prefix="sluice-full-"))
        mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", self.mount]
        self.mounted = (self.may_mount and
                        subprocess.run(mount, capture_output=True, check=False).returncode == 0)
        # The store's own answer to a full disk is the subject, and not that runs are refused before it is full.
        self.server = Server("--limits.disk_free_bytes_min", "1", data=self.mount / "data")
        self.addCleanup(self.clean_up)
        self.server.start()
        self.client = self.server.client()

    def clean_up(self):
        self.server.remove()
        if self.mounted:
            subprocess.run(["umount", "-l", self.mount], check=True)
        os.rmdir(self.mount) if self.mounted else subprocess.run(["rm", "-r", self.mount], check=True)

    def fill(self):
        if not self.mounted:
            size = max(path.stat().st_size for path in self.server.data.iterdir())
            resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            return
        with open(self.mount / "ballast", "wb", buffering=0) as ballast:
            block = b"\0" * 65536
            while block:
                try:
                    ballast.write(block)
                except OSError:
                    block = block[:len(block) // 2]

    def free(self):
        if self.mounted:
            (self.mount / "ballast").unlink()
        else:
            resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def send_until_refused(self, conversation):
        for index in range(400):
            answer = self.client.post(f"/v1/conversations/{conversation}/messages?stream=false",
                                      {"content": f"{index} " + "x" * 100_000})
            if answer.status != 201:
                return answer
        self.fail("400 messages of 100 kB fit on a full disk")

    def test_is_a_problem_for_the_caller_and_not_the_end_of_the_server(self):
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        kept = self.client.say(conversation, "say kept")
        self.fill()
        refused = self.send_until_refused(conversation)
        self.assertGreaterEqual(refused.status, 500, refused.body)
        self.assertEqual(refused.header("content-type"), "application/problem+json")
        self.assertTrue(self.server.alive(), self.server.log()[-3000:])
        self.assertEqual(self.client.get("/healthz").status, 200)
        self.assertEqual(self.client.events(json.loads(kept[0])["message_id"]), kept)
        self.free()
        wait_until(lambda: self.client.get("/readyz").status == 200, "the server is ready again")
        fresh = self.client.post("/v1/conversations", {}).json()["id"]
        check_stream(self.client.say(fresh, "say it works again"))
        path = f"/v1/conversations/{conversation}/messages?stream=false"
        wait_until(lambda: self.client.post(path, {"content": "say not stuck"}).status == 201,
                   "the conversation that met the full disk takes messages again")
        self.assertTrue(self.server.alive())


    def sleepers(self):
        return sum(comm(pid) == "sleep\n" for pid in box_processes(self.server.process.pid))

    def test_S10_a_cancel_that_cannot_be_written_is_answered_and_stops_the_work(self):
        runs = []
        for _ in range(6):
            conversation = self.client.post("/v1/conversations", {}).json()["id"]
            stream = self.client.send(conversation, "$ sleep 86400", patience_s=8 * PATIENCE_S)
            self.addCleanup(stream.close)
            runs.append(stream.header("x-run-id"))
        wait_until(lambda: self.sleepers() == len(runs), "all are at work")
        large = self.client.post("/v1/conversations", {}).json()["id"]
        self.fill()
        self.send_until_refused(large)
        # What is left on the disk is enough for some of them at most.
        for index, run in enumerate(runs):
            began = time.monotonic()
            answer = self.client.post(f"/v1/runs/{run}/cancel", patience_s=2 * PATIENCE_S)
            waited_s = time.monotonic() - began
            self.assertEqual(self.sleepers(), len(runs) - index - 1, "its work is stopped")
            if answer.status != 200:
                break
        self.assertEqual((answer.status, answer.header("content-type")), (503, "application/problem+json"), answer.body)
        self.assertIn(run, answer.json()["detail"])
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        self.assertLess(waited_s, PATIENCE_S)
        self.assertNotEqual(self.client.get(f"/v1/runs/{run}").json()["state"], "cancelled")
        self.free()
        wait_until(lambda: self.client.get(f"/v1/runs/{run}").json()["state"] == "cancelled", "it is written")
        self.assertEqual(self.client.post(f"/v1/runs/{run}/cancel").status, 200)


class ADiskThatErrs(ServerTest):
    """A limit on the size of files: the database cannot tell whether a write succeeded."""

    def limit(self, size):
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def test_while_a_record_is_written_stops_nothing_for_longer_than_it_errs(self):
        self.addCleanup(lambda: self.server.alive() and self.limit(resource.RLIM_INFINITY))
        self.limit(1)
        self.assert_problem(self.admin.post("/v1/tenants", {"name": "lost"}), 503, "unavailable")
        wait_until(lambda: self.client.get("/readyz").status == 503, "the server says that it is not ready")
        self.limit(resource.RLIM_INFINITY)
        # No message comes, as from a balancer that heeds the readiness.
        wait_until(lambda: self.client.get("/readyz").status == 200, "the server is ready again")
        self.assertEqual(self.admin.post("/v1/tenants", {"name": "kept"}).status, 201)


class AFileSizeLimit(AFullDisk):
    """Reaching it raises SIGXFSZ, which must not kill."""

    may_mount = False


class TheProgram(unittest.TestCase):
    def test_says_its_version_and_its_verbs(self):
        told = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True, timeout=20).stdout
        self.assertRegex(told, r"^sluice \d+\.\d+\.\d+")
        usage = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True, timeout=20).stdout
        for verb in ("serve", "chat", "send", "messages", "runs", "keys", "tenants", "agents", "doctor", "config"):
            self.assertIn(verb, usage)
        wrong = subprocess.run([BINARY, "serv"], capture_output=True, text=True, check=False, timeout=20)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("serve", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
