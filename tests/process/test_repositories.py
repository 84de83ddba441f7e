"""A run works in a repository, which git fetches in a sandbox that reaches the repository's host and nothing else."""
import base64
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from gate_fixture import Upstream
from server_process import ServerTest

WORDS = "Basic " + base64.b64encode(b"robot:pass-word").decode()


class Forge(Upstream):
    """A repository as plain files, for clients that know the password."""

    def __init__(self, name, tls=True):
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="sluice-forge-"))
        subprocess.run(["sh", "-ec", "cd \"$0\"; git init -q -b main .; echo 'Use tabs.' > AGENTS.md; git add .; "
                        "git -c user.name=A -c user.email=a@example.org commit -q -m First; git update-server-info",
                        str(self.tree)], check=True, capture_output=True)
        super().__init__(name, tls=tls, respond=self.give)

    def give(self, request):
        if request["headers"].get("Authorization") != WORDS:
            return 401, {}, [b"who?"]
        file = self.tree / ".git" / request["path"].split("?")[0].removeprefix("/app/")
        return (200, {}, [file.read_bytes()]) if file.is_file() else (404, {}, [b"none"])

    def close(self):
        super().close()
        shutil.rmtree(self.tree)


class RepositoriesTest(ServerTest):
    def fetched(self, url, **fields):
        """The last event of a run in that repository."""
        made = self.client.post("/v1/repositories", {"name": url, "url": url, "depth": 0} | fields)
        self.assertEqual(made.status, 201, made.body)
        conversation = self.conversation(repository_id=made.json()["id"])
        return json.loads(self.client.say(conversation, "$ cat AGENTS.md\nsay {{last}}")[-1])


class Named(RepositoriesTest):
    @classmethod
    def setUpClass(cls):
        cls.tls, cls.plain = Forge("git.example"), Forge("127.0.0.1", tls=False)
        for forge in (cls.tls, cls.plain):
            cls.addClassCleanup(forge.close)
        cls.flags = ("--sandbox.driver", "namespaces", "--egress.ca_file", cls.tls.ca_file,
                     "--egress.host_addresses", "git.example 127.0.0.1",
                     "--repositories.allowed_urls", f"{cls.tls.url}|{cls.plain.url}",
                     "--repositories.credentials", "TLS git.example robot pass-word|PLAIN 127.0.0.1 robot pass-word")
        super().setUpClass()

    def test_I17_is_cloned_by_https_and_http_from_where_a_rule_names_it(self):
        for forge, alias in ((self.tls, "TLS"), (self.plain, "PLAIN")):
            last = self.fetched(forge.url + "/app", credential=alias)
            self.assertEqual(last["type"], "message_end", last)
            self.assertIn("Use tabs.", json.dumps(last))
            self.assertNotIn("pass-word", self.server.log())


class Starred(RepositoriesTest):
    @classmethod
    def setUpClass(cls):
        cls.forge = Forge("127.0.0.1", tls=False)
        cls.addClassCleanup(cls.forge.close)
        cls.flags = ("--sandbox.driver", "namespaces", "--repositories.allowed_urls", "*",
                     "--egress.private_addresses", "127.0.0.0/8")
        super().setUpClass()

    def test_I17_what_only_a_star_allows_is_not_cloned_from_this_machine(self):
        for host in ("127.0.0.1", "localhost", "2130706433"):
            last = self.fetched(f"http://{host}:{self.forge.port}/app")
            self.assertEqual(last["type"], "error", last)
            self.assertTrue(last["data"]["type"].endswith("/problems/repository-failed"), last)
            self.assertRegex(last["data"]["detail"], r" leads to (127\.0\.0\.1|::1), | git asked for 127\.0\.0\.1:")
            self.assertIn("allows public addresses only", last["data"]["detail"])
        self.assertEqual(self.forge.seen(), [])


if __name__ == "__main__":
    unittest.main()
