"""The hierarchy as a tree that folds: themes of the top layer, and what belongs to them."""

from __future__ import annotations

from pgbn.report.data import ReportData

__all__ = ["tree_html"]


def tree_html(data: ReportData) -> str:
    """The place of the tree, and its switches."""
    return f"""<p class="note">Every topic in use stands here once, under the theme of the layer
above that holds most of it, with its share of the corpus. A topic that several themes have in
common may be larger than the one it stands under. The largest topic of each layer has a bar of full
length. Keys: arrows move, unfold and fold, Enter chooses.</p>
<div class="tools"><button type="button" class="button" id="unfold">Unfold all</button>
<button type="button" class="button" id="fold">Fold all</button>
<label class="grow">Find <input type="search" id="tree-search" autocomplete="off"
placeholder="a word"></label>
<span id="tree-found" role="status"></span></div>
<ul class="tree" id="tree" role="tree" aria-label="Themes and topics of {data.depth} layers"></ul>
"""
