"""The packages on a clean Debian 12 under its own systemd: installed, upgraded, removed; and what cannot be seen from
lists of files, that the units let agents work. `./dev package --test` runs this."""
import json
import pathlib
import re
import tempfile
import time
import unittest

from machine import CACHE, ROOT, Machine
from snippets import blocks_of
import deb
import tree

OUT = ROOT / "build" / "package"
VERSION = tree.version_of_project()
DATA = "/var/lib/sluice"


def printed(begin):
    """The block of docs/install.md that begins so."""
    return next(block.text for block in blocks_of(ROOT / "docs" / "install.md") if block.text.startswith(begin))


def package():
    return OUT / f"sluice-server_{VERSION}_{tree.architecture()}.deb"


class MachineTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine(package())
        self.addCleanup(self.machine.stop)
        self.machine.boot()
        for library in ("libcurl4", "libpq5", "libsimdjson14", "libgit2-1.5"):
            self.assertNotEqual(self.machine.ends("dpkg", "-s", library).returncode, 0, f"{library} is there already")

    def told(self, begin, what):
        print(f"{what}: {time.monotonic() - begin:.1f} s", flush=True)

    def an_agent_works(self, program="sluice", data=DATA):
        done = self.machine.ends(program, "send", "--data", data, "$ echo written >x && cat x")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("\n+written\n", done.stdout + done.stderr, "the diff of what it changed")


class Debian(MachineTest):
    def test_is_installed_upgraded_removed_and_purged(self):
        with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
            older = deb.build(ROOT / "build" / "sluice", "0.0.9", pathlib.Path(folder))
            begin = time.monotonic()
            self.machine.install(older)
            self.told(begin, "install")
        self.is_at_work()
        self.units_are_sound()
        self.runner_works()
        conversation = self.conversation("say kept")
        self.upgrade(conversation)
        self.remove_and_come_back(conversation)
        self.purge()

    def is_at_work(self):
        machine = self.machine
        self.assertEqual(machine.says("systemctl", "is-enabled", "sluice"), "enabled")
        self.assertEqual(machine.ends("systemctl", "is-enabled", "sluice-runner").stdout.strip(), "disabled")
        machine.get("http://127.0.0.1:8080/healthz")
        machine.get("http://127.0.0.1:8080/readyz")
        self.assertIn("<html", machine.get("http://127.0.0.1:8080/console/"))
        self.assertEqual(machine.says("stat", "-c", "%U %a", DATA, "/etc/sluice/sluice.env"), "sluice 700\nroot 600")
        self.assertIn("hello there", machine.says("sh", "-ec", printed("sluice console")))
        self.an_agent_works()

    def units_are_sound(self):
        for unit in ("sluice.service", "sluice-runner.service"):
            verified = self.machine.ends("systemd-analyze", "verify", "--man=no", unit)
            self.assertEqual((verified.returncode, verified.stderr), (0, ""))
            judged = self.machine.says("systemd-analyze", "security", "--no-pager", unit)
            self.assertLess(float(re.search(r"exposure level for \S+: ([\d.]+)", judged)[1]), 4.0, judged)

    def runner_works(self):
        self.machine.says("sh", "-ec", printed("systemctl disable"))
        self.machine.get("http://127.0.0.1:8090/healthz")
        self.assertEqual(self.machine.ends("systemctl", "is-active", "sluice").stdout.strip(), "inactive")
        self.machine.says("systemctl", "enable", "--now", "sluice")
        self.machine.get("http://127.0.0.1:8080/readyz")

    def conversation(self, text):
        lines = self.machine.says("sluice", "send", "--data", DATA, "--json", text).splitlines()
        listed = json.loads(self.machine.says("sluice", "conversations", "list", "--data", DATA, "--json"))
        self.assertTrue(lines)
        return listed["data"][0]["id"]

    def is_kept(self, conversation):
        self.machine.get("http://127.0.0.1:8080/readyz")
        self.assertIn("kept", self.machine.says("sluice", "messages", conversation, "--data", DATA))

    def process(self, unit):
        return self.machine.says("systemctl", "show", "-P", "MainPID", unit)

    def upgrade(self, conversation):
        machine = self.machine
        machine.says("sh", "-c", "printf '[log]\\nformat = \"json\"\\n' >>/etc/sluice/sluice.toml")
        key = machine.says("cat", f"{DATA}/bootstrap.json")
        before = self.process("sluice"), self.process("sluice-runner")
        machine.put(package(), "/root")
        begin = time.monotonic()
        machine.says("sh", "-ec", "cd /root\n" + printed("apt install"))
        self.told(begin, "upgrade")
        self.assertEqual(machine.says("dpkg-query", "-W", "-f", "${Version}", "sluice-server"), VERSION)
        self.is_kept(conversation)
        after = self.process("sluice"), self.process("sluice-runner")
        self.assertFalse(set(before) & set(after), "both go on as the program that was installed")
        self.assertEqual(machine.says("cat", f"{DATA}/bootstrap.json"), key)
        self.assertIn('format = "json"', machine.says("cat", "/etc/sluice/sluice.toml"))
        self.an_agent_works()

    def remove_and_come_back(self, conversation):
        machine = self.machine
        machine.says("apt-get", "remove", "sluice-server")
        self.assertEqual(machine.ends("systemctl", "is-active", "sluice").stdout.strip(), "inactive")
        self.assertEqual(machine.ends("systemctl", "is-active", "sluice-runner").stdout.strip(), "inactive")
        self.assertNotEqual(machine.ends("which", "sluice").returncode, 0)
        machine.says("test", "-f", f"{DATA}/sluice.db", "-a", "-f", "/etc/sluice/sluice.toml")
        machine.install(package())
        self.is_kept(conversation)

    def purge(self):
        machine = self.machine
        machine.says("apt-get", "purge", "sluice-server")
        left = machine.says("find", "/etc", "/usr", "/lib/systemd", "/var/lib", "-name", "*sluice*", "-not", "-path",
                            "/var/lib/dpkg/*", "-not", "-path", "/var/lib/apt/*")
        self.assertEqual(left, "", "what is left after a purge")
        machine.says("getent", "passwd", "sluice")


class Tarball(MachineTest):
    def test_runs_where_nothing_it_needs_is_installed(self):
        name = f"sluice-{VERSION}-linux-{tree.architecture()}"
        self.machine.put(OUT / f"{name}.tar.gz", "/opt")
        self.machine.says("systemd-run", "--unit=from-tarball", "--working-directory=/opt", "sh", "-ec", printed("tar"))
        self.machine.get("http://127.0.0.1:8080/readyz")
        program = f"/opt/{name}/bin/sluice"
        self.assertEqual(self.machine.says(program, "version"), f"sluice {VERSION}")
        self.an_agent_works(program, "/opt/sluice-data")


if __name__ == "__main__":
    unittest.main(verbosity=2)
