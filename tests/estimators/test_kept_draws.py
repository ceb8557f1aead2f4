"""The draws of a transformer, as ArviZ takes them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pgbn as pg

pytest.importorskip("arviz_base")
FRAME = pd.DataFrame(np.random.default_rng(0).poisson(1.0, (6, 4)), columns=list("abcd"))


def test_a_transformer_of_ones_own_network_hands_over_its_draws() -> None:
    network = pg.zoo.pfa(2)
    model = pg.NetworkTransformer(network, burn_in=2, draws=3, thin=1, random_state=0).fit(FRAME)
    posterior = model.to_arviz()["posterior"]
    assert posterior["phi1"].dims == ("chain", "draw", "topic1", "term")
    np.testing.assert_array_equal(posterior["phi1"].sel(term="b")[0], model.draws_["phi1"][..., 1])
