"""The examples of docs/approvals.md sign what the server accepts (I-15). Each is run as it stands there, where its
language is on the machine."""
import json
import re
import shutil
import subprocess
import time
import unittest

from gate_fixture import GateTest, base64url
from server_process import ROOT

RUNTIMES = {"sh": ["sh"], "python": ["python3"], "js": ["node"], "perl": ["perl"]}


def examples(mark):
    """(language, program) for each fenced block whose first line has the mark."""
    page = (ROOT / "docs" / "approvals.md").read_text()
    return [(language, code) for language, code in re.findall(r"```(\w+)\n(.*?)```", page, re.S)
            if re.match(rf"(#|//) {mark}:", code)]


class Examples(GateTest):
    def run_example(self, language, code, *arguments):
        path = self.server.home / f"example.{language}"
        path.write_text(code)
        done = subprocess.run([*RUNTIMES[language], path, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def gate(self):
        stream = self.client.send(self.conversation(), "ask May I?\nsay done")
        self.addCleanup(stream.close)
        lines = stream.lines()
        return self.until_gate(lines)[-1]["data"]["id"], lines

    def decide(self, approval, lines, signature):
        answer = self.client.post(f"/v1/approvals/{approval}/approve", {"signature": signature})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(json.loads(list(lines)[-1])["type"], "message_end")

    def test_I15_every_example_signs_what_the_server_accepts(self):
        found = examples("sign")
        self.assertEqual([language for language, _ in found], ["sh", "python", "js", "perl"])
        for language, code in found:
            if not shutil.which(RUNTIMES[language][0]):
                continue
            with self.subTest(language):
                approval, lines = self.gate()
                exp = str(int(time.time()) + 60)
                value = self.run_example(language, code, approval, "approve", exp, self.approver.secret)
                self.assertEqual(value, self.approver.signature(approval, exp=int(exp))["value"])
                self.decide(approval, lines, {"key_id": self.approver.key_id, "algorithm": "hmac-sha256",
                                              "exp": int(exp), "value": value})

    def test_I15_so_does_the_one_for_ed25519(self):
        key = self.server.home / "ed.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True,
                                capture_output=True).stdout[-32:]
        made = self.admin.post(f"/v1/tenants/{self.server.bootstrap['tenant_id']}/approver-keys",
                               {"name": "ed", "algorithm": "ed25519", "public_key": base64url(public)}).json()
        (language, code), = examples("sign-ed25519")
        approval, lines = self.gate()
        exp = str(int(time.time()) + 60)
        value = self.run_example(language, code, approval, "approve", exp, str(key))
        self.decide(approval, lines, {"key_id": made["id"], "algorithm": "ed25519", "exp": int(exp), "value": value})


if __name__ == "__main__":
    unittest.main()
