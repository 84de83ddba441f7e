"""A real `sluice serve` for the tests of this folder: started, spoken to, killed and started again.

Nothing here sleeps for a guess. Every wait is for an event (a line, a byte, an exit) and has a
deadline. SLUICE_BINARY names the program; without it, build/sluice of this tree is used.
"""
import json
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from http_client import PATIENCE_S, Client
from ports import lasting_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("SLUICE_BINARY", ROOT / "build" / "sluice"))


def is_sanitized():
    """Memory bounds mean nothing under a sanitizer, which keeps what is freed or a shadow of everything."""
    program = BINARY.read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def wait_until(condition, what, patience_s=PATIENCE_S):
    """Polls `condition` until it returns something true, and returns that."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s:.0f} s in vain: {what}")
        time.sleep(0.01)


class Server:
    """One data directory and, most of the time, one server process on it."""

    command = "serve"
    announcement = "sluice: listening on "

    def __init__(self, *flags, data=None, env=None, listen="127.0.0.1:0"):
        if not BINARY.exists():
            raise AssertionError(f"{BINARY} does not exist: run ./dev build, or set SLUICE_BINARY")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sluice-test-"))
        self.data = pathlib.Path(data) if data else self.home / "data"
        self.flags = list(flags)
        self.env = env or {}
        self.listen = listen
        self.log_path = self.home / "stderr.log"
        self.process = None
        self.url = None

    def environment(self):
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith("SLUICE_") and not k.endswith("_API_KEY") and "proxy" not in k.lower()}
        return kept | self.env

    def spawn(self):
        with open(self.log_path, "ab") as log:
            return subprocess.Popen(
                [str(BINARY), self.command, "--listen", self.listen, "--data", str(self.data), *self.flags],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=self.environment(), cwd=self.home)

    def start(self, patience_s=PATIENCE_S):
        self.process = self.spawn()
        line = self._first_line(patience_s)
        if not line.startswith(self.announcement):
            self.kill()
            raise AssertionError(f"the server said {line!r} instead of where it listens\n{self.log()[-4000:]}")
        self.url = line[len(self.announcement):].strip()
        self.host, port = self.url.split("://", 1)[1].rsplit(":", 1)
        self.port = int(port)
        return self

    def _first_line(self, patience_s):
        """The first line of stdout, or what there was of it when the process ended."""
        deadline, got = time.monotonic() + patience_s, b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in got:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.kill()
                    raise AssertionError(f"no listening line within {patience_s:.0f} s\n{self.log()[-4000:]}")
                piece = os.read(self.process.stdout.fileno(), 4096)
                if not piece:
                    break
                got += piece
        return got.decode(errors="replace")

    @property
    def bootstrap(self):
        return json.loads((self.data / "bootstrap.json").read_text())

    def client(self, key=None):
        return Client(self.host, self.port, key if key is not None else self.bootstrap["service_key"])

    def admin(self):
        return self.client(self.bootstrap["admin_key"])

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def rss_kib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """SIGKILL: what a crash, the OOM killer or a power button do."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait_exit(self, patience_s=PATIENCE_S):
        status = self.process.wait(patience_s)
        left_over = self.process.stdout.read()
        self.process.stdout.close()
        self.process = None
        if left_over:
            raise AssertionError(f"more than one line on stdout: {left_over!r}")
        return status

    def stop(self):
        """SIGTERM, and insists on a clean end."""
        if self.process is None:
            return
        self.terminate()
        status = self.wait_exit()
        if status != 0:
            raise AssertionError(f"SIGTERM ended with status {status}\n{self.log()[-4000:]}")

    def remove(self):
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


class ServerTest(unittest.TestCase):
    """A test class with one server for all its tests. It must be alive after each of them."""

    flags = ()
    env = {}
    keeps_its_port = False  # a test stops the server, and clients find it again

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.flags, env=cls.env, listen=f"127.0.0.1:{lasting_port() if cls.keeps_its_port else 0}")
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()
        cls.client = cls.server.client()
        cls.admin = cls.server.admin()

    def tearDown(self):
        if not self.server.alive():
            self.fail(f"the server died during the test\n{self.server.log()[-6000:]}")

    def conversation(self, **fields):
        """The id of a fresh conversation."""
        answer = self.client.post("/v1/conversations", fields)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["id"]

    def messages(self, conversation, client=None):
        answer = (client or self.client).get(f"/v1/conversations/{conversation}/messages?limit=100")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["data"]

    def assert_problem(self, answer, status, slug):
        self.assertEqual((answer.status, answer.header("content-type")), (status, "application/problem+json"),
                         answer.body[:500])
        problem = answer.json()
        self.assertEqual(problem["type"].rsplit("/problems/", 1)[-1], slug, problem)
        self.assertEqual(problem["status"], status)
        self.assertTrue(problem["title"], problem)
        self.assertEqual(problem["request_id"], answer.header("x-request-id"))
        self.assertRegex(problem["request_id"], r"^req_[0-9a-z]{26}$")
        return problem
