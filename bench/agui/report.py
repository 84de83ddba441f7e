"""What AG-UI and agent programs cost, against what was promised of them: one table."""
from agui import fold, program, reattach
from contender import say
from gates.report import Rows

PARTS = {"fold": fold.measure, "reattach": reattach.measure, "program": program.measure}


def measure(quick, wanted):
    """The table, of the parts whose name contains a word of `wanted`; of all without one."""
    rows = Rows()
    for name, part in PARTS.items():
        if not wanted or any(word in name for word in wanted):
            say(f"bench: agui, {name}")
            part(rows, quick)
    return rows.markdown()
