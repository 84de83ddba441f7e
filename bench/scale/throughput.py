"""Messages per second: SQLite beside PostgreSQL, one node beside two, and with every event on disk."""
import json
import statistics
import subprocess

from contender import say, show
from scale.cluster import OnPostgres, OnSqlite

MESSAGE = "tokens 50"
EVENTS = 52  # of such a message: its start, its deltas, its end


def run_loads(servers, connections, seconds):
    """The same load, spread over servers; messages per second in all."""
    clients = [subprocess.Popen(server.load("messages", connections=connections // len(servers), seconds=seconds,
                                            content=MESSAGE), stdout=subprocess.PIPE, text=True) for server in servers]
    total = 0
    for client in clients:
        figures = json.loads(client.communicate(timeout=180)[0])
        if figures["failures"]:
            raise SystemExit(f"scale: {figures['failures']} messages failed")
        total += figures["per_second"]
    return total


def once(servers, seconds):
    for server in servers:
        server.start()
    try:
        run_loads(servers, 16, 1)  # what is prepared once is prepared
        return run_loads(servers, 64, seconds)
    finally:
        for server in reversed(servers):
            server.stop()


def costs(rows, seconds):
    """What one message takes of everybody, for docs/scaling.md."""
    server = OnPostgres()
    server.start()
    try:
        run_loads([server], 16, 1)
        before = server.cpu_seconds(), server.database_cpu_seconds(), server.log_bytes(), server.kept_bytes()
        messages = run_loads([server], 64, seconds) * seconds
        after = server.cpu_seconds(), server.database_cpu_seconds(), server.log_bytes(), server.kept_bytes()
    finally:
        server.stop()
    own, database, log, kept = ((last - first) / messages for first, last in zip(before, after))
    rows.add("CPU of the server for 1,000 messages on PostgreSQL", "ms", own * 1e6)
    rows.add("… of PostgreSQL for them", "ms", database * 1e6)
    rows.add("… written ahead by PostgreSQL for each", "KiB", log / 1024)
    rows.add("… kept in the database for each, journals not yet sealed", "KiB", kept / 1024)


def two_nodes():
    first = OnPostgres()
    return [first, OnPostgres(beside=first)]


def measure(rows, quick):
    rounds, seconds = (1, 2) if quick else (5, 6)
    setups = {"SQLite": lambda: [OnSqlite()], "PostgreSQL": lambda: [OnPostgres()], "two nodes": two_nodes,
              "SQLite, strict": lambda: [OnSqlite("--store.durability", "strict")]}
    results = {name: [] for name in setups}
    for index in range(rounds):
        for name, make in setups.items() if index % 2 == 0 else reversed(setups.items()):
            say(f"  {name}, round {index + 1} of {rounds}")
            results[name].append(once(make(), seconds))
    median = {name: statistics.median(values) for name, values in results.items()}
    spread = {name: f"{name} {show(median[name])} ({show(min(v))}–{show(max(v))}) /s" for name, v in results.items()}
    rows.add("messages on PostgreSQL beside SQLite, one server, 64 connections, 50 deltas each", "×",
             median["PostgreSQL"] / median["SQLite"], f"{spread['SQLite']}; {spread['PostgreSQL']}", at_least=0.4)
    rows.add("messages of two nodes beside one, on the same cores", "×", median["two nodes"] / median["PostgreSQL"],
             spread["two nodes"], at_least=1.0)
    costs(rows, seconds)
    rows.add("events with every one on disk before it is told, PostgreSQL", "/s", median["PostgreSQL"] * EVENTS)
    rows.add("… SQLite with store.durability strict", "/s", median["SQLite, strict"] * EVENTS, spread["SQLite, strict"])
