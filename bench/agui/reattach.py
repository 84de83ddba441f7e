"""Clients that come back to their run, finished or at work, with the id of the frame that they saw last.

All come on connections of their own, a few at once; whoever comes back to a run at work stays for as long as its slice
takes, and then leaves by a reset. The ways back take turns, slice by slice, so that whatever else the machine does meets
all: the same POST again, a GET, and beside them the Integration API's stream of the same runs.
"""
import json
import os
import subprocess
import time

from agui.waiting import waited_ms_of
from contender import BINARY, Sluice, say, show

ASKERS = BINARY.parent / "bench" / "agui" / "askers"
DELTAS = 100
SEEN = 50  # of the frames
AT_ONCE = 8
SLICES = 5
FAREWELL_S_MAX = 30
FEW = 10  # files of its own that the server may open meanwhile
CONTENTS = {"finished": f"tokens {DELTAS}", "live": f"tokens {DELTAS}\nhang"}


class Runs:
    """As many runs as asked for, begun by AG-UI clients that left."""

    def __init__(self, server, kind, count):
        self.server, self.kind = server, kind
        self.names = [(f"thread-{kind}-{i}", f"run-{kind}-{i}") for i in range(count)]
        requests = [("POST", "/agui", "", self.body(*names), "id: ") for names in self.names]
        descriptors = count_descriptors(server)
        *self.messages, _ = ask(server, requests, 16, "--find", "messageId", "--until", f'w{DELTAS}"')
        wait_for_farewell(server, descriptors)

    def body(self, thread, run):
        return json.dumps({"threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "tools": [],
                           "context": [], "forwardedProps": {},
                           "messages": [{"id": "user-1", "role": "user", "content": CONTENTS[self.kind]}]})

    def request(self, way, index):
        """Which frame must come first is part of it."""
        thread, run = self.names[index]
        if way == "POST":
            return "POST", "/agui", f"{run}-{SEEN}", self.body(thread, run), f"id: {run}-{SEEN + 1}"
        if way == "GET":
            return "GET", f"/agui?runId={run}&offset={run}-{SEEN}", "", "", f"id: {run}-{SEEN + 1}"
        return "GET", f"/v1/messages/{self.messages[index]}/events", str(SEEN), "", f"id: {SEEN + 1}"

    def come_back(self, way, slice_of_them):
        """Milliseconds to the first byte of each, and for all of them the server's time at work and in line for it."""
        requests = [self.request(way, index) for index in slice_of_them]
        pid, descriptors = self.server.process.pid, count_descriptors(self.server)
        before, waited = self.server.cpu_seconds(), waited_ms_of(pid)
        times = json.loads(ask(self.server, requests, AT_ONCE, *(["--stay"] if self.kind == "live" else []))[-1])
        wait_for_farewell(self.server, descriptors)
        return times, self.server.cpu_seconds() - before, waited_ms_of(pid) - waited


def count_descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def wait_for_farewell(server, descriptors):
    """Until the server has let go of who left, so that no turn pays for another's."""
    deadline = time.monotonic() + FAREWELL_S_MAX
    while count_descriptors(server) > descriptors + FEW:
        if time.monotonic() > deadline:
            raise SystemExit(f"{count_descriptors(server) - descriptors} connections are still open")
        time.sleep(0.01)


class Way:
    def __init__(self):
        self.times, self.cpu, self.waited_ms = [], 0, 0

    def add(self, times, cpu, waited_ms):
        self.times, self.cpu, self.waited_ms = sorted(self.times + times), self.cpu + cpu, self.waited_ms + waited_ms

    def quantile(self, q):
        return self.times[int(q * (len(self.times) - 1))]

    def cpu_us(self):
        return self.cpu / len(self.times) * 1e6

    def waited_us(self):
        return self.waited_ms / len(self.times) * 1e3


def ask(server, requests, at_once, *flags):
    command = [ASKERS, "--port", str(server.port), "--key", server.key, "--at-once", str(at_once), *flags]
    done = subprocess.run(command, input="".join("\t".join(request) + "\n" for request in requests),
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{done.stderr}{(server.home / 'stderr.log').read_text()[-2000:]}")
    return done.stdout.splitlines()


def take_turns(runs, count):
    ways = {"POST": Way(), "GET": Way(), "Integration": Way()}
    for index in range(SLICES):
        for name, way in list(ways.items())[:: 1 if index % 2 == 0 else -1]:
            way.add(*runs.come_back(name, range(index * count // SLICES, (index + 1) * count // SLICES)))
    return ways


def measure(rows, quick):
    count = 500 if quick else 5_000
    server = Sluice("--capacity.max_running", "20000")
    server.start()
    try:
        for kind in CONTENTS:
            say(f"  beginning {count:,} runs")
            ways = take_turns(Runs(server, kind, count), count)
            beside = ways.pop("Integration")
            for name, way in ways.items():
                rows.add(f"{count:,} {name}s come back to {kind} runs, {AT_ONCE} at once: first byte, p50", "ms",
                         way.quantile(0.5), f"Integration: {show(beside.quantile(0.5))}")
                rows.add("… p99", "ms", way.quantile(0.99), f"Integration: {show(beside.quantile(0.99))}", at_most=10)
                rows.add("… CPU of the server for each", "µs", way.cpu_us(),
                         f"Integration: {show(beside.cpu_us())}; waited for a processor: {show(way.waited_us())}")
    finally:
        server.stop()
