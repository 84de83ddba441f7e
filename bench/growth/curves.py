"""The dimensions along which a server grows. Each gives a Point for each size."""
import contextlib
import http.client
import json
import sqlite3
import subprocess
import tempfile
import time

from contender import Sluice
from growth.probe import by_hand, by_load


class Caller:
    """One connection that asks and waits."""

    def __init__(self, server, key=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.headers = {"Authorization": f"Bearer {key or server.key}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"growth: {method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)


@contextlib.contextmanager
def serving():
    server = Sluice("--capacity.max_running", "200000")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def holding(server, count, content):
    """So many streams are open whose answer does not come."""
    client = subprocess.Popen(server.load("hold", connections=count, content=content), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        if not client.stdout.readline():
            raise SystemExit(f"growth: {count} streams were not held")
        yield
    finally:
        client.kill()
        client.communicate()


def streams(sizes, seconds):
    for size in sizes:
        with serving() as server, holding(server, size, "hang"):
            yield by_load(server, size, seconds)


def length(sizes, seconds):
    """One conversation that gets longer; each next message is measured in it."""
    with serving() as server:
        caller = Caller(server)
        path = f"/v1/conversations/{caller.ask('POST', '/v1/conversations', {})['id']}/messages?stream=false"
        sent = 0

        def send(words):
            nonlocal sent
            caller.ask("POST", path, {"content": f"tokens {words}"})
            sent += 1
        for size in sizes:
            while sent * 2 < size:  # an answer is a message, too
                send(1)
            yield by_hand(server, size, send, 25 * seconds)


def fill(database, count):
    """Makes `count` runs of the one that is there, each with its conversation, messages and sealed journal."""
    connection = sqlite3.connect(database)
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")

    def copies(table, where, changes, times=1):
        """Of one row; `number` and `id` grow as the server's do, `i` counts."""
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        base = connection.execute(f"SELECT max(number) FROM {table}").fetchone()[0]
        values = {"number": f"{base} + i", "id": f"CAST(printf('%016d', {base} + i) AS BLOB)"} | changes
        connection.execute(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {(count - 1) * times}) "
            f"INSERT INTO {table} SELECT {', '.join(values.get(c, 'first.' + c) for c in columns)} "
            f"FROM n, (SELECT * FROM {table} WHERE {where} LIMIT 1) AS first")
    copies("conversations", "number = 1", {})
    copies("messages", "run IS NOT NULL", {"conversation": "1 + (i + 1) / 2", "run": "1 + (i + 1) / 2"}, 2)
    copies("runs", "number = 1", {"conversation": "1 + i", "journal_rows": "NULL"})
    connection.execute("INSERT INTO sealed_journals (run, last, batch_zstd) SELECT number, 5, zeroblob(200) FROM runs WHERE number > 1")
    connection.commit()
    connection.close()


def stored(sizes, seconds):
    for size in sizes:
        with serving() as server:
            caller = Caller(server)
            conversation = caller.ask("POST", "/v1/conversations", {})["id"]
            caller.ask("POST", f"/v1/conversations/{conversation}/messages?stream=false", {"content": "tokens 1"})
            server.kill()
            fill(server.home / "data" / "sluice.db", size)
            server.launch()
            yield by_load(server, size, seconds)


def parked(sizes, seconds):
    """Runs that wait for a human, their callers gone."""
    at_once = 5000
    with serving() as server:
        have = 0
        for size in sizes:
            while have < size:
                count = min(at_once, size - have)
                with holding(server, count, "ask go on?"):
                    have += count
                    wait_for_parked(server, have)
            yield by_load(server, size, seconds)


def wait_for_parked(server, count):
    caller, deadline = Caller(server), time.monotonic() + 120
    while caller.ask("GET", "/v1/capacity")["parked"] < count:
        if time.monotonic() > deadline:
            raise SystemExit(f"growth: {count} runs did not park")
        time.sleep(0.1)


def tenants(sizes, seconds):
    """So many tenants, each with a key; the callers are spread over them."""
    with serving() as server, tempfile.NamedTemporaryFile("w") as file:
        admin = Caller(server, server.bootstrap()["admin_key"])
        have = 0
        for size in sizes:
            for number in range(have, size):
                tenant = admin.ask("POST", "/v1/tenants", {"name": f"tenant {number}"})["id"]
                file.write(admin.ask("POST", f"/v1/tenants/{tenant}/keys", {"name": "growth"})["secret"] + "\n")
            file.flush()
            have = size
            yield by_load(server, size, seconds, keys=file.name)
