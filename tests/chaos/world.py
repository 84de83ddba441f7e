"""Real processes that misfortune may strike: servers, runners and, with PostgreSQL, their database.

Each server and runner has a network, a disk and a clock of its own, and is reached through a door: callers speak to
doors and never learn which process, on which port, is behind them today.
"""
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "process"))

from http_client import PATIENCE_S, Client  # noqa: E402
from proxy import Switchboard  # noqa: E402
from server_process import BINARY, Server, is_sanitized, wait_until  # noqa: E402
from surroundings import Clock, Disk, Network  # noqa: E402

RUNNER_KEY = "a-runner-key-for-chaos"
ADMIN_KEY = "sk_adm_for_chaos_only_0123456789"
DISK_MIB = 192
SLOWNESS = PATIENCE_S / 30  # of what was built with a sanitizer
# What a server says in its log of a run that it carries, loses or takes from another.
MOVES = re.compile(r" (run ended|run taken over|held run claimed|run was unattended|run is carried on by another server) ")
FORMER = re.compile(r" from=(nod_\w+)")
START_S = 60 * SLOWNESS


class Place(Server):
    """A `sluice serve` or `sluice runner` with everything around it."""

    def __init__(self, world, number, name):
        super().__init__(listen="0.0.0.0:0")
        self.world, self.name = world, name
        self.network = Network(number)
        self.disk = Disk(self.home / "disk", DISK_MIB)
        self.data = self.disk.path / "data"
        self.clock = Clock(self.home)
        self.door = world.switchboard.open(name)
        self.env = self.clock.environment() | {"SLUICE_RUNNER_KEY": RUNNER_KEY}
        self.expected_to_die = False
        self.deaths = []  # what it died of, when nobody had killed it
        self.pids = []    # of every process that it ever was

    def spawn(self):
        with open(self.log_path, "ab") as log:
            return subprocess.Popen(
                [*self.network.command(), str(BINARY), self.command, "--listen", self.listen, "--data", str(self.data),
                 *self.flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=self.environment(),
                cwd=self.home)

    def start(self, patience_s=START_S):
        super().start(patience_s)
        self.expected_to_die = False
        self.pids.append(self.process.pid)
        self.door.target = (self.network.inside, self.port)
        return self

    def kill(self):
        self.door.target = None
        super().kill()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def look_after(self):
        """Starts it again if it is gone, and keeps in mind whether that was to be expected."""
        if self.alive():
            return
        if self.process is not None and not self.expected_to_die:
            self.deaths.append(f"{self.name} died by itself (status {self.process.returncode}):\n{self.log()[-3000:]}")
        self.kill()
        self.start()

    def remove(self):
        self.kill()
        self.disk.remove()
        self.network.remove()
        shutil.rmtree(self.home, ignore_errors=True)


class Node(Place):
    """A server that takes messages."""

    def __init__(self, world, number):
        super().__init__(world, number, f"node{number}")
        # Few places, so that some messages wait for one and some are refused.
        self.own_flags = ["--server.admin_key", ADMIN_KEY, "--capacity.max_running", "10",
                          "--capacity.max_hold_seconds", "60", "--sandbox.warm_target", "1", "--server.drain_seconds",
                          "5", "--runner.callback_base_url", f"http://{self.network.outside}:{self.door.port}",
                          "--server.public_base_url", "http://sluice.test"]

    def through(self, key):
        """A client that comes by the door."""
        return Client("127.0.0.1", self.door.port, key)

    def serves_within(self, patience_s):
        """It writes a record, and takes a message and answers it."""
        client, patience_s = self.through(self.world.keys["service_key"]), patience_s * SLOWNESS
        try:
            kept = client.request("PUT", "/v1/secrets", {"secrets": {"CHAOS": "kept by chaos"}}, patience_s=patience_s)
            said = client.post("/v1/conversations", {"initial_message": {"content": "say here"}}, patience_s=patience_s)
        except OSError as why:
            raise AssertionError(f"{self.name} does not answer: {why}") from why
        if kept.status != 200 or not (said.status == 429 or b'"type":"message_end"' in said.body):
            raise AssertionError(f"{self.name} does not serve: {kept.status} and {said.status} {said.body[-300:]!r}")

    def figures(self):
        """The lines of /metrics, by name with labels."""
        text = Client(self.network.inside, self.port, ADMIN_KEY).get("/metrics").body.decode()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")}


class Runner(Place):
    command = "runner"
    announcement = "sluice: runner listening on "

    def __init__(self, world, number):
        super().__init__(world, number, f"runner{number}")
        self.flags = ["--sandbox.driver", "namespaces", "--sandbox.warm_target", "1"]


class World:
    """`staged` says who carries the runs: the servers themselves ("alone"), or runners ("runners")."""

    def __init__(self, ledger, store="sqlite", node_count=1, runner_count=2):
        self.ledger = ledger
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sluice-chaos-"))
        self.switchboard = Switchboard()
        self.database = None
        if store == "postgres":
            from database import Database  # only where it is asked for
            self.database = Database(self)
        self.nodes = [Node(self, n + 1) for n in range(node_count)]
        self.runners = [Runner(self, n + 1 + node_count) for n in range(runner_count)]
        self.stage = None
        self.keys = None
        self.is_sanitized = is_sanitized()
        self.checks_vptrs = b"__ubsan_handle_dynamic_type_cache_miss" in BINARY.read_bytes()
        self.struck = set()  # names of those that the fault of the moment strikes
        self.names = {}      # of servers, by their ids
        self.clocks_moved = False  # a signature's time may look wrong to a server

    def strike(self, place):
        """Notes whom a fault strikes."""
        self.struck.add(place.name)
        self.learn_names()
        return place

    def learn_names(self):
        """A server has a new id whenever it starts; what it left behind is known by its id."""
        if self.database is None:
            return
        for node in self.nodes:
            try:
                rows = Client(node.network.inside, node.port, ADMIN_KEY).request("GET", "/v1/admin/nodes", patience_s=2).json()["data"]
            except (OSError, ValueError, KeyError):
                continue
            self.names |= {row["id"]: row["name"] for row in rows}
            return

    def carriers(self, run):
        """The names of those who may have carried this run: servers say in their logs when one moves, or ends. Runners
        may have worked on any."""
        runners = {place.name for place in self.places() if place.command == "runner"}
        everybody = {place.name for place in self.places()}
        found = set()
        for node in self.nodes:
            lines = [line for line in node.log().splitlines() if run and run in line and MOVES.search(line)]
            found |= {node.name} if lines else set()
            for former in FORMER.findall("\n".join(lines)):
                found |= {self.names[former]} if former in self.names else everybody
        return found | runners if found else everybody

    def places(self):
        """Everybody who is on the stage."""
        return self.nodes + (self.runners if self.stage == "runners" else [])

    def set_stage(self, stage):
        """Starts everybody anew who must know of it."""
        if stage == self.stage:
            return
        for place in self.nodes + self.runners:
            if place.alive():
                place.stop()
        self.stage = stage
        for node in self.nodes:
            hands = ["--sandbox.driver", "namespaces"]
            if stage == "runners":
                urls = "|".join(f"http://{node.network.outside}:{runner.door.port}" for runner in self.runners)
                hands = ["--sandbox.driver", "off", "--runner", urls]
            node.flags = node.own_flags + hands
            if self.database:
                node.flags += ["--store", self.database.url_for(node), "--node.name", node.name]
        for place in self.places():
            self.share_keys(place)
            place.start()
        self.keys = self.nodes[0].bootstrap

    def share_keys(self, place):
        """Servers on one store have their keys in common: the first one's."""
        first = self.nodes[0].data
        if place not in self.nodes[1:] or place.data.exists():
            return
        place.data.mkdir(mode=0o700)
        for name in ("bootstrap.json", "vault.key"):
            shutil.copy(first / name, place.data / name)

    def look_after(self):
        if self.database:
            self.database.look_after()
        for place in self.places():
            place.look_after()

    def wait_until_ready(self, patience_s=60 * SLOWNESS):
        for node in self.nodes:
            wait_until(lambda: self.is_ready(node), f"{node.name} is ready", patience_s)

    @staticmethod
    def wait_for(condition, what):
        wait_until(condition, what, 60 * SLOWNESS)

    @staticmethod
    def is_ready(node):
        try:
            return node.through("").get("/readyz").status == 200
        except OSError:
            return False

    def deaths(self):
        return [death for place in self.nodes + self.runners for death in place.deaths]

    def remove(self):
        for place in self.nodes + self.runners:
            place.remove()
        if self.database:
            self.database.remove()
        self.switchboard.close()
        shutil.rmtree(self.home, ignore_errors=True)
