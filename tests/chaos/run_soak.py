"""Many callers for a while, seen from outside: memory, descriptors, queues, and how long a caller waits meanwhile.

    run_soak.py [--minutes N] [--streams N] [--slow N] [--rate N]

--streams runs are open and wait, --slow readers take a kilobyte now and then of an answer of megabytes, --rate
conversations a second are begun and dropped, and a probe asks something every second. The exit status is 1 if memory
grows after the warm-up, a queue does, descriptors stay open, or anybody was left waiting instead of being told to come
back later.
"""
import argparse
import os
import pathlib
import random
import resource
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "process"))

from crowd import Crowd, Visitor  # noqa: E402
from http_client import PATIENCE_S  # noqa: E402
from server_process import Server, is_sanitized, wait_until  # noqa: E402

MEBI = 1 << 20
ANSWER_S = PATIENCE_S / 3  # whoever waited longer for any answer was left waiting
LONG = "tokens 20000"  # an answer of a few megabytes of events
PARKED = 'call request_approval {"reason":"Wait.","expires_in_seconds":86400}'
QUEUES = ("sluice_store_queue_length", "sluice_runs_held")


class Tally:
    def __init__(self):
        self.opened = self.begun = self.refused = self.slow_bytes = self.cut_off = 0
        self.waits = []       # of the probe, in seconds
        self.violations = []

    def complain(self, what):
        self.violations.append(what)
        if len(self.violations) <= 20:
            print(f"soak: VIOLATION {what}", flush=True)

    def judge(self, visitor, wanted):
        """Of an answer's head. What is refused says when to come back."""
        status = visitor.status()
        if status in (429, 503):
            self.refused += 1
            if b"\r\nretry-after:" not in visitor.head.lower():
                self.complain(f"refused without Retry-After: {visitor.head[:300]!r}")
        elif status != wanted:
            self.complain(f"answered with {visitor.head[:300]!r}")
        return status == wanted


class Patient(Visitor):
    """Must be answered in time, whatever the answer."""

    def __init__(self, request, tally, wanted=200):
        super().__init__(request)
        self.tally, self.wanted, self.answered = tally, wanted, False

    def on_bytes(self, crowd, data):
        if self.answered:
            return self.on_body(crowd, data)
        if self.take_head(data):
            self.answered = True
            if self.tally.judge(self, self.wanted):
                return self.on_body(crowd, b"")
            return crowd.leave(self)
        if not data:
            self.tally.complain(f"no answer but {self.head[:200]!r} after {time.monotonic() - self.began:.1f} s")
        return None

    def on_time(self, crowd):
        if not self.answered:
            self.tally.complain(f"{type(self).__name__}: not answered within {ANSWER_S:.0f} s")
            crowd.leave(self)

    def on_body(self, crowd, data):
        """More of it."""


class Holder(Patient):
    """Opens a stream and stays."""

    def on_body(self, crowd, data):
        if not data:
            self.tally.opened += 1


class Passer(Patient):
    """Begins a conversation and leaves, sometimes before it is answered."""

    def on_body(self, crowd, data):
        self.tally.begun += 1
        crowd.leave(self)


class Sloth(Patient):
    """Takes a kilobyte, and rests. One that the server waits for in vain is cut off; another comes in its place."""

    receive_buffer = 1024

    def __init__(self, request, tally, another):
        super().__init__(request, tally)
        self.another = another
        self.reading = False

    def on_body(self, crowd, data):
        if self.reading and not data:
            self.tally.cut_off += 1
            return self.another()
        self.reading = True
        self.tally.slow_bytes += len(data)
        return crowd.rest(self, random.uniform(1, 5))

    def on_time(self, crowd):
        if not self.answered:
            return super().on_time(crowd)
        return crowd.listen(self)


class Probe(Patient):
    """A message, read to its end."""

    def __init__(self, request, tally):
        super().__init__(request, tally)
        self.tail = b""

    def on_body(self, crowd, data):
        self.tail = (self.tail + self.head + data)[-4096:]
        if b'"type":"message_end"' in self.tail:
            self.tally.waits.append(time.monotonic() - self.began)
            crowd.leave(self)


class Look(Patient):
    """Asks for the server's figures."""

    def __init__(self, request, tally, then):
        super().__init__(request, tally)
        self.then, self.text = then, b""

    def on_body(self, crowd, data):
        head, _, first = self.head.partition(b"\r\n\r\n")
        self.text += data or first
        if len(self.text) >= int(head.lower().split(b"content-length:")[1].split()[0]):
            self.then(self.text)
            crowd.leave(self)


class Soak:
    def __init__(self, options):
        self.options = options
        self.tally = Tally()
        people = options.streams + options.slow
        self.server = Server("--limits.connections_max", str(people + 500), "--capacity.max_running",
                             str(options.streams + 2000), "--sandbox.driver", "off", "--server.metrics_public", "true",
                             "--approvals.expire_seconds_max", "86400", "--log.level", "error")
        self.samples = []  # (time, rss, descriptors, queue lengths)
        self.crowd = None
        self.client = None

    def run(self):
        self.server.start()
        try:
            self.client = self.server.client()
            self.crowd = Crowd(self.server.port)
            self.warm_up()
            descriptors = self.descriptors()
            self.say(f"at rest: {self.rss() / MEBI:.1f} MiB, {descriptors} descriptors")
            self.gather()
            self.mix(self.options.minutes * 60)
            self.overrun()
            self.crowd.disperse()
            self.come_to_rest(descriptors)
        finally:
            self.server.remove()
        return self.report()

    def warm_up(self):
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        answer = self.client.send(conversation, LONG)
        with answer.connection:
            self.long_message = answer.header("x-message-id")
            self.long_bytes = sum(len(line) + 1 for line in answer.lines())

    def request(self, method, path, body=None):
        return self.client.encode(method, path, body)

    def enter(self, visitor):
        self.crowd.enter(visitor)
        self.crowd.wake(visitor, ANSWER_S)

    def begin(self, kind, content):
        body = {"initial_message": {"content": content}}
        self.enter(kind(self.request("POST", "/v1/conversations", body), self.tally))

    def come_slowly(self):
        sloth = Sloth(self.request("GET", f"/v1/messages/{self.long_message}/events"), self.tally, self.come_slowly)
        self.enter(sloth)
        return sloth

    def gather(self):
        """The streams and the slow readers come, a few at a time."""
        began = time.monotonic()
        wanted = self.options.streams
        sent = 0
        while self.tally.opened < wanted and not self.tally.violations:
            while sent < wanted and sent - self.tally.opened < 64:
                self.begin(Holder, PARKED)
                sent += 1
            self.crowd.step(0.1)
        sloths = []
        while len(sloths) < self.options.slow:
            if sum(not sloth.answered for sloth in sloths[-16:]) < 16:
                sloths.append(self.come_slowly())
            self.crowd.step(0.01 if len(sloths) % 16 == 0 else 0)
        seconds = time.monotonic() - began
        self.say(f"{wanted} streams open and {self.options.slow} slow readers after {seconds:.1f} s: "
                 f"{self.rss() / MEBI:.1f} MiB, {self.descriptors()} descriptors")

    def mix(self, seconds):
        """Conversations begun and dropped, a probe each second, and a look at the server every other."""
        began = time.monotonic()
        passed = probed = looked = 0
        while (elapsed := time.monotonic() - began) < seconds:
            due = int(elapsed * self.options.rate)
            for _ in range(min(due - passed, 200)):
                self.begin(Passer, "say hello")
                passed += 1
            passed = max(passed, due - 200)  # what this machine cannot do is not made up for later
            if elapsed >= probed:
                probed += 1
                self.begin(Probe, "say probe")
            if elapsed >= looked:
                looked += 2
                self.enter(Look(self.request("GET", "/metrics"), self.tally, self.look))
            self.crowd.step(0.005)
        self.seconds = time.monotonic() - began

    def look(self, text):
        """At the server from outside, and at the queues that it tells of."""
        lines = (line.rpartition(" ") for line in text.decode().splitlines())
        queues = {name: float(value) for name, _, value in lines if name in QUEUES}
        self.samples.append((time.monotonic(), self.rss(), self.descriptors(), queues))

    def overrun(self):
        """More than may be: each is told so, and nobody is left waiting."""
        before = self.tally.refused
        for _ in range(700):
            self.begin(Holder, PARKED)
            self.crowd.step(0)
        deadline = time.monotonic() + ANSWER_S + 1
        while time.monotonic() < deadline and not all(visitor.answered for visitor in self.crowd.visitors.values()):
            self.crowd.step(0.1)
        self.refused_at_the_end = self.tally.refused - before
        if self.refused_at_the_end < 100:
            self.tally.complain(f"only {self.refused_at_the_end} of too many connections were refused")

    def come_to_rest(self, descriptors):
        try:
            wait_until(lambda: self.descriptors() <= descriptors + 16, "descriptors are closed", 60)
        except AssertionError:
            self.tally.complain(f"{self.descriptors()} descriptors are open, at first {descriptors}")
        self.rss_at_the_end = self.rss()

    def rss(self):
        return self.server.rss_kib() * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def judge_growth(self):
        """From the second third of the time to the last: what a warm server takes, it must not go on taking."""
        third = len(self.samples) // 3
        if third < 2:
            self.tally.complain("too short to judge")
            return
        middle = statistics.median(rss for _, rss, _, _ in self.samples[third:2 * third])
        last = statistics.median(rss for _, rss, _, _ in self.samples[2 * third:])
        self.growth = last - middle
        if self.growth > max(8 * MEBI, middle * 0.05) and not is_sanitized():
            self.tally.complain(f"memory grows: {middle / MEBI:.1f} MiB in the middle, {last / MEBI:.1f} MiB at the end")
        for name in QUEUES:
            longest = max((queues.get(name, 0) for *_, queues in self.samples), default=0)
            self.say(f"longest {name}: {longest:.0f}")
            if longest > 20_000:
                self.tally.complain(f"{name} was {longest:.0f}")

    def report(self):
        self.judge_growth()
        waits = sorted(self.tally.waits)
        peak = max(rss for _, rss, _, _ in self.samples)
        self.say(f"{self.tally.begun / self.seconds:.0f} conversations a second begun and dropped, "
                 f"{self.tally.begun} in all; {self.tally.slow_bytes / MEBI:.1f} MiB to slow readers, "
                 f"{self.tally.cut_off} of them cut off")
        if waits:
            self.say(f"probe: {len(waits)} answered, median {waits[len(waits) // 2] * 1e3:.1f} ms, "
                     f"slowest {waits[-1] * 1e3:.1f} ms")
        self.say(f"memory: at most {peak / MEBI:.1f} MiB, {self.rss_at_the_end / MEBI:.1f} MiB at the end; "
                 f"descriptors: at most {max(count for _, _, count, _ in self.samples)}")
        self.say(f"refused: {self.tally.refused}, {self.refused_at_the_end} of them connections too many; "
                 f"not reached: {self.crowd.failed_to_connect}")
        self.say(f"violations: {len(self.tally.violations)}")
        return 1 if self.tally.violations or not waits else 0

    @staticmethod
    def say(words):
        print(f"soak: {words}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--slow", type=int, default=5_000)
    parser.add_argument("--rate", type=int, default=1_000)
    options = parser.parse_args()
    wanted = options.streams + options.slow + 3000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < wanted:
        print(f"soak: needs {wanted} descriptors, may have {hard}; raise 'ulimit -Hn' or ask for less")
        return 77
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return Soak(options).run()


if __name__ == "__main__":
    sys.exit(main())
