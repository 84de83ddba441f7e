"""Real processes under load, struck at random; what must be true is asked afterwards.

    run_chaos.py [--minutes N] [--store sqlite|postgres] [--nodes N] [--seed S] [--only FAULT] [--surely FAULT,FAULT…]

SLUICE_CHAOS_SEED, if it is set, is the seed. Ends with a summary; the exit status is 1 if anything was violated. The
same seed draws the same misfortunes in the same order; when exactly each strikes is up to the machine.
"""
import argparse
import collections
import os
import random
import sys
import threading
import time

import leaks
from callers import KINDS, KINDS_WITHOUT_GATES, Caller
from faults import faults_for
from ledger import Ledger, Strike
from outcomes import ENDS, Inspector
from world import SLOWNESS, World, wait_until

CALLERS = 10
SETTLE_S = 90 * SLOWNESS


class Chaos:
    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.ledger = Ledger()
        self.struck = collections.Counter()
        self.inspected = 0   # entries of the ledger
        self.decks = {}      # by stage: the misfortunes that are still to come
        self.baselines = {}  # by stage
        self.world = World(self.ledger, options.store, options.nodes)

    def run(self):
        self.say(f"seed {self.options.seed} (SLUICE_CHAOS_SEED={self.options.seed} draws the same again)")
        episode = 0
        stages = ["alone", "runners"]
        try:
            self.play_surely()
            deadline = time.monotonic() + self.options.minutes * 60
            while episode < 2 * len(stages) or time.monotonic() < deadline:
                stage = stages[episode % len(stages)]
                self.world.set_stage(stage)
                self.world.wait_until_ready()
                calm = stage not in self.baselines
                self.play(episode, 2.0 if calm else self.options.episode_s, [] if calm else self.draw(stage))
                episode += 1
            self.look_back()
        finally:
            self.world.remove()
        for death in self.world.deaths():
            self.ledger.complain(death)
        return self.report()

    def play_surely(self):
        """What is to strike in any case, each in an episode of its own: so an interrupted run has one reason or none."""
        names = list(filter(None, self.options.surely.split(",")))
        if not names:
            return
        self.world.set_stage("alone")
        for episode, faults in enumerate([[], *([name] for name in names)]):
            self.world.wait_until_ready()
            self.play(episode, self.options.episode_s if faults else 2.0, faults)

    def draw(self, stage):
        """Some misfortunes; none twice before each has struck once."""
        known = faults_for(self.world)
        drawn = []
        while len(drawn) < self.options.faults:
            if not self.decks.get(stage):
                deck = [name for name in known if self.options.only in name]
                self.chance.shuffle(deck)
                self.decks[stage] = deck
            drawn.append(self.decks[stage].pop())
        return drawn

    def play(self, episode, seconds, faults):
        """Load, misfortunes in the middle of it, and the reckoning."""
        self.say(f"episode {episode}, {self.world.stage}: {', '.join(faults) or 'calm'}")
        kinds = KINDS if self.world.stage == "alone" else KINDS_WITHOUT_GATES
        callers = [Caller(self.world, self.ledger, self.chance.random(), kinds) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        pause = threading.Event().wait
        strikes = []
        for name in faults:
            pause(self.chance.uniform(0.2, 1.0) * seconds / max(1, len(faults)))
            self.struck[name] += 1
            began, self.world.struck = time.monotonic(), set()
            faults_for(self.world)[name](self.world, self.chance, pause)
            self.world.look_after()
            strikes.append(Strike(name, began, time.monotonic(), self.world.struck))
        pause(1.0 if faults else seconds)
        for caller in callers:
            caller.stopped.set()
        self.world.look_after()
        self.world.wait_until_ready()
        for caller in callers:
            caller.join(120 * SLOWNESS)
            if caller.is_alive():
                self.ledger.complain("a caller hangs although everybody is there")
        if self.world.is_sanitized and faults:
            # A node that misses its beats is taken for dead, rightly.
            strikes.append(Strike("a sanitizer's slowness", 0, time.monotonic()))
        self.reckon(strikes)

    def reckon(self, strikes):
        entries = [e for e in self.ledger.sent[self.inspected:] if e.attempts]
        inspector = self.inspector(self.may_fail() if strikes else set(), strikes)
        touched = {entry.conversation for entry in entries}
        self.settle(inspector, touched)
        by_conversation = self.ledger.conversations()
        for conversation in sorted(touched):
            inspector.inspect(conversation, by_conversation[conversation])
        for conversation in sorted(touched)[:20]:
            inspector.goes_on(conversation)
        self.inspected = len(self.ledger.sent)
        self.count_unattended()
        self.count_leaks()
        self.look_through()

    def may_fail(self):
        """Of which messages some may end with a problem when something struck. What a server does itself and without
        tools it takes up again, whatever happened: text is answered."""
        return {"tool", "gate"} if self.world.stage == "alone" else set(ENDS)

    def inspector(self, may_fail, strikes):
        return Inspector(self.world, self.ledger, self.chance.choice(self.world.nodes), self.chance.random(), may_fail,
                         strikes)

    def settle(self, inspector, conversations):
        """Everything that was begun ends, once somebody decides what nobody has decided."""
        waiting = set(conversations)
        clerk = Caller(self.world, self.ledger, 0, KINDS)
        by_conversation = self.ledger.conversations()

        def is_settled():
            pending = clerk.client().get("/v1/approvals?status=pending&limit=100")
            if pending.status == 503:
                return False
            for approval in pending.json()["data"]:
                entry = by_conversation.get(approval["conversation_id"], [None])[-1]
                if entry is not None:
                    clerk.post_decision(entry, approval["id"], "approve")
            for conversation in list(waiting):
                if inspector.settled(conversation):
                    waiting.discard(conversation)
            return not waiting
        try:
            wait_until(is_settled, "all runs end", SETTLE_S)
        except AssertionError:
            for conversation in sorted(waiting):
                self.ledger.complain(f"{conversation} is stuck: {inspector.last_seen(conversation)}")

    def count_unattended(self):
        """Runs that name a server and that nothing there attends to are found and taken up within seconds. That this had to
        happen is told in the summary; that it did not happen is a fault."""
        def none_left():
            return all(node.figures().get("sluice_runs_unattended", 0) == 0 for node in self.world.nodes)
        try:
            wait_until(none_left, "no run is unattended", 30 * SLOWNESS)
        except AssertionError as why:
            self.ledger.complain(str(why))
        for node in self.world.nodes:
            name = "most unattended runs that a life of " + node.name + " took up"
            found = int(node.figures().get("sluice_runs_unattended_total", 0))
            self.ledger.counts[name] = max(found, self.ledger.counts[name])

    def count_leaks(self):
        """Against the end of this stage's first episode, in which nothing happened."""
        stage = self.world.stage
        baseline = self.baselines.get(stage)
        if baseline is None:
            self.baselines[stage] = leaks.steady(self.world)
            return

        def excess():
            now = leaks.count(self.world)
            return {name: (baseline.get(name, 0), value) for name, value in now.items()
                    if value > baseline.get(name, 0) + leaks.SLACK.get(name.split(" ")[-1], 0)}
        try:
            wait_until(lambda: not excess(), "nothing is left over", 30 * SLOWNESS)
        except AssertionError:
            for name, (before, now) in excess().items():
                self.ledger.complain(f"leak: {name}: {now}, at first {before}")
        self.ledger.count("leak counts")

    def look_through(self):
        rows, faults = leaks.look_through(self.world)
        self.ledger.count("rows looked at", rows)
        for fault in faults:
            self.ledger.complain(f"store: {fault}")

    def look_back(self):
        """Once more, all of it: what was true stays true."""
        # Why a run ended badly was asked when it was fresh.
        for name in [name for name in self.ledger.counts if name.startswith("outcome ")]:
            del self.ledger.counts[name]
        inspector = self.inspector(set(ENDS), None)
        for conversation, entries in self.ledger.conversations().items():
            inspector.inspect(conversation, [entry for entry in entries if entry.attempts])

    @staticmethod
    def say(words):
        print(f"chaos: {words}", flush=True)

    def report(self):
        counts, entries = self.ledger.counts, self.ledger.sent
        accepted = sum(e.accepted for e in entries)
        self.say(f"seed {self.options.seed}, store {self.options.store}, {self.options.nodes} node(s)")
        self.say(f"runs: {accepted} accepted of {len(entries)} messages, {sum(e.attempts for e in entries)} attempts")
        for name in sorted(counts):
            self.say(f"  {name}: {counts[name]}")
        self.say(f"faults: {sum(self.struck.values())}")
        for name in sorted(self.struck):
            self.say(f"  {name}: {self.struck[name]}")
        self.say(f"violations: {len(self.ledger.violations)}")
        return 1 if self.ledger.violations or not accepted else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--nodes", type=int, default=0, help="servers; 1 with SQLite, else 2 if not said")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--faults", type=int, default=4, help="misfortunes in one episode")
    parser.add_argument("--episode-s", type=float, default=6, help="how long an episode's load lasts, at least")
    parser.add_argument("--surely", default="", help="misfortunes that strike first, each in an episode of its own")
    parser.add_argument("--only", default="", help="only misfortunes with this in their name")
    options = parser.parse_args()
    options.seed = int(os.environ.get("SLUICE_CHAOS_SEED") or options.seed)  # also where the command line is another's
    options.nodes = options.nodes or (1 if options.store == "sqlite" else 2)
    if options.store == "sqlite" and options.nodes != 1:
        parser.error("SQLite is for one server; several share PostgreSQL")
    if os.geteuid() != 0:
        print("chaos: mounts and networks of its own need root; not run")
        return 77
    return Chaos(options).run()


if __name__ == "__main__":
    sys.exit(main())
