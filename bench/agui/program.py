"""From the byte that an agent program writes to the byte that its client reads: what is between, and what it adds.

The program says the time (stamping_agent.py) in a real box, its client reads it as AG-UI; one machine, one clock. Beside
it the same program on a pipe, read by the same client: what is left is the machine's own and the two Pythons'.
"""
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import time
import urllib.request

from agui.waiting import waited_ms_of
from contender import HERE, Sluice, show

AGENT = HERE / "agui" / "stamping_agent.py"
STAMP = re.compile(rb"t(\d+)@")
PATIENCE_S = 60


class Ear:
    """Reads a descriptor, and knows how long each stamp in it took."""

    def __init__(self, descriptor, count):
        self.descriptor, self.count, self.rest, self.took_ms, self.all = descriptor, count, b"", [], b""

    def fileno(self):
        return self.descriptor

    def listen(self):
        """False once everything has come."""
        bytes_in = os.read(self.descriptor, 1 << 16)
        now = time.monotonic_ns()
        self.all += bytes_in
        self.rest += bytes_in
        end = 0
        for stamp in STAMP.finditer(self.rest):
            self.took_ms.append((now - int(stamp[1])) / 1e6)
            end = stamp.end()
        self.rest = self.rest[end:]
        if not bytes_in and len(self.took_ms) < self.count:
            raise SystemExit(f"only {len(self.took_ms)} of {self.count} stamps came: {self.all[-2000:].decode()}")
        return len(self.took_ms) < self.count


def hear(ears):
    """Milliseconds of each stamp of all, sorted, without the first of each, which paid for the start."""
    with selectors.DefaultSelector() as ready:
        for ear in ears:
            ready.register(ear, selectors.EVENT_READ)
        while ready.get_map():
            found = ready.select(PATIENCE_S)
            if not found:
                raise SystemExit(f"nothing came for {PATIENCE_S} s: {ears[0].all[-2000:].decode()}")
            for key, _ in found:
                if not key.fileobj.listen():
                    ready.unregister(key.fileobj)
    return sorted(took for ear in ears for took in ear.took_ms[1:])


def through_pipes(streams, count, interval):
    programs = [subprocess.Popen([sys.executable, AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for _ in range(streams)]
    prompt = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": f"{count} {interval}"}]}}
    for program in programs:
        program.stdin.write(json.dumps(prompt).encode() + b"\n")
        program.stdin.flush()
    times = hear([Ear(program.stdout.fileno(), count) for program in programs])
    for program in programs:
        program.communicate(timeout=PATIENCE_S)
    return times


def make_agent(server):
    body = {"name": "stamping", "agent_type": "acp", "command": ["python3", "-c", AGENT.read_text()],
            "model": {"provider": "offline", "name": "offline"}}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/agents", json.dumps(body).encode(),
                                     {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())["id"]


def begin(server, agent, name, prompt):
    body = json.dumps({"threadId": name, "runId": f"{name}-run", "protocolVersion": "1.0", "state": {}, "tools": [],
                       "context": [], "forwardedProps": {},
                       "messages": [{"id": "user-1", "role": "user", "content": prompt}]})
    caller = socket.create_connection(("127.0.0.1", server.port))
    caller.sendall(f"POST /agui/{agent} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
                   f"Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                   f"{body}".encode())
    return caller


def through_server(server, agent, streams, count, interval):
    callers = [begin(server, agent, f"thread-{streams}-{i}", f"{count} {interval}") for i in range(streams)]
    times = hear([Ear(caller.fileno(), count) for caller in callers])
    for caller in callers:
        caller.close()
    return times


def quantile(times, q):
    return times[int(q * (len(times) - 1))]


def measure(rows, quick):
    count = 100 if quick else 2_000
    server = Sluice("--sandbox.driver", "namespaces")
    server.start()
    try:
        agent = make_agent(server)
        for streams, interval in ((1, 10), (8, 40)):
            each = count // streams
            pipe = through_pipes(streams, each, interval)
            waited = waited_ms_of(server.process.pid)
            ours = through_server(server, agent, streams, each, interval)
            waited = waited_ms_of(server.process.pid) - waited
            programs = "one program" if streams == 1 else f"{streams} programs at once"
            rows.add(f"{programs}, a chunk each {interval} ms: its write to the client's read, p50", "ms",
                     quantile(ours, 0.5), f"a pipe: {show(quantile(pipe, 0.5))}")
            rows.add("… p99", "ms", quantile(ours, 0.99), f"a pipe: {show(quantile(pipe, 0.99))}", at_most=2)
            rows.add("… longest", "ms", ours[-1], f"a pipe: {show(pipe[-1])}")
            rows.add("… mean, and beside it how long the server's threads waited for a processor", "ms",
                     sum(ours) / len(ours), f"waited: {show(waited / len(ours))}")
    finally:
        server.stop()
