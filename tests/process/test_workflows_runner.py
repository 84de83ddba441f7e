"""Agents blocks that a runner elsewhere carries (B-3, S-8): each execution has tokens of its own."""
import http.server
import json
import threading
import unittest

from http_client import CLOSED_WITHIN_S
from workflow_fixture import WorkflowTest, agents, edges


class FakeRunner(http.server.ThreadingHTTPServer):
    """Takes dispatches and answers each with its prompt, redeeming nothing."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Dispatch)
        self.taken = []
        self.thread = threading.Thread(target=self.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Dispatch(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.taken.append(given)
        usage = {"input_tokens": 1, "output_tokens": 1}
        line = json.dumps({"type": "result", "message": given["prompt"], "usage": usage, "ts": 1}).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Content-Length", str(len(line)))
        self.end_headers()
        self.wfile.write(line)

    def log_message(self, *_):
        pass


class Elsewhere(WorkflowTest):
    @classmethod
    def setUpClass(cls):
        cls.own, cls.flows, cls.blocks = FakeRunner(), FakeRunner(), FakeRunner()
        for runner in (cls.own, cls.flows, cls.blocks):
            cls.addClassCleanup(runner.close)
        cls.flags = ("--runner", cls.own.url, "--runner.sandbox_urls", f"{cls.flows.url}|{cls.blocks.url}")
        super().setUpClass()

    def setUp(self):
        super().setUp()
        for runner in (self.own, self.flows, self.blocks):
            runner.taken.clear()

    def test_B3_tokens_are_minted_per_execution_and_scoped_to_it(self):
        end = self.lines(self.start({"blocks": [agents("a", "one"), agents("b", "{{blocks.a.response}} two")],
                                     "edges": edges(("a", "b")), "outputs": {"o": "{{blocks.b.response}}"}}))[-1]
        self.assertEqual((end["status"], end["outputs"]), ("succeeded", {"o": "one two"}), end)
        first, second = self.own.taken
        self.assertNotEqual(first["agent_url"], second["agent_url"])
        for name in ("otp_setup", "otp_run"):
            self.assertNotEqual(first[name], second[name])
        nobody = self.server.client("")

        def config(execution, token):
            return nobody.get("/api/agents/" + execution["agent_url"].rsplit("/", 1)[1] + "/config", {"Authorization": token})

        self.assert_problem(config(second, first["otp_run"]), 401, "token-invalid")
        self.assert_problem(config(first, second["otp_run"]), 401, "token-invalid")
        self.assertEqual(config(second, second["otp_run"]).status, 200, "its own is still good")
        self.assertEqual(config(first, first["otp_run"]).status, 200)

    def test_S8_the_block_then_the_workflow_then_the_server_names_the_runner(self):
        for definition, taken in (
                ({"blocks": [agents("a", "x", sandbox_url=self.blocks.url)],
                  "environment": {"SANDBOX_URL": self.flows.url}}, self.blocks),
                ({"blocks": [agents("a", "x")], "environment": {"SANDBOX_URL": self.flows.url}}, self.flows),
                ({"blocks": [agents("a", "x")]}, self.own)):
            end = self.lines(self.start(definition))[-1]
            self.assertEqual(end["status"], "succeeded", end)
            self.assertEqual([len(r.taken) for r in (self.own, self.flows, self.blocks)],
                             [int(r is taken) for r in (self.own, self.flows, self.blocks)])
            for runner in (self.own, self.flows, self.blocks):
                runner.taken.clear()

    def test_S8_a_runner_that_the_operator_does_not_allow_is_not_asked(self):
        other = FakeRunner()
        self.addCleanup(other.close)
        end = self.lines(self.start({"blocks": [agents("a", "x", sandbox_url=other.url)]}))[-1]
        self.assertEqual(end["status"], "failed", end)
        self.assertEqual(other.taken, [])


if __name__ == "__main__":
    unittest.main()
