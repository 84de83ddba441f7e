"""./dev lint [all]: everything that is found without running the program. Without `all`, clang-tidy and the compiler look
only at what differs from main; and in any case not at what passed before and has not changed since."""
import functools
import os
import pathlib
import re
import subprocess
import sys
import time

import changes
import clang_tidy
import headers
import includes
import openapi_lint
import passes
import pieces
import tasks

ROOT = pathlib.Path(__file__).resolve().parents[2]


# What others wrote, or what a build or a run left behind.
NOT_SOURCE = {".git", "build", "node_modules", "sluice-data"}
SHELL = re.compile(rb"#!.*\b(ba|da)?sh\b|# shellcheck shell=")


def shell_scripts(root):
    """Files that say in their first line that a shell runs them, whatever they are called."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = set(folders) - NOT_SOURCE
        for name in names:
            path = pathlib.Path(folder, name)
            if path.is_file() and not path.is_symlink():
                with open(path, "rb") as file:
                    if SHELL.match(file.readline(200)):
                        found.append(path)
    return sorted(found)


# Which rules there are, and by which flags everything is compiled.
DECIDES = {".clang-tidy", "CMakeLists.txt", "CMakePresets.json"}


class Lint:
    """Each step says what it complains about, and returns (whether it passed, what it did)."""

    def __init__(self, root, everything):
        self.root = root
        self.passed = passes.Passes(passes.default_folder())
        self.changed = None if everything else changes.changed_files(root)
        self.asan = root / "build" / "asan"

    @functools.cached_property
    def includes(self):
        return includes.Includes(self.root, [*pieces.system_folders(self.asan / "compile_commands.json"), *includes.system_folders()])

    def steps(self):
        return {"format": self.format, "shell": self.shell, "rules": self.rules, "openapi": self.openapi,
                "headers": self.headers, "clang-tidy": self.clang_tidy}

    def format(self):
        files = sorted(str(path) for folder in ("src", "tests", "bench") for ending in ("*.cc", "*.h")
                       for path in (self.root / folder).rglob(ending) if "node_modules" not in path.parts)
        at_once = len(os.sched_getaffinity(0))
        shares = [files[at::at_once] for at in range(at_once)]
        passed = True
        for _, fits, output in tasks.run_all([(["clang-format-19", "--dry-run", "-Werror", *share], None) for share in shares]):
            if not fits:
                print(output)
            passed = passed and fits
        return passed, f"{len(files)} files"

    def shell(self):
        # Some read a file beside them, which decides what is unused there.
        scripts = [str(path.relative_to(self.root)) for path in shell_scripts(self.root)]
        return self._run("shellcheck", "--external-sources", "--source-path=SCRIPTDIR", *scripts), f"{len(scripts)} scripts"

    def rules(self):
        return self._run("/usr/bin/python3", "-B", "tests/tidy/rules_test.py"), "the codebase's own rules"

    def openapi(self):
        return openapi_lint.judge(self.root), "openapi/openapi.yaml"

    def headers(self):
        self._configure()
        wanted = [path for path in headers.without_source(self.root) if self._may_differ(path)]
        alone = headers.HeadersAlone(self.root, self.includes, self.passed,
                                     pieces.flags_of_tests(self.asan / "compile_commands.json"))
        judged, compilations, complaints = alone.judge(wanted)
        return not complaints, f"{len(wanted)} headers compile alone; {judged} had to be looked at, in {compilations} compilations"

    def clang_tidy(self):
        self._configure()
        sources, missed = pieces.read(self.root, self.asan / "compile_commands.json")
        if missed:
            print("in no piece of the build, so nothing looks at them: "
                  + ", ".join(str(path.relative_to(self.root)) for path in missed))
        wanted = [source for source in sources if self._may_differ(source.path)]
        tidy = clang_tidy.ClangTidy(self.root, self.includes, self.passed)
        judged, complaints = tidy.judge(wanted, sources)
        return not complaints and not missed, f"{len(wanted)} sources; {judged} had to be looked at"

    def _may_differ(self, path):
        """Whether it, or a file that it reads, or what judges it differs from main."""
        if self.changed is None or any(path.name in DECIDES or path.suffix == ".cmake" for path in self.changed):
            return True
        # A header may be alone now because its source is gone.
        return not self.changed.isdisjoint({path, path.with_suffix(".cc"), *self.includes.reached(path)})

    def _configure(self):
        """Which sources there are and by which flags they are compiled is written down by CMake; ninja asks it again
        where a list of sources changed."""
        subprocess.run([self.root / "dev", "build", "asan", "build.ninja"], cwd=self.root, stdout=subprocess.DEVNULL, check=True)

    def _run(self, *command):
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout)
        return done.returncode == 0


def run(steps):
    """Runs every step, whatever the others say; returns the names of those that complained."""
    failed = []
    for name, step in steps.items():
        began = time.monotonic()
        try:
            passed, did = step()
        except (OSError, subprocess.CalledProcessError) as error:
            passed, did = False, str(error)
        if not passed:
            failed.append(name)
        print(f"lint: {name}: {did} ({'passed' if passed else 'COMPLAINED'}, {time.monotonic() - began:.1f} s)", flush=True)
    return failed


def main(arguments):
    if arguments not in ([], ["all"]):
        sys.exit("usage: ./dev lint [all]")
    lint = Lint(ROOT, everything=bool(arguments))
    failed = run(lint.steps())
    lint.passed.trim()
    print("lint: complaints from " + ", ".join(failed) if failed else "lint: nothing to complain about")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
