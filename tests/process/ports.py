"""Ports for servers that keep their port: after a restart, or because a client knows the port in advance."""
import pathlib
import random
import socket

HANDED_OUT = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST = 10_000


def lasting_port():
    """A port on loopback that is free, and stays free while its server is down. The kernel must not hand it out meanwhile,
    as it does to whoever asks for any port, and to each connection that is made: the next start would find it taken."""
    beyond = int(HANDED_OUT.read_text().split()[0])
    candidates = random.sample(range(FIRST, beyond), 100) if beyond >= FIRST + 1000 else [0]
    for port in candidates:
        try:
            with socket.create_server(("127.0.0.1", port)) as listener:
                return listener.getsockname()[1]
        except OSError:
            continue  # somebody listens there
    raise AssertionError(f"no free port among {len(candidates)}")
