"""Saved models: what comes back is what went in, and bad files end in words, not in harm."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import random
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn import zoo
from pgbn.errors import DataError, PgbnError, StorageError
from pgbn.report import report_data
from pgbn.storage import archive, open_saved
from tests.helpers.models import algorithm1, sizes_of, zoo_models

QUICK = {"burn_in": 12, "collect": 8, "seed": 2, "min_width": 1, "trace_every": 3}


def counts(documents: int = 50, terms: int = 70) -> sp.csr_array:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet([0.1] * terms, 5)
    return sp.csr_array(rng.poisson(rng.gamma(0.3, 1, (documents, 5)) @ topics * 12))


def same(one: Any, two: Any) -> None:
    """Arrays in dicts, equal to the last bit."""
    assert one.keys() == two.keys()
    for name in one:
        assert np.array_equal(one[name], two[name]), name


def same_networks(one: pgbn.LayerwiseTraining, two: pgbn.LayerwiseTraining) -> None:
    assert len(one.networks) == len(two.networks)
    for a, b in zip(one.networks, two.networks, strict=True):
        for left, right in zip((*a.phi, a.r, a.c), (*b.phi, b.r, b.c), strict=True):
            assert np.array_equal(left, right)
        same(a.state, b.state)
        same(a.traces, b.traces)
        assert (a.sweeps, a.eta, a.link, a.priors) == (b.sweeps, b.eta, b.link, b.priors)


@pytest.fixture(scope="module")
def trained() -> pgbn.LayerwiseTraining:
    return pgbn.train_layerwise(counts(), 8, 2, average=3, **QUICK)


@pytest.fixture
def folder(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> Path:
    """A saved model."""
    pgbn.save(trained, tmp_path / "model", data=counts())
    return tmp_path / "model"


# ---- round trips ----------------------------------------------------------------------


def test_network(tmp_path: Path) -> None:
    network = zoo.pgbn([6, 4]).with_order(algorithm1(2))
    pgbn.save(network, tmp_path / "n")
    assert pgbn.load(tmp_path / "n").to_json() == network.to_json()


def test_trained(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    words = [f"wörd {v} \u2603" for v in range(70)]
    pgbn.save(trained, tmp_path / "t", vocabulary=words, labels=range(50), record={"a": [1, None]},
              data=counts())  # fmt: skip
    saved = open_saved(tmp_path / "t")
    same_networks(saved.object, trained)
    assert saved.object.stopped == trained.stopped
    assert (saved.vocabulary, saved.record, saved.package) == (
        words,
        {"a": [1, None]},
        pgbn.__version__,
    )
    assert saved.labels == [str(i) for i in range(50)]
    assert (saved.data != counts()).nnz == 0
    pgbn.save(trained.deepest, tmp_path / "t")  # in the place of the other
    assert repr(pgbn.load(tmp_path / "t")) == repr(trained.deepest)
    spec = json.loads((tmp_path / "t" / "model.json").read_text())["body"]["content"]["object"]
    assert spec["networks"][0]["network"]["format"] == "pgbn-network/1"


def test_start_from_a_folder(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    one = pgbn.train_layerwise(counts(), 8, 3, start_from=folder, **QUICK)
    two = pgbn.train_layerwise(counts(), 8, 3, start_from=trained, **QUICK)
    same_networks(one, two)


def test_a_dict_of_columns_names_the_terms(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    columns = {f"w{v}": v for v in reversed(range(70))}
    pgbn.save(trained, tmp_path / "t", vocabulary=columns)
    assert open_saved(tmp_path / "t").vocabulary == [f"w{v}" for v in range(70)]


def test_saved_names_come_back(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    """Lists of topics and reports of a loaded model have the terms' names, and keep them."""
    words = [f"word{v}" for v in range(70)]
    wanted = pgbn.evaluation.topics(trained, 1, 3, words)
    pgbn.save(trained, tmp_path / "t", vocabulary=words)
    again = pgbn.load(tmp_path / "t")
    assert pgbn.evaluation.topics(again, 1, 3) == wanted
    assert report_data(again).vocabulary == words
    other = [f"other{v}" for v in range(70)]
    assert pgbn.evaluation.topics(again, 1, 3, other)[0].terms[0].startswith("other")
    again = pgbn.train_layerwise(counts(), 8, 2, start_from=again, **QUICK)  # sweeps more
    pgbn.save(again.deepest, tmp_path / "t")
    assert pgbn.load(tmp_path / "t").vocabulary == tuple(words)
    assert open_saved(tmp_path / "t").vocabulary == words


def test_saved_names_of_an_estimator(tmp_path: Path) -> None:
    frame = pytest.importorskip("pandas").DataFrame(
        counts().toarray(), columns=[f"column{v}" for v in range(70)]
    )
    model = pgbn.PFA(5, burn_in=5, collect=5, random_state=0).fit(frame)
    pgbn.save(model, tmp_path / "e")
    assert open_saved(tmp_path / "e").vocabulary == list(frame)
    assert pgbn.load(tmp_path / "e").topics(top=3) == model.topics(top=3)
    words = [f"word{v}" for v in range(70)]
    pgbn.save(model.fit(counts()), tmp_path / "e", vocabulary=words)
    again = pgbn.load(tmp_path / "e")
    assert again.topics(top=3) == model.topics(top=3, vocabulary=words)
    assert np.array_equal(again.transform(counts()), model.transform(counts()))
    assert again.fit(counts()).topics()[0].terms[0].startswith("term")  # other data, other terms


@pytest.mark.parametrize("name", ["PGBN", "PFA"])
def test_estimators(tmp_path: Path, name: str) -> None:
    make = getattr(pgbn, name)
    width = {"max_width": 6} if name == "PGBN" else {"width": 6}
    model = make(**width, burn_in=5, collect=5, random_state=np.int64(3))
    pgbn.save(model, tmp_path / "e")
    assert pgbn.load(tmp_path / "e").get_params() == model.get_params()
    model.fit(counts())
    pgbn.save(model, tmp_path / "e")
    again = pgbn.load(tmp_path / "e")
    assert np.array_equal(again.transform(counts()), model.transform(counts()))
    assert again.widths_ == model.widths_
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(StorageError, match="random_state"):
        pgbn.save(model, tmp_path / "e")


def test_what_cannot_be_saved(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    with pytest.raises(StorageError, match="dict cannot be saved"):
        pgbn.save({}, tmp_path / "x")
    with pytest.raises(DataError, match="vocabulary: 3 names, but 70 are needed"):
        pgbn.save(trained, tmp_path / "x", vocabulary=["a", "b", "c"])
    for names in ({f"w{v}" for v in range(70)}, {f"w{v}": v + 1 for v in range(70)}, "w" * 70):
        with pytest.raises(DataError, match="vocabulary: a "):
            pgbn.save(trained, tmp_path / "x", vocabulary=names)
    with pytest.raises(DataError, match="labels: a set"):
        pgbn.save(trained, tmp_path / "x", labels={"one", "two"})
    with pytest.raises(StorageError, match="cannot be written as JSON"):
        pgbn.save(trained, tmp_path / "x", record={"f": open})
    many = pgbn.Chain.replicated(zoo.pfa(2), {"doc": 2, "term": 3}, 4)
    with pytest.raises(StorageError, match="replicated"):
        pgbn.save(many, tmp_path / "x")


# ---- chains ---------------------------------------------------------------------------


def resumed_is_uninterrupted(network: pgbn.Network, data: Any, layer1: str, cut: int, path: Path,
                             threads: tuple[int, int] = (1, 2)) -> None:  # fmt: skip
    whole = network.chain(data, 7, 3, layer1=layer1, threads=threads[0]).sweep(cut + 4)
    first = network.chain(data, 7, 3, layer1=layer1, threads=threads[0]).sweep(cut)
    pgbn.save(first, path)
    second = pgbn.load(path, threads=threads[1])
    assert (second.sweeps, second.number, second.seed) == (cut, 3, 7)
    same(second.values, first.values)
    assert second.log_joint() == first.log_joint()
    if cut:
        same(second.counts, first.counts)
    second.sweep(4)
    same(second.values, whole.values)
    same(second.counts, whole.counts)
    same(first.sweep(4).values, whole.values)  # saving does not change a chain


@pytest.mark.parametrize("cut", [0, 1, 7])
@pytest.mark.parametrize("layer1", ["auto", "collapsed", "partial", "blocked", "composed"])
def test_chain_resumes_bit_for_bit(tmp_path: Path, layer1: str, cut: int) -> None:
    for threads in ((1, 2), (2, 1)):
        resumed_is_uninterrupted(zoo.pgbn([12, 8]), {"x": counts()}, layer1, cut, tmp_path, threads)


@pytest.mark.parametrize("name", zoo_models())
def test_every_model_of_the_zoo(tmp_path: Path, name: str) -> None:
    network = zoo_models()[name]
    drawn = network.generate(3, sizes=sizes_of(network))
    data = {node: drawn[node] for node in network.observed}
    for layer1 in ("auto", "composed"):
        resumed_is_uninterrupted(network, data, layer1, 3, tmp_path / layer1)


def test_missing_cells_and_orders(tmp_path: Path) -> None:
    dense = counts().toarray()
    masked = np.ma.masked_array(dense, mask=np.random.default_rng(0).random(dense.shape) < 0.1)
    resumed_is_uninterrupted(zoo.pgbn([5, 4]), {"x": masked}, "auto", 3, tmp_path)
    ordered = zoo.pgbn([5, 4]).with_order(algorithm1(2))
    resumed_is_uninterrupted(ordered, {"x": counts()}, "blocked", 3, tmp_path)


def test_looking_does_not_matter(tmp_path: Path) -> None:
    """Values that are drawn on demand, half of them looked at before saving."""
    chain = zoo.pgbn([6, 5]).chain({"x": counts()}, 1, layer1="collapsed").sweep(3)
    other = zoo.pgbn([6, 5]).chain({"x": counts()}, 1, layer1="collapsed").sweep(3)
    chain.select(["phi1"])
    pgbn.save(chain, tmp_path)
    same(pgbn.load(tmp_path).values, other.values)


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked"])
def test_states_are_checked(layer1: str) -> None:
    """Kernels index with labels: no state may lead them astray."""
    chain = zoo.pgbn([6]).chain({"x": counts()}, 1, layer1=layer1).sweep(2)
    good = chain.state()
    for name, array in good.items():
        if name.startswith("sampler/") and name != "sampler/key":
            beyond = array + 2**15 if layer1 != "blocked" else array[None]
            for bad in (beyond, array[:-1], array.astype(float)):
                with pytest.raises(DataError):
                    chain.restore({**good, name: bad}, 2)
    with pytest.raises(DataError, match="no value of"):
        chain.restore({}, 2)
    with pytest.raises(DataError, match="same network"):
        chain.restore({**good, "values/gamma0": np.ones((1, 2))}, 2)
    if layer1 == "collapsed":
        shuffled = np.roll(good["sampler/topics_of_words"], 1)
        with pytest.raises(DataError, match="contradicts"):
            chain.restore({**good, "sampler/topics_of_words": shuffled}, 2)


# ---- damage ---------------------------------------------------------------------------


def all_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_any_flipped_bit_is_noticed(folder: Path) -> None:
    random_bits = random.Random(0)
    for path in all_files(folder):
        good = path.read_bytes()
        for _ in range(40):
            place = random_bits.randrange(len(good))
            bad = bytearray(good)
            bad[place] ^= 1 << random_bits.randrange(8)
            path.write_bytes(bad)
            with pytest.raises(StorageError):
                pgbn.load(folder)
        path.write_bytes(good)
    pgbn.load(folder)


def test_truncated_missing_and_longer_files(folder: Path) -> None:
    for path in all_files(folder):
        good = path.read_bytes()
        for bad in (b"", good[:1], good[: len(good) // 2], good[:-1], b"\0" * len(good)):
            path.write_bytes(bad)
            with pytest.raises(StorageError):
                pgbn.load(folder)
        path.unlink()
        with pytest.raises(StorageError, match=r"missing|no saved model"):
            pgbn.load(folder)
        path.write_bytes(good)
    pgbn.load(folder)
    pgbn.load(folder / "model.json")


def test_foreign_and_newer_files(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    texts = {
        b'{"a": 1}': "not written by pgbn", b"[1, 2]": "not written by pgbn", b"null": "pgbn",
        b"PK\3\4": "not JSON", b"[" * 200_000: "not JSON", b"\xff\xfe": "not JSON",
        b'{"format": "pgbn-model", "version": 99, "stuff": 1}': "newer pgbn",
        b'{"format": "pgbn-model", "version": 1}': "damaged",
        b'{"format": "pgbn-model", "version": "1"}': "damaged",
    }  # fmt: skip
    for text, words in texts.items():
        (tmp_path / "model.json").write_bytes(text)
        with pytest.raises(StorageError, match=words):
            pgbn.load(tmp_path)
        with pytest.raises(StorageError):  # and it is not written over
            pgbn.save(trained, tmp_path)
        assert (tmp_path / "model.json").read_bytes() == text
    with pytest.raises(StorageError, match="no saved model"):
        pgbn.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        pgbn.load(tmp_path / "file")
    with pytest.raises(StorageError, match="could not be written"):
        pgbn.save(trained, tmp_path / "file")


def forge(folder: Path, change: Any = None, **files: bytes) -> None:
    """A model whose checksums are right but whose content was made by somebody else."""
    document = json.loads((folder / "model.json").read_text())
    body = document["body"]
    for group, data in files.items():
        digest = hashlib.sha256(data).hexdigest()
        name = f"{group}-{digest[:16]}.npz"
        (folder / name).write_bytes(data)
        body["groups"][group] = name
        body["files"][name] = {"sha256": digest, "bytes": len(data)}
    if change is not None:
        change(body)
    document["sha256"] = archive._digest(body)
    (folder / "model.json").write_text(json.dumps(document))


def npz(tmp_path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    path = tmp_path / "forged.npz"
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return path.read_bytes()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


class Trap:
    """What it would run if it were unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, ("pwned",))


def test_hostile_arrays(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trap = pickle.dumps(Trap())
    shape = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
    hostile = {
        "a pickle": {"0/r.npy": npy(shape % ("|O", "(1,)"), trap)},
        "only a pickle": {"0/r.npy": trap},
        "a huge shape": {"0/r.npy": npy(shape % ("<f8", "(99999999999, 99999999999)"))},
        "a negative shape": {"0/r.npy": npy(shape % ("<f8", "(-1,)"))},
        "strings": {"0/r.npy": npy(shape % ("<U4", "(1,)"), b"\0" * 16)},
        "a record": {"0/r.npy": npy(shape % ("V8", "(1,)"), b"\0" * 8)},
        "code for a header": {"0/r.npy": npy("__import__('os').mkdir('pwned')")},
        "a long header": {"0/r.npy": npy("(" * 60_000)},
        "nothing": {},
        "paths": {"../../../etc/passwd.npy": npy(shape % ("<f8", "()"), b"\0" * 8)},
    }
    for entries in hostile.values():
        forge(folder, model=npz(tmp_path, entries))
        with pytest.raises(StorageError):
            pgbn.load(folder)
    bomb = npy(shape % ("<f8", "(10000000,)"), b"\0" * 80_000_000)
    forge(folder, model=npz(tmp_path, {"0/r.npy": bomb}, zipfile.ZIP_DEFLATED))
    with pytest.raises(StorageError, match="compressed"):
        pgbn.load(folder)
    forge(folder, model=b"not a zip file")
    with pytest.raises(StorageError):
        pgbn.load(folder)
    assert not (tmp_path / "pwned").exists()


def test_hostile_manifests(folder: Path) -> None:
    def set_in(*keys: str, value: Any) -> Any:
        def change(body: Any) -> None:
            for key in keys[:-1]:
                body = body[key]
            body[keys[-1]] = value

        return change

    document = (folder / "model.json").read_text()
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep}
    for change in (
        set_in("groups", "model", value="../../secret.npz"),
        set_in("groups", "model", value="/etc/passwd"),
        set_in("groups", "model", value=["a"]),
        set_in("files", "../../secret.npz", value={"sha256": "", "bytes": 1}),
        set_in("files", value=[]),
        set_in("kind", value="planet"),
        set_in("kind", value=["training"]),
        set_in("kind", value="chain"),
        set_in("content", value=None),
        set_in("content", value={}),
        set_in("content", "object", value={"networks": [{"depth": 10**9}], "stopped": ""}),
        set_in("content", "object", value={"networks": 7, "stopped": ""}),
        set_in("content", "object", value=deep),
        set_in("groups", value={}),
    ):
        forge(folder, change)
        with pytest.raises(StorageError):
            pgbn.load(folder)
        (folder / "model.json").write_text(document)
    pgbn.load(folder)


def test_hostile_data_of_a_chain(tmp_path: Path) -> None:
    """Column numbers out of range would lead kernels astray; they are refused."""
    chain = zoo.pgbn([4]).chain({"x": counts()}, layer1="partial").sweep(1)
    pgbn.save(chain, tmp_path)
    body = archive.read_manifest(tmp_path)
    good = archive.read_arrays(tmp_path, body, "data")
    for name, value in (("x/indices", 200), ("x/indptr", 9), ("x/values", 0)):
        bad = {key: array.copy() for key, array in good.items()}
        bad[name] = bad[name].astype(np.int64)
        bad[name].flat[3] = value if value else -4
        archive.write(
            tmp_path, "chain", body["content"], {"data": bad}, {"state": body["groups"]["state"]}
        )
        with pytest.raises(PgbnError):
            pgbn.load(tmp_path)


# ---- disks ----------------------------------------------------------------------------


def failing(function: Any, first: int, code: int) -> Any:
    """The function, whose calls fail from the ``first`` on."""
    calls = 0

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= first:
            raise OSError(code, os.strerror(code))
        return function(*arguments, **options)

    return call


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("function", ["fsync", "open", "replace"])
def test_failing_disk(folder: Path, trained: pgbn.LayerwiseTraining, code: int, first: int,
                      function: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """Whichever call fails: a clear error, and the old model is intact."""
    before = {path.name: path.read_bytes() for path in all_files(folder)}
    owner = Path if function == "replace" else os
    with monkeypatch.context() as patch:
        patch.setattr(owner, function, failing(getattr(owner, function), first, code))
        if function == "open" and first == 3:  # the folder, after the manifest was renamed
            first = 4
        with pytest.raises(StorageError, match=os.strerror(code)):
            pgbn.save(trained.deepest, folder, data=counts(20))
    now = {path.name: path.read_bytes() for path in all_files(folder)}
    assert not [name for name in now if name.endswith(".part")]
    if first < 4:
        assert before.items() <= now.items()
        same_networks(pgbn.load(folder), trained)
    else:
        assert isinstance(pgbn.load(folder), pgbn.TrainedNetwork)


def test_full_and_read_only_disk(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    """The same with a real disk of 256 kB, where mounting one is possible."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no right to mount a small disk here")
    try:
        pgbn.save(zoo.pfa(3), disk / "m")
        large = zoo.pgbn([30]).chain({"x": counts(2000, 400)}, layer1="composed")
        with pytest.raises(StorageError, match="No space left"):
            pgbn.save(large, disk / "m")
        assert pgbn.load(disk / "m").to_json() == zoo.pfa(3).to_json()
        assert [path.name for path in all_files(disk / "m")] == ["model.json"]
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for where in ("m", "other"):
            with pytest.raises(StorageError, match="Read-only"):
                pgbn.save(trained, disk / where)
        assert pgbn.load(disk / "m").to_json() == zoo.pfa(3).to_json()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_one_writer_at_a_time(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    with archive._locked(folder), pytest.raises(StorageError, match="another process"):
        pgbn.save(trained, folder)


def test_reader_while_a_writer_replaces(folder: Path, trained: pgbn.LayerwiseTraining,
                                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """The files of a manifest vanish because a newer one has come: read that one."""
    real, times = archive.read_arrays, []

    def slow(*arguments: Any) -> Any:
        if not times:
            times.append(1)
            pgbn.save(trained.deepest, folder)
        return real(*arguments)

    monkeypatch.setattr("pgbn.storage.folders.read_arrays", slow)
    assert isinstance(pgbn.load(folder), pgbn.TrainedNetwork)


def test_leftovers_are_swept_up(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    for name in ("state-0123456789abcdef.npz", ".model.json-77.part", "notes.txt"):
        (folder / name).write_text("x")
    pgbn.save(trained, folder)
    names = {path.name for path in all_files(folder)}
    assert "notes.txt" in names
    assert len(names) == 3
