// The chosen topic: its words, what it is made of, where it is used, its documents.
(() => {
  const panel = $("detail");
  let opener = null;

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
    const list = make("ul", { class: "near" });
    for (const link of rows)
      list.append(make("li", {}, make("button", {
        type: "button", "aria-label": `${sayTopic(layer, link.topic)}: ${mixed(nameOf(layer, link.topic))}, ${percent(link.share)}`,
        onclick: () => choose(layer, link.topic),
      }, make("bdi", {}, mixed(nameOf(layer, link.topic))), make("span", { class: "number" }, percent(link.share)))));
    return [make("h3", {}, title), list];
  }

  function documents(layer, topic) {
    const numbers = data.layers[layer - 1].documents[topic];
    if (!numbers || !numbers.length) return [];
    const list = make("ol", { class: "papers" });
    numbers.forEach((number, i) => {
      const [title, text] = data.documents[number];
      const item = make("li", { "data-document": number }, make("div", { class: "row" }, make("bdi", {}, title),
        make("span", { class: "number" }, percent(data.layers[layer - 1].shares[topic][i]))));
      if (text && text !== title) item.append(make("p", { dir: "auto" }, text));
      list.append(item);
    });
    return [make("h3", {}, "Leading documents"), list];
  }

  function show() {
    panel.replaceChildren();
    panel.classList.toggle("empty", !chosen.layer);
    if (!chosen.layer) {
      panel.append(make("h2", {}, "No topic chosen"),
        make("p", { class: "note" }, "Choose a topic in the graph, the table or the map to see its words and documents."));
      return;
    }
    const { layer, topic } = chosen;
    const info = data.layers[layer - 1];
    const list = make("ol", { id: "words", "aria-label": "Words of this topic" });
    const slider = make("input", { type: "range", min: "0.3", max: "1", step: "0.1", value: String(relevanceOf(layer)), id: "relevance" });
    const fill = () => list.replaceChildren(...wordList(layer, topic, Number(slider.value)));
    slider.addEventListener("input", fill);
    fill();
    panel.append(
      make("div", { class: "top" }, make("h2", { id: "detail-title" }, sayTopic(layer, topic)),
        make("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => close() }, "×")),
      make("p", { class: "note" }, percent(info.weights[topic]) + " of its layer" +
        (info.leads ? `, leads in ${grouped(info.leads[topic])} documents` : "") + (info.active[topic] ? "" : "; not in use")),
      make("h3", {}, layer > 1 ? "Words, through all layers below" : "Words"),
      make("label", { class: "slider", for: "relevance" }, "typical ↔ frequent", slider), list,
      ...neighbours(`Made of, in layer ${layer - 1}`, layer - 1, childrenOf(layer, topic)),
      ...neighbours(`Part of, in layer ${layer + 1}`, layer + 1, parentsOf(layer, topic)),
      ...documents(layer, topic));
    panel.scrollTop = 0;
    $("live").textContent = `${sayTopic(layer, topic)} chosen: ${nameOf(layer, topic, 5).join(", ")}`;
  }

  function close() {
    choose(0, -1);
    if (opener && opener.isConnected) opener.focus();
  }
  document.addEventListener("focusin", (event) => {
    if (!panel.contains(event.target)) opener = event.target;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen.layer) close();
  });
  onChoice(show);
  show();
})();
