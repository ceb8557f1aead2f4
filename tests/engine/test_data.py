"""Data: what is refused, in which words; what is accepted, with the same bits; what is imputed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import pgbn
from pgbn import DataError, Gamma, Network, NetworkError, Poisson, PoissonGamma, zoo
from pgbn.engine.data.cells import cells_of, read_array

X = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [3, 1, 0, 0]])  # an empty document, an empty term
NET = zoo.pfa(2, eta=0.5, p_prior=(2, 2), gamma0_prior=(1, 1))
BINARY = zoo.pfa(2, link="bernoulli")
REAL = zoo.pfa(2, link="gamma")

Case = tuple[Callable[[], Any], list[str]]


def run(x: Any, net: Network = NET, **options: Any) -> pgbn.Chain:
    return net.chain({"x": x}, **options).sweep(2)


def same(first: pgbn.Chain, second: pgbn.Chain) -> bool:
    return all(np.array_equal(first.values[n], second.values[n]) for n in first.network.latent)


# ---- refused ------------------------------------------------------------------------------

BAD_DATA: dict[str, Case] = {
    "NaN": (lambda: run(X * np.nan), ["x:", "NaN", "masked_array", "imputed"]),
    "infinite": (lambda: run(X + np.inf), ["x:", "infinite", "masked_array"]),
    "negative": (lambda: run(X - 1), ["x:", "negative", "-1", "0, 1, 2"]),
    "not integer": (lambda: run(X + 0.5), ["x:", "non-integer", "1.5", "PoissonGamma"]),
    "1-d": (lambda: run(X[0]), ["x:", "(4,)", "2 dims", "doc × term"]),
    "3-d": (lambda: run(X[None]), ["x:", "(1, 3, 4)", "2 dims", "doc × term"]),
    "a number": (lambda: run(3), ["x:", "()", "doc × term"]),
    "objects": (lambda: run(X.astype(object)), ["x:", "dtype object", "give numbers"]),
    "strings": (lambda: run(X.astype(str)), ["x:", "dtype <U", "give numbers"]),
    "a string": (lambda: run("abc"), ["x:", "dtype <U3", "give numbers"]),
    "None": (lambda: run(None), ["x:", "dtype object", "give numbers"]),
    "complex": (lambda: run(X * 1j), ["x:", "complex128", "give numbers"]),
    "dates": (lambda: run(X.astype("datetime64[s]")), ["x:", "datetime64", "give numbers"]),
    "ragged": (lambda: run([[1, 2], [3]]), ["x:", "unequal length", "doc × term"]),
    "empty": (lambda: run(np.zeros((0, 3))), ["x:", "(0, 3)", "'doc' is empty"]),
    "no terms": (lambda: run(np.zeros((3, 0))), ["x:", "'term' is empty"]),
    "empty list": (lambda: run([]), ["x:", "(0,)", "doc × term"]),
    "huge": (lambda: run(X * 2**31), ["x:", "6.4", "below 2^31", "rescale"]),
    "huge float": (lambda: run(X * 1e300), ["x:", "3e+300", "below 2^31"]),
    "huge unsigned": (lambda: run(np.array([[2**63]], np.uint64)), ["x:", "below 2^31"]),
    "not binary": (lambda: run(X, BINARY), ["x:", "the value 2", "0 and 1", "data > 0"]),
    "half binary": (lambda: run(X * 0.5, BINARY), ["x:", "the value 0.5", "0 and 1"]),
    "negative reals": (lambda: run(X - 1.5, REAL), ["x:", "negative", "-1.5", "reals ≥ 0"]),
    "sparse negative": (lambda: run(sp.csr_array(X - 1)), ["x:", "negative", "-1"]),
    "sparse NaN": (lambda: run(sp.csr_array(X * np.nan)), ["x:", "NaN"]),
    "sparse infinite": (lambda: run(sp.csc_array(X + np.inf)), ["x:", "infinite"]),
    "sparse complex": (lambda: run(sp.csr_array(X * 1j)), ["x:", "complex128", "integers"]),
    "sparse not integer": (lambda: run(sp.csr_array(X * 0.5)), ["x:", "0.5", "PoissonGamma"]),
    "sparse not binary": (lambda: run(sp.coo_array(X), BINARY), ["x:", "the value 2"]),
    "sparse 1-d": (lambda: run(sp.coo_array(X[0])), ["x:", "(4,)", "doc × term"]),
    "masked strings": (
        lambda: run(np.ma.masked_array(X.astype(str), X == 0)),
        ["x:", "dtype <U", "give numbers"],
    ),
    "negative beside a mask": (
        lambda: run(np.ma.masked_array(X - 1, X == 1)),
        ["x:", "negative", "-1"],
    ),
    "masked multinomial": (
        lambda: run(np.ma.masked_array(X, X == 0), zoo.lda(2)),
        ["x:", "masked", "Multinomial", "pgbn.Poisson"],
    ),
    "missing name": (lambda: NET.chain({}), ["no values", "'x'"]),
    "unknown name": (lambda: NET.chain({"x": X, "xx": X}), ["'xx'", "not an observed", "'x'"]),
    "latent name": (lambda: NET.chain({"x": X, "theta1": X}), ["'theta1'", "not an observed"]),
    "number as a name": (lambda: NET.chain({"x": X, 3: X}), ["3 is not an observed node"]),
    "no dict": (lambda: NET.chain(X), ["dict", "{'x': X}", "ndarray"]),
    "size": (
        lambda: run(X, NET.with_sizes(doc=5)),
        ["x:", "'doc'", "size 3", "5 elsewhere", "sizes="],
    ),
    "constants of another size": (
        lambda: run(X[0], Network(Poisson("x", pgbn.Constant([1, 2], dims="d"), dims="d"))),
        ["x:", "constant", "size 2", "4"],
    ),
}

BAD_ARGUMENTS: dict[str, Case] = {
    "seed -1": (lambda: run(X, seed=-1), ["seed=-1", "integer from 0"]),
    "seed 1.5": (lambda: run(X, seed=1.5), ["seed=1.5"]),
    "seed None": (lambda: run(X, seed=None), ["seed=None"]),
    "seed str": (lambda: run(X, seed="a"), ["seed='a'"]),
    "seed bool": (lambda: run(X, seed=True), ["seed=True"]),
    "seed 2^64": (lambda: run(X, seed=2**64), ["seed=18446744073709551616", "2^64 - 1"]),
    "chain": (lambda: run(X, chain=-1), ["chain=-1"]),
    "threads 0": (lambda: run(X, threads=0), ["threads=0", "integer"]),
    "threads 1.5": (lambda: run(X, threads=1.5), ["threads=1.5"]),
    "threads str": (lambda: run(X, threads="2"), ["threads='2'"]),
    "threads nan": (lambda: run(X, threads=float("nan")), ["threads=nan"]),
    "sweep -1": (lambda: run(X).sweep(-1), ["n=-1", "integer"]),
    "sweep 1.5": (lambda: run(X).sweep(1.5), ["n=1.5"]),
    "sweep str": (lambda: run(X).sweep("a"), ["n='a'"]),
    "sweep None": (lambda: run(X).sweep(None), ["n=None"]),
    "sweep inf": (lambda: run(X).sweep(float("inf")), ["n=inf"]),
    "layer1": (lambda: run(X, layer1="other"), ["layer1='other'", "collapsed", "blocked"]),
    "init name": (lambda: run(X, init={"thet": 1}), ["init: 'thet'", "theta1"]),
    "init data": (lambda: run(X, init={"x": X}), ["init: 'x'", "latent"]),
    "init shape": (lambda: run(X, init={"theta1": np.ones((3, 3))}), ["theta1", "(3, 3)"]),
    "init ndim": (lambda: run(X, init={"theta1": np.ones(3)}), ["theta1", "(3,)"]),
    "init negative": (
        lambda: run(X, init={"theta1": -np.ones((3, 2))}),
        ["theta1", "-1", "at least 0"],
    ),
    "init str": (lambda: run(X, init={"theta1": "a"}), ["theta1", "<U1", "numbers"]),
    "init complex": (lambda: run(X, init={"theta1": 1j * np.ones((3, 2))}), ["complex128"]),
    "init ragged": (lambda: run(X, init={"theta1": [[1], [1, 2]]}), ["theta1", "unequal"]),
    "init simplex": (
        lambda: run(X, init={"phi1": np.ones((2, 4))}),
        ["phi1", "sums to 4", "'term'"],
    ),
    "init": (lambda: run(X, init=3), ["init=3", "dict"]),
    "burn_in": (lambda: sample(burn_in=-1), ["burn_in=-1", "at least 0"]),
    "burn_in str": (lambda: sample(burn_in="a"), ["burn_in='a'"]),
    "draws": (lambda: sample(draws=0), ["draws=0", "at least 1"]),
    "draws None": (lambda: sample(draws=None), ["draws=None"]),
    "thin": (lambda: sample(thin=0), ["thin=0", "at least 1"]),
    "chains": (lambda: sample(chains=2.5), ["chains=2.5"]),
    "keep": (lambda: sample(keep=["thet"]), ["keep: 'thet'", "theta1"]),
    "keep data": (lambda: sample(keep="x"), ["keep: the data of 'x'", "missing"]),
    "keep number": (lambda: sample(keep=3), ["keep=3", "list"]),
    "generate: size": (lambda: NET.generate(), ["size of dim", "sizes={"]),
    "generate: name": (lambda: draw(given={"thet": 1}), ["given", "'thet'", "theta1"]),
    "generate: shape": (lambda: draw(given={"theta1": X}), ["theta1", "size 3"]),
    "generate: ndim": (lambda: draw(given={"theta1": [1.0]}), ["theta1", "(1,)"]),
    "generate: str": (lambda: draw(given={"theta1": "a"}), ["'theta1'", "finite numbers"]),
    "generate: ragged": (lambda: draw(given={"theta1": [[1], [1, 2]]}), ["unequal"]),
    "generate: negative": (lambda: draw(given={"theta1": -np.ones((2, 2))}), ["negative", "-1"]),
    "generate: data": (lambda: draw(given={"x": np.full((2, 3), 0.5)}), ["'x'", "0.5"]),
    "generate: seed": (lambda: NET.generate(seed=-1), ["seed=-1"]),
    "generate: sizes": (lambda: NET.generate(sizes=3), ["sizes=3", "dict"]),
    "generate: given": (lambda: draw(given=3), ["given=3", "dict"]),
    "generate: total": (
        lambda: zoo.lda(2).generate(sizes={"doc": 2, "term": 2}),
        ["x", "total="],
    ),
}


def sample(**options: Any) -> pgbn.Draws:
    return NET.sample({"x": X}, **{"burn_in": 1, "draws": 1, "progress": False, **options})


def draw(**options: Any) -> dict[str, Any]:
    return NET.generate(sizes={"doc": 2, "term": 3}, **options)


@pytest.mark.parametrize("name", [*BAD_DATA, *BAD_ARGUMENTS])
def test_refused(name: str) -> None:
    build, words = {**BAD_DATA, **BAD_ARGUMENTS}[name]
    with pytest.raises((DataError, NetworkError)) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def test_threads_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGBN_THREADS", "many")
    with pytest.raises(DataError, match="PGBN_THREADS='many'"):
        run(X)


def test_integral_floats_are_integers() -> None:
    draws = sample(burn_in=1.0, draws=2.0)
    assert draws["theta1"].shape == (1, 2, 3, 2)


# ---- accepted, with the same bits ---------------------------------------------------------

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_formats_give_the_bits_of_dense_data(form: str, kind: str, dtype: type) -> None:
    sparse = getattr(sp, f"{form}_{kind}")(X.astype(dtype))
    before = sparse.copy()
    assert same(run(sparse), run(X))
    assert type(sparse) is type(before)
    assert sparse.dtype == before.dtype
    assert (sparse != before).nnz == 0
    assert sparse.nnz == before.nnz


@pytest.mark.parametrize("form", FORMATS)
def test_sparse_bool(form: str) -> None:
    assert same(run(getattr(sp, f"{form}_array")(X > 0), BINARY), run(X > 0, BINARY))


def messy() -> sp.csr_array:
    """X with unsorted indices, duplicates and explicit zeros."""
    data = np.array([2, 1, 0, 1, 1, 1, 1])
    indices = np.array([2, 0, 3, 1, 0, 0, 0])
    return sp.csr_array((data, indices, [0, 3, 3, 7]), shape=X.shape)


def test_messy_sparse_data_are_read_and_left_alone() -> None:
    data = messy()
    assert np.array_equal(data.toarray(), X)
    assert not data.has_sorted_indices
    assert same(run(data), run(X))
    for name in ("indptr", "indices", "values"):
        found, clean = (getattr(read_array(NET["x"], d), name) for d in (data, X))
        assert np.array_equal(found, clean)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(data, name), getattr(messy(), name))


def test_duplicates_of_small_integers_do_not_overflow() -> None:
    twice = sp.coo_array((np.array([200, 100], np.uint8), ([0, 0], [0, 0])), shape=(1, 1))
    assert read_array(NET["x"], twice).values.tolist() == [300]


def test_sparse_data_stay_sparse() -> None:
    """A million by a million cells, three of them full."""
    big = sp.coo_array((np.ones(3, int), ([0, 5, 999_999], [0, 7, 999_999])), (10**6, 10**6))
    cells = read_array(NET["x"], big)
    assert cells.values.size == 3
    assert cells.shape == big.shape


class Frame:
    """What a data frame of any library offers to numpy."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return X


def frozen() -> Any:
    array = X.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "make",
    [
        lambda: X.tolist(),
        lambda: tuple(map(tuple, X)),
        lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, axis=1)[:, ::2],
        lambda: np.flip(np.flip(X, 0).copy(), 0),
        lambda: np.broadcast_to(X, (2, *X.shape))[1],
        lambda: np.ma.masked_array(X),
        frozen,
        Frame,
        *(
            lambda dtype=dtype: X.astype(dtype)
            for dtype in ("u1", "i1", "u2", "i2", ">i4", "u8", "f2", "f4", ">f8", "g")
        ),
    ],
)
def test_arrays_of_all_sorts_give_the_same_bits(make: Callable[[], Any]) -> None:
    data = make()
    assert same(run(data), run(X))
    assert np.array_equal(np.asarray(data), X)


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    assert same(run(frame), run(X))
    with pytest.raises(DataError, match="dtype object"):
        run(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


# ---- edges that must work -----------------------------------------------------------------

EDGES = {
    "empty rows and columns": X,
    "one document": X[:1],
    "one term": X[:, :1],
    "one token": np.array([[0, 0], [0, 1]]),
    "one cell": np.array([[1]]),
    "all zero": np.zeros((3, 4), int),
    "all zero, one cell": np.zeros((1, 1), int),
    "many tokens in a cell": np.array([[10**6, 0], [1, 1]]),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(
    "net",
    [zoo.pfa(1), zoo.pgbn([1]), zoo.pgbn([1, 1]), zoo.pgbn([3, 2]), zoo.lda(1), zoo.lda(2)],
    ids=["pfa1", "pgbn1", "pgbn11", "pgbn32", "lda1", "lda2"],
)
def test_edges(net: Network, edge: str, form: Callable[[Any], Any]) -> None:
    for layer1 in ("auto", "blocked"):
        chain = net.chain({"x": form(EDGES[edge])}, layer1=layer1).sweep(3)
        assert all(np.isfinite(value).all() for value in chain.values.values())


@pytest.mark.parametrize("net", [BINARY, REAL], ids=["binary", "real"])
@pytest.mark.parametrize("edge", EDGES)
def test_edges_of_links(net: Network, edge: str) -> None:
    chain = run(np.minimum(EDGES[edge], 1), net)
    assert all(np.isfinite(value).all() for value in chain.values.values())


def test_data_without_dims() -> None:
    chain = Network(Poisson("x", Gamma("g", 2, 1))).chain({"x": 3}).sweep(1)
    assert chain.values["g"].shape == ()


# ---- masked cells are imputed -------------------------------------------------------------

N = 12_000


def chain_of(net: Network, data: Any, seed: int = 1) -> dict[str, np.ndarray]:
    draws = net.sample(
        {"x": data}, burn_in=50, draws=N, seed=seed, progress=False, threads=1, layer1="blocked"
    )
    return {name: draws[name][0] for name in net.latent}


def z_score(draws: np.ndarray, mean: float) -> float:
    """Of a mean, with the standard error of batch means, so that autocorrelation counts."""
    batches = draws.reshape(60, -1).mean(axis=1)
    return float((batches.mean() - mean) / (batches.std(ddof=1) / np.sqrt(60)))


def test_a_masked_cell_says_nothing() -> None:
    """g ~ Gam(2, 1), x_i ~ Pois(g): with a cell unknown, g ~ Gam(2 + Σ known, 1 + known)."""
    net = Network(Poisson("x", Gamma("g", 2, 1), dims="cell"))
    data = np.ma.masked_array([3, 7, 1], [False, True, False])
    draws = chain_of(net, data)["g"]
    exact = stats.gamma(2 + 4, scale=1 / (1 + 2))
    assert abs(z_score(draws, exact.mean())) < 4
    assert abs(z_score((draws - exact.mean()) ** 2, exact.var())) < 4
    assert stats.kstest(draws[::20], exact.cdf).pvalue > 1e-4
    zero = chain_of(net, [3, 0, 1])["g"]  # a known zero is not the same
    assert abs(z_score(zero, exact.mean())) > 10


@pytest.mark.parametrize(
    ("net", "masked", "known"),
    [
        (
            Network(PoissonGamma("x", Gamma("g", 2, 1), Gamma("noise", 3, 2), dims="cell")),
            [1.5, 9.0, 0.5],
            [1.5, 0.5],
        ),
        (Network(pgbn.BernoulliPoisson("x", Gamma("g", 2, 1), dims="cell")), [1, 1, 0], [1, 0]),
    ],
    ids=["real", "binary"],
)
def test_a_masked_cell_of_a_link_says_nothing(net: Network, masked: Any, known: Any) -> None:
    """The posterior is the one without the cell, for every slot: a PoissonGamma's noise must not
    hear of an imputed count either."""
    with_mask = chain_of(net, np.ma.masked_array(masked, [False, True, False]))
    without = chain_of(net, known, seed=2)
    for name in net.latent:
        first, second = (d[name].reshape(60, -1).mean(axis=1) for d in (with_mask, without))
        assert abs(stats.ttest_ind(first, second).statistic) < 4, name


def test_what_lies_under_the_mask_does_not_matter() -> None:
    mask = X == 1
    under = [np.where(mask, value, X.astype(float)) for value in (np.nan, -5.0, 1e300, 0.0)]
    chains = [run(np.ma.masked_array(array, mask)) for array in under]
    assert all(same(chains[0], chain) for chain in chains[1:])
    assert chains[0].log_joint() == chains[-1].log_joint()
    assert np.isfinite(run(np.ma.masked_all((2, 2), int)).log_joint())


def test_the_density_of_masked_data_leaves_them_out() -> None:
    net = Network(Poisson("x", Gamma("g", 2, 1), dims="cell"))
    options = {"init": {"g": 1.5}}
    masked = net.chain({"x": np.ma.masked_array([3, 7], [False, True])}, **options)
    assert masked.log_likelihood() == pytest.approx(stats.poisson(1.5).logpmf(3))


def test_cells_know_their_values() -> None:
    cells = cells_of(NET["x"], X[None], 1)
    assert np.array_equal(cells.dense()[0], X)
    assert np.array_equal(cells.dense(cells.values * 2)[0], X * 2)
    assert np.array_equal(cells.total(cells.values, ("term",))[0], X.sum(axis=0))
