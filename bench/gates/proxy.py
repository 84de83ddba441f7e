"""The way out of a box beside the direct way, and beside nginx as a hop: latency, throughput, certificates.

One client for all: this process, a blocking socket. Rounds alternate. The proxy runs alone (bench/gates/outlet.cc),
on a port of this machine instead of inside a box.
"""
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import time

from contender import BINARY, cpu_seconds_of, say, scratch_directory, show
from gates.origin import BODY_MIB, SECRET, Origin

OUTLET = BINARY.parent / "bench" / "gates" / "outlet"
HOST = "h0.bench.test"


class Outlet:
    """The proxy, as a process."""

    def __init__(self, origin, name, hosts, *flags):
        self.ca_dir = origin.home / name
        self.ca_dir.mkdir(mode=0o700)
        self.process = subprocess.Popen(
            [OUTLET, "--ca-dir", self.ca_dir, "--upstream-ca", origin.home / "cert.pem", "--hosts", str(hosts), *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the outlet did not start")
        self.port = int(line)

    def figures(self):
        self.process.stdin.write("?")
        self.process.stdin.flush()
        return "".join(iter(self.process.stdout.readline, "\n"))

    def cpu_seconds(self):
        return cpu_seconds_of(self.process.pid)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Way:
    """A kept-alive connection to the origin, by some way."""

    def __init__(self, port, trust=None, through=None, host=HOST, absolute=False):
        """`through`: a CONNECT to this port first; `absolute`: `port` is a proxy that is asked for this origin port."""
        self.authority = f"{host}:{port}"
        self.prefix = f"http://{self.authority}" if absolute else ""
        self.socket = socket.create_connection(("127.0.0.1", through or port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = memoryview(bytearray(1 << 18))
        if through and not absolute:
            self.socket.sendall(f"CONNECT {self.authority} HTTP/1.1\r\nHost: {self.authority}\r\n\r\n".encode())
            answer = self.head()[0]
            if b" 200 " not in answer.split(b"\r\n")[0] + b" ":
                raise SystemExit(f"CONNECT was answered {answer!r}")
        if trust:
            context = ssl.create_default_context(cafile=trust)
            self.socket = context.wrap_socket(self.socket, server_hostname=host)

    def head(self):
        """The head, and what came behind it."""
        got = b""
        while b"\r\n\r\n" not in got:
            count = self.socket.recv_into(self.buffer)
            if count == 0:
                raise SystemExit(f"closed after {got!r}")
            got += self.buffer[:count]
        return got.split(b"\r\n\r\n", 1)

    def get(self, path, headers=""):
        """Asks, reads the whole answer, gives the bytes of its body (as they are framed)."""
        self.socket.sendall(f"GET {self.prefix}{path} HTTP/1.1\r\nHost: {self.authority}\r\n{headers}\r\n".encode())
        head, rest = self.head()
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{path} was answered {head!r} {rest!r}")
        length = re.search(rb"(?i)content-length:\s*(\d+)", head)
        got, tail = len(rest), rest[-5:]
        while got < int(length[1]) if length else tail != b"0\r\n\r\n":
            count = self.socket.recv_into(self.buffer)
            if count == 0:
                raise SystemExit("closed in the middle of a body")
            got += count
            tail = (tail + bytes(self.buffer[max(0, count - 5):count]))[-5:]
        return got

    def close(self):
        self.socket.close()


class Scene:
    """Everything that is measured against everything else."""

    def __init__(self, quick):
        self.home, self.quick, self.hosts = scratch_directory(), quick, 20 if quick else 200
        self.origin = Origin(self.home, 64 if quick else BODY_MIB)
        self.bare = Outlet(self.origin, "bare", 1)
        self.guarded = Outlet(self.origin, "guarded", self.hosts, "--secret", SECRET)

    def ways(self):
        """{name: a connection made anew}."""
        origin, theirs, ours = self.origin, self.home / "cert.pem", self.guarded.ca_dir / "ca.pem"
        return {
            "plain, direct": lambda: Way(origin.plain),
            "plain, nginx": lambda: Way(origin.hop_plain),
            "plain, Sluice": lambda: Way(origin.plain, through=self.bare.port, absolute=True),
            "plain, Sluice, scrubbing": lambda: Way(origin.plain, through=self.guarded.port, absolute=True),
            "TLS, direct": lambda: Way(origin.tls, trust=theirs),
            "TLS, nginx": lambda: Way(origin.hop_tls, trust=theirs),
            "TLS, Sluice, blind": lambda: Way(origin.tls, trust=theirs, through=self.bare.port),
            "TLS, Sluice": lambda: Way(origin.tls, trust=ours, through=self.guarded.port),
        }

    def hop_cpu_seconds(self, name):
        if "nginx" in name:
            return self.origin.hop_cpu_seconds()
        return self.bare.cpu_seconds() + self.guarded.cpu_seconds()

    def stop(self):
        self.bare.stop()
        self.guarded.stop()
        self.origin.stop()
        shutil.rmtree(self.home)


def question_of(name):
    """What is asked by this way: over TLS, with the secret."""
    if not name.startswith("TLS"):
        return "/small", ""
    value = "{{secret:BENCH_KEY}}" if name == "TLS, Sluice" else SECRET
    return "/secret", f"Authorization: Bearer {value}\r\n"


def latencies(scene):
    """{way: p50 in ms}: the ways take turns, a few requests each."""
    rounds, each = (5, 50) if scene.quick else (40, 100)
    ways = {name: make() for name, make in scene.ways().items()}
    times = {name: [] for name in ways}
    for index in range(rounds + 1):
        for name, way in ways.items():
            question = question_of(name)
            for _ in range(each):
                began = time.perf_counter()
                way.get(*question)
                if index > 0:  # the first round warms up
                    times[name].append((time.perf_counter() - began) * 1e3)
    for way in ways.values():
        way.close()
    return {name: statistics.median(values) for name, values in times.items()}


def throughputs(scene):
    """{way: MiB/s}, {way: CPU milliseconds of the hop for a GiB}: medians."""
    rounds, size = (1, 64) if scene.quick else (3, BODY_MIB)
    speeds, costs = {}, {}
    for _ in range(rounds):
        for name, make in scene.ways().items():
            way, before = make(), scene.hop_cpu_seconds(name)
            began = time.perf_counter()
            if way.get("/body") < size << 20:
                raise SystemExit(f"{name}: the body is too short")
            seconds = time.perf_counter() - began
            way.close()
            speeds.setdefault(name, []).append(size / seconds)
            costs.setdefault(name, []).append((scene.hop_cpu_seconds(name) - before) * 1e3 * 1024 / size)
    return ({n: statistics.median(v) for n, v in speeds.items()}, {n: statistics.median(v) for n, v in costs.items()})


def first_and_second(scene):
    """Milliseconds from CONNECT to the end of the handshake, to hosts that were never asked, and to the same again."""
    trust, rounds = scene.guarded.ca_dir / "ca.pem", ([], [])
    for times in rounds:
        for number in range(1, scene.hosts + 1):
            began = time.perf_counter()
            way = Way(scene.origin.tls, trust=trust, through=scene.guarded.port, host=f"h{number}.bench.test")
            times.append((time.perf_counter() - began) * 1e3)
            way.close()
    return rounds


def minted(scene):
    """Mean milliseconds, how many, and how many of them within 5 ms, by the proxy's own figures."""
    text = scene.guarded.figures()

    def figure(suffix):
        return float(re.search(rf"^sluice_egress_leaf_mint_seconds_{re.escape(suffix)} (\S+)$", text, re.M)[1])

    count = figure("count")
    return figure("sum") / count * 1e3, int(count), int(figure('bucket{le="0.005"}'))


def measure(rows, quick):
    scene = Scene(quick)
    try:
        say("  latency")
        p50 = latencies(scene)
        for kind, ours in (("plain", "plain, Sluice"), ("TLS with a secret put in", "TLS, Sluice")):
            mode = kind.split()[0]
            direct, hop = p50[f"{mode}, direct"], p50[f"{mode}, nginx"]
            rows.add(f"small GET, kept alive, {kind}: p50 above direct", "ms", p50[ours] - direct,
                     f"direct {show(direct)}; nginx's hop above it {show(hop - direct)}", at_most=1)
        say("  throughput")
        speeds, costs = throughputs(scene)
        for ours in ("plain, Sluice", "plain, Sluice, scrubbing", "TLS, Sluice, blind", "TLS, Sluice"):
            mode = ours.split(",")[0]
            hop = f"{mode}, nginx"
            what = ours.replace(", Sluice", "") + ("" if "blind" in ours or mode == "plain" else ", looked into, scrubbing")
            rows.add(f"streamed body, {what}", "MiB/s", speeds[ours],
                     f"direct {show(speeds[f'{mode}, direct'])}; nginx's hop {show(speeds[hop])}")
            rows.add("… of nginx's", "×", speeds[ours] / speeds[hop], at_least=0.5)
            rows.add("… CPU of the hop for a GiB", "ms", costs[ours], f"nginx {show(costs[hop])}")
        say("  certificates")
        first, second = first_and_second(scene)
        mean, count, within = minted(scene)
        rows.add(f"a leaf certificate, mean of {count}", "ms", mean, f"{within} of {count} within 5 ms", at_most=5)
        rows.add("CONNECT to the end of the handshake, first for a host, p50", "ms", statistics.median(first),
                 f"again: {show(statistics.median(second))}")
    finally:
        scene.stop()
