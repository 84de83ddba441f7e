"""I-25: repositories, skills and environments exist as objects, survive a crash, and are checked where they are named."""
import gzip
import io
import subprocess
import tarfile
import unittest

from server_process import BINARY, PATIENCE_S, ServerTest


def bundle(files, links=()):
    """A gzipped tar of {path: bytes}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        for path in links:
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(entry)
    return out.getvalue()


def head(name):
    return f"---\nname: {name}\ndescription: Reads {name}.\n---\nRead.\n".encode()


GZIP = {"Content-Type": "application/gzip"}


class Objects(ServerTest):
    def setUp(self):
        self.client = self.server.client()  # its port changes when it is started again

    def push(self, data):
        return self.client.post("/v1/skills", data, GZIP)

    def test_I25_survive_a_crash(self):
        made = [self.client.post("/v1/repositories", {"name": "code one", "url": "https://git.example/code", "ref": "main"}),
                self.client.post("/v1/environments", {"name": "build one", "variables": {"A": "ü"}, "script": "make"}),
                self.push(bundle({"SKILL.md": head("one"), "bin/run": b"x" * 100_000}))]
        for answer in made:
            self.assertEqual(answer.status, 201, answer.body)
        packed = self.client.get(made[2].header("location") + "/bundle").body
        self.server.kill()
        self.server.start()
        self.client = self.server.client()
        for answer in made:
            self.assertEqual(self.client.get(answer.header("location")).body, answer.body)
        self.assertEqual(self.client.get(made[2].header("location") + "/bundle").body, packed)
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            self.assertEqual(sorted(m.name for m in tar if m.isfile()), ["SKILL.md", "bin/run"])

    def test_I25_the_same_files_are_the_same_version(self):
        one = self.push(bundle({"SKILL.md": head("two"), "a": b"1"})).json()
        two = self.push(bundle({"a": b"1", "SKILL.md": head("two")})).json()
        self.assertEqual((one["id"], one["sha256"]), (two["id"], two["sha256"]))

    def test_I25_bad_bundles_are_refused_with_their_reason(self):
        before = self.client.get("/v1/skills").body
        for data, words in ((bundle({"SKILL.md": head("three")}, links=["l"]), "link"), (bundle({"../SKILL.md": head("three")}), ""),
                            (bundle({"README": b"x"}), "SKILL.md"), (bundle({"SKILL.md": b"x"}), "SKILL.md"),
                            (gzip.compress(b"\0" * 100_000_000), ""), (b"zip", "")):
            problem = self.assert_problem(self.push(data), 422, "validation-error")
            self.assertIn(words, problem["errors"][0]["message"])
        self.assertEqual(self.client.get("/v1/skills").body, before)

    def test_I25_a_bundle_may_be_larger_than_other_bodies(self):
        noise = bytes((i * i >> 3) & 255 ^ (i >> 9) & 255 for i in range(1 << 20))
        data = bundle({"SKILL.md": head("four"), **{f"{i}.bin": bytes(b ^ i for b in noise) for i in range(3)}})
        self.assertEqual(self.push(data).status, 201)
        self.assert_problem(self.push(b"x" * (12 * 1024 * 1024 + 1)), 413, "content-too-large")

    def test_I25_what_a_message_names_must_be_there(self):
        path = f"/v1/conversations/{self.conversation()}/messages"
        for fields, pointer in (({"skill_ids": ["skl_one"]}, "/skill_ids/0"), ({"repository_id": "rep_7"}, "/repository_id"),
                                ({"env": "lab"}, "/env")):
            problem = self.assert_problem(self.client.post(path, {"content": "x"} | fields), 422, "validation-error")
            self.assertEqual(problem["errors"][0]["pointer"], pointer)
        self.assertEqual(self.client.get(path).json()["data"], [])

    def test_I22_another_tenant_sees_none_of_it(self):
        made = [self.client.post("/v1/repositories", {"name": "code six", "url": "https://git.example/code"}),
                self.client.post("/v1/environments", {"name": "build six"}), self.push(bundle({"SKILL.md": head("six")}))]
        tenant = self.admin.post("/v1/tenants", {"name": "other"}).json()["id"]
        other = self.server.client(self.admin.post(f"/v1/tenants/{tenant}/keys").json()["secret"])
        for answer in made:
            self.assert_problem(other.get(answer.header("location")), 404, "not-found")
            self.assert_problem(other.delete(answer.header("location")), 404, "not-found")
        workspace = self.server.bootstrap["workspace_id"]
        self.assert_problem(other.get(f"/api/workspaces/{workspace}/skills"), 404, "not-found")

    def sluice(self, *words, status=0):
        done = subprocess.run([BINARY, *words, "--data", self.server.data], capture_output=True, timeout=PATIENCE_S,
                              env=self.server.environment(), check=False)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_the_command_line_pushes_lists_and_pulls(self):
        folder = self.server.data.parent / "pdf"
        (folder / "bin").mkdir(parents=True)
        (folder / "SKILL.md").write_bytes(head("seven"))
        (folder / "bin" / "run").write_bytes(b"\xff\x00")
        self.assertIn(b"seven", self.sluice("skills", "push", folder))
        self.assertIn(b"Reads seven.", self.sluice("skills"))
        skill = self.client.get("/v1/skills").json()["data"][-1]
        packed = self.sluice("skills", "pull", skill["id"])
        self.assertEqual(len(packed), skill["size"])
        self.sluice("repositories", "create", "site", "https://git.example/site", "--ref", "main")
        self.assertIn(b"git.example/site", self.sluice("repositories", "list"))
        self.sluice("environments", "create", "build", "--variables", "A=1")
        self.sluice("send", "say hi", "--env", "build", "--skill", skill["id"])
        self.sluice("send", "say hi", "--env", "nowhere", status=1)


if __name__ == "__main__":
    unittest.main()
