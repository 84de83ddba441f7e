"""Several servers on one PostgreSQL."""
import os
import pathlib
import shutil
import signal
import tempfile
import unittest

from gate_fixture import Approver
from ports import lasting_port
from postgres import Postgres
from server_process import Server, wait_until

ADMIN_KEY = "sk_adm_" + "n" * 43


class Node(Server):
    """A server whose data directory has the keys of the first one. It keeps its port, so that nobody who tries it while it
    is down meets a server of another test."""

    def __init__(self, url, *flags, like=None):
        super().__init__("--store", url, "--server.admin_key", ADMIN_KEY, "--sandbox.driver", "off", *flags,
                         listen=f"127.0.0.1:{lasting_port()}")
        self.like = like

    def start(self, patience_s=60):
        if self.like is not None and not self.data.exists():
            self.data.mkdir(mode=0o700)
            for name in ("bootstrap.json", "vault.key"):
                shutil.copy(self.like.data / name, self.data / name)
        return super().start(patience_s)

    def freeze(self):
        """Until it stands still: the signal is handled by one thread, which a busy machine may run after the others."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self):
        if self.alive():
            self.process.send_signal(signal.SIGCONT)


def start_postgres():
    """For setUpModule: one PostgreSQL for all classes of a file, with a database for each of them."""
    NodesTest.postgres = Postgres(settings=["fsync=off"])  # processes die here, the machine does not
    unittest.addModuleCleanup(NodesTest.postgres.close)
    NodesTest.postgres.start()


class NodesTest(unittest.TestCase):
    """At least `count` nodes for each test of the class, on a database of the class. Nodes that a test leaves alive are
    there for the next one."""

    count = 2
    flags = ()
    postgres = None

    @classmethod
    def setUpClass(cls):
        cls.url = cls.postgres.create_database(cls.__name__.lower())
        cls.keys = None  # of the first node: the others have them too
        cls.nodes = []

    def setUp(self):
        self.addCleanup(self.print_logs_of_a_failure)
        type(self).nodes = [node for node in self.nodes if node.alive()]
        while len(self.nodes) < self.count:
            self.add_node()
        self.client = self.nodes[0].client()
        self.approver = Approver.of(self.nodes[0])

    def print_logs_of_a_failure(self):
        """What several servers did to each other is in their logs, which go with the nodes."""
        result = self._outcome.result
        if any(test is self for test, _ in result.failures + result.errors):
            for number, node in enumerate(self.nodes):
                deeds = [line for line in node.log().splitlines() if "request served" not in line]
                print(f"── {self.id()}: node {number}, {node.url}", *deeds[-60:], sep="\n", flush=True)

    def add_node(self, *flags):
        node = Node(self.url, *self.flags, *flags, like=self.keys)
        self.addClassCleanup(node.remove)
        node.start()
        self.nodes.append(node)
        if self.keys is None:
            type(self).keys = Keys(node)
            self.addClassCleanup(self.keys.remove)
        return node

    def opened(self, stream):
        self.addCleanup(stream.close)
        return stream

    def clients(self):
        return [node.client() for node in self.nodes if node.alive()]

    def conversation(self, client=None, **fields):
        answer = (client or self.client).post("/v1/conversations", fields)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["id"]

    def run_of(self, client, run):
        return client.get(f"/v1/runs/{run}").json()

    def carried(self, node):
        """How many runs a node says are live with it."""
        figures = node.admin().get("/metrics").body.decode()
        return next(int(float(line.split()[-1])) for line in figures.splitlines() if line.startswith("sluice_runs_live "))

    def wait_for_state(self, client, run, *states):
        return wait_until(lambda: self.run_of(client, run)["state"] in states and self.run_of(client, run),
                          f"run {run} becomes {' or '.join(states)}")


class Keys:
    """A copy of a node's keys, which outlives it."""

    def __init__(self, node):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="sluice-keys-"))
        for name in ("bootstrap.json", "vault.key"):
            shutil.copy(node.data / name, self.data / name)

    def remove(self):
        shutil.rmtree(self.data, ignore_errors=True)
