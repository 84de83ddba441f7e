"""Runs that wait for a human: what each weighs, how fast one goes on, how fast a server finds them all again.

The server's memory holds pages of its database (up to 64 MiB for the writer and 16 MiB for each reader) that have
nothing to do with parking; so these caches are filled first, with other messages. What is weighed is anonymous memory:
mapped files can be dropped. Once while the server lives, and once as a fresh process on the same directory whose caches
were filled again: there, what the allocator kept from the traffic of parking is out of the picture. Callers leave by a
reset, which the server sees at once; what becomes of those who merely close is counted apart.
"""
import base64
import concurrent.futures
import hashlib
import hmac
import http.client
import json
import os
import socket
import struct
import time

from contender import Sluice, memory_kib_of, say, show

AT_ONCE = 8
FILLING = "put " + "x" * 60_000  # a delta, and the message that it ends in
CACHE_BYTES = (64 + 2 * 16) << 20


class Caller:
    """A connection to the server that stays."""

    def __init__(self, server):
        self.server, self.connection = server, http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def send(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body),
                                {"Authorization": f"Bearer {self.server.key}", "Content-Type": "application/json"})

    def answer(self):
        answer = self.connection.getresponse()
        if answer.status not in (200, 201):
            raise SystemExit(f"the server answered {answer.status}: {answer.read()[:500]}")
        return answer

    def open(self, method, path, body=None):
        self.send(method, path, body)
        return self.answer()

    def ask(self, method, path, body=None):
        return json.loads(self.open(method, path, body).read())

    def close(self):
        self.connection.close()

    def reset(self):
        self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def events(answer):
    while line := answer.readline():
        yield json.loads(line)


def until(answer, kind):
    for event in events(answer):
        if event["type"] == kind:
            return event
    raise SystemExit(f"the stream ended without {kind}")


def fill_caches(server, count):
    """Ordinary messages that write as much as the caches hold; and their history is read."""
    caller = Caller(server)
    for _ in range(count):
        *_, last = events(caller.open("POST", "/v1/conversations", {"initial_message": {"content": FILLING}}))
        caller.ask("GET", f"/v1/conversations/{last['conversation_id']}/messages")
    caller.close()


def park(server, count, leave=Caller.reset):
    """[(approval, message), …] of runs whose callers have left."""
    def one(_):
        caller = Caller(server)
        answer = caller.open("POST", "/v1/conversations", {"initial_message": {"content": "ask go on?"}})
        asked = until(answer, "approval_required")["data"]
        leave(caller)
        return asked["id"], asked["message_id"]

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(count)))


def decision(approver, approval):
    exp = int(time.time()) + 120
    payload = json.dumps({"approval_id": approval, "decision": "approve", "exp": exp}, separators=(",", ":"))
    value = hmac.new(approver["secret"].encode(), payload.encode(), hashlib.sha256).digest()
    return {"signature": {"key_id": approver["key_id"], "algorithm": "hmac-sha256", "exp": exp,
                          "value": base64.urlsafe_b64encode(value).rstrip(b"=").decode()}}


def attach(server, message):
    reader = Caller(server)
    stream = reader.open("GET", f"/v1/messages/{message}/events")
    until(stream, "approval_required")
    return reader, stream


def wake(server, asked):
    """Milliseconds from sending each approval to its reader's `resumed`, one after another, all readers attached."""
    approver, decider, times = server.bootstrap()["approver_key"], Caller(server), []
    readers = [attach(server, message) for _, message in asked]
    for (approval, _), (reader, stream) in zip(asked, readers):
        body = decision(approver, approval)
        began = time.monotonic()
        decider.send("POST", f"/v1/approvals/{approval}/approve", body)
        until(stream, "resumed")
        times.append((time.monotonic() - began) * 1e3)
        decider.answer().read()
        until(stream, "message_end")
        reader.close()
    decider.close()
    return sorted(times)


def restart(server, parked):
    """Seconds until the server that was killed listens again and knows its parked runs."""
    server.kill()
    began = time.monotonic()
    server.launch()
    caller = Caller(server)
    known = caller.ask("GET", "/v1/capacity")["parked"]
    seconds = time.monotonic() - began
    caller.close()
    if known != parked:
        raise SystemExit(f"{known} parked runs after a restart instead of {parked}")
    return seconds


def connections_left(server, callers):
    """How many connections are open two seconds after this many callers closed theirs."""
    descriptors = f"/proc/{server.process.pid}/fd"
    before = len(os.listdir(descriptors))
    park(server, callers, Caller.close)
    time.sleep(2)
    return max(0, len(os.listdir(descriptors)) - before)


def measure(rows, quick):
    count, readers, fillings = (500, 50, 40) if quick else (10_000, 500, CACHE_BYTES // len(FILLING) // 2)
    server = Sluice()
    server.start()
    try:
        say("  filling the caches of the database")
        fill_caches(server, fillings)
        empty_s = restart(server, 0)
        fill_caches(server, fillings)
        before_kib, before_rss = memory_kib_of(server.process.pid, "RssAnon"), server.rss_kib()
        say(f"  parking {count:,} runs")
        began = time.monotonic()
        asked = park(server, count)
        seconds = time.monotonic() - began
        after_kib, after_rss = memory_kib_of(server.process.pid, "RssAnon"), server.rss_kib()
        rows.add(f"{count:,} parked runs: memory of each", "KiB", (after_kib - before_kib) / count,
                 f"with mapped files: {show((after_rss - before_rss) / count)}", at_most=4)
        rows.add("… parked a second", "/s", count / seconds)
        parked_s = restart(server, count)
        fill_caches(server, fillings)
        again_kib = memory_kib_of(server.process.pid, "RssAnon")
        rows.add("… memory of each after a restart", "KiB", (again_kib - before_kib) / count, at_most=4)
        rows.add("… killed, until it listens and knows them", "s", parked_s, f"none parked: {show(empty_s)}")
        say("  waking")
        times = wake(server, asked[:readers])
        rows.add(f"approval sent to `resumed` received, {readers} times, p50", "ms", times[len(times) // 2])
        rows.add("… p99", "ms", times[int(0.99 * (len(times) - 1))], at_most=20)
        rows.add("100 callers of parked runs close: connections still open after 2 s", "", connections_left(server, 100),
                 at_most=0)
    finally:
        server.stop()
