"""Draws that training keeps: which, where they go, and that they predict better."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.engine.rows.new_rows import sweeps_each
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.storage import read_limits
from pgbn.training.checkpoints import train_with_checkpoints
from pgbn.training.kept_draws import each_draw, is_kept
from pgbn.training.numbering import numbered_as_in_chain
from tests.helpers.refusals import check_refused
from tests.helpers.short_training import QUICK, X, cut_at


def train(**options):
    return pgbn.train_layerwise(X, 6, 2, **{**QUICK, "keep_draws": 2, **options})


def test_kept_sweeps_are_evenly_spread_and_end_with_the_last() -> None:
    assert [n for n in range(1, 11) if is_kept(n, 10, 3)] == [4, 7, 10]
    assert [n for n in range(1, 6) if is_kept(n, 5, 5)] == [1, 2, 3, 4, 5]
    assert not any(is_kept(n, 5, 0) for n in range(1, 6))
    assert sweeps_each(500, 500, 1) == (500, 500)
    assert sweeps_each(100, 100, 20) == (10, 5)
    assert sweeps_each(4, 3, 20) == (4, 1)
    assert sweeps_each(1000, 1000, 20) == (50, 50)


def test_draws_are_those_of_the_chain_and_change_nothing_else() -> None:
    seen = []

    def look(event):
        if event.phase == "collect" and event.depth == 1 and is_kept(event.sweep, event.sweeps, 2):
            seen.append(event.chain._select(["phi1"])["phi1"].copy())

    kept, plain = train(callback=look), train(keep_draws=0)
    np.testing.assert_array_equal(numbered_as_in_chain(kept[1]).draws["phi1"], seen)
    assert kept[2].draws["phi2"].shape == (2, kept.widths[1], kept.widths[0])
    assert {"r", "gamma0", "c0"} <= set(kept[2].draws)
    assert "theta1" not in kept[2].draws
    for one, other in zip(kept, plain, strict=True):
        assert other.draws == {}
        for first, second in zip(one.phi, other.phi, strict=True):
            np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(one.r, other.r)


def test_saved_stopped_and_resumed_with_their_draws(tmp_path) -> None:
    whole = train()
    pgbn.save(whole, tmp_path / "model")
    again = pgbn.load(tmp_path / "model")
    with pytest.raises(RuntimeError, match="power cut"):
        train_with_checkpoints(X, tmp_path / "run", 6, 2, every=1, share=2.0, keep_draws=2,
                              callback=cut_at(20), **QUICK)  # fmt: skip
    resumed = pgbn.resume(tmp_path / "run", progress=False, threads=1)
    for found in (again, resumed):
        for one, other in zip(whole, found, strict=True):
            assert one.draws.keys() == other.draws.keys()
            for name in one.draws:
                np.testing.assert_array_equal(one.draws[name], other.draws[name])


def test_each_draw_is_a_network_and_infer_averages_over_them() -> None:
    model = train().deepest
    networks = each_draw(model)
    assert len(networks) == 2
    np.testing.assert_array_equal(networks[1].phi[1], model.draws["phi2"][1])
    both = model.infer(X[:5], burn_in=300, draws=4000, threads=1)
    each = [n.infer(X[:5], burn_in=150, draws=2000, seed=9, threads=1) for n in networks]
    mean = (each[0]["theta1"] + each[1]["theta1"]) / 2
    np.testing.assert_allclose(both["theta1"], mean, atol=0.15 * mean.max())
    square = sum(e.sd["theta1"] ** 2 + e["theta1"] ** 2 for e in each) / 2
    np.testing.assert_allclose(both.sd["theta1"] ** 2 + both["theta1"] ** 2, square,
                               atol=0.2 * square.max())  # fmt: skip
    alone = model.infer(X[:1], burn_in=300, draws=4000, threads=1)
    np.testing.assert_array_equal(alone["theta1"], both["theta1"][:1])  # whatever the batch


def test_draws_predict_better_than_one() -> None:
    generated = np.random.default_rng(1)
    phi = generated.dirichlet(np.full(40, 0.1), 5)
    counts = generated.poisson(generated.gamma(0.3, 12.0, (160, 5)) @ phi)
    model = pgbn.train_layerwise(counts[:80], 12, 1, burn_in=60, sweeps=60, keep_draws=20,
                                 progress=False, threads=1, trace_every=0).deepest  # fmt: skip
    seen, held = split_tokens(counts[80:], 0.5)
    options = {"burn_in": 50, "draws": 100, "threads": 1}
    many = HeldOut.of_model(model, seen, held, **options)
    one = HeldOut.of_model(each_draw(model)[-1], seen, held, **options)
    assert many.draws == 20
    assert many.perplexity() < one.perplexity()


def test_wrong_numbers_are_rejected_and_memory_is_asked_before_any_sweep(monkeypatch) -> None:
    check_refused(lambda: train(keep_draws=-1), pgbn.DataError, ["keep_draws=-1", "at least 0"])
    check_refused(lambda: train(keep_draws=6), pgbn.DataError, ["keep_draws=6", "sweeps=5"])
    monkeypatch.setattr(read_limits, "memory", lambda: 200_000)
    with pytest.raises(pgbn.DataError, match="keep_draws=500"):
        pgbn.train_layerwise(X, 6, 1, sweeps=500, keep_draws=500, progress=False)
