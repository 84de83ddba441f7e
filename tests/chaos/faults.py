"""The misfortunes. Each strikes somebody on the stage, lasts for a while, and leaves the world mended."""
import contextlib
import os
import pathlib
import resource
import signal
import socket
import time

MEBI = 1 << 20
BUSY_PER_S = 500  # store operations, on each server
OTHERS_SERVE_S = 30  # a node that is dead is out of the others' way within some ten seconds


def children_of(root):
    """All processes below `root`."""
    below = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(stat.parent.name))
    found, waiting = [], [root]
    while waiting:
        for child in below.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def box_inits(root):
    """Those of them that are the first process of a box."""
    found = []
    for pid in children_of(root):
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        inside = next((line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")), [])
        if len(inside) > 1 and inside[-1] == "1":
            found.append(pid)
    return found


def signal_if_there(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def has_boxes(place, world):
    return place.command == "runner" or world.stage == "alone"


def inits_of_boxes(world):
    return [(place, pid) for place in world.places() if has_boxes(place, world) for pid in box_inits(place.process.pid)]


# Each takes the world, a source of chance, and `pause(seconds)`, which lets the load go on.

def kill_node(world, chance, pause):
    node = world.strike(chance.choice(world.nodes))
    node.kill()
    if chance.random() < 0.3:
        pause(chance.uniform(0.1, 2.5))
    node.start()
    if chance.random() < 0.25:  # in the middle of recovery, perhaps
        node.kill()
        node.start()


def stop_node(world, chance, pause):
    node = world.strike(chance.choice(world.nodes))
    node.freeze()
    pause(chance.choice((0.2, 1.0, 4.0)))
    node.thaw()


def restart_node(world, chance, pause):
    del pause
    node = world.strike(chance.choice(world.nodes))
    node.stop()
    node.start()


def kill_runner(world, chance, pause):
    runner = world.strike(chance.choice(world.runners))
    runner.kill()
    pause(chance.uniform(0.0, 1.5))
    runner.start()


def stop_runner(world, chance, pause):
    runner = world.strike(chance.choice(world.runners))
    runner.freeze()
    pause(chance.choice((0.2, 1.0, 4.0)))
    runner.thaw()


def kill_box(world, chance, pause):
    for _ in range(3):
        inits = inits_of_boxes(world)
        if inits:
            place, pid = chance.choice(inits)
            world.strike(place)
            signal_if_there(pid, signal.SIGKILL)
        pause(0.2)


def stop_box(world, chance, pause):
    inits = inits_of_boxes(world)
    for place, pid in inits:
        world.strike(place)
        signal_if_there(pid, signal.SIGSTOP)
    pause(chance.uniform(0.3, 2.0))
    for _, pid in inits:
        signal_if_there(pid, signal.SIGCONT)


def fill_disk(world, chance, pause):
    place = world.strike(chance.choice(world.nodes))
    room = chance.choice((0, 0, 4096, 100_000))
    place.disk.fill(room)
    if room == 0 and world.database is None:
        says_so = wait_for(lambda: not world.is_ready(place), pause, 40 if world.is_sanitized else 10)
        if not says_so and place.alive():
            world.ledger.complain(f"{place.name} says that it is ready, and its disk is full")
    pause(chance.uniform(0.5, 3.0))
    if chance.random() < 0.3:  # and the power goes as well
        place.kill()
        place.disk.empty()
        place.start()
    place.disk.empty()


def wait_for(condition, pause, patience_s):
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if condition():
            return True
        pause(0.05)
    return False


def awake_s(pid):
    """By thread: how long it ran, or stood in line for a processor. Who spins does nothing else, on any machine."""
    found = {}
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            running_ns, in_line_ns, _ = (thread / "schedstat").read_text().split()
        except OSError:
            continue  # it has ended
        found[thread.name] = (int(running_ns) + int(in_line_ns)) / 1e9
    return found


def file_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Wakefulness:
    """How much of its time each thread of a process was awake."""

    STRETCH_S = 1.0

    def __init__(self):
        self.looks = []  # when, and awake_s then; or None when it did not count

    def watch(self, pid, seconds, pause, counts=lambda: True):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.looks.append((time.monotonic(), awake_s(pid)) if counts() else None)
            pause(0.05)

    def stretches(self):
        """By thread, its part of each stretch, over all of which it counted."""
        for i, first in enumerate(self.looks):
            for last in self.looks[i:]:
                if first is None or last is None:
                    break
                if last[0] - first[0] >= self.STRETCH_S:
                    yield {t: (s - first[1].get(t, 0.0)) / (last[0] - first[0]) for t, s in last[1].items()}
                    break

    def most(self):
        """By thread: its part of the stretch that it slept least in."""
        found = {}
        for stretch in self.stretches():
            found |= {thread: max(share, found.get(thread, 0.0)) for thread, share in stretch.items()}
        return found


def take_files(world, chance, pause):
    """No descriptor more than there are already, or a few. Who cannot accept a caller must wait, not spin: a thread
    that has always slept now and then goes on doing so. How much it works is no matter, the callers see to that."""
    place = world.strike(chance.choice(world.places()))
    pid = place.process.pid
    limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    usual, without = Wakefulness(), Wakefulness()
    try:
        usual.watch(pid, 2.0, pause)
        count = file_count(pid) + chance.choice((0, 1, 3, 10))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, limit[1]))
        with contextlib.ExitStack() as silent:
            # More than there is room for, who say nothing: they take what is free, and the last wait at the door.
            for _ in range(40):
                caller = silent.enter_context(socket.socket())
                caller.setblocking(False)
                caller.connect_ex((place.network.inside, place.port))
            without.watch(pid, chance.uniform(1.5, 3.0), pause, lambda: file_count(pid) >= count)
    except (FileNotFoundError, ProcessLookupError):
        return  # it died, which is told by whoever looks after it
    if place.alive():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
    before, then = usual.most(), without.most()
    world.ledger.count("watched without descriptors", 1 if then else 0)
    for thread, share in then.items():
        if share > 0.95 and before.get(thread, 0.0) < 0.7:
            world.ledger.complain(f"{place.name} had no descriptors left, and a thread of it was awake for {share:.0%} "
                                  f"of a second; before that never for more than {before.get(thread, 0.0):.0%}")


def take_memory(world, chance, pause):
    """Memory that cannot grow: whoever needs more dies of it, which is allowed."""
    place = world.strike(chance.choice(world.places()))
    pid = place.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_DATA)
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    used = int(status.split("VmData:")[1].split()[0]) * 1024
    place.expected_to_die = True
    resource.prlimit(pid, resource.RLIMIT_DATA, (used + chance.choice((-1, 0, 1)) * MEBI, before[1]))
    pause(chance.uniform(0.5, 2.0))
    if place.alive():
        resource.prlimit(pid, resource.RLIMIT_DATA, before)
        place.expected_to_die = False


def step_clock(world, chance, pause):
    place = world.strike(chance.choice(world.places()))
    world.clocks_moved = True
    for _ in range(2):
        place.clock.put(chance.choice((-86400, -3600, -5, 5, 3600, 86400)))
        pause(chance.uniform(0.3, 1.5))
    place.clock.put(0)


def cut_network(world, chance, pause):
    place = world.strike(chance.choice(world.places()))
    place.network.cut()
    pause(chance.choice((0.3, 1.0, 4.0)))
    place.network.mend()


def break_connections(world, chance, pause):
    """Doors that cut, delay and truncate, in front of everybody."""
    places = world.places()
    for place in places:
        place.door.storm(chance.getrandbits(32))
    pause(chance.uniform(1.0, 4.0))
    for place in places:
        place.door.cut_all()
        place.door.calm()


def kill_database(world, chance, pause):
    world.database.kill()
    pause(chance.uniform(0.0, 2.0))
    world.database.start()


def kill_backend(world, chance, pause):
    """One connection's process: the database itself then resets all of them."""
    backends = world.database.backends()
    if backends:
        signal_if_there(chance.choice(backends), signal.SIGKILL)
    pause(1.0)


def stop_database(world, chance, pause):
    pids = world.database.processes()
    for pid in pids:
        signal_if_there(pid, signal.SIGSTOP)
    pause(chance.choice((0.3, 1.0, 3.0)))
    for pid in pids:
        signal_if_there(pid, signal.SIGCONT)


def step_database_clock(world, chance, pause):
    """The clock that all nodes share, as a time server or a hypervisor puts it: connections stay."""
    world.clocks_moved = True
    for _ in range(2):
        world.database.clock.put(chance.choice((-300, -20, -2, 2, 20, 300)))
        pause(chance.uniform(1.0, 2.5))
    world.database.clock.put(0)


def half_cut_database(world, chance, pause):
    """Nodes lose their connections in mid-commit; the sessions behind them go on and commit, later."""
    world.database.door.half_cut(chance.uniform(0.5, 2.0))
    pause(2.0)


def raise_gates_at_once(world, chance, pause):
    """Many approvals raised and decided in the same moment, on all nodes."""
    with crowd(world, chance, 24, "gate", [None]):
        pause(chance.uniform(1.5, 3.0))


@contextlib.contextmanager
def crowd(world, chance, count, kind, nodes):
    """Further callers, so many for each of `nodes`, who send messages of one kind only; None: to any of them."""
    from callers import Caller  # which needs what this module is for
    callers = [Caller(world, world.ledger, chance.random(), (kind,), node) for node in nodes for _ in range(count)]
    for caller in callers:
        caller.start()
    yield
    for caller in callers:
        caller.stopped.set()
    for caller in callers:
        caller.join(60)
        if caller.is_alive():
            world.ledger.complain(f"a caller of many who send messages of the kind {kind} hangs")


def keep_store_busy(world, chance, pause):
    """Streams that write more than a server would seal journals beside, on each node. Journals are sealed all the same."""
    with crowd(world, chance, 4, "flood", world.nodes):
        pause(1.0)
        stretches = []

        def is_sealed_while_busy():
            stretches.append(Busyness(world, pause))
            return stretches[-1].is_busy() and stretches[-1].sealed > 0
        try:
            world.wait_for(is_sealed_while_busy, "a journal is sealed while the store is busy")
        except AssertionError as why:
            world.ledger.complain(f"{why}; {', '.join(map(str, stretches))}")
        world.ledger.counts["store operations a second, at least, while a journal was sealed"] = int(stretches[-1].rate)


class Busyness:
    """What the servers' stores do in a second or more, by their own figures."""

    def __init__(self, world, pause):
        before, began = self.look(world), time.monotonic()
        pause(1.0)
        now, seconds = self.look(world), time.monotonic() - began
        self.rate = min((after[0] - first[0]) / seconds for first, after in zip(before, now))
        self.sealed = sum(after[1] - first[1] for first, after in zip(before, now))

    def __str__(self):
        return f"{self.rate:.0f} operations a second and {self.sealed:.0f} sealed"

    def is_busy(self):
        return self.rate > BUSY_PER_S

    @staticmethod
    def look(world):
        names = ("sluice_store_operations_total", "sluice_store_sealed_journals_total")
        return [[figures.get(name, 0) for name in names] for figures in (node.figures() for node in world.nodes)]


ANYWHERE = {"server killed": kill_node, "server stopped": stop_node, "server restarted": restart_node,
            "box killed": kill_box, "box stopped": stop_box, "disk full": fill_disk, "descriptors gone": take_files,
            "memory gone": take_memory, "clock put": step_clock, "network cut": cut_network,
            "connections broken": break_connections, "store kept busy": keep_store_busy}
def freeze_node(world, chance, pause):
    """One node stands still for much longer than it takes to call it dead, in the middle of whatever it wrote. The others
    take messages and keep records meanwhile: what it holds in the database must not hold them up."""
    node = world.strike(chance.choice(world.nodes))
    others = [other for other in world.nodes if other is not node]
    node.freeze()
    try:
        pause(chance.uniform(2.0, 4.0))
        for other in others:
            began = time.monotonic()
            try:
                other.serves_within(OTHERS_SERVE_S)
            except AssertionError as why:
                world.ledger.complain(f"{node.name} stands still, and after {time.monotonic() - began:.0f} s {why}")
    finally:
        if chance.random() < 0.5:
            node.kill()  # it never moves again
            node.start()
        else:
            node.thaw()


WITH_RUNNERS = {"runner killed": kill_runner, "runner stopped": stop_runner}
WITH_DATABASE = {"database killed": kill_database, "database connection killed": kill_backend,
                 "database stopped": stop_database, "database clock put": step_database_clock,
                 "database connections half dead": half_cut_database}
WITH_GATES = {"approvals at once": raise_gates_at_once}
WITH_OTHERS = {"server frozen": freeze_node}
# None of these takes a server, a sandbox or a way between them away: they are no reason for a run to be interrupted. A
# database that pauses or breaks off a connection stops everybody's writing, and nobody's work.
HARMLESS = {"clock put", "connections broken", "database clock put", "database connection killed", "database killed",
            "database stopped", "database connections half dead", "approvals at once", "store kept busy"}
PEACEFUL = {"clock put", "database clock put", "approvals at once", "store kept busy"}
WRITEBACK_MEETS_DATABASE = {"database killed", "database connection killed", "database stopped",
                            "database connections half dead"}
# By the problem that a run ended with: the faults that are no reason for it.
NO_REASON = {"run-interrupted": HARMLESS, "unavailable": PEACEFUL,
             "writeback-failed": HARMLESS - WRITEBACK_MEETS_DATABASE - {"connections broken"}}


def faults_for(world):
    found = dict(ANYWHERE)
    if world.stage == "runners":
        found |= WITH_RUNNERS
    else:
        found |= WITH_GATES
    if world.database:
        found |= WITH_DATABASE
    if len(world.nodes) > 1:
        found |= WITH_OTHERS
    if world.is_sanitized:
        del found["store kept busy"]  # nothing that is this slow does so many operations a second
        del found["memory gone"]  # a sanitizer reports what its own memory is taken for
    if world.checks_vptrs:
        del found["descriptors gone"]  # UBSan looks at a vptr through a pipe: if it gets none, every object is invalid
    return found
