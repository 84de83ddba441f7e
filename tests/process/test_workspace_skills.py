"""The workspace from inside a box: the skills that come with the server, with bash alone and without any token inside
(S-4); and what a box cannot do with that way in."""
import base64
import hashlib
import hmac
import json
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import unittest

from assistant_fixture import AssistantTest, frames
from http_client import Client

TABLES, FILES, WORKFLOWS = (f"/skills/{name}/bin/{name}" for name in ("tables", "files", "workflow_editor"))
BARE = "env -i SLUICE_WORKSPACE_URL=$SLUICE_WORKSPACE_URL PATH=/usr/bin:/bin"

# Looks for a bearer wherever a file can be read; knows its beginning backwards only, so as not to find itself.
SEARCH = """
import os
needle, looked, found = "_xbsa"[::-1].encode(), 0, []
for top, directories, names in os.walk("/"):
    if top == "/": directories[:] = [d for d in directories if d not in ("usr", "lib", "lib64", "bin", "sbin")]
    for name in names:
        path = os.path.join(top, name)
        if name in ("mem", "kmsg", "pagemap") or not os.access(path, os.R_OK): continue
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file: data = file.read(1 << 22) or b""
        except OSError: continue
        looked += 1
        if needle in data: found.append(path)
print("looked at", looked, "places, found", len(found), *found)
"""

# Asks the proxy for exactly these targets.
ASK = """
import socket, sys
for line in sys.argv[1:]:
    method, target, *headers = line.split("|")
    host = target.split("://")[-1].split("/")[0]
    with socket.create_connection(("127.0.0.1", 3128), 10) as proxy:
        head = [f"{method} {target} HTTP/1.0", f"Host: {host}", *headers]
        proxy.sendall(("\\r\\n".join(head) + "\\r\\n\\r\\n").encode())
        answer = b""
        while piece := proxy.recv(65536): answer += piece
    print(answer.split()[1].decode(), "asbx" in answer.decode(errors="replace"), target)
"""


class WorkspaceTest(AssistantTest):
    def setUp(self):
        self.workspace = "/api/workspaces/wsp_" + self.server.bootstrap["tenant_id"].split("_")[1]

    def outputs(self, *commands, chat=None):
        """What each command printed, all of them in one turn."""
        turn = self.turn("\n".join("$ " + command for command in commands) + "\nsay done", chat)
        self.assertIsNone(turn.error, turn.error)
        self.chat_id, self.run_id = turn.chat["chatId"], turn.chat["streamId"]
        steps = [block for block in turn.blocks if block["type"] == "step"]
        self.assertEqual(len(steps), len(commands), turn.blocks)
        self.steps = steps
        return [step.get("output", "") for step in steps]

    def write(self, name, text):
        """A command that makes a file of that text."""
        return f"printf %s {base64.b64encode(text.encode()).decode()} | base64 -d > {name}"


class Skills(WorkspaceTest):
    def test_a_table_is_made_filled_and_asked_with_bash_alone(self):
        made, inserted, asked, wrong, gone, missing = self.outputs(
            f"{BARE} {TABLES} create prices 'item:text!,price:number'",
            f"""{TABLES} insert prices '[{{"item":"tea","price":3.5}},{{"item":"rye é","price":2}}]'""",
            f"""{TABLES} query prices '{{"filter":{{"column":"price","op":"gt","value":3}}}}'""",
            f"""{TABLES} insert prices '{{"price":"cheap"}}'; echo code $?""",
            f"{TABLES} create prices a:text > out; echo code $?; wc -c < out",
            f"{TABLES} show nowhere; echo code $?")
        self.assertEqual(json.loads(made)["name"], "prices", made)
        self.assertEqual(len(json.loads(inserted)["rows"]), 2)
        self.assertEqual([row["values"] for row in json.loads(asked)["data"]], [{"item": "tea", "price": 3.5}])
        self.assertIn("code 1", wrong)
        self.assertIn("/rows/0/price", wrong)
        self.assertEqual(gone.split("\n")[-2:], ["0", ""], "a problem is not on standard output")
        self.assertIn("code 1", missing)
        rows = self.client.get(f"{self.workspace}/tables/prices/rows").json()["data"]
        self.assertEqual([row["values"]["item"] for row in rows], ["tea", "rye é"])
        log = self.client.get(f"/v1/runs/{self.run_id}/egress?limit=100").json()["data"]
        self.assertEqual({(entry["host"], entry["port"]) for entry in log}, {("workspace.sluice", 80)}, log)

    def test_files_go_in_and_out_of_the_chat(self):
        put, listed, got = self.outputs(
            "head -c 225000 /dev/urandom | base64 -w0 > data.csv; " + f"{BARE} {FILES} put data.csv 'my data.csv'",
            f"{FILES} list",
            f"cd /tmp && {FILES} get 'my data.csv' && cmp 'my data.csv' /workspace/data.csv && echo same")
        self.assertIn('"my data.csv"', put)
        self.assertIn('"sandbox"', listed)
        self.assertIn("same", got)
        bag = self.chat(self.chat_id)["files"]
        self.assertEqual([(f["name"], f["size"], f["source"]) for f in bag], [("my data.csv", 300000, "sandbox")])
        (others,) = self.outputs(f"{FILES} list; {FILES} get {bag[0]['id']} -; echo code $?")
        self.assertIn("code 1", others, "another chat's files are not this one's")
        self.assertNotIn("my data.csv", others)

    def test_a_workflow_is_made_and_changed_and_left_to_people_to_run(self):
        definition = {"inputs": [{"name": "who", "type": "text"}], "environment": {},
                      "blocks": [{"id": "is-me", "type": "condition", "left": "{{inputs.who}}", "op": "eq", "right": "me"}],
                      "edges": [], "outputs": {"who": "{{inputs.who}}"}}
        changed = definition | {"outputs": {"name": "{{inputs.who}}"}}
        bad = definition | {"edges": [{"from": "is-me", "to": "nobody"}]}
        _, made, wrong, _, shown, run = self.outputs(
            "; ".join(self.write(name, json.dumps(what)) for name, what in
                      (("good.json", definition), ("changed.json", changed), ("bad.json", bad))),
            f"{BARE} {WORKFLOWS} create Greeting @good.json",
            f"{WORKFLOWS} update Greeting @bad.json; echo code $?",
            f"{WORKFLOWS} update Greeting - < changed.json",
            f"{WORKFLOWS} show Greeting",
            self.write("ask.py", ASK) + "; id=$(" + WORKFLOWS + " show Greeting | grep -o 'wfl_[a-z0-9]*' | head -1); "
            "python3 ask.py \"POST|http://workspace.sluice/workflows/$id/runs|Content-Length: 0\"")
        self.assertEqual(json.loads(made)["name"], "Greeting")
        self.assertIn("/definition/edges/0", wrong)
        self.assertIn("code 1", wrong)
        self.assertEqual(json.loads(shown)["definition"]["outputs"], changed["outputs"])
        self.assertEqual(run.split()[0], "403")


class NoTokenInside(WorkspaceTest):
    def test_S4_no_process_in_the_sandbox_has_a_bearer(self):
        environment, found = self.outputs(f"{TABLES} list > /dev/null; env",
                                          self.write("search.py", SEARCH) + "; python3 search.py")
        self.assertIn("SLUICE_WORKSPACE_URL=http://workspace.sluice", environment)
        self.assertNotIn("asbx_", environment)
        self.assertRegex(found, r"looked at \d\d\d+ places, found 0\n")

    def test_the_way_in_leads_nowhere_else(self):
        port = self.server.port
        other = self.admin.post("/v1/tenants", {"name": "other"}).json()["id"].split("_")[1]
        cases = {
            "GET|http://workspace.sluice/agents": "200",
            "GET|http://workspace.sluice/agents|Authorization: Bearer " + self.server.bootstrap["admin_key"]: "200",
            f"GET|http://workspace.sluice/../wsp_{other}/agents": "400",
            f"GET|http://workspace.sluice/%2e%2e/wsp_{other}/agents": "400",
            "GET|http://workspace.sluice/../../../v1/runs": "400",
            "GET|http://workspace.sluice/nowhere": "404",
            "POST|http://workspace.sluice/agents|Content-Length: 0": "403",
            "POST|http://workspace.sluice/executions|Content-Length: 0": "403",
            "CONNECT|workspace.sluice:80": "403",
            f"GET|http://workspace.sluice:{port}/agents": "403",
            f"GET|http://127.0.0.1:{port}/v1/runs": "403",
            f"GET|http://localhost:{port}/v1/runs": "403",
            "TRACE|http://workspace.sluice/agents": "405",
        }
        words = " ".join(f"'{case}'" for case in cases)
        (told,) = self.outputs(self.write("ask.py", ASK) + f"; python3 ask.py {words}")
        for line, (case, status) in zip(told.splitlines(), cases.items(), strict=True):
            self.assertEqual(line.split()[:2], [status, "False"], f"{case}: {line}")

    def bearer_of(self, run):
        """Derived like in the server, from the admin key."""
        bootstrap = self.server.bootstrap
        root = hashlib.sha256(("bearers of boxes\n" + bootstrap["admin_key"]).encode()).digest()
        named = f"{run}.{bootstrap['tenant_id']}.write"
        proof = base64.urlsafe_b64encode(hmac.digest(root, ("the box of " + named).encode(), "sha256")).rstrip(b"=")
        return f"asbx_{named}.{proof.decode()}"

    def test_S4_the_bearer_is_good_while_the_run_is_and_no_longer(self):
        answer = self.open_turn("$ sleep 60", onDisconnect="keep")
        with answer.connection:
            chat = next(frames(answer)).data
            box = self.server.client(self.bearer_of(chat["streamId"]))
            self.assertEqual(box.get(self.workspace + "/agents").status, 200)
            self.assertEqual(box.get("/v1/runs").status, 403)
            self.assertEqual(box.get("/v1/tenants").status, 403)
            self.assertEqual(box.get("/api/workspaces/wsp_01j00000000000000000000000/agents").status, 404)
            self.assertEqual(box.post(self.workspace + "/agents", {"name": "mine"}).status, 403)
            stopped = self.client.post(f"/api/assistant/chats/{chat['chatId']}/stop")
            self.assertEqual(stopped.status, 200, stopped.body)
            self.assertEqual(box.get(self.workspace + "/agents").status, 401)


class OfAgents(WorkspaceTest):
    """Runs without a skill of the server's: the workspace is closed to them unless their agent says otherwise."""

    def setUp(self):
        super().setUp()
        self.environment = self.client.post("/v1/environments", {
            "name": self.id(), "variables": {"DATABASE_URL": "postgres://u:hunter2@db/prod"}}).json()["id"]
        made = self.client.post(self.workspace + "/workflows", {"name": self.id(), "definition": {
            "inputs": [], "environment": {"API_KEY": "hunter2", "TONE": "dry", "LANG_": "fr"},
            "blocks": [{"id": "a", "type": "condition", "left": "1", "op": "eq", "right": "1"}], "edges": [], "outputs": {}}})
        self.assertEqual(made.status, 201, made.body)
        self.workflow = made.json()

    def agent(self, *rules, **fields):
        made = self.client.post("/v1/agents", {"name": self.id() + str(fields), "policy": list(rules)} | fields)
        self.assertEqual(made.status, 201, made.body)
        return made.json()["id"]

    def asked(self, agent, *requests):
        """The statuses that a run of this agent gets for (method, path, body), and all that it saw."""
        commands = [f"curl -s -w '\\n%{{http_code}}\\n' -X {method} http://workspace.sluice{path}" +
                    (f" -H 'Content-Type: application/json' -d '{json.dumps(body)}'" if body else "")
                    for method, path, body in requests]
        stream = self.client.send(self.conversation(agent_id=agent), "\n".join("$ " + c for c in commands) + "\nsay done",
                                  query="?detail=full")
        with stream.connection:
            self.run_id = stream.header("x-run-id")
            events = [json.loads(line) for line in stream.lines()]
        self.assertEqual(events[-1]["type"], "message_end", events[-1])
        seen = [e["data"]["result"] for e in events if e["type"] == "step" and "result" in e["data"]]
        return [int(words.split()[-1]) for words in seen], "".join(seen)

    def requests(self):
        changed = self.workflow["definition"] | {"outputs": {"x": "1"}, "environment": {"API_KEY": "***", "TONE": "warm"}}
        return [("GET", "/environments", None), ("GET", "/environments/" + self.environment, None), ("GET", "/workflows", None),
                ("GET", "/workflows/" + self.workflow["id"], None), ("PATCH", "/workflows/" + self.workflow["id"], {"definition": changed}),
                ("POST", "/tables", {"name": self.id()[-40:], "columns": [{"name": "a", "type": "text"}]})]

    def deeds(self):
        chain = self.admin.get(f"/v1/admin/audit?limit=100&tenant_id={self.server.bootstrap['tenant_id']}").json()["data"]
        return [(e["action"], e["actor"]) for e in chain if e["action"].startswith(("workflow.", "table.", "file."))
                and e["actor"] == "run:" + self.run_id]

    def test_an_agent_that_denies_everything_neither_reads_environments_nor_changes_workflows(self):
        statuses, seen = self.asked(self.agent({"effect": "deny", "host": "*"}), *self.requests())
        self.assertEqual(statuses, [403] * 6, seen)
        self.assertNotIn("hunter2", seen)
        kept = self.client.get(self.workspace + "/workflows/" + self.workflow["id"]).json()
        self.assertEqual(kept["definition"], self.workflow["definition"])

    def test_an_agent_that_may_read_changes_nothing_and_sees_no_variables(self):
        statuses, seen = self.asked(self.agent(workspace="read"), *self.requests())
        self.assertEqual(statuses, [200, 200, 200, 200, 403, 403], seen)
        self.assertIn(self.environment, seen)
        self.assertNotIn("hunter2", seen)
        self.assertNotIn("DATABASE_URL", seen)
        self.assertIn('"API_KEY":"***"', seen, "the names of a workflow's own variables, without their values")

    def test_a_workflows_variables_stay_as_they_are_when_an_agent_changes_it_without_seeing_them(self):
        changed = self.workflow["definition"] | {"environment": {"API_KEY": "***", "TONE": "warm"}}
        unknown = self.workflow["definition"] | {"environment": {"NEW": "***"}}
        path = "/workflows/" + self.workflow["id"]
        statuses, seen = self.asked(self.agent(workspace="write"), ("PATCH", path, {"definition": changed}),
                                    ("PATCH", path, {"definition": unknown}),
                                    ("POST", "/workflows", {"name": self.id() + " copy", "definition": unknown}),
                                    ("PATCH", path, {"description": "Renewed"}))
        self.assertEqual(statuses, [200, 422, 422, 200], seen)
        self.assertNotIn("hunter2", seen)
        self.assertIn("/definition/environment/NEW", seen)
        kept = self.client.get(self.workspace + path).json()
        self.assertEqual(kept["definition"]["environment"], {"API_KEY": "hunter2", "TONE": "warm", "LANG_": "fr"})
        self.assertEqual(kept["description"], "Renewed")

    def test_what_an_agent_that_may_write_changes_is_in_the_audit_chain_with_its_run(self):
        statuses, seen = self.asked(self.agent(workspace="write"), *self.requests())
        self.assertEqual(statuses, [200, 200, 200, 200, 200, 201], seen)
        self.assertNotIn("hunter2", seen)
        self.assertEqual(sorted(self.deeds()), [("table.created", "run:" + self.run_id), ("workflow.updated", "run:" + self.run_id)])
        kept = self.client.get(self.workspace + "/workflows/" + self.workflow["id"]).json()
        self.assertEqual(kept["definition"]["outputs"], {"x": "1"})

    def test_an_agents_files_and_its_first_change_of_a_tables_rows_are_in_the_audit_chain(self):
        table = self.client.post(self.workspace + "/tables", {
            "name": "rows of an agent", "columns": [{"name": "a", "type": "text"}]}).json()["id"]
        rows = ("POST", f"/tables/{table}/rows", {"rows": [{"a": "x"}]})
        statuses, seen = self.asked(self.agent(workspace="write"), rows, rows, rows)
        self.assertEqual(statuses, [201] * 3, seen)
        self.assertEqual(self.deeds(), [("table.rows_changed", "run:" + self.run_id)])
        send = "echo hi > one.txt; curl -s -o made.json -w '%{http_code}' -F files=@one.txt http://workspace.sluice/files"
        drop = ("curl -s -o /dev/null -w '%{http_code}' -X DELETE "
                "http://workspace.sluice/files/$(grep -o 'fil_[a-z0-9]*' made.json | head -1)")
        stream = self.client.send(self.conversation(agent_id=self.agent(workspace="write", name="files")),
                                  f"$ {send}\n$ {drop}\nsay done", query="?detail=full")
        with stream.connection:
            self.run_id = stream.header("x-run-id")
            events = [json.loads(line) for line in stream.lines()]
        seen = [e["data"]["result"] for e in events if e["type"] == "step" and "result" in e["data"]]
        self.assertEqual([words.split()[-1] for words in seen], ["201", "204"], seen)
        self.assertEqual(sorted(self.deeds()), [(action, "run:" + self.run_id) for action in ("file.deleted", "file.uploaded")])

    def test_a_rule_that_denies_the_workspace_by_name_counts_also_against_a_skill(self):
        rule = {"effect": "deny", "host": "workspace.sluice", "reason": "Not for this agent"}
        statuses, seen = self.asked(self.agent(rule, workspace="write"), *self.requests())
        self.assertEqual(statuses, [403] * 6, seen)
        self.assertIn("Not for this agent", seen)
        default = next(a["id"] for a in self.client.get("/v1/agents").json()["data"] if a["is_default"])
        self.client.patch(f"/v1/agents/{default}", {"policy": [rule]})
        self.addCleanup(self.client.patch, f"/v1/agents/{default}", {"policy": []})
        (listed,) = self.outputs(f"{TABLES} list 2>&1; echo code $?")
        self.assertIn("Not for this agent", listed)
        self.assertNotIn("code 0", listed)


class OverTls(WorkspaceTest):
    """Its certificate names another host than the address at which its boxes reach it."""

    @classmethod
    def setUpClass(cls):
        home = pathlib.Path(tempfile.mkdtemp(prefix="sluice-test-"))
        cls.addClassCleanup(shutil.rmtree, home)
        cert, key = home / "cert.pem", home / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=sluice.example",
                        "-addext", "subjectAltName=DNS:sluice.example"], check=True, capture_output=True)
        cls.flags = AssistantTest.flags + ("--tls-cert", str(cert), "--tls-key", str(key))
        super().setUpClass()
        trust = ssl.create_default_context(cafile=cert)
        trust.check_hostname = False
        cls.client = Client(cls.server.host, cls.server.port, cls.server.bootstrap["service_key"], tls=trust)

    def test_the_workspace_is_reached_all_the_same(self):
        (listed,) = self.outputs(f"{TABLES} list")
        self.assertEqual(json.loads(listed)["data"], [])


class PublicElsewhere(WorkspaceTest):
    """A server that the world knows by another address is reached by its boxes at its own."""

    flags = AssistantTest.flags + ("--server.public_base_url", "https://sluice.example")

    def test_the_workspace_is_reached_all_the_same(self):
        (listed,) = self.outputs(f"{TABLES} list")
        self.assertEqual(json.loads(listed)["data"], [])


if __name__ == "__main__":
    unittest.main()
