"""S-3, S-4, S-12: one-time tokens over real HTTP. Each is good once, however many come at once; what it buys is kept."""
import hashlib
import threading
import unittest

from http_client import Connection, encode_request
from server_process import ServerTest


def form(*files):
    """The Content-Type and body of a form with these (name, bytes)."""
    parts = [b'--edge\r\nContent-Disposition: form-data; name="files"; filename="' + name.encode() + b'"\r\n\r\n' + data +
             b"\r\n" for name, data in files]
    return {"Content-Type": "multipart/form-data; boundary=edge"}, b"".join(parts) + b"--edge--\r\n"


class TokenTest(ServerTest):
    flags = ("--limits.wrong_keys_per_minute", "0")  # many wrong ones come from here, on purpose

    def setUp(self):
        super().setUp()
        self.client = self.server.client()  # its port changes when it is started again
        self.workspace = f"/api/workspaces/{self.server.bootstrap['workspace_id']}"
        agent = self.client.get("/v1/agents").json()["data"][0]["id"]
        self.assertEqual(self.client.patch(f"/v1/agents/{agent}", {"workspace": "write"}).status, 200)
        self.nobody = self.server.client("")

    def execution(self, **fields):
        answer = self.client.post(self.workspace + "/executions", fields)
        self.assertEqual(answer.status, 201, answer.body)
        made = answer.json()
        made["path"] = f"/api/agents/{made['id']}"
        return made

    def redeem(self, path, token):
        return self.nobody.get(path, {"Authorization": token})

    def upload(self, path, token, *files):
        kind, body = form(*files)
        return self.nobody.post(path, body, {"Authorization": token} | kind)

    def race(self, method, path, token, body=None, headers=None, count=8):
        """Sends the same request on `count` connections at the same moment; the statuses that came back."""
        request = encode_request(method, path, body, {"Authorization": token} | (headers or {}))
        connections = [Connection(self.server.host, self.server.port) for _ in range(count)]
        start, statuses = threading.Barrier(count), []

        def run(connection):
            with connection:
                start.wait()
                connection.send(request)
                statuses.append(connection.response(method).status)

        threads = [threading.Thread(target=run, args=(connection,)) for connection in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(statuses)


class Redeeming(TokenTest):
    def test_S3_of_many_at_once_exactly_one_wins(self):
        for _ in range(10):
            made = self.execution()
            self.assertEqual(self.race("GET", made["path"] + "/env", made["otp_setup"]), [200] + [401] * 7)
            self.assertEqual(self.race("GET", made["path"] + "/config", made["otp_run"], count=2), [200, 401])
            kind, body = form(("a.txt", b"x"))
            self.assertEqual(self.race("POST", made["path"] + "/results", made["otp_upload"], body, kind), [200] + [401] * 7)
            files = self.client.get(f"{self.workspace}/executions/{made['id']}/files").json()["data"]
            self.assertEqual(len(files), 1, "the losers kept nothing")

    def test_S3_a_spent_token_stays_spent_and_an_unspent_one_good_after_a_crash(self):
        made = self.execution()
        self.assertEqual(self.redeem(made["path"] + "/env", made["otp_setup"]).status, 200)
        self.server.kill()
        self.server.start()
        self.client, self.nobody = self.server.client(), self.server.client("")
        self.assert_problem(self.redeem(made["path"] + "/env", made["otp_setup"]), 401, "token-invalid")
        config = self.redeem(made["path"] + "/config", made["otp_run"]).json()
        bearer = {"Authorization": "Bearer " + config["callback"]["token"]}
        self.assertEqual(self.nobody.get(self.workspace + "/agents", bearer).status, 200)

    def test_S3_whatever_is_wrong_the_answer_is_the_same(self):
        made, other = self.execution(), self.execution()
        answers = [self.redeem(made["path"] + "/env", token)
                   for token in (made["otp_run"], other["otp_setup"], "guess", "Bearer " + made["otp_setup"])]
        answers += [self.nobody.get(made["path"] + "/env"), self.redeem("/api/agents/x/env", made["otp_setup"])]
        seen = set()
        for answer in answers:
            problem = self.assert_problem(answer, 401, "token-invalid")
            seen.add((problem["title"], problem["detail"]))
        self.assertEqual(len(seen), 1)
        self.assertEqual(self.redeem(made["path"] + "/env", made["otp_setup"]).status, 200, "nothing was spent")

    def test_S3_no_token_stands_in_the_database(self):
        made = self.execution()
        config = self.redeem(made["path"] + "/config", made["otp_run"]).json()
        self.server.stop()
        kept = b"".join(path.read_bytes() for path in self.server.data.glob("sluice.db*"))
        self.assertIn(b"agents", kept)
        for secret in (made["otp_setup"], made["otp_run"], made["otp_upload"], config["callback"]["token"]):
            self.assertNotIn(secret.encode(), kept)
        self.server.start()


class Callbacks(TokenTest):
    def test_S4_env_and_config_say_what_the_dispatch_is(self):
        head = "---\nname: pdf\ndescription: Reads.\n---\n"
        skill = self.client.post("/v1/skills", {"files": [{"path": "SKILL.md", "content": head}]}).json()
        self.client.post("/v1/environments", {"name": "build", "variables": {"A": "1"}, "script": "make"})
        made = self.execution(prompt="say hi", skill_ids=[skill["id"]], env="build")
        self.assertEqual(self.redeem(made["path"] + "/env", made["otp_setup"]).json(),
                         {"variables": {"A": "1"}, "script": "make"})
        config = self.redeem(made["path"] + "/config", made["otp_run"]).json()
        self.assertEqual([(s["id"], s["name"], s["sha256"]) for s in config["skills"]],
                         [(skill["id"], "pdf", skill["sha256"])])
        bearer = {"Authorization": "Bearer " + config["callback"]["token"]}
        bundle = self.nobody.get(f"{made['path']}/skills/{skill['id']}", bearer)
        self.assertEqual((bundle.status, hashlib.sha256(bundle.body).hexdigest()), (200, skill["sha256"]))
        self.assertEqual(self.nobody.get(f"/api/assistant/sandbox/{made['id']}/skills", bearer).status, 200)
        self.assert_problem(self.nobody.post(self.workspace + "/environments", {"name": "x"}, bearer), 403,
                            "insufficient-scope")

    def test_S12_large_files_are_returned_and_served_as_files(self):
        made = self.execution()
        large = bytes(range(256)) * 90_000  # 23 MB
        kept = self.upload(made["path"] + "/assets/writeback", made["otp_upload"], ("a.bin.gz", large), ("p.html", b"<b>"))
        self.assertEqual(kept.status, 200, kept.body[:500])
        first, second = kept.json()["files"]
        self.assertEqual((first["size"], first["sha256"]), (len(large), hashlib.sha256(large).hexdigest()))
        self.assertEqual(self.client.get(f"/v1/files/{first['id']}/content").body, large)
        page = self.client.get(f"/v1/files/{second['id']}/content")
        self.assertEqual((page.header("x-content-type-options"), page.header("content-security-policy")),
                         ("nosniff", "sandbox; default-src 'none'"))
        self.assertTrue(page.header("content-disposition").startswith("attachment"))

    def test_S12_what_breaks_a_rule_is_refused_whole_and_spends_nothing(self):
        made = self.execution()
        path, token = made["path"] + "/results", made["otp_upload"]
        self.assert_problem(self.upload(path, token, ("ok.txt", b"x"), ("evil.exe", b"x")), 422, "validation-error")
        self.assert_problem(self.upload(path, token, *[(f"{i}.txt", b"x") for i in range(21)]), 422, "validation-error")
        self.assert_problem(self.upload(path, token, ("a.txt", b"x" * 25_000_001)), 422, "validation-error")
        self.assert_problem(self.upload(path, token, ("a.txt", b"x" * 54_600_000)), 413, "content-too-large")
        kept = self.upload(path, token, ("../../etc/cron d.txt", b"1"), ("cron d.txt", b"2"))
        self.assertEqual([f["name"] for f in kept.json()["files"]], ["cron_d.txt", "cron_d-1.txt"])


if __name__ == "__main__":
    unittest.main()
