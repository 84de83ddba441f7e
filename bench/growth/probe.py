"""What a message and an event cost a server at this moment: processor time, so that a busy machine matters little."""
import json
import subprocess
import time

from contender import say

FEW, MANY = 1, 200  # words of the short and of the long answers
MANY_BY_HAND = 2000  # where few messages must be enough
CONNECTIONS = 16


class Point:
    """The costs at one size."""

    def __init__(self, size, short, long, many, first_event_ms):
        """`short`, `long`: microseconds of processor time for a message of FEW and of `many` words."""
        self.size, self.message_us, self.first_event_ms = size, short, first_event_ms
        self.event_us = (long - short) / (many - FEW)


def by_load(server, size, seconds, **flags):
    """Some connections in a closed loop, each with a conversation of its own."""
    costs, first = [], 0
    for words in (FEW, MANY):
        before = server.cpu_seconds()
        done = subprocess.run(server.load("messages", connections=CONNECTIONS, seconds=seconds, content=f"tokens {words}", **flags),
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"growth: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        if found["failures"]:
            raise SystemExit(f"growth: {found['failures']} messages failed: {done.stderr.strip()}")
        costs.append((server.cpu_seconds() - before) * 1e6 / found["messages"])
        first = first or found["first_event_ms"]["p50"]
    return told(Point(size, *costs, MANY, first))


def by_hand(server, size, send, count):
    """`count` messages one after another: send(words) sends one and waits for its end."""
    costs, first = [], 0
    for words in (FEW, MANY_BY_HAND):
        before, began = server.cpu_seconds(), time.monotonic()
        for _ in range(count):
            send(words)
        costs.append((server.cpu_seconds() - before) * 1e6 / count)
        first = first or (time.monotonic() - began) * 1e3 / count
    return told(Point(size, *costs, MANY_BY_HAND, first))


def told(point):
    say(f"  {point.size:,}: {point.message_us:.0f} µs a message, {point.event_us:.2f} µs an event")
    return point
