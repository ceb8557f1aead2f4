"""The table of topics, which can be searched and sorted."""

from __future__ import annotations

from pgbn.report.data import ReportData

__all__ = ["layer_options", "topics_html"]


def topics_html(data: ReportData) -> str:
    """The empty table, its heads and its tools."""
    heads = [("topic", "Topic", ""), ("words", "Words", ""), ("weight", "Share", "figure")]
    note = "The share is the part of all words of the corpus that a topic accounts for."
    if data.theta:
        heads.append(("leads", "Documents", "figure"))
        note += (
            " The last column counts the documents in which it has the largest share of all topics "
            "of its layer; a topic can be everywhere and yet the main one nowhere."
        )
    cells = "".join(
        f'<th scope="col" data-by="{by}" class="{kind}"><button type="button">{label}</button></th>'
        for by, label, kind in heads
    )
    layers = layer_options(data, data.depth)
    return f"""<p class="note">{note}</p><div class="tools" role="search">
<label class="grow">Search
<input type="search" id="search" placeholder="words, or layer/topic" autocomplete="off"></label>
<label>Layer <select id="layer">{layers}<option value="0">all, one after another</option></select>
</label>
<span id="found" role="status"></span></div>
<div class="scroll"><table id="table"><caption class="hidden">All topics</caption>
<thead><tr>{cells}</tr></thead><tbody id="table-body"></tbody></table></div>
<p><button type="button" class="button" id="more" hidden></button></p>
<form class="tools" id="name-form"><label class="grow">Name a topic by words
<input type="text" id="name-words" placeholder="weather = rain, sun" autocomplete="off"></label>
<label>Layer <select id="name-layer">{layer_options(data, 1)}</select></label>
<button class="button">Name it</button><span id="name-said" role="status"></span></form>
<div id="kept-names" hidden><p class="note">Names that you give are lost when the page is closed.
This command keeps them in the model:</p><pre id="name-command"></pre></div>"""


def layer_options(data: ReportData, chosen: int) -> str:
    """The layers to choose from; ``chosen`` is at first."""
    return "".join(
        f'<option value="{t}"{" selected" if t == chosen else ""}>{t}</option>'
        for t in range(data.depth, 0, -1)
    )
