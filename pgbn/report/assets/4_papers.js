// The search of documents.
(() => {
  const list = $("papers-list");
  if (!list) return;
  const few = 12;
  let shown = few;

  function fill() {
    const wanted = wantedIn($("paper-search"));
    const found = [...papers.values()].filter((paper) => wanted.every((word) => paper.words.includes(word)));
    list.replaceChildren(...found.slice(0, shown).map((paper) => paperRow(paper.number, undefined, 240)));
    $("papers-found").textContent = `${grouped(found.length)} of ${grouped(papers.size)} documents`;
    $("papers-more").hidden = found.length <= shown;
    $("papers-more").textContent = `Show ${Math.min(50, found.length - shown)} more`;
  }
  const left = data.size - papers.size;
  $("papers-left").textContent = papersFault || (left > 0
    ? `${grouped(papers.size)} of ${grouped(data.size)} documents are in this page; ${grouped(left)} were left out to keep it small.` : "")
    + (data.papers.texts ? ` Of a text, at most ${grouped(data.papers.length)} characters are kept.` : "");
  $("paper-search").addEventListener("input", () => { shown = few; fill(); });
  $("papers-more").addEventListener("click", () => { shown += 50; fill(); });
  fill();
})();
