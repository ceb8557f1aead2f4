// Topics over time, a small chart each, and by class, in a table.
(() => {
  const select = $("group-layer");
  if (!select) return;
  const few = 12;
  let everything = false;
  const layerOf = () => Number(select.value);
  // The largest topics of the layer, and first of all the chosen one.
  function topicsOf(layer, all) {
    const weights = data.layers[layer - 1].weights;
    const order = weights.map((_, topic) => topic).filter((topic) => data.layers[layer - 1].active[topic]).sort((a, b) => weights[b] - weights[a]);
    const list = all ? order : order.slice(0, few);
    return chosen.layer === layer ? [chosen.topic, ...list.filter((topic) => topic !== chosen.topic)] : list;
  }

  function curve(groups, layer, topic) {
    const shares = groups.layers[layer - 1].map((row) => row[topic] / 1000), count = shares.length;
    const known = shares.map((share, i) => (groups.sizes[i] ? share : null)), values = known.filter((share) => share !== null);
    const most = Math.max(...values, 1e-6), width = 240, height = 64;
    const x = (i) => (count > 1 ? 3 + (i / (count - 1)) * (width - 6) : width / 2), y = (share) => height - 3 - (share / most) * (height - 8);
    const best = known.indexOf(Math.max(...values));
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    let path = "", down = false;
    known.forEach((share, i) => {
      if (share === null) { down = false; return; }
      const alone = (i === 0 || known[i - 1] === null) && (i === count - 1 || known[i + 1] === null);
      path += (down ? "L" : "M") + x(i).toFixed(1) + " " + y(share).toFixed(1) + (alone ? "h0.01" : "");
      down = true;
    });
    svg.append(make("line", { class: "axis", x1: 0, x2: width, y1: height - 3, y2: height - 3 }), make("path", { class: "trace c0 round", d: path }));
    return make("button", { type: "button", class: "spark", "data-choose": `${layer}/${topic}`, "aria-pressed": String(chosen.layer === layer && chosen.topic === topic),
      "aria-label": `${sayTopic(layer, topic)}, ${mixed(nameOf(layer, topic))}: largest in ${groups.labels[best]} with ${percent(most)}, ` +
        `${percent(values[0])} at first, ${percent(values[values.length - 1])} at last`,
      onclick: () => choose(layer, topic) },
    make("span", { class: "row" }, make("bdi", {}, mixed(nameOf(layer, topic))), make("span", { class: "number" }, `up to ${percent(most)}`)),
    svg, make("span", { class: "row number" }, make("span", {}, groups.labels[0]), make("span", {}, groups.labels[count - 1])));
  }

  function table(groups, layer) {
    const topics = topicsOf(layer, false), rows = groups.layers[layer - 1];
    const most = Math.max(...topics.map((topic) => Math.max(...rows.map((row) => row[topic]))), 1e-9);
    const head = make("tr", {}, make("th", { scope: "col" }, "Topic"), ...groups.labels.map((label, i) =>
      make("th", { scope: "col", class: "figure" }, make("bdi", {}, label), make("span", { class: "number" }, ` ${grouped(groups.sizes[i])}`))));
    return make("table", { class: "heat" }, make("caption", { class: "hidden" }, "Mean share of each topic by class"), make("thead", {}, head),
      make("tbody", {}, ...topics.map((topic) => make("tr", { class: chosen.layer === layer && chosen.topic === topic ? "chosen" : undefined },
        make("th", { scope: "row" }, make("button", { type: "button", class: "open", "data-choose": `${layer}/${topic}`, "aria-label": `${sayTopic(layer, topic)}: ${mixed(nameOf(layer, topic))}`,
          onclick: () => choose(layer, topic) }, make("bdi", {}, mixed(nameOf(layer, topic))))),
        ...rows.map((row) => {
          const cell = make("td", { class: "figure" }, percent(row[topic] / 1000));
          cell.style.setProperty("--depth", `${Math.round((100 * row[topic]) / most)}%`);
          return cell;
        })))));
  }

  function draw() {
    const holder = document.activeElement && document.activeElement.dataset.choose, within = $("groups").contains(document.activeElement);
    const layer = layerOf(), { time, class: kinds } = data.groups;
    if (time) {
      const total = topicsOf(layer, true).length;
      $("time-place").replaceChildren(...topicsOf(layer, everything).map((topic) => curve(time, layer, topic)));
      $("time-more").hidden = total <= few;
      $("time-more").textContent = everything ? "Show fewer" : `Show all ${total}`;
    }
    if (kinds) $("class-place").replaceChildren(table(kinds, layer));
    const back = within && holder && $("groups").querySelector(`[data-choose="${holder}"]`);
    if (back) back.focus();
  }
  select.addEventListener("change", draw);
  if ($("time-more")) $("time-more").addEventListener("click", () => { everything = !everything; draw(); });
  onChoice(draw);
  draw();
})();
