"""Where a tenant, or the holder of a runner's key, may have the server itself call: what a rule names, and public addresses
where the rule is "*"."""
import http.server
import re
import threading
import unittest

from server_process import ServerTest, wait_until

BAIT = "what only this machine may read"


class Target:
    """Something on loopback that the server could be led to."""

    def __init__(self):
        target = self
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                target.seen.append(f"{self.command} {self.path}")
                self.send_response(200)
                self.send_header("Content-Length", str(len(BAIT)))
                self.end_headers()
                self.wfile.write(BAIT.encode())

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def urls(self):
        """By its address, and by names that lead there."""
        return [f"http://{host}:{self.port}" for host in ("127.0.0.1", "localhost", "some.localhost")]

    def misspelt_urls(self):
        """What some resolvers take for its address."""
        return [f"http://{host}:{self.port}" for host in ("2130706433", "127.1", "0x7f.0.0.1")]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class AStar(ServerTest):
    """I-17: it allows any public address, and nothing of this machine or its network."""

    flags = ("--sandbox.driver", "off", "--workflows.http_urls", "*", "--tools.urls", "*", "--runner.sandbox_urls", "*")

    def setUp(self):
        super().setUp()
        self.target = Target()
        self.addCleanup(self.target.close)

    @property
    def workspace(self):
        return "/api/workspaces/" + self.server.bootstrap["workspace_id"]

    def events_of_a_run(self, name, definition):
        kept = self.client.post(self.workspace + "/workflows", {"name": name, "definition": definition})
        self.assertEqual(kept.status, 201, kept.body)
        run = self.client.post(f"{self.workspace}/workflows/{kept.json()['id']}/runs", {"inputs": {}},
                               headers={"Prefer": "respond-async"}).json()["id"]
        return self.client.get(f"{self.workspace}/workflow-runs/{run}/events").body.decode()

    def test_I17_leads_no_workflow_to_this_machine(self):
        for number, url in enumerate(self.target.urls()):
            definition = {"blocks": [{"id": "a", "type": "http", "method": "GET", "url": url + "/x"}]}
            lines = self.events_of_a_run(f"led {number}", definition)
            self.assertRegex(lines, r" leads to (127\.0\.0\.1|::1), ")
            self.assertNotIn(BAIT, lines)
        self.assertEqual(self.target.seen, [])

    def test_I17_leads_no_tool_to_this_machine(self):
        for number, url in enumerate(self.target.urls()):
            tool = {"name": "look", "description": "Looks.", "url": url + "/tool", "parameters": {"type": "object"}}
            agent = self.client.post("/v1/agents", {"name": f"led {number}", "tools": [tool],
                                                    "policy": [{"effect": "allow", "host": "*"}]})
            self.assertEqual(agent.status, 201, agent.body)
            events = self.client.say(self.conversation(agent_id=agent.json()["id"]), "call look {}\nsay {{last}}")
            told = b"\n".join(events).decode()
            self.assertNotIn(BAIT, told)
            self.assertRegex(told, r" leads to (127\.0\.0\.1|::1), ")
        self.assertEqual(self.target.seen, [])

    def test_I17_takes_no_other_spelling_of_an_address(self):
        tenant = self.server.bootstrap["tenant_id"]
        for number, url in enumerate(self.target.misspelt_urls()):
            tool = {"name": "look", "description": "Looks.", "url": url + "/tool", "parameters": {"type": "object"}}
            refused = {"tool": self.client.post("/v1/agents", {"name": f"spelt {number}", "tools": [tool]}),
                       "webhook": self.server.admin().patch(f"/v1/tenants/{tenant}", {"settings": {"webhook_url": url}}),
                       "runner": self.client.post("/api/assistant/chat/stream", {"message": "say hi", "sandboxUrl": url})}
            for what, answer in refused.items():
                self.assertEqual(answer.status, 422, (what, url, answer.body))
            definition = {"blocks": [{"id": "a", "type": "http", "method": "GET", "url": url + "/x"}]}
            self.assertIn("http-not-allowed", self.events_of_a_run(f"spelt {number}", definition))
        self.assertEqual(self.target.seen, [])

    def test_I17_leads_no_turn_to_a_runner_on_this_machine(self):
        for url in self.target.urls():
            stream = self.client.open("POST", "/api/assistant/chat/stream", {"message": "say hi", "sandboxUrl": url})
            with stream.connection:
                self.assertEqual(stream.status, 200)
                told = "".join(map(str, stream.lines()))
            self.assertRegex(told, r" leads to (127\.0\.0\.1|::1), ")
            self.assertNotIn(BAIT, told)
        self.assertEqual(self.target.seen, [])

    def test_I17_leads_no_webhook_to_this_machine(self):
        """It is the default of webhooks.urls."""
        tenant = self.server.bootstrap["tenant_id"]
        for number, url in enumerate(self.target.urls()):
            kept = self.server.admin().patch(f"/v1/tenants/{tenant}", {"settings": {"webhook_url": url + "/hook"}})
            self.assertEqual(kept.status, 200, kept.body)
            stream = self.client.send(self.conversation(), f"ask May I, number {number}?")
            self.addCleanup(stream.close)
            wait_until(lambda: self.refused_hooks() > number, "the webhook to be refused")
        self.assertEqual(self.target.seen, [])

    def refused_hooks(self):
        lines = (line for line in self.server.log().splitlines() if "webhook did not take a notice" in line)
        notices = set()
        for line in lines:
            self.assertRegex(line, r" leads to (127\.0\.0\.1|::1), ")
            notices.add(re.search(r"ntc_\w+", line).group())
        return len(notices)


class ARunnersKey(ServerTest):
    """Its holder says where a dispatch is fetched, and this server asks there."""

    def setUp(self):
        super().setUp()
        self.target = Target()
        self.addCleanup(self.target.close)
        self.runner = self.server.client(self.server.bootstrap["runner_key"])

    def dispatch(self):
        workspace = self.server.bootstrap["workspace_id"]
        return self.client.post(f"/api/workspaces/{workspace}/executions", {"prompt": "say hi"}).json()

    def test_leads_the_server_to_itself_only(self):
        for url in self.target.urls()[:1] + [self.server.url.replace("http:", "https:"), "http://169.254.169.254"]:
            answer = self.runner.post("/sandbox/stream", self.dispatch() | {"agent_url": url + "/latest"})
            problem = self.assert_problem(answer, 422, "validation-error")
            self.assertEqual([error["pointer"] for error in problem["errors"]], ["/agent_url"])
            self.assertIn("runner.agent_urls", problem["errors"][0]["message"])
        self.assertEqual(self.target.seen, [])
        stream = self.runner.open("POST", "/sandbox/stream", self.dispatch())
        with stream.connection:
            self.assertEqual(stream.status, 200)
            self.assertIn("hi", "".join(map(str, stream.lines())))


if __name__ == "__main__":
    unittest.main()
