"""A server under measurement: started on a data directory of its own, weighed, and stopped."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BINARY = pathlib.Path(os.environ.get("SLUICE_BINARY", ROOT / "build" / "sluice"))
LOAD = pathlib.Path(os.environ.get("SLUICE_LOAD", BINARY.parent / "bench" / "load"))
TICKS = os.sysconf("SC_CLK_TCK")
# The server takes every SLUICE_ variable for configuration; ours are not.
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}


def say(text):
    print(text, file=sys.stderr, flush=True)


def show(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cpu_seconds_of(pid):
    """User and system time of a process, all its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_kib_of(pid, kind="VmRSS"):
    """A line of /proc/PID/status: VmRSS, or RssAnon, which leaves mapped files out."""
    return int(re.search(kind + r":\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def scratch_directory():
    return pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-", dir=os.environ.get("SLUICE_BENCH_DIR")))


class Contender:
    """A server process that can be started afresh and measured."""

    name = ""

    def __init__(self):
        self.process, self.home, self.port, self.key = None, None, None, None

    def command(self):
        raise NotImplementedError

    def start(self):
        self.home = scratch_directory()
        self.launch()

    def launch(self):
        """A process on the directory as it is."""
        with open(self.home / "stderr.log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=log, text=True,
                                            cwd=self.home, env=OUTSIDE)
        line = self.process.stdout.readline()
        match = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not match:
            raise SystemExit(f"{self.name} did not start: {line}{(self.home / 'stderr.log').read_text()[-2000:]}")
        self.port, self.key = int(match[1]), self.find_key()

    def find_key(self):
        raise NotImplementedError

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.kill()
        shutil.rmtree(self.home)

    def rss_kib(self):
        return memory_kib_of(self.process.pid)

    def cpu_seconds(self):
        return cpu_seconds_of(self.process.pid)

    def load(self, mode, **flags):
        command = [LOAD, mode, "--port", str(self.port), "--key", self.key]
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
