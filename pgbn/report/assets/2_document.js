// An open document: its text with words coloured by their topics, and its topics in every layer.
(() => {
  if (!side.panel) return;
  const colours = 7; // topics of a text with a colour of their own; the rest share one

  function coloured(record) {
    const place = make("div", { class: "text", dir: "auto", id: "document-text" });
    // Of the pieces, every third is what stands between words, then come a colour and a word.
    const pieces = record.marked.split(/([\uE000-\uE007])([^\uE008]*)\uE008/);
    for (let i = 0; i < pieces.length; i += 3) {
      place.append(pieces[i]);
      if (i + 1 === pieces.length) break;
      const slot = pieces[i + 1].charCodeAt(0) - 0xe000;
      place.append(make("mark", { class: "s" + slot, "data-slot": slot }, pieces[i + 2]));
    }
    if (record.cut) place.append(" …");
    return place;
  }

  // The topics of the words, each with its colour; to choose one brings out its words.
  function legend(record, place) {
    const list = make("ul", { class: "legend chips", "aria-label": "Topics of the words" });
    const count = (slot) => place.querySelectorAll(".s" + slot).length;
    const entry = (slot, name, said, size) => make("li", {}, make("button", { type: "button", "aria-pressed": "false", "data-slot": slot,
      "aria-label": `${said}: ${size} words; bring them out`,
      onclick: (event) => {
        const button = event.currentTarget, on = button.getAttribute("aria-pressed") !== "true";
        list.querySelectorAll("button").forEach((each) => each.setAttribute("aria-pressed", each === button && on));
        place.classList.toggle("only", on);
        place.querySelectorAll("mark").forEach((mark) => mark.classList.toggle("lit", on && Number(mark.dataset.slot) === slot));
      } }, make("span", { class: "dot s" + slot, "aria-hidden": "true" }), make("bdi", {}, name), make("span", { class: "number" }, String(size))));
    record.topics.forEach((topic, slot) => list.append(entry(slot, mixed(nameOf(1, topic, 2)), `${sayTopic(1, topic)}, ${mixed(nameOf(1, topic))}`, count(slot))));
    if (count(colours)) list.append(entry(colours, "other topics", "Other topics", count(colours)));
    return list;
  }

  function sharesOf(number) {
    if (documents.has(number)) return documents.get(number).shares;
    const at = mapNumbers ? mapNumbers.indexOf(number) : number;
    if (!data.map || at < 0) return [];
    return data.map.leading.map((text) => [{ topic: decode(text, Uint16Array)[at], share: NaN }]);
  }

  side.views.document = () => {
    const number = chosen.document, record = documents.get(number), title = titleOf(number);
    const out = [heading(title)];
    if (chosen.layer)
      out.push(make("button", { type: "button", class: "button", id: "document-back", onclick: () => openDocument(-1) },
        `← ${sayTopic(chosen.layer, chosen.topic)}`));
    const shares = sharesOf(number);
    for (let layer = depth; layer >= 1; layer--) {
      const rows = shares[layer - 1] || [];
      if (!rows.length) continue;
      out.push(make("h3", {}, Number.isNaN(rows[0].share) ? `Main topic in layer ${layer}` : `Topics in layer ${layer}`));
      out.push(make("ul", { class: "near chips" }, ...rows.map((row) => topicRow(layer, row.topic, row.share, 2))));
    }
    if (record && record.text) {
      const place = coloured(record);
      if (record.topics.length) out.push(make("h3", {}, "Words by topic of layer 1"), legend(record, place));
      out.push(place);
      if (record.cut) out.push(make("p", { class: "note" }, `The first ${grouped(Array.from(record.text).length)} characters; the rest was left out to keep the page small.`));
    } else if (data.documents && data.documents.texts) {
      out.push(make("p", { class: "note" }, documentsFault || "The text of this document was left out to keep the page small."));
    }
    $("live").textContent = `${title} opened`;
    return out;
  };

  // Buttons that are in the page from the start.
  for (const button of document.querySelectorAll("main [data-choose]"))
    button.addEventListener("click", () => choose(...button.dataset.choose.split("/").map(Number)));
  for (const button of document.querySelectorAll("main [data-open]"))
    button.addEventListener("click", () => openDocument(Number(button.dataset.open)));
  side.show();
})();
