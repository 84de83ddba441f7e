"""The tests of the TypeScript client, all of them: types, unit tests, then a real server on Node and in Chromium. Exits
with 77 only where npm's packages are neither here nor to be had."""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE.parents[1] / "tests" / "process"))

from browser_fixture import is_installed, registry_answers  # noqa: E402  (it is found only now)


def not_tested(why):
    print(f"THE TYPESCRIPT CLIENT WAS NOT TESTED: {why}", file=sys.stderr)
    sys.exit(77)


def install():
    """npm ci, unless what the lock file names is there. Suites may run side by side: one of them installs."""
    with open(HERE / "package-lock.json", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_installed(HERE, json.load(lock)["packages"]):
            return
        npm = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"], cwd=HERE,
                             capture_output=True, text=True, check=False)
        if npm.returncode != 0 and registry_answers():
            sys.exit(f"npm ci in {HERE} failed:\n{npm.stdout}\n{npm.stderr}")
        if npm.returncode != 0:
            not_tested(f"its packages are not cached, and the npm registry cannot be reached\n{npm.stderr}")


def run(*command):
    done = subprocess.run(command, cwd=HERE, check=False)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")


def compiled(project, out):
    """As if for the first time: what a source that is gone left behind must not be tested."""
    shutil.rmtree(HERE / out, ignore_errors=True)
    run("node", "node_modules/typescript/bin/tsc", "-p", project)


def tests(folder):
    return sorted(str(path.relative_to(HERE)) for path in (HERE / "build" / folder).glob("*.test.js"))


def main():
    if not shutil.which("node") or not shutil.which("npm"):
        not_tested("there is no node or no npm; ./dev test installs them")
    install()
    compiled("tsconfig.json", "dist")
    compiled("tsconfig.test.json", "build")
    # The files side by side: those of e2e have a server each, and wait more than they work.
    run("node", "--test", "--test-concurrency=3", *tests("unit"), *([] if "--unit" in sys.argv else tests("e2e")))


os.environ.setdefault("NO_COLOR", "1")
main()
