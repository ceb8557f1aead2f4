"""Layer-wise training of networks other than the belief network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn.errors import DataError
from pgbn.training import checkpoints
from pgbn.training.growing import Chain
from pgbn.training.kept_draws import unit_counts
from pgbn.training.numbering import numbered_as_in_chain
from pgbn.training.settings import Family, Settings, read_family
from tests.helpers.own_family import DATA, MODALITIES, MULTIMODAL, own_family, two_families
from tests.helpers.short_training import QUICK, X, cut_at, no_work

WORDS = DATA["words"]
SETTINGS = QUICK | {"burn_in": 30, "keep_draws": 2}


def same(one: pg.LayerwiseTraining, two: pg.LayerwiseTraining) -> None:
    """All of two trainings is the same, bit for bit."""
    assert (one.widths, len(one)) == (two.widths, len(two))
    for a, b in zip(one, two, strict=True):
        assert a.sweeps == b.sweeps
        for part in ("means", "traces", "state", "draws"):
            first, second = getattr(a, part), getattr(b, part)
            assert first.keys() == second.keys()
            for name, value in first.items():
                np.testing.assert_array_equal(value, second[name], err_msg=name)


@pytest.fixture(scope="module", params=list(two_families))
def grown(request: pytest.FixtureRequest) -> Any:
    """A family, and a training of it in which both layers are pruned."""
    family = two_families[request.param]
    result = pg.train_layerwise(DATA, (60, 12), 2, family=family, **SETTINGS)
    return family, result


def test_a_family_is_grown_and_pruned(grown: Any) -> None:
    family, result = grown
    assert [network.depth for network in result] == [1, 2]
    assert result.widths[0] < 60
    assert result.widths[1] <= 12
    for network in result:
        assert network.network.to_json() == family(network.widths).to_json()
        assert network.traces["width"].size == 17
        assert (network.traces["width"][-2:] <= network.widths[-1]).all()
    deepest = result.deepest
    assert repr(deepest) == f"TrainedNetwork(widths={result.widths}, observed=['words', 'labels'])"
    np.testing.assert_array_equal(result.traces["width"], deepest.traces["width"])
    assert not result[1].state
    assert set(deepest.state) == set(deepest.network.latent)
    for name in deepest.means:
        assert deepest.draws[name].shape == (2, *deepest.means[name].shape)
        assert "doc" not in deepest.network[name].axes
    for name in ("phi2", "links2"):
        if name in deepest.means:
            np.testing.assert_allclose(deepest.means[name].sum(axis=1), 1.0)


def test_the_belief_network_is_a_family_like_any_other() -> None:
    """The same draws as with the arguments of the belief network, for each of its links."""
    for link, data in (("poisson", X), ("gamma", X * 0.7)):
        settings = QUICK | {"burn_in": 12, "average": 2, "seed": 4}
        one = pg.train_layerwise(data, (20, 9, 4), 3, link=link, eta=0.1, **settings)
        family = partial(pg.zoo.pgbn, link=link, eta=0.1)
        two = pg.train_layerwise({"x": data}, (20, 9, 4), 3, family=family, **settings)
        assert one.widths == two.widths
        found = numbered_as_in_chain(one.deepest)
        for name, value in found.state.items():
            np.testing.assert_array_equal(value, two.deepest.state[name], err_msg=name)
        for t, phi in enumerate(found.phi, 1):
            np.testing.assert_array_equal(phi, two.deepest.means[f"phi{t}"])
        np.testing.assert_array_equal(found.r, two.deepest.means["r"])


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The networks of all chains that begin, and the states at which they do."""
    found: list[Any] = []
    begin = Chain._of_data

    def look(network: pg.Network, data: Any, seed: int, number: int, init: Any, *rest: Any,
             **more: Any) -> Any:  # fmt: skip
        found.append((network, init))
        return begin(network, data, seed, number, init, *rest, **more)

    monkeypatch.setattr(Chain, "_of_data", look)
    return found


@pytest.mark.parametrize("name", two_families)
def test_pruning_loses_no_count_and_no_mass(name: str, begun: list[Any]) -> None:
    family = Family(two_families[name])
    units = family.units(1)
    seen: dict[str, Any] = {}

    def look(event: pg.Event) -> None:
        if event.phase == "burn_in" and event.sweep == event.sweeps:
            seen.update(counts=unit_counts(event.chain, units), values=event.chain.values)
            seen.update(all=event.chain.counts, network=event.chain.network)

    pg.train_layerwise(
        DATA, 40, 1, family=family.build, **QUICK | {"burn_in": 40, "callback": look}
    )
    active = seen["counts"] > 0
    assert 1 < active.sum() < 40
    network, values = seen["network"], seen["values"]
    _, (_, state) = begun
    for node in (network[name] for name in network.latent):
        old, new = values[node.name], state[node.name]
        if units.dim in node.axes:
            axis = node.axes.index(units.dim)
            assert new.shape[axis] == active.sum()
            np.testing.assert_array_equal(new, np.compress(active, old, axis=axis))
            others = tuple(i for i in range(old.ndim) if i != axis)
            received = seen["all"][node.name].sum(axis=others)
            assert received[active].sum() == received.sum()
        elif node.name in units.masses:
            assert new / active.sum() == pytest.approx(old / 40, rel=1e-12)
        else:
            np.testing.assert_array_equal(new, old)
    assert units.masses


def test_units_share_the_counts_of_all_data() -> None:
    """Of several data nodes on one layer, each unit has the counts of all of them."""
    chain = MULTIMODAL((5,)).chain(DATA, threads=1).sweep(3)
    counts = unit_counts(chain, Family(MULTIMODAL).units(1))
    parts = [chain.counts[f"phi1_{name}"].sum(axis=1) for name in MODALITIES]
    np.testing.assert_array_equal(counts, sum(parts))
    assert parts[0].sum() == WORDS.sum()


@pytest.mark.parametrize("name", two_families)
def test_where_a_new_layer_begins(name: str, begun: list[Any]) -> None:
    family = two_families[name]
    build = Family(family)
    pg.train_layerwise(DATA, (4, 3), 2, family=family, **QUICK)
    network, second = begun[-1] if len(begun) < 3 else begun[-2]
    units = build.units(2)
    _, first = begun[0]
    for state, at, width in ((first, build.units(1), 4), (second, units, 3)):
        assert float(state[at.masses[0]]) == width / 4
    assert set(second) == set(network.latent)  # what is below goes on
    assert set(network.latent).isdisjoint({"background", "eta"} & set(first))  # from the prior
    proportions = second["links2" if name == "own" else "phi2"]
    assert proportions.shape == (3, 4)
    assert len(np.unique(proportions)) == 12
    assert (second["scores2" if name == "own" else "theta2"] == 1 / 3).all()


def test_new_rows_of_a_grown_network(grown: Any) -> None:
    family, result = grown
    deepest = result.deepest
    new = {name: data[:5] for name, data in DATA.items()}
    for given in (deepest.means, deepest.draws):
        found = deepest.network.infer(new, given=given, burn_in=3, draws=4, threads=1)
        name = "scores1" if family is own_family else "theta1"
        assert found[name].shape == (5, result.widths[0])


# ---- the same bits ------------------------------------------------------------------------


def test_threads_do_not_change_the_result(grown: Any) -> None:
    family, result = grown
    again = pg.train_layerwise(DATA, (60, 12), 2, family=family, **SETTINGS | {"threads": 2})
    same(result, again)


def test_layer_by_layer_is_at_one_go(grown: Any, tmp_path: Path) -> None:
    family, result = grown
    settings = SETTINGS | {"burn_in": 30}
    first = pg.train_layerwise(DATA, (60,), 1, family=family, **settings)
    pg.save(first, tmp_path / "first")
    for start in (first, tmp_path / "first"):
        deeper = pg.train_layerwise(DATA, (60, 12), 2, family=family, start_from=start, **settings)
        assert deeper.widths == result.widths
        for name, value in result.deepest.state.items():
            np.testing.assert_array_equal(value, deeper.deepest.state[name], err_msg=name)
    longer = pg.train_layerwise(DATA, 60, 2, family=family, start_from=result, **settings)
    assert longer.deepest.sweeps == result.deepest.sweeps + 5
    assert longer.stopped == "5 sweeps more"


@pytest.mark.parametrize("done", [3, 10, 20])
def test_a_training_that_was_stopped_goes_on(done: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = QUICK | {"average": 3, "keep_draws": 2, "min_width": 1}
    for name, family in two_families.items():
        whole = pg.train_layerwise(DATA, (9, 4), 2, family=family, **settings)
        folder = tmp_path / name
        with pytest.raises(RuntimeError, match="power cut"):
            checkpoints.train_with_checkpoints(
                DATA, folder, (9, 4), 2, family=family, minutes=None, every=1, share=1e9,
                **settings | {"callback": cut_at(done)},
            )  # fmt: skip
        given = {} if name == "multimodal" else {"family": family}
        if given:
            with pytest.raises(DataError, match=r"own_family, .*resume\(path, family=\.\.\.\)"):
                pg.resume(folder, progress=False)
            with pytest.raises(DataError, match="resume: its network is not the one"):
                pg.resume(folder, progress=False, family=MULTIMODAL)
        same(whole, pg.resume(folder, threads=1, progress=False, **given))
        same(whole, pg.load(folder))


def test_a_folder_of_a_belief_network_takes_no_family(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        checkpoints.train_with_checkpoints(X, tmp_path, 6, 2, minutes=None, every=1, share=1e9,
                         **QUICK | {"callback": cut_at(3)})  # fmt: skip
    with pytest.raises(DataError, match="family: this training is of a belief network"):
        pg.resume(tmp_path, family=pg.zoo.pgbn)


# ---- what is refused ----------------------------------------------------------------------


def renamed(widths: Sequence[int]) -> pg.Network:
    """Layers that are counted from the top: they do not keep their names."""
    network = pg.zoo.pgbn(widths)
    if len(widths) < 2:
        return network
    text = network.to_json()
    for one, two in (("topic1", "topic0"), ("topic2", "topic1")):
        text = text.replace(f'"{one}"', f'"{two}"')
    return pg.Network.from_json(text)


@pytest.mark.parametrize(
    ("family", "data", "message"),
    [
        (3, DATA, "family=3: give a function from widths"),
        (lambda: pg.zoo.pgbn([2]), DATA, "family=.*lambda.*: give a function from widths"),
        (lambda widths: "net", DATA, "family: .*lambda> gave a str for the widths"),
        (lambda widths: pg.zoo.pgbn([5]), WORDS, "family: .*no dim is longer"),
        (lambda widths: pg.zoo.pgbn(widths[:1]), WORDS, "family: .*no dim is longer"),
        (lambda widths: pg.zoo.pgbn([2 * w for w in widths]), WORDS, "'topic1' has 4 entries"),
        (renamed, WORDS, "layer 1 have the dim 'topic1' in .* 1 layers, but not in one of 2"),
        (own_family, WORDS, r"X is ndarray, but .*several.*\{'words': \.\.\., 'labels': \.\.\.\}"),
        (own_family, {"words": WORDS}, "no values for the observed node 'labels'"),
        (own_family, {**DATA, "x": WORDS}, "data: 'x' is not an observed node"),
        (
            lambda widths: pg.zoo.author_topic(widths[0]),
            {"x": WORDS, "author": [0] * len(WORDS)},
            r"'author' are numbers of categories.*with_indexes\(author=",
        ),
        (own_family, {**DATA, "words": WORDS[:9]}, "dim 'doc' has size 40 here, but 9"),
        (own_family, {**DATA, "words": -WORDS}, "words: the data have"),
        (pg.zoo.pgbn, -WORDS, "X: the data have"),
    ],
)
def test_families_and_data_that_cannot_be(family: Any, data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pg.train_layerwise(data, (6, 4), 2, family=family, callback=no_work, **QUICK)


@pytest.mark.parametrize(
    "more", [{"eta": 0.1}, {"link": "gamma"}, {"priors": pg.Priors()}], ids=str
)
def test_arguments_of_the_belief_network_go_to_the_family(more: Any) -> None:
    with pytest.raises(DataError, match=f"^{next(iter(more))}=.*with family= omit it"):
        pg.train_layerwise(DATA, 6, 1, family=own_family, callback=no_work, **QUICK | more)


def test_beginnings_of_other_families(grown: Any, tmp_path: Path) -> None:
    family, result = grown
    other = own_family if family is not own_family else MULTIMODAL
    for start, given, message in (
        (result, None, "has its own family; give that as family="),
        (result, other, "start_from: its network is not the one that family= gives"),
        (result[1], family, "start_from: this network has no state"),
    ):
        with pytest.raises(DataError, match=message):
            pg.train_layerwise(
                DATA if given else X, 60, 2, family=given, start_from=start, callback=no_work,
                **QUICK,
            )  # fmt: skip
    few = {name: data[:20] for name, data in DATA.items()}
    with pytest.raises(DataError, match="data with 40 entries along 'doc', but X has 20"):
        pg.train_layerwise(few, 60, 3, family=family, start_from=result, **QUICK)
    with pytest.raises(DataError, match="which has its own family; this is for belief networks"):
        result.topics()
    with pytest.raises(DataError, match="vocabulary: names of terms are for belief networks"):
        checkpoints.train_with_checkpoints(
            DATA, tmp_path, 6, 1, family=family, vocabulary=list("abc")
        )


# ---- files --------------------------------------------------------------------------------


def test_a_family_in_words_and_files(grown: Any, tmp_path: Path) -> None:
    family, result = grown
    content = Family(family).content()
    if family is MULTIMODAL:
        assert content == {"zoo": "multimodal", "arguments": {"modalities": MODALITIES}}
        assert read_family(content).network((3,)).to_json() == family((3,)).to_json()
    else:
        assert content == {"function": "tests.helpers.own_family.own_family"}
        assert read_family(content, family).build is family
    unsafe = partial(pg.zoo.pgbn, eta=np.array([1.0]))
    assert Family(unsafe).content() == {"function": "pgbn.zoo.pgbn.pgbn"}
    result.deepest.save(tmp_path)
    loaded = pg.load(tmp_path)
    same(pg.LayerwiseTraining((result.deepest,), ""), pg.LayerwiseTraining((loaded,), ""))
    assert loaded.network.to_json() == result.deepest.network.to_json()


def test_a_family_in_time_is_grown() -> None:
    """Its units stand in two dims, before and after a step, and its scores are a chain, which the
    collapsed sampler does not serve."""
    counts = np.eye(15, 6, dtype=int)
    settings: dict[str, Any] = {"burn_in": 8, "sweeps": 4, "keep_draws": 2, "min_width": 1}
    result = pg.train_layerwise(
        {"x": counts}, (9, 6), 2, family=pg.zoo.deep_pgds, progress=False, **settings
    )
    (first, second), deepest = result.widths, result.deepest
    assert first < 9
    assert deepest.state["pi1"].shape == (first, first)
    assert deepest.state["pi2"].shape == (second, second)
    assert deepest.state["phi2"].shape == (second, first)
    for name in ("pi1", "pi2", "phi1", "phi2"):
        np.testing.assert_allclose(deepest.state[name].sum(axis=1), 1.0)
    assert deepest.draws["pi1"].shape == (2, first, first)


@pytest.mark.parametrize("content", [
    3, {"zoo": "pgbn"}, {"zoo": "pgbn", "arguments": 3}, {"zoo": "pgbn", "arguments": {"x": 1}},
    {"zoo": "pgbn", "arguments": {"widths": [2]}}, {"zoo": "multimodal", "arguments": {"modalities": 3}},
    {"zoo": "multimodal", "arguments": {"modalities": {"x": 3}}}, {"zoo": [], "arguments": {}},
])  # fmt: skip
def test_a_forged_family(content: Any) -> None:
    with pytest.raises(DataError, match="family"):
        read_family(content)


def test_forged_arguments_of_a_training() -> None:
    with pytest.raises(DataError, match="max_width"):
        Settings.from_content({"depth": 2})
