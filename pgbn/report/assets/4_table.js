// All topics in a table that can be searched and sorted.
(() => {
  const body = $("table-body");
  if (!body) return;
  const rows = data.layers.flatMap((info, i) => info.topics.map((_, topic) => ({
    layer: i + 1, topic, weight: info.weights[topic], leads: info.leads ? info.leads[topic] : 0,
    active: info.active[topic],
  })));
  const read = () => rows.forEach((row) => {
    row.words = labelOf(row.layer, row.topic).concat(wordsOf(row.layer, row.topic).map((each) => each.word));
    row.text = plain(row.words.join(" ") + ` ${row.layer}/${row.topic}`);
  });
  read();
  const sort = { by: "weight", down: true };
  const few = 40;
  let everything = false;

  function found() {
    const wanted = wantedIn($("search"));
    const layer = Number($("layer").value);
    return rows.filter((row) => (!layer || row.layer === layer) && wanted.every((word) => row.text.includes(word)));
  }
  const value = (row) => (sort.by === "words" ? row.words.join(" ") : row[sort.by]);
  function compare(a, b) {
    const x = value(a), y = value(b);
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    // Shares are within a layer: layers are separate, the top one first.
    return b.layer - a.layer || (sort.down ? -order : order) || a.topic - b.topic;
  }

  function fill() {
    const list = found().sort(compare), shown = everything ? list : list.slice(0, few);
    body.replaceChildren(...shown.map((row) => {
      const own = row.layer === chosen.layer && row.topic === chosen.topic;
      return make("tr", { class: own ? "chosen" : undefined, "data-topic": row.layer + "/" + row.topic },
        make("td", {}, make("button", { type: "button", class: "open", "aria-label": `${sayTopic(row.layer, row.topic)}: show`,
          onclick: () => choose(row.layer, row.topic) }, `layer${row.layer}_topic${row.topic}`)),
        make("td", { class: "words" }, ...row.words.slice(0, 8).map((word) => make("bdi", {}, word)),
          ...(row.active ? [] : [make("span", { class: "note" }, " (not in use)")])),
        make("td", { class: "figure" }, percent(row.weight)),
        ...(data.size ? [make("td", { class: "figure" }, grouped(row.leads))] : []));
    }));
    $("found").textContent = `${grouped(list.length)} of ${grouped(rows.filter((row) => !Number($("layer").value) || row.layer === Number($("layer").value)).length)} topics` +
      (shown.length < list.length ? `, the first ${shown.length} shown` : "");
    $("more").hidden = list.length <= few;
    $("more").textContent = everything ? "Show fewer" : `Show all ${grouped(list.length)}`;
    for (const head of document.querySelectorAll("#table th[data-by]"))
      head.setAttribute("aria-sort", head.dataset.by !== sort.by ? "none" : sort.down ? "descending" : "ascending");
  }

  for (const head of document.querySelectorAll("#table th[data-by]"))
    head.querySelector("button").addEventListener("click", () => {
      const by = head.dataset.by;
      sort.down = by === sort.by ? !sort.down : by === "weight" || by === "leads";
      sort.by = by;
      fill();
    });
  $("search").addEventListener("input", fill);
  $("layer").addEventListener("change", fill);
  $("more").addEventListener("click", () => { everything = !everything; fill(); });
  naming.listeners.push(() => { read(); fill(); });
  onChoice(() => {
    for (const line of body.children)
      line.classList.toggle("chosen", line.dataset.topic === chosen.layer + "/" + chosen.topic);
  });
  fill();
})();
