"""The report's data, its size, its escaping, and the summary; the page itself is in
test_report_browser.py."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn.errors import DataError, PgbnError
from pgbn.explain.formulas import inline_mathml
from pgbn.report import (
    ReportData,
    Series,
    report_data,
    report_data_from_draws,
    report_html,
    summary_html,
    write_report,
)
from pgbn.report.derivation import derivation_html
from pgbn.report.embedding import document_positions, even_choice
from pgbn.report.payload import payload, script_json
from pgbn.training import train_layerwise
from tests.helpers.report_models import HOSTILE, texts, titles, trained, vocabulary


def test_report_data_is_the_model() -> None:
    model = trained()
    data = report_data(model, vocabulary=vocabulary(), max_width=20)
    assert data.widths == (12, 6, 3)
    assert data.budget == (20, 12, 6)
    psi = model.deepest.phi[2] @ model.deepest.phi[1] @ model.deepest.phi[0]
    np.testing.assert_allclose(data.project(3), psi)
    leading = np.argsort(-psi[1], kind="stable")[:4]
    assert data.words(3, 1, 4) == [vocabulary()[v] for v in leading]
    np.testing.assert_allclose([weight.sum() for weight in data.weights], 1.0)
    units = model.deepest.state["theta2"]
    np.testing.assert_allclose(data.theta[1], units / units.sum(axis=1, keepdims=True))
    assert data.stages == ((40.0, "layer 2"), (80.0, "layer 3"))
    assert data.series[0].sweeps[-1] == 120.0
    assert data.series[0].values.shape == (1, 60)
    assert data.series[0].settled == 50  # the second half of the last stage


def test_active_topics_are_those_with_counts() -> None:
    model = trained((4,)).deepest
    phi = model.phi[0].copy()
    phi[2] = 1.0 / phi.shape[1]  # (η + 0) / Σ(η + 0)
    flat = type(model)(phi=(phi,), r=model.r, c=model.c)
    assert report_data(flat).active[0].tolist() == [True, True, False, True]
    assert report_data(flat).theta == ()


def test_several_chains() -> None:
    data = report_data([trained(seed=1), trained(seed=2), trained(seed=3)])
    assert data.series[0].values.shape == (3, 60)
    assert data.settings["chains"] == 3
    draws = np.random.default_rng(0).normal(size=(2, 20))
    draws[1] += 9
    apart = Series("apart", np.arange(20.0), draws)
    assert apart.rhat > 1.5 > data.series[0].rhat
    assert apart.ess < data.series[0].ess


def test_of_a_real_training_and_of_inferred_documents() -> None:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.4, size=(30, 20)))
    model = train_layerwise(X, 5, 2, burn_in=4, collect=4, trace_every=1, min_width=1, threads=1)
    data = report_data(model, X)
    assert data.size == 30
    assert data.depth == model.deepest.depth
    assert data.settings["documents"] == 30
    inferred = report_data(model.deepest.without_state(), X)
    np.testing.assert_allclose(inferred.theta[0].sum(axis=1), 1.0)
    assert inferred.size == 30
    assert report_data(model.deepest.without_state()).theta == ()


def test_of_an_estimator() -> None:
    estimators = pytest.importorskip("pgbn.estimators", reason="scikit-learn is not installed")
    X = np.random.default_rng(0).poisson(0.4, size=(30, 20))
    model = estimators.PGBN(5, 2, burn_in=3, collect=3, random_state=0).fit(X)
    data = report_data(model)
    assert data.widths == model.widths_
    assert data.budget[0] == 5
    np.testing.assert_array_equal(data.phi[0], model.components_)


def test_the_settings_repeat_the_run() -> None:
    arguments = {"max_width": "9", "depth": 2, "burn_in": "[4, 3]", "collect": 2, "seed": 5,
                 "link": "poisson", "min_width": 1, "note": "not an argument"}  # fmt: skip
    code = report_data(trained(), settings=arguments).repeat
    assert "note" not in code
    X = np.random.default_rng(0).poisson(0.4, size=(30, 20))
    first, second = {"X": X}, {"X": X}
    exec(code, first)
    exec(code, second)
    assert first["model"].deepest.sweeps == 4 + 2 + 3 + 2
    for a, b in zip(first["model"].deepest.phi, second["model"].deepest.phi, strict=True):
        np.testing.assert_array_equal(a, b)
    assert report_data(trained()).repeat == ""
    assert report_data(trained(), settings=arguments, repeat="mine").repeat == "mine"


def test_from_draws() -> None:
    network = pg.zoo.pgbn([5, 3])
    X = np.random.default_rng(0).poisson(0.5, size=(12, 9))
    draws = network.sample(
        {"x": X}, burn_in=2, draws=6, chains=2, seed=4, threads=1, progress=False
    )
    data = report_data_from_draws(network, draws, title="Draws")
    assert data.widths == (5, 3)
    np.testing.assert_allclose(data.phi[0].sum(axis=1), 1.0)
    np.testing.assert_allclose(data.theta[1].sum(axis=1), 1.0)
    named = {series.name: series for series in data.series}
    np.testing.assert_array_equal(named["gamma0"].values, draws["gamma0"])
    np.testing.assert_allclose(named["total of r"].values, draws["r"].sum(axis=-1))
    expected = draws["theta1"].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(named["mean total of theta1"].values, expected)
    assert data.settings["seed"] == 4
    assert "mean total of theta1" in report_html(data)
    few = network.sample({"x": X}, burn_in=0, draws=1, keep=["r"], threads=1, progress=False)
    with pytest.raises(DataError, match="phi1"):
        report_data_from_draws(network, few)


def test_a_usual_model_stays_under_a_megabyte() -> None:
    g = np.random.default_rng(0)
    documents, widths = 11_000, (128, 64, 32)
    model = trained(widths, terms=2000, documents=documents)
    words = ["".join(chr(97 + c) for c in g.integers(0, 26, 9)) for _ in range(2000)]
    page = report_html(
        model,
        vocabulary=words,
        titles=[f"The title of document number {j}" for j in range(documents)],
        documents=["Some text of ordinary length. " * 40] * documents,
    )
    assert len(page.encode()) < 1_000_000


def test_script_json_cannot_end_its_element() -> None:
    value = {"words": HOSTILE[:9]}
    text = script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_the_page_is_repeatable_and_encodable() -> None:
    options = {"vocabulary": vocabulary(), "titles": titles(), "documents": texts()}
    page = report_html(trained(), title="<i>&", **options)
    assert page == report_html(trained(), title="<i>&", **options)
    page.encode("utf-8")
    assert "<title>&lt;i&gt;&amp;</title>" in page
    assert "onerror" not in re.sub(r'(?s)<script type="application/json".*?</script>', "", page)
    assert page.count("</script>") == 2
    assert "http:" not in page.replace("http://www.w3.org/", "")
    assert "https:" not in page


def test_the_page_holds_no_infinities() -> None:
    series = Series("odd", np.arange(3.0), np.array([[np.nan, np.inf, 1.0]]))
    data = report_data(trained((3,)))
    odd = ReportData(**{**data.__dict__, "series": (series,)})
    assert payload(odd)["series"][0]["values"] == [[None, None, 1]]
    assert "too few draws" in report_html(odd)


def test_writing_is_all_or_nothing(tmp_path) -> None:
    target = tmp_path / "report.html"
    assert write_report(trained(), target) == target
    before = target.read_bytes()
    with pytest.raises(DataError, match="vocabulary: 3 names, but 60"):
        write_report(trained(), target, vocabulary=["a", "b", "c"])
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(PgbnError, match=r"cannot write the report to .*missing"):
        write_report(trained(), tmp_path / "missing" / "report.html")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vocabulary": "a string"}, "vocabulary: a string"),
        ({"vocabulary": set(range(60))}, "vocabulary: a set"),
        ({"vocabulary": {f"w{v}": 1 for v in range(60)}}, "vocabulary: a dict must give"),
        ({"titles": set(range(80))}, "titles: a set"),
        ({"titles": ["one"]}, "titles: 1 names, but 80"),
        ({"documents": ["one"]}, "documents: 1 names, but 80"),
    ],
)
def test_errors_name_the_argument(options, words) -> None:
    with pytest.raises(DataError, match=words):
        report_data(trained(), **options)


def test_a_dict_of_columns_names_the_terms() -> None:
    names = [f"word{v}" for v in range(60)]
    columns = {names[v]: v for v in reversed(range(60))}
    assert report_data(trained(), vocabulary=columns).vocabulary == names
    data = report_data(trained())
    assert ReportData(**{**data.__dict__, "vocabulary": columns}).words(1, 0) == [
        names[v] for v in np.argsort(-data.phi[0][0], kind="stable")[:10]
    ]


def test_errors_of_the_model() -> None:
    with pytest.raises(DataError, match="model is dict"):
        report_data({})
    with pytest.raises(DataError, match="empty list"):
        report_data([])
    with pytest.raises(DataError, match="layers are numbered from 1 to 3"):
        report_data(trained()).project(0)


def test_summary_escapes() -> None:
    html = summary_html(trained(), vocabulary=vocabulary(), title="<x>")
    assert "&lt;x&gt;" in html
    assert "12 – 6 – 3 topics" in html
    assert "<script" not in html
    assert "<img" not in html


NETWORKS = {
    "pgbn": lambda: pg.zoo.pgbn([4, 2]),
    "bernoulli": lambda: pg.zoo.pgbn([4], link="bernoulli"),
    "gamma": lambda: pg.zoo.pgbn([4], link="gamma"),
    "pgds": lambda: pg.zoo.pgds(3),
    "lda": lambda: pg.zoo.lda(3),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_derivation_is_well_formed_and_complete(name) -> None:
    """Every formula becomes MathML; no command is left over or unknown."""
    markdown = NETWORKS[name]().explain("markdown")
    html = derivation_html(markdown)
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    inline = len(re.findall(r"(?<![\\$])\$[^$\n]+\$", markdown))
    assert len(tree.findall(".//math")) == markdown.count("aligned}") // 2 + inline
    assert not tree.findall(".//mtext"), "a command that mathml.py does not know"
    shown = "".join(tree.itertext())
    assert not set("\\{}$") & set(shown)
    assert len(tree.findall(".//h3")) == len(re.findall(r"(?m)^##? ", markdown))


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x", "<mi>x</mi>"),
        ("0.05", "<mn>0.05</mn>"),
        (r"\theta^{(1)}_{k j}", "<msubsup><mi>θ</mi><mrow><mrow><mi>k</mi><mi>j</mi></mrow></mrow>"
         '<mrow><mrow><mo stretchy="false">(</mo><mn>1</mn><mo stretchy="false">)</mo></mrow></mrow>'
         "</msubsup>"),
        (r"\frac{a}{2}", "<mfrac><mi>a</mi><mn>2</mn></mfrac>"),
        (r"\sum_k", "<munder><mo>∑</mo><mrow><mi>k</mi></mrow></munder>"),
        (r"\mathrm{Gam}", '<mi mathvariant="normal">Gam</mi>'),
        ("a < b", '<mrow><mi>a</mi><mo stretchy="false">&lt;</mo><mi>b</mi></mrow>'),
        (r"\nosuch", "<mtext>nosuch</mtext>"),
        ("q'", "<msup><mi>q</mi><mrow><mo>′</mo></mrow></msup>"),
        (r"\frac{", "<mfrac><mrow></mrow></mfrac>"),
    ],
)  # fmt: skip
def test_mathml(latex, expected) -> None:
    assert inline_mathml(latex) == f"<math>{expected}</math>"


def test_prose_of_a_derivation() -> None:
    assert derivation_html("a < b & `c<d`") == "<p>a &lt; b &amp; <code>c&lt;d</code></p>"
    assert derivation_html(r"5 \$ and \_ \<i\>") == "<p>5 $ and _ &lt;i&gt;</p>"
    assert derivation_html("- one\n- two") == "<ul><li>one</li><li>two</li></ul>"


def test_map_positions() -> None:
    """Documents of two groups fall apart on the map, in the same way whatever their order."""
    g = np.random.default_rng(0)
    theta = np.concatenate([g.dirichlet([9, 1, 1], 40), g.dirichlet([1, 1, 9], 40)])
    position = document_positions(theta)
    assert (
        position[:40, 0].max() < position[40:, 0].min()
        or position[:40, 0].min() > position[40:, 0].max()
    )
    order = g.permutation(80)
    np.testing.assert_allclose(document_positions(theta[order]), position[order], atol=1e-9)
    assert document_positions(np.ones((5, 1))).tolist() == [[0.0, 0.0]] * 5
    assert even_choice(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert even_choice(100, 3).tolist() == [0, 50, 99]


def test_results_write_their_own_report(tmp_path) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (20, 12))
    result = pg.train_layerwise(counts, max_width=4, depth=1, burn_in=3, collect=2, seed=0)
    for number, model in enumerate((result, result.deepest)):
        page = model.report(tmp_path / f"{number}.html", counts)
        assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
        assert "<div>" in model._repr_html_()
    from pgbn.estimators import PFA

    fitted = PFA(3, burn_in=3, collect=2, random_state=0).fit(counts)
    assert fitted.report(tmp_path / "pfa.html").exists()


def test_documents_in_any_form_that_training_takes() -> None:
    pandas = pytest.importorskip("pandas")
    counts = np.random.default_rng(0).poisson(1.0, (20, 12))
    frame = pandas.DataFrame(counts, columns=[f"w{v}" for v in range(12)])
    model = pg.train_layerwise(counts, max_width=4, depth=1, burn_in=3, collect=2, seed=0)
    bare = model.deepest.without_state()
    expected = report_data(bare, counts)
    for X in (frame, counts.tolist(), sp.csc_matrix(counts)):
        for trained_model, theta in ((bare, expected.theta), (model, report_data(model).theta)):
            data = report_data(trained_model, X)
            assert data.settings["documents"] == 20
            assert data.settings["tokens"] == counts.sum()
            np.testing.assert_array_equal(data.theta[0], theta[0])
    with pytest.raises(DataError, match=r"^X: "):
        report_data(model, [["a", "b"]])


@pytest.mark.filterwarnings("error")
def test_a_training_too_short_to_settle_shows_dashes() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = train_layerwise(counts, 6, 2, burn_in=9, collect=1, min_width=1, threads=1)
    data = report_data(model)
    assert data.series[0].settled == data.series[0].sweeps.size  # nothing is left
    page = report_html(data)
    assert not re.findall(r"<td[^>]*>[^<]*nan[^<]*</td>", page)
    assert '<td class="figure">–</td>' * 4 in page
