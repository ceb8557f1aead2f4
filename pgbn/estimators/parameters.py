"""What the scikit-learn estimators are given, checked, and what `fit` settles before it trains.

An error names the argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from pgbn.checks import (
    MOST_THREADS,
    check_flag,
    check_integer,
    in_order,
    is_integral,
    labels_of_columns,
)
from pgbn.engine.run.chain import Interrupted
from pgbn.errors import DataError, notify, tell
from pgbn.evaluation import layer_quality, training_advice
from pgbn.samplers.executor import Executor, executor_of
from pgbn.storage.corpus import counts_of
from pgbn.storage.sparse import as_scipy, check_sparse
from pgbn.training.growing import why_start_is_full
from pgbn.training.settings import Settings, layers_asked
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo.arguments import check_link
from pgbn.zoo.links import suitable_link

DOCUMENTS = ("doc", "term")
MOST_SWEEPS = 10**6  # of a document; hundreds are usual
LONGEST = 200  # of the words of scikit-learn in an error, which may quote a whole document


def validate_documents(
    estimator: Any, X: Any, reset: bool, name: str = "X", dims: tuple[str, str] = DOCUMENTS
) -> Any:
    """Documents × terms as a csr_array, or dense as they were given; named dims (of xarray) go by
    their names, ``dims``. With ``reset`` the number of the terms and their names, those of a data
    frame or along the second dim, are noted in the estimator, else they must be the ones it
    knows."""
    X = counts_of(X)
    masked = int(np.ma.getmaskarray(X).sum()) if np.ma.isMaskedArray(X) else 0
    if masked:
        raise DataError(
            f"{name} has {masked} masked cells, which the estimators would take as data; train "
            "with pgbn.train_layerwise or Network.chain, which impute them, or fill them, e.g. "
            "with .filled(0)"
        )
    X = as_scipy(name, in_order(name, dims, X))
    if hasattr(X, "to_pandas") and hasattr(X, "dims") and labels_of_columns(X, dims[1]):
        X = X.to_pandas()  # whose names scikit-learn compares
    if sp.issparse(X):
        check_sparse(name, X)
    kinds = getattr(X, "dtypes", None)  # of a data frame, each column's
    for kind in [getattr(X, "dtype", None)] if kinds is None else list(kinds):
        if getattr(kind, "kind", "") in ("m", "M"):  # which scikit-learn takes for numbers
            raise DataError(f"{name} has the dtype {kind}; give counts")
    with blaming(name):
        X = validate_data(
            estimator, X, accept_sparse="csr", reset=reset,
            dtype=[np.float64, np.float32, np.int64, np.int32],
        )  # fmt: skip
        values = X.data if sp.issparse(X) else X
        if values.size and values.min() < 0:
            kind = type(estimator).__name__
            words = f"Negative values in data passed to X in {kind}{_least_cell(X)}"
            raise ValueError(words)
    return sp.csr_array(X) if sp.issparse(X) else X


def read_link(link: str, X: Any) -> str:
    """The link; "auto" looks at the data."""
    if not isinstance(link, str) or link != "auto":
        return check_link(link)
    found = suitable_link(X.data if sp.issparse(X) else X)
    if found == "gamma" and _looks_weighted(X):
        notify(
            "X holds weights, not counts, such as those of tf-idf or frequencies: link='auto' "
            "takes them as non-negative reals. Topics are better found in counts: use "
            "CountVectorizer. If reals are meant, say so with link='gamma'"
        )
    return found


def _looks_weighted(X: Any) -> bool:
    """Whether reals are those of weighted texts: sparse, or with rows whose norm or sum is one."""
    if sp.issparse(X) and X.nnz < 0.5 * X.shape[0] * X.shape[1]:
        return True
    rows = sp.csr_array(X).astype(np.float64)
    norms, sums = np.sqrt(rows.power(2).sum(axis=1)), rows.sum(axis=1)
    return any(bool(np.allclose(each[each > 0], 1.0)) for each in (norms, sums))


def read_seed(random_state: Any) -> int:
    """A seed of pgbn from what scikit-learn takes."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (ValueError, TypeError, OverflowError):
        raise DataError(
            f"random_state={random_state!r:.60} must be None, an integer from 0 to 2^32 - 1, or a "
            "numpy.random.RandomState"
        ) from None


def read_executor(estimator: Any) -> Executor:
    """Where the rows of `fit` are worked on: the executor, or ``n_jobs`` threads of this process,
    of which None is one, and −1 as many as PGBN_THREADS says, or all cores."""
    n_jobs, executor = estimator.n_jobs, estimator.executor
    if executor is not None and n_jobs is not None:
        raise DataError(f"n_jobs={n_jobs!r}, executor={executor!r}: give one of them")
    if executor is not None:
        return executor_of(None, executor)
    n_jobs = 1 if n_jobs is None else n_jobs
    if not is_integral(n_jobs) or (n_jobs != -1 and not 1 <= n_jobs <= MOST_THREADS):
        raise DataError(
            f"n_jobs={n_jobs!r} must be None, -1 or an integer from 1 to {MOST_THREADS}"
        )
    return executor_of(None if n_jobs == -1 else int(n_jobs))


def read_sweeps(estimator: Any) -> dict[str, int]:
    """The sweeps for the hidden units of a document, at most `MOST_SWEEPS`: a stranger's file must
    not keep `transform` busy for ever."""
    found = {}
    for name, least in (("burn_in", 0), ("draws", 1)):
        argument = f"transform_{name}"
        value = check_integer(argument, getattr(estimator, argument), least)
        if value > MOST_SWEEPS:
            raise DataError(f"{argument}={value} must be at most {MOST_SWEEPS}")
        found[name] = value
    return found


def check_settings(estimator: Any) -> None:
    """The parameters that only `transform` reads: they are to fail before training, not after.
    And an eta of None, which is for trainings that continue with another model's settings."""
    if estimator.eta is None:
        raise DataError("eta=None: give a positive number, or one for each layer")
    check_flag("warm_start", estimator.warm_start)
    check_flag("merge_duplicates", estimator.merge_duplicates)
    _one_of("learning", estimator.learning, "gibbs", "estimate", "minibatch")
    check_integer("batch_size", estimator.batch_size, 1)
    depth = read_depth(estimator)
    layer = estimator.layer
    if layer is not None and not (is_integral(layer) and 1 <= layer <= depth):
        raise DataError(
            f"layer={layer!r} must be an integer from 1 to depth={depth}, or None for all layers "
            "side by side"
        )
    read_sweeps(estimator)
    read_executor(estimator)


def read_depth(estimator: Any) -> int:
    """How many layers are asked for, at most: ``depth``, or as many as there are budgets."""
    return layers_asked(getattr(estimator, estimator._width_name), estimator.depth)


def read_layer(estimator: Any) -> int | None:
    """The layer of the features; None for all layers side by side."""
    layer, depth = estimator.layer, len(estimator.widths_)
    if layer is None:
        return None
    if not is_integral(layer) or not 1 <= layer <= depth:
        raise DataError(
            f"layer={layer!r}: the network has layers 1 to {depth} (training ended: "
            f"{estimator.training_.stopped}); None gives all of them side by side"
        )
    return int(layer)


def _one_of(argument: str, value: Any, *choices: str) -> None:
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{argument}={value!r} must be one of {', '.join(map(repr, choices))}")


# What to do about an error of scikit-learn that has these words.
_REMEDIES = {
    "could not convert string": "; are these texts? count their terms first, with CountVectorizer",
    "inhomogeneous": " has rows of unequal length; give documents × terms, a matrix of counts. Of "
    "lists of tokens, CountVectorizer(analyzer=list) makes one; of pairs of gensim, "
    "gensim.matutils.corpus2csc(corpus).T",
    "Complex data": "; give counts, or real numbers of at least 0",
    "contains NaN": "; leave such documents out, fill the cells with 0, or give "
    "pgbn.train_layerwise a numpy.ma.masked_array, in which they are imputed",
    "contains infinity": "; give finite numbers",
    "got 1D array": "; give documents × terms. Reshape your data: a single document x is "
    "x.reshape(1, -1)",
    "got scalar array": "; give documents × terms, a matrix of counts",
    "Found array with dim": "; give documents × terms, a matrix",
    "0 sample(s)": "; give at least one document",
    "0 feature(s)": "; give at least one term",
    "is expecting": "; give the same terms: transform texts with the vectorizer of fit, "
    "vectorizer.transform(texts)",
}


def _least_cell(X: Any) -> str:
    """The most negative cell of documents × terms, in words."""
    cells = sp.coo_array(X)
    least = int(np.argmin(cells.data))
    row, column = (int(places[least]) for places in cells.coords)
    return f"; the least is {cells.data[least]:g}, in row {row}, column {column}; counts are ≥ 0"


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Errors of scikit-learn say "X", or do not say which argument is wrong: they get its name."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        text = re.sub(r"\bX\b", name, str(error))
        kind = TypeError if isinstance(error, TypeError) else DataError
        remedy = next((remedy for words, remedy in _REMEDIES.items() if words in text), "")
        if remedy:  # the further lines show the array, or recommend classifiers
            text = "" if "inhomogeneous" in text else text.partition("\n")[0].rstrip(".:")
            text = text or name
            text = (text if len(text) <= LONGEST else f"{text[:LONGEST]}…") + remedy
        raise kind(text if name in text else f"{name}: {text}") from error


@contextmanager
def renaming(inside: str, outside: str) -> Iterator[None]:
    """Errors of pgbn name an argument by what the estimator's own method calls it."""
    try:
        yield
    except DataError as error:
        if inside == outside or inside not in str(error):
            raise
        raise DataError(str(error).replace(inside, outside)) from error


# ---- what fit settles -----------------------------------------------------------------------
#
# A new network, or one to continue.


def begin_fit(
    estimator: Any, X: Any, again: bool = False
) -> tuple[Settings, tuple[TrainedNetwork, ...], str]:
    """The settings of a training from the start, or ``again``, with the link and the seed of the
    one before; the networks to continue from, and why they get no further layer, if they do not.
    The estimator keeps what another training continues with."""
    seed = estimator._seed if again else read_seed(estimator.random_state)
    settings = read_settings(estimator, X, seed)
    fixed = fixed_parameters(estimator, settings.max_width)
    networks: tuple[TrainedNetwork, ...] = ()
    full = ""
    if again:
        _check_same(estimator, fixed, settings)
        fixed["random_state"] = estimator._fixed["random_state"]  # budgets may have been added
        networks = estimator.training_.models
        start = networks[-1]
        if start.depth < settings.depth:
            full = why_start_is_full(start, float(X.sum()), settings.min_width)
        if full:  # no further layer: no use for its settings
            settings = settings.first(start.depth)
    estimator.link_, estimator._seed, estimator._fixed = settings.link, seed, fixed
    return settings, networks, full


def read_settings(estimator: Any, X: Any, seed: int) -> Settings:
    """What the parameters of an estimator say of a training on X."""
    link, name = read_link(estimator.link, X), estimator._width_name
    widths = getattr(estimator, name)
    if name == "width" and isinstance(widths, list | tuple) and len(widths) > 1:
        raise DataError(
            f"width={widths!r:.60}: a {type(estimator).__name__} has one layer; give one number, "
            f"or use pgbn.PGBN(max_width={widths!r:.60})"
        )
    with renaming("max_width", name):
        return Settings(
            widths, estimator.depth, eta=estimator.eta, link=link, seed=seed,
            burn_in=estimator.burn_in, sweeps=estimator.sweeps, sampler=estimator.sampler,
            min_width=estimator.min_width, priors=estimator.priors,
            keep_draws=estimator.keep_draws,
        )  # fmt: skip


def fixed_parameters(estimator: Any, widths: int | tuple[int, ...]) -> dict[str, Any]:
    """The parameters that ``warm_start`` cannot change, in a form that can be kept and saved: the
    widths at most and the random state."""
    state = estimator.random_state
    if is_integral(state):
        state = int(state)
    elif state is not None:
        state = type(state).__name__  # a generator: which one it was does not matter
    return {estimator._width_name: widths, "random_state": state}


def _check_same(estimator: Any, now: dict[str, Any], settings: Settings) -> None:
    """Reject what cannot change while training continues; only warn of a seed that is not used."""
    width, depth = estimator._width_name, estimator.training_.deepest.depth
    before, link, changes = estimator._fixed, settings.link, []
    if link != estimator.link_:
        auto = f" ({link!r} for this X)" if estimator.link == "auto" else ""
        changes.append((f"link={estimator.link!r}{auto}", f"link={estimator.link_!r}"))
    trained = (_first(each[width], depth) for each in (now, before))
    if next(trained) != next(trained):
        changes.append((f"{width}={now[width]}", f"{width}={before[width]}"))
    if settings.depth < depth:
        changes.append((f"depth={settings.depth}", f"depth={depth}"))
    if changes:
        new, old = changes[0]
        raise DataError(
            f"{new}: with warm_start, fit continues a network that has {old}; set_params({old}) "
            "continues, set_params(warm_start=False) begins anew"
        )
    if now["random_state"] != before["random_state"]:
        notify(
            f"random_state={estimator.random_state!r} is not used: with warm_start, fit continues "
            f"with the random numbers of random_state={before['random_state']!r}; "
            "set_params(warm_start=False) begins anew"
        )


def _first(max_width: int | Sequence[int], depth: int) -> tuple[int, ...]:
    """The budgets of the first layers, which are trained already. Where one number stands for all,
    the layers above the first have none of their own."""
    if isinstance(max_width, Sequence):
        return tuple(max_width[:depth])
    return (max_width, *[0] * (depth - 1))


def report_training(estimator: Any, X: Any) -> None:
    """Tell what a reader of the layers should know: that there are fewer than were asked for, and
    what `pgbn.evaluation.training_advice` finds; with ``verbose``, how each layer reads."""
    layers, depth = len(estimator.widths_), read_depth(estimator)
    if layers < depth:
        notify(
            f"depth={depth}, but the network has {layers} layer{'s' if layers > 1 else ''}: "
            f"{estimator.training_.stopped}; a larger max_width or a smaller min_width "
            f"(now {estimator.min_width}) lets more layers be trained"
        )
    for advice in training_advice(estimator.training_, X):
        notify(advice.replace("max_width", estimator._width_name))
    if estimator.verbose:
        for quality in layer_quality(estimator.training_):
            tell(f"[pgbn] {quality}")


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """An estimator whose `fit` fails is what it was before; one that is stopped by Ctrl-C after a
    sweep keeps what was trained."""
    before = dict(vars(estimator))
    try:
        yield
    except Interrupted:
        raise
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
