"""Has the official clients of AG-UI and TanStack AI judge the recorded streams. Installs them once, at pinned versions;
where there is no node or no registry it says so, and exits with 77: not judged."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
INSTALLED = HERE / "node_modules" / ".package-lock.json"


def not_judged(why):
    print(f"THE AG-UI STREAMS WERE NOT JUDGED: {why}", file=sys.stderr)
    sys.exit(77)


def install():
    lock = HERE / "package-lock.json"
    if INSTALLED.exists() and INSTALLED.stat().st_mtime >= lock.stat().st_mtime:
        return
    npm = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000"], cwd=HERE,
                         capture_output=True, text=True, check=False)
    if npm.returncode != 0:
        not_judged(f"npm ci in {HERE} failed. With a registry in reach it must not.\n{npm.stderr}")
    INSTALLED.touch()


def main():
    if not shutil.which("node") or not shutil.which("npm"):
        not_judged("there is no node or no npm; ./dev test installs them")
    install()
    sys.exit(subprocess.run(["node", "run_judges.mjs"], cwd=HERE, check=False).returncode)


main()
