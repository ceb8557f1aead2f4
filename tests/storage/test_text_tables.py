"""Tables of texts: what is not a table is refused, and no cell or document goes missing."""

from pathlib import Path

import pytest

from pgbn import Corpus
from pgbn.errors import DataError
from pgbn.storage.corpus import read_corpus
from pgbn.storage.tables import read_columns

BAD = {
    "a comma that is not quoted": (
        "id,text\n1,good\n2,first part, and the rest\n",
        "line 3 has 3 cells, but the first line names 2; put texts that have a comma in quotes",
    ),
    "a quote that is never closed": (
        'id,text\n1,"so it began\n2,two\n3,three\n',
        "lines 2 to 4: a quote is opened, and not closed",
    ),
    "a quote that another row closes": (
        'id,text\n1,"Great she said\n2,"Bad he said\n3,three\n',
        "lines 2 to 3: a quote is opened, and not closed",
    ),
    "two columns of one name": ("id,text,text\n1,one,two\n", "two columns are called 'text'"),
    "two columns of labels": ("id,id,text\n1,2,two\n", "two columns are called 'id'"),
    "nothing": ("", "no column 'text': its first line names none"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_would_be_lost_is_refused(case: str, tmp_path: Path) -> None:
    content, told = BAD[case]
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=told) as caught:
        read_corpus(path, label="id")
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match=told):
        Corpus.build(path, tmp_path / "corpus", label="id")


@pytest.mark.parametrize("separator", [",", "\t"])
def test_whole_tables_are_read_as_they_are(separator: str, tmp_path: Path) -> None:
    rows = ["id,text,,", '1,"one, and ""two"""', '2,"several\r\n\r\nlines",,', "", "3", '4,"a"b, ,']
    path = tmp_path / ("rows.csv" if separator == "," else "rows.tsv")
    path.write_text("\r\n".join(rows).replace(",", separator), newline="")
    corpus = read_corpus(path, label="id")
    assert corpus.labels == ["1", "2", "3", "4"]
    assert corpus.texts == [f'one{separator} and "two"', "several\r\n\r\nlines", "", "ab"]


def test_columns_beside_the_texts_are_refused_likewise(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,day,day\none,2001,2002\n")
    with pytest.raises(DataError, match="two columns are called 'day'"):
        read_columns(path, "csv", ["day"], "utf-8")
    path.write_text("text,day\none,2001,2002\n")
    with pytest.raises(DataError, match="line 2 has 3 cells"):
        read_columns(path, "csv", ["day"], "utf-8")
