"""Every model of the zoo, by the methods that all networks have: given values, new rows, prediction,
held-out data. The laws of new rows and predictions are tested in tests/engine/rows/test_infer.py,
tests/evaluation and test_wider_laws.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pgbn
from pgbn import Draws, Network
from pgbn.evaluation import HeldOut
from tests.helpers.models import sizes_of, zoo_models
from tests.helpers.wider_models import wider_models

MODELS = zoo_models()
WIDER = wider_models()
NETWORKS = MODELS | {name: network for name, (network, _) in WIDER.items()}
IN_TIME = ("gp_dpfa", "pgds")
# closed gates give held-out cells the probability 0, which is told
pytestmark = pytest.mark.filterwarnings("ignore:.*probability 0:pgbn.PgbnWarning")


def tiny(network: Network) -> dict[str, int]:
    """Tiny sizes of what a network does not fix itself."""
    return next((sizes for each, sizes in WIDER.values() if each is network), None) or sizes_of(
        network
    )


def data_of(network: Network) -> dict[str, Any]:
    """Tiny data, drawn from the model itself."""
    drawn = network.generate(seed=5, sizes=tiny(network))
    return {name: drawn[name] for name in network.observed}


def coords_of(network: Network) -> dict[str, list[str]]:
    """A name for every row and column of the data."""
    data = data_of(network)
    sizes = {dim: size for name in network.observed
             for dim, size in zip(network[name].axes, data[name].shape, strict=True)}  # fmt: skip
    return {dim: [f"{dim} {i}" for i in range(sizes[dim])] for dim in sorted(sizes)}


def frame(network: Network, name: str, value: Any) -> pd.DataFrame:
    """The data of a node with their names."""
    index, columns = (coords_of(network)[dim] for dim in network[name].axes)
    return pd.DataFrame(value, index, columns)


def held_node(network: Network) -> str:
    """The first latent node that can be held alone."""
    for name in network.latent:
        try:
            network.with_given(name)
        except pgbn.MissingRuleError:
            continue
        return name
    raise AssertionError("no node can be held")


@pytest.mark.parametrize("case", NETWORKS)
def test_given(case: str) -> None:
    network = NETWORKS[case]
    name, drawn = held_node(network), network.generate(seed=6, sizes=tiny(network))
    chain = network.chain(data_of(network), given={name: drawn[name]}).sweep(2)
    np.testing.assert_allclose(chain.values[name], drawn[name])
    draws = network.sample(
        data_of(network), 1, 2, given={name: drawn[name]}, progress=False, keep=network.latent
    )
    assert draws.attributes["given"] == [name]
    assert (draws[name] == draws[name][0, 0]).all()
    x = network.observed[0]
    assert draws.predict(x).shape == draws.log_likelihood(x).shape or network[x].simplex


@pytest.mark.parametrize("case", MODELS)
def test_new_rows_prediction_and_held_out(case: str) -> None:
    network, data = MODELS[case], data_of(MODELS[case])
    draws = network.sample(data, 2, 3, coords=coords_of(network), progress=False)
    if case in IN_TIME:
        with pytest.raises(pgbn.NetworkError, match=r"net\.forecast"):
            network.infer(data, draws, "time")
        assert network.forecast(draws, 2)["x"].shape[:3] == (1, 3, 2)
        speaking = [draws]
    else:
        frames = {name: frame(network, name, value) for name, value in data.items()}
        rows = network.infer(frames, draws, "doc", burn_in=3, draws=6, keep="draws")
        assert rows.coords["doc"] == ["doc 0", "doc 1", "doc 2"]
        speaking = [draws, rows.to_draws()]
    for each in speaking:
        tree = each.to_arviz(predict=network.observed, log_likelihood=network.observed)
        for name in network.observed:
            replicates = tree["posterior_predictive"][name]
            assert replicates.shape[2:] == data[name].shape
            for dim in network[name].axes:
                assert list(replicates.coords[dim].values) == coords_of(network)[dim]
            assert np.isfinite(tree["log_likelihood"][name]).all()
        assert np.isfinite(tree["sample_stats"]["lp"]).all()
        for name in network.observed:
            check_held_out(network, name, data[name], each)


def check_held_out(network: Network, name: str, data: Any, draws: Draws) -> None:
    """By the way that the type of the node has; others are refused in words."""
    kind = type(network[name]).__name__
    if kind == "PoissonGamma":
        with pytest.raises(pgbn.DataError, match="PoissonGamma"):
            HeldOut(data, network[name])
        return
    if kind == "BernoulliPoisson":
        chosen = np.ma.masked_array(data, np.indices(data.shape).sum(axis=0) % 2 == 0)
        score = HeldOut(chosen, network[name], by="cell")
    else:
        score = HeldOut(data + 1, network[name])
    score.add_draws(draws)
    assert 1.0 <= score.perplexity() < np.inf
