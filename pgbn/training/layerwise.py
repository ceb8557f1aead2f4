"""Layer-wise training as users call it; the algorithm is in `pgbn.training.growing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import check_fits, complete_sizes, term_labels
from pgbn.engine.first_layer.choice import find_patterns, first_choice
from pgbn.engine.run.progress import Clock, check_callback, live
from pgbn.errors import DataError
from pgbn.nodes.rules.registry import find_link
from pgbn.samplers.executor import Executor, executor_of
from pgbn.storage.read_limits import check_bytes
from pgbn.training.averages import Means
from pgbn.training.family import Build, Family
from pgbn.training.growing import (
    Plan,
    Progress,
    averaged,
    named_as,
    run_plan,
    trained_at,
)
from pgbn.training.kept_draws import check_draws_fit
from pgbn.training.numbering import numbered_as_in_chain, numbered_by_weight
from pgbn.training.settings import Settings
from pgbn.training.start_from import (
    check_resumed,
    check_start,
    find_start,
    read_training,
)
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining, Reportable

MOST_TOKENS = 2**28  # with a label each
_KERNELS = 21  # that a first training compiles, of three layers of counts


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
    start_from: Reportable | str | Path | None = None,
    keep_states: bool = False,
    keep_draws: int = 0,
    family: Build | None = None,
    resume: Progress | None = None,
) -> LayerwiseTraining:
    """Train networks of 1, 2, …, ``depth`` layers on documents × terms ``X``: belief networks, or
    those of another ``family``, a function from widths to a `pgbn.Network` such as
    ``lambda widths: pgbn.zoo.multimodal(widths, modalities)``. ``X`` is then a dict by the names of
    the observed nodes, if there are several, and the family sets what ``eta``, ``link`` and
    ``priors`` set here.

    ``max_width`` is the largest width of the first layer, and each further layer begins as wide as
    the one below; or it gives the largest width of each layer, (100, 30, 10). ``eta`` (0.05),
    ``burn_in`` (B_t) and ``sweeps`` (C_t) are one number or one for each layer; ``priors`` are the
    paper's, `pgbn.Priors()`, by default. Φ of a trained network is the posterior mean (η + x) / Σ(η
    + x) given the counts of the last sweep, as in the paper. With ``average`` ≤ C_t it is the
    average over that many last sweeps; r likewise. Training stops early at a layer of at most
    ``min_width`` factors, or with fewer than ``min_count`` counts in all. Every ``trace_every``
    sweeps the log likelihood and the active width are recorded (0: never).

    ``sampler`` is the sampler of the first layer (`Network.chain`). "auto" depends on X and
    ``max_width``. It is "collapsed" for counts and "partial" for a `pgbn.Corpus`. It is "blocked"
    if large counts make that much cheaper, if there are more than 2^28 counts, or if cells are
    masked. ``executor`` says where rows are worked on, such as `pgbn.Disk`; ``threads`` is short
    for threads of this process.

    ``start_from`` is a network, a training or a fitted estimator of the same documents, or the
    folder of one: layers are added to it. If it has ``depth`` layers already, it is trained for C_T
    more sweeps. Its first layer keeps its width, so ``max_width`` must not be smaller. ``eta`` and
    ``priors`` default to its own (further layers: the topmost eta). The rules that stop early apply
    to it too: then nothing is trained, and it is returned. They use the width of its top layer and,
    as a bound of its counts, those of X.

    ``keep_draws`` draws of Φ and r, evenly spread over the C_t sweeps, are kept in addition to the
    means: `infer` and `completion_perplexity` then average over them, which predicts better than
    one Φ. Only the deepest network keeps its state, unless ``keep_states``. ``resume`` continues
    from the event that a callback received, with the same arguments: see `pgbn.checkpoint`.
    """
    if not isinstance(resume, Progress | None):
        raise DataError(
            f"resume={resume!r}: give the event that a callback saw; for a folder with a "
            "checkpoint, use pgbn.resume(path)"
        )
    networks = find_start(start_from) if resume is None else list(resume.networks)
    settings = Settings(
        max_width, depth, eta=eta, burn_in=burn_in, sweeps=sweeps, link=link, seed=seed,
        sampler=sampler, average=average, min_width=min_width, min_count=min_count,
        trace_every=trace_every, priors=priors, keep_states=keep_states, keep_draws=keep_draws,
        family=family,
        start=networks[-1] if networks else None,
    )  # fmt: skip
    return train_settings(
        settings,
        X,
        networks,
        resume=resume,
        callback=callback,
        threads=threads,
        executor=executor,
        progress=progress,
    )


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
) -> LayerwiseTraining:
    """`train_layerwise` with resolved settings, starting from ``networks`` (those of ``resume``, if
    it is given)."""
    check_callback(callback)
    family = settings.grown
    worker = executor_of(threads, executor)
    data = read_training(X, family, worker)
    networks = list(networks)
    if networks and resume is None:
        networks[-1] = numbered_as_in_chain(networks[-1], worker)
    if resume is not None:
        check_resumed(resume, data, settings)
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
    if not settings.link or training.deepest.vocabulary is not None:
        return training
    # The names of the terms come with the data, so that new documents are matched by name.
    return training.with_vocabulary(term_labels(next(iter(data.values()))))


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
