"""The load: callers who use the public API as real ones do. They leave, come back, try again, and write down what they
were told."""
import json
import random
import socket
import threading
import time

from gate_fixture import Approver
from http_client import Truncated
from ledger import Sent

GONE = (OSError, Truncated, socket.timeout)
PATIENCE_S = 20.0
KINDS = ("text", "text", "text", "tool", "gate", "cancel")
KINDS_WITHOUT_GATES = ("text", "text", "text", "tool", "cancel")
# What a caller may be told when it sends: the meaning of anything else is a violation.
REFUSED, PERHAPS = (429,), (503,)


def compose(chance, kinds, conversation):
    """A message, and the answer that is due if nothing interrupts it."""
    kind, mark = chance.choice(kinds), f"{chance.getrandbits(48):012x}"
    key = f"key-{mark}" if chance.random() < 0.6 else None
    if kind == "tool":
        return Sent(kind, conversation, f"$ echo {mark}; sleep {chance.choice((0, 0.2, 1))}\nsay done {mark}",
                    f"done {mark}", key)
    if kind == "gate":
        return Sent(kind, conversation, f"put Before. \nask May I, {mark}?\nput After {mark}.",
                    f"Before. After {mark}.", key)
    if kind == "cancel":
        return Sent(kind, conversation, f"tokens 400 40\nsay {mark}",
                    " ".join(f"w{i}" for i in range(1, 401)) + f"\n{mark}", key)
    count, rate = chance.choice(((1, None), (40, None), (200, None), (30, 60), (60, 40), (150, 100)))
    if kind == "flood":
        kind, count, rate = "text", 600, 150
    words = " ".join(f"w{i}" for i in range(1, count + 1))
    return Sent(kind, conversation, f"tokens {count}{f' {rate}' if rate else ''}\nsay {mark}", f"{words}\n{mark}", key)


class Caller(threading.Thread):
    """Sends message after message in conversations of its own until it is told to stop."""

    def __init__(self, world, ledger, seed, kinds, node=None):
        super().__init__(daemon=True)
        self.world, self.ledger, self.chance, self.kinds = world, ledger, random.Random(seed), kinds
        self.node = node  # whose door it comes by
        self.approver = Approver(world.keys["approver_key"]["key_id"], world.keys["approver_key"]["secret"])
        self.stopped = threading.Event()
        self.idle = []  # conversations of which the last message has ended

    def client(self):
        """By any node's door, if it has none of its own."""
        return (self.node or self.chance.choice(self.world.nodes)).through(self.world.keys["service_key"])

    def run(self):
        while not self.stopped.is_set():
            try:
                self.work()
            except GONE:
                self.ledger.count("connections lost")
                self.stopped.wait(0.05)
            except Exception as why:  # whatever a caller cannot make sense of is a finding, not its end
                self.ledger.complain(f"a caller did not understand: {why!r}")
                self.stopped.wait(0.5)

    def work(self):
        entry = compose(self.chance, self.kinds, self.choose_conversation())
        if entry.conversation is None:
            return
        self.ledger.note(entry)
        while self.attempt(entry) and not self.stopped.wait(self.chance.uniform(0.02, 0.3)):
            pass
        if entry.ended():
            self.idle.append(entry.conversation)

    def choose_conversation(self):
        if self.idle and self.chance.random() < 0.6:
            return self.idle.pop(self.chance.randrange(len(self.idle)))
        answer = self.client().post("/v1/conversations", {}, patience_s=PATIENCE_S)
        if answer.status == 201:
            return answer.json()["id"]
        if answer.status not in REFUSED + PERHAPS:
            self.ledger.complain(f"a conversation was answered with {answer.status}: {answer.body[:300]!r}")
        self.stopped.wait(0.2)
        return None

    def attempt(self, entry):
        """Sends it once, and reads on if it broke off. True: it makes sense to send it again."""
        entry.attempts += 1
        entry.began = entry.began or time.monotonic()
        try:
            if not self.send(entry):
                return entry.key is not None and entry.attempts < 40
        except GONE:
            self.ledger.count("connections lost")
            if not entry.message_ids:
                # Without a key nobody knows whether it was taken, and sending again could double it.
                return entry.key is not None and entry.attempts < 40
        self.follow(entry)
        return False

    def send(self, entry):
        """False: it was refused."""
        fields = {"content": entry.content, "on_capacity": "hold" if self.chance.random() < 0.7 else "reject"}
        if entry.key:
            fields["on_capacity"] = "hold"  # the very same bytes, each time
        headers = {"Idempotency-Key": entry.key} if entry.key else None
        path = f"/v1/conversations/{entry.conversation}/messages"
        if entry.kind == "text" and self.chance.random() < 0.15:
            answer = self.client().post(path + "?stream=false", fields, headers, patience_s=60)
            if answer.status == 201:
                entry.accepted, entry.answer = True, answer.body.strip()
                entry.message_ids.add(answer.json()["id"])
                return True
            return self.judge_refusal(entry, answer, whole=True)
        answer = self.client().open("POST", path, fields, headers, PATIENCE_S)
        with answer.connection:
            if answer.status != 200:
                return self.judge_refusal(entry, answer, whole=False)
            entry.message_ids.add(answer.header("x-message-id"))
            entry.run_id = answer.header("x-run-id")
            if answer.header("idempotency-replayed"):
                self.ledger.count("replays")
            self.read(entry, answer, 0)
        return True

    def judge_refusal(self, entry, answer, whole):
        """False: send again, if that is safe. With stream=false a run's own problem comes as the answer."""
        problem = answer.json()
        slug = problem["type"].rsplit("/", 1)[-1]
        self.ledger.count(f"answers {answer.status} {slug}")
        if whole and "instance" not in problem:  # its run has ended so; history tells
            entry.accepted = True
            return True
        if answer.status in REFUSED or slug == "conversation-busy":
            entry.refusals += 1
        elif answer.status not in REFUSED + PERHAPS:
            self.ledger.complain(f"{entry.name()} was answered with {answer.status}: {answer.body[:300]!r}")
        if answer.status in REFUSED + PERHAPS and not answer.header("retry-after"):
            self.ledger.complain(f"{answer.status} {slug} without Retry-After: {answer.body[:300]!r}")
        return False

    def read(self, entry, answer, first):
        """Lines until the end, or until the caller has had enough."""
        lines = []
        entry.fragments.append((first, lines))
        leave_after = self.chance.randrange(1, 40) if self.chance.random() < 0.3 else None
        for line in answer.lines():
            lines.append(line)
            entry.accepted = True
            self.ledger.count("lines read")
            if entry.ended():
                entry.seen_to_end = entry.seen_to_end or time.monotonic()
            if b'"type":"approval_required"' in line and not self.decide(entry, json.loads(line)["data"]["id"]):
                return
            if entry.kind == "cancel" and len(lines) == 20 and not entry.cancelled:
                self.cancel(entry)
            if leave_after is not None and len(lines) >= leave_after:
                return

    def follow(self, entry):
        """Reads on from where it broke off, by any node; now and then from somewhere before."""
        patience = 100
        while not entry.ended() and entry.answer is None and entry.message_ids and patience > 0:
            if self.stopped.is_set() or self.chance.random() < 0.1:
                return
            patience -= 1
            after = entry.next_seq() - 1
            if after > 2 and self.chance.random() < 0.2:
                after = self.chance.randrange(after)
            query = f"?after={after}" if after >= 0 else ""
            try:
                answer = self.client().open("GET", f"/v1/messages/{min(entry.message_ids)}/events{query}", None, None,
                                            PATIENCE_S)
                with answer.connection:
                    if answer.status == 200:
                        self.ledger.count("streams read again")
                        self.read(entry, answer, after + 1)
                    elif answer.status != 503:
                        self.ledger.complain(f"{entry.name()}: read again: {answer.status} {answer.body[:300]!r}")
            except GONE:
                self.ledger.count("connections lost")
            self.stopped.wait(self.chance.uniform(0.01, 0.2))

    def cancel(self, entry):
        try:
            answer = self.client().post(f"/v1/runs/{entry.run_id}/cancel", {}, patience_s=PATIENCE_S)
            entry.cancelled = answer.status == 200
        except GONE:
            pass

    def decide(self, entry, approval):
        """False: it is left to somebody else. The same decision is sent again until it was heard."""
        choice = self.chance.random()
        if choice < 0.2:
            return False
        if choice < 0.4:  # two humans at once
            rival = threading.Thread(target=self.post_decision, args=(entry, approval, "deny"), daemon=True)
            rival.start()
            self.post_decision(entry, approval, "approve")
            rival.join(PATIENCE_S * 6)
            return True
        self.post_decision(entry, approval, "approve" if choice < 0.8 else "deny")
        return True

    def post_decision(self, entry, approval, decision):
        body = {"signature": self.approver.signature(approval, decision)}
        entry.asked.append((approval, decision))
        for _ in range(5):
            try:
                answer = self.client().post(f"/v1/approvals/{approval}/{decision}", body, patience_s=PATIENCE_S)
            except GONE:
                self.stopped.wait(0.1)
                continue
            if answer.status == 200:
                entry.decided.append((approval, decision))
            elif answer.status not in ((403, 409, 503) if self.world.clocks_moved else (409, 503)):
                self.ledger.complain(f"{decision} of {approval}: {answer.status} {answer.body[:300]!r}")
            if answer.status != 503:
                return
            self.stopped.wait(0.2)
