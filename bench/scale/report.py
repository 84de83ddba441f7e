"""One machine and more: what the shared store costs, what a death costs. One table."""
from contender import say
from gates.report import Rows
from scale import recovery, streams, throughput

PARTS = {"throughput": throughput.measure, "streams": streams.measure, "recovery": recovery.measure}


def measure(quick, wanted):
    """The table, of the parts whose name contains a word of `wanted`; of all without one."""
    rows = Rows()
    for name, part in PARTS.items():
        if not wanted or any(word in name for word in wanted):
            say(f"bench: scale, {name}")
            part(rows, quick)
    return rows.markdown()
