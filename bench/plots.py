"""Draws the side-by-side report or the curves of growth as SVG, with Debian's matplotlib: plots.py RESULTS.json DIRECTORY."""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "sluice", "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif",
                            "axes.spines.top": False, "axes.spines.right": False})
from matplotlib import pyplot  # noqa: E402  # only after its backend is chosen

OURS, OTHERS, LIGHT = "#1f6feb", "#8b949e", "#c9d1d9"


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def label(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def save(figure, path):
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def bars(results, title, unit, figures, path, better):
    """A row for each contender, a bar for each of the figures, with a line from the lowest round to the highest."""
    shown = [r for r in results if any(median(r["values"][f]) > 0 for f in figures if f in r["values"])]
    if not shown:
        return
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.3 * len(shown) * (1 + len(figures)) / 1.6))
    height = 0.8 / len(figures)
    for row, result in enumerate(shown):
        for index, name in enumerate(figures):
            values = result["values"].get(name)
            if not values or median(values) <= 0:
                continue
            y, middle = row + (index - (len(figures) - 1) / 2) * height, median(values)
            colour = (OURS if result["name"] == "Sluice" else OTHERS) if index == 0 else (
                "#79b8ff" if result["name"] == "Sluice" else LIGHT)
            axes.barh(y, middle, height * 0.9, color=colour)
            low, high = max(min(values), middle / 1000), max(values)
            axes.plot([low, high], [y, y], color="black", linewidth=1.2, marker="|", markersize=6)
            axes.annotate(label(middle), (max(high, middle), y), xytext=(6, 0), textcoords="offset points", va="center",
                          fontsize=8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [r["name"] for r in shown])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(f"{unit}, logarithmic · {better} is better · line: lowest to highest round")
    axes.set_title(title, loc="left", fontsize=11)
    save(figure, path)


def sandbox_bars(rows, path):
    """rows: [(name, median ms, p95 ms), …]"""
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.35 * len(rows)))
    for y, (name, middle, p95) in enumerate(rows):
        axes.barh(y, middle, 0.7, color=OURS if name.startswith("Sluice") else OTHERS)
        axes.plot([middle, p95], [y, y], color="black", linewidth=1.2, marker="|", markersize=6)
        axes.annotate(label(middle), (p95, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("ms · lower is better · line: median to p95")
    axes.set_title("A box: request to first byte of `sh -c 'echo hi'`", loc="left", fontsize=11)
    save(figure, path)


def curve(growth, path):
    """The cost of a message and of an event against what grows, each from zero, so that flat looks flat."""
    sizes = [point["size"] for point in growth["points"]]
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 2.6))
    for ax, name, title in zip(axes, ("message_us", "event_us"), ("a message", "an event")):
        values = [point[name] for point in growth["points"]]
        ax.plot(sizes, values, color=OURS, marker="o", markersize=4)
        for size, value in zip(sizes, values):
            ax.annotate(label(value), (size, value), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8)
        ax.set_xscale("log")
        ax.set_ylim(0, max(values) * 1.3)
        ax.margins(x=0.08)
        ax.set_xlabel(growth["what"])
        ax.set_title(f"processor time for {title}, µs", loc="left", fontsize=10)
    figure.tight_layout()
    save(figure, path)


def main(source, directory):
    data, out = json.loads(pathlib.Path(source).read_text()), pathlib.Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    for growth in data.get("growth", []):
        if growth["points"]:
            curve(growth, out / f"growth-{growth['name']}.svg")
    if "contenders" in data:
        compare(data, out)


def compare(data, out):
    results = data["contenders"]
    bars(results, "Messages a second, 50 deltas each", "messages/s", ["per_second"], out / "messages.svg", "more")
    bars(results, "Message to first event at a calm pace, p50 (dark) and p99 (light)", "ms",
         ["first_event_p50", "first_event_p99"], out / "first-event.svg", "less")
    bars(results, "Deltas off their beat, p50 (dark) and p99 (light)", "ms", ["off_beat_p50", "off_beat_p99"],
         out / "deltas.svg", "less")
    bars(results, "Memory of an open stream", "KiB", ["kib_per_stream"], out / "memory.svg", "less")
    bars(results, "Processor time for 1,000 messages", "ms", ["cpu_ms_per_1000"], out / "cpu.svg", "less")
    bars(results, "Start-up until it listens (dark) and until a first answer is complete (light)", "ms",
         ["listening_ms", "first_answer_ms"], out / "start.svg", "less")
    if data["sandbox"]:
        sandbox_bars(data["sandbox"], out / "sandbox.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
