"""Every route of openapi/openapi.yaml, against everybody who has no right to it: the exact answer, and nothing changed.

A route that is added to the file is in the matrix, with its first good example as the request."""
import base64
import hashlib
import re
import sqlite3
import time
import unittest

from intruders import (EMPTY_FOR_OTHERS, MAY_WHEN_SUSPENDED, NOBODY, NOT_YOURS, SUSPENDED, WRONG_KIND, Intruder, Route, altered, bearer,
                       box_bearer, strangers, to_a_box, to_a_page_elsewhere, to_an_operator_without_tenant,
                       to_another_tenant, to_nobody, to_the_operator)
from openapi_examples import EXAMPLES
from server_process import Server, ServerTest, wait_until
from test_openapi import SPEC, make_things, operations
from workspace_emulator import Workspace

# Journals are sealed in the background.
UNSTEADY_TABLES, UNSTEADY_COLUMNS = {"journal", "sealed_journals"}, {"journal_rows"}


def all_rows(server):
    """Every row of every table, and the digest of every file that is kept."""
    with sqlite3.connect(f"file:{server.data / 'sluice.db'}?mode=ro", uri=True) as store:
        store.row_factory = sqlite3.Row
        names = [row[0] for row in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        kept = {name: [{column: row[column] for column in row.keys() if column not in UNSTEADY_COLUMNS}
                       for row in store.execute(f'SELECT * FROM "{name}"')]
                for name in names if name not in UNSTEADY_TABLES}
    store.close()
    files = (server.data / "files").rglob("*")
    return kept | {"files on disk": sorted(str(path) for path in files if path.is_file())}


class MatrixTest(ServerTest):
    flags = ("--tools.urls", "https://tools.example", "--limits.wrong_keys_per_minute", "0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.things = make_things(cls("conversation"))
        cls.routes = [cls.route_of(path, method, operation) for path, method, operation in operations()]
        cls.nobody = cls.server.client("")
        cls.make_another_tenant()

    @classmethod
    def route_of(cls, path, method, operation):
        name = operation["operationId"]
        good = [example for example in EXAMPLES[name] if example[2] < 300]
        target, body, _, *headers = (good or EXAMPLES[name])[0]
        return Route(name=name, method=method.upper(), template=path, target=target.format(**cls.things),
                     schemes=frozenset(s for need in operation.get("security", SPEC["security"]) for s in need),
                     body=body(cls.things) if callable(body) else body,
                     headers={k: v for k, v in (headers[0] if headers else {}).items()
                              if k not in ("Authorization", "Cookie", "X-CSRF-Token")})

    @classmethod
    def make_another_tenant(cls):
        cls.other = cls.admin.post("/v1/tenants", {"name": "Other"}).json()["id"]
        cls.other_workspace = cls.other.replace("tnt_", "wsp_")
        cls.other_key = cls.admin.post(f"/v1/tenants/{cls.other}/keys", {"name": "k"}).json()["secret"]

    @classmethod
    def execution(cls, client, workspace):
        """With its bearer, which is shown once."""
        agent = next(agent["id"] for agent in client.get("/v1/agents").json()["data"] if agent["is_default"])
        client.patch(f"/v1/agents/{agent}", {"workspace": "write"})
        made = client.post(f"/api/workspaces/{workspace}/executions").json()
        config = cls.nobody.get(f"/api/agents/{made['id']}/config", {"Authorization": made["otp_run"]}).json()
        return made | {"bearer": config["callback"]["token"]}

    def session_of(self, key):
        opened = self.nobody.post("/console/session", {"key": key})
        self.assertEqual(opened.status, 200, opened.body)
        return {"Cookie": opened.header("set-cookie").split(";")[0]}, {"X-CSRF-Token": opened.json()["csrfToken"]}

    def ask(self, route, headers, target=None):
        return self.nobody.request(route.method, target or route.target, route.body, route.headers | headers)

    def assert_turned_away(self, answer, expected):
        self.assert_problem(answer, *expected)
        self.assertEqual(answer.header("www-authenticate"), "Bearer" if expected == NOBODY else None)

    def assert_nothing_changed(self, before):
        after = all_rows(self.server)
        self.assertEqual(before.keys(), after.keys())
        for table, rows in after.items():
            self.assertEqual(rows, before[table], f"{table} has changed")

    def sweep(self, *intruders):
        for intruder in intruders:
            before, asked = all_rows(self.server), 0
            for route in self.routes:
                expected = intruder.answer(route) if route.schemes else None
                if expected is None:
                    continue
                asked += 1
                with self.subTest(who=intruder.name, operation=route.name):
                    self.assert_turned_away(self.ask(route, intruder.headers), expected)
            with self.subTest(who=intruder.name):
                self.assertGreater(asked, 5)
                self.assert_nothing_changed(before)


class Strangers(MatrixTest):
    def test_are_turned_away_everywhere(self):
        self.assertGreater(len(self.routes), 170)
        self.sweep(*strangers(self.server))

    def test_a_revoked_key_is_refused_at_once(self):
        keys = f"/v1/tenants/{self.things['own_tenant']}/keys"
        made = self.admin.post(keys, {"name": "to revoke"}).json()
        self.assertEqual(self.server.client(made["secret"]).get("/v1/agents").status, 200)  # it is remembered now
        cookie, csrf = self.session_of(made["secret"])
        self.assertEqual(self.admin.delete(f"{keys}/{made['id']}").status, 200)
        self.sweep(Intruder("a revoked key", bearer(made["secret"]), to_nobody),
                   Intruder("the session of a revoked key", cookie | csrf,
                            lambda route: WRONG_KIND if route.name == "updateConsoleSession" else to_nobody(route)))

    def test_used_tokens_and_tokens_of_another_purpose_buy_nothing(self):
        made = self.execution(self.client, self.things["workspace"])
        self.sweep(Intruder("a used token", {"Authorization": made["otp_run"]}, to_nobody),
                   Intruder("a token of another execution", {"Authorization": made["otp_setup"]}, to_nobody),
                   Intruder("a token as bearer", bearer(made["otp_upload"]), to_nobody))
        for purpose, path in (("setup", "config"), ("run", "env"), ("upload", "env")):
            answer = self.nobody.get(f"/api/agents/{made['id']}/{path}", {"Authorization": made["otp_" + purpose]})
            self.assert_problem(answer, 401, "token-invalid")

    def test_an_expired_token_is_refused(self):
        made = self.execution(self.client, self.things["workspace"])
        # A moment ago: what expired long ago is forgotten, at a time of the server's own.
        with sqlite3.connect(self.server.data / "sluice.db", timeout=30) as store:
            for table in ("executions", "one_time_tokens"):
                told = hashlib.sha256(made["bearer" if table == "executions" else "otp_setup"].encode()).digest()
                column = "bearer_sha256" if table == "executions" else "sha256"
                changed = store.execute(f"UPDATE {table} SET expires_at = ? WHERE {column} = ?",
                                        (int(time.time() * 1000) - 1, told))
                self.assertEqual(changed.rowcount, 1)
        store.close()
        own = f"/api/agents/{made['id']}/env"
        self.assert_problem(self.nobody.get(own, {"Authorization": made["otp_setup"]}), 401, "token-invalid")
        ended = box_bearer(self.server, self.things["run"], self.things["own_tenant"])
        self.sweep(Intruder("an expired bearer", bearer(made["bearer"]), to_nobody),
                   Intruder("the bearer of a box whose run is over", bearer(ended), to_nobody))


class TheWrongKind(MatrixTest):
    def test_the_operator_is_no_tenant(self):
        self.sweep(Intruder("the admin key", bearer(self.server.bootstrap["admin_key"]), to_the_operator))

    def test_sandboxes_reach_only_their_own_workspace(self):
        own = self.execution(self.client, self.things["workspace"])
        foreign = self.execution(self.server.client(self.other_key), self.other_workspace)
        running = self.server.client(self.other_key).send(self.others_conversation(), "hang")
        with running.connection:
            next(running.lines())
        box = box_bearer(self.server, running.header("x-run-id"), self.other)
        listed = self.nobody.get(f"/api/workspaces/{self.other_workspace}/agents", bearer(box))
        self.assertEqual(listed.status, 200, "the bearer is good where it is meant for")
        elsewhere = box_bearer(self.server, running.header("x-run-id"), self.things["own_tenant"])
        self.sweep(Intruder("the bearer of an execution", bearer(own["bearer"]), lambda route: to_a_box(route, True)),
                   Intruder("the bearer of another tenant's execution", bearer(foreign["bearer"]),
                            lambda route: to_a_box(route, False)),
                   Intruder("the bearer of another tenant's box", bearer(box), lambda route: to_a_box(route, False)),
                   Intruder("a bearer with a forged seal", bearer(altered(box)), to_nobody),
                   Intruder("a sealed bearer that names another tenant", bearer(elsewhere), to_nobody))

    def others_conversation(self):
        return self.server.client(self.other_key).post("/v1/conversations", {}).json()["id"]


class AnotherTenant(MatrixTest):
    def test_finds_nothing_under_ids_that_are_not_its_own(self):
        self.sweep(Intruder("another tenant's key", bearer(self.other_key), to_another_tenant))

    def test_finds_nothing_under_them_in_its_own_workspace_either(self):
        before, asked = all_rows(self.server), 0
        for route in self.routes:
            if not route.for_services or route.template.count("{") < 2 or "{workspace_id}" not in route.template:
                continue
            asked += 1
            with self.subTest(operation=route.name):
                answer = self.ask(route, bearer(self.other_key),
                                  route.target.replace(self.things["workspace"], self.other_workspace))
                if route.name in EMPTY_FOR_OTHERS:
                    self.assertEqual((answer.status, answer.json()["data"]), (200, []))
                else:
                    self.assert_turned_away(answer, NOT_YOURS)
        self.assertGreater(asked, 20)
        self.assert_nothing_changed(before)

    def test_sees_none_of_them_in_its_lists(self):
        ids = {value for value in self.things.values()
               if isinstance(value, str) and re.fullmatch(r"[a-z]{3}_[0-9a-z]{26}", value)}
        ids -= {self.things["skill"]}
        for route in self.routes:
            if route.writes or not route.for_services or route.template.count("{") > ("{workspace_id}" in route.template):
                continue
            target = route.target.replace(self.things["workspace"], self.other_workspace).split("?")[0]
            with self.subTest(operation=route.name):
                answer = self.ask(route, bearer(self.other_key), target)
                if answer.status == 200:
                    self.assertEqual({i for i in ids if i.encode() in answer.body}, set())

    def test_cannot_name_them_in_a_body_or_a_query(self):
        things, client = self.things, self.server.client(self.other_key)
        own = client.post("/v1/conversations", {}).json()["id"]
        before = all_rows(self.server)
        executions = f"/api/workspaces/{self.other_workspace}/executions"
        for method, target, body, statuses in (
                ("POST", "/v1/conversations", {"agent_id": things["agent"]}, (404, 422)),
                ("POST", "/v1/agents", {"name": "x", "skill_ids": [things["skill"]]}, (404, 422)),
                ("POST", "/v1/agents", {"name": "x", "environment_id": things["environment"]}, (404, 422)),
                ("POST", f"/v1/conversations/{own}/messages", {"content": "x", "skill_ids": [things["skill"]]}, (404, 422)),
                ("POST", f"/v1/conversations/{own}/messages",
                 {"content": "x", "repository_id": things["repository"]}, (404, 422)),
                ("PATCH", f"/v1/conversations/{own}", {"agent_id": things["agent"]}, (404, 422)),
                ("POST", executions, {"skill_ids": [things["skill"]]}, (404, 422)),
                ("POST", executions, {"agent_id": things["agent"]}, (404, 422)),
                ("POST", "/api/assistant/chat/stream", {"message": "x", "chatId": things["chat"]}, (404,)),
                ("GET", f"/api/assistant/chat/stream?streamId={things['chat_stream']}", None, (404,)),
                ("GET", f"/v1/runs?conversation_id={things['conversation']}", None, (404,)),
                ("GET", f"/agui?runId={things['run']}&offset=-1", None, (404,)),
                ("GET", "/agui?runId=talked&offset=-1", None, (404,)),
                ("DELETE", "/agui?runId=running&threadId=running", None, (404,))):
            with self.subTest(target=target, body=body):
                answer = client.request(method, target, body)
                self.assertIn(answer.status, statuses, answer.body)
                self.assertEqual(answer.header("content-type"), "application/problem+json")
        self.assert_nothing_changed(before)


class SuspendedTenants(MatrixTest):
    def test_may_read_and_stop_cost_and_nothing_else(self):
        tenant = f"/v1/tenants/{self.things['own_tenant']}"
        self.assertEqual(self.admin.patch(tenant, {"status": "suspended"}).status, 200)
        cookie, csrf = self.session_of(self.server.bootstrap["service_key"])

        def answer(route):
            return SUSPENDED if route.for_services and route.writes and route.name not in MAY_WHEN_SUSPENDED else None
        own = bearer(self.server.bootstrap["service_key"])
        self.sweep(Intruder("a suspended tenant's key", own, answer),
                   Intruder("a suspended tenant's session", cookie | csrf, answer))
        for route in self.routes:
            if route.for_services and not route.writes:
                with self.subTest(operation=route.name):
                    self.assertLess(self.ask(route, own).status, 300)


class Sessions(MatrixTest):
    def test_need_the_proof_that_our_page_asks(self):
        cookie, csrf = self.session_of(self.server.bootstrap["service_key"])
        elsewhere = {"Origin": "https://elsewhere.example"}
        wrong = {"X-CSRF-Token": altered(csrf["X-CSRF-Token"])}
        self.sweep(Intruder("a session without a CSRF token", cookie, to_a_page_elsewhere),
                   Intruder("a session with a wrong CSRF token", cookie | wrong, to_a_page_elsewhere),
                   Intruder("a session of another page", cookie | csrf | elsewhere, to_a_page_elsewhere),
                   Intruder("a session of another site", cookie | csrf | {"Sec-Fetch-Site": "cross-site"},
                            to_a_page_elsewhere))

    def test_act_for_whom_they_were_opened(self):
        cookie, csrf = self.session_of(self.other_key)
        operator, operators_csrf = self.session_of(self.server.bootstrap["admin_key"])
        self.sweep(Intruder("another tenant's session", cookie | csrf,
                            lambda route: None if route.schemes == {"consoleSession"} else to_another_tenant(route)),
                   Intruder("the operator's session, without a tenant", operator | operators_csrf,
                            to_an_operator_without_tenant))

    def test_end_when_they_are_closed(self):
        cookie, csrf = self.session_of(self.server.bootstrap["service_key"])
        self.assertEqual(self.nobody.delete("/console/session", cookie | csrf).status, 204)
        self.sweep(Intruder("a session that was closed", cookie | csrf, to_nobody))


class TheRightOnes(MatrixTest):
    def test_are_let_in_so_that_the_matrix_can_fail(self):
        for route in self.routes:
            if route.for_services and not route.writes:
                with self.subTest(operation=route.name):
                    self.assertLess(self.ask(route, bearer(self.server.bootstrap["service_key"])).status, 300)


class Runners(unittest.TestCase):
    """Their routes are no part of the file: they are for the server, not for its users."""

    NAME = "a-dispatch-at-work"
    # Method, path after the front, body; each of them with a dispatch at work that it could read, end or forget.
    ROUTES = (("POST", "/stream", {"agent_url": "http://127.0.0.1:9/a", "otp_setup": "a", "otp_run": "b", "prompt": "x"}),
              ("GET", f"/stream/{NAME}?after=0", None), ("DELETE", f"/stream/{NAME}", None),
              ("POST", f"/stream/{NAME}/ack", {"line": 1}), ("POST", "/drain", {}))

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--sandbox.driver", "off", "--limits.wrong_keys_per_minute", "0", "--runner.agent_urls", "*")
        cls.runner = Server("--sandbox.driver", "off", "--runner.key", "rk_right_one")
        cls.runner.command, cls.runner.announcement = "runner", "sluice: runner listening on "
        for process in (cls.server, cls.runner):
            cls.addClassCleanup(process.remove)
            process.start()

    def setUp(self):
        self.workspace = Workspace()
        self.addCleanup(self.workspace.close)

    def intruders(self, good):
        """What every kind of caller of a server has to show, and `good` in the wrong clothes."""
        boot = self.server.bootstrap
        client, nobody = self.server.client(), self.server.client("")
        made = client.post(f"/api/workspaces/{boot['workspace_id']}/executions").json()
        config = nobody.get(f"/api/agents/{made['id']}/config", {"Authorization": made["otp_run"]}).json()
        opened = nobody.post("/console/session", {"key": boot["admin_key"]})
        session = {"Cookie": opened.header("set-cookie").split(";")[0], "X-CSRF-Token": opened.json()["csrfToken"]}
        shown = {"nothing": {}, "garbage": bearer("garbage"), "a near miss": bearer(altered(good)),
                 "too long": bearer(good + "x"), "too short": bearer(good[:-1]), "empty": bearer(""),
                 "Basic": {"Authorization": "Basic " + base64.b64encode(good.encode()).decode()},
                 "bare": {"Authorization": good}, "two": bearer(good) | {"authorization": "Bearer " + good},
                 "in another header": {"X-Api-Key": good}, "a service key": bearer(boot["service_key"]),
                 "the admin key": bearer(boot["admin_key"]), "an execution's bearer": bearer(config["callback"]["token"]),
                 "a box's bearer": bearer(box_bearer(self.server, "run_" + "0" * 26, boot["tenant_id"])),
                 "a token": {"Authorization": made["otp_setup"]}, "a token as bearer": bearer(made["otp_setup"]),
                 "the operator's session": session}
        return shown if good == boot["runner_key"] else shown | {"another runner's": bearer(boot["runner_key"])}

    def at_work(self, process, front, good):
        """A dispatch that has asked its workspace for all it needs."""
        answer = process.client(good).open("POST", front + "/stream", self.workspace.dispatch("sleep 600000"),
                                           {"Sluice-Dispatch": self.NAME, "Sluice-Reattach": "60"})
        self.addCleanup(answer.connection.close)
        self.assertEqual(answer.status, 200)
        wait_until(lambda: self.workspace.paths() == ["/a/env", "/a/config"], "the dispatch is at work")

    def assert_nobody(self, answer):
        self.assertEqual((answer.status, answer.header("content-type")), (401, "application/problem+json"), answer.body)
        self.assertTrue(answer.json()["type"].endswith("/problems/unauthenticated"))

    def besiege(self, process, front, good):
        self.at_work(process, front, good)
        for who, headers in self.intruders(good).items():
            for method, path, body in self.ROUTES:
                with self.subTest(who=who, method=method, path=path):
                    answer = process.client("").request(method, front + path, body, headers)
                    self.assert_nobody(answer)
                    self.assertEqual(answer.header("www-authenticate"), "Bearer")
        # No token was used, it takes more, and the dispatch is at work, with all its lines kept and its reader there.
        self.assertEqual(len(self.workspace.seen), 2)
        self.assertEqual(process.client("").get(front + "/healthz").json(), {"status": "ok", "slots": 64, "free": 63})
        own = process.client(good)
        again = own.open("GET", f"{front}/stream/{self.NAME}?after=0")
        with again.connection:
            self.assertEqual(again.status, 200)
            self.assertIn(b"dispatch", next(again.lines()))
        self.assertEqual(own.post(f"{front}/stream/{self.NAME}/ack", {"line": 1}).status, 204)
        self.assertEqual(own.delete(f"{front}/stream/{self.NAME}").status, 204)
        self.assertEqual(own.post(front + "/stream").status, 422)

    def test_the_servers_own_takes_no_key_but_its_own(self):
        self.besiege(self.server, "/sandbox", self.server.bootstrap["runner_key"])

    def test_one_elsewhere_takes_no_key_but_its_own(self):
        self.besiege(self.runner, "", "rk_right_one")
        for who, headers in self.intruders("rk_right_one").items():
            with self.subTest(who=who, path="/metrics"):
                self.assert_nobody(self.runner.client("").get("/metrics", headers))
        self.assertEqual(self.runner.client("rk_right_one").get("/metrics").status, 200)

    def test_a_stranger_is_turned_away_before_the_body(self):
        for process, front in ((self.server, "/sandbox"), (self.runner, "")):
            for key in ("", "rk_wrong_one"):
                client = process.client(key)
                head = client.encode("POST", front + "/stream", None, {"Content-Length": str(1 << 20)})
                with self.subTest(front=front, key=key), client.connect() as connection:
                    connection.send(head)  # and nothing of the body
                    self.assert_nobody(connection.response("POST"))

    def test_paths_without_a_key_show_only_the_load(self):
        for path, told in (("/healthz", {"status", "slots", "free"}), ("/readyz", {"status"})):
            self.assertEqual(set(self.runner.client("").get(path).json()), told)

    def test_it_has_no_other_routes(self):
        for path in ("/", "/v1/agents", "/stream/", f"/stream/{self.NAME}/", f"/stream/{self.NAME}/lines", "/a/stream",
                     "/a/drain", f"/stream/../stream/{self.NAME}/x"):
            with self.subTest(path=path):
                self.assertEqual(self.runner.client("").get(path).status, 404)

    def test_a_runner_drains_only_for_a_caller_with_its_key(self):
        runner = Server("--sandbox.driver", "off", "--runner.key", "rk_right_one")
        runner.command, runner.announcement = "runner", "sluice: runner listening on "
        self.addCleanup(runner.remove)
        runner.start()
        self.assertEqual(runner.client("rk_right_one").post("/drain").status, 202)
        self.assertEqual(runner.client("").get("/healthz").json()["status"], "draining")


if __name__ == "__main__":
    unittest.main()
