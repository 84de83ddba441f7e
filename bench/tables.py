"""The side-by-side report as text: tables of medians with their spread, ratios, fates, and what went wrong."""
from contender import show

FIGURES = {  # figure: (heading, unit, which is better)
    "per_second": ("messages", "/s", "higher"),
    "first_event_p50": ("first event p50", "ms", "lower"),
    "first_event_p99": ("first event p99", "ms", "lower"),
    "first_delta_p50": ("first delta p50", "ms", "lower"),
    "first_delta_p99": ("first delta p99", "ms", "lower"),
    "off_beat_p50": ("delta off the beat p50", "ms", "lower"),
    "off_beat_p99": ("delta off the beat p99", "ms", "lower"),
    "busy_first_event_p50": ("first event under full load p50", "ms", "lower"),
    "busy_first_event_p99": ("first event under full load p99", "ms", "lower"),
    "cpu_ms_per_1000": ("CPU per 1,000 messages", "ms", "lower"),
    "idle_mib": ("memory idle", "MiB", "lower"),
    "kib_per_stream": ("memory per open stream", "KiB", "lower"),
    "held_cpu_percent": ("CPU while they are quiet", "% of a core", "lower"),
    "listening_ms": ("start-up", "ms", "lower"),
    "first_answer_ms": ("start-up to first answer", "ms", "lower"),
    "install_mib": ("installed", "MiB", "lower"),
}
SPEED = ("per_second", "first_event_p50", "first_event_p99", "first_delta_p50", "first_delta_p99", "off_beat_p50",
         "off_beat_p99")
LOADED = ("busy_first_event_p50", "busy_first_event_p99", "cpu_ms_per_1000", "kib_per_stream", "held_cpu_percent")
COST = ("idle_mib", "listening_ms", "first_answer_ms", "install_mib")
SHORT = ("per_second", "first_event_p50", "first_event_p99", "off_beat_p99", "cpu_ms_per_1000", "idle_mib",
         "kib_per_stream", "first_answer_ms", "install_mib")


def rows_to_markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def rows_to_terminal(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]) + "\n"


def heading(figure):
    name, unit, _ = FIGURES[figure]
    return f"{name}, {unit}"


def cell(record, figure):
    if figure not in record.values:
        return "–"
    low, high = record.spread(figure)
    median = show(record.median(figure))
    return median if show(low) == show(high) else f"{median} ({show(low)}–{show(high)})"


def ratio(ours, record, figure):
    """How many times better Sluice is; None where nothing can be compared."""
    mine, theirs = ours.median(figure), record.median(figure)
    if record is ours or mine is None or theirs is None or mine <= 0 or theirs <= 0:
        return None
    return mine / theirs if FIGURES[figure][2] == "higher" else theirs / mine


def show_ratio(value):
    if value is None:
        return "–"
    text = f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×" if value >= 0.1 else f"{value:.2g}×"
    return text if value >= 1 else f"**{text}**"


def yes(value):
    return value if isinstance(value, str) else "yes" if value else "no"


def fate_cells(record):
    """Stored and readable after the reader left; earlier kept, stored and readable after kill -9."""
    if not record.contender.remembers:
        return ["–"] * 5
    def again(fate):
        count = fate["again"]
        return "no such call" if count is None else f"{count} of 20 deltas"
    def cells(fate, *names):
        if not isinstance(fate, dict):
            return [fate or "not told"] * len(names)
        return [again(fate) if name == "again" else yes(fate[name]) for name in names]
    return cells(record.fates.get("disconnect"), "stored", "again") + cells(record.fates.get("kill"), "kept", "stored", "again")


FATES = ["reader leaves: outcome stored", "… stream readable again", "kill -9: earlier answers kept",
         "… the answer at work is completed and stored", "… its stream readable again"]


def present(records):
    return [record for record in records if record.problem is None]


def figure_table(records, figures, write):
    return write(["", *map(heading, figures)], [[r.name, *(cell(r, f) for f in figures)] for r in present(records)])


def ratio_table(records, figures, write):
    ours = records[0]
    return write(["Sluice against", *(FIGURES[f][0] for f in figures)],
                 [[r.name, *(show_ratio(ratio(ours, r, f)) for f in figures)] for r in present(records) if r is not ours])


def fate_table(records, write):
    return write(["", *FATES], [[r.name, *fate_cells(r)] for r in present(records)])


def remarks(records):
    lines = [f"- **{r.name}** ({r.version}){': ' + r.note if r.note else ''}." for r in present(records)]
    lines += [f"- **{r.name}** is not measured: {r.problem}." for r in records if r.problem]
    lines += [f"- {r.name} had trouble: {trouble}." for r in records for trouble in r.troubles]
    for r in present(records):
        deltas = r.median("deltas_per_message")
        if deltas is not None and abs(deltas - 50) > 0.01:
            lines.append(f"- {r.name} gave {deltas:.1f} deltas a message under full load instead of 50.")
    return "\n".join(lines) + "\n"


def sections(records, plan, write):
    """[(title, explanation, table), …]"""
    return [
        ("Speed", f"Messages: {plan.busy} connections in a closed loop, 50 deltas each. The rest: {plan.streams} streams at "
         "ten deltas a second. Off the beat: how far the distance between two deltas is from 100 ms.",
         figure_table(records, SPEED, write)),
        ("Load", f"First event and CPU with the {plan.busy} connections above; memory and CPU with {plan.held} streams "
         "whose answer has not come yet.", figure_table(records, LOADED, write)),
        ("Cost", "Start-up until it listens, and until a first message is answered. Installed: program, libraries and "
         "interpreter, without the C library.", figure_table(records, COST, write)),
        ("How many times better Sluice is", "Less than one, in bold: Sluice loses.", ratio_table(records, SHORT, write)),
        ("What becomes of an answer", "An answer of 20 deltas, struck after the first: the reader leaves; or the server is "
         "killed and started again.", fate_table(records, write)),
    ]


def short_table(records):
    """For the README: figures down, contenders across, with the ratio behind each."""
    shown, ours = present(records), records[0]
    def both(record, figure):
        if figure not in record.values:
            return "–"
        value, times = show(record.median(figure)), ratio(ours, record, figure)
        return value if times is None else f"{value} ({show_ratio(times)})"
    rows = [[heading(f), *(both(r, f) for r in shown)] for f in SHORT]
    fates = {r.name: fate_cells(r) for r in shown}
    rows += [[FATES[i].replace("… ", "kill -9: "), *(fates[r.name][i] for r in shown)] for i in (0, 1, 3, 4)]
    rows[len(SHORT) + 1][0] = "reader leaves: stream readable again"
    return rows_to_markdown(["", *(r.name for r in shown)], rows)
