"""Write what is not there yet: ``python -m tests.golden.write``.

What is there stays as it is: these files stand for those of users, who cannot write theirs again.
A file of a newer format is a new name in ``objects``, beside the old one.

Where draws were meant to change their bits, ``python -m tests.golden.write next`` records anew what
goes on from the files, and nothing else.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pgbn as pg
from tests.same_bits.machine import differences, header
from tests.same_bits.networks import small_zoo
from tests.same_bits.own_networks import OWN

from .describe import commands, continued, described, digest, resumed, run_command, trained
from .objects import CHECKPOINTS, FEW, SAVED, documents, train

__all__ = ["COMMAND", "EXPECTED", "FILES", "NETWORKS"]

FILES = Path(__file__).with_name("files")
NETWORKS = Path(__file__).with_name("networks")
EXPECTED = Path(__file__).with_name("expected.json")
COMMAND = "pgbn-fit"
TEXTS = ("ship wave storm sail harbour wave", "butter flour oven sugar flour recipe",
         "court judge verdict appeal court jury", "storm sail captain ship anchor",
         "oven sugar spoon plate butter", "jury witness statute judge")  # fmt: skip


def write() -> None:
    """Write the files that are missing, and what is expected of them."""
    new: dict[str, Any] = {"machine": header(), "files": {}, "networks": {}}
    expected = json.loads(EXPECTED.read_text("utf-8")) if EXPECTED.exists() else new
    if elsewhere := differences(expected["machine"]):
        raise SystemExit(f"the others were recorded elsewhere, record them here first: {elsewhere}")
    for name, network in _networks().items():
        if name not in expected["networks"]:
            NETWORKS.mkdir(exist_ok=True)
            (NETWORKS / f"{name}.json").write_text(network.to_json(None) + "\n", "utf-8")
            expected["networks"][name] = digest(network.schedule.latex())
    for name in (*SAVED, *CHECKPOINTS, COMMAND):
        if name not in expected["files"]:
            print(name)
            expected["files"][name] = _written(name)
    EXPECTED.write_text(_lines(expected), "utf-8")


def record_next() -> None:
    """Record what goes on from the files, on this machine; what they hold stays as expected."""
    expected = json.loads(EXPECTED.read_text("utf-8"))
    expected["machine"] = header()
    for name, entry in expected["files"].items():
        stopped, folder = name in CHECKPOINTS, FILES / name
        found = digest(resumed(folder, 1)) if stopped else continued(folder, 1)
        print("same   " if found == entry["next"] else "changed", name)
        entry["next"] = found
        if "commands" in entry:
            entry["commands"] = commands(folder)
    EXPECTED.write_text(_lines(expected), "utf-8")


def _lines(expected: dict[str, Any]) -> str:
    """JSON with a line for every file."""
    parts = []
    for part, entries in expected.items():
        lines = [
            f"{json.dumps(n)}: {json.dumps(e, ensure_ascii=False)}" for n, e in entries.items()
        ]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(parts) + "}\n"


def _networks() -> dict[str, pg.Network]:
    own = {f"own {name}": make() for name, make in OWN.items() if name != "own_node"}
    return {name.replace(" ", "-"): network for name, network in (small_zoo() | own).items()}


def _written(name: str) -> dict[str, Any]:
    folder = FILES / name
    if name in SAVED:
        make, beside = SAVED[name]
        pg.save(make(), folder, **beside)
        return {"content": described(folder), "next": continued(folder, 1)}
    if name in CHECKPOINTS:
        return _stopped(folder, *CHECKPOINTS[name])
    _fit(folder)
    return {"content": described(folder), "next": continued(folder, 1),
            "commands": commands(folder)}  # fmt: skip


class _PowerCut(Exception):
    """What ends a training in the middle."""


def _stopped(folder: Path, sweep: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """Train until the sweep after a checkpoint, and find out what the whole would have been."""
    beside = {name: arguments[name] for name in ("vocabulary", "labels", "record")
              if name in arguments}  # fmt: skip
    more = {name: value for name, value in arguments.items() if name not in beside}
    link, masked = more.get("link", "poisson"), more.pop("masked", False)

    def fail(event: pg.Progress) -> None:
        if event.done == sweep + 1:
            raise _PowerCut

    with suppress(_PowerCut):
        pg.checkpoint.train(documents(link, masked), folder, 5, 3, minutes=None, sweeps=sweep,
                            share=1e9, callback=fail, progress=False, **FEW, **more,
                            **beside)  # fmt: skip
    whole = train(depth=3, masked=masked, **more).with_vocabulary(beside.get("vocabulary"))
    result = resumed(folder, 1)
    assert result == trained(whole), f"{folder.name}: resumed, it is another training"
    return {"content": described(folder), "next": digest(result)}


def _fit(folder: Path) -> None:
    """The folder that the command line writes."""
    table = folder.parent / "texts.csv"
    rows = [f"doc{n},{TEXTS[n % len(TEXTS)]} {TEXTS[n // 2 % len(TEXTS)]}" for n in range(8)]
    table.write_text("\n".join(["name,text", *rows]) + "\n", "utf-8")
    line = f"fit {table.name} --label name --max-width 6 --depth 2 --burn-in 5 --collect 3 --seed 4"
    run_command(f"{line} --max-df 1.0 --min-df 1 -o {folder.name}", folder.parent)
    table.unlink()


if __name__ == "__main__":
    {"": write, "next": record_next}["".join(sys.argv[1:])]()
