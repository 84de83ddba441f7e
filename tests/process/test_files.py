"""A-5, S-12: files over real HTTP: uploaded to a chat, into the sandbox, out of it, and to authorised readers."""
import hashlib
import io
import os
import pathlib
import unittest
import zipfile

from assistant_fixture import AssistantTest
from http_client import Connection
from server_process import is_sanitized, wait_until

FILES = "/api/assistant/files"


def form(*files):
    """The Content-Type and body of a form with these (name, bytes)."""
    parts = [b'--edge\r\nContent-Disposition: form-data; name="files"; filename="' + name.encode() + b'"\r\n\r\n' + data +
             b"\r\n" for name, data in files]
    return {"Content-Type": "multipart/form-data; boundary=edge"}, b"".join(parts) + b"--edge--\r\n"


class FilesTest(AssistantTest):
    def upload(self, *files, to=FILES, client=None):
        kind, body = form(*files)
        return (client or self.client).post(to, body, kind)

    def kept(self, *files, to=FILES):
        answer = self.upload(*files, to=to)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["files"]

    def listed(self, chat):
        answer = self.client.get(f"/api/assistant/chats/{chat}/files?limit=100")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["data"]

    def other_tenant(self):
        tenant = self.admin.post("/v1/tenants", {"name": "other"}).json()
        key = self.admin.post(f"/v1/tenants/{tenant['id']}/keys", {"name": "k"}).json()
        return self.server.client(key["key"] if "key" in key else key["secret"])


class BagTest(FilesTest):
    def test_an_attached_file_is_in_the_sandbox_and_returned_files_are_in_the_chat(self):
        (table,) = self.kept(("sales.csv", b"a,b\n1,2\n"))
        self.assertIsNone(table["chatId"])
        turn = self.turn("$ mkdir -p assets && tr , ';' < attachments/sales.csv > assets/out.csv && cat assets/out.csv",
                         attachmentIds=[table["id"]])
        chat = turn.seen[0].data["chatId"]
        self.assertIn("1;2", str([frame.data for frame in turn.seen]))
        files = {file["source"]: file for file in self.listed(chat)}
        self.assertEqual(files["upload"]["id"], table["id"])
        self.assertEqual(files["upload"]["chatId"], chat)
        self.assertEqual(files["sandbox"]["name"], "out.csv")
        self.assertEqual(self.client.get(files["sandbox"]["url"]).body, b"a;b\n1;2\n")
        self.assertEqual(self.client.get(f"/v1/files/{files['sandbox']['id']}/content").body, b"a;b\n1;2\n")
        told = [frame.data for frame in turn.seen if frame.type == "custom" and frame.data["name"] == "sluice.assets"]
        self.assertEqual([file["id"] for file in told[0]["value"]["files"]], [files["sandbox"]["id"]])
        self.assertNotIn("attachments/sales.csv", str([f.data for f in turn.seen if f.type in ("diff", "file")]))

        again = self.turn("$ cat attachments/sales.csv", chat=chat)
        self.assertIn("1,2", str([frame.data for frame in again.seen]), "the workspace keeps what was attached")

    def test_two_files_of_one_name_are_both_in_the_sandbox(self):
        files = self.kept(("a.txt", b"first"), ("a.txt", b"second"))
        turn = self.turn("$ cat attachments/a.txt attachments/a-1.txt", attachmentIds=[file["id"] for file in files])
        self.assertIn("firstsecond", str([frame.data for frame in turn.seen]))

    def test_a_link_that_an_earlier_turn_left_leads_nowhere_else(self):
        first = self.turn("$ rm -rf attachments; ln -s /etc attachments; echo made")
        chat = first.seen[0].data["chatId"]
        (file,) = self.kept(("hosts.txt", b"mine"), to=f"/api/assistant/chats/{chat}/files")
        self.turn("$ ls -la", chat=chat, attachmentIds=[file["id"]])
        self.assertFalse(pathlib.Path("/etc/hosts.txt").exists())

    def test_the_bag_comes_as_one_zip(self):
        chat = self.turn("$ true").seen[0].data["chatId"]
        where = f"/api/assistant/chats/{chat}/files"
        self.kept(("a.txt", b"1"), ("a.txt", b"2"), ("Übersicht.csv", b"x" * 400_000), to=where)
        answer = self.client.get(where + ".zip")
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/zip"))
        with zipfile.ZipFile(io.BytesIO(answer.body)) as bag:
            self.assertEqual(sorted(bag.namelist()), ["a-1.txt", "a.txt", "Übersicht.csv"])
            self.assertEqual(bag.read("a-1.txt"), b"2")

    def test_a_deleted_chat_takes_its_files_along(self):
        chat = self.turn("$ true").seen[0].data["chatId"]
        (file,) = self.kept(("a.txt", b"1"), to=f"/api/assistant/chats/{chat}/files")
        self.assertEqual(self.client.delete(f"/api/assistant/chats/{chat}").status, 204)
        self.assert_problem(self.client.get(file["url"]), 404, "not-found")
        self.assert_problem(self.upload(("b.txt", b"2"), to=f"/api/assistant/chats/{chat}/files"), 404, "not-found")


class BadInputTest(FilesTest):
    flags = (*FilesTest.flags, "--files.upload_bytes_max", "3000000", "--files.tenant_bytes_max", "4000000")

    def test_names_with_paths_lose_them_and_no_bytes_are_a_file(self):
        self.assertEqual([file["name"] for file in self.kept(("../../etc/passwd.txt", b""), ("C:\\x\\b.txt", b"2"))],
                         ["passwd.txt", "b.txt"])

    def test_a_request_that_is_too_large_is_refused_with_its_limit(self):
        problem = self.assert_problem(self.upload(("a.txt", b"x" * 3_100_000)), 413, "content-too-large")
        self.assertIn("files.upload_bytes_max", problem["detail"])
        self.kept(("a.txt", b"x" * 2_000_000))
        problem = self.assert_problem(self.upload(("a.txt", b"x" * 2_500_000)), 413, "content-too-large")
        self.assertIn("files.tenant_bytes_max", problem["detail"])

    def test_an_upload_that_breaks_off_leaves_nothing(self):
        workspace = f"/api/workspaces/{self.server.bootstrap['workspace_id']}/files"
        before = self.client.get(workspace).json()["data"]
        kind, body = form(("half.txt", b"y" * 1_000_000))
        head = (f"POST {FILES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.server.bootstrap['service_key']}\r\n"
                f"Content-Type: {kind['Content-Type']}\r\nContent-Length: {len(body)}\r\n\r\n")
        with Connection(self.server.host, self.server.port) as connection:
            connection.send(head.encode() + body[:500_000])
        self.assertEqual(self.client.get(workspace).json()["data"], before)
        wait_until(lambda: not any((self.server.data / "spool").iterdir()), "nothing is left in the spool")
        digest = hashlib.sha256(b"y" * 1_000_000).hexdigest()
        self.assertFalse((self.server.data / "files" / digest[:2] / digest[2:]).exists())

    def test_pages_and_pictures_that_could_run_are_served_inert(self):
        for name in ("x.html", "x.svg"):
            (file,) = self.kept((name, b"<svg onload='alert(1)'/>"))
            answer = self.client.get(file["url"] + "?inline=1")
            self.assertTrue(answer.header("content-disposition").startswith("attachment;"), name)
            self.assertEqual(answer.header("x-content-type-options"), "nosniff")
            self.assertTrue(answer.header("content-security-policy").startswith("sandbox"))

    def test_another_workspace_finds_nothing(self):
        (file,) = self.kept(("a.txt", b"1"))
        stranger = self.other_tenant()
        self.assertEqual(stranger.get(file["url"]).status, 404)
        self.assertEqual(stranger.delete(file["url"]).status, 404)
        self.assertEqual(self.client.get(file["url"]).body, b"1")


class LargeTest(FilesTest):
    def test_a_large_file_is_never_whole_in_memory(self):
        block = os.urandom(1 << 20)
        data = block * 90
        (file,) = self.kept(("large.zip", data))
        self.assertEqual(file["sha256"], hashlib.sha256(data).hexdigest())
        anonymous = self.anonymous_kib()
        answer = self.client.open("GET", file["url"])
        with answer.connection:
            digest, size = hashlib.sha256(), 0
            for piece in answer.pieces():
                digest.update(piece)
                size += len(piece)
            if not is_sanitized():
                self.assertLess(self.anonymous_kib() - anonymous, 30_000)
        self.assertEqual((size, digest.hexdigest()), (len(data), file["sha256"]))

    def anonymous_kib(self):
        """What the process holds in memory of its own: mapped files do not count."""
        for line in pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        raise AssertionError("no RssAnon")


if __name__ == "__main__":
    unittest.main()
