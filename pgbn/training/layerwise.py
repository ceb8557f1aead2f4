"""Layer-wise training as users call it; the algorithm is in `pgbn.training.growing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgbn.checks import check_names, check_place, validated
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import check_fits, complete_sizes, term_labels
from pgbn.engine.first_layer.choice import find_patterns, first_choice
from pgbn.engine.run.progress import Clock, check_callback, live
from pgbn.errors import DataError
from pgbn.nodes.rules import find_link
from pgbn.samplers.executor import Executor, executor_of
from pgbn.storage.read_limits import check_bytes
from pgbn.training.growing import (
    Plan,
    Progress,
    averaged,
    named_as,
    run_plan,
    trained_at,
)
from pgbn.training.kept_draws import Means, check_draws_fit
from pgbn.training.numbering import numbered_as_in_chain, numbered_by_weight
from pgbn.training.settings import Build, Family, Settings
from pgbn.training.start_from import (
    check_resumed,
    check_start,
    find_start,
    read_training,
)
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.training_result import FittedModel, LayerwiseTraining

MOST_TOKENS = 2**28  # with a label each
_KERNELS = 21  # that a first training compiles, of three layers of counts


@validated
def train_layerwise(
    X: Any,
    max_width: int | Sequence[int],
    depth: int,
    *,
    eta: float | Sequence[float] | None = None,
    burn_in: int | Sequence[int] = 1000,
    sweeps: int | Sequence[int] = 500,
    link: str = "poisson",
    seed: int = 0,
    sampler: str = "auto",
    threads: int | None = None,
    executor: Executor | None = None,
    average: int = 1,
    min_width: int = 4,
    min_count: int = 1,
    trace_every: int = 10,
    priors: Priors | None = None,
    callback: Callable[[Progress], None] | None = None,
    progress: bool = True,
    start_from: FittedModel | str | Path | None = None,
    keep_states: bool = False,
    keep_draws: int = 0,
    family: Build | None = None,
    save: str | Path | None = None,
    minutes: float | None = 5.0,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    names: Sequence[Any] | None = None,
) -> LayerwiseTraining:
    """Train networks of 1, 2, …, ``depth`` layers, one layer at a time (Zhou, Cong & Chen 2015).

    A new layer is trained for ``burn_in`` sweeps, loses the topics without counts, and is trained
    for ``sweeps`` sweeps more. Φ of a trained network is the posterior mean (η + x) / Σ(η + x)
    given the counts of the last sweep, as in the paper. Topics are numbered by weight, the largest
    first.

    Parameters
    ----------
    X : documents × terms, Corpus, or dict of arrays
        The data. It is a dict by the names of the observed nodes if a ``family`` has several.
    max_width : int or sequence of int
        The largest width of the first layer; each further layer begins as wide as the one below.
        Or the largest width of each layer: (100, 30, 10).
    depth : int
        The number of layers, at most.
    eta : float or sequence of float, optional
        The Dirichlet parameter of the topics, for all layers or for each; 0.05 by default.
    burn_in, sweeps : int or sequence of int
        Sweeps before and after pruning, for all layers or for each.
    link : str
        "poisson" for counts, "bernoulli" for 0/1, "gamma" for reals of at least 0, or the name of a
        link of your own.
    seed : int
        The seed of the random streams.
    sampler : str
        The sampler of the first layer, see `pgbn.Network.chain`. "auto" depends on X and
        ``max_width``: "collapsed" for counts, "partial" for a `pgbn.Corpus`, and "blocked" if large
        counts make that much cheaper, if there are more than 2^28 counts, or if cells are masked.
    threads : int, optional
        Threads of this process; all cores by default.
    executor : Executor, optional
        Where rows are worked on, such as `pgbn.Disk`, in place of ``threads``.
    average : int
        Φ and r are averages over this number of last sweeps.
    min_width, min_count : int
        Training stops early at a layer of at most ``min_width`` topics, or with fewer than
        ``min_count`` counts in all.
    trace_every : int
        The log likelihood and the active width are recorded every this many sweeps; 0: never.
    priors : Priors, optional
        The constants of the model; those of the paper by default.
    callback : function, optional
        Called with an `Event` after each sweep.
    progress : bool
        Show a live line.
    start_from : TrainedNetwork, LayerwiseTraining, estimator, str or Path, optional
        A model of the same documents, or its folder: layers are added to it. A model that has
        ``depth`` layers already is trained for ``sweeps`` sweeps more. Its first layer keeps its
        width. ``eta`` and ``priors`` default to its own.
    keep_states : bool
        Keep the state of all networks; otherwise only the deepest one keeps it.
    keep_draws : int
        How many draws of Φ and r are kept, evenly spread over the last ``sweeps``. Predictions then
        average over them, which is better than one Φ.
    family : function, optional
        A function from widths to a `pgbn.Network`, to grow networks other than the belief network:
        ``lambda widths: pgbn.zoo.multimodal(widths, modalities)``. It sets what ``eta``, ``link``
        and ``priors`` set here.
    save : str or Path, optional
        A folder for checkpoints and the result. `pgbn.resume` continues a training that was
        stopped, bit-identical to one without a stop.
    minutes : float, optional
        The time between two checkpoints; None writes them at a stop only.
    vocabulary : list of str, or dict from names to columns, optional
        Names of the terms, where X has none.
    names : list, optional
        Names of the documents, saved with the model.

    Returns
    -------
    LayerwiseTraining
        The trained networks, and why training stopped.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
    >>> training = pgbn.train_layerwise(X, (4, 3), 2, burn_in=5, sweeps=5, min_width=1,
    ...                                 progress=False)
    >>> training.widths
    (4, 3)
    >>> training.deepest.phi[1].shape
    (3, 4)
    """
    if save is None and names is not None:
        raise DataError("names: they are saved with the model; give a folder as save=, too")
    networks = find_start(start_from)
    arguments: dict[str, Any] = {
        "eta": eta, "burn_in": burn_in, "sweeps": sweeps, "link": link, "seed": seed,
        "sampler": sampler, "average": average, "min_width": min_width, "min_count": min_count,
        "trace_every": trace_every, "priors": priors, "keep_states": keep_states,
        "keep_draws": keep_draws, "family": family,
    }  # fmt: skip
    running: dict[str, Any] = {"callback": callback, "threads": threads, "executor": executor,
                               "progress": progress}  # fmt: skip
    if save is not None:
        from pgbn.training.checkpoints import train_with_checkpoints

        return train_with_checkpoints(
            X, check_place("save", save), max_width, depth, start_from=start_from, minutes=minutes,
            vocabulary=vocabulary, names=names, **running, **arguments,
        )  # fmt: skip
    settings = Settings(max_width, depth, **arguments, start=networks[-1] if networks else None)
    return train_settings(settings, X, networks, vocabulary=vocabulary, **running)


def train_settings(
    settings: Settings,
    X: Any,
    networks: Sequence[TrainedNetwork] = (),
    *,
    resume: Progress | None = None,
    callback: Callable[[Progress], None] | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool = True,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
) -> LayerwiseTraining:
    """`train_layerwise` with resolved settings, starting from ``networks`` (those of ``resume``, if
    it is given)."""
    check_callback(callback)
    family = settings.grown
    worker = executor_of(threads, executor)
    data = read_training(X, family, worker)
    terms = names_of_terms(vocabulary, settings, next(iter(data.values())))
    networks = list(networks)
    if networks and resume is None:
        networks[-1] = numbered_as_in_chain(networks[-1], worker)
    if resume is not None:
        check_resumed(resume, settings)
    elif networks:
        check_start(networks[-1], data, settings)
    plan = Plan(
        settings=settings,
        sampler=_sampler(settings, family, data, resume),
        executor=worker,
        callbacks=[] if callback is None else [callback],
        clock=Clock(0),
        networks=networks,
    )
    if settings.family is not None:
        family.layers(min(settings.depth, 3))  # an error before any work
    if not networks:
        _check_memory(settings, family, data)
    plan.set_clock(resume)
    with live(progress, _KERNELS) as meter:
        plan.callbacks.append(meter)
        stopped = run_plan(plan, data, resume)
    models = tuple(numbered_by_weight(network, worker) for network in plan.networks)
    training = LayerwiseTraining(models, stopped)
    known = vocabulary is None and settings.link and training.deepest.vocabulary is not None
    return training if known else training.with_vocabulary(terms)


def names_of_terms(vocabulary: Any, settings: Settings, cells: Cells) -> Sequence[str] | None:
    """The names of the terms: those that are given, or those of the data, by which columns of new
    documents are matched."""
    if not settings.link:
        if vocabulary is not None:
            raise DataError("vocabulary: names of terms are for belief networks; omit it")
        return None
    if vocabulary is None:
        return term_labels(cells)
    return check_names("vocabulary", vocabulary, cells.columns)


def _sampler(
    settings: Settings, family: Family, data: Mapping[str, Cells], resume: Progress | None
) -> str:
    """The sampler of the first layer, for the entire training. "auto" is resolved here if the
    network has one first layer and its data are counts.

    It depends on the data and the first width, never on the threads or on widths after pruning. So
    an uninterrupted training, a resumed one and one layer at a time are the same chain.
    """
    sampler, wiring = settings.sampler, family.example().wiring
    if not isinstance(sampler, str):
        return sampler  # rejected with the network and the data
    if resume is not None and sampler in ("auto", "blocked"):
        # keep the choice: another version might choose differently
        return "general" if resume.chain.sampler == "composed" else resume.chain.sampler
    patterns = find_patterns(wiring)
    if sampler != "auto" or isinstance(patterns, str) or len(patterns) > 1:
        return sampler
    observed = patterns[0].observed
    link = find_link(wiring.nodes[observed])
    if link is None or link.counts is not None:  # one sampler serves these
        return sampler
    wirings = [family.example(depth).wiring for depth in (1, 2)[: settings.depth]]
    return first_choice(data[observed], settings.budget(), MOST_TOKENS, wirings)


def _check_memory(settings: Settings, family: Family, data: Mapping[str, Cells]) -> None:
    """Reject a first layer that does not fit into memory."""
    check_bytes(f"max_width={settings.max_width}: the first layer", 8 * settings.budget(),
                "give a smaller one")  # fmt: skip
    network = family.network((settings.budget(),))
    sizes = complete_sizes(network, {}, {name: cells.shape for name, cells in data.items()})
    check_fits(network, sizes, argument=f"max_width={settings.max_width}: ")
    check_draws_fit(network, family.shared(network), sizes, settings.keep_draws)


def trained_so_far(at: Progress, settings: Settings, executor: Executor) -> LayerwiseTraining:
    """The result of a training that was stopped: the layers below, and the new one in its current
    state."""
    settings, means = settings.first(at.depth), Means(draws=at.means.draws)
    means.add(at.chain, averaged(at.chain, settings))
    network = trained_at(at.chain, means, 1, at.trace, settings)
    if at.networks:
        network = named_as(at.networks[-1], network)
    below = tuple(each for each in at.networks if each.depth < at.depth)
    models = tuple(numbered_by_weight(each, executor) for each in (*below, network))
    return LayerwiseTraining(models, f"interrupted at sweep {at.done} of {at.total}")
