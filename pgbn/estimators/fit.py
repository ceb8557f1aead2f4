"""What `fit` of an estimator settles before it trains: a new network, or one to continue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pgbn.checks import is_integral
from pgbn.engine.run.chain import Interrupted
from pgbn.errors import DataError, notify, tell
from pgbn.estimators.parameters import read_depth, read_link, read_seed, renaming
from pgbn.evaluation import layer_quality, training_advice
from pgbn.training.growing import why_start_is_full
from pgbn.training.settings import Settings
from pgbn.training.trained import TrainedNetwork


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
    with renaming("max_width", name):
        return Settings(
            getattr(estimator, name), estimator.depth, eta=estimator.eta, link=link, seed=seed,
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
            f"{new}: with warm_start, fit goes on with a network that has {old}; set_params({old}) "
            "goes on, set_params(warm_start=False) begins anew"
        )
    if now["random_state"] != before["random_state"]:
        notify(
            f"random_state={estimator.random_state!r} is not used: with warm_start, fit goes on "
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
