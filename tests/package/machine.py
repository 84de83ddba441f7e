"""A Debian 12 that has never seen Sluice, booted in namespaces of its own: systemd is its first process, and it has no
network but its own loopback. Made once (build/package/cache); each test gets a fresh copy."""
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "tests" / "process")]
import tree  # noqa: E402  (found by the line above)

CACHE = ROOT / "build" / "package" / "cache"
PATIENCE_S = 240
# Where apt keeps what the making of the root has fetched, so that the tests need no network; and nobody to ask.
APT = """Dir::Cache::Archives "/var/local/archives";
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "true";
"""


def root_tar(deb):
    """A root with apt and systemd, and beside them, not installed, what `deb` depends on."""
    depends = tree.run("dpkg-deb", "-f", deb, "Depends")
    tar = CACHE / f"root-{hashlib.sha256((depends + APT).encode()).hexdigest()[:12]}.tar"
    if tar.exists():
        return tar
    CACHE.mkdir(parents=True, exist_ok=True)
    made = tar.with_suffix(".part.tar")
    settings = CACHE / "apt.conf"
    settings.write_text(APT)
    tree.run("mmdebstrap", "--variant=apt", "--include=systemd,systemd-sysv,dbus", "--skip=cleanup/apt",
             f"--customize-hook=upload {deb} /root/sluice.deb",
             '--customize-hook=mkdir -p "$1/var/local/archives/partial"',
             f"--customize-hook=upload {settings} /etc/apt/apt.conf.d/99-test",
             '--customize-hook=chroot "$1" apt-get install --download-only /root/sluice.deb',
             '--customize-hook=rm "$1/root/sluice.deb"',
             "bookworm", made, tree.debian_sources())
    made.rename(tar)
    return tar


class Machine:
    def __init__(self, deb):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-machine-", dir=CACHE.parent))
        self.root = self.folder / "root"
        self.root.mkdir()
        tree.run("tar", "-xf", root_tar(deb), "-C", self.root, "--numeric-owner")
        self.process = self.leader = None

    def boot(self):
        """Until systemd says that the machine is up."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices, open(self.folder / "console", "wb") as console:
            notices.bind(str(self.folder / "notify"))
            notices.settimeout(PATIENCE_S)
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--notify-ready=yes",
                 f"--machine={self.folder.name.replace('_', '')}", "--boot", "-D", self.root],
                env=os.environ | {"NOTIFY_SOCKET": str(self.folder / "notify")}, stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT)
            said = {}
            while "READY" not in said:
                said |= dict(line.split("=", 1) for line in notices.recv(4096).decode().splitlines() if "=" in line)
        self.leader = said["X_NSPAWN_LEADER_PID"]
        return self

    def ends(self, *words):
        """Runs a command on the machine; gives how it ended."""
        return subprocess.run(["nsenter", "-t", self.leader, "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                               "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *words],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def says(self, *words):
        """The same, for a command that must succeed: what it printed."""
        done = self.ends(*words)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout.strip()

    def get(self, url):
        """Asks over HTTP from inside the machine's network, as soon as somebody listens there."""
        return get(self.leader, url)

    def put(self, file, place):
        shutil.copy(file, self.root / place.lstrip("/"))

    def install(self, deb):
        self.put(deb, "/root/sluice.deb")
        return self.says("apt-get", "install", "/root/sluice.deb")

    def stop(self):
        if self.leader:
            os.kill(int(self.leader), signal.SIGKILL)  # and nspawn ends when nobody of the machine is left
        elif self.process:
            self.process.kill()
        if self.process:
            self.process.wait(PATIENCE_S)
        shutil.rmtree(self.folder)


def get(pid, url):
    """Asks over HTTP from inside the network of a process, as soon as somebody listens there."""
    asked = subprocess.run(["nsenter", "-t", str(pid), "--net", "curl", "-fsS", "--retry", "60", "--retry-connrefused",
                            "--retry-delay", "1", url], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if asked.returncode != 0:
        raise AssertionError(f"{url}: {asked.stderr}")
    return asked.stdout
