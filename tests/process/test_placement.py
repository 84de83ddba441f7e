"""Where a conversation's runs are carried out (I-21): boxes that stay, boxes that go, and the same events either way."""
import json
import unittest

from gate_fixture import GateTest, Upstream
from server_process import wait_until

STORY = ["write notes: one\nsay first", "$ echo two >> notes\nask go on?\n$ echo three >> notes; cat notes\nsay {{last}}",
         "$ cat notes\nsay {{last}}"]


class Placement(GateTest):
    flags = ("--sandbox.driver", "namespaces", "--capacity.max_sticky", "2")

    def tell(self, conversation, script):
        stream = self.client.send(conversation, script)
        self.addCleanup(stream.close)
        lines, events = stream.lines(), []
        for line in lines:
            event = json.loads(line)
            events.append(event)
            if event["type"] == "approval_required":
                self.assertEqual(self.approve(event["data"]["id"]).status, 200)
        return events

    def runtime(self, conversation):
        return self.client.get(f"/v1/conversations/{conversation}").json()["runtime"]

    def said(self, conversation, script):
        end = self.tell(conversation, script)[-1]
        self.assertEqual(end["type"], "message_end", end)
        return end["data"]["message"]["content"]

    def release(self, conversation):
        self.client.patch(f"/v1/conversations/{conversation}", {"runtime": {"mode": "pooled"}})

    def test_I21_the_same_run_has_the_same_events_under_both_placements(self):
        told = {}
        for mode in ("pooled", "sticky"):
            conversation = self.conversation(runtime={"mode": mode})
            told[mode] = [[(e["type"], e["seq"], e["data"].get("text"), e["data"].get("reason")) for e in
                           self.tell(conversation, script)] for script in STORY]
            self.release(conversation)
        self.assertEqual(told["pooled"], told["sticky"])
        self.assertIn("three", "".join(text or "" for _, _, text, _ in told["pooled"][2]))

    def test_I21_a_sticky_sandbox_keeps_its_processes_and_a_pooled_one_does_not(self):
        sticky = self.conversation(runtime={"mode": "sticky", "sticky_ttl_seconds": 600})
        self.said(sticky, "$ sleep 1000 >/dev/null 2>&1 & echo $! > pid; touch /tmp/mark")
        shown = self.runtime(sticky)
        self.assertEqual((shown["mode"], shown["sticky_ttl_seconds"], shown["sandbox_state"]), ("sticky", 600, "warm"))
        self.assertTrue(shown["expires_at"])
        self.assertIn("still", self.said(sticky, "$ kill -0 $(cat pid) && test -e /tmp/mark && echo still\nsay {{last}}"))
        self.assertEqual(self.client.get("/v1/capacity").json()["sticky_active"], 1)
        self.release(sticky)
        wait_until(lambda: self.client.get("/v1/capacity").json()["sticky_active"] == 0, "the box is released")
        self.assertEqual(self.runtime(sticky)["sandbox_state"], "none")
        self.assertIn("gone", self.said(sticky, "$ cat pid; kill -0 $(cat pid) 2>/dev/null || echo gone\nsay {{last}}"))

    def test_I21_a_sticky_sandbox_keeps_its_processes_through_a_pause(self):
        sticky = self.conversation(runtime={"mode": "sticky"})
        said = self.said(sticky, "$ sleep 1000 >/dev/null 2>&1 & echo $! > pid\nask go on?\n"
                                 "$ kill -0 $(cat pid) && echo still\nsay {{last}}")
        self.assertIn("still", said)
        self.release(sticky)

    def test_I21_exceeded_limits_are_answered_with_422_and_429(self):
        too_long = self.client.post("/v1/conversations", {"runtime": {"mode": "sticky", "sticky_ttl_seconds": 7200}})
        self.assert_problem(too_long, 422, "validation-error")
        for seconds in (59, 86_401, "x"):
            answer = self.client.post("/v1/conversations", {"runtime": {"mode": "sticky", "sticky_ttl_seconds": seconds}})
            self.assert_problem(answer, 422, "validation-error")
        both = [self.conversation(runtime={"mode": "sticky"}) for _ in range(2)]
        for conversation in both:
            self.said(conversation, "$ true")
        answer = self.client.post("/v1/conversations", {"runtime": {"mode": "sticky"}})
        self.assert_problem(answer, 429, "capacity-exhausted")
        pooled = self.conversation()
        self.assert_problem(self.client.patch(f"/v1/conversations/{pooled}", {"runtime": {"mode": "sticky"}}), 429,
                            "capacity-exhausted")
        self.assertEqual(self.client.delete(f"/v1/conversations/{both[0]}").status, 204)
        self.release(both[1])
        wait_until(lambda: self.client.get("/v1/capacity").json()["sticky_active"] == 0, "both are released")

    def test_I21_a_denied_run_leaves_the_workspace_as_it_was(self):
        for mode in ("pooled", "sticky"):
            with self.subTest(mode):
                conversation = self.conversation(runtime={"mode": mode})
                self.said(conversation, "write notes: one")
                stream = self.client.send(conversation, "$ echo two > notes\nask go on?")
                self.addCleanup(stream.close)
                lines = stream.lines()
                approval = self.until_gate(lines)[-1]["data"]["id"]
                self.assertEqual(self.deny(approval).status, 200)
                list(lines)
                self.release(conversation)
                self.assertIn("one", self.said(conversation, "$ cat notes\nsay {{last}}"))


class PooledRepeat(GateTest):
    """I-17: a command that waited for its secret in a box that is gone is run again only if it left no trace."""

    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.flags = ("--sandbox.driver", "namespaces", "--egress.host_addresses", "crm.example 127.0.0.1",
                     "--egress.private_addresses", "127.0.0.1/32", "--egress.ca_file", cls.upstream.ca_file)
        super().setUpClass()

    def said(self, *commands):
        """What comes of the last of them, approved on the way."""
        self.upstream.requests.clear()
        self.policy({"effect": "allow", "host": "crm.example", "secrets": ["CRM_API_KEY"]})
        stream = self.client.send(self.conversation(), "\n".join([*(f"$ {command}" for command in commands), "say {{last}}"]))
        self.addCleanup(stream.close)
        lines = stream.lines()
        approval = self.until_gate(lines)[-1]["data"]["id"]
        self.assertEqual(self.approve(approval, secrets={"CRM_API_KEY": "s3cr3t-value"}).status, 200)
        end = json.loads(list(lines)[-1])
        self.assertEqual(end["type"], "message_end", end)
        return end["data"]["message"]["content"]

    @property
    def curl(self):
        return f"curl -sS -H 'X-Key: {{{{secret:CRM_API_KEY}}}}' {self.upstream.url}/x"

    def test_what_changed_nothing_is_run_again(self):
        self.assertIn("invoices", self.said("ls -la; cat /etc/hostname > /tmp/elsewhere; " + self.curl))
        self.assertEqual(len(self.upstream.seen()), 1)

    def test_what_an_earlier_command_changed_does_not_count(self):
        self.assertIn("invoices", self.said("mkdir out; echo one > out/a", "true; sleep 0.1", "cat out/a; " + self.curl))

    def test_a_call_with_effects_is_reported_and_not_run_again(self):
        for command, path in (("mkdir out && ", "out"), ("echo x >> n; ", "n"), ("touch a; rm a; ", ".")):
            with self.subTest(command):
                said = self.said(command + self.curl)
                self.assertIn(f"It had changed files ({path}) by then, so it was not run again", said)
                self.assertIn("{{secret:CRM_API_KEY}} is on file", said)
                self.assertEqual(self.upstream.seen(), [])


if __name__ == "__main__":
    unittest.main()
