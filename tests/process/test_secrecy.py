"""A day in the life of a server, with secrets that are marked; then a search for them wherever they have no business:
in the log at its most talkative, in both formats, in metrics, in problems, in the data directory, and in /proc of boxes."""
import hashlib
import json
import pathlib
import re
import subprocess
import unittest
import urllib.parse

from gate_fixture import Approver
from postgres import Postgres
from server_process import BINARY, Server, wait_until
from test_openapi import operations

VAULT = "marked-vault-value-0123456789abcdef"
PROVIDER = "sk-ant-marked-provider-key-0123456789"
RUNNER = "rk_marked_runner_key_0123456789"
ADMIN = "sk_adm_marked0admin0key0of0the0day0123456789abcdef"
WRONG = "sk_int_marked_wrong_key_that_nobody_has"
# Where the operator's own secrets are kept, each by its own right.
KEPT_BY_DESIGN = {"bootstrap.json", "vault.key", "ca.key"}
WATCHES_ITS_OWN = "import os\nfor pid in filter(str.isdigit, os.listdir('/proc')):\n" \
                  "    for name in ('environ', 'cmdline'):\n" \
                  "        try: print(open(f'/proc/{pid}/{name}').read())\n" \
                  "        except OSError: pass\n"


class Day:
    """Everything that shows a secret, or is shown one."""

    def __init__(self, server):
        self.server, self.client, self.admin = server, server.client(), server.client(ADMIN)
        self.nobody, self.problems = server.client(""), []
        boot = server.bootstrap
        self.secrets = {"vault value": VAULT, "provider key": PROVIDER, "runner key": RUNNER, "admin key": ADMIN,
                        "wrong key": WRONG, "service key": boot["service_key"],
                        "approver secret": boot["approver_key"]["secret"]}

    def keep(self, name, value):
        self.secrets[name] = value
        return value

    def refused(self, answer):
        assert answer.status >= 400, answer.body
        self.problems.append(answer.body)

    def live(self):
        self.keys_and_sessions()
        self.executions()
        self.secrets_and_runs()
        self.approvals()
        self.metrics = self.admin.get("/metrics").body

    def keys_and_sessions(self):
        tenant = self.client.get("/v1/integration/self").json()["tenant"]["id"]
        made = self.admin.post(f"/v1/tenants/{tenant}/keys", {"name": "second"}).json()
        self.keep("second service key", made["secret"])
        approver = self.admin.post(f"/v1/tenants/{tenant}/approver-keys", {"algorithm": "hmac-sha256"}).json()
        self.keep("second approver secret", approver["secret"])
        self.keep("webhook secret", self.admin.get(f"/v1/tenants/{tenant}/webhook-secret").json()["secret"])
        self.server.client(made["secret"]).get("/v1/agents")
        self.admin.delete(f"/v1/tenants/{tenant}/keys/{made['id']}")
        self.refused(self.server.client(made["secret"]).get("/v1/agents"))
        self.refused(self.server.client(WRONG).get("/v1/agents"))
        self.refused(self.server.client(ADMIN).get("/v1/agents"))
        self.refused(self.nobody.post("/console/session", {"key": WRONG}))
        code = self.keep("console code", self.admin.post("/v1/admin/console-codes").json()["code"])
        opened = self.nobody.post("/console/session", {"code": code})
        assert opened.status == 200, opened.body
        self.refused(self.nobody.post("/console/session", {"code": code}))
        cookie = opened.header("set-cookie").split(";")[0]
        self.keep("cookie", cookie.split("=", 1)[1])
        self.keep("CSRF token", opened.json()["csrfToken"])
        self.nobody.get("/v1/agents", {"Cookie": cookie})
        self.refused(self.nobody.request("POST", "/v1/agents", {"name": "x"}, {"Cookie": cookie}))

    def executions(self):
        workspace = self.server.bootstrap["workspace_id"]
        made = self.client.post(f"/api/workspaces/{workspace}/executions", {"prompt": "x"}).json()
        for kind in ("setup", "run", "upload"):
            self.keep(f"one-time token ({kind})", made["otp_" + kind])
        token = {"Authorization": made["otp_run"]}
        config = self.nobody.get(f"/api/agents/{made['id']}/config", token).json()
        bearer = self.keep("execution's bearer", config["callback"]["token"])
        self.refused(self.nobody.get(f"/api/agents/{made['id']}/config", token))
        self.nobody.get(f"/api/workspaces/{workspace}/agents", {"Authorization": "Bearer " + bearer})
        self.refused(self.nobody.get("/v1/agents", {"Authorization": "Bearer " + bearer}))
        self.refused(self.nobody.post("/sandbox/stream", {}, {"Authorization": "Bearer " + RUNNER}))
        self.refused(self.nobody.post("/sandbox/stream", {}, {"Authorization": "Bearer " + RUNNER + "x"}))

    def secrets_and_runs(self):
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        for path in (f"/v1/conversations/{conversation}/secrets", "/v1/secrets"):
            answer = self.client.request("PUT", path, {"secrets": {"A_KEY": VAULT}})
            assert answer.status == 200, answer.body
        # A refused value is not echoed.
        self.refused(self.client.request("PUT", "/v1/secrets", {"secrets": {"a-key": VAULT}}))
        script = "tool bash " + json.dumps({"command": f"python3 -c \"{WATCHES_ITS_OWN}\""})
        self.told = b"\n".join(self.client.say(conversation, script, query="?detail=full"))
        far = self.client.post("/v1/agents", {"name": "far", "model": {"provider": "anthropic", "name": "m"}}).json()
        other = self.client.post("/v1/conversations", {"agent_id": far["id"]}).json()["id"]
        self.refused(self.client.post(f"/v1/conversations/{other}/messages?stream=false", {"content": "hi"}))

    def approvals(self):
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        with self.client.send(conversation, "ask May I?").connection as connection:
            asked = connection.read_until(b'"approval_required"')
            approval = re.search(rb"apr_[0-9a-z]{26}", asked + connection.read_until(b"\n")).group(0).decode()
        signature = Approver.of(self.server).signature(approval)
        forged = dict(signature, value=signature["value"][:-4] + "AAAA")
        self.refused(self.client.post(f"/v1/approvals/{approval}/approve", {"signature": forged}))
        answer = self.client.post(f"/v1/approvals/{approval}/approve", {"signature": signature})
        assert answer.status == 200, answer.body


class Secrets(unittest.TestCase):
    def live_through(self, log_format):
        server = Server("--log.level", "debug", "--log.format", log_format, "--sandbox.driver", "namespaces",
                        "--models.retry_count_max", "1",
                        env={"ANTHROPIC_API_KEY": PROVIDER, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
                             "SLUICE_SERVER_ADMIN_KEY": ADMIN, "SLUICE_RUNNER_KEY": RUNNER})
        self.addCleanup(server.remove)
        server.start()
        day = Day(server)
        day.live()
        server.stop()
        return day

    def assert_nowhere(self, day, where, data):
        for name, secret in day.secrets.items():
            self.assertFalse(secret.encode() in data, f"the {name} is in {where}")  # and is not shown here either

    def look_everywhere(self, day):
        log = day.server.log().encode()
        self.assertGreater(len(log), 1000)
        self.assert_nowhere(day, "the log", log)
        self.assert_nowhere(day, "metrics", day.metrics)
        self.assert_nowhere(day, "a stream", day.told)
        self.assertGreater(len(day.problems), 8)
        for problem in day.problems:
            self.assert_nowhere(day, f"a problem ({problem[:200]})", problem)
        looked = 0
        for path in filter(pathlib.Path.is_file, day.server.data.rglob("*")):
            if path.name not in KEPT_BY_DESIGN:
                looked += 1
                self.assert_nowhere(day, path, path.read_bytes())
        self.assertGreater(looked, 1)

    def test_are_in_no_log_of_people_nor_anywhere_else(self):
        self.look_everywhere(self.live_through("human"))

    def test_are_in_no_log_of_machines_nor_anywhere_else(self):
        self.look_everywhere(self.live_through("json"))

    def test_what_keeps_secrets_is_for_its_owner_only(self):
        server = Server().start()
        self.addCleanup(server.remove)
        for path in (p for p in server.data.rglob("*") if p.name in KEPT_BY_DESIGN):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)
        self.assertEqual(server.data.stat().st_mode & 0o077, 0)

    def test_a_configuration_is_shown_without_them(self):
        server = Server(env={"ANTHROPIC_API_KEY": PROVIDER, "SLUICE_SERVER_ADMIN_KEY": ADMIN, "SLUICE_RUNNER_KEY": RUNNER})
        self.addCleanup(server.remove)
        for form in ((), ("--json",)):
            shown = subprocess.run([BINARY, "config", *form], env=server.environment(), capture_output=True).stdout
            self.assertIn(b"listen", shown)
            for secret in (PROVIDER, ADMIN, RUNNER):
                self.assertNotIn(secret.encode(), shown)


class DatabasePassword(unittest.TestCase):
    """The password of PostgreSQL, given by the environment or by a file, is shown nowhere."""

    PASSWORD, WRONG_PASSWORD = "marked/database@password:0123456789", "marked/wrong@database:password:01234"

    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres(settings=["fsync=off"]).start()  # processes die here, the machine does not
        cls.addClassCleanup(cls.postgres.close)

    def setUp(self):
        self.role = "role_" + hashlib.sha256(self.id().encode()).hexdigest()[:8]
        self.url = self.postgres.create_guarded_database(self.role, self.PASSWORD)

    def url_with(self, password):
        return self.url.format(urllib.parse.quote(password, safe=""))

    def server(self, password=PASSWORD, url=None, **how):
        server = Server("--log.level", "debug", "--sandbox.driver", "namespaces", "--sandbox.warm_target", "0",
                        env={"SLUICE_STORE_URL": url or self.url_with(password), "SLUICE_SERVER_ADMIN_KEY": ADMIN}, **how)
        self.addCleanup(server.remove)
        return server

    def assert_untold(self, where, told):
        for password in (self.PASSWORD, self.WRONG_PASSWORD):
            for spelt in (password, urllib.parse.quote(password, safe=""), urllib.parse.quote(password)):
                self.assertFalse(spelt.encode() in told, f"the password is in {where}")

    def look_around(self, server):
        """All output for operators, and what other users of the machine can see."""
        admin = server.client(ADMIN)
        asked = [path for path, method, operation in operations()
                 if method == "get" and {"adminKey": []} in operation.get("security", []) and "{" not in path]
        self.assertGreater(len(asked), 3)
        for path in [*asked, "/metrics", "/readyz", "/healthz"]:
            self.assert_untold(path, admin.get(path).body)
        for name in ("cmdline", "comm", "stat"):
            self.assert_untold(name, pathlib.Path(f"/proc/{server.process.pid}/{name}").read_bytes())

    def look_at_what_is_left(self, server):
        self.assert_untold("the log", server.log().encode())
        for path in filter(pathlib.Path.is_file, server.home.rglob("*")):
            self.assert_untold(path, path.read_bytes())

    def test_is_told_nobody_while_the_server_works_nor_when_its_database_is_gone(self):
        server = self.server().start()
        client = server.client()
        conversation = client.post("/v1/conversations", {}).json()["id"]
        script = "tool bash " + json.dumps({"command": f"python3 -c \"{WATCHES_ITS_OWN}\"; env"})
        self.assert_untold("a box", b"\n".join(client.say(conversation, script, query="?detail=full")))
        self.look_around(server)
        self.postgres.stop(immediate=True)
        try:
            refused = wait_until(lambda: (answer := client.post("/v1/agents", {"name": "x"})).status >= 500 and answer,
                                 "the database is missed")
            self.assert_untold("a problem", refused.body)
            self.look_around(server)
        finally:
            self.postgres.start()
        server.kill()
        self.look_at_what_is_left(server)

    def test_is_not_told_by_a_server_that_cannot_start(self):
        for name, url in {"a wrong password": self.url_with(self.WRONG_PASSWORD),
                          "an unreachable database": "postgresql://guarded:{}@127.0.0.1:1/guarded",
                          "no such database": self.url_with(self.PASSWORD).replace(f"/{self.role}?", "/missing?"),
                          "a password in the query": self.url.replace(":{}@", "@") + "&password={}",
                          "an unknown option": self.url + "&nonsense=1",
                          "a password that is not escaped": "postgresql://guarded:" + self.PASSWORD + "@127.0.0.1:1/x",
                          "another kind": "mysql://guarded:{}@127.0.0.1:1/guarded"}.items():
            with self.subTest(name):
                server = self.server(url=url.format(urllib.parse.quote(self.WRONG_PASSWORD, safe="")))
                process = server.spawn()
                self.assertEqual((process.wait(60), process.stdout.read()), (1, b""))
                process.stdout.close()
                self.assertIn("sluice: ", server.log())
                self.look_at_what_is_left(server)
                for words in (("config",), ("config", "--json"), ("doctor",), ("store", "verify"),
                              ("store", "export", "there"), ("backup", "backed-up"), ("restore", "backed-up"),
                              ("vault", "reseal")):
                    done = subprocess.run([BINARY, *words, "--data", server.data], env=server.environment(),
                                          cwd=server.home, capture_output=True, timeout=60, check=False)
                    self.assert_untold(f"what {' '.join(words)} says", done.stdout + done.stderr)

    def test_can_be_given_in_files_that_only_their_owner_reads(self):
        server = self.server(url="sqlite:unused")
        del server.env["SLUICE_STORE_URL"]
        config, passwords = server.home / "sluice.toml", server.home.parent / (server.home.name + ".pgpass")
        self.addCleanup(passwords.unlink)
        for name, lines in {config: f'[store]\nurl = "{self.url_with(self.PASSWORD)}"\n',
                            passwords: f"*:*:*:{self.role}:" + self.PASSWORD.replace(":", "\\:") + "\n"}.items():
            name.touch(mode=0o600)
            name.write_text(lines)
        server.flags += ["--config", str(config)]
        server.start()
        self.look_around(server)
        server.stop()
        config.write_text(f'[store]\nurl = "{self.url.replace(":{}@", "@")}&passfile={passwords}"\n')
        server.start()
        self.look_around(server)
        server.stop()
        self.look_at_what_is_left(server)


if __name__ == "__main__":
    unittest.main()
