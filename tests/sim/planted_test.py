"""Every planted bug is found: `planted_test.py DIRECTORY SEEDS`, with the programs of plant.py's bugs in DIRECTORY.
Prints the table of docs/simulation.md."""
import concurrent.futures
import os
import re
import subprocess
import sys

from plant import BUGS


def find(directory, bug, seeds):
    """The seed that found it and the rule it broke; None and what was said, if nobody found it."""
    done = subprocess.run([f"{directory}/sim_{bug}", "--until-found", "--seeds", seeds, "--jobs", "1"],
                          capture_output=True, text=True, timeout=600)
    found = re.search(r"found by seed (\d+): (.*)", done.stdout)
    return (int(found.group(1)), found.group(2)) if found and done.returncode == 0 else (None, done.stdout + done.stderr)


def main(directory, seeds):
    missed = 0
    print("| planted bug | seeds needed | what was said |\n|---|---|---|")
    # As many at a time as there are processors; the table is in their order all the same.
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as side_by_side:
        searches = [side_by_side.submit(find, directory, bug, seeds) for bug in BUGS]
    for bug, search in zip(BUGS, searches):
        seed, said = search.result()
        said = re.sub(r"\b(run|con|apr)_[0-9a-z]{26}", r"\1_…", said.strip())[:110]
        missed += seed is None
        print(f"| {bug} | {seed or 'NOT FOUND'} | {said} |", flush=True)
    print(f"{len(BUGS) - missed} of {len(BUGS)} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
