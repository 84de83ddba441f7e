"""Sequences of waits as callbacks and as coroutines: what they cost while they run and while they wait."""
import re
import subprocess

from contender import BINARY, say

WAITING = BINARY.parent / "bench" / "waiting" / "waiting"
TIMES = {"launch": 100_000, "session": 100_000, "park": 300_000, "stream": 3_000_000}
FORMS = ("callbacks", "tasks")


def run(*words):
    return subprocess.run([WAITING, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True).stdout


def times_of(what, form, divisor):
    """(nanoseconds, allocations) of one; the least of three rounds, which neighbours disturbed least."""
    rounds = [run("run", what, form, TIMES[what] // divisor) for _ in range(3)]
    return min(tuple(float(n) for n in re.findall(r"([\d.]+) (?:ns|alloc)", text)) for text in rounds)


def measure(quick, _wanted):
    say("bench: waiting")
    lines = ["```", run("seeds", 500 if quick else 10_000) + "```", "",
             "| one | callbacks, ns | tasks, ns | callbacks, allocations | tasks, allocations |", "|---|---|---|---|---|"]
    for what in TIMES:
        (before_ns, before), (after_ns, after) = (times_of(what, form, 10 if quick else 1) for form in FORMS)
        lines.append(f"| {what} | {before_ns:.0f} | {after_ns:.0f} | {before:.1f} | {after:.1f} |")
    return "\n".join(lines) + "\n\n```\n" + run("memory") + "```\n"
