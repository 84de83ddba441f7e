"""What a process stands on, each its own: a network, a disk and a wall clock that can be taken away from it."""
import os
import pathlib
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


class Network:
    """A network namespace with one cable to ours."""

    def __init__(self, number):
        mine = os.getpid() % 16384
        self.name = f"chaos-{os.getpid()}-{number}"
        self.near_end = f"ch{mine}x{number}"
        block = (mine * 16 + number) * 4
        prefix = f"10.{128 + (block >> 16)}.{block >> 8 & 255}"
        self.outside, self.inside = f"{prefix}.{(block & 255) + 1}", f"{prefix}.{(block & 255) + 2}"
        call("ip", "netns", "add", self.name)
        try:
            call("ip", "link", "add", self.near_end, "type", "veth", "peer", "name", "eth0", "netns", self.name)
            call("ip", "address", "add", f"{self.outside}/30", "dev", self.near_end)
            call("ip", "link", "set", self.near_end, "up")
            call("ip", "-n", self.name, "address", "add", f"{self.inside}/30", "dev", "eth0")
            call("ip", "-n", self.name, "link", "set", "eth0", "up")
            call("ip", "-n", self.name, "link", "set", "lo", "up")
            call("ip", "-n", self.name, "route", "add", "default", "via", self.outside)
        except AssertionError:
            self.remove()
            raise

    def command(self):
        """What stands before a command that is to run in it. The process stays the one that was started."""
        return ["nsenter", f"--net=/run/netns/{self.name}", "--"]

    def cut(self):
        call("ip", "link", "set", self.near_end, "down")

    def mend(self):
        call("ip", "link", "set", self.near_end, "up")

    def remove(self):
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)


class Disk:
    """A small file system in memory."""

    def __init__(self, path, mib):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True)
        call("mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "sluice-chaos", self.path)
        self.ballast = self.path / "ballast"

    def fill(self, leave_bytes):
        """Leaves so much of it free. Whoever else writes meanwhile takes part in the race for the rest."""
        with open(self.ballast, "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                file.truncate(max(0, file.tell() - leave_bytes))

    def empty(self):
        self.ballast.unlink(missing_ok=True)

    def remove(self):
        subprocess.run(["umount", "-l", str(self.path)], capture_output=True)


class Clock:
    """The wall clock of whoever is started with its environment."""

    def __init__(self, home):
        self.file = pathlib.Path(home) / "clock"
        self.shim = pathlib.Path(home) / "clock_shim.so"
        call("cc", "-shared", "-fPIC", "-O2", "-o", self.shim, HERE / "clock_shim.c")
        self.file.write_bytes(struct.pack("=q", 0))

    def environment(self):
        return {"LD_PRELOAD": str(self.shim), "CHAOS_CLOCK": str(self.file)}

    def put(self, seconds):
        """So far from the true time. In place: the processes have the file mapped."""
        with open(self.file, "r+b") as file:
            file.write(struct.pack("=q", int(seconds * 1e9)))
