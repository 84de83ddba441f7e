"""I-23: openapi/openapi.yaml is normative. Every operation is called, and every answer held against it."""
import base64
import hashlib
import http.server
import json
import pathlib
import re
import threading
import unittest
import warnings

import yaml

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jsonschema

from assistant_examples import make_chats
from console_examples import make_session
from file_examples import make_files
from gate_fixture import Approver
from http_client import CLOSED_WITHIN_S
from openapi_examples import EXAMPLES, FORGED, FORM, FORM_TYPE, KIT, SKILL, agui_run
from server_process import ROOT, ServerTest
from stream_grammar import check_stream
from table_examples import make_tables
from workflow_examples import make_workflows

SPEC_FILE = ROOT / "openapi" / "openapi.yaml"
SPEC = yaml.safe_load(SPEC_FILE.read_text())
STREAMS = sorted((ROOT / "tests" / "golden" / "streams").glob("*.ndjson"))
METHODS = ("get", "put", "post", "patch", "delete", "head", "options")


def resolve(node):
    while "$ref" in node:
        target = SPEC
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def schema_errors(schema, value):
    """Every way in which `value` is not what `schema` (a part of the file) says."""
    whole = {"components": SPEC["components"], "allOf": [schema]}
    validator = jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(value)]


EVENT = {"$ref": "#/components/schemas/ConversationEvent"}


def operations():
    for path, item in SPEC["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def make_things(test):
    """What the examples name in braces."""
    client, admin, things = test.client, test.admin, {"none": "0" * 26}
    things["conversation"] = test.conversation(title="Example")
    answer = client.send(things["conversation"], "say an example")
    with answer.connection:
        list(answer.lines())
    things["run"], things["message"] = answer.header("x-run-id"), answer.header("x-message-id")
    things["own_tenant"] = client.get("/v1/integration/self").json()["tenant"]["id"]
    for name in ("running", "running_too"):
        running = client.send(test.conversation(), "hang")
        with running.connection:
            next(running.lines())
        things[name] = running.header("x-run-id")
    things["archived"] = test.conversation()
    client.delete(f"/v1/conversations/{things['archived']}")
    things["agent"] = client.post("/v1/agents", {"name": "Example"}).json()["id"]
    tenant = things["tenant"] = admin.post("/v1/tenants", {"name": "Example"}).json()["id"]
    things["key"] = admin.post(f"/v1/tenants/{tenant}/keys", {"name": "k"}).json()["id"]
    hmac = {"algorithm": "hmac-sha256"}
    things["approver"] = admin.post(f"/v1/tenants/{tenant}/approver-keys", hmac).json()["id"]
    return things | make_materials(test) | make_gates(test) | make_threads(test) | make_chats(test) | make_session(test) | \
        make_files(test) | make_dispatches(test, things)


def make_dispatches(test, things):
    """For this server's runner: a dispatch to open, and two that are kept after their callers have gone."""
    key, workspace = test.server.bootstrap["runner_key"], test.server.bootstrap["workspace_id"]
    made = {"runner_key": key}
    for name in ("to_read", "to_kill", None):
        dispatch = test.client.post(f"/api/workspaces/{workspace}/executions", {"prompt": "say an example"}).json()
        if name is None:
            return made | {"dispatch": dispatch}
        stream = test.server.client(key).open("POST", "/sandbox/stream", dispatch,
                                              {"Sluice-Dispatch": name, "Sluice-Reattach": "3600"})
        with stream.connection:
            test.assertEqual(stream.status, 200)
            list(stream.lines())


def make_threads(test):
    """Of AG-UI, for each of its addresses: one with a run that is over, one with one under way, one that waits."""
    things = {}
    for noun in ("", "OfAgent"):
        for name, words in (("talked", "say hi"), ("running", "say so\nhang"), ("waiting", "ask May I?")):
            headers = {"Accept": "application/x-ndjson"}
            stream = test.client.open("POST", "/agui", agui_run(name + noun, name + noun, words), headers)
            with stream.connection:
                for event in map(json.loads, stream.lines()):
                    if name == "running" and event["type"] == "TEXT_MESSAGE_CONTENT":
                        break
        interrupt = event["outcome"]["interrupts"][0]["id"]
        things["answer" + noun] = {"interruptId": interrupt, "status": "resolved", "payload": {"approved": True},
                                   "metadata": FORGED}
    return things


def make_gates(test):
    """Two runs that wait for a human, with what an approver says to them, and secrets to destroy."""
    client, things = test.client, {}
    approver = Approver.of(test.server)
    for decision in ("approve", "deny"):
        asking = client.send(test.conversation(), "ask Shall I go on?")
        with asking.connection:
            told = next(e for e in map(json.loads, asking.lines()) if e["type"] == "approval_required")
        things["approval_to_" + decision] = told["data"]["id"]
        things["signed_" + decision] = {"signature": approver.signature(told["data"]["id"], decision)}
    late = approver.signature(things["approval_to_approve"], "deny")
    things["signed_deny_of_approved"] = {"signature": late}
    for path in (f"/v1/agents/{client.get('/v1/agents').json()['data'][0]['id']}", "/v1"):
        client.request("PUT", path + "/secrets", {"secrets": {"TO_DESTROY": "a good value"}})
    things["first_agent"] = client.get("/v1/agents").json()["data"][0]["id"]
    return things


def make_materials(test):
    """Objects of each kind, one to keep and one for each surface to delete, and executions with their tokens."""
    client, things = test.client, {}
    workspace = things["workspace"] = test.server.bootstrap["workspace_id"]
    things["skill"] = client.post("/v1/skills", SKILL).json()["id"]
    for name in ("", "_to_delete", "_to_deleteworkspace"):
        fields = {"name": "example" + name, "url": "https://git.example/x"}
        things["repository" + name] = client.post("/v1/repositories", fields).json()["id"]
        things["environment" + name] = client.post("/v1/environments", {"name": fields["name"]}).json()["id"]
        if name:
            head = f"---\nname: {fields['name']}\ndescription: d\n---\n"
            bundle = {"files": [{"path": "SKILL.md", "content": head}]}
            things["skill" + name] = client.post("/v1/skills", bundle).json()["id"]
            things["agent" + name] = client.post("/v1/agents", {"name": fields["name"]}).json()["id"]
    for noun in ("agent", "sandbox"):
        made = client.post(f"/api/workspaces/{workspace}/executions", {"skill_ids": [things["skill"]]}).json()
        things |= {f"{kind}_{noun}": made[f"otp_{kind}"] for kind in ("setup", "run", "upload")}
        things["execution_" + noun] = made["id"]
        config = client.get(f"/api/agents/{made['id']}/config", {"Authorization": made["otp_run"]}).json()
        things["bearer_" + noun] = config["callback"]["token"]
    with_kit = client.post("/v1/agents", {"name": "of executions"} | KIT).json()["id"]
    for noun in ("agent", "sandbox"):
        made = client.post(f"/api/workspaces/{workspace}/executions", {"agent_id": with_kit}).json()
        things |= {f"execution_of_kit_{noun}": made["id"], f"run_of_kit_{noun}": made["otp_run"]}
    made = client.post(f"/api/workspaces/{workspace}/executions").json()
    kept = client.post(f"/api/agents/{made['id']}/results", FORM, {"Authorization": made["otp_upload"]} | FORM_TYPE)
    things["file"] = kept.json()["files"][0]["id"]
    return things | make_tables(client, workspace) | make_workflows(client, workspace)


class TheServer(ServerTest):
    flags = ("--tools.urls", "https://tools.example")

    def check_answer(self, operation, answer):
        """The answer is one the file describes for this operation, headers and body."""
        described = operation["responses"].get(str(answer.status))
        self.assertIsNotNone(described, f"{answer.status} is not documented: {answer.body[:300]}")
        described = resolve(described)
        for name, header in described.get("headers", {}).items():
            header, value = resolve(header), answer.header(name)
            if value is None:
                self.assertFalse(header.get("required"), f"{name} is missing")
                continue
            if header["schema"].get("type") == "integer":
                value = int(value)
            self.assertEqual(schema_errors(header["schema"], value), [], name)
        if "content" not in described:
            self.assertEqual(answer.body, b"")
            return
        kind = answer.header("content-type").split(";")[0]
        kind = kind if kind in described["content"] else "*/*"
        self.assertIn(kind, described["content"])
        schema = described["content"][kind]["schema"]
        if kind == "application/x-ndjson":
            lines = answer.body.split(b"\n")
            self.assertEqual(lines.pop(), b"")
            self.assertTrue(lines)
            for line in lines:
                self.assertEqual(schema_errors(schema, json.loads(line)), [], line)
        elif kind.endswith("json"):
            self.assertEqual(schema_errors(schema, json.loads(answer.body)), [], answer.body[:500])
        else:
            self.assertTrue(answer.body)

    def schemes_of(self, operation):
        return {name for need in operation.get("security", SPEC["security"]) for name in need}

    def key_for(self, operation):
        """Of the keys that are good for it, one that does not come with the request's own headers."""
        schemes = self.schemes_of(operation)
        if "integrationKey" in schemes:
            return self.client
        return self.admin if "adminKey" in schemes else self.server.client("")

    def test_I23_answers_every_operation_as_the_file_says(self):
        things, seen = make_things(self), set()
        for path, method, operation in operations():
            name = operation["operationId"]
            with self.subTest(operation=name):
                self.assertIn(name, EXAMPLES, f"no example for {method.upper()} {path}: write one")
            for target, body, status, *headers in EXAMPLES.get(name, []):
                seen.add(name)
                target, body = target.format(**things), body(things) if callable(body) else body
                with self.subTest(operation=name, target=target, body=str(body)[:60]):
                    pattern = "^" + re.sub(r"\\{[a-z_]+\\}", "[^/?]+", re.escape(path)) + r"(\?.*)?$"
                    self.assertRegex(target, pattern)
                    headers = {k: v.format(**things) for k, v in (headers[0] if headers else {}).items()}
                    answer = self.key_for(operation).request(method.upper(), target, body, headers)
                    self.assertEqual(answer.status, status, answer.body[:500])
                    self.check_answer(operation, answer)
        self.assertEqual(set(EXAMPLES), seen, "an example for an operation that is not in the file")

    def test_I23_lines_of_its_own_agent_with_full_detail_fit_their_schemas(self):
        answer = self.client.send(self.conversation(), "think Hm.\n$ echo hi\nwrite a.txt: b\n$ false\nsay Done.")
        with answer.connection:
            list(answer.lines())
        message, run, seen = answer.header("x-message-id"), answer.header("x-run-id"), set()
        for path, schema in ((f"/v1/messages/{message}/events?detail=full", "StreamLine"),
                             (f"/v1/runs/{run}/stream.jsonl?profile=extended", "RunnerLine")):
            for line in map(json.loads, self.client.get(path).body.splitlines()):
                self.assertEqual(schema_errors({"$ref": f"#/components/schemas/{schema}"}, line), [], line)
                seen.add(line["type"])
        self.assertLessEqual({"reasoning", "usage", "message_end", "result"}, seen)

    def test_I23_guards_what_the_file_says_is_guarded(self):
        for path, method, operation in operations():
            if operation.get("security", SPEC["security"]) == []:
                continue
            target = re.sub(r"\{([a-z_]+)\}", "x", path)
            with self.subTest(operation=operation["operationId"]):
                body = {} if method in ("post", "patch", "put") else None
                answer = self.server.client("").request(method.upper(), target, body)
                if self.schemes_of(operation) == {"consoleSession"}:
                    self.assert_problem(answer, 401, "unauthenticated")
                    self.check_answer(operation, answer)
                    continue
                if self.schemes_of(operation) == {"runnerKey"}:
                    for stranger in (answer, self.client.request(method.upper(), target, body)):
                        self.assert_problem(stranger, 401, "unauthenticated")
                        self.check_answer(operation, stranger)
                    continue
                if not self.schemes_of(operation) & {"integrationKey", "adminKey"}:
                    self.assert_problem(answer, 401, "token-invalid")
                    self.check_answer(operation, answer)
                    continue
                self.assert_problem(answer, 401, "unauthenticated")
                self.check_answer(operation, answer)
                wrong = self.admin if self.key_for(operation) is self.client else self.client
                answer = wrong.request(method.upper(), target, body)
                self.assert_problem(answer, 403, "insufficient-scope")
                self.check_answer(operation, answer)

    def test_I23_knows_no_method_that_the_file_does_not(self):
        for path, item in SPEC["paths"].items():
            target = re.sub(r"\{([a-z_]+)\}", "x", path)
            for method in {"get", "put", "post", "patch", "delete"} - item.keys():
                with self.subTest(path=path, method=method):
                    answer = self.client.request(method.upper(), target, None if method in ("get", "delete") else {})
                    self.assert_problem(answer, 405, "method-not-allowed")
                    allowed = set(answer.header("allow").replace(" ", "").lower().split(",")) - {"head", "options"}
                    self.assertEqual(allowed, set(METHODS) & item.keys())

    def test_I23_serves_the_very_file(self):
        self.assertEqual(self.server.client("").get("/openapi.yaml").body, SPEC_FILE.read_bytes())

    def test_I23_shows_every_operation_and_schema_on_a_page_whose_policy_lets_only_itself_run(self):
        answer = self.server.client("").get("/docs")
        page = answer.body.decode()
        for path, method, operation in operations():
            self.assertRegex(page, f'<article id="{operation["operationId"]}"(?s:.)*?{method.upper()}</a>', path)
        shown = set(re.findall(r'<article id="schema-(\w+)"', page))
        self.assertEqual(shown, set(SPEC["components"]["schemas"]))
        self.assertLessEqual(set(re.findall(r'href="#schema-(\w+)"', page)), shown, "a link that leads nowhere")
        for element in ("style", "script"):
            inside = re.search(f"<{element}>(.*?)</{element}>", page, re.S)[1].encode()
            digest = base64.b64encode(hashlib.sha256(inside).digest()).decode()
            self.assertIn(f"{element}-src 'sha256-{digest}'", answer.header("content-security-policy"))
        self.assertNotRegex(page, r"""\b(src|style|on[a-z]+)=|href="(?!/|#|https://)""", "what the policy would not let happen")

    def test_every_problem_in_the_file_has_its_page(self):
        listed = self.client.get("/problems").body.decode()
        for problem in SPEC["x-problems"]:
            page = self.server.client("").get(f"/problems/{problem['slug']}")
            self.assertEqual((page.status, page.header("content-type").split(";")[0]), (200, "text/html"), problem)
            self.assertIn(str(problem["status"]), page.body.decode())
            self.assertIn(problem["slug"], listed)


class AnyRunner:
    """A runner of somebody else, which sends every kind of line, and blank ones to keep the connection open."""

    lines = (
        "", {"type": "log", "level": "info", "message": "Ready."}, {"type": "reasoning", "text": "Hm."},
        {"type": "call", "id": "c1", "name": "bash"}, {"type": "call", "id": "c1", "args": "{}"},
        {"type": "step", "id": "c1", "name": "bash", "status": "running", "args": {"command": "ls"}},
        {"type": "output", "id": "c1", "stream": "stdout", "text": "a.txt"}, "",
        {"type": "step", "id": "c1", "name": "bash", "status": "succeeded", "result": "a.txt", "durationMs": 3},
        {"type": "file", "event": "create", "path": "a.txt"},
        {"type": "egress", "host": "a.example", "port": 443, "method": "GET", "status": 200, "sent_bytes": 1,
         "received_bytes": 2, "aliases": ["KEY"], "refused": None, "duration_ms": 4},
        {"type": "custom", "name": "progress", "value": {"done": 1}},
        {"type": "subagent", "id": "s1", "name": "searcher", "status": "started", "step_id": "c1"},
        {"type": "subagent_text", "id": "s1", "text": "Looking."},
        {"type": "subagent", "id": "s1", "name": "searcher", "status": "failed", "error": "lost"},
        {"type": "delta", "text": "Hello you"}, {"type": "replaced", "kept_bytes": 6}, {"type": "delta", "text": "all"},
        {"type": "usage", "input_tokens": 1, "output_tokens": 2}, {"type": "diff", "diff": "diff --git a/a.txt b/a.txt\n"},
        "", {"type": "result", "message": "Hello all"}, "")

    def __init__(self):
        lines = [line and json.dumps(line | {"ts": 1}) for line in self.lines]

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, kind, body):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):  # /healthz
                self.answer("application/json", b'{"status":"ok","slots":4,"free":4}')

            def do_POST(self):  # /stream
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer("application/x-ndjson", "".join(line + "\n" for line in lines).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class FullDetail(ServerTest):
    """What a run does besides talking has schemas too."""

    @classmethod
    def setUpClass(cls):
        cls.runner = AnyRunner()
        cls.addClassCleanup(cls.runner.close)
        cls.flags = ("--runner", cls.runner.url, "--sandbox.driver", "off")
        super().setUpClass()

    def lines_of(self, path, name):
        """All lines of a stream, each held against the schema of its response."""
        schema = next(op for _, _, op in operations() if op["operationId"] == name)["responses"]["200"]["content"]["application/x-ndjson"]["schema"]
        lines = [json.loads(line) for line in self.client.get(path).body.splitlines()]
        for line in lines:
            self.assertEqual(schema_errors(schema, line), [], line)
        return lines

    def test_I23_every_kind_of_line_has_a_schema_that_fits_it_and_blank_lines_of_a_runner_are_skipped(self):
        answer = self.client.send(self.conversation(), "say Hello all")
        with answer.connection:
            self.assertEqual(json.loads(list(answer.lines())[-1])["type"], "message_end")
        message, run = answer.header("x-message-id"), answer.header("x-run-id")
        self.assertEqual(self.client.get(f"/v1/messages/{message}").json()["content"], "Hello all")
        schemas = SPEC["components"]["schemas"]
        lines = self.lines_of(f"/v1/messages/{message}/events?detail=full", "streamMessageEvents")
        self.assertEqual({line["type"] for line in lines},
                         set(schemas["DetailEvent"]["discriminator"]["mapping"]) | {"message_start", "content_delta", "message_end"})
        plain = self.lines_of(f"/v1/messages/{message}/events", "streamMessageEvents")
        self.assertLessEqual({line["type"] for line in plain}, set(schemas["ConversationEvent"]["discriminator"]["mapping"]))
        trace = self.lines_of(f"/v1/runs/{run}/stream.jsonl?profile=extended", "streamRunTrace")
        self.assertEqual({line["type"] for line in trace}, {line["type"] for line in AnyRunner.lines if line})

    def test_I23_schemas_of_these_lines_can_say_no(self):
        message = {"object": "conversation.event", "conversation_id": "con_" + "0" * 26, "message_id": "msg_" + "0" * 26,
                   "seq": 1, "created_at": "2026-07-02T10:00:01.000Z"}
        good = message | {"type": "log", "data": {"level": "info", "text": "m"}}
        self.assertEqual(schema_errors({"$ref": "#/components/schemas/StreamLine"}, good), [])
        for wrong in ({"type": "telepathy"}, {"data": {"text": "m"}}, {"data": {"level": "loud", "text": "m"}}, {"extra": 1}):
            self.assertNotEqual(schema_errors({"$ref": "#/components/schemas/StreamLine"}, good | wrong), [], wrong)
        line = {"type": "usage", "input_tokens": 1, "output_tokens": 1, "ts": 1}
        self.assertEqual(schema_errors({"$ref": "#/components/schemas/RunnerLine"}, line), [])
        self.assertNotEqual(schema_errors({"$ref": "#/components/schemas/RunnerLine"}, line | {"input_tokens": "1"}), [])


class TheFile(unittest.TestCase):
    def test_I23_is_openapi_3_1_with_resolvable_references_and_unique_operations(self):
        self.assertTrue(SPEC["openapi"].startswith("3.1."))
        names = [operation["operationId"] for _, _, operation in operations()]
        self.assertEqual(len(names), len(set(names)))
        for reference in re.findall(r"\$ref: ['\"]?(#/[A-Za-z0-9/]+)", SPEC_FILE.read_text()):
            resolve({"$ref": reference})

    def test_I23_its_schemas_are_schemas_and_its_examples_fit_them(self):
        for name, schema in SPEC["components"]["schemas"].items():
            jsonschema.Draft202012Validator.check_schema(schema)
            if "example" in schema:
                self.assertEqual(schema_errors({"$ref": f"#/components/schemas/{name}"}, schema["example"]), [], name)

    def test_I6_I23_every_event_of_the_sample_streams_fits_and_every_variant_is_there(self):
        self.assertGreaterEqual(len(STREAMS), 5)
        kinds = set()
        for path in STREAMS:
            lines = path.read_bytes().split(b"\n")
            self.assertEqual(lines.pop(), b"", path)
            for event in check_stream(lines):
                self.assertEqual(schema_errors(EVENT, event), [], f"{path.name} {event['seq']}")
                kinds.add(event["type"])
        self.assertEqual(kinds, set(SPEC["components"]["schemas"]["ConversationEvent"]["discriminator"]["mapping"]))

    def test_I23_its_event_schemas_can_say_no(self):
        event = json.loads(pathlib.Path(STREAMS[0]).read_bytes().split(b"\n")[0])
        for field, value in (("type", "message_strat"), ("seq", -1), ("seq", "0"), ("object", "event"), ("data", {}),
                             ("message_id", "msg_short"), ("created_at", "yesterday"), ("extra", 1)):
            self.assertNotEqual(schema_errors(EVENT, event | {field: value}), [], f"{field} = {value} was accepted")


if __name__ == "__main__":
    unittest.main()
