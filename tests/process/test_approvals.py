"""Runs that wait for a human, through the real server (I-14, I-15, I-16): the contract's example of a pause line by
line, under both placements; decisions that are forged, doubled, late; a server that dies meanwhile."""
import base64
import concurrent.futures
import hashlib
import hmac
import json
import subprocess
import time
import unittest

from gate_fixture import Approver, GateTest, Hooks, base64url
from server_process import BINARY, Server, wait_until
from stream_grammar import check_stream, slug_of

REASON = "The CRM lookup requires a credential that is not on file for this conversation."
PAUSE = ("put Starting the reconciliation. \n"
         f"need CRM_API_KEY: API key for the CRM system because {REASON}\n"
         "put Reconciled 14 invoices against the CRM using {{secret:CRM_API_KEY}}.")
SECRET = "example-value-vaulted-never-echoed"
PLACEMENTS = ("pooled", "sticky")


def told(events):
    """What a stream says, ids and times aside."""
    return [(e["type"], e["seq"], e["data"]) for e in events]


class Pause(GateTest):
    def pause(self, mode, script=PAUSE):
        conversation = self.conversation(runtime={"mode": mode})
        answer = self.client.send(conversation, script)
        self.addCleanup(answer.close)
        lines = answer.lines()
        events = self.until_gate(lines)
        return conversation, lines, events, events[-1]["data"]

    def test_I14_I16_the_pause_has_the_lines_of_the_contract_under_both_placements(self):
        for mode in PLACEMENTS:
            with self.subTest(mode):
                conversation, lines, events, approval = self.pause(mode)
                self.assertEqual([(e["type"], e["seq"]) for e in events],
                                 [("message_start", 0), ("content_delta", 1), ("approval_required", 2)])
                self.assertEqual(events[1]["data"], {"text": "Starting the reconciliation. "})
                self.assertEqual(list(approval), ["object", "id", "tenant_id", "conversation_id", "message_id", "status",
                                                  "reason", "requested_items", "expires_at", "resolved_by",
                                                  "resolved_at", "created_at", "updated_at"])
                self.assertEqual(approval["reason"], REASON)
                self.assertEqual(approval["requested_items"], [
                    {"kind": "secret", "description": "API key for the CRM system", "alias": "CRM_API_KEY"}])
                self.assertEqual(self.messages(conversation)[-1]["status"], "awaiting_approval")
                self.assertEqual(self.pending(conversation), [approval])

                answer = self.approve(approval["id"], secrets={"CRM_API_KEY": SECRET}, note="Approved on duty.")
                self.assertEqual(answer.status, 200, answer.body)
                decided = answer.json()
                self.assertEqual((decided["status"], decided["resolved_by"], decided["note"]),
                                 ("approved", "approver_key:" + self.approver.key_id, "Approved on duty."))
                rest = [json.loads(line) for line in lines]
                said = "Reconciled 14 invoices against the CRM using {{secret:CRM_API_KEY}}."
                self.assertEqual(told(rest)[:2], [
                    ("resumed", 3, {"approval_id": approval["id"], "decision": "approved"}),
                    ("content_delta", 4, {"text": said})])
                self.assertEqual([(e["type"], e["seq"]) for e in rest[2:]], [("message_end", 5)])
                self.assertEqual(rest[2]["data"]["message"]["content"], "Starting the reconciliation. " + said)
                self.assertEqual(self.messages(conversation)[-1], rest[2]["data"]["message"])
                check_stream([json.dumps(e, separators=(",", ":")).encode() for e in events + rest])
                self.assertNotIn(SECRET, json.dumps(events + rest) + answer.body.decode())
                again = self.client.get(f"/v1/conversations/{conversation}/secrets").json()
                self.assertEqual([s["alias"] for s in again["data"]], ["CRM_API_KEY"])
                self.assertNotIn(SECRET, json.dumps(again))

    def test_I16_a_denial_ends_the_stream_and_the_message_and_is_no_time_out(self):
        for mode in PLACEMENTS:
            with self.subTest(mode):
                conversation, lines, _, approval = self.pause(mode)
                self.assertEqual(self.deny(approval["id"], note="no").status, 200)
                rest = [json.loads(line) for line in lines]
                self.assertEqual([(e["type"], e["seq"]) for e in rest], [("error", 3)])
                self.assertEqual(slug_of(rest[0]["data"]), "approval-denied")
                self.assertEqual(self.messages(conversation)[-1]["status"], "failed")
                self.assertEqual(self.client.get(f"/v1/approvals/{approval['id']}").json()["status"], "denied")

    def test_I16_whom_nobody_answers_in_time_is_told_so_and_that_is_no_denial(self):
        for mode in PLACEMENTS:
            with self.subTest(mode):
                conversation, lines, _, approval = self.pause(
                    mode, 'call request_approval {"reason":"May I?","expires_in_seconds":1}\nsay yes')
                rest = [json.loads(line) for line in lines]
                self.assertEqual([(e["type"], slug_of(e["data"])) for e in rest], [("error", "approval-expired")])
                self.assertEqual(self.messages(conversation)[-1]["status"], "failed")
                shown = self.client.get(f"/v1/approvals/{approval['id']}").json()
                self.assertEqual((shown["status"], shown["resolved_by"]), ("expired", "expiry"))
                self.assert_problem(self.approve(approval["id"]), 409, "approval-expired")

    def test_I14_who_left_learns_from_history_and_may_decide_from_any_connection(self):
        conversation = self.conversation()
        answer = self.client.send(conversation, "ask May I?\nsay done")
        events = self.until_gate(answer.lines())
        answer.close()
        self.assertEqual(self.messages(conversation)[-1]["status"], "awaiting_approval")
        approval = self.pending(conversation)[0]
        self.assertEqual(approval, events[-1]["data"])
        self.assertEqual(self.approve(approval["id"]).status, 200)
        done = wait_until(lambda: [m for m in self.messages(conversation) if m["status"] == "completed"][1:],
                          "the run goes on without its caller")
        self.assertEqual(done[0]["content"], "done")
        check_stream(self.client.events(done[0]["id"]))

    def test_I20_a_caller_who_does_not_stream_waits_through_the_pause(self):
        conversation = self.conversation()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            whole = pool.submit(self.client.post, f"/v1/conversations/{conversation}/messages?stream=false",
                                {"content": "ask May I?\nsay done"})
            approval = wait_until(lambda: self.pending(conversation), "the approval is there")[0]
            self.assertEqual(self.approve(approval["id"]).status, 200)
            self.assertEqual((whole.result().status, whole.result().json()["content"]), (201, "done"))

    def test_a_caller_that_does_not_stream_gets_the_outcome_of_the_wait_and_the_message(self):
        for content, decide, status, slug in (
                ("ask May I?\nsay done", self.deny, 403, "approval-denied"),
                ('call request_approval {"reason":"r","expires_in_seconds":1}\nsay done', lambda approval: None, 409,
                 "approval-expired")):
            with self.subTest(slug), concurrent.futures.ThreadPoolExecutor() as pool:
                conversation = self.conversation()
                whole = pool.submit(self.client.post, f"/v1/conversations/{conversation}/messages?stream=false",
                                    {"content": content})
                decide(wait_until(lambda: self.pending(conversation), "the approval is there")[0]["id"])
                self.assert_problem(whole.result(), status, slug)
                self.assertEqual(whole.result().header("x-message-id"), self.messages(conversation)[-1]["id"])

    def test_a_run_may_ask_more_than_once(self):
        conversation, lines, _, approval = self.pause("pooled", "ask one\nsay a\nask two\nsay b")
        self.assertEqual(self.approve(approval["id"]).status, 200)
        second = self.until_gate(lines)[-1]["data"]
        self.assertEqual(second["reason"], "two")
        self.assertEqual(self.approve(second["id"]).status, 200)
        rest = [json.loads(line) for line in lines]
        self.assertEqual(rest[-1]["data"]["message"]["content"], "a\nb")
        self.assertEqual(len(self.client.get(f"/v1/approvals?conversation_id={conversation}").json()["data"]), 2)

    def test_cancelling_a_parked_run_closes_its_gate(self):
        _, lines, _, approval = self.pause("pooled", "ask May I?")
        run = self.client.get("/v1/runs").json()["data"][0]["id"]
        self.assertEqual(self.client.post(f"/v1/runs/{run}/cancel").status, 200)
        self.assertEqual(slug_of(json.loads(list(lines)[-1])["data"]), "run-cancelled")
        self.assertEqual(self.client.get(f"/v1/approvals/{approval['id']}").json()["status"], "expired")


class Forgery(GateTest):
    """I-15: every mismatch is 403, the approval stays pending and the stream does not move."""

    def setUp(self):
        self.conversation_id = self.conversation()
        self.stream = self.client.send(self.conversation_id, "ask May I?\nsay done")
        self.addCleanup(self.stream.close)
        self.lines = self.stream.lines()
        self.approval = self.until_gate(self.lines)[-1]["data"]["id"]

    def refused(self, signature, decision="approve"):
        answer = self.client.post(f"/v1/approvals/{self.approval}/{decision}", {"signature": signature})
        self.assert_problem(answer, 403, "approval-signature-invalid")
        self.assertEqual(self.client.get(f"/v1/approvals/{self.approval}").json()["status"], "pending")

    def test_I15_whatever_is_not_signed_exactly_so_is_refused_and_changes_nothing(self):
        now = int(time.time())
        good = self.approver.signature(self.approval)
        other_key = self.admin.post(f"/v1/tenants/{self.server.bootstrap['tenant_id']}/approver-keys",
                                    {"name": "second", "algorithm": "hmac-sha256"}).json()
        cases = {
            "other key's secret": Approver(self.approver.key_id, "wrong" * 8).signature(self.approval),
            "other key's id": good | {"key_id": other_key["id"]},
            "unknown key": good | {"key_id": "apk_01hzx8c0000000000000000001"},
            "no key id at all": good | {"key_id": "apk_nonsense"},
            "other approval": self.approver.signature("apr_01hzx8c0000000000000000001"),
            "other decision": self.approver.signature(self.approval, "deny"),
            "expired": self.approver.signature(self.approval, exp=now - 1),
            "far in the future": self.approver.signature(self.approval, exp=now + 100_000),
            "at a time that no integer holds": good | {"exp": 10**30},
            "exp changed": good | {"exp": good["exp"] + 1},
            "padded": good | {"value": good["value"] + "="},
            "standard alphabet": good | {"value": base64.b64encode(
                base64.urlsafe_b64decode(good["value"] + "=")).decode()},
            "too short": good | {"value": good["value"][:-4]},
            "too long": good | {"value": good["value"] + "AAAA"},
            "empty": good | {"value": ""},
            "wrong algorithm": good | {"algorithm": "ed25519"},
            "unknown algorithm": good | {"algorithm": "none"},
            "digest added": good | {"items_digest": base64url(hashlib.sha256(b"x").digest())},
        }
        shapes = [None, True, 7, "x", [], [good], {}, {"signature": good}]
        for member in good:
            shapes += [{name: value for name, value in good.items() if name != member}]
            shapes += [good | {member: value} for value in (None, [], {}, True, 1.5)]
        shapes += [good | {"exp": value} for value in ("soon", str(good["exp"]), 1e300)]
        shapes += [good | {"value": "x" * 100_000}, good | {"items_digest": 7}, good | {"secrets_digest": {}}]
        for name, signature in [*cases.items(), *((str(shape)[:80], shape) for shape in shapes)]:
            with self.subTest(name):
                self.refused(signature)
        self.refused([], "deny")
        self.assertEqual(self.approve(self.approval).status, 200, "a good one still works")
        self.assertEqual(json.loads(list(self.lines)[-1])["type"], "message_end")

    def test_I15_a_revoked_key_and_a_key_of_another_tenant_decide_nothing(self):
        tenant = self.server.bootstrap["tenant_id"]
        made = self.admin.post(f"/v1/tenants/{tenant}/approver-keys", {"name": "soon gone", "algorithm": "hmac-sha256"}).json()
        self.admin.delete(f"/v1/tenants/{tenant}/approver-keys/{made['id']}")
        self.refused(Approver(made["id"], made["secret"]).signature(self.approval))
        other = self.admin.post("/v1/tenants", {"name": "other"}).json()["id"]
        theirs = self.admin.post(f"/v1/tenants/{other}/approver-keys", {"name": "theirs", "algorithm": "hmac-sha256"}).json()
        self.refused(Approver(theirs["id"], theirs["secret"]).signature(self.approval))

    def test_I15_another_tenant_does_not_even_see_the_approval(self):
        other = self.admin.post("/v1/tenants", {"name": "stranger"}).json()["id"]
        key = self.admin.post(f"/v1/tenants/{other}/keys", {"name": "k"}).json()["secret"]
        stranger = self.server.client(key)
        self.assert_problem(stranger.get(f"/v1/approvals/{self.approval}"), 404, "not-found")
        answer = stranger.post(f"/v1/approvals/{self.approval}/approve",
                               {"signature": self.approver.signature(self.approval)})
        self.assert_problem(answer, 404, "not-found")

    def test_I15_of_two_verdicts_many_times_at_once_exactly_one_counts(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(lambda i: self.approve(self.approval, decision=["approve", "deny"][i % 2]).status,
                                     range(32)))
        self.assertEqual(sorted(statuses), [200] * 16 + [409] * 16, "whoever says the same again is told the same")
        resolved = [entry["action"] for entry in self.admin.get("/v1/admin/audit?limit=100").json()["data"]
                    if entry["subject"] == self.approval and entry["action"] != "approval.required"]
        self.assertEqual(len(resolved), 1, resolved)
        ends = [json.loads(line)["type"] for line in self.lines]
        self.assertIn(ends[-1], ("message_end", "error"))
        self.assertEqual(ends.count("resumed"), 1 if ends[-1] == "message_end" else 0)

    def test_I15_ed25519_decides_as_well(self):
        home = self.server.home
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", home / "ed.pem"], check=True,
                       capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", home / "ed.pem", "-pubout", "-outform", "DER"], check=True,
                                capture_output=True).stdout[-32:]
        tenant = self.server.bootstrap["tenant_id"]
        made = self.admin.post(f"/v1/tenants/{tenant}/approver-keys",
                               {"name": "ed", "algorithm": "ed25519", "public_key": base64url(public)})
        self.assertEqual(made.status, 201, made.body)
        exp = int(time.time()) + 60
        payload = f'{{"approval_id":"{self.approval}","decision":"approve","exp":{exp}}}'
        (home / "payload").write_text(payload)
        signed = subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", home / "ed.pem", "-rawin", "-in",
                                 home / "payload"], check=True, capture_output=True).stdout
        signature = {"key_id": made.json()["id"], "algorithm": "ed25519", "exp": exp}
        self.refused(signature | {"value": base64url(signed[:-1] + bytes([signed[-1] ^ 1]))})
        answer = self.client.post(f"/v1/approvals/{self.approval}/approve",
                                  {"signature": signature | {"value": base64url(signed)}})
        self.assertEqual(answer.status, 200, answer.body)

    def test_malformed_bodies_are_422_and_the_approval_is_untouched(self):
        good = self.approver.signature(self.approval)
        for body in ({}, {"note": "unsigned"}, {"signature": good, "note": 1},
                     {"signature": good, "secrets": {"lower": "value"}},
                     {"signature": good, "secrets": {f"A{i}": "value" for i in range(51)}},
                     {"signature": good, "secrets": {"A": "nul\u0000here"}},
                     {"signature": good, "secrets": {"A": "x" * (1 << 20)}}):
            answer = self.client.post(f"/v1/approvals/{self.approval}/approve", body)
            self.assert_problem(answer, 422, "validation-error")
            self.assertNotIn("x" * 100, answer.body.decode())
        self.assertEqual(self.client.get(f"/v1/approvals/{self.approval}").json()["status"], "pending")


class Bound(GateTest):
    def test_I15_a_new_tenant_requires_bound_decisions_unless_its_operator_says_otherwise(self):
        for settings, required in (({}, True), ({"settings": None}, True), ({"settings": {}}, True),
                                   ({"settings": {"require_bound_decisions": False}}, False)):
            tenant = self.admin.post("/v1/tenants", {"name": "fresh"} | settings).json()
            self.assertIs(tenant["settings"]["require_bound_decisions"], required, settings)
            path = f"/v1/tenants/{tenant['id']}"
            renamed = self.admin.patch(path, {"name": "renamed"}).json()
            self.assertIs(renamed["settings"]["require_bound_decisions"], required, "it stays as it is")

    def test_I15_a_tenant_can_require_that_a_decision_is_bound_to_its_deed(self):
        tenant = self.server.bootstrap["tenant_id"]
        answer = self.admin.patch(f"/v1/tenants/{tenant}", {"settings": {"require_bound_decisions": True}})
        self.assertEqual(answer.status, 200, answer.body)
        conversation = self.conversation()
        stream = self.client.send(conversation, "need API_KEY: a key\nsay done")
        self.addCleanup(stream.close)
        lines = stream.lines()
        approval = self.until_gate(lines)[-1]["data"]
        self.assert_problem(self.approve(approval["id"], secrets={"API_KEY": "right-value"}), 403,
                            "approval-signature-invalid")

        def digest(value):
            return base64url(hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).digest())

        signature = self.approver.signature(approval["id"], items_digest=digest(approval["requested_items"]),
                                            secrets_digest=digest({"API_KEY": "right-value"}))
        path = f"/v1/approvals/{approval['id']}/approve"
        swapped = self.client.post(path, {"signature": signature, "secrets": {"API_KEY": "swapped-value"}})
        self.assert_problem(swapped, 403, "approval-signature-invalid")
        self.assertEqual(self.client.post(path, {"signature": signature, "secrets": {"API_KEY": "right-value"}}).status,
                         200)
        self.assertEqual(json.loads(list(lines)[-1])["type"], "message_end")


class Policies(GateTest):
    flags = ("--sandbox.driver", "namespaces")

    def test_I14_a_rule_asks_a_rule_denies_and_the_stricter_wins(self):
        self.policy({"effect": "ask", "command": "touch *", "reason": "It changes things."},
                    {"effect": "deny", "command": "rm *"}, {"effect": "allow", "command": "*"})
        conversation = self.conversation()
        stream = self.client.send(conversation, "$ echo free\n$ echo x && rm -rf /workspace/y\n$ touch made\n$ ls\nsay {{last}}")
        self.addCleanup(stream.close)
        lines = stream.lines()
        approval = self.until_gate(lines)[-1]["data"]
        self.assertIn("It changes things.", approval["reason"])
        self.assertIn("touch made", json.dumps(approval["requested_items"]))
        self.assertEqual(self.approve(approval["id"]).status, 200)
        end = json.loads(list(lines)[-1])
        self.assertEqual(end["type"], "message_end", end)
        self.assertIn("made", end["data"]["message"]["content"])
        run = self.client.get("/v1/runs").json()["data"][0]["id"]
        steps = self.client.get(f"/v1/runs/{run}/steps.json").body.decode()
        self.assertIn("policy", steps)


class Restart(unittest.TestCase):
    """A server that dies while a run waits for a human."""

    def test_I14_I16_a_parked_run_survives_kill_and_resumes_with_the_same_count(self):
        for mode in PLACEMENTS:
            with self.subTest(mode):
                server = Server("--sandbox.driver", "namespaces").start()
                self.addCleanup(server.remove)
                client, approver = server.client(), Approver.of(server)
                conversation = client.post("/v1/conversations", {"runtime": {"mode": mode}}).json()["id"]
                stream = client.send(conversation, "$ echo kept > before\nput Before. \nask May I?\n$ cat before\nsay {{last}}")
                before = []
                for line in stream.lines():
                    before.append(line)
                    if json.loads(line)["type"] == "approval_required":
                        break
                server.kill()
                stream.close()
                server.start()
                client = server.client()
                messages = client.get(f"/v1/conversations/{conversation}/messages").json()["data"]
                self.assertEqual(messages[-1]["status"], "awaiting_approval")
                approval = json.loads(before[-1])["data"]["id"]
                late = client.open("GET", f"/v1/messages/{messages[-1]['id']}/events")
                answer = client.post(f"/v1/approvals/{approval}/approve", {"signature": approver.signature(approval)})
                self.assertEqual(answer.status, 200, answer.body)
                with late.connection:
                    lines = list(late.lines())
                self.assertEqual(lines[:len(before)], before)
                events = check_stream(lines)
                self.assertEqual(events[-1]["type"], "message_end", events[-1])
                self.assertIn("kept", events[-1]["data"]["message"]["content"])
                server.stop()

    def test_I16_an_approval_that_expired_while_the_server_was_down_is_reported_as_expired(self):
        server = Server().start()
        self.addCleanup(server.remove)
        conversation = server.client().post("/v1/conversations", {}).json()["id"]
        stream = server.client().send(conversation, 'call request_approval {"reason":"r","expires_in_seconds":1}')
        for line in stream.lines():
            if json.loads(line)["type"] == "approval_required":
                break
        raised = time.monotonic()
        server.kill()
        stream.close()
        wait_until(lambda: time.monotonic() - raised > 1.2, "its time is over")
        server.start()
        message = wait_until(lambda: [m for m in server.client().get(
            f"/v1/conversations/{conversation}/messages").json()["data"] if m["status"] == "failed"], "it ends")[0]
        last = json.loads(server.client().events(message["id"])[-1])
        self.assertEqual(slug_of(last["data"]), "approval-expired")
        server.stop()


class Told(GateTest):
    @classmethod
    def setUpClass(cls):
        cls.hooks = Hooks(refusals=1)
        cls.addClassCleanup(cls.hooks.close)
        cls.flags = ("--webhooks.urls", cls.hooks.url)
        super().setUpClass()

    def test_I14_a_signed_webhook_is_repeated_until_the_host_accepts_it(self):
        hooks = self.hooks
        tenant = self.server.bootstrap["tenant_id"]
        self.assertEqual(self.admin.patch(f"/v1/tenants/{tenant}",
                                          {"settings": {"webhook_url": hooks.url}}).status, 200)
        secret = self.admin.get(f"/v1/tenants/{tenant}/webhook-secret").json()["secret"]
        conversation = self.conversation()
        stream = self.client.send(conversation, "ask May I?\nsay done")
        self.addCleanup(stream.close)
        approval = self.until_gate(stream.lines())[-1]["data"]
        first, second = hooks.next(), hooks.next()
        self.assertEqual((first[0], second[0]), (500, 200))
        self.assertEqual(first[1]["Sluice-Notice-Id"], second[1]["Sluice-Notice-Id"])
        self.assertEqual(first[2], second[2])
        parts = dict(p.split("=", 1) for p in second[1]["Sluice-Signature"].split(","))
        expected = hmac.new(secret.encode(), parts["t"].encode() + b"." + second[2], hashlib.sha256).hexdigest()
        self.assertEqual(parts["v1"], expected)
        notice = json.loads(second[2])
        self.assertEqual((notice["type"], notice["data"]["id"]), ("approval.required", approval["id"]))
        self.assertEqual(self.approve(approval["id"]).status, 200)
        resolved = json.loads(hooks.next()[2])
        self.assertEqual((resolved["type"], resolved["data"]["status"]), ("approval.resolved", "approved"))

    def test_I15_every_decision_is_a_link_of_a_chain_that_holds(self):
        conversation = self.conversation()
        stream = self.client.send(conversation, "ask May I?\nsay done")
        self.addCleanup(stream.close)
        lines = stream.lines()
        approval = self.until_gate(lines)[-1]["data"]["id"]
        self.approve(approval)
        list(lines)
        entries = self.admin.get("/v1/admin/audit?limit=100").json()["data"]
        self.assertIn(("approval.approved", approval), [(e["action"], e["subject"]) for e in entries])
        verified = subprocess.run([BINARY, "audit", "verify", "--data", self.server.data], capture_output=True, text=True)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertIn(entries[-1]["sha256"][:16], verified.stdout)


if __name__ == "__main__":
    unittest.main()
