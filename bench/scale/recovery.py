"""What the death of a server costs: until another goes on, and until the next start is done."""
import json
import statistics
import subprocess
import time
import urllib.request

from scale.cluster import OnPostgres, OnSqlite


def hold(server, count, content):
    """`count` runs under way, their readers gone again."""
    client = subprocess.Popen(server.load("hold", connections=count, content=content), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    if not client.stdout.readline():
        raise SystemExit("scale: the runs could not be opened")
    return client


def let_go(client):
    client.stdin.close()
    client.wait(30)
    client.stdout.close()


def first_line_after_death(server, other):
    """From the kill to the next line of a run that the dead one carried, read through the other."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/conversations", method="POST",
                                     data=json.dumps({"initial_message": {"content": "tokens 20000 5"}}).encode(),
                                     headers={"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        message = json.loads(answer.readline())["message_id"]
        read = urllib.request.Request(f"http://127.0.0.1:{other.port}/v1/messages/{message}/events",
                                      headers={"Authorization": f"Bearer {server.key}"})
        with urllib.request.urlopen(read, timeout=60) as lines:
            lines.readline()
            server.kill()
            killed = time.monotonic()
            # Lines that were on the way come at once; what comes after a silence was written by the other.
            last = killed
            while True:
                if not lines.readline():
                    raise SystemExit("scale: the stream ended with its node")
                now = time.monotonic()
                if now - last > 0.5:
                    return now - killed
                last = now


def takeover(rows, quick):
    seconds = []
    for _ in range(1 if quick else 5):
        other = OnPostgres()
        other.start()
        server = OnPostgres(beside=other)
        try:
            server.start()
            seconds.append(first_line_after_death(server, other))
        finally:
            other.stop()
    rows.add("a node dies: its run's next line, read through another node", "s", statistics.median(seconds),
             f"{min(seconds):.2f}–{max(seconds):.2f} s; a beat is 0.5 s, three missing ones are a death", at_most=3.5)


def restart(rows, quick):
    count = 200 if quick else 1000
    for make in (OnSqlite, OnPostgres):
        server = make()
        server.start()
        try:
            client = hold(server, count, "hang")
            server.kill()
            let_go(client)
            began = time.monotonic()
            server.launch()
            ready = time.monotonic() - began
            rows.add(f"start with {count} unfinished runs, {server.name}", "ms per 1,000", ready * 1000 * 1000 / count,
                     "start of the process included")
        finally:
            server.stop()


def measure(rows, quick):
    takeover(rows, quick)
    restart(rows, quick)
