"""Files as a stranger might make them, case by case, and what may come of reading them.

    python -m tests.helpers.forgery folders 10000     # forged folders with valid checksums
    python -m tests.helpers.forgery corpora 100000 0 note.txt    # bytes of corpora; continues

A case is a number: the same number is the same case in every run. What may happen is a result, or
a `pgbn.PgbnError`; anything else (another error, a NaN, a crash, more than 30 s of CPU time) is
a finding.
"""

from __future__ import annotations

import gzip
import io
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import pgbn
from pgbn.cli import run_command
from tests.helpers.saved import counts

__all__ = ["Corpora", "campaign_of"]

SECONDS = 30
X = counts(12, 9)


def check_finite(what: str, arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        assert np.isfinite(np.asarray(array)).all(), f"{what}: {name} is not finite"


def refusable(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except (pgbn.PgbnError, NotFittedError):  # an estimator may be saved before it is fitted
        return None


def command(words: list[str]) -> None:
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = run_command(words)
    assert "a bug?" not in error.getvalue(), error.getvalue()
    for text in (out.getvalue(), error.getvalue()):
        assert "\x1b" not in text, f"{words}: an escape reaches the terminal"
    assert code in (0, 1, 2), (words, code)


# ---- corpora --------------------------------------------------------------------------------


def _good_corpora(place: Path) -> Iterator[Path]:
    scipy.io.mmwrite(place / "counts.mtx", sp.coo_array(X))
    scipy.io.mmwrite(place / "real.mtx", sp.coo_array(X * 0.5))
    scipy.io.mmwrite(place / "dense.mtx", X.toarray())
    sp.save_npz(place / "sparse.npz", X)
    np.savez(place / "named.npz", X=X.toarray(), vocabulary=np.array([f"w{v}" for v in range(9)]))
    (place / "t.csv").write_text('id,text\nann,sea ship\nann,ship wave\nbob,"oven, flour"\n')
    (place / "t.jsonl").write_text('{"text": "sea ship", "id": 1}\n{"text": "wave"}\n')
    (place / "t.txt").write_text("sea ship\nwave ship storm\n")
    (place / "c.svmlight").write_text("1 1:2 3:1\n0 2:5\n")
    for name in ("counts.mtx", "t.jsonl", "t.csv", "c.svmlight"):
        (place / f"{name}.gz").write_bytes(gzip.compress((place / name).read_bytes(), mtime=0))
    yield from sorted(place.iterdir())


class Corpora:
    """Files of counts and texts with some bytes changed, cut, doubled or put in."""

    PIECES = (b"\0", b"\xff", b"\n", b"\r", b" ", b"-", b".", b"e", b"9" * 20, b"1e999", b"nan",
              b"\x1b[2J", b'"', b",", b"{", b"[" * 3000, b"%", b":", b"500000000", b"\xed\xa0\x80")  # fmt: skip

    def __init__(self, place: Path) -> None:
        (place / "corpora").mkdir()
        self.place = place
        self.good = {path: path.read_bytes() for path in _good_corpora(place / "corpora")}

    def run(self, number: int) -> None:
        """Case ``number``."""
        choice = random.Random(number)
        path = choice.choice(list(self.good))
        packed = path.suffix == ".gz" and choice.random() < 0.8
        data = gzip.decompress(self.good[path]) if packed else self.good[path]
        for _ in range(choice.choice((1, 1, 2, 4))):
            data = self._change(choice, data)
        bad = self.place / f"bad{''.join(path.suffixes)}"
        bad.write_bytes(gzip.compress(data, 1) if packed else data)
        options = (
            {"name_column": "id"} if ".csv" in path.suffixes or ".jsonl" in path.suffixes else {}
        )
        try:
            corpus = pgbn.Corpus.read(bad, **options)
        except pgbn.PgbnError as refused:
            if "\x1b" in str(refused):
                raise ValueError("an escape reaches the terminal") from refused
            return
        assert np.isfinite(corpus.counts.data).all()
        assert not corpus.counts.data.size or corpus.counts.data.min() >= 0
        assert len(set(corpus.names)) == len(corpus.names) == corpus.counts.shape[0]

    def _change(self, choice: random.Random, data: bytes) -> bytes:
        at = choice.randrange(len(data) + 1)
        end = min(len(data), at + choice.choice((1, 1, 3, 20)))
        return choice.choice((
            lambda: data[:at], lambda: data[:at] + data[end:], lambda: data[at:],
            lambda: data[:at] + bytes([choice.randrange(256)]) + data[at + 1 :],
            lambda: data[:at] + choice.choice(self.PIECES) + data[at:],
            lambda: data[:at] + data[at:end] * 3 + data[end:],
            lambda: data[:at] + bytes([data[at % len(data)] ^ 1 << choice.randrange(8)]) + data[at + 1 :]
            if data else data,
        ))()  # fmt: skip


# ---- campaigns ------------------------------------------------------------------------------


def campaign_of(cases: Any, numbers: Any, seconds: float = 1e9) -> tuple[int, list[str]]:
    """How many cases were run within the time, and what was found."""

    def late(*ignored: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    done, found, start = 0, [], time.monotonic()
    for name in ("SIGALRM", "SIGPROF"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), late)
    for number in numbers:
        if time.monotonic() - start > seconds:
            break
        _limit(SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cases.run(number)
        except Exception:
            found.append(f"case {number}: {traceback.format_exc()}")
        finally:
            _limit(0)
        done += 1
    return done, found


def _limit(seconds: float) -> None:
    """So much time of the processor, and twenty times as much by the clock: a machine that others
    use is no finding, and an error in the middle of numba's compiler would leave its lock held."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 20 * seconds)


def main(kind: str, number: str, first: str = "0", note: str | None = None) -> int:
    """Run cases and print what was found. With the file ``note``, which says how far it is, a
    campaign that was stopped goes on there."""
    at, end, total = int(first), int(first) + int(number), 0
    if note is not None and Path(note).exists():
        at = max(at, int(Path(note).read_text()))
    with tempfile.TemporaryDirectory() as place:
        from tests.helpers.forged_folders import Folders  # which stands on this file

        cases = {"corpora": Corpora, "folders": Folders}[kind](Path(place))
        while at < end:
            done, found = campaign_of(cases, range(at, min(at + 100, end)))
            at, total = at + done, total + len(found)
            print(*found, sep="\n", flush=True)
            if note is not None:
                Path(note).write_text(str(at))
    print(f"{kind}: cases {first} to {end - 1}, {total} findings in this run")
    return bool(total)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
