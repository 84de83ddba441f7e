"""Floors: what Sluice's steps take beside the least that the machine takes for the same, in processor time.

The steps are those whose instructions tests/cost counts, by the same program; the whole of a message and of an event is
seen on a server under load.
"""
import json
import os
import resource
import subprocess

from contender import BINARY, Sluice, say, show
from growth import probe

FLOORS = BINARY.parent / "bench" / "floors" / "floors"
COST = BINARY.parent / "tests" / "cost" / "cost"
STEPS = (  # what, as tests/cost names it, times, the floor's name, the floor in words
    ("request body of 105 bytes, parsed", "parse_json", 1_000_000, "parse", "simdjson, its parser kept"),
    ("event of 150 bytes, written as JSON", "write_json", 4_000_000, "copy", "memcpy of as many bytes"),
    ("delta, folded into NDJSON", "fold_ndjson", 4_000_000, "copy", "memcpy of as many bytes"),
    ("delta, appended to a journal by itself", "append", 20_000, "insert", "one insert in a transaction of SQLite"),
)


def cpu_us(what, times):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([COST, what, str(times)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e6


def one_of(what, times):
    """Often enough for the start of the program to be nothing; the least of three, which neighbours disturbed least."""
    return min(cpu_us(what, times) for _ in range(3)) / times


def rows_of(floors, steps, message, event):
    """[what, Sluice, floor, the floor in words]"""
    rows = []
    for what, name, _, floor, words in STEPS:
        rows.append([what, steps[name], floors[floor], words])
    rows.append(["event among others, everything", event, None, "it shares its write and its send with others"])
    least = 3 * floors["wake_and_send"] + 2 * (floors["insert"] + floors["write_and_sync"])
    rows.append(["message of one word, everything", message, least, "three wakes and sends, two inserts, two syncs"])
    rows.append(["woken, and 160 bytes sent over loopback", None, floors["wake_and_send"], "epoll_wait, read, send"])
    rows.append(["two pages written and on disk", None, floors["write_and_sync"],
                 f"pwrite, fdatasync; {show(floors['write_and_sync_wall'])} µs until it returns"])
    rows.append(["a process", None, floors["fork_and_exec"], "posix_spawn of /bin/true, and its end"])
    return rows


def measure(quick, _wanted):
    say("bench: floors")
    rounds = 2 if quick else 10
    floors = json.loads(subprocess.run([FLOORS, "--rounds", str(rounds)], stdout=subprocess.PIPE, text=True, check=True).stdout)
    steps = {name: one_of(name, times // (10 if quick else 1)) for _, name, times, _, _ in STEPS}
    server = Sluice()
    server.start()
    try:
        point = probe.by_load(server, 1, 2 if quick else 5)
    finally:
        server.stop()
    lines = ["| what | Sluice, µs | floor, µs | ratio | the floor is |", "|---|---|---|---|---|"]
    for what, own, floor, words in rows_of(floors, steps, point.message_us, point.event_us):
        ratio = f"{own / floor:.1f} ×" if own and floor else "–"
        cells = [f"{value:.3f}" if value and value < 1 else show(value) if value else "–" for value in (own, floor)]
        lines.append(f"| {what} | {cells[0]} | {cells[1]} | {ratio} | {words} |")
    return f"Load {os.getloadavg()[0]:.1f}.\n\n" + "\n".join(lines) + "\n"
