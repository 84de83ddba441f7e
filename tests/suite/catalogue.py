"""Which tests there are, and which of them a stage runs."""
import dataclasses
import json
import re
import subprocess

# Tests of real processes. They share the machine with each other and with a compiler, so one that fails is run once more.
STORIES = {"process", "harness", "browser", "package", "install", "chaos"}
# Only `./dev test thorough` runs these.
LONG = {"package", "install", "chaos"}
# Tests that run none of our code, or somebody else's: a sanitizer has nothing to look at.
NOT_OURS = {"codebase", "judges"}
QUARTERS = 4


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    label: str


def tests_of(listing):
    """The tests in what `ctest --show-only=json-v1` prints."""
    found = []
    for entry in json.loads(listing)["tests"]:
        labels = next((p["value"] for p in entry["properties"] if p["name"] == "LABELS"), [""])
        found.append(Test(entry["name"], labels[0]))
    return found


def listed(directory):
    """The tests of a build directory that is configured."""
    return tests_of(subprocess.run(["ctest", "--test-dir", directory, "--show-only=json-v1"], stdout=subprocess.PIPE,
                                   text=True, check=True).stdout)


def everyday(test):
    return test.label not in LONG


def sanitized(test):
    return test.label not in NOT_OURS


def stories(test):
    return test.label in STORIES


def units(test):
    """Everything that is a program of its own: unit tests, corpora of the fuzzers, simulation, instruction counts."""
    return not stories(test) and sanitized(test)


def targets_for(tests):
    """What has to be built for them."""
    programs = {"unit": lambda test: test.name, "corpus": lambda _: "corpus_test", "sim": lambda _: "tests", "cost": lambda _: "cost"}
    return sorted({programs.get(test.label, lambda _: "sluice")(test) for test in tests})


def matching(pattern):
    return lambda test: re.search(pattern, test.name) is not None


def dealt(tests, quarter):
    """A quarter of the stories. They are dealt like cards, label by label, so that each quarter gets its share of the long
    ones and the same test is always in the same quarter while no other is added."""
    deck = sorted(filter(stories, tests), key=lambda test: (test.label, test.name))
    return set(deck[quarter % QUARTERS::QUARTERS])
