"""How long a server's threads were ready and had no processor: what a busy machine adds to its latencies."""
import pathlib


def waited_ms_of(pid):
    """Of all threads since each began. Those that have ended are not in it."""
    total = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((thread / "schedstat").read_text().split()[1])
        except OSError:  # it has just ended
            continue
    return total / 1e6
