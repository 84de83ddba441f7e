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
        self.bin = pathlib.Path(folder.name)
        # Nothing is installed, nothing gets built, and whoever asks is root; dirname and nproc are Debian's essentials.
        for tool, script in {"dpkg-query": "exit 1", "id": "echo 0", "env": 'shift; exec "$@"', "apt-get": 'echo "apt-get $*"',
                             "cmake": "exit 1", "ninja": "exit 1"}.items():
            (self.bin / tool).write_text(f"#!/bin/sh\n{script}\n")
            (self.bin / tool).chmod(0o755)
        for tool in ("dirname", "nproc"):
            os.symlink(f"/usr/bin/{tool}", self.bin / tool)

    def installed_by(self, verb):
        """Each list that apt-get would have been given."""
        said = subprocess.run(["/bin/sh", ROOT / "dev", verb], env={"PATH": str(self.bin)}, capture_output=True, text=True,
                              check=False).stdout
        return [line.split() for line in re.findall(r"^apt-get install .*--no-install-recommends (.*)$", said, re.M)]

    def test_run_names_all_that_it_installs_before_it_installs_any(self):
        lists = self.installed_by("run")
        self.assertEqual(len(lists), 1, lists)
        self.assertLessEqual({"clang-16", "nodejs", "npm"}, set(lists[0]))

    def test_run_brings_what_the_first_page_tells_to_call_next(self):
        self.assertIn("curl -N", (ROOT / "README.md").read_text())
        self.assertIn("curl", {package for packages in self.installed_by("run") for package in packages})


if __name__ == "__main__":
    unittest.main(verbosity=2)
