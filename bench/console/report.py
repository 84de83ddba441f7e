"""What the console's pages ask most, against what was promised of it: one table."""
from console import runs_list
from contender import say
from gates.report import Rows

PARTS = {"runs_list": runs_list.measure}


def measure(quick, wanted):
    """The table, of the parts whose name contains a word of `wanted`; of all without one."""
    rows = Rows()
    for name, part in PARTS.items():
        if not wanted or any(word in name for word in wanted):
            say(f"bench: console, {name}")
            part(rows, quick)
    return rows.markdown()
