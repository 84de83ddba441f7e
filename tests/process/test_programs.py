"""Agent programs from the command line: fetched by an npm of the test's making, listed, and started in a real box."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from server_process import BINARY, PATIENCE_S

VERSION = "0.166.0"
NPM = """#!/bin/bash
version=${!#}; version=${version##*@}
mkdir -p node_modules/@openai/codex
printf '{"name":"@openai/codex","version":"%s"}' $version >node_modules/@openai/codex/package.json
for machine in x64/vendor/x86_64 arm64/vendor/aarch64; do
  folder=node_modules/@openai/codex-linux-$machine-unknown-linux-musl/bin
  mkdir -p $folder
  printf '#!/bin/sh\\necho codex-cli %s\\n' $version >$folder/codex
  chmod 755 $folder/codex
done
"""


class Programs(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)
        (self.home / "bin").mkdir()
        self.npm(NPM)

    def npm(self, script):
        (self.home / "bin/npm").write_text(script)
        (self.home / "bin/npm").chmod(0o755)

    def harness(self, *words, status=0, path=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        environment["PATH"] = path or f"{self.home}/bin:/usr/bin:/bin"
        done = subprocess.run([BINARY, "harness", *words, "--data", self.home / "data"], capture_output=True, text=True,
                              timeout=PATIENCE_S, env=environment, check=False)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        self.stderr = done.stderr
        return done.stdout

    def listed(self, *flags):
        return {one["agent_type"]: one for one in json.loads(self.harness("list", "--json", *flags))}

    def test_an_installed_program_is_listed_and_starts_in_a_sandbox(self):
        self.assertEqual({one["where"] for one in self.listed().values()}, {"missing"})
        self.harness("install", "codex")
        self.assertIn(VERSION, self.stderr)
        codex = self.listed()["codex"]
        self.assertEqual((codex["where"], codex["version"]), ("installed", VERSION))
        self.assertTrue(codex["path"].startswith(str(self.home / "data/harness/codex/")))
        record = json.loads((self.home / "data/harness/codex/sluice-program.json").read_text())
        self.assertEqual(record, {"agent_type": "codex", "package": "@openai/codex", "version": VERSION})
        self.assertIn(f"{VERSION} runs in a sandbox", self.harness("check"))
        self.assertEqual((self.home / "data").stat().st_mode & 0o777, 0o700, "a server keeps its keys there")

    def test_another_version_is_installed_by_its_number_and_listed(self):
        self.harness("install", "codex@0.170.1")
        codex = self.listed()["codex"]
        self.assertEqual((codex["version"], codex["tested_version"]), ("0.170.1", VERSION))
        self.assertIn(f"tested with {VERSION}", codex["detail"])
        package = self.home / "data/harness/codex/node_modules/@openai/codex/package.json"
        package.write_text('{"name":"@openai/codex","version":"0.171.0"}')  # as npm update leaves it
        self.assertEqual(self.listed()["codex"]["version"], "0.171.0")
        for words, answer in ((("install", "codex@latest"), "names no exact version"), (("check", "codex@0.170.1"), "only install takes a version")):
            self.harness(*words, status=2)
            self.assertIn(answer, self.stderr)

    def test_another_directory_can_be_named(self):
        self.harness("install", "codex", "--dir", self.home / "elsewhere")
        self.assertEqual(self.listed("--harness.dir", self.home / "elsewhere")["codex"]["where"], "installed")
        self.assertEqual(self.listed()["codex"]["where"], "missing")

    def test_a_failed_installation_is_reported_and_leaves_nothing(self):
        self.assertIn("npm is not in PATH", self.harness("install", "codex", status=1, path=f"{self.home}/nothing"))
        self.npm("#!/bin/sh\necho npm error code ENOTFOUND >&2\nexit 1\n")
        self.assertIn("cannot reach its registry", self.harness("install", "codex", status=1))
        self.assertEqual(self.listed()["codex"]["where"], "missing")
        self.assertIn("sluice harness install codex", self.harness("check", "codex", status=1))

    def test_wrong_usage_prints_the_help(self):
        self.harness("install", "kodex", status=2)
        self.assertIn("did you mean codex?", self.stderr)
        self.harness("instal", status=2)
        self.assertIn("usage: sluice harness", self.stderr)
        self.assertIn("usage: sluice harness", self.harness("list", "--help"))


if __name__ == "__main__":
    unittest.main()
