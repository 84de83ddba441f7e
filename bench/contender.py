"""A server under measurement: started on a data directory of its own, weighed, and stopped."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BINARY = pathlib.Path(os.environ.get("SLUICE_BINARY", ROOT / "build" / "sluice"))
LOAD = pathlib.Path(os.environ.get("SLUICE_LOAD", BINARY.parent / "bench" / "load"))
TICKS = os.sysconf("SC_CLK_TCK")
# The server takes every SLUICE_ variable for configuration; ours are not.
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
START_LIMIT = 60  # seconds


def say(text):
    print(text, file=sys.stderr, flush=True)


def show(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def stat_of(pid):
    """What follows the name in /proc/PID/stat: state, parent, …"""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def cpu_seconds_of(pid):
    """User and system time of a process, all its threads: its clock as clock_getcpuclockid(3) would name it, because
    /proc counts in hundredths of a second."""
    return time.clock_gettime((~pid << 3) | 2)


def memory_kib_of(pid, kind="VmRSS"):
    """A line of /proc/PID/status: VmRSS, or RssAnon, which leaves mapped files out."""
    return int(re.search(kind + r":\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def family_of(pid):
    """A process and all that descend from it."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(int(stat_of(entry.name)[1]), []).append(int(entry.name))
            except (OSError, IndexError):
                continue  # gone meanwhile
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family


def scratch_directory():
    return pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-", dir=os.environ.get("SLUICE_BENCH_DIR")))


class Contender:
    """A server process that can be started afresh and measured."""

    name = ""
    dialect = "sluice"  # how the load client speaks to it
    listening = r"listening on http://127\.0\.0\.1:(\d+)"  # what it prints; None if its port was chosen for it

    def __init__(self):
        self.process, self.home, self.port, self.key = None, None, None, None

    def command(self):
        raise NotImplementedError

    def environment(self):
        """Variables in addition to those of this process."""
        return {}

    def directory(self):
        return self.home

    def start(self):
        self.home = scratch_directory()
        self.launch()

    def launch(self):
        """A process on the directory as it is, in a session of its own, so that it can be ended with all it started."""
        with open(self.home / "stdout.log", "wb") as out, open(self.home / "stderr.log", "wb") as log:
            self.process = subprocess.Popen(self.command(), stdout=out, stderr=log, cwd=self.directory(),
                                            env={**OUTSIDE, **self.environment()}, start_new_session=True)
        if self.listening:
            self.port = self.find_port()
        self.key = self.find_key()

    def find_port(self):
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline and self.process.poll() is None:
            match = re.search(self.listening, (self.home / "stdout.log").read_text() + (self.home / "stderr.log").read_text())
            if match:
                return int(match[1])
            time.sleep(0.002)
        raise SystemExit(f"{self.name} did not start: {(self.home / 'stderr.log').read_text()[-2000:]}")

    def find_key(self):
        raise NotImplementedError

    def kill(self):
        """The end of it and of everything it started, without warning."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended by itself
        self.process.wait()

    def stop(self):
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def rss_kib(self):
        return memory_kib_of(self.process.pid)

    def cpu_seconds(self):
        return cpu_seconds_of(self.process.pid)

    def load(self, mode, **flags):
        command = [LOAD, mode, "--port", str(self.port), "--key", self.key, "--dialect", self.dialect]
        for name, value in flags.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        return command


class Sluice(Contender):
    name = "Sluice"

    def __init__(self, *flags):
        super().__init__()
        self.flags = flags

    def command(self):
        return [BINARY, "serve", "--listen", "127.0.0.1:0", "--data", self.home / "data", "--log.level", "warn",
                *self.flags]

    def bootstrap(self):
        return json.loads((self.home / "data" / "bootstrap.json").read_text())

    def find_key(self):
        return self.bootstrap()["service_key"]
