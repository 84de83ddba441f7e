"""The misfortunes. Each strikes somebody on the stage, lasts for a while, and leaves the world mended."""
import os
import pathlib
import resource
import signal
import time

MEBI = 1 << 20


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


# Each takes the world, a source of chance, and `pause(seconds)`, which lets the load go on.

def kill_node(world, chance, pause):
    node = chance.choice(world.nodes)
    node.kill()
    if chance.random() < 0.3:
        pause(chance.uniform(0.1, 2.5))
    node.start()
    if chance.random() < 0.25:  # in the middle of recovery, perhaps
        node.kill()
        node.start()


def stop_node(world, chance, pause):
    node = chance.choice(world.nodes)
    node.freeze()
    pause(chance.choice((0.2, 1.0, 4.0)))
    node.thaw()


def restart_node(world, chance, pause):
    del pause
    node = chance.choice(world.nodes)
    node.stop()
    node.start()


def kill_runner(world, chance, pause):
    runner = chance.choice(world.runners)
    runner.kill()
    pause(chance.uniform(0.0, 1.5))
    runner.start()


def stop_runner(world, chance, pause):
    runner = chance.choice(world.runners)
    runner.freeze()
    pause(chance.choice((0.2, 1.0, 4.0)))
    runner.thaw()


def kill_box(world, chance, pause):
    for _ in range(3):
        inits = [pid for place in world.places() if has_boxes(place, world) for pid in box_inits(place.process.pid)]
        if inits:
            signal_if_there(chance.choice(inits), signal.SIGKILL)
        pause(0.2)


def stop_box(world, chance, pause):
    inits = [pid for place in world.places() if has_boxes(place, world) for pid in box_inits(place.process.pid)]
    for pid in inits:
        signal_if_there(pid, signal.SIGSTOP)
    pause(chance.uniform(0.3, 2.0))
    for pid in inits:
        signal_if_there(pid, signal.SIGCONT)


def fill_disk(world, chance, pause):
    place = chance.choice(world.nodes)
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


def processor_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def take_files(world, chance, pause):
    """No descriptor more than there are already, or a few. Who cannot accept a caller must wait, not spin."""
    place = chance.choice(world.places())
    pid = place.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    count = len(os.listdir(f"/proc/{pid}/fd")) + chance.choice((0, 1, 3, 10))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, before[1]))
    used_s, began = processor_s(pid), time.monotonic()
    pause(chance.uniform(1.5, 3.0))
    if place.alive():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        share = (processor_s(pid) - used_s) / (time.monotonic() - began)
        if share > 0.7:
            world.ledger.complain(f"{place.name} had no descriptors left and used {share:.0%} of a processor")


def take_memory(world, chance, pause):
    """Memory that cannot grow: whoever needs more dies of it, which is allowed."""
    place = chance.choice(world.places())
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
    place = chance.choice(world.places())
    world.clocks_moved = True
    for _ in range(2):
        place.clock.put(chance.choice((-86400, -3600, -5, 5, 3600, 86400)))
        pause(chance.uniform(0.3, 1.5))
    place.clock.put(0)


def cut_network(world, chance, pause):
    place = chance.choice(world.places())
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


ANYWHERE = {"server killed": kill_node, "server stopped": stop_node, "server restarted": restart_node,
            "box killed": kill_box, "box stopped": stop_box, "disk full": fill_disk, "descriptors gone": take_files,
            "memory gone": take_memory, "clock put": step_clock, "network cut": cut_network,
            "connections broken": break_connections}
WITH_RUNNERS = {"runner killed": kill_runner, "runner stopped": stop_runner}
WITH_DATABASE = {"database killed": kill_database, "database connection killed": kill_backend,
                 "database stopped": stop_database}


def faults_for(world):
    found = dict(ANYWHERE)
    if world.stage == "runners":
        found |= WITH_RUNNERS
    if world.database:
        found |= WITH_DATABASE
    if world.is_sanitized:
        del found["memory gone"]  # a sanitizer reports what its own memory is taken for
    return found
