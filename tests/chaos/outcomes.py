"""Everything that must be true when the dust has settled, asked with the public API only (I-5 to I-9, I-14 to I-16,
A-3). Each breach is a line that names the message."""
import json
import random

from faults import NO_REASON
from http_client import Connection
from ledger import Sent
from stream_grammar import NotAStream, check_stream, message_bytes, slug_of

# How a run may end badly when its server, its runner or its box was struck. Each is told in its stream and in history.
STRUCK = {"run-interrupted", "runner-lost", "runner-unavailable", "sandbox-failed", "unavailable", "writeback-failed",
          "capacity-exhausted"}
ENDS = {"tool": STRUCK, "text": STRUCK, "cancel": STRUCK | {"run-cancelled"},
        "gate": STRUCK | {"approval-denied", "approval-expired"}}


class NotYet(AssertionError):
    """The server says that it cannot tell now, and to come again."""


class Inspector:
    """Goes through conversations on one connection to one node."""

    def __init__(self, world, ledger, node, seed, may_fail, strikes=None):
        self.world, self.client = world, node.through(world.keys["service_key"])
        self.ledger, self.chance = ledger, random.Random(seed)
        self.strikes = strikes  # since the last look; None: what struck was asked then
        self.may_fail = may_fail  # kinds of messages of which some may have ended with a problem of STRUCK
        self.connection = None

    def get(self, path):
        """Status, body. One connection for all: there is much to ask."""
        if self.connection is None:
            self.connection = Connection(self.client.host, self.client.port, 600)
        self.connection.send(self.client.encode("GET", path))
        answer = self.connection.response("GET")
        body = answer.body
        if (answer.header("connection") or "").lower() == "close":
            self.connection.close()
            self.connection = None
        return answer.status, body

    def demand(self, truth, entry, what):
        self.ledger.count("invariants checked")
        if not truth:
            self.ledger.complain(f"{entry.name()}: {what}")
        return truth

    def list_messages(self, conversation):
        rows, cursor = [], ""
        while True:
            status, body = self.get(f"/v1/conversations/{conversation}/messages?limit=100{cursor}")
            if status == 503:
                raise NotYet(f"{conversation} cannot be listed now: {body[:300]!r}")
            if status != 200:
                raise AssertionError(f"{conversation} cannot be listed: {status} {body[:300]!r}")
            page = json.loads(body)
            rows += page["data"]
            if not page["has_more"]:
                return rows
            cursor = f"&starting_after={page['next_cursor']}"

    def settled(self, conversation):
        try:
            listed = self.list_messages(conversation)
        except NotYet:
            return False
        return all(m["status"] in ("completed", "failed") for m in listed)

    def last_seen(self, conversation):
        """Its last message, or why that is not to be had."""
        try:
            return self.list_messages(conversation)[-1]
        except AssertionError as why:
            return why

    def inspect(self, conversation, entries):
        listed = self.list_messages(conversation)
        roles = "".join(m["role"][0] for m in listed)
        self.demand(roles == "ua" * (len(listed) // 2), entries[0], f"questions and answers do not alternate: {roles}")
        for entry in entries:
            self.inspect_entry(entry, listed)
        strays = {m["content"] for m in listed if m["role"] == "user"} - {entry.content for entry in entries}
        self.demand(not strays, entries[0], f"messages that nobody sent: {strays}")

    def inspect_entry(self, entry, listed):
        copies = [i for i, m in enumerate(listed) if m["role"] == "user" and m["content"] == entry.content]
        if entry.accepted or entry.message_ids:
            if not self.demand(len(copies) == 1, entry, f"was accepted and is there {len(copies)} times"):
                return
        elif entry.refusals == entry.attempts:
            self.demand(not copies, entry, "was refused each time and is there")
        else:
            self.demand(len(copies) <= 1, entry, f"is there {len(copies)} times")
        if not copies or copies[0] + 1 >= len(listed):
            self.demand(not copies, entry, "has no outcome")
            return
        answer = listed[copies[0] + 1]
        self.demand(entry.message_ids <= {answer["id"]}, entry, f"was told {entry.message_ids}, is {answer['id']}")
        self.inspect_stream(entry, answer)

    def inspect_stream(self, entry, answer):
        status, body = self.get(f"/v1/messages/{answer['id']}/events")
        lines = body.split(b"\n")
        if not self.demand(status == 200 and lines.pop() == b"", entry, f"its stream is {status} {body[-200:]!r}"):
            return
        try:
            events = check_stream(lines)
        except NotAStream as why:
            self.demand(False, entry, f"the stream of {answer['id']} is broken: {why}")
            return
        for first, read in entry.fragments:
            if not self.demand(lines[first:first + len(read)] == read, entry,
                               f"a reader of {answer['id']} from {first} was told something else"):
                where = next(i for i, line in enumerate(read) if lines[first + i:first + i + 1] != [line])
                self.ledger.complain(f"  there: {read[where]!r}\n  now:   {lines[first + where:first + where + 1]!r}")
        for after in {0, self.chance.randrange(len(lines)), self.chance.randrange(len(lines))}:
            _, rest = self.get(f"/v1/messages/{answer['id']}/events?after={after}")
            self.demand(rest.split(b"\n")[:-1] == lines[after + 1:], entry, f"read after {after} it is another stream")
        self.inspect_end(entry, answer, lines[-1], events)

    def inspect_end(self, entry, answer, last_line, events):
        last = events[-1]
        if last["type"] == "message_end":
            self.ledger.count("outcome completed")
            _, stored = self.get(f"/v1/messages/{answer['id']}")
            self.demand(message_bytes(last_line) == stored.strip(), entry, "message_end is not the stored message")
            self.demand(last["data"]["message"] == answer, entry, "message_end is not what the list shows")
            self.demand(answer["content"] == entry.expected, entry, f"the answer is {answer['content'][-200:]!r}")
            if entry.answer is not None:
                self.demand(entry.answer == stored.strip(), entry, "the 201 was another message")
        else:
            slug = slug_of(last["data"])
            self.ledger.count(f"outcome {slug}")
            if slug in NO_REASON:
                self.ask_why(entry, slug)
            self.demand(answer["status"] == "failed", entry, f"ended with {slug} and is {answer['status']}")
            self.demand(entry.answer is None, entry, "was answered with 201 and has failed")
            self.demand(slug in ENDS[entry.kind], entry, f"ended with {last_line[-600:]!r}")
            self.demand(slug not in STRUCK or entry.kind in self.may_fail, entry,
                        f"nothing that struck excuses {last_line[-600:]!r}")
        self.inspect_gates(entry, events)

    def ask_why(self, entry, slug):
        """A run that ended so has lost work of an agent. Something must have struck who carried it, while it was at work."""
        if self.strikes is None:
            return
        carriers = self.world.carriers(entry.run_id)
        causes = {strike.name for strike in self.strikes
                  if strike.name not in NO_REASON[slug] and strike.meets(entry, carriers)}
        self.demand(causes, entry, f"ended with {slug}, carried by {sorted(carriers)}, and nothing struck there that explains it")
        self.ledger.count(f"{slug} beside: {', '.join(sorted(causes))}")

    def inspect_gates(self, entry, events):
        for index, event in enumerate(events):
            if event["type"] != "approval_required":
                continue
            approval = event["data"]["id"]
            _, body = self.get(f"/v1/approvals/{approval}")
            state = json.loads(body)["status"]
            follower = events[index + 1]
            if follower["type"] == "resumed":
                self.demand(state == "approved", entry, f"{approval} is {state} and the run went on")
            elif slug_of(follower["data"]) in ("approval-denied", "approval-expired"):
                self.demand(state in ("denied", "expired"), entry, f"{approval} is {state} and the run was denied")
            acknowledged = {decision for asked, decision in entry.decided if asked == approval}
            self.demand(len(acknowledged) <= 1, entry, f"{approval} was decided as {acknowledged}")
            if acknowledged:
                told = {"approve": "approved", "deny": "denied"}[acknowledged.pop()]
                self.demand(state == told, entry, f"{approval} was decided as {told} and is {state}")

    def goes_on(self, conversation):
        """No conversation is stuck: it takes one more message and answers it."""
        words = f"going on {self.chance.getrandbits(32):08x}"
        entry = Sent("text", conversation, f"say {words}", words)
        self.ledger.note(entry)
        entry.attempts = 1
        answer = self.client.send(conversation, entry.content, patience_s=60, on_capacity="hold")
        with answer.connection:
            if answer.status != 200:
                self.demand(False, entry, f"is stuck: {answer.status} {answer.body[:300]!r}")
                return
            lines = list(answer.lines())
        entry.fragments.append((0, lines))
        self.demand(b'"type":"message_end"' in lines[-1], entry, f"is stuck: {lines[-1]!r}")
