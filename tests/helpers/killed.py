"""Processes that are killed while they write, and what they leave.

    python -m tests.helpers.killed FOLDER

One process imports pgbn and forks a child for every kill, so that a kill costs milliseconds. The
script kills a runner in each call of its commits, one after another, and continues its work. After
every kill the folder must hold a complete commit, never an older one. Prints a line of JSON.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pgbn.storage.archive import is_archive, read_arrays, read_manifest
from pgbn.storage.runner import Runner


def die_in_call(number: int) -> None:
    """Replace the calls that a write is made of by ones that kill the process at the n-th."""
    calls = 0

    def deadly(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    os.fsync, os.replace, Path.unlink = map(deadly, (os.fsync, os.replace, Path.unlink))
    np.memmap.flush = deadly(np.memmap.flush)


def forked(work: Callable[[], None], seconds: float) -> bool:
    """Whether a child that does some work was killed before it was done."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    ended = os.pidfd_open(process)
    try:
        if not select.select([ended], [], [], min(seconds, 1e6))[0]:
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(ended)
    _, status = os.waitpid(process, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status)


def count(folder: Path, most: int) -> None:
    """Work that counts, with a commit of each number."""
    with Runner(folder, "count", {"step": 1}) as runner:
        number = runner.resume()["number"] if runner.committed else 0
        while number < most:
            number += 1
            state = {"a": np.full(9, number)}
            runner.commit({"number": number}, {"state": state}, {"data": lambda: {"b": np.ones(3)}})


def committed(folder: Path) -> int:
    """The number of the last commit, which is complete."""
    if not is_archive(folder):
        return 0
    body = read_manifest(folder)
    number = body["content"]["object"]["number"]
    assert (read_arrays(folder, body, "state")["a"] == number).all()
    assert (read_arrays(folder, body, "data")["b"] == 1).all()
    return int(number)


def main(folder: Path) -> None:
    """Two commits more after each kill, so that there is an older one to lose."""
    kills, before, killed = 0, 0, True
    while killed:
        kills += 1
        most, at = before + 2, kills
        killed = forked(lambda: (die_in_call(at), count(folder, most)), 60.0)  # noqa: B023
        now = committed(folder)
        assert before <= now <= most, (before, now, most)
        before = now
    left = sorted(path.name for path in folder.iterdir() if path.suffix == ".part")
    print(json.dumps({"kills": kills - 1, "number": before, "of": most, "left": left}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
