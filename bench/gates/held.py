"""Callers who wait for the only slot: how fast a freed slot reaches the next, and what telling places costs.

Runs take 100 ms each; who was served stands in line again. The same with a crowd and with one caller waiting, so that
the difference is what the crowd costs.
"""
import json
import subprocess

from contender import BINARY, Sluice, show

CROWD = BINARY.parent / "bench" / "gates" / "crowd"


def stand_in_line(callers, handovers):
    server = Sluice("--capacity.max_running", "1", "--capacity.max_hold_seconds", "36000")
    server.start()
    try:
        client = subprocess.Popen([CROWD, "--port", str(server.port), "--key", server.key, "--callers", str(callers),
                                   "--handovers", str(handovers), "--content", r"sleep 100\nput x"],
                                  stdout=subprocess.PIPE, text=True)
        ready = client.stdout.readline()
        before = server.cpu_seconds()
        line = client.stdout.readline()
        used = server.cpu_seconds() - before
        if client.wait(10) != 0 or not ready or not line:
            raise SystemExit("the crowd gave up")
        figures = json.loads(line)
        figures["gather_s"], figures["cpu_percent"] = json.loads(ready)["ready"], used / figures["seconds"] * 100
        return figures
    finally:
        server.stop()


def measure(rows, quick):
    held, handovers = (500, 50) if quick else (5_000, 400)
    alone, crowd = stand_in_line(2, handovers), stand_in_line(held + 1, handovers)
    rows.add(f"{held:,} held: end of a run to the next one's `message_start`, p50", "ms", crowd["p50"],
             f"one held: {show(alone['p50'])}")
    rows.add("… p99", "ms", crowd["p99"], f"one held: {show(alone['p99'])}", at_most=5)
    rows.add("… CPU of the server, a slot freed each 100 ms, more than with one held", "% of a core",
             crowd["cpu_percent"] - alone["cpu_percent"],
             f"with {show(crowd['cpu_percent'])}, without {show(alone['cpu_percent'])}", at_most=10)
    rows.add("… places told", "/s", crowd["places_told"] / crowd["seconds"])
    rows.add("… time to accept and hold them", "s", crowd["gather_s"])
