"""SIGKILL in the middle of each kind of block: the run goes on where it was, and nothing is done twice that must not be."""
import unittest

from provider_emulator import Answer, Emulator
from server_process import wait_until
from workflow_fixture import WorkflowTest, agents, edges


MODEL = {"provider": "openai-chat", "name": "m"}


class Crash(WorkflowTest):
    """Models are a provider that is silent when it is asked first, so that the block runs when the server is struck, and
    that answers when it is asked again."""

    @classmethod
    def setUpClass(cls):
        cls.provider = Emulator()
        cls.addClassCleanup(cls.provider.close)
        cls.flags = ("--providers.openai-chat.base_url", cls.provider.url + "/v1")
        super().setUpClass()
        cls.agent = cls.client.post("/v1/agents", {"name": "struck", "model": MODEL}).json()["id"]

    def setUp(self):
        super().setUp()
        self.provider.play(Answer(silent_after=0), Answer(texts=("one",)))

    def start_again(self):
        self.server.start()
        type(self).client = self.server.client()

    def crash(self):
        self.server.kill()
        self.start_again()

    def end_of(self, run):
        lines = self.lines(run)
        self.check_lines(lines)
        return lines[-1]

    def wait_for_work_on(self, run, block):
        wait_until(lambda: self.provider.seen, "the provider is asked")
        states = {b["id"]: b["status"] for b in self.run_record(run)["blocks"]}
        self.assertEqual(states[block], "running")

    def test_in_an_agents_block(self):
        run = self.start({"blocks": [agents("a", "Count.", agent=self.agent), agents("b", "say {{blocks.a.response}} two")],
                          "edges": edges(("a", "b")), "outputs": {"o": "{{blocks.b.response}}"}})
        self.wait_for_work_on(run, "a")
        before = self.run_record(run)["blocks"][0]["run_id"]
        self.crash()
        end = self.end_of(run)
        self.assertEqual((end["status"], end["outputs"]), ("succeeded", {"o": "one two"}))
        self.assertEqual(self.run_record(run)["blocks"][0]["run_id"], before, "the same run went on")

    def test_in_an_inference_block(self):
        run = self.start({"blocks": [{"id": "a", "type": "inference", "prompt": "Count.", "model": MODEL}],
                          "outputs": {"o": "{{blocks.a.response}}"}})
        self.wait_for_work_on(run, "a")
        self.crash()
        self.assertEqual(self.end_of(run)["outputs"], {"o": "one"})

    def http_story(self, method, **more):
        self.forget_requests()
        self.target.gate.clear()
        run = self.start({"blocks": [{"id": "a", "type": "http", "method": method, "url": self.target.url + "/x", **more}],
                          "outputs": {"o": "{{blocks.a.status}}"}})
        self.assertTrue(self.target.came.acquire(timeout=30))
        self.server.kill()
        self.target.gate.set()
        self.start_again()
        return self.end_of(run)

    def test_in_an_http_block_that_may_be_done_again(self):
        for method, more in (("GET", {}), ("PUT", {"body": "x"}), ("POST", {"body": "x", "idempotent": True})):
            with self.subTest(method=method):
                end = self.http_story(method, **more)
                self.assertEqual((end["status"], end["outputs"]), ("succeeded", {"o": "200"}))
                self.assertEqual(len(self.target.asked), 2)
                keys = {headers["Idempotency-Key"] for _, _, headers, _ in self.target.asked}
                self.assertEqual(len(keys), 1, "whoever is asked can tell that it is the same")

    def test_in_an_http_block_that_must_not_be_done_again(self):
        end = self.http_story("POST", body="x")
        self.assertEqual((end["status"], end["error"]["code"]), ("failed", "outcome-unknown"))
        self.assertEqual(len(self.target.asked), 1)

    def test_what_was_told_before_stays_true(self):
        run = self.start({"blocks": [agents("a", "say one"), {"id": "c", "type": "condition", "left": "1", "op": "lt",
                                                              "right": "2"}, agents("b", "Count.", agent=self.agent)],
                          "edges": edges(("a", "c"), ("c", "b", True))})
        self.wait_for_work_on(run, "b")
        told = []
        answer = self.client.open("GET", f"{self.workspace}/workflow-runs/{run}/events")
        for line in answer.lines():
            told.append(line)
            if b'"block.started","block":"b"' in line:
                break
        answer.close()
        self.crash()
        self.end_of(run)
        again = self.client.get(f"{self.workspace}/workflow-runs/{run}/events")
        self.assertEqual(again.body.splitlines()[:len(told)], told)


if __name__ == "__main__":
    unittest.main()
