"""Growth: what a message and an event cost while a server has more and more of something. A table, and a plot for each."""
import json
import subprocess

from contender import BINARY, HERE, say, show
from growth import curves

CURVES = {  # name: (what grows, function, sizes, sizes of a rehearsal)
    "streams": ("open streams", curves.streams, (10, 100, 1_000, 10_000), (10, 100)),
    "length": ("messages in the conversation", curves.length, (1, 10, 100, 1_000, 10_000), (1, 100)),
    "stored": ("stored runs", curves.stored, (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000)),
    "parked": ("parked runs", curves.parked, (10, 100, 1_000, 10_000, 100_000), (10, 100)),
    "tenants": ("tenants", curves.tenants, (1, 10, 100, 1_000, 10_000), (1, 10)),
}


def draw(found):
    source = BINARY.parent / "bench" / "growth.json"
    source.write_text(json.dumps({"growth": found}))
    done = subprocess.run(["/usr/bin/python3", "-B", HERE / "plots.py", source, HERE / "plots"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        say(f"bench: no plots: {done.stderr[-500:]}")


def measure(quick, wanted):
    """The table, of the curves whose name contains a word of `wanted`; of all without one."""
    found, rows = [], [["what grows", "to", "CPU per message, µs", "CPU per event, µs", "first event p50, ms"], ["---"] * 5]
    for name, (what, curve, sizes, few) in CURVES.items():
        if wanted and not any(word in name for word in wanted):
            continue
        say(f"bench: growth, {name}")
        points = []
        try:
            for point in curve(few if quick else sizes, 2 if quick else 4):
                points.append(vars(point))
                rows.append([what, f"{point.size:,}", show(point.message_us), show(point.event_us), show(point.first_event_ms)])
        except (SystemExit, OSError, ValueError, KeyError) as fault:  # the other curves are drawn all the same
            say(f"  {fault}")
            rows.append([what, f"not measured further: {fault}", "–", "–", "–"])
        found.append({"name": name, "what": what, "points": points})
    draw(found)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
