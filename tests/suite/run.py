"""Builds and runs the tests: `./dev test [WHAT]` (docs/HACKING.md says what runs where, and how long it takes).

A run is a list of stages, each a build and the tests that need it. Builds go on while tests of earlier stages run, because
tests of real processes wait for half of their time. A story that fails is run once more, alone, at the end.
"""
import collections
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import catalogue
import outcomes
from catalogue import everyday, sanitized, units

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORES = len(os.sched_getaffinity(0))
# Stories wait more than they work.
STORIES_AT_ONCE = 2 * CORES
# Below the tests, whose time-outs go on while a compiler works, and not so far below that a busy machine starves it.
BUILD_NICENESS = 5
OUTPUT_BYTES_MAX = str(8 << 20)
# What a change must pass is judged by machines that wait no longer than 90 minutes. A test that hangs is ended before, so that
# there is a verdict, and it names the test.
CI_S_MAX = 80 * 60
HUNTED_TIMES = 20


@dataclasses.dataclass
class Stage:
    build: str  # a preset of CMakePresets.json
    targets: list
    select: object  # all tests of the build -> those to run; None: that it builds is all that is asked
    at_once: int = CORES
    times: int = 1  # how often each test runs, unless it fails before

    def __post_init__(self):
        self.built = threading.Event()
        self.build_log = ""
        self.failed_to_build = False

    @property
    def directory(self):
        return ROOT / "build" if self.build == "release" else ROOT / "build" / self.build


def those(*conditions):
    return lambda tests: [test for test in tests if all(condition(test) for condition in conditions)]


def release(*conditions):
    """The server comes first, so that its stories run while the other programs are compiled."""
    return [Stage("release", ["sluice"], those(lambda test: not units(test), *conditions), STORIES_AT_ONCE),
            Stage("release", ["tests"], those(units, *conditions))]


def benchmarks():
    """No test runs them, so this shows that they still compile."""
    return Stage("release", ["bench/all"], None)


def under_sanitizer(build, *conditions):
    return Stage(build, ["sluice", "tests"], those(sanitized, *conditions), STORIES_AT_ONCE)


def with_a_quarter(build, quarter):
    """All units, and a quarter of the stories."""
    def select(tests):
        quota = catalogue.dealt(tests, quarter)
        return [test for test in tests if sanitized(test) and (units(test) or test in quota)]
    return Stage(build, ["sluice", "tests"], select, STORIES_AT_ONCE)


def git(*arguments):
    # A checkout that belongs to somebody else, as in a container, has the same commits.
    return subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip()


def quarter_of_this_commit():
    """Consecutive commits have consecutive quarters. A shallow clone does not know how many came before: there the commit's
    name decides."""
    commit = git("rev-parse", "HEAD")
    if not commit:
        raise SystemExit("dev: git names no commit here, by which a quarter is chosen: ./dev test ci 0 (to 3) chooses one")
    if git("rev-parse", "--is-shallow-repository") == "true":
        return int(commit, 16) % catalogue.QUARTERS
    return int(git("rev-list", "--count", "HEAD")) % catalogue.QUARTERS


def stages_of_ci(quarter):
    say(f"quarter {quarter} of the stories runs under ASan+UBSan, quarter {(quarter + 2) % catalogue.QUARTERS} under TSan")
    return [*release(everyday), with_a_quarter("asan", quarter), with_a_quarter("tsan", quarter + 2), benchmarks()]


def stages_by_name(pattern):
    """Only what these tests need is built."""
    if not build("release", ["sluice"])[0]:
        raise SystemExit("dev: the server does not build")
    select = those(catalogue.matching(pattern))
    return [Stage("release", catalogue.targets_for(select(catalogue.listed(ROOT / "build"))) or ["sluice"], select)]


def hunt(pattern=None):
    """Each test many times, with every processor kept busy by something else: what fails is flaky."""
    if pattern is None:
        return [Stage("release", ["sluice"], those(catalogue.stories, everyday), STORIES_AT_ONCE, HUNTED_TIMES)]
    return [dataclasses.replace(stage, at_once=STORIES_AT_ONCE, times=HUNTED_TIMES) for stage in stages_by_name(pattern)]


def plan(words):
    match words:
        case []:
            return release(everyday)
        case ["thorough"]:
            return [*release(), under_sanitizer("asan"), under_sanitizer("tsan"), benchmarks()]
        case ["ci"]:
            return stages_of_ci(quarter_of_this_commit())
        case ["ci", quarter] if quarter.isdigit():
            return stages_of_ci(int(quarter))
        case ["release"]:
            return release()
        case ["asan" | "tsan" as name]:
            return [under_sanitizer(name)]
        case ["hunt"]:
            return hunt()
        case ["hunt", pattern]:
            return hunt(pattern)
        case ["module", module]:
            return [Stage("release", [f"{module}_test"], those(catalogue.matching(f"^{module}_test$")))]
        case [name]:
            return stages_by_name(name)
    raise SystemExit("dev: test takes nothing, thorough, ci, release, asan, tsan, hunt, module NAME, or part of a test's name")


def say(text):
    print(f"dev: {text}", flush=True)


class Children:
    """The programs that a run starts. Each leads a process group, by which all that it started ends with a run that is
    interrupted: a test's servers, too."""

    def __init__(self):
        self._lock, self._alive, self._is_over = threading.Lock(), set(), False

    def run(self, command, env=None, hear=None):
        """`hear` is called with each line of the output, which is printed too."""
        with self._lock:
            if self._is_over:
                raise OSError("the run is over")
            output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"} if hear else {}
            child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=env, process_group=0, **output)
            self._alive.add(child)
        for line in child.stdout or ():
            print(line, end="", flush=True)
            hear(line)
        status = child.wait()
        with self._lock:
            self._alive.discard(child)
        return status

    def kill(self):
        with self._lock:
            self._is_over = True
            for child in self._alive:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)


children = Children()
SAME_PACKAGES = {"SLUICE_SAME_PACKAGES": "1"}
built_presets = set()


def build(preset, targets, niceness=0):
    """Whether it builds, and what was said. Builds anew after an upgrade of packages when it builds this preset first, and not
    below tests that run already."""
    env = os.environ | (SAME_PACKAGES if preset in built_presets else {})
    built_presets.add(preset)
    said = collections.deque(maxlen=outcomes.LINES_OF_FAILURE_MAX)
    status = children.run(["nice", "-n", str(niceness), ROOT / "dev", "build", preset, *targets], env, said.append)
    return status == 0, "".join(said)


def build_all(stages):
    """One after the other. What does not compile once does not compile for a sanitizer either, so the rest is not tried."""
    broken = None
    for number, stage in enumerate(stages):
        stage.failed_to_build = True  # also if the build cannot even be started: nobody may wait for it for ever
        try:
            if broken:
                stage.build_log = f"not built, because {broken} was not"
                continue
            built, stage.build_log = build(stage.build, stage.targets, BUILD_NICENESS if number else 0)
            stage.failed_to_build = not built
            broken = None if built else f"{stage.build} ({' '.join(stage.targets)})"
        except OSError as error:
            stage.build_log = f"cannot build {stage.build}: {error}"
        finally:
            stage.built.set()


@contextlib.contextmanager
def busy_processors():
    """As on a machine that others use too."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(CORES)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def by_clock(deadline):
    """How ctest is told when to end all tests that still run: by a time of day, of which one that is past means tomorrow's."""
    if deadline is None:
        return []
    end = time.time() + max(deadline - time.monotonic(), 1)
    return ["--stop-time", time.strftime("%H:%M:%S", time.localtime(end))]


def ctest(build_name, directory, names, at_once, times=1, deadline=None):
    """Runs tests by name, each as often as `times` says unless it fails before, and returns their outcomes."""
    labels = {test.name: test.label for test in catalogue.listed(directory)}
    with tempfile.TemporaryDirectory(prefix="outcomes-", dir=directory) as folder:  # another run may go on here
        junit = pathlib.Path(folder, "junit.xml")
        children.run(["ctest", "--test-dir", directory, "-R", f"^({'|'.join(names)})$", "--output-on-failure", "--no-tests=error",
                      "-j", str(at_once), *by_clock(deadline), "--repeat", f"until-fail:{times}", "--output-junit", junit,
                      "--test-output-size-passed", OUTPUT_BYTES_MAX, "--test-output-size-failed", OUTPUT_BYTES_MAX],
                     os.environ | SAME_PACKAGES)
        found = outcomes.read(junit.read_text(errors="replace") if junit.exists() else "", build_name, labels)
    missing = set(names) - {outcome.name for outcome in found}
    found += [outcomes.Outcome(build_name, name, labels[name], "failed", 0, "ctest wrote no outcome") for name in sorted(missing)]
    return [outcome.with_report() if has_report(directory, outcome.name) else outcome for outcome in found]


def has_report(directory, name):
    """A sanitizer writes its findings there (tests/process/sanitized.py)."""
    reports = directory / "reports" / name
    return reports.is_dir() and any(reports.iterdir())


def run_stage(stage, deadline):
    stage.built.wait()
    if stage.failed_to_build:
        return [outcomes.Outcome(stage.build, "build", "", "failed", 0, stage.build_log)]
    if stage.select is None:
        return [outcomes.Outcome(stage.build, "build of " + " ".join(stage.targets), "", "passed", 0)]
    names = [test.name for test in stage.select(catalogue.listed(stage.directory))]
    if not names:
        return [outcomes.Outcome(stage.build, "no test has such a name", "", "failed", 0)]
    say(f"testing {stage.directory.relative_to(ROOT)}: {len(names)} tests, {stage.at_once} at a time")
    with contextlib.nullcontext() if stage.times == 1 else busy_processors():
        return ctest(stage.build, stage.directory, names, stage.at_once, stage.times, deadline)


def repeat(failure, directory, deadline):
    """Runs a failed test once more, alone, and keeps what was said both times."""
    say(f"{failure.title} failed; once more, alone")
    second = ctest(failure.build, directory, [failure.name], 1, deadline=deadline)[0]
    logs = ROOT / "build" / "flaky"
    logs.mkdir(parents=True, exist_ok=True)
    for ordinal, log in (("first", failure.log), ("second", second.log)):
        (logs / f"{failure.build}-{failure.name}.{ordinal}.log").write_text(log)
    return second


def conclude(found, repeats, seconds):
    verdict = outcomes.judge(found, repeats)
    print("\nslowest:", *outcomes.slowest(found), sep="\n")
    for outcome in verdict.skipped:
        print(f"skipped: {outcome.title}", *(f"  | {line}" for line in outcome.log.rstrip().splitlines()[-1:]), sep="\n")
    for outcome in verdict.flaky:
        print(f"flaky: {outcome.name} ({outcome.build}; build/flaky/{outcome.build}-{outcome.name}.first.log and .second.log)")
    if len(verdict.flaky) > outcomes.FLAKY_MAX:
        print(f"more than {outcomes.FLAKY_MAX} flaky tests: the run fails")
    for outcome in verdict.failed:
        print(f"failed: {outcome.title}", *(f"  | {line}" for line in outcomes.essence(outcome.log)), sep="\n")
    print(f"total: {outcomes.duration(seconds)}")
    print(verdict.counts, flush=True)
    return 0 if verdict.ok else 1


def main(words):
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("dev: stopped"))
    try:
        began = time.monotonic()
        return run_all(plan(words), began, began + CI_S_MAX if words[:1] == ["ci"] else None)
    finally:
        children.kill()


def run_all(stages, began, deadline=None):
    threading.Thread(target=build_all, args=(stages,), daemon=True).start()
    found = [outcome for stage in stages for outcome in run_stage(stage, deadline)]
    directories = {stage.build: stage.directory for stage in stages}
    is_hunt = any(stage.times > 1 for stage in stages)
    repeats = [] if is_hunt else [repeat(failure, directories[failure.build], deadline) for failure in outcomes.to_repeat(found)]
    return conclude(found, repeats, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
