"""Sluice beside what one would take instead: the same job, the same client, one run. See docs/benchmarks.md."""
import json
import statistics
import subprocess
import time

import fates
from contender import say
from peers.fastapi.contender import FastApi
from peers.langgraph.contender import LangGraph
from peers.nginx.contender import Nginx
from peers.node.contender import Node
from peers.opencode.contender import OpenCode
from peers.peer import OurOwn, Unavailable
from peers.sandbox_agent.contender import SandboxAgent

CONTENDERS = (OurOwn, Node, FastApi, LangGraph, SandboxAgent, OpenCode, Nginx)
LOAD_LIMIT = 45  # seconds for one call of the load client
FAULTS = (Exception, SystemExit)  # whatever a peer does, the report is made


class Plan:
    """How much is done. Rounds are left out when time is short; what was measured until then counts."""

    def __init__(self, quick):
        self.rounds = 1 if quick else 3
        self.seconds = 2 if quick else 5
        self.busy = 16 if quick else 64      # connections in a closed loop
        self.streams = 10 if quick else 50   # at a calm pace
        self.held = 50 if quick else 500     # quiet streams
        self.began = time.monotonic()
        self.budget = 240 if quick else 780  # seconds; who would need longer for another round leaves it to others

    def seconds_left(self):
        return self.began + self.budget - time.monotonic()


class Record:
    """All that was found out about one contender."""

    def __init__(self, contender):
        self.contender, self.name, self.note = contender, contender.name, contender.note
        self.version, self.problem, self.fates = "", None, {}
        self.values = {}  # {figure: [of each round, …]}
        self.troubles = []
        self.round_seconds = 20  # what the last one took

    def add(self, figure, value):
        self.values.setdefault(figure, []).append(value)

    def median(self, figure):
        return statistics.median(self.values[figure]) if figure in self.values else None

    def spread(self, figure):
        return min(self.values[figure]), max(self.values[figure])


def load(contender, mode, **flags):
    return contender.load(mode, patience=20, limit=LOAD_LIMIT, **flags)


def run_load(contender, **flags):
    done = subprocess.run(load(contender, "messages", **flags), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(done.stderr.strip()[-200:])
    figures = json.loads(done.stdout)
    if figures["failures"] or not figures["messages"]:
        raise Unavailable(f"{figures['failures']} failures, {figures['messages']} messages: {done.stderr.strip()[-200:]}")
    return figures


def measure_start(contender, record, slots):
    """Until it listens, and until the first message is answered to its end; then what it weighs."""
    began = time.monotonic()
    contender.start(slots)
    record.add("listening_ms", (time.monotonic() - began) * 1e3)
    if contender.remembers:
        contender.begin(contender.create(), "tokens 1").to_the_end().close()
        record.add("first_answer_ms", (time.monotonic() - began) * 1e3)
    time.sleep(1)  # let what the start needed go
    record.add("idle_mib", contender.memory_kib() / 1024)


def measure_busy(contender, record, plan):
    """As many messages as it can carry."""
    before = contender.cpu_of_all()
    found = run_load(contender, connections=plan.busy, seconds=plan.seconds, content="tokens 50")
    record.add("per_second", found["per_second"])
    record.add("cpu_ms_per_1000", (contender.cpu_of_all() - before) * 1e6 / found["messages"])
    record.add("deltas_per_message", found["deltas"] / found["messages"])
    for q in ("p50", "p99"):
        record.add(f"busy_first_event_{q}", found["first_event_ms"][q])


def measure_calm(contender, record, plan):
    """Some streams at ten words a second, as people read them."""
    found = run_load(contender, connections=plan.streams, seconds=plan.seconds, rate=10, ramp_ms=1000, content="tokens 20 10")
    for q in ("p50", "p99"):
        record.add(f"first_event_{q}", found["first_event_ms"][q])
        record.add(f"first_delta_{q}", found["first_delta_ms"][q])
        record.add(f"off_beat_{q}", found["off_beat_ms"][q])


def measure_held(contender, record, plan):
    """Quiet streams, each with a message that is not answered yet."""
    count = min(plan.held, contender.most_held)
    contender.start(count + 8)
    contender.begin(contender.create(), "tokens 1").to_the_end().close()
    time.sleep(1)
    before = contender.anonymous_kib()
    client = subprocess.Popen(load(contender, "hold", connections=count, content="hang"),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = client.stdout.readline()  # the client gives up by itself when nothing comes
        if not line:
            raise Unavailable(f"{count} streams were not held: {client.stderr.read().strip()[-200:]}")
        time.sleep(1)
        record.add("kib_per_stream", (contender.anonymous_kib() - before) / count)
        cpu = contender.cpu_of_all()
        time.sleep(1)
        record.add("held_cpu_percent", (contender.cpu_of_all() - cpu) * 100)
    finally:
        client.kill()
        client.communicate()


def attempt(record, what, part):
    """A part of a round; its failure is a line of the report, and nobody else's."""
    try:
        part()
        return True
    except FAULTS as fault:
        trouble = f"{what}: {fault}"
        say(f"  {record.name}: {trouble}")
        if trouble not in record.troubles:
            record.troubles.append(trouble)
        return False


def measure_round(record, plan):
    contender = record.contender
    try:
        if attempt(record, "start", lambda: measure_start(contender, record, plan.busy)):
            attempt(record, "full load", lambda: measure_busy(contender, record, plan))
            if contender.paced:
                attempt(record, "calm streams", lambda: measure_calm(contender, record, plan))
    finally:
        stop(contender)
    if contender.holds:
        try:
            attempt(record, "streams held", lambda: measure_held(contender, record, plan))
        finally:
            stop(contender)


def stop(contender):
    if contender.process is not None:
        contender.stop()
        contender.process = None


def install(record):
    try:
        record.contender.install()
        record.version = record.contender.version()
        record.add("install_mib", record.contender.installed_bytes() / 2**20)
    except FAULTS as fault:
        record.problem = str(fault)
        say(f"bench: {record.name} cannot be had: {fault}")


def records_of(wanted):
    """A Record for each contender whose name contains one of `wanted` (all, if nobody is named), installed if it can be."""
    chosen = [kind for kind in CONTENDERS if not wanted or any(word.lower() in kind.name.lower() for word in wanted)]
    records = [Record(kind()) for kind in chosen]
    for record in records:
        install(record)
    return records


def measure(records, plan):
    """Fates first: they take as long as they take. Then rounds, as many as the time allows."""
    present = [record for record in records if record.problem is None]
    for record in present:
        if record.contender.remembers:
            record.fates = fates.of(record.contender)
    for index in range(plan.rounds):
        for record in present[index:] + present[:index]:  # who goes first changes
            if plan.seconds_left() < record.round_seconds:
                say(f"  {record.name}: no time for round {index + 1}")
                continue
            say(f"  {record.name}, round {index + 1} of {plan.rounds}")
            began = time.monotonic()
            measure_round(record, plan)
            record.round_seconds = time.monotonic() - began
