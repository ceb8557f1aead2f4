"""All that can be done with a folder, whatever it holds: a result without NaN, or an error of pgbn."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pgbn
from tests.helpers.forgery import check_finite, command, refusable
from tests.helpers.own_family import own_family
from tests.helpers.saved_kinds import DATA, MINIBATCH, OWN

__all__ = ["use_folder"]

FEW: dict[str, Any] = {"burn_in": 1, "samples": 2}
TEXTS = "word0 word1 word1\nword3 word4 " + "w" * 5000 + "\n"


def use_folder(folder: Path, place: Path, choice: random.Random) -> None:
    """Commands, the verbs of Python for what it holds, and going on with what was stopped."""
    texts, page = place / "new.txt", place / "page.html"
    texts.write_text(TEXTS)
    few = ["--burn-in", "1", "--samples", "1"]
    for words in (
        ["info", str(folder)], ["topics", str(folder)], ["explain", str(folder)],
        ["generate", str(folder), "-n", "1"], ["label", str(folder), "1/0=sea"],
        ["transform", str(folder), str(texts), *few], ["perplexity", str(folder), str(texts), *few],
        ["--json", "info", str(folder)],
    ):  # fmt: skip
        command(words)
    if choice.random() < 0.15:
        command(["report", str(folder), "-o", str(page)])
    found = refusable(lambda: pgbn.load(folder))
    for kind, use in USES:
        if isinstance(found, kind):
            for verb in use(found):
                refusable(verb)
            if choice.random() < 0.15 and hasattr(found, "report"):
                refusable(lambda: _report(found, page))
    if found is not None:
        refusable(lambda: pgbn.save(found, place / "again"))
        refusable(lambda: repr(found))
    refusable(lambda: pgbn.resume(folder, family=own_family, progress=False, callback=enough()))
    refusable(lambda: pgbn.resume(folder, progress=False, callback=enough()))
    if folder.name == "minibatch":
        refusable(lambda: _use_trained(_go_on(folder)))
    if folder.name == "corpus-stopped":
        texts = place / "kinds" / "texts.txt"
        refusable(lambda: _use_corpus(pgbn.Corpus.build([texts] * 3, folder, block_rows=2)))


class EnoughError(pgbn.PgbnError):
    """A forged run may ask for any number of sweeps; some of them will do."""


def enough() -> Callable[[Any], None]:
    left = 20

    def listen(event: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise EnoughError

    return listen


def _go_on(folder: Path) -> Any:
    return pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=folder)


def _report(found: Any, page: Path) -> None:
    found.report(page)
    assert "\x1b" not in page.read_text()


def _finite(what: str, *arrays: Any) -> None:
    check_finite(what, {str(n): array for n, array in enumerate(arrays)})


def _is_number(score: float) -> None:
    assert not np.isnan(score), "score"  # what a model holds for impossible has the density 0


NetworkMethods = list[Callable[[], Any]]


def _chain(chain: Any) -> NetworkMethods:
    def sweep() -> None:
        before = chain.sweeps
        chain.sweep(1)
        assert chain.sweeps == before + 1
        check_finite("chain", chain.values)
        _finite("log likelihood", chain.log_likelihood())

    def append() -> None:
        name = chain.network.observed[0]
        check_finite("appended", chain.append({name: DATA[:2]}, sweeps=1).values)

    return [lambda: chain.explain(brief=True), sweep, append, chain.log_joint, chain.state]


def _draws(draws: Any) -> NetworkMethods:
    def every() -> None:
        for name in draws:
            assert not np.isnan(draws[name]).any(), f"draws of {name}"

    def predict() -> None:
        for name in draws.network.observed if draws.network else ():
            _finite("predicted", draws.predict(name))

    def new_rows() -> None:
        for name in draws.network.observed if draws.network else ():
            _finite("predicted", draws.predict(name, sizes={"doc": 2}))

    def likelihood() -> None:
        for name in draws.network.observed if draws.network else ():
            found = draws.log_likelihood(name)
            assert not np.isnan(found).any(), "log likelihood"

    return [every, predict, new_rows, likelihood, draws.to_xarray, draws.to_arviz, lambda: draws.sizes,
            lambda: [draws.mean(name) for name in draws]]  # fmt: skip


def _data(model: Any) -> Any:
    """Rows as its link has them."""
    return np.minimum(DATA, 1) if getattr(model, "link", "") == "bernoulli" else DATA


def _use_trained(model: Any) -> None:
    hidden = pgbn.infer(model, _data(getattr(model, "deepest", model)), **FEW)
    check_finite("proportions", {str(t): part for t, part in hidden.proportions.items()})
    _finite("phi", *getattr(model, "deepest", model).phi)


def _trained(model: Any) -> NetworkMethods:
    deepest = getattr(model, "deepest", model)

    def grown() -> None:
        network = getattr(model, "deepest", model)
        found = network.network().infer(OWN, given=network.means, burn_in=1, samples=1)
        check_finite("inferred", {name: found[name] for name in found})

    def go_on() -> None:
        more = pgbn.train_layerwise(
            _data(deepest),
            5,
            3,
            link=deepest.link,
            start_from=model,
            burn_in=1,
            collect=1,
            progress=False,
        )
        _finite("phi", *more.deepest.phi)

    if isinstance(deepest, pgbn.GrownNetwork):
        return [
            grown,
            lambda: deepest.widths,
            model.to_arviz if hasattr(model, "to_arviz") else repr,
        ]
    return [lambda: _use_trained(model), go_on, deepest.to_arviz, lambda: deepest.network().explain(),
            lambda: pgbn.completion_perplexity(model, DATA, **FEW),
            lambda: pgbn.merge_topics(model, [(0, 1)])]  # fmt: skip


def _soon(model: Any) -> Any:
    """An estimator that is not to be fitted for ever: that it would take as long as it says is no
    finding."""
    for name in ("burn_in", "collect", "draws", "depth"):
        asked = getattr(model, name, 0)
        if isinstance(asked, int) and asked > 10_000:
            raise EnoughError
    return model


def _estimator(model: Any) -> NetworkMethods:
    return [lambda: _finite("features", model.transform(DATA)), lambda: model.topics(),
            lambda: _is_number(model.score(DATA)), lambda: model.get_feature_names_out(),
            lambda: model.topics_frame(), lambda: model.similarity(), lambda: model.to_networkx(),
            lambda: _finite("rates", model.inverse_transform(model.transform(DATA))),
            lambda: _soon(model.set_params(warm_start=True)).fit(DATA)]  # fmt: skip


def _transformer(model: Any) -> NetworkMethods:
    return [lambda: _finite("features", model.transform(DATA)),
            lambda: _is_number(model.score(DATA)), lambda: model.get_feature_names_out(),
            lambda: _finite("rates", model.inverse_transform(model.transform(DATA))),
            lambda: _soon(model).fit(DATA)]  # fmt: skip


def _use_corpus(corpus: Any) -> None:
    _finite("counts", corpus.counts.data)
    assert len(corpus.labels) == corpus.shape[0]
    assert corpus.vocabulary is None or len(corpus.vocabulary) == corpus.shape[1]


def _network(network: Any) -> NetworkMethods:
    def sample() -> None:
        found = network.sample({network.observed[0]: DATA}, 1, 1, chains=1, progress=False)
        check_finite("draws", {name: found[name] for name in found})

    return [lambda: network.explain(), lambda: network.plot(), sample, lambda: network.schedule,
            lambda: network.prior_predictive(1, {"doc": 2, "term": 3})]  # fmt: skip


USES: list[tuple[Any, Callable[[Any], NetworkMethods]]] = [
    (pgbn.Chain, _chain),
    (pgbn.Draws, _draws),
    (pgbn.PGBN, _estimator),
    (pgbn.NetworkTransformer, _transformer),
    (pgbn.Corpus, lambda corpus: [lambda: _use_corpus(corpus)]),
    (pgbn.Network, _network),
    ((pgbn.TrainedNetwork, pgbn.GrownNetwork, pgbn.LayerwiseTraining), _trained),
]
