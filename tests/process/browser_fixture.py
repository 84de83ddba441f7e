"""What tests in a real browser need: their programs from npm, and a place for pictures.

Where the npm registry cannot be reached and nothing is installed, the suite says so loudly and exits with 77, which is
counted as skipped.
"""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from harness_fixture import registry_answers
from server_process import ROOT

BROWSER = ROOT / "tests" / "browser"
SHOTS = pathlib.Path(os.environ.get("SLUICE_SCREENSHOTS") or tempfile.mkdtemp(prefix="sluice-shots-"))


def is_installed(folder, wanted):
    """What is optional may be for other machines."""
    record = folder / "node_modules" / ".package-lock.json"
    have = json.loads(record.read_text())["packages"] if record.exists() else {}
    return all(have.get(path, {}).get("version") == package["version"] for path, package in wanted.items()
               if path.startswith("node_modules/") and not package.get("optional"))


def install(folder):
    """npm ci, unless what the lock file names is there. Suites may run side by side: one of them installs."""
    with open(folder / "package-lock.json", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_installed(folder, json.load(lock)["packages"]):
            return
        if not registry_answers():
            print(f"SKIPPED: {folder} is not installed, and the npm registry cannot be reached", file=sys.stderr, flush=True)
            os._exit(77)
        ended = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True,
                               timeout=300, check=False)
        if ended.returncode != 0:
            raise AssertionError(f"npm ci in {folder} failed:\n{ended.stdout}\n{ended.stderr}")
