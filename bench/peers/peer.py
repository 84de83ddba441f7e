"""What the peers have in common: how they are installed, weighed, and asked what they remember."""
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

from contender import BINARY, START_LIMIT, TICKS, Contender, Sluice, cpu_seconds_of, family_of, say, stat_of


class Unavailable(Exception):
    """Why a peer cannot be measured here."""


# ── how they are installed ──

class NpmPackage:
    """A folder with a lock file; `built` is a file below node_modules that must be there in the end."""

    def __init__(self, folder, built=None):
        self.folder, self.modules = folder, folder / "node_modules"
        self.built = self.modules / built if built else None

    def is_installed(self):
        try:
            wanted = json.loads((self.folder / "package-lock.json").read_text())["packages"]
            have = json.loads((self.modules / ".package-lock.json").read_text())["packages"]
        except OSError:
            return False
        same = all(have.get(path, {}).get("version") == package["version"] for path, package in wanted.items()
                   if path.startswith("node_modules/") and not package.get("optional"))
        return same and (self.built is None or self.built.exists())

    def install(self):
        if not shutil.which("npm"):
            raise Unavailable("no npm on this machine")
        if self.is_installed():
            return
        say(f"bench: installing {self.folder.name} from npm")
        environment = dict(os.environ)
        if pathlib.Path("/usr/include/node/node.h").exists():
            environment["npm_config_nodedir"] = "/usr"  # compile against what is here instead of downloading headers
        try:
            # Not `npm ci`: it refuses lock files in which packages for other systems are missing, as npm itself writes them.
            done = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund"], cwd=self.folder, env=environment,
                                  capture_output=True, text=True, timeout=900, check=False)
        except subprocess.TimeoutExpired:
            raise Unavailable("npm install took longer than 15 minutes") from None
        if done.returncode != 0 or not self.is_installed():
            reason = [line for line in done.stderr.splitlines() if "npm error" in line]
            raise Unavailable(f"npm install failed: {reason[0] if reason else done.stderr[-200:]}")

    def bytes(self):
        return sum(path.lstat().st_blocks * 512 for path in self.modules.rglob("*"))


def need_debian(*packages):
    for package in packages:
        if not debian_version(package):
            raise Unavailable(f"the Debian package {package} is not installed; ./dev bench installs it")


def dpkg(field, *packages):
    done = subprocess.run(["dpkg-query", "-W", "-f", f"${{Package}}\t${{db:Status-Abbrev}}\t${{{field}}}\n", *packages],
                          capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[0]: row[2] for row in rows if row[1].startswith("ii")}


def debian_version(package):
    return dpkg("Version", package).get(package, "")


def debian_bytes(*packages):
    """What they take on disk with what they depend on, without what every Debian has."""
    done = subprocess.run(["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
                           "--no-breaks", "--no-replaces", "--no-enhances", "--installed", *packages],
                          capture_output=True, text=True, check=False)
    names = {line.split(":")[0] for line in done.stdout.splitlines() if re.match(r"[a-z0-9]", line)}
    everywhere = {name for name, priority in dpkg("Priority").items() if priority == "required"}
    sizes = dpkg("Installed-Size", *sorted(names))
    return sum(int(kib) * 1024 for name, kib in sizes.items() if name not in everywhere)


def with_libraries(program):
    """A program and the libraries it loads, without the C library."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    libraries = [path for path in re.findall(r"=> (/\S+)", listed) if not re.search(r"/(libc|libm|ld-linux)[.-]", path)]
    return sum(os.stat(path).st_size for path in [program, *libraries])


def stripped_with_libraries(program):
    """As it is packaged: without what is only there to debug it."""
    with tempfile.NamedTemporaryFile() as packaged:
        subprocess.run(["strip", "-o", packaged.name, program], check=True)
        return with_libraries(packaged.name)


def node_runtime_bytes():
    return with_libraries(os.path.realpath(shutil.which("node")))


# ── how they are reached ──

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_open(port, process):
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.002)
    raise Unavailable(f"nobody listens on port {port}")


def read_port(process, pattern):
    """From the first line that a process prints."""
    return int(re.search(pattern, process.stdout.readline())[1])


class Stream:
    """Events as they come, read line by line."""

    def __init__(self, response, delta_mark, end_mark=None):
        self.response, self.delta_mark, self.end_mark = response, delta_mark, end_mark
        self.deltas, self.ended, self.lines, self.others = 0, False, [], []

    def also_close(self, connection):
        self.others.append(connection)

    def next(self):
        """False when nothing follows."""
        line = self.response.readline().decode()
        if not line:
            self.ended = self.ended or self.end_mark is None
            return False
        self.lines.append(line)
        self.deltas += self.delta_mark in line
        self.ended = self.ended or bool(self.end_mark and self.end_mark in line)
        return not self.ended

    def until_delta(self):
        while self.deltas == 0 and self.next():
            pass
        return self.deltas > 0

    def to_the_end(self):
        try:
            while self.next():
                pass
        except (OSError, http.client.HTTPException):
            pass  # cut off, or silent for too long: what was counted stands
        return self

    def close(self):
        for connection in [self.response, *self.others]:
            connection.close()


class Peer(Contender):
    """A contender of the side-by-side report, which can also be asked what it remembers."""

    note = ""
    paced = holds = remembers = True  # what it can be measured for
    most_held = 10_000  # quiet streams, if it cannot open more in reasonable time
    patience = 30  # seconds without a byte

    def __init__(self):
        super().__init__()
        self.slots, self.key = 64, "bench-key"

    def start(self, slots=64):
        self.slots = slots
        super().start()

    def find_key(self):
        return self.key

    def install(self):
        """Raises Unavailable."""

    def version(self):
        raise NotImplementedError

    def installed_bytes(self):
        raise NotImplementedError

    # Weighing: all processes that are part of it.
    def weighed(self):
        return family_of(self.process.pid)

    def anonymous_kib(self):
        """Resident memory that is no mapped file's, pages that its processes share divided among them."""
        return sum(self.rollup("Pss_Anon"))

    def memory_kib(self):
        """The same with mapped files, those of its biggest process: what somebody else maps, too, counts in full."""
        files = [all_of_it - anonymous for all_of_it, anonymous in zip(self.rollup("Rss"), self.rollup("Anonymous"))]
        return self.anonymous_kib() + max(files, default=0)

    def rollup(self, kind):
        """A line of /proc/PID/smaps_rollup, of each process."""
        found = []
        for pid in self.weighed():
            try:
                text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue  # gone meanwhile
            if match := re.search(rf"^{kind}:\s+(\d+)", text, re.M):
                found.append(int(match[1]))
        return found

    def cpu_of_all(self):
        total = 0
        for pid in self.weighed():
            try:
                ended_children = stat_of(pid)[13:15] if len(self.weighed()) > 1 else (0, 0)
                total += cpu_seconds_of(pid) + sum(map(int, ended_children)) / TICKS
            except OSError:
                continue
        return total

    # Speaking to it.
    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)

    def send_only(self, method, path, body=None, headers=None):
        connection = self.connection()
        head = {"Authorization": f"Bearer {self.key}", **(headers or {})}
        if body is not None:
            head["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), head)
        return connection

    def request(self, method, path, body=None, headers=None):
        return self.send_only(method, path, body, headers).getresponse()

    def call(self, method, path, body=None):
        answer = self.request(method, path, body)
        text = answer.read().decode()
        if answer.status >= 300:
            raise Unavailable(f"{method} {path}: {answer.status} {text[:200]}")
        return json.loads(text)

    # The job, and what is remembered of it.
    def create(self):
        raise NotImplementedError

    def begin(self, conversation, content):
        raise NotImplementedError

    def answer(self, conversation):
        """The last answer as it is stored; None if there is none, or no store."""
        return None

    def again(self, conversation, stream):
        """The stream of a message from its beginning; None if it cannot be asked for."""
        return None


class HandMade(Peer):
    """Whoever speaks as Sluice does."""

    def create(self):
        return self.call("POST", "/v1/conversations", {})["id"]

    def begin(self, conversation, content):
        path = f"/v1/conversations/{conversation}/messages"
        return Stream(self.request("POST", path, {"content": content}), '"content_delta"', '"message_end"')

    def answer(self, conversation):
        said = [m for m in self.call("GET", f"/v1/conversations/{conversation}/messages")["data"] if m["role"] == "assistant"]
        return said[-1]["content"] if said else None


class OurOwn(Sluice, HandMade):
    """Sluice, out of the box but for the log level and as many slots as are asked for."""

    note = "journal, re-attach, idempotency and recovery included; waits for the disk before it accepts and before it ends a message"

    def __init__(self):
        super().__init__("--capacity.max_running", "20000")

    def version(self):
        return subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=False).stdout.strip()

    def installed_bytes(self):
        return stripped_with_libraries(BINARY)

    def again(self, conversation, stream):
        message = re.search(r'"message_id":"([^"]+)"', stream.lines[0])[1]
        return Stream(self.request("GET", f"/v1/messages/{message}/events"), '"content_delta"', '"message_end"')
