"""Things of another kind in the place of arguments: the error names the argument."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import evaluation as ev
from pgbn.evaluation.effects import design_matrix
from pgbn.evaluation.layer_quality import looks_like_noise, word_coherence
from pgbn.evaluation.periods import time_bins
from tests.helpers.trained import model_of

X = np.random.default_rng(0).poisson(1.0, (12, 5))
MODEL = model_of(terms=5)
PFA = pgbn.zoo.pfa(2)
LEADING = np.array([[0, 1, 2], [2, 3, 4]])
KINDS: list[object] = [
    -(10**400), "nosuch", b"x", {"a": 1}, {1, "a"}, np.array([7, 2, 9]), np.ones((2, 2, 2)),
    np.array(["a"]), [None], [[1], [2, 3], 4], object(), int, 2.5,
]  # fmt: skip
CALLS: dict[str, Callable[[object], object]] = {
    "measure": lambda v: ev.coherence(MODEL.phi[0], X, v, 2),
    "measure of words": lambda v: word_coherence(LEADING, X, 5, v),
    "leading": lambda v: word_coherence(v, X, 5),
    "columns": lambda v: design_matrix("~ year", v),
    "groups": lambda v: MODEL.topics_per_class(X, v, draws=2),
    "seed": lambda v: MODEL.perplexity(X, seed=v),
    "models": lambda v: ev.topic_stability(v),
    "words": lambda v: MODEL.find_topics(v),
    "layers": lambda v: ev.layer_quality(MODEL, v),
    "X": lambda v: MODEL.to_pyldavis(v),
    "training": lambda v: ev.training_advice(v),
    "burn_in": lambda v: MODEL.perplexity(X, burn_in=v),
    "number of draws": lambda v: MODEL.perplexity(X, draws=v),
    "node of held-out data": lambda v: ev.HeldOut(X, v),
    "by": lambda v: ev.HeldOut(X, PFA["x"], v),
    "name of rows": lambda v: drawn().log_likelihood(v, "row"),
    "rows": lambda v: drawn().log_likelihood("x", "row", rows=v),
    "data of rows": lambda v: drawn().log_likelihood("x", "row", data=v),
    "draws of one number": lambda v: pgbn.diagnostics.bulk_ess(v if isinstance(v, int) else "a"),
    "record": lambda v: pgbn.save(PFA, "nowhere/n", record=v if not isinstance(v, dict) else 3),
    "dtype": lambda v: MODEL.transform(X, "nowhere.npy", dtype=v),
}


@cache
def drawn() -> pgbn.Draws:
    return PFA.sample({"x": X}, burn_in=1, draws=2, chains=1, threads=1, progress=False)


@pytest.mark.parametrize("case", CALLS)
def test_things_of_another_kind(case: str) -> None:
    for value in KINDS:
        with pytest.raises(pgbn.PgbnError) as caught:
            CALLS[case](value)
        assert len(str(caught.value)) < 1000


NAMED: dict[str, Callable[[], object]] = {
    r"formula='y ~ year': the shares .* begin with ~": lambda: design_matrix("y ~ year", {"year": [1]}),
    r"names: 1 names for 12 documents; give one": lambda: MODEL.document_topics_frame(X, names=["a"]),
    r"y: 2 entries for 12 documents; give one": lambda: MODEL.topics_per_class(X, ["a", "b"]),
    r"dates: 1 entries for 12 documents; give one": lambda: MODEL.topics_over_time(X, [2019]),
    r"texts: 1 entries for 12 documents": lambda: MODEL.top_documents(X, 0, texts=["a"]),
    r"a Picture is SVG; give a name in .svg": lambda: PFA.plot().save("graph.png"),
    r"give .* as model.topic_terms\(1\)": lambda: ev.coherence(MODEL, X),
    r"by='tokens' is not known. Did you mean 'token'": lambda: ev.HeldOut(X, by="tokens"),
    r"measure='npm' is not known\. Did you mean 'npmi'": lambda: word_coherence(LEADING, X, 5, "npm"),
    "leading: terms -1 to 2, but X has 5": lambda: word_coherence(np.array([[-1, 2]]), X, 5),
    "X: ": lambda: looks_like_noise(X.astype(np.float16)),
    "X: .*": lambda: looks_like_noise(X.astype(object)),
    r"dates=.*give one entry": lambda: time_bins("2019"),
    r"dates: \[1\] of document 0": lambda: time_bins([[1], [2, 3]]),
    r"bins=.* memory": lambda: time_bins([1, 2], 2**62),
    r"with_given: \['phi1'\] is not a name": lambda: PFA.with_given(["phi1"]),
    r"columns\['text'\]=3: give a list": lambda: pgbn.save(PFA, "nowhere", columns={"text": 3}),
    r"burn_in=.* must be an integer": lambda: PFA.sample({"x": X}, np.timedelta64(2, "s"), 1),
}  # fmt: skip


@pytest.mark.parametrize("words", NAMED)
def test_what_was_taken_in_silence_or_ended_in_errors_of_numpy(words: str) -> None:
    with pytest.raises(pgbn.PgbnError, match=words):
        NAMED[words]()


# For each call, its unknown argument and the one that is meant.
UNKNOWN: dict[tuple[str, str], Callable[[], object]] = {
    ("TrainedNetwork.generate", "lenght length"): lambda: MODEL.generate(2, lenght=3),
    ("TrainedNetwork.infer", "n_draws draws"): lambda: MODEL.infer(X, n_draws=3),
    ("TrainedNetwork.transform", "n_jobs threads"): lambda: MODEL.transform(X, n_jobs=2),
    ("TrainedNetwork.of_topics", "Eta eta"): lambda: MODEL.with_topics(Eta=0.1),
    ("report_data", "nmes names"): lambda: MODEL.report("page.html", nmes=["a"]),
    ("train_layerwise", "burnin burn_in"): lambda: pgbn.train_layerwise(X, 3, 1, burnin=5),
    ("train_layerwise", "n_topics max_width"): lambda: pgbn.train_layerwise(X, n_topics=3),
    ("train_minibatch", "K widths"): lambda: pgbn.train_minibatch(X, K=3),
    ("resume", "thread threads"): lambda: pgbn.resume("run", thread=2),
    ("Network.explain", "fromat format"): lambda: PFA.explain(fromat="html"),
    ("pfa", "n_topics width"): lambda: pgbn.zoo.pfa(n_topics=3),
    ("PGBN.generate", "seed random_state"): lambda: pgbn.PGBN().generate(2, seed=1),
}


@pytest.mark.parametrize(("function", "names"), UNKNOWN)
def test_an_unknown_argument_names_the_one_that_is_meant(function: str, names: str) -> None:
    wrong, right = names.split()
    words = rf"^{function} has no argument '{wrong}'\. Did you mean '{right}'\?"
    with pytest.raises(TypeError, match=words):
        UNKNOWN[function, names]()


def test_wrong_names_say_the_right_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'topics'; write model.topics\(layer\)"):
        ev.topics(MODEL)
    with pytest.raises(AttributeError, match=r'no savefig; Picture.save\("graph.svg"\)'):
        PFA.plot().savefig("graph.png")


def test_what_is_meant_all_the_same() -> None:
    assert ev.split_tokens(X, Fraction(1, 2))[0].sum() == ev.split_tokens(X, 0.5)[0].sum()
    assert word_coherence(LEADING.tolist(), X, 5).shape == (2,)


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("sizes", {"doc": 10**400}, "sizes: doc=1000"),
        ("sizes", {"doc": 10**13}, "would need"),
        ("sizes", {"doc": 1.5}, "sizes: doc=1.5"),
        ("sizes", 3, "sizes=3: give a dict"),
        ("indexes", np.ones(3), "indexes=.*: give a dict"),
        ("seed", np.timedelta64(3, "s"), "seed=.* must be an integer"),
    ],
)
def test_predictions_name_the_argument(argument: str, value: Any, words: str) -> None:
    """The sizes were allocated; others ended in errors of numpy."""
    with pytest.raises(pgbn.PgbnError, match=words):
        drawn().predict("x", **{argument: value})
    with pytest.raises(pgbn.PgbnError, match="is not an observed node"):
        drawn().predict(np.array(["x", "y"]))
    with pytest.raises(pgbn.PgbnError, match="must be 'cell' or 'row'"):
        drawn().log_likelihood("x", np.array(["x", "y"]))
