"""How ./dev test decides: which tests a stage runs, which failures get another try, and when a run passes. The last part runs
the real ctest on small tests of its own."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import catalogue
import outcomes
import run
from catalogue import Test
from outcomes import Outcome


def outcome(name="process_crash", label="process", status="failed", **fields):
    return Outcome("release", name, label, status, 1.0, **fields)


class Judging(unittest.TestCase):
    def test_a_run_without_failures_passes(self):
        verdict = outcomes.judge([outcome(status="passed"), outcome("x", status="skipped")], [])
        self.assertTrue(verdict.ok)
        self.assertEqual(verdict.counts, "1 passed, 0 failed, 1 skipped")

    def test_a_story_that_fails_once_is_flaky_and_the_run_passes(self):
        verdict = outcomes.judge([outcome()], [outcome(status="passed")])
        self.assertTrue(verdict.ok)
        self.assertEqual([o.name for o in verdict.flaky], ["process_crash"])
        self.assertEqual(verdict.counts, "1 passed, 0 failed, 0 skipped")

    def test_a_story_that_fails_twice_fails_the_run(self):
        verdict = outcomes.judge([outcome()], [outcome()])
        self.assertFalse(verdict.ok)
        self.assertEqual(verdict.counts, "0 passed, 1 failed, 0 skipped")

    def test_a_story_that_cannot_be_run_the_second_time_fails_the_run(self):
        self.assertFalse(outcomes.judge([outcome()], [outcome(status="skipped")]).ok)

    def test_a_second_pass_in_another_build_excuses_nothing(self):
        self.assertFalse(outcomes.judge([outcome()], [Outcome("asan", "process_crash", "process", "passed", 1.0)]).ok)

    def test_two_flaky_tests_pass_and_three_fail_the_run(self):
        names = ["a", "b", "c"]
        for count, ok in ((2, True), (3, False)):
            first = [outcome(name) for name in names[:count]]
            verdict = outcomes.judge(first, [outcome(name, status="passed") for name in names[:count]])
            self.assertEqual(verdict.ok, ok)
        self.assertEqual(verdict.counts, "0 passed, 3 failed, 0 skipped")

    def test_unit_tests_and_the_simulation_are_never_repeated(self):
        for label in ("unit", "sim", "corpus", "cost", "codebase", "judges"):
            self.assertEqual(outcomes.to_repeat([outcome(label=label)]), [])

    def test_every_kind_of_story_is_repeated(self):
        for label in ("process", "harness", "browser", "package", "install", "chaos"):
            self.assertEqual(len(outcomes.to_repeat([outcome(label=label)])), 1)

    def test_a_sanitizers_report_is_not_forgiven(self):
        self.assertEqual(outcomes.to_repeat([outcome(reported=True)]), [])

    def test_a_report_of_a_process_that_outlived_its_test_fails_it(self):
        late = outcome(status="passed").with_report()
        self.assertFalse(outcomes.judge([late], []).ok)
        self.assertEqual(outcomes.to_repeat([late]), [])

    def test_very_many_failures_are_not_repeated(self):
        self.assertEqual(outcomes.to_repeat([outcome(str(n)) for n in range(outcomes.REPEATED_MAX + 1)]), [])


class Summing_up(unittest.TestCase):
    def test_a_failure_is_found_among_thousands_of_lines(self):
        passed = [f"[       OK ] Some.Test_{n} (0 ms)" for n in range(5000)]
        failure = ["x_test.cc:33: Failure", "Expected: (a) >= (800), actual: 765 vs 800", "[  FAILED  ] Limits.Time (6498 ms)"]
        lines = outcomes.essence("\n".join(passed + failure + passed))
        self.assertEqual(lines[:3], failure)
        self.assertLess(len(lines), 10)

    def test_each_kind_of_complaint_is_known(self):
        for line in ("FAIL: test_a (test_crash.Crash)", "ERROR: test_b (test_crash.Crash)", "not ok 3 - reads", "  ✖ reads (3ms)",
                     "WARNING: ThreadSanitizer: data race (pid=1)", "==1==ERROR: AddressSanitizer: heap-use-after-free",
                     "a.cc:1:2: runtime error: signed integer overflow"):
            self.assertEqual(outcomes.essence("\n".join(["before"] * 100 + [line] + ["after"] * 100))[0], line)

    def test_a_log_without_a_complaint_shows_its_end_and_none_is_without_bound(self):
        self.assertEqual(outcomes.essence("\n".join(map(str, range(100))) + "\n"), [str(n) for n in range(60, 100)])
        self.assertEqual(len(outcomes.essence("FAIL: x\n" * 1000)), outcomes.LINES_OF_FAILURE_MAX)
        self.assertEqual(outcomes.essence(""), [])


class Choosing(unittest.TestCase):
    tests = [Test(name, label) for label, names in {
        "process": "abcdefg", "harness": "hijk", "browser": "lmn", "chaos": "op", "unit": "qr", "codebase": "s"}.items()
        for name in names]

    def test_four_quarters_have_every_story_once(self):
        quarters = [catalogue.dealt(self.tests, n) for n in range(4)]
        self.assertEqual(sum(map(len, quarters)), 16)
        self.assertEqual(set.union(*quarters), {test for test in self.tests if catalogue.stories(test)})

    def test_each_quarter_has_one_of_four_agent_programs(self):
        for quarter in range(4):
            self.assertEqual(sum(test.label == "harness" for test in catalogue.dealt(self.tests, quarter)), 1)

    def test_a_change_runs_all_units_and_a_quarter_under_each_sanitizer(self):
        with contextlib.redirect_stdout(io.StringIO()):
            stages = run.plan(["ci", "1"])
        chosen = {stage.build: set(stage.select(self.tests)) for stage in stages[2:] if stage.select}
        units = {test for test in self.tests if test.label == "unit"}
        self.assertEqual(chosen["asan"], units | catalogue.dealt(self.tests, 1))
        self.assertEqual(chosen["tsan"], units | catalogue.dealt(self.tests, 3))

    def test_the_everyday_run_leaves_out_only_what_the_thorough_one_has(self):
        def names(words):
            return {(stage.build, test.name) for stage in run.plan(words) if stage.select
                    for test in stage.select(self.tests)}
        everyday, thorough = names([]), names(["thorough"])
        self.assertEqual({name for build, name in thorough - everyday if build == "release"}, {"o", "p"})
        self.assertEqual(everyday - thorough, set())
        for build in ("asan", "tsan"):
            self.assertEqual({name for where, name in thorough if where == build}, {t.name for t in self.tests if t.name != "s"})

    def test_consecutive_commits_have_consecutive_quarters(self):
        with mock.patch.object(run.subprocess, "run") as git:
            git.return_value.stdout = "41\n"
            before = run.quarter_of_this_commit()
            git.return_value.stdout = "42\n"
            self.assertEqual(run.quarter_of_this_commit(), (before + 1) % 4)

    def test_without_a_commit_no_quarter_is_guessed(self):
        with mock.patch.object(run.subprocess, "run") as git, self.assertRaisesRegex(SystemExit, "./dev test ci 0"):
            git.return_value.stdout = ""
            run.quarter_of_this_commit()

    def test_where_commits_cannot_be_counted_their_names_decide(self):
        said = {"--is-shallow-repository": "true\n", "HEAD": "c0ffee7\n"}
        with mock.patch.object(run.subprocess, "run", side_effect=lambda command, **_: mock.Mock(stdout=said[command[-1]])):
            self.assertEqual(run.quarter_of_this_commit(), 3)

    def test_only_what_a_test_needs_is_built_for_it(self):
        for name, label, target in (("store_test", "unit", "store_test"), ("corpus_json", "corpus", "corpus_test"),
                                    ("sim_planted", "sim", "tests"), ("process_crash", "process", "sluice"), ("tidy", "codebase", "sluice")):
            self.assertEqual(catalogue.targets_for([Test(name, label)]), [target])

    def test_an_argument_that_means_nothing_is_refused(self):
        with self.assertRaises(SystemExit):
            run.plan(["module"] * 3)


# A test passes the second time that it is run.
TESTS = """
add_test(passes "/bin/true")
set_tests_properties(passes PROPERTIES LABELS unit)
add_test(fails "/bin/sh" "-c" "echo what went wrong; exit 1")
set_tests_properties(fails PROPERTIES LABELS {label})
add_test(flaky "/bin/sh" "-c" "echo said; mkdir {marker} && exit 1; exit 0")
set_tests_properties(flaky PROPERTIES LABELS process)
add_test(rarely "/bin/sh" "-c" "echo x >>{marker} && test $(wc -l <{marker}) -lt 5")
set_tests_properties(rarely PROPERTIES LABELS process)
add_test(cannot "/bin/sh" "-c" "echo there is no npm; exit 77")
set_tests_properties(cannot PROPERTIES LABELS process SKIP_RETURN_CODE 77)
add_test(gone "/nowhere/to/be/found")
set_tests_properties(gone PROPERTIES LABELS unit)
"""


def is_running(pid):
    """Not if it is dead and only nobody has asked how it ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Running(unittest.TestCase):
    def run_tests(self, *names, label="process", times=1):
        """What a run of these tests prints, and its exit status."""
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="a checkout ")))
        (root / "build").mkdir()
        (root / "build" / "CTestTestfile.cmake").write_text(TESTS.format(marker=f"'{root}/seen'", label=label))
        stage = run.Stage("release", ["x"], lambda tests: [test for test in tests if test.name in names], times=times)
        printed = tempfile.TemporaryFile("w+")
        self.addCleanup(printed.close)
        with mock.patch.multiple(run, ROOT=root, build=lambda *_: (True, ""), plan=lambda _: [stage], children=run.Children()):
            terminal = os.dup(1)
            sys.stdout.flush()
            os.dup2(printed.fileno(), 1)
            try:
                status = run.main([])
                sys.stdout.flush()
            finally:
                os.dup2(terminal, 1)
                os.close(terminal)
        printed.seek(0)
        self.logs = {path.name: path.read_text() for path in (root / "build" / "flaky").glob("*")}
        return printed.read(), status

    def test_all_that_passes_passes(self):
        said, status = self.run_tests("passes", "cannot")
        self.assertEqual(status, 0, said)
        self.assertTrue(said.endswith("1 passed, 0 failed, 1 skipped\n"), said)
        self.assertIn("\nskipped: cannot (release)\n  | there is no npm\n", said)
        self.assertRegex(said, r"slowest:\n +\d+\.\d s  \w+ \(release\)\n")
        self.assertRegex(said, r"\ntotal: 0 min \d+ s\n")

    def test_a_flaky_story_is_named_and_both_logs_are_kept(self):
        said, status = self.run_tests("passes", "flaky")
        self.assertEqual(status, 0, said)
        self.assertIn("\nflaky: flaky (release", said)
        self.assertEqual(set(self.logs), {"release-flaky.first.log", "release-flaky.second.log"})
        for log in self.logs.values():
            self.assertIn("said", log)
        self.assertTrue(said.endswith("2 passed, 0 failed, 0 skipped\n"), said)

    def test_a_story_that_fails_twice_fails_the_run(self):
        said, status = self.run_tests("passes", "fails")
        self.assertEqual(status, 1, said)
        self.assertIn("\nfailed: fails (release)\n", said)
        self.assertIn("\n  | what went wrong\n", said)
        self.assertEqual(len(self.logs), 2)

    def test_a_unit_test_gets_no_second_try(self):
        _, status = self.run_tests("fails", label="unit")
        self.assertEqual((status, self.logs), (1, {}))

    def test_a_hunt_finds_what_seldom_fails_and_forgives_nothing(self):
        self.assertEqual(self.run_tests("rarely", times=4)[1], 0)
        said, status = self.run_tests("rarely", times=20)
        self.assertEqual(status, 1, said)
        self.assertNotIn("flaky:", said)
        self.assertIn("\nfailed: rarely (release)\n", said)
        self.assertEqual(self.logs, {})

    def test_an_interrupted_run_leaves_no_process(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="a checkout ")))
        (root / "build").mkdir()
        (root / "build" / "CTestTestfile.cmake").write_text(
            """add_test(sleeps "/bin/sh" "-c" "sleep 1000 & echo $! >pid; echo; wait")
            set_tests_properties(sleeps PROPERTIES LABELS process)""")
        program = f"""import sys, unittest.mock, run
stages = [run.Stage("release", ["x"], lambda tests: tests), run.Stage("release", ["never"], None)]
run.build = lambda preset, targets, _: (run.children.run(["sleep", "1000"] if targets == ["never"] else ["true"]) == 0, "")
run.plan, run.ROOT = lambda _: stages, run.pathlib.Path({str(root)!r})
run.main([])"""
        with subprocess.Popen([sys.executable, "-B", "-c", program], cwd=pathlib.Path(run.__file__).parent,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            self.addCleanup(running.kill)
            said = b""
            while not (root / "build" / "pid").exists() or not (root / "build" / "pid").read_text().strip():
                self.assertIsNone(running.poll(), said)
            sleeping = int((root / "build" / "pid").read_text())
            running.terminate()
            said = running.stdout.read()
            self.assertNotEqual(running.wait(), 0)
        self.assertIn(b"dev: stopped", said)
        deadline = time.monotonic() + 60
        while is_running(sleeping):
            self.assertLess(time.monotonic(), deadline, said)

    def test_a_test_whose_program_is_missing_fails_the_run(self):
        self.assertEqual(self.run_tests("gone")[1], 1)

    def test_a_selection_without_tests_fails_the_run(self):
        self.assertEqual(self.run_tests("no such test")[1], 1)

    def test_a_build_that_cannot_be_started_fails_the_run(self):
        stages = [run.Stage("release", ["x"], None), run.Stage("asan", ["x"], None)]
        with mock.patch.multiple(run, build=mock.Mock(side_effect=OSError("no dev")), plan=lambda _: stages):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(run.main([]), 1)
        self.assertIn("0 passed, 2 failed", said.getvalue())

    def test_a_build_that_fails_fails_the_run(self):
        for select in (lambda tests: tests, None):
            stage = run.Stage("release", ["x"], select)
            with mock.patch.multiple(run, build=lambda *_: (False, "x.cc:1: error: no\n"), plan=lambda _, stage=stage: [stage]):
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    self.assertEqual(run.main([]), 1)
            self.assertIn("failed: build (release)\n  | x.cc:1: error: no\n", said.getvalue())

    def test_what_does_not_compile_is_not_compiled_for_sanitizers_either(self):
        stages = [run.Stage("release", ["x"], None), run.Stage("asan", ["x"], None)]
        build = mock.Mock(return_value=(False, "no"))
        with mock.patch.multiple(run, build=build, plan=lambda _: stages):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(run.main([]), 1)
        self.assertEqual(build.call_count, 1)
        self.assertIn("failed: build (asan)\n  | not built, because release (x) was not\n", said.getvalue())

    def test_the_output_of_a_build_is_printed_and_kept(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="a checkout ")))
        (root / "dev").write_text("#!/bin/sh\nseq 100; echo $*; exit 1\n")
        (root / "dev").chmod(0o755)
        with mock.patch.multiple(run, ROOT=root, built_presets=set(), children=run.Children()), contextlib.redirect_stdout(io.StringIO()) as said:
            built, log = run.build("release", ["x"])
        self.assertFalse(built)
        self.assertTrue(log.endswith("99\n100\nbuild release x\n"), log)
        self.assertIn("\n7\n", said.getvalue())
        self.assertNotIn("\n7\n", log)

    def test_a_test_that_hangs_is_ended_in_time_for_a_verdict(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="a checkout ")))
        (root / "build").mkdir()
        (root / "build" / "CTestTestfile.cmake").write_text("""add_test(hangs "/bin/sleep" "1000")
            set_tests_properties(hangs PROPERTIES LABELS unit)""")
        stage = run.Stage("release", ["x"], lambda tests: tests)
        with mock.patch.multiple(run, ROOT=root, build=lambda *_: (True, ""), plan=lambda _: [stage], CI_S_MAX=2,
                                 children=run.Children()), contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(run.main(["ci"]), 1)
        self.assertIn("failed: hangs (release)", said.getvalue())


if __name__ == "__main__":
    unittest.main(verbosity=2)
