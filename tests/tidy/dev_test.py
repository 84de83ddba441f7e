"""What ./dev does on a machine that has nothing: it is asked to, among stand-ins for the tools that it would call."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class OnABareMachine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # A copy, because what it writes down of the machine would be taken for true in this checkout.
        self.root = pathlib.Path(folder.name)
        (self.root / "dev").write_text((ROOT / "dev").read_text())
        self.bin = self.root / "bin"
        self.bin.mkdir()
        # Nothing is installed, nothing gets built, and whoever asks is root; the linked ones are Debian's essentials.
        for tool, script in {"dpkg-query": "exit 1", "id": "echo 0", "env": 'shift; exec "$@"', "apt-get": 'echo "apt-get $*"',
                             "cmake": "exit 1", "ninja": "exit 1"}.items():
            (self.bin / tool).write_text(f"#!/bin/sh\n{script}\n")
            (self.bin / tool).chmod(0o755)
        for tool in ("dirname", "nproc", "mkdir", "flock", "sed"):
            os.symlink(f"/usr/bin/{tool}", self.bin / tool)

    def installed_by(self, verb):
        """Each list that apt-get would have been given."""
        said = subprocess.run(["/bin/sh", self.root / "dev", verb], env={"PATH": str(self.bin)}, capture_output=True, text=True,
                              check=False).stdout
        return [line.split() for line in re.findall(r"^apt-get install .*--no-install-recommends (.*)$", said, re.M)]

    def test_run_names_all_that_it_installs_before_it_installs_any(self):
        lists = self.installed_by("run")
        self.assertEqual(len(lists), 1, lists)
        self.assertLessEqual({"clang-19", "nodejs", "npm"}, set(lists[0]))

    def test_a_user_installs_by_sudo(self):
        (self.bin / "id").write_text("#!/bin/sh\necho 1000\n")
        self.assertEqual(self.installed_by("run"), [], "neither root nor sudo")
        (self.bin / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (self.bin / "sudo").chmod(0o755)
        self.assertEqual(len(self.installed_by("run")), 1)

    def test_run_brings_what_the_first_page_tells_to_call_next(self):
        self.assertIn("curl -N", (ROOT / "README.md").read_text())
        self.assertIn("curl", {package for packages in self.installed_by("run") for package in packages})


class AfterAnUpgrade(unittest.TestCase):
    """A checkout that was built once, on a machine whose packages are what the file `packages` says."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a checkout ")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        tools = self.root / "bin"
        tools.mkdir()
        for tool, script in {
                "dpkg-query": f'case "$*" in *Version*) cat "{self.root}/packages" ;; *) echo ii ;; esac',
                "node": "exit 0", "npm": "exit 0", "ninja": 'echo "ninja $*"',
                "cmake": f'echo "cmake $*"; : >"{self.root}/build/build.ninja"'}.items():
            (tools / tool).write_text(f"#!/bin/sh\n{script}\n")
            (tools / tool).chmod(0o755)
        self.path = f"{tools}:/usr/bin:/bin"
        (self.root / "build").mkdir()
        (self.root / "dev").write_text((ROOT / "dev").read_text())
        (self.root / "packages").write_text("ii libc6-dev 2.36-9\n")
        self.build()

    def build(self, **env):
        done = subprocess.run(["/bin/sh", self.root / "dev", "build"], env={"PATH": self.path} | env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_everything_is_built_anew(self):
        (self.root / "packages").write_text("ii libc6-dev 2.36-10\n")
        said = self.build()
        self.assertIn("packages of the system have changed", said)
        self.assertIn("-t clean", said)
        self.assertIn("configuring build", said)
        self.assertNotIn("-t clean", self.build())

    def test_a_further_package_changes_nothing_until_it_is_upgraded(self):
        (self.root / "packages").write_text("ii clang-tidy-19 19.1.6\nii libc6-dev 2.36-9\n")
        self.assertNotIn("-t clean", self.build())
        (self.root / "packages").write_text("ii clang-tidy-19 19.1.7\nii libc6-dev 2.36-9\n")
        self.assertIn("-t clean", self.build())

    def test_a_name_that_was_only_known_may_become_a_package(self):
        (self.root / "packages").write_text("ii libc6-dev 2.36-9\nun dpkg-dev \n")
        self.build()
        (self.root / "packages").write_text("ii libc6-dev 2.36-9\nii dpkg-dev 1.21\n")
        self.assertNotIn("-t clean", self.build())

    def test_nothing_is_cleaned_below_tests_that_run_but_by_the_next_build(self):
        (self.root / "packages").write_text("ii libc6-dev 2.36-10\n")
        self.assertNotIn("-t clean", self.build(SLUICE_SAME_PACKAGES="1"))
        self.assertIn("-t clean", self.build())

    def test_a_removed_package_changes_everything(self):
        (self.root / "packages").write_text("ii cmake 3.25\n")
        self.assertIn("-t clean", self.build())

    def test_nothing_is_built_anew_without_one(self):
        said = self.build()
        self.assertNotIn("-t clean", said)
        self.assertNotIn("configuring", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
