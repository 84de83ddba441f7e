"""The tests of the TypeScript client, all of them: types, unit tests, then a real server on Node and in Chromium. Exits
with 77 only where npm's packages are neither here nor to be had."""
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parents[1]
LOCK = HERE / "package-lock.json"
INSTALLED = HERE / "node_modules" / ".package-lock.json"


def not_tested(why):
    print(f"THE TYPESCRIPT CLIENT WAS NOT TESTED: {why}", file=sys.stderr)
    sys.exit(77)


def registry_answers():
    asked = subprocess.run(["npm", "config", "get", "registry"], cwd=HERE, capture_output=True, text=True, check=False)
    try:
        with urllib.request.urlopen(asked.stdout.strip() or "https://registry.npmjs.org/", timeout=20):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def install():
    if INSTALLED.exists() and INSTALLED.stat().st_mtime >= LOCK.stat().st_mtime:
        return
    npm = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"], cwd=HERE,
                         capture_output=True, text=True, check=False)
    if npm.returncode == 0:
        INSTALLED.touch()
    elif registry_answers():
        sys.exit(f"npm ci in {HERE} failed:\n{npm.stdout}\n{npm.stderr}")
    else:
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
    run("node", "--test", *tests("unit"))
    if "--unit" not in sys.argv:
        # One file after the other: each has a server of its own, and one has a browser.
        for file in tests("e2e"):
            run("node", "--test", file)


os.environ.setdefault("NO_COLOR", "1")
main()
