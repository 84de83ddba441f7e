"""What telling an event costs: AG-UI's fold, for each kind of client, beside the Integration API's on the same journal.

Beside a story with steps, output and thoughts stands the detailed stream: the plain one leaves most of it out.
"""
import json
import subprocess

from contender import BINARY, show

FOLD = BINARY.parent / "bench" / "agui" / "fold_bench"
STORIES = {"text": ("10,000 deltas, a stamp each", "integration"),
           "bursts": ("10,000 deltas, 16 with the same stamp", "integration"),
           "short": ("runs of 50 deltas, from the fold's making to its end", "integration"),
           "mixed": ("text, thoughts, calls, steps, output, files", "full")}
PEERS = {"current": "AG-UI 1.0", "old": "before 1.0", "tanstack": "TanStack AI"}


def measure(rows, quick):
    lines = subprocess.run([FOLD, "--rounds", "20" if quick else "200"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    for told in map(json.loads, lines):
        what, beside = STORIES[told["story"]]
        base = told[beside]["ns"]
        for peer, name in PEERS.items():
            rows.add(f"fold, {what}: {name}", f"× Integration{' in detail' if beside == 'full' else ''}",
                     told[peer]["ns"] / base,
                     f"{show(base)} ns an event; AG-UI {show(told[peer]['ns'])}", at_most=2)
