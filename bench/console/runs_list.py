"""The list of a tenant with 100,000 runs, page by page, with every filter of its own."""
import http.client
import json
import os
import random
import sqlite3
import time

from contender import Sluice

RUNS = 100_000
P95_MS_MAX = 50
STATES = ("completed",) * 90 + ("failed",) * 8 + ("cancelled",) * 2


class Lister:
    """One connection that asks for pages and takes the time."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port)
        self.headers = {"Authorization": f"Bearer {server.key}"}

    def get(self, path):
        self.connection.request("GET", path, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {body[:300]!r}")
        return json.loads(body)

    def post(self, path, body):
        self.connection.request("POST", path, json.dumps(body), self.headers | {"Content-Type": "application/json"})
        return json.loads(self.connection.getresponse().read())


def multiply(database, count):
    """Makes many runs of the one that is there, over 30 days, half of them another agent's."""
    connection = sqlite3.connect(database)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
    first = dict(zip(columns, connection.execute("SELECT * FROM runs LIMIT 1").fetchone()))
    chance, other_agent = random.Random(7), os.urandom(16)
    step = 30 * 86_400_000 // count

    def rows():
        for number in range(1, count):
            created = first["created_at"] - step * (count - number)
            run = first | {"number": first["number"] + number, "id": chance.randbytes(16), "created_at": created,
                           "ended_at": created + 900, "state": chance.choice(STATES), "journal_rows": None}
            if number % 2:
                run["agent_id"] = other_agent
            yield [run[column] for column in columns]

    marks = ",".join("?" * len(columns))
    connection.executemany(f"INSERT INTO runs VALUES ({marks})", rows())
    connection.commit()
    connection.close()


def page_through(lister, query, rounds):
    """Milliseconds of each page, from the newest on."""
    taken, cursor = [], None
    for _ in range(rounds):
        path = f"/v1/runs?limit=50&{query}" + (f"&starting_after={cursor}" if cursor else "")
        began = time.perf_counter()
        page = lister.get(path)
        taken.append((time.perf_counter() - began) * 1000)
        cursor = page["next_cursor"]
    return sorted(taken)


def measure(rows, quick):
    server = Sluice()
    server.start()
    try:
        lister = Lister(server)
        conversation = lister.post("/v1/conversations", {})["id"]
        lister.post(f"/v1/conversations/{conversation}/messages?stream=false", {"content": "say one"})
        run = lister.get("/v1/runs")["data"][0]
        server.kill()
        multiply(server.home / "data" / "sluice.db", RUNS)
        server.launch()
        lister = Lister(server)
        empty = lister.get("/v1/runs?limit=1&created_before=2000-01-01T00:00:00Z")
        assert empty["data"] == []
        day = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() - 15 * 86_400))
        queries = {"all": "", "state=failed": "state=failed", "three states": "state=failed,cancelled,streaming",
                   "one agent": f"agent_id={run['agent_id']}",
                   "agent and state": f"agent_id={run['agent_id']}&state=cancelled",
                   "before a day": f"created_before={day}", "after a day, failed": f"created_after={day}&state=failed",
                   "the completed of an agent that has none": f"agent_id=agt_{'0' * 25}1&state=completed"}
        for name, query in queries.items():
            taken = page_through(lister, query, 100 if quick else 400)
            rows.add(f"page of 50 of {RUNS:,} runs, {name}", "ms p95", taken[len(taken) * 95 // 100],
                     at_most=P95_MS_MAX)
    finally:
        server.stop()
