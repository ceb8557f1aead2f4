"""Files for the data of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pgbn.cli.sampling import data_labels, files_of, in_run_order, read_labels, read_nodes
from pgbn.errors import DataError, PgbnWarning
from pgbn.storage.tables import Numbers
from tests.helpers.small_networks import words_and_sizes


def test_which_file_is_whose(tmp_path: Path) -> None:
    assert files_of(["a.mtx"], ["x"]) == {"x": Path("a.mtx")}
    assert files_of(["x=a=b.mtx"], ["x"]) == {"x": Path("a=b.mtx")}
    assert files_of(["y=b", "x=a"], ["x", "y"]) == {"x": Path("a"), "y": Path("b")}
    assert files_of(["y=b"], ["x", "y"], some=True) == {"y": Path("b")}
    with pytest.raises(DataError, match="no data of 'x'"):
        files_of([], ["x", "y"], some=True)
    odd = tmp_path / "k=3.mtx"
    odd.write_text("")
    assert files_of([str(odd)], ["x"]) == {"x": odd}


@pytest.mark.parametrize(("words", "observed", "message"), [
    (["z=a"], ["x"], r"'z=a' is of no observed node.*Give x=FILE"),
    (["a"], ["x", "y"], r"'a' is of no observed node.*Give x=FILE y=FILE"),
    (["a", "b"], ["x"], "there is a file of 'x' already"),
    (["x=a"], ["x", "y"], "no data of 'y'; give y=FILE"),
])  # fmt: skip
def test_words_that_are_refused(words: list[str], observed: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        files_of(words, observed)


def test_nodes_are_read_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("doc,sea,oven\n1,2,3\n4,5,6\n")
    (tmp_path / "y.csv").write_text("doc,visits\n1,7\n4,8\n")
    read = read_nodes(words_and_sizes(), {"x": tmp_path / "x.csv", "y": tmp_path / "y.csv"})
    assert np.array_equal(read["x"].values, [[2, 3], [5, 6]])
    assert np.array_equal(read["y"].values, [7, 8])
    assert data_labels(words_and_sizes(), read) == {"doc": ["1", "4"], "term": ["sea", "oven"]}
    (tmp_path / "y.csv").write_text("doc,visits\n4,7\n1,8\n")
    read = read_nodes(words_and_sizes(), {"x": tmp_path / "x.csv", "y": tmp_path / "y.csv"})
    with pytest.raises(DataError, match="y: the names along 'doc' are not those of the other data"):
        data_labels(words_and_sizes(), read)


def test_names_along_dims(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("sea\noven\n\n", "utf-8")
    assert read_labels([f"term={tmp_path / 'terms.txt'}"], words_and_sizes()) == {
        "term": ["sea", "oven"]
    }
    for word, message in (("term", "give DIM=FILE"), ("trm=a", "Did you mean 'term'"),
                          (f"term={tmp_path / 'gone'}", "cannot be read")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            read_labels([word], words_and_sizes())
    (tmp_path / "terms.txt").write_text("a\nb\nc\n")
    with pytest.raises(DataError, match="3 labels along 'topic', but its size is 2"):
        read_labels([f"topic={tmp_path / 'terms.txt'}"], words_and_sizes())


def test_new_rows_in_the_order_of_the_run() -> None:
    axes, coords = ("doc", "term"), {"term": ["sea", "oven", "court"], "doc": ["a"]}
    values = np.array([[1, 2, 4]])

    def ordered(numbers: Numbers, plate: str = "doc", known: Any = coords) -> Any:
        found = in_run_order("x", numbers, axes, plate, known)
        return found if isinstance(found, np.ndarray) else found.toarray()

    for numbers in (Numbers(values), Numbers(values, None, coords["term"]), Numbers(values, ["b"])):
        assert ordered(numbers) is values
    assert ordered(Numbers(values, None, ["u", "v", "w"]), known={}) is values
    with pytest.warns(PgbnWarning, match="1 of 'term' with 2 counts that the run does not know"):
        assert ordered(Numbers(values, None, ["oven", "ship", "sea"])).tolist() == [[4, 1, 0]]
    other = Numbers(values.T, ["b", "c", "d"], ["new"])
    with pytest.raises(DataError, match="the names along 'doc' are not those of the run"):
        ordered(other, plate="term")
