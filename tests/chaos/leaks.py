"""What a world holds of the machine: processes, namespaces, mounts, control groups, descriptors, files; and the rows of its store.

Others may be at work on the same machine, so only what is ours is counted: processes that descend from ours or that see
our disks among their mounts.
"""
import json
import os
import pathlib

from faults import children_of
from world import SLOWNESS, wait_until
from upkeep_fixture import sluice

SLACK = {"descriptors": 12}  # idle connections of the readers, the log that grows anew


def read(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def ours(world):
    """Every process of the world, also one that lost its parent."""
    found = set()
    for place in world.places():
        if place.alive():
            found |= {place.process.pid, *children_of(place.process.pid)}
    homes = [str(place.home) for place in world.nodes + world.runners]
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        pid = int(proc.name)
        if pid in found or pid == os.getpid():
            continue
        if any(home in read(proc / "cmdline") for home in homes):
            found.add(pid)
        elif os.path.exists(proc / "ns/mnt") and differs(proc) and any(home in read(proc / "mountinfo") for home in homes):
            found.add(pid)
    return found


def differs(proc):
    """Is it in a mount namespace that is not ours?"""
    try:
        return os.readlink(proc / "ns/mnt") != os.readlink("/proc/self/ns/mnt")
    except OSError:
        return False


def count_namespaces(pids):
    found = set()
    for pid in pids:
        for kind in ("mnt", "pid", "net", "user"):
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                pass
    return len(found)


def count_mounts(world):
    """In our own namespace, at or below the homes of the world."""
    homes = [str(place.home) for place in world.nodes + world.runners]
    return sum(any(home in line for home in homes) for line in read("/proc/self/mountinfo").splitlines())


def count_groups(place):
    """Control groups of boxes, also of servers that are dead: the next one removes them."""
    names = tuple(f"sluice-{pid}." for pid in place.pids)
    # Groups go away while we look, anybody's; os.walk passes over those.
    return sum(1 + len(inner) for group, inner, _ in os.walk("/sys/fs/cgroup") if os.path.basename(group).startswith(names))


def count_files(place):
    """Of what lives no longer than a run: how many entries, by directory."""
    found = {}
    for name in ("sandbox/boxes", "spool", "files/unfinished"):
        directory = place.data / name
        found[f"{place.name} {name}/"] = len(os.listdir(directory)) if directory.is_dir() else 0
    return found


def count(world):
    """All of it, by name."""
    pids = ours(world)
    found = {"processes": len(pids), "namespaces": count_namespaces(pids), "mounts": count_mounts(world)}
    for place in world.places():
        found |= count_files(place)
        found[f"{place.name} control groups"] = count_groups(place)
        found[f"{place.name} descriptors"] = len(os.listdir(f"/proc/{place.process.pid}/fd"))
    return found


def look_through(world):
    """What `sluice store verify` says of the store, beside its servers: how many rows, and what is wrong with any of
    them: damaged, or left over from something that is gone."""
    place = ["--store", world.database.postgres.url] if world.database else []
    _, out, err = sluice("store", "verify", "--json", "--data", world.nodes[0].data, *place)
    said = json.loads(out or "{}")
    if "rows" not in said:
        return 0, [f"it cannot be looked through: {err[-500:]}"]
    return said["rows"], [f"{row['table']} {row['id']}: {row['what']}" for row in said["damage"]]


def steady(world):
    """The count once it has been the same for a while."""
    seen = []

    def is_steady():
        seen.append(count(world))
        return len(seen) > 20 and all(entry == seen[-1] for entry in seen[-20:])
    wait_until(is_steady, "the world is at rest", 60 * SLOWNESS)
    return seen[-1]
