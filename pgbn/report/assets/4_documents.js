// The search of documents.
(() => {
  const list = $("documents-list");
  if (!list) return;
  const few = 12;
  let shown = few;

  function fill() {
    const wanted = wantedIn($("document-search"));
    const found = [...documents.values()].filter((record) => wanted.every((word) => record.words.includes(word)));
    list.replaceChildren(...found.slice(0, shown).map((record) => documentRow(record.number, undefined, 240)));
    $("documents-found").textContent = `${grouped(found.length)} of ${grouped(documents.size)} documents`;
    $("documents-more").hidden = found.length <= shown;
    $("documents-more").textContent = `Show ${Math.min(50, found.length - shown)} more`;
  }
  const left = data.size - documents.size;
  $("documents-left").textContent = documentsFault || (left > 0
    ? `${grouped(documents.size)} of ${grouped(data.size)} documents are in this page; ${grouped(left)} were left out to keep it small.` : "")
    + (data.documents.texts ? ` Of a text, at most ${grouped(data.documents.length)} characters are kept.` : "");
  $("document-search").addEventListener("input", () => { shown = few; fill(); });
  $("documents-more").addEventListener("click", () => { shown += 50; fill(); });
  fill();
})();
