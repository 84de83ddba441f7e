"""What callers remember: every message they sent, and everything they were told about it."""
import collections
import threading

PRINTED_MAX = 40  # one fault of ours is many violations


class Sent:
    """One message as its sender remembers it."""

    def __init__(self, kind, conversation, content, expected, key=None):
        self.kind = kind  # text, tool, gate, cancel
        self.conversation, self.content, self.expected, self.key = conversation, content, expected, key
        self.attempts = 0
        self.refusals = 0         # answers that say that nothing was created
        self.accepted = False     # somebody was told an event of it, or its end
        self.message_ids = set()  # of X-Message-Id
        self.run_id = None
        self.fragments = []       # (first seq, raw lines as they came)
        self.answer = None        # the body of a 201
        self.asked = []           # (approval, decision) that were sent
        self.decided = []         # (approval, decision) that were answered with 200
        self.began = None         # when it was sent first
        self.seen_to_end = None   # when a caller read its end
        self.cancelled = False    # the cancellation was answered with 200

    def next_seq(self):
        return max((first + len(lines) for first, lines in self.fragments), default=0)

    def ended(self):
        return any(lines and (b'"type":"message_end"' in lines[-1] or b'"type":"error"' in lines[-1])
                   for _, lines in self.fragments)

    def name(self):
        return f"{self.kind} {self.content[:60]!r} in {self.conversation}"


class Strike:
    """A fault, from its beginning until all was mended, and the names of those that it struck; none: everybody."""

    def __init__(self, name, began, ended, struck=()):
        self.name, self.began, self.ended, self.struck = name, began, ended, frozenset(struck)

    def meets(self, entry, carriers):
        """Whether it struck somebody who had to do with this message, while its run was not over."""
        at_the_time = ((entry.began is None or entry.began <= self.ended)
                       and (entry.seen_to_end is None or self.began <= entry.seen_to_end))
        return at_the_time and (not self.struck or bool(self.struck & carriers))


class Ledger:
    """Shared by all callers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sent = []
        self.counts = collections.Counter()
        self.violations = []

    def note(self, entry):
        with self.lock:
            self.sent.append(entry)

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] += by

    def complain(self, what):
        """Something that must never be, with all that helps to find it."""
        with self.lock:
            self.violations.append(what)
            number = len(self.violations)
        if number <= PRINTED_MAX:
            print(f"chaos: VIOLATION {what}", flush=True)

    def conversations(self):
        """The entries by conversation, in the order in which they were sent."""
        with self.lock:
            entries = list(self.sent)
        found = {}
        for entry in entries:
            found.setdefault(entry.conversation, []).append(entry)
        return found
