"""The image as container tools see it: unpacked by one, started by another, as its own configuration says."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from machine import CACHE, PATIENCE_S, ROOT, get
import tree

LAYOUT = ROOT / "build" / "package" / "image"
VERSION = tree.version_of_project()
# Of what Kubernetes gives a privileged pod, what a runner could use; by the numbers that the kernel has for them.
PRIVILEGES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "NET_ADMIN": 12,
              "SYS_CHROOT": 18, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_RESOURCE": 24, "MKNOD": 27}
# crun does not start where control groups of both kinds are mounted.
ALONE = ["unshare", "--mount", "sh", "-c", "umount -l /sys/fs/cgroup/unified 2>/dev/null; exec \"$@\"", "-"]


def privileges():
    """Those that can be given here: nobody gives more than he has."""
    status = pathlib.Path("/proc/self/status").read_text()
    mine = int(re.search(r"^CapBnd:\s+(\w+)", status, re.M)[1], 16)
    return [f"CAP_{name}" for name, number in PRIVILEGES.items() if mine >> number & 1]


def unmask(config):
    """What docs/install.md tells to do for boxes."""
    for paths in ("maskedPaths", "readonlyPaths", "seccomp"):
        config["linux"].pop(paths, None)


class Image(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-image-", dir=CACHE.parent))
        self.addCleanup(shutil.rmtree, self.folder)
        self.name = self.folder.name
        self.pid = self.user = None

    def start(self, change):
        """A container as the image wants it, after `change` to what umoci makes of it."""
        tree.run("umoci", "unpack", "--image", f"{LAYOUT}:{VERSION}", self.folder / "bundle")
        file = self.folder / "bundle" / "config.json"
        config = json.loads(file.read_text())
        config["process"]["terminal"] = False
        config["mounts"] = [mount for mount in config["mounts"] if mount["type"] != "cgroup"]
        change(config)
        file.write_text(json.dumps(config))
        with open(self.folder / "log", "wb") as log:
            process = subprocess.Popen([*ALONE, "crun", "--cgroup-manager=disabled", "run", "--pid-file", self.folder / "pid",
                                        "--bundle", file.parent, self.name], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(self.stop, process)
        self.assertIn("listening on", process.stdout.readline(), (self.folder / "log").read_text())
        self.pid = (self.folder / "pid").read_text()
        self.user = f"{config['process']['user']['uid']}:{config['process']['user']['gid']}"

    def stop(self, process):
        subprocess.run(["crun", "kill", self.name, "TERM"], check=False, capture_output=True)
        process.wait(PATIENCE_S)
        process.stdout.close()

    def send(self, text):
        done = subprocess.run(["crun", "exec", "--user", self.user, self.name, "sluice", "send", "--data", "/data", text],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_another_tool_reads_what_it_says_of_itself(self):
        told = json.loads(tree.run("skopeo", "inspect", "--config", f"oci:{LAYOUT}:{VERSION}"))
        self.assertEqual(told["config"]["Entrypoint"], ["/usr/bin/sluice"])
        self.assertEqual(told["config"]["User"], "10001:10001")
        self.assertEqual((told["os"], told["architecture"]), ("linux", tree.architecture()))

    def test_serves_without_privileges_on_a_root_that_cannot_be_written(self):
        def change(config):
            config["root"]["readonly"] = True
            config["process"]["capabilities"] = {}
            config["process"]["args"] += ["--sandbox.driver", "off"]
            config["mounts"] += [{"destination": place, "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}
                                 for place in ("/tmp", "/data")]
        self.start(change)
        self.assertEqual(self.user, "10001:10001")
        get(self.pid, "http://127.0.0.1:8080/readyz")
        self.assertIn("hello\n", self.send("say hello"))

    def test_carries_boxes_where_proc_is_not_masked(self):
        self.start(unmask)
        get(self.pid, "http://127.0.0.1:8080/readyz")
        self.assertIn("\n+written\n", self.send("$ echo written >x && cat x"))

    def test_carries_boxes_in_a_privileged_pod(self):
        def change(config):
            unmask(config)
            config["process"]["user"] = {"uid": 0, "gid": 0}
            config["process"]["capabilities"] = {kind: privileges() for kind in ("bounding", "effective", "permitted")}
            config["process"]["noNewPrivileges"] = False
        self.start(change)
        get(self.pid, "http://127.0.0.1:8080/readyz")
        self.assertIn("\n+written\n", self.send("$ echo written >x && cat x"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
