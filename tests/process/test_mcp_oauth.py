"""Servers of MCP that take a token, which the server gets by client credentials (H-6, I-17)."""
import base64
import json
import os
import pathlib
import unittest

from authorization_server import AuthorizationServer, GuardedMcpServer
from server_process import ServerTest

SECRET = "client&secret=51f0c2"


class Guarded(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.authorization = AuthorizationServer("sluice", SECRET)
        cls.addClassCleanup(cls.authorization.close)
        cls.mcp = GuardedMcpServer(cls.authorization)
        cls.addClassCleanup(cls.mcp.close)
        cls.flags = ("--tools.urls", cls.mcp.url.removesuffix("/mcp") + "|" + cls.authorization.url,
                     "--egress.plaintext_secrets", "true", "--log.level", "debug")
        super().setUpClass()
        for alias, value in (("CRM_CLIENT", SECRET), ("WRONG_CLIENT", "another&secret")):
            put = cls.client.request("PUT", "/v1/secrets",
                                     {"secrets": {alias: {"value": value, "hosts": ["127.0.0.1"]}}})
            assert put.status == 200, put.body

    def agent(self, **oauth):
        made = self.client.post("/v1/agents", {
            "name": self.id(), "model": {"provider": "offline", "name": "offline"},
            "mcp_servers": [{"name": "crm", "url": self.mcp.url, "oauth": {"client_id": "sluice"} | oauth}],
            "policy": [{"effect": "allow", "host": "127.0.0.1"}]})
        self.assertEqual(made.status, 201, made.body)
        return made.json()["id"]

    def events_of(self, agent, *lines):
        stream = self.client.send(self.conversation(agent_id=agent), "\n".join(lines), query="?detail=full")
        self.addCleanup(stream.close)
        events = [json.loads(line) for line in stream.lines()]
        self.assertEqual(events[-1]["type"], "message_end", events[-3:])
        return events

    def assert_kept_secret(self, events):
        told = json.dumps(events) + self.server.log()
        for value in [SECRET, "client%26secret", *self.authorization.issued]:
            self.assertNotIn(value, told)
        for folder, _, names in os.walk(self.server.data):
            for name in names:
                path = pathlib.Path(folder, name)
                raw = path.read_bytes() if path.is_file() else b""
                for value in [SECRET, *self.authorization.issued]:
                    self.assertNotIn(value.encode(), raw, path)

    def test_H6_a_token_is_discovered_used_and_renewed_and_never_visible(self):
        agent = self.agent(client_secret="{{secret:CRM_CLIENT}}")
        before = len(self.authorization.issued)
        events = self.events_of(agent, "call crm__revoke {}", "call crm__quote {}", "say {{last}}")
        self.assertEqual(events[-1]["data"]["message"]["content"], "You came with {{secret:SLUICE_MCP_TOKEN}}")
        self.assertEqual(len(self.authorization.issued), before + 2, "the revoked one was replaced once")
        self.assertEqual(self.authorization.asked[-1],
                         {"grant_type": "client_credentials", "scope": "orders", "resource": self.mcp.url})
        self.assert_kept_secret(events)

    def test_H6_the_endpoint_that_the_agent_names_is_asked_for_its_scope(self):
        agent = self.agent(client_secret="{{secret:CRM_CLIENT}}", token_url=self.authorization.url + "/token",
                           scope="read", resource="urn:crm")
        events = self.events_of(agent, "call crm__quote {}", "say {{last}}")
        self.assertEqual(events[-1]["data"]["message"]["content"], "You came with {{secret:SLUICE_MCP_TOKEN}}")
        self.assertEqual(self.authorization.asked[-1],
                         {"grant_type": "client_credentials", "scope": "read", "resource": "urn:crm"})
        self.assert_kept_secret(events)

    def test_I17_a_refusal_is_told_in_the_endpoints_words_without_the_secret(self):
        events = self.events_of(self.agent(client_secret="{{secret:WRONG_CLIENT}}"), "say done")
        told = json.dumps(events)
        self.assertIn("are left out: no token was issued for it: " + self.authorization.url +
                      "/token answered with status 401: invalid_client: Not with Basic ", told)
        for value in ("another&secret", "another%26secret", base64.b64encode(b"sluice:another%26secret").decode()):
            self.assertNotIn(value, told + self.server.log())


if __name__ == "__main__":
    unittest.main()
