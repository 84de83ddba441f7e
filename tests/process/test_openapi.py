"""I-23: openapi/openapi.yaml is normative. Every operation is called, and every answer held against it."""
import copy
import json
import pathlib
import re
import unittest
import warnings

import yaml

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jsonschema

from server_process import ROOT, ServerTest
from stream_grammar import check_stream

SPEC_FILE = ROOT / "openapi" / "openapi.yaml"
SPEC = yaml.safe_load(SPEC_FILE.read_text())
STREAMS = sorted((ROOT / "tests" / "golden" / "streams").glob("*.ndjson"))
METHODS = ("get", "put", "post", "patch", "delete", "head", "options")
MISSING = "00000000000000000000000000"


def resolve(node):
    while "$ref" in node:
        target = SPEC
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def schema_errors(schema, value):
    """Every way in which `value` is not what `schema` (a part of the file) says."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": SPEC["components"], "allOf": [schema]}
    validator = jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(value)]


EVENT = {"$ref": "#/components/schemas/ConversationEvent"}


def operations():
    for path, item in SPEC["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


class Examples:
    """One or more calls per operation: (key, path, body, expected status). Made against a live server."""

    def __init__(self, test):
        client, admin = test.client, test.admin
        self.conversation = test.conversation(title="Example")
        answer = client.send(self.conversation, "say an example")
        with answer.connection:
            list(answer.lines())
        self.run, self.message = answer.header("x-run-id"), answer.header("x-message-id")
        self.agent = client.post("/v1/agents", {"name": "Example"}).json()["id"]
        self.tenant = admin.post("/v1/tenants", {"name": "Example"}).json()["id"]
        self.key = admin.post(f"/v1/tenants/{self.tenant}/keys", {"name": "k"}).json()["id"]
        self.approver = admin.post(f"/v1/tenants/{self.tenant}/approver-keys", {"algorithm": "hmac-sha256"}).json()["id"]
        running = client.send(test.conversation(), "hang")
        next(running.lines())
        running.close()
        self.running = running.header("x-run-id")
        self.archived = test.conversation()
        client.delete(f"/v1/conversations/{self.archived}")

    def table(self):
        con, ten, agents = "/v1/conversations", "/v1/tenants", "/v1/agents"
        none = "?limit=0"
        ed25519 = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w"  # not 32 bytes
        return {
            "listConversations": [(con, None, 200), (con + none, None, 422)],
            "createConversation": [(con, {"title": "T"}, 201), (con, {"initial_message": {"content": "say hi"}}, 200),
                                   (con, {"title": 1}, 422), (con, b"{", 400), (con, b"x" * (4 * 1024 * 1024 + 1), 413)],
            "getConversation": [(f"{con}/{self.conversation}", None, 200), (f"{con}/con_{MISSING}", None, 404)],
            "updateConversation": [(f"{con}/{self.conversation}", {"title": "U"}, 200),
                                   (f"{con}/{self.conversation}", {"status": "gone"}, 422),
                                   (f"{con}/{self.conversation}", b"", 400), (f"{con}/con_{MISSING}", {}, 404)],
            "archiveConversation": [(f"{con}/{self.archived}", None, 204), (f"{con}/con_{MISSING}", None, 404)],
            "listMessages": [(f"{con}/{self.conversation}/messages", None, 200),
                             (f"{con}/{self.conversation}/messages?order=up", None, 422),
                             (f"{con}/con_{MISSING}/messages", None, 404)],
            "createMessage": [(f"{con}/{self.conversation}/messages", {"content": "say streamed"}, 200),
                              (f"{con}/{self.conversation}/messages", {"content": "say half\ncut"}, 200),
                              (f"{con}/{self.conversation}/messages?stream=false", {"content": "say whole"}, 201),
                              (f"{con}/{self.conversation}/messages?stream=false", {"content": "fail 400 no"}, 502),
                              (f"{con}/{self.conversation}/messages", {}, 422), (f"{con}/{self.conversation}/messages", b"[", 400),
                              (f"{con}/{self.archived}/messages", {"content": "x"}, 409),
                              (f"{con}/con_{MISSING}/messages", {"content": "x"}, 404)],
            "getMessage": [(f"/v1/messages/{self.message}", None, 200), (f"/v1/messages/msg_{MISSING}", None, 404)],
            "streamMessageEvents": [(f"/v1/messages/{self.message}/events", None, 200),
                                    (f"/v1/messages/{self.message}/events?after=1", None, 200),
                                    (f"/v1/messages/{self.message}/events?after=999", None, 422),
                                    (f"/v1/messages/msg_{MISSING}/events", None, 404)],
            "listRuns": [("/v1/runs", None, 200), (f"/v1/runs?conversation_id={self.conversation}", None, 200),
                         ("/v1/runs" + none, None, 422)],
            "getRun": [(f"/v1/runs/{self.run}", None, 200), (f"/v1/runs/run_{MISSING}", None, 404)],
            "cancelRun": [(f"/v1/runs/{self.running}/cancel", {}, 200), (f"/v1/runs/{self.run}/cancel", {}, 409),
                          (f"/v1/runs/run_{MISSING}/cancel", {}, 404)],
            "listAgents": [(agents, None, 200), (agents + none, None, 422)],
            "createAgent": [(agents, {"name": "A", "model": {"provider": "openai-chat", "name": "m",
                                                             "base_url": "http://127.0.0.1:9/v1"}}, 201),
                            (agents, {"name": "A"}, 409), (agents, {}, 422), (agents, b"nope", 400)],
            "getAgent": [(f"{agents}/{self.agent}", None, 200), (f"{agents}/agt_{MISSING}", None, 404)],
            "updateAgent": [(f"{agents}/{self.agent}", {"system_prompt": "Be kind."}, 200),
                            (f"{agents}/{self.agent}", {"name": "A"}, 409), (f"{agents}/{self.agent}", {"name": ""}, 422),
                            (f"{agents}/agt_{MISSING}", {}, 404)],
            "deleteAgent": [(f"{agents}/{self.agent}", None, 204), (f"{agents}/agt_{MISSING}", None, 404)],
            "getIntegrationSelf": [("/v1/integration/self", None, 200)],
            "listTenants": [(ten, None, 200), (ten + none, None, 422)],
            "createTenant": [(ten, {"name": "T", "settings": {"filler_enabled": True}}, 201), (ten, {}, 422), (ten, b"{", 400)],
            "getTenant": [(f"{ten}/{self.tenant}", None, 200), (f"{ten}/tnt_{MISSING}", None, 404)],
            "updateTenant": [(f"{ten}/{self.tenant}", {"name": "U"}, 200), (f"{ten}/{self.tenant}", {"status": "x"}, 422),
                             (f"{ten}/tnt_{MISSING}", {}, 404)],
            "listServiceKeys": [(f"{ten}/{self.tenant}/keys", None, 200), (f"{ten}/tnt_{MISSING}/keys", None, 404)],
            "createServiceKey": [(f"{ten}/{self.tenant}/keys", {"name": "second"}, 201),
                                 (f"{ten}/{self.tenant}/keys", {"name": 1}, 422), (f"{ten}/tnt_{MISSING}/keys", {}, 404)],
            "revokeServiceKey": [(f"{ten}/{self.tenant}/keys/{self.key}", None, 200),
                                 (f"{ten}/{self.tenant}/keys/key_{MISSING}", None, 404)],
            "listApproverKeys": [(f"{ten}/{self.tenant}/approver-keys", None, 200),
                                 (f"{ten}/tnt_{MISSING}/approver-keys", None, 404)],
            "createApproverKey": [(f"{ten}/{self.tenant}/approver-keys", {"algorithm": "hmac-sha256"}, 201),
                                  (f"{ten}/{self.tenant}/approver-keys", {"algorithm": "ed25519", "public_key": "A" * 43}, 201),
                                  (f"{ten}/{self.tenant}/approver-keys", {"algorithm": "ed25519", "public_key": ed25519}, 422),
                                  (f"{ten}/{self.tenant}/approver-keys", {"algorithm": "rot13"}, 422)],
            "revokeApproverKey": [(f"{ten}/{self.tenant}/approver-keys/{self.approver}", None, 200),
                                  (f"{ten}/{self.tenant}/approver-keys/apk_{MISSING}", None, 404)],
            "getHealth": [("/healthz", None, 200)], "getReadiness": [("/readyz", None, 200)],
            "getMetrics": [("/metrics", None, 200)], "listProblems": [("/problems", None, 200)],
            "getProblem": [("/problems/not-found", None, 200), ("/problems/no-such-slug", None, 404)],
            "getOpenapi": [("/openapi.yaml", None, 200)], "getHome": [("/", None, 200)],
        }


class TheServer(ServerTest):
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

    def key_for(self, operation):
        schemes = [name for need in operation.get("security", SPEC["security"]) for name in need]
        return {"integrationKey": self.client, "adminKey": self.admin}[schemes[0]] if schemes else self.server.client("")

    def test_I23_answers_every_operation_as_the_file_says(self):
        examples, seen = Examples(self).table(), set()
        for path, method, operation in operations():
            name = operation["operationId"]
            with self.subTest(operation=name):
                self.assertIn(name, examples, f"no example for {method.upper()} {path}: write one")
            for target, body, status in examples.get(name, []):
                seen.add(name)
                with self.subTest(operation=name, target=target, body=str(body)[:60]):
                    pattern = "^" + re.sub(r"\\{[a-z_]+\\}", "[^/?]+", re.escape(path)) + r"(\?.*)?$"
                    self.assertRegex(target, pattern)
                    answer = self.key_for(operation).request(method.upper(), target, body)
                    self.assertEqual(answer.status, status, answer.body[:500])
                    self.check_answer(operation, answer)
        self.assertEqual(set(examples), seen, "an example for an operation that is not in the file")

    def test_I23_guards_what_the_file_says_is_guarded(self):
        for path, method, operation in operations():
            if operation.get("security", SPEC["security"]) == []:
                continue
            target = re.sub(r"\{([a-z_]+)\}", "x", path)
            with self.subTest(operation=operation["operationId"]):
                body = {} if method in ("post", "patch") else None
                answer = self.server.client("").request(method.upper(), target, body)
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

    def test_every_problem_in_the_file_has_its_page(self):
        listed = self.client.get("/problems").body.decode()
        for problem in SPEC["x-problems"]:
            page = self.server.client("").get(f"/problems/{problem['slug']}")
            self.assertEqual((page.status, page.header("content-type").split(";")[0]), (200, "text/html"), problem)
            self.assertIn(str(problem["status"]), page.body.decode())
            self.assertIn(problem["slug"], listed)


class TheFile(unittest.TestCase):
    def test_I23_is_openapi_3_1_with_resolvable_references_and_unique_operations(self):
        self.assertTrue(SPEC["openapi"].startswith("3.1."))
        names = [operation["operationId"] for _, _, operation in operations()]
        self.assertEqual(len(names), len(set(names)))
        for reference in re.findall(r"\$ref: ['\"]?(#/[A-Za-z/]+)", SPEC_FILE.read_text()):
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
        for path, value in ((("type",), "message_strat"), (("seq",), -1), (("seq",), "0"), (("object",), "event"),
                            (("message_id",), "msg_short"), (("created_at",), "yesterday"), (("extra",), 1), (("data",), {})):
            broken = copy.deepcopy(event)
            broken[path[0]] = value
            self.assertNotEqual(schema_errors(EVENT, broken), [], f"{path} = {value} was accepted")


if __name__ == "__main__":
    unittest.main()
