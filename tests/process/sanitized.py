"""One file of stories, told to a server that was built with a sanitizer: python3 sanitized.py REPORTS test_NAME…

What a sanitizer finds goes to files in REPORTS and not to a log that a story may never read, from processes that a
story may kill. A report fails the story, whatever else became of it.
"""
import os
import pathlib
import shutil
import sys
import unittest


def main(folder, *names):
    reports = pathlib.Path(folder)
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    for options in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        os.environ[options] = f"{os.environ.get(options, '')}:log_path={reports}/report".lstrip(":")
    # Five to twenty times slower than what people run.
    os.environ.setdefault("SLUICE_TEST_PATIENCE", "120")
    told = unittest.main(module=None, argv=["sanitized.py", "-v", *names], exit=False).result
    found = sorted(reports.iterdir())
    for report in found:
        print(f"\n{report.name}:\n{report.read_text(errors='replace')[:20000]}", file=sys.stderr)
    sys.exit(0 if told.wasSuccessful() and not found else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
