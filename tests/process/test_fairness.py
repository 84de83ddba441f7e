"""Two tenants on one server: what one of them makes the server's threads do does not hold up the other one."""
import contextlib
import json
import select
import sqlite3

from http_client import PATIENCE_S
from server_process import ServerTest, wait_until

# A table that takes a while to look through, and a question that compares as much as is allowed.
ROWS, ROW_BYTES, VALUES = 100, 20_000, 60


class TwoTenants(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tenant = cls.admin.post("/v1/tenants", {"name": "other"}).json()
        key = cls.admin.post(f"/v1/tenants/{tenant['id']}/keys", {"name": "k"}).json()
        cls.other = cls.server.client(key["key"] if "key" in key else key["secret"])


class Questions(TwoTenants):
    def ask_at_once(self, count):
        """The connections on which so many expensive questions of the first tenant wait for their answers."""
        tables = f"/api/workspaces/{self.server.bootstrap['workspace_id']}/tables"
        self.client.post(tables, {"name": "large", "columns": [{"name": "text", "type": "text"}]})
        rows = [{"text": "a" * ROW_BYTES}] * 100
        for _ in range(ROWS // 100):
            self.assertEqual(self.client.post(f"{tables}/large/rows", {"rows": rows}).status, 201)
        question = {"filter": {"or": [{"column": "text", "op": "contains", "value": "a" * 30 + f"b{i}"}
                                      for i in range(VALUES)]}}
        asked = []
        for _ in range(count):
            connection = self.client.connect(patience_s=10 * PATIENCE_S)
            self.addCleanup(connection.close)
            connection.send(self.client.encode("POST", f"{tables}/large/query", question))
            asked.append(connection)
        return asked

    def test_another_tenant_reads_while_one_asks_its_tables_forty_questions(self):
        asked = self.ask_at_once(40)
        self.assertEqual(self.other.get("/v1/runs").status, 200)
        early, _, _ = select.select([connection.socket for connection in asked], [], [], 0)
        answers = [(connection.socket in early, connection.response("POST")) for connection in asked]
        served = [is_early for is_early, answer in answers if answer.status == 200]
        refused = [answer for _, answer in answers if answer.status != 200]
        self.assertGreaterEqual(len(served), 16)
        self.assertLessEqual(served.count(True), 4, "the other tenant's reading did not wait for the questions")
        for answer in refused:
            problem = self.assert_problem(answer, 429, "rate-limited")
            self.assertGreaterEqual(int(answer.header("retry-after")), 1)
            self.assertIn("tables of this workspace", problem["detail"])


class Deletions(TwoTenants):
    keeps_its_port = True
    TABLES, ROWS, BATCHES = 12, 1_000, 3

    def rows_left(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.server.data}/sluice.db?mode=ro", uri=True)) as store:
            return store.execute("SELECT count(*) FROM user_rows").fetchone()[0]

    def test_another_tenant_writes_while_one_deletes_its_tables_and_a_killed_server_removes_their_rows_later(self):
        tables = f"/api/workspaces/{self.server.bootstrap['workspace_id']}/tables"
        for i in range(self.TABLES):
            self.client.post(tables, {"name": f"t{i}", "columns": [{"name": "text", "type": "text"}]})
            for _ in range(self.BATCHES):
                rows = {"rows": [{"text": "a" * 1_000}] * self.ROWS}
                self.assertEqual(self.client.post(f"{tables}/t{i}/rows", rows).status, 201)
        self.assertEqual(self.rows_left(), self.TABLES * self.ROWS * self.BATCHES)
        asked = []
        for i in range(self.TABLES):
            connection = self.client.connect(patience_s=10 * PATIENCE_S)
            self.addCleanup(connection.close)
            connection.send(self.client.encode("DELETE", f"{tables}/t{i}"))
            asked.append(connection)
        self.assertEqual(self.other.post("/v1/conversations", {}).status, 201)
        for connection in asked:
            self.assertEqual(connection.response("DELETE").status, 204)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.client.get(tables).json()["data"], [], "they were gone at once")
        wait_until(lambda: self.rows_left() == 0, "the rows are removed")


class Answers(TwoTenants):
    CLIENTS = 300

    def test_clients_of_one_tenant_that_read_nothing_leave_another_tenant_its_connections_and_answers(self):
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        path = f"/v1/conversations/{conversation}/messages"
        made = self.client.post(path + "?stream=false", {"content": "tokens 200000"}, patience_s=10 * PATIENCE_S)
        self.assertEqual(made.status, 201, made.body)
        page_kib = len(self.client.get(path).body) // 1024
        self.assertGreater(page_kib, 1000)
        idle = [self.other.connect(patience_s=10 * PATIENCE_S) for _ in range(20)]
        for connection in idle:
            self.addCleanup(connection.close)
            connection.send(self.other.encode("GET", "/v1/runs"))
            self.assertEqual(connection.response("GET").status, 200)
        asked = []
        for _ in range(self.CLIENTS):
            connection = self.client.connect(patience_s=10 * PATIENCE_S, receive_buffer=2048)
            self.addCleanup(connection.close)
            connection.send(self.client.encode("GET", path))
            asked.append(connection)
        answers = [connection.socket.recv(12) for connection in asked]
        self.assertEqual(set(answers), {b"HTTP/1.1 200", b"HTTP/1.1 429"})
        for connection in idle:
            connection.send(self.other.encode("POST", "/v1/conversations", {}))
            self.assertEqual(connection.response("POST").status, 201, "on the connection that it had before")
        refused = asked[answers.index(b"HTTP/1.1 429")]
        refused.buffer = b"HTTP/1.1 429"
        problem = refused.response("GET")
        self.assert_problem(problem, 429, "rate-limited")
        self.assertGreaterEqual(int(problem.header("retry-after")), 1)
        self.assertEqual(self.client.get("/v1/runs").status, 200, "what is short is answered")


class Workspaces(TwoTenants):
    flags = ("--sandbox.driver", "namespaces", "--files.watch", "false")
    RUNS, FILES = 6, 4_000

    def begin(self, client, text):
        conversation = client.post("/v1/conversations", {}).json()["id"]
        stream = client.send(conversation, text, patience_s=10 * PATIENCE_S)
        self.addCleanup(stream.close)
        return stream, stream.lines()

    def ended(self):
        runs = self.client.get("/v1/runs?limit=100").json()["data"]
        return sum(1 for run in runs if run["state"] == "completed")

    def test_another_tenants_run_does_not_wait_until_six_large_workspaces_are_kept(self):
        begun = [self.begin(self.client, f"$ mkdir d && cd d && seq {self.FILES} | xargs touch\nsay made")
                 for _ in range(self.RUNS)]
        for _, lines in begun:  # all of them have made their files, and are to be kept
            while json.loads(next(lines))["type"] != "content_delta":
                pass
        before = self.ended()
        _, lines = self.begin(self.other, "$ echo hi\nsay {{last}}")
        self.assertEqual(json.loads(list(lines)[-1])["type"], "message_end")
        self.assertLessEqual(self.ended() - before, 2, f"{before} of {self.RUNS} were kept before")
        for _, lines in begun:
            self.assertEqual(json.loads(list(lines)[-1])["type"], "message_end")
