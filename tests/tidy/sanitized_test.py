"""What tests/process/sanitized.py makes of a test: a sanitizer's report fails it, whoever wrote it and whatever was said."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SANITIZED = pathlib.Path(__file__).resolve().parents[1] / "process" / "sanitized.py"
# As a sanitizer does it: one file a process, at the path that it was told. It takes quotes off.
REPORT = """path = re.search("log_path='([^']*)'", os.environ['TSAN_OPTIONS'])[1]
open(f'{path}.{os.getpid()}', 'w').write('WARNING: ThreadSanitizer: data race')
"""


class Sanitized(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a checkout ")
        self.addCleanup(folder.cleanup)
        self.reports = pathlib.Path(folder.name) / "reports"

    def told(self, program):
        return subprocess.run([sys.executable, "-B", SANITIZED, self.reports, sys.executable, "-c", "import os, re\n" + program],
                              capture_output=True, text=True, check=False)

    def test_what_passes_without_a_report_passes(self):
        self.assertEqual(self.told("os._exit(0)").returncode, 0)

    def test_a_failure_and_what_cannot_be_run_here_stay_what_they_are(self):
        self.assertEqual([self.told(f"os._exit({status})").returncode for status in (1, 77)], [1, 77])

    def test_a_report_fails_what_passed_and_what_was_not_run(self):
        for status in (0, 77):
            told = self.told(f"{REPORT}os._exit({status})")
            self.assertEqual(told.returncode, 1)
            self.assertIn("data race", told.stderr)

    def test_a_report_of_a_process_that_was_killed_afterwards_counts(self):
        told = self.told(f"pid = os.fork()\nif pid == 0:\n  {REPORT.strip().replace(chr(10), chr(10) + '  ')}\n  os.kill(os.getpid(), 9)\nos.wait()")
        self.assertEqual(told.returncode, 1)
        self.assertIn("data race", told.stderr)

    def test_a_report_of_the_last_time_does_not(self):
        self.told(f"{REPORT}os._exit(0)")
        self.assertEqual(self.told("os._exit(0)").returncode, 0)

    def test_a_test_that_dies_of_a_signal_fails(self):
        self.assertEqual(self.told("os.kill(os.getpid(), 9)").returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
