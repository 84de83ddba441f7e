"""What every package is made of: where things come from, and what they are called."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import manual

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
# Where each shell looks for what completes a program's words, under usr/share.
COMPLETIONS = {"bash": "bash-completion/completions/sluice", "zsh": "zsh/vendor-completions/_sluice",
               "fish": "fish/vendor_completions.d/sluice.fish"}


def run(*words, **more):
    """Runs a tool; what it said is shown only if it fails."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\nended with {done.returncode}")
    return done.stdout


def version_of_project():
    return re.search(r"project\(sluice .*VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def architecture():
    return run("dpkg", "--print-architecture").strip()


def epoch():
    """The time that goes into packages: that of the last commit, so that the same sources give the same bytes."""
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout.strip() or 0)


def debian_sources():
    """Where this machine gets Debian from; roots are made from the same."""
    found = [path for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list") if os.path.exists(path)]
    if not found:
        raise SystemExit("this machine names no Debian archive: neither debian.sources nor sources.list in /etc/apt")
    return found[0]


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def write_manual(binary, version, folder):
    date = time.strftime("%Y-%m-%d", time.gmtime(epoch()))
    for name, page in manual.pages(binary, version, date).items():
        write(folder / name, page)


def write_completions(binary, share):
    for shell, place in COMPLETIONS.items():
        write(share / place, manual.said(binary, "completion", shell))


def copy_program(binary, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(binary, to)
    to.chmod(0o755)
