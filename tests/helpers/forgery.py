"""Files as a stranger might make them, case by case, and what may come of reading them.

    python -m tests.helpers.forgery models 10000      # forged models with valid checksums
    python -m tests.helpers.forgery corpora 100000 0 note.txt    # bytes of corpora; it goes on

A case is a number: the same number is the same case in every run. What may happen is a result, or
a `pgbn.PgbnError`; anything else (another error, a NaN, a crash, more than 30 s of CPU time) is
a finding.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import pgbn
from pgbn.cli import run_command
from pgbn.corpus import read_corpus
from pgbn.storage import archive, writing
from tests.helpers.saved import QUICK, counts

__all__ = ["Corpora", "Models", "campaign_of"]

SECONDS = 30
X = counts(12, 9)
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 3, 2.5, 1e300, -1e300, float("nan"), float("inf"), 10**30, 10**400, "",
    "a", "\x1b[31m", "../x", "poisson", "\ud800", [], [1], [[1, 2], [3]], [None], ["a", "b"], {},
    {"a": 1}, {"node": "x"}, [0.0] * 50, "a" * 10_000, [[[[[[[]]]]]]],
)  # fmt: skip
MISSING = object()


def saved_models(place: Path) -> Iterator[Path]:
    """One folder of every kind that is saved."""
    trained = pgbn.train_layerwise(X, 4, 2, **QUICK)
    names = [f"w{v}" for v in range(9)]
    counting = {"token_pattern": r"\w\w+", "ngram_range": [1, 1], "lowercase": True,
                "stop_words": ["w1"]}  # fmt: skip
    pgbn.save(trained, place / "training", data=X, vocabulary=names, labels=list("abcdefghijkl"),
              record={"vectorizer": counting, "arguments": {"max_width": 4}})  # fmt: skip
    pgbn.save(trained.deepest, place / "trained", vocabulary=names)
    pgbn.save(pgbn.zoo.pgbn([3, 2]).chain({"x": X}).sweep(2), place / "chain")
    pgbn.save(pgbn.zoo.lda(3), place / "network")
    estimator = pgbn.PGBN(3, 2, burn_in=2, collect=1, transform_burn_in=1, transform_samples=1,
                          random_state=0)  # fmt: skip
    pgbn.save(estimator.fit(X), place / "estimator")

    network = pgbn.zoo.pfa(2)
    network.sample({"x": X}, 2, 2, chains=1, progress=False, save=place / "run")
    pgbn.Corpus.build(X, place / "corpus", block_rows=5)
    pgbn.train_minibatch(X, [3, 2], batch_size=6, steps=2, collect=1, local_burn_in=1,
                         local_samples=1, progress=False, save=place / "minibatch")  # fmt: skip

    def stop(event: pgbn.Progress) -> None:
        if event.done == 20:
            raise RuntimeError("stopped")

    with suppress(RuntimeError):
        pgbn.checkpoint.train(X, place / "checkpoint", 4, 2, sweeps=1, share=2.0, callback=stop,
                              progress=False, **QUICK)  # fmt: skip
    yield from sorted(place.iterdir())


def places_in(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a JSON document."""
    if path:
        yield path
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = enumerate(document[:3])
    for key, value in inner:
        yield from places_in(value, (*path, key))


class Models:
    """Saved models with one or two values of the manifest, or of the arrays, made anew."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "texts.txt").write_text("w1 w2 w2\nw3 w4 " + "w" * 5000 + "\n")
        self.good = {folder: json.loads((folder / "model.json").read_text())["body"]
                     for folder in saved_models(place / "good")}  # fmt: skip
        self.ways = {folder: list(places_in(body)) for folder, body in self.good.items()}

    def run(self, number: int) -> None:
        """Case ``number``."""
        choice = random.Random(number)
        folder = choice.choice(list(self.good))
        body = copy.deepcopy(self.good[folder])
        target = self.place / "forged"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        if choice.random() < 0.3:
            self._forge_arrays(choice, target, body)
        else:
            for _ in range(choice.choice((1, 1, 2))):
                _replace(choice, body, choice.choice(self.ways[folder]))
        document = {"format": "pgbn-model", "version": 1, "sha256": archive.body_digest(body)}
        (target / "model.json").write_text(json.dumps({**document, "body": body}))
        use_model(target)
        few = ["--burn-in", "1", "--samples", "1"]
        command(["transform", str(target), str(self.place / "texts.txt"), *few])
        if not number % 10:
            command(["report", str(target), "-o", str(self.place / "page.html")])

    def _forge_arrays(self, choice: random.Random, target: Path, body: Any) -> None:
        group = choice.choice(sorted(body["groups"]) or [""])
        if not group:
            return
        arrays = archive.read_arrays(target, body, group)
        if not arrays:
            return
        name = choice.choice(sorted(arrays))
        arrays[name] = _damaged(choice, arrays[name])
        name, entry = writing._write_arrays(target / ".part", group.partition("/")[0], arrays)
        (target / ".part").rename(target / name)
        body["groups"][group], body["files"][name] = name, entry


def _replace(choice: random.Random, body: Any, path: tuple[Any, ...]) -> None:
    value = choice.choice((*VALUES, MISSING))
    try:
        for key in path[:-1]:
            body = body[key]
        if isinstance(path[-1], int) != isinstance(body, list):
            return  # a key of JSON is a text
        if value is MISSING:
            del body[path[-1]]
        else:
            body[path[-1]] = copy.deepcopy(value)
    except (KeyError, IndexError, TypeError):  # the first change took the place of the second
        return


def _damaged(choice: random.Random, array: Any) -> Any:
    """Other values, shapes or types."""
    real = array.astype(np.float64)
    return choice.choice((
        lambda: real * 1e300, lambda: real * -1, lambda: np.full(array.shape, np.nan),
        lambda: array[:0] if array.ndim else array, lambda: array.reshape(-1), lambda: array[None], lambda: real + 0.5,
        lambda: array.astype(np.float32), lambda: np.full(array.shape, 2**62),
        lambda: np.zeros_like(array), lambda: array.astype(bool), lambda: np.array(7),
        lambda: np.concatenate([array.reshape(-1), array.reshape(-1)]), lambda: real * 1e140,
        lambda: np.full(array.shape, np.inf), lambda: array[::-1].copy() if array.ndim else array,
    ))()  # fmt: skip


def use_model(folder: Path) -> None:
    """All that is done with a model, until something is refused."""
    for words in (["info"], ["topics"], ["generate", "-n", "1"], ["explain"]):
        command([words[0], str(folder), *words[1:]])
    found = refusable(lambda: pgbn.load(folder))
    if isinstance(found, pgbn.Chain):
        refusable(lambda: check_finite("chain", found.sweep(1).values))
    elif isinstance(found, pgbn.PGBN):
        refusable(lambda: check_finite("features", {"transform": found.transform(X)}))
    elif isinstance(found, pgbn.Draws):
        refusable(lambda: _check_draws(found))
        refusable(lambda: check_finite("rates", {"x": found.predict("x")}))
    elif isinstance(found, pgbn.Corpus):
        refusable(lambda: check_finite("corpus", {"counts": found.counts.data}))
    elif found is not None and not isinstance(found, pgbn.Network):
        refusable(lambda: _use_trained(found))
    if found is None:
        refusable(lambda: pgbn.resume(folder, progress=False))


def _use_trained(found: Any) -> None:
    hidden = pgbn.infer(found, X, burn_in=1, samples=2)
    check_finite("proportions", {str(t): part for t, part in hidden.proportions.items()})
    check_finite("phi", dict(enumerate(getattr(found, "deepest", found).phi)))  # type: ignore[arg-type]


def _check_draws(found: pgbn.Draws) -> None:
    """No NaN; an infinite number is one that a draw can have, though nothing is computed from it."""
    for name in found:
        check_finite("draws", {name: np.where(np.isinf(found[name]), 0.0, found[name])})


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
        options = {"label": "id"} if ".csv" in path.suffixes or ".jsonl" in path.suffixes else {}
        try:
            corpus = read_corpus(bad, **options)
        except pgbn.PgbnError as refused:
            if "\x1b" in str(refused):
                raise ValueError("an escape reaches the terminal") from refused
            return
        assert np.isfinite(corpus.counts.data).all()
        assert not corpus.counts.data.size or corpus.counts.data.min() >= 0
        assert len(set(corpus.labels)) == len(corpus.labels) == corpus.counts.shape[0]

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


def campaign_of(
    cases: Models | Corpora, numbers: Any, seconds: float = 1e9
) -> tuple[int, list[str]]:
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

        cases = {"models": Models, "corpora": Corpora, "folders": Folders}[kind](Path(place))
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
