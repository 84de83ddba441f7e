"""Slow streams: what one delta costs that comes, is written and is told by itself."""
import subprocess

from scale.cluster import OnPostgres, OnSqlite

PER_SECOND = 5


def paced(rows, server, count, seconds):
    server.start()
    try:
        before = server.cpu_seconds(), server.database_cpu_seconds()
        subprocess.run(server.load("paced", connections=count, content=f"tokens {PER_SECOND * seconds} {PER_SECOND}"),
                       check=True, stdout=subprocess.DEVNULL, timeout=120)
        after = server.cpu_seconds(), server.database_cpu_seconds()
        own, database = ((last - first) * 1e6 / (count * PER_SECOND * seconds) for first, last in zip(before, after))
    finally:
        server.stop()
    rows.add(f"CPU for a delta of {count:,} streams at {PER_SECOND} a second, {server.name}", "µs", own,
             f"and {database:.0f} µs of the database" if database else "–")


def measure(rows, quick):
    count, seconds = (100, 4) if quick else (2000, 10)
    for make in (OnSqlite, OnPostgres):
        paced(rows, make(), count, seconds)
