"""Instructions of the hot paths, counted by callgrind and held against what they were.

    cost_test.py COST [--write]

Each is done N times and 2N times; the difference is what one costs, without the start of the program. A figure that rises
by more than a tenth fails: make it cheaper, or say in the change why it is worth it and write the new one down with
--write. One that falls by more than a tenth fails too, so that it stays where it was brought.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

EXPECTED = pathlib.Path(__file__).with_name("instructions.json")
TOLERANCE = 0.10
TIMES = {"append": 200}


def instructions(program, what, times):
    # What a library chooses by the processor would be another number on another machine.
    environment = {**os.environ, "SIMDJSON_FORCE_IMPLEMENTATION": "fallback"}
    ran = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, what, str(times)],
                         env=environment, capture_output=True, text=True, timeout=120)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode or not found:
        sys.exit(f"cost: {what} did not run:\n{ran.stderr[-2000:]}")
    return int(found[1])


def measure(program, what):
    times = TIMES.get(what, 2000)
    return (instructions(program, what, 2 * times) - instructions(program, what, times)) / times


def main():
    program, write = sys.argv[1], "--write" in sys.argv
    expected = json.loads(EXPECTED.read_text())
    seen, faults = {}, []
    for what, before in expected.items():
        seen[what] = round(measure(program, what))
        change = seen[what] / before - 1
        print(f"{what:14} {seen[what]:8,} instructions, {change:+.1%} of {before:,}")
        if abs(change) > TOLERANCE:
            faults.append(what)
    if write:
        EXPECTED.write_text(json.dumps(seen, indent=2) + "\n")
    elif faults:
        sys.exit(f"cost: changed by more than {TOLERANCE:.0%}: {', '.join(faults)} (docs/performance.md says how to go on)")


if __name__ == "__main__":
    main()
