"""Runners and the server that uses them, each on a port that it keeps when it is started again; and a proxy between
them that cuts connections wherever it is told to."""
import selectors
import socket
import threading
import unittest

from ports import lasting_port
from server_process import Server, wait_until

KEY = "a-runner-key-for-tests"


class Lasting(Server):
    """Comes back where it was."""

    def __init__(self, *flags, env):
        super().__init__(*flags, env=env, listen=f"127.0.0.1:{lasting_port()}")

    def restart(self):
        """As an operator does it: SIGTERM, a clean end, another start."""
        self.stop()
        return self.start()

    def figure(self, name, key=None):
        for line in (self.client(key) if key else self.admin()).get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return int(line.rsplit(" ", 1)[1])
        return 0


class Runner(Lasting):
    command = "runner"
    announcement = "sluice: runner listening on "

    def __init__(self, *flags):
        super().__init__("--sandbox.driver", "off", "--server.drain_seconds", "60", *flags, env={"SLUICE_RUNNER_KEY": KEY})

    def health(self):
        return self.client("").get("/healthz").json()

    def live(self):
        return self.figure("sluice_dispatches_live", KEY)


class Gateway(Lasting):
    def __init__(self, *urls, flags=()):
        super().__init__("--runner", "|".join(urls), "--sandbox.driver", "off", *flags, env={"SLUICE_RUNNER_KEY": KEY})

    def conversation(self):
        return self.client().post("/v1/conversations", {}).json()["id"]

    def wait_for_runners(self, count):
        """Until so many are known to be well."""
        wait_until(lambda: self.figure("sluice_runners_alive") == count, f"{count} runners are known to be well")


def words(count):
    return " ".join(f"w{i}" for i in range(1, count + 1))


class FleetCase(unittest.TestCase):
    def runner(self, *flags):
        made = Runner(*flags)
        self.addCleanup(made.remove)
        return made.start()

    def gateway(self, *urls, flags=()):
        made = Gateway(*urls, flags=flags)
        self.addCleanup(made.remove)
        return made.start()

    def begin(self, gateway, content, lines=5):
        """Sends a message and reads so many lines of its answer: the message's id, and what was read."""
        answer = gateway.client().send(gateway.conversation(), content)
        with answer.connection:
            stream = answer.lines()
            return answer.header("x-message-id"), [next(stream) for _ in range(lines)]


class Cutter:
    """A TCP proxy. `cuts` says for one connection after the other how many bytes of the answer get through before it
    is reset; when they are used up nothing is cut."""

    def __init__(self, port):
        self.target, self.cuts, self.cut_count = ("127.0.0.1", port), [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(caller,), daemon=True).start()

    def _carry(self, caller):
        left = None
        try:
            with caller, socket.create_connection(self.target) as target, selectors.DefaultSelector() as selector:
                selector.register(caller, selectors.EVENT_READ, target)
                selector.register(target, selectors.EVENT_READ, caller)
                while True:
                    for key, _ in selector.select():
                        data = key.fileobj.recv(65536)
                        if not data:
                            return
                        if key.fileobj is target:
                            # Health is asked on connections of its own kind; only lines are worth cutting.
                            if left is None and b"x-ndjson" in data and self.cuts:
                                left = self.cuts.pop(0)
                            if left is not None:
                                data, left = data[:left], left - len(data[:left])
                        key.data.sendall(data)
                        if left == 0:
                            self.cut_count += 1
                            return
        except OSError:
            pass
