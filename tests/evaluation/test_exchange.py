"""What other packages are given."""

from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation.exchange import from_anndata, to_anndata, to_pyldavis
from pgbn.evaluation.topic_words import topic_terms, topics, topics_graph
from tests.evaluation.test_layer_quality import three_topics
from tests.helpers.documents import TERMS, model_of

FEW = {"burn_in": 2, "draws": 2, "threads": 1}
X = np.random.default_rng(0).poisson(1.0, (9, TERMS))
X[2] = 0


def cells(counts=X):
    """As an AnnData has them."""
    return SimpleNamespace(X=counts / 2, layers={"counts": counts}, obsm={}, varm={}, obs={},
                           obs_names=[f"cell{j}" for j in range(len(counts))],
                           var_names=[f"gene{v}" for v in range(counts.shape[1])])  # fmt: skip


def test_the_graph_has_all_topics_and_the_strong_edges(tmp_path):
    model = three_topics().with_labels({(2, 1): "upper"})
    graph = topics_graph(model, threshold=0.3)
    assert set(graph) == {(2, 0), (2, 1), (1, 0), (1, 1), (1, 2)}
    assert set(graph.edges) == {((2, 0), (1, 0)), ((2, 1), (1, 1))}
    assert graph.edges[(2, 0), (1, 0)]["weight"] == 0.5
    assert graph.nodes[2, 1]["label"] == "upper"
    assert len(graph.nodes[1, 0]["terms"].split()) == 5
    for topic in topics(model, 2, 3, relevance=1.0):
        terms = topics_graph(model, top=3, relevance=1.0).nodes[2, topic.index]["terms"]
        assert terms == " ".join(topic.terms)
    assert graph.nodes[1, 0]["layer"] == 1
    nx.write_gexf(graph, tmp_path / "topics.gexf")
    nx.write_graphml_xml(graph, tmp_path / "topics.graphml")
    assert len(nx.read_gexf(tmp_path / "topics.gexf")) == 5
    assert nx.is_directed_acyclic_graph(graph)
    assert len(topics_graph(model, threshold=0.99).edges) == 2  # the strongest stays
    with pytest.raises(DataError, match="threshold=2"):
        topics_graph(model, threshold=2)


def test_pyldavis_gets_proportions_of_documents_with_words():
    model = model_of(widths=(4, 3))
    given = to_pyldavis(model, X, layer=2, **FEW)
    assert given["topic_term_dists"].shape == (3, TERMS)
    assert given["doc_topic_dists"].shape == (8, 3)
    np.testing.assert_allclose(given["doc_topic_dists"].sum(axis=1), 1.0)
    np.testing.assert_array_equal(given["doc_lengths"], np.delete(X.sum(axis=1), 2))
    np.testing.assert_array_equal(given["term_frequency"], X.sum(axis=0))
    assert len(given["vocab"]) == TERMS
    with pytest.raises(DataError, match="X has no counts"):
        to_pyldavis(model, X * 0, **FEW)


def test_cells_come_from_the_layer_of_counts():
    corpus = from_anndata(cells(), layer="counts")
    np.testing.assert_array_equal(corpus.counts.toarray(), X)
    assert corpus.vocabulary[:2] == ["gene0", "gene1"]
    assert corpus.names[-1] == "cell8"
    with pytest.raises(DataError, match=r"X holds numbers that are not counts.*layer='counts'"):
        from_anndata(cells())
    with pytest.raises(DataError, match=r"layer='count': there is none. Did you mean 'counts'"):
        from_anndata(cells(), layer="count")
    with pytest.raises(DataError, match="data is ndarray; give an AnnData"):
        from_anndata(X)


@pytest.mark.filterwarnings("error", "ignore:.*(no known|unknown) term")
def test_what_is_written_into_an_anndata_with_genes_matched_by_name():
    named = replace(model_of(widths=(4, 3)), vocabulary=tuple(f"gene{v}" for v in range(TERMS)))
    data = cells()
    assert to_anndata(named, data, "counts", **FEW) is data
    assert data.obsm["X_pgbn2"].shape == (9, 3)
    np.testing.assert_array_equal(data.varm["pgbn2"], topic_terms(named, 2).T)
    assert data.obs["pgbn_size"].shape == (9,)
    order = np.random.default_rng(1).permutation(TERMS + 1)
    wider = cells(np.column_stack([X, np.full(len(X), 7)])[:, order])
    wider.var_names = [f"gene{v}" if v < TERMS else "unknown" for v in order]
    other = to_anndata(named, wider, "counts", **FEW)
    np.testing.assert_allclose(other.obsm["X_pgbn1"], data.obsm["X_pgbn1"])
    at = np.argsort(order)
    np.testing.assert_array_equal(other.varm["pgbn1"][at[:-1]], data.varm["pgbn1"])
    assert (other.varm["pgbn1"][at[-1]] == 0).all()
    nameless = model_of(widths=(4, 3))
    with pytest.raises(DataError, match=f"data has {TERMS + 1} genes, but the model {TERMS} terms"):
        to_anndata(nameless, wider, "counts", **FEW)
    wider.var_names = [f"other{v}" for v in order]
    with pytest.raises(DataError, match="none of its genes"):
        to_anndata(named, wider, "counts", **FEW)
    told = f"data lacks {TERMS - 3} of the model's {TERMS} genes \\(gene3, gene4, gene5, …\\)"
    with pytest.warns(PgbnWarning, match=told + ".*same kind.*or fit a model to these genes"):
        to_anndata(named, cells(X[:, :3]), "counts", **FEW)


@pytest.mark.filterwarnings("ignore")
def test_the_packages_themselves_take_what_they_are_given():
    """Run with pyLDAvis 3.4.1 and anndata 0.12; where they are missing it is skipped."""
    pyldavis, anndata = pytest.importorskip("pyLDAvis"), pytest.importorskip("anndata")
    model = model_of(widths=(4, 3))
    prepared = pyldavis.prepare(**to_pyldavis(model, X, **FEW))
    assert len(prepared.topic_coordinates) == 4
    data = anndata.AnnData(np.log1p(X), layers={"counts": X})
    again = to_anndata(model, data, "counts", **FEW).copy()
    assert again.varm["pgbn2"].shape == (TERMS, 3)
    assert (again.obs["pgbn_size"] > 0).all()
    np.testing.assert_array_equal(from_anndata(again, "counts").counts.toarray(), X)
