"""Gates, queue and proxy against what was promised of them: one table."""
from contender import say, show
from gates import held, parked, proxy

PARTS = {"parked": parked.measure, "held": held.measure, "proxy": proxy.measure}


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, what, unit, value, beside="–", at_most=None, at_least=None):
        """`beside`: the same without us, or with somebody else in our place, in words."""
        target, verdict = "–", ""
        if at_most is not None:
            target, verdict = f"≤ {show(at_most)}", "reached" if value <= at_most else "missed"
        if at_least is not None:
            target, verdict = f"≥ {show(at_least)}", "reached" if value >= at_least else "missed"
        self.rows.append([what, unit, beside, show(value), target, verdict])
        say(f"  {what}: {show(value)} {unit}; beside: {beside}; target {target} {verdict}")

    def markdown(self):
        head = ["what", "unit", "beside", "Sluice", "target", ""]
        return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *self.rows]) + "\n"


def measure(quick, wanted):
    """The table, of the parts whose name contains a word of `wanted`; of all without one."""
    rows = Rows()
    for name, part in PARTS.items():
        if not wanted or any(word in name for word in wanted):
            say(f"bench: gates, {name}")
            part(rows, quick)
    return rows.markdown()
