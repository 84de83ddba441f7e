"""Has a whole server keep its files in an object store that checks signatures (s3rver and aws4, from npm).
Where there is no node or no registry it says so, and exits with 77: not tested."""
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "process"))

from ports import lasting_port  # noqa: E402
from server_process import Server, wait_until  # noqa: E402
from test_files import FILES, form  # noqa: E402

INSTALLED = HERE / "node_modules" / ".package-lock.json"


def not_tested(why):
    print(f"THE OBJECT STORE WAS NOT TESTED: {why}", file=sys.stderr)
    sys.exit(77)


def install():
    lock = HERE / "package-lock.json"
    if INSTALLED.exists() and INSTALLED.stat().st_mtime >= lock.stat().st_mtime:
        return
    npm = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000"], cwd=HERE,
                         capture_output=True, text=True, check=False)
    if npm.returncode != 0:
        not_tested(f"npm ci in {HERE} failed. With a registry in reach it must not.\n{npm.stderr}")
    INSTALLED.touch()


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class ObjectStore:
    """One process; what it keeps outlives it."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="sluice-s3-")
        self.port = lasting_port()
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            ["node", str(HERE / "store.mjs"), self.home, str(self.port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: answers(self.port), "the object store listens")

    def start_again(self):
        if self.process is None:
            self.start()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def remove(self):
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


class ObjectStoreTest(unittest.TestCase):
    """One store for all tests, with a prefix for each."""

    @classmethod
    def setUpClass(cls):
        cls.store = ObjectStore()
        cls.addClassCleanup(cls.store.remove)
        cls.store.start()

    def setUp(self):
        self.prefix = "prefix/of/" + self._testMethodName

    def serve(self, secret="S3RVER", bucket="sluice"):
        server = Server("--sandbox.driver", "off", env={
            "SLUICE_FILES_STORE": f"s3://{bucket}/{self.prefix}", "SLUICE_FILES_S3_ENDPOINT": f"http://127.0.0.1:{self.store.port}",
            "SLUICE_FILES_S3_ACCESS_KEY": "S3RVER", "SLUICE_FILES_S3_SECRET_KEY": secret})
        self.addCleanup(server.remove)
        return server.start()

    def upload(self, server, *files):
        kind, body = form(*files)
        return server.client().post(FILES, body, kind)

    def listed(self, server):
        return server.client().get(f"/api/workspaces/{server.bootstrap['workspace_id']}/files").json()["data"]

    def test_what_was_uploaded_is_there_after_a_restart_and_not_on_our_disk(self):
        server = self.serve()
        large = b"0123456789" * 300_000
        answer = self.upload(server, ("a.txt", b"one"), ("empty.txt", b""), ("large.csv", large))
        self.assertEqual(answer.status, 201, answer.body)
        server.stop()
        server.start()
        for file, data in zip(answer.json()["files"], (b"one", b"", large)):
            self.assertEqual(server.client().get(file["url"]).body, data, file["name"])
        self.assertFalse((server.data / "files").exists())
        kept = [path for path in pathlib.Path(self.store.home).rglob("*") if self.prefix in str(path)]
        self.assertTrue(kept)

    def test_a_wrong_key_is_told_in_words_and_nothing_is_in_the_bag(self):
        server = self.serve(secret="wrong")
        self.assertEqual(self.upload(server, ("a.txt", b"one")).status, 503)
        self.assertEqual(self.listed(server), [])
        self.assertIn("SignatureDoesNotMatch", server.log())
        self.assertIn("files.s3_secret_key", server.log())
        self.assertNotIn("secret_key=wrong", server.log())

    def test_a_bucket_that_is_not_there_is_told_in_words(self):
        server = self.serve(bucket="nowhere")
        self.assertEqual(self.upload(server, ("a.txt", b"one")).status, 503)
        self.assertIn("files.store", server.log())

    def test_while_the_store_is_down_nothing_is_lost_and_nothing_is_half_there(self):
        server = self.serve()
        (file,) = self.upload(server, ("a.txt", b"one")).json()["files"]
        self.store.stop()
        self.addCleanup(self.store.start_again)
        with ThreadPoolExecutor() as pool:  # both try for some seconds
            uploaded = pool.submit(self.upload, server, ("b.txt", b"two"))
            self.assertEqual(server.client().get(file["url"]).status, 503)
            self.assertEqual(uploaded.result().status, 503)
        self.assertEqual([listed["name"] for listed in self.listed(server)], ["a.txt"])
        self.store.start_again()
        self.assertEqual(server.client().get(file["url"]).body, b"one")
        self.assertEqual(self.upload(server, ("b.txt", b"two")).status, 201)


if __name__ == "__main__":
    if not shutil.which("node") or not shutil.which("npm"):
        not_tested("there is no node or no npm; ./dev test installs them")
    install()
    unittest.main(verbosity=2)
