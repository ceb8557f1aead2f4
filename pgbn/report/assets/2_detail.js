// The choice, at the side: a topic with its words, relatives and documents, or a document.
// Each of its views returns its elements.
const side = { panel: $("detail"), views: {}, opener: null };
side.show = () => {
  const view = chosen.document >= 0 ? "document" : chosen.layer ? "topic" : "nothing";
  side.panel.classList.toggle("empty", view === "nothing");
  side.panel.replaceChildren(...side.views[view]());
  side.panel.scrollTop = 0;
  if (view !== "nothing") requestAnimationFrame(side.uncover);
};
// On a phone the panel lies over the lower half of the screen: what was touched moves above it.
side.uncover = () => {
  if (getComputedStyle(side.panel).position !== "fixed" || !side.opener || !side.opener.isConnected) return;
  const place = side.opener.getBoundingClientRect(), below = side.panel.getBoundingClientRect().top - 8;
  const shift = Math.min(place.bottom - below, place.top - 60);
  if (shift > 0) window.scrollBy(0, shift);
};
// A document is closed first, then the topic; then the focus goes back to where it came from.
side.close = () => {
  if (chosen.document >= 0 && chosen.layer) openDocument(-1);
  else choose(0, -1);
  if (!chosen.layer && side.opener && side.opener.isConnected) side.opener.focus();
};

(() => {
  if (!side.panel) return;

  function wordList(layer, topic, relevance) {
    const rows = wordsOf(layer, topic, relevance);
    const most = Math.max(...rows.map((row) => row.share), 1e-12);
    return rows.map((row) => {
      const bar = make("span");
      bar.style.width = (100 * row.share) / most + "%";
      return make("li", { class: "word" }, make("bdi", {}, row.word),
        make("div", { class: "track", "aria-hidden": "true" }, bar),
        make("span", { class: "number" }, percent(row.share)));
    });
  }

  function neighbours(title, layer, links) {
    const rows = links.filter((link, i) => i < 6 && link.share >= 0.01);
    if (!rows.length) return [];
    return [make("h3", {}, title), make("ul", { class: "near" }, ...rows.map((link) => topicRow(layer, link.topic, link.share)))];
  }

  function leadingDocuments(layer, topic) {
    const numbers = data.layers[layer - 1].documents[topic];
    if (!numbers || !numbers.length) return [];
    const list = make("ol", { class: "documents" });
    numbers.forEach((number, i) => list.append(documentRow(number, data.layers[layer - 1].shares[topic][i])));
    return [make("h3", {}, "Leading documents"), list];
  }

  side.views.topic = () => {
    const { layer, topic } = chosen;
    const info = data.layers[layer - 1];
    const list = make("ol", { id: "words", "aria-label": "Words of this topic" });
    const slider = make("input", { type: "range", min: "0", max: "1", step: "0.1", value: String(relevanceOf(layer)), id: "relevance" });
    const fill = () => list.replaceChildren(...wordList(layer, topic, Number(slider.value)));
    slider.addEventListener("input", fill);
    fill();
    $("live").textContent = `${sayTopic(layer, topic)} chosen: ${nameOf(layer, topic, 5).join(", ")}`;
    const main = info.leads ? `; the main topic of ${grouped(info.leads[topic])} of ${grouped(data.size)} documents` : "";
    return [
      heading(sayTopic(layer, topic)),
      make("p", { class: "note" }, `${percent(info.weights[topic])} of the corpus${main}${info.active[topic] ? "" : "; not in use"}`),
      make("h3", {}, layer > 1 ? "Words, through all layers below" : "Words"),
      make("label", { class: "slider", for: "relevance" }, "typical ↔ frequent", slider), list,
      ...neighbours(`Made of, in layer ${layer - 1}`, layer - 1, childrenOf(layer, topic)),
      ...neighbours(`Goes into, in layer ${layer + 1}`, layer + 1, parentsOf(layer, topic)),
      ...leadingDocuments(layer, topic),
    ];
  };

  side.views.nothing = () => [make("h2", {}, "No topic chosen"),
    make("p", { class: "note" }, "Choose a topic or a document anywhere on the page to read about it here.")];

  document.addEventListener("focusin", (event) => {
    if (!side.panel.contains(event.target)) side.opener = event.target;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (chosen.layer || chosen.document >= 0)) side.close();
  });
  onChoice(side.show);
})();

function heading(text) {
  return make("div", { class: "top" }, make("h2", { id: "detail-title", dir: "auto" }, text),
    make("button", { type: "button", class: "close", "aria-label": "Close", onclick: side.close }, "×"));
}

// A topic as a line that chooses it; its share may be missing.
function topicRow(layer, topic, share, words = 3) {
  const known = Number.isNaN(share) ? [] : [percent(share)];
  return make("li", {}, make("button", {
    type: "button", "data-choose": `${layer}/${topic}`,
    "aria-label": [`${sayTopic(layer, topic)}: ${mixed(nameOf(layer, topic))}`, ...known].join(", "),
    onclick: () => choose(layer, topic),
  }, make("bdi", {}, mixed(nameOf(layer, topic, words))), make("span", { class: "number" }, ...known)));
}

// A document as a line that opens it, with its first words.
function documentRow(number, share, length = 150) {
  const title = titleOf(number), record = documents.get(number);
  const row = make("button", { type: "button", class: "row", "data-open": number, onclick: () => openDocument(number) },
    make("bdi", {}, title));
  if (share !== undefined) row.append(make("span", { class: "number" }, percent(share)));
  const item = make("li", { "data-document": number }, row);
  const text = record ? record.text.slice(0, length).replace(/\s+/g, " ") : "";
  if (text && !title.startsWith(text.slice(0, 40))) item.append(make("p", { dir: "auto" }, text + (record.cut || record.text.length > length ? " …" : "")));
  return item;
}
