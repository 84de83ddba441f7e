"""What became of each test, and what follows from it for the whole run: pure, so that every case can be tried."""
import dataclasses
import re
import xml.etree.ElementTree

from catalogue import STORIES

FLAKY_MAX = 2
# More failures than this have one cause, and running each again would only take time.
REPEATED_MAX = 6
SLOWEST = 10
# How GoogleTest, unittest, node and the sanitizers begin what they say of a failure.
COMPLAINT = re.compile(r": Failure$|^\[  FAILED  \]|^(FAIL|ERROR): |^not ok |^\s*✖ |Sanitizer: |: runtime error: ")
LINES_AFTER_COMPLAINT = 4
LINES_OF_FAILURE_MAX = 40


@dataclasses.dataclass(frozen=True)
class Outcome:
    build: str
    name: str
    label: str
    status: str  # passed, failed or skipped
    seconds: float
    log: str = ""
    reported: bool = False  # a sanitizer wrote a report

    @property
    def title(self):
        return f"{self.name} ({self.build})"

    def with_report(self):
        """It failed, also if the report came from a process that outlived the test."""
        return dataclasses.replace(self, status="failed", reported=True)


def read(junit, build, labels):
    """The outcomes in a file that `ctest --output-junit` wrote. None if it was ended while it wrote."""
    found = []
    try:
        cases = xml.etree.ElementTree.fromstring(junit).iter("testcase")
    except xml.etree.ElementTree.ParseError:
        return found
    for case in cases:
        skipped = case.find("skipped")
        if case.get("status") == "run":
            status = "passed"
        elif skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", ""):
            status = "skipped"
        else:
            status = "failed"  # it failed, took too long, or its program was not there
        name = case.get("name")
        found.append(Outcome(build, name, labels[name], status, float(case.get("time", 0)), case.findtext("system-out", "")))
    return found


def to_repeat(outcomes):
    """The failures that are worth another try. A unit test, the simulation and a sanitizer's report mean what they say."""
    again = [o for o in outcomes if o.status == "failed" and o.label in STORIES and not o.reported]
    return again if len(again) <= REPEATED_MAX else []


@dataclasses.dataclass(frozen=True)
class Verdict:
    passed: int
    failed: list
    skipped: list
    flaky: list

    @property
    def ok(self):
        return not self.failed and len(self.flaky) <= FLAKY_MAX

    @property
    def counts(self):
        """Flaky tests count as passed unless there are so many that the run fails for them."""
        excess = 0 if len(self.flaky) <= FLAKY_MAX else len(self.flaky)
        return f"{self.passed - excess} passed, {len(self.failed) + excess} failed, {len(self.skipped)} skipped"


def judge(outcomes, repeats):
    """`repeats` holds a second outcome for each test that was run again."""
    second = {(o.build, o.name): o for o in repeats}
    failures = [o for o in outcomes if o.status == "failed"]
    flaky = [o for o in failures if (o.build, o.name) in second and second[o.build, o.name].status == "passed"]
    failed = [o for o in failures if o not in flaky]
    skipped = [o for o in outcomes if o.status == "skipped"]
    return Verdict(len(outcomes) - len(skipped) - len(failed), failed, skipped, flaky)


def essence(log):
    """The few lines of a failed test's log that say what went wrong: thousands of others may come before them."""
    lines = log.rstrip().splitlines()
    chosen = sorted({near for at, line in enumerate(lines) if COMPLAINT.search(line)
                     for near in range(at, min(at + LINES_AFTER_COMPLAINT + 1, len(lines)))})
    if not chosen:
        return lines[-LINES_OF_FAILURE_MAX:]
    return [lines[at] for at in chosen[:LINES_OF_FAILURE_MAX]]


def slowest(outcomes):
    longest = sorted(outcomes, key=lambda o: -o.seconds)[:SLOWEST]
    return [f"  {o.seconds:6.1f} s  {o.title}" for o in longest]


def duration(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
