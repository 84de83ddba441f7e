"""A test of what was built with a sanitizer: python3 sanitized.py REPORTS COMMAND…

What a sanitizer finds goes to files in REPORTS and not to a log that a test may never read, from processes that a test
may kill. A report fails the test, whatever else became of it.
"""
import os
import pathlib
import shutil
import subprocess
import sys


def main(folder, *command):
    reports = pathlib.Path(folder).resolve()
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    reports.chmod(0o777)  # also for processes that are no longer who they were
    for options in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        # In quotes, because a path may have a space or a colon.
        os.environ[options] = f"{os.environ.get(options, '')}:log_path='{reports}/report'".lstrip(":")
    # Five to twenty times slower than what people run.
    os.environ.setdefault("SLUICE_TEST_PATIENCE", "120")
    status = subprocess.run(command, check=False).returncode
    found = sorted(reports.iterdir())
    for report in found:
        print(f"\n{report.name}:\n{report.read_text(errors='replace')[:20000]}", file=sys.stderr)
    sys.exit(1 if found or status < 0 else status)


if __name__ == "__main__":
    main(*sys.argv[1:])
