"""Whole sweeps of networks: what the benchmarks have in common."""

import json
import os
import platform
import time
from datetime import date
from pathlib import Path

import numpy as np

import pgbn

__all__ = ["Sweeper", "bars", "error_of_mean", "least", "machine", "measure", "plot", "save"]


class Sweeper:
    """A chain of a belief network whose sweeps are timed."""

    def __init__(self, counts, widths, threads=1, sampler="auto", burn_in=0, like=None, start=None):
        network = pgbn.zoo.pgbn(widths)
        self.chain = network.chain({"x": counts}, seed=1, sampler=sampler, threads=threads,
                                   start=start)  # fmt: skip
        if like is not None:  # the same state, so that only the threads differ
            self.chain.restore(like.chain.state(), like.chain.sweeps)
        self.chain.sweep(burn_in)

    def sweep(self):
        self.chain.sweep()


def measure(sides, repeats):
    """{name: [(CPU seconds, wall seconds), ...]} of ``side.sweep()``, the sides in turn."""
    times = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            if hasattr(side, "prepare"):
                side.prepare()
            cpu, wall = time.process_time(), time.perf_counter()
            side.sweep()
            times[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return times


def least(times):
    """{name: (least CPU seconds, least wall seconds)}: the runs that others disturbed least."""
    return {name: tuple(np.min(values, axis=0).tolist()) for name, values in times.items()}


def error_of_mean(values):
    """The standard error of the mean of independent values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def machine():
    """What a table of times should say about where they were taken."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return f"{platform.machine()}, {os.cpu_count()} cores, load {load}, Python " + (
        platform.python_version()
    )


def save(path, result):
    """Write a result as JSON with the date, where a path is given; of the files that it read, the
    names."""
    if path:
        paths = ("data", "json", "plot", "png", "corpus", "out", "folder")
        names = {key: Path(value).name for key, value in result["arguments"].items()
                 if key in paths and value}  # fmt: skip
        result = {"date": date.today().isoformat(), **result,
                  "arguments": {**result["arguments"], **names}}  # fmt: skip
        Path(path).write_text(json.dumps(result, indent=1, default=str) + "\n")


def plot(path, lines, x_label, y_label, log=True):
    """{label: (x, y)} as a PNG, where a path is given and matplotlib is installed."""

    def draw(axes):
        for label, (x, y) in lines.items():
            axes.plot(x, y, marker="o", label=label)
        if log:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.legend()

    _picture(path, draw)


def bars(path, values, label):
    """{name: value}, or {name: {part: value}}, as a PNG, where a path is given and matplotlib is
    installed."""

    def draw(axes):
        ends = dict.fromkeys(values, 0.0)
        whole = {n: v if isinstance(v, dict) else {"": v} for n, v in values.items()}
        for part in dict.fromkeys(part for every in whole.values() for part in every):
            widths = [every.get(part, 0.0) for every in whole.values()]
            drawn = axes.barh(list(whole), widths, left=list(ends.values()), label=part)
            ends = {name: ends[name] + width for name, width in zip(ends, widths, strict=True)}
        axes.bar_label(drawn, [f"{end:.3g}" for end in ends.values()], padding=3)
        if any(isinstance(value, dict) for value in values.values()):
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_xlabel(label)

    _picture(path, draw)


def _picture(path, draw):
    if not path:
        return
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no picture")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    draw(axes)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
