// The layered graph: the top layer at the left, a box a topic, links as curves.
(() => {
  const place = $("graph-place");
  if (!place) return;
  const few = 30, row = 22, box = 18, strong = 0.05;
  const measure = document.createElement("canvas").getContext("2d");
  let nodes = new Map(), edges = [], order = [], lines = null, svg = null, current = null;
  const extra = new Set(); // topics outside the heaviest that were chosen elsewhere on the page
  const key = (layer, topic) => layer + "/" + topic;

  // The heaviest topics of every layer, and the extra ones.
  function visible() {
    return data.layers.map((layer, i) => {
      const order = layer.weights.map((weight, topic) => topic).sort((a, b) => layer.weights[b] - layer.weights[a]);
      const used = order.filter((topic) => layer.active[topic]);
      if ($("all-topics").checked) return order;
      const list = (used.length ? used : order).slice(0, few);
      for (const id of extra) {
        const [t, topic] = id.split("/").map(Number);
        if (t === i + 1 && !list.includes(topic)) list.push(topic);
      }
      return list;
    });
  }

  // The chosen topic and what it reaches, up and down, through strong links.
  function relatives() {
    const found = new Map();
    if (!chosen.layer) return found;
    const walk = (layer, topic, next, step) => {
      found.set(key(layer, topic), true);
      next(layer, topic).filter((link, i) => link.share >= strong && i < 5)
        .forEach((link) => walk(layer + step, link.topic, next, step));
    };
    walk(chosen.layer, chosen.topic, childrenOf, -1);
    walk(chosen.layer, chosen.topic, parentsOf, 1);
    return found;
  }

  // Put neighbours next to each other: sort by the mean place of the linked topics.
  function arrange(shown) {
    const order = shown.map((list) => list.slice());
    const sortBy = (i, linked, from) => {
      const place = new Map(order[from].map((topic, at) => [topic, (at + 0.5) / order[from].length]));
      const mean = (topic) => {
        let sum = 0, total = 0;
        for (const link of linked(i + 1, topic)) {
          if (!place.has(link.topic)) continue;
          const weight = link.share ** 2;
          sum += weight * place.get(link.topic);
          total += weight;
        }
        return total ? sum / total : 0.5;
      };
      const means = new Map(order[i].map((topic) => [topic, mean(topic)]));
      order[i].sort((a, b) => means.get(a) - means.get(b) || a - b);
    };
    for (let round = 0; round < 6; round++) {
      for (let i = depth - 2; i >= 0; i--) sortBy(i, parentsOf, i + 1);
      for (let i = 1; i < depth; i++) sortBy(i, childrenOf, i - 1);
    }
    return order;
  }

  function fit(words, width) {
    measure.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    for (let count = words.length; count > 1; count--) {
      const text = words.slice(0, count).join(" ");
      if (measure.measureText(text).width <= width) return mixed(words.slice(0, count));
    }
    let letters = Array.from(words[0] || "");
    if (measure.measureText(words[0] || "").width <= width) return isolate(words[0] || "");
    while (letters.length > 1 && measure.measureText(letters.join("") + "…").width > width) letters.pop();
    return isolate(letters.join("") + "…");
  }

  function draw() {
    const focused = svg && svg.contains(document.activeElement) ? current : null;
    order = arrange(visible());
    const width = Math.max(place.clientWidth, depth * 118 - 14);
    const gap = depth > 1 ? Math.max(26, Math.min(120, width * 0.11)) : 0;
    const side = depth > 1 ? (width - gap * (depth - 1)) / depth : Math.min(width, 420);
    const height = 34 + row * Math.max(...order.map((list) => list.length)) + 6;
    nodes = new Map();
    svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": "Topics by layer. Arrow keys move, Enter chooses." });
    lines = make("g", { "aria-hidden": "true" });
    const boxes = make("g");
    svg.append(lines, boxes);
    order.forEach((list, i) => {
      const layer = i + 1, info = data.layers[i], x = (depth - layer) * (side + gap);
      const most = Math.max(...info.weights, 1e-12), step = (height - 40) / list.length;
      boxes.append(make("text", { x, y: 16, class: "head" }, (side < 95 ? "L" : "Layer ") + layer),
        make("text", { x: x + side, y: 16, class: "soft", "text-anchor": "end" },
          list.length === info.weights.length ? `${list.length}` : `${list.length}${side < 150 ? "/" : " of "}${info.weights.length}`));
      list.forEach((topic, at) => {
        const y = 32 + step * (at + 0.5) - box / 2;
        const words = nameOf(layer, topic, 4);
        const group = make("g", { class: "node", role: "button", tabindex: "-1", "data-topic": key(layer, topic),
          "aria-pressed": "false", "aria-label": `${sayTopic(layer, topic)}, ${percent(info.weights[topic])}: ${words.map(isolate).join(", ")}` },
        make("title", {}, `${sayTopic(layer, topic)} · ${percent(info.weights[topic])}\n${mixed(nameOf(layer, topic, 10))}`),
        make("rect", { x: x + 0.5, y: y + 0.5, width: side - 1, height: box, rx: 4, class: "box" }),
        make("rect", { x: x + 1, y: y + 1, width: Math.max(((side - 2) * info.weights[topic]) / most, 2), height: box - 1, rx: 3.5, class: "bar" }),
        make("text", { x: x + 7, y: y + 13.5, "text-anchor": "start" }, fit(words, side - 14)));
        group.addEventListener("click", () => { focus(node); choose(layer, topic); });
        const node = { group, layer, topic, at, x, y: y + box / 2, side };
        nodes.set(key(layer, topic), node);
        boxes.append(group);
      });
    });
    place.replaceChildren(svg);
    current = nodes.get(focused ? key(focused.layer, focused.topic) : "") || nodes.get(key(depth, order[depth - 1][0]));
    if (focused) focus(current);
    else current.group.setAttribute("tabindex", "0");
    mark();
  }

  function link() {
    lines.replaceChildren();
    edges = [];
    const everything = $("all-links").checked, related = relatives();
    for (let layer = depth; layer > 1; layer--)
      for (const topic of order[layer - 1])
        childrenOf(layer, topic).forEach((child, i) => {
          const from = nodes.get(key(layer, topic)), to = nodes.get(key(layer - 1, child.topic));
          const reached = child.share >= strong && related.has(key(layer, topic)) && related.has(key(layer - 1, child.topic));
          if (!to || !(everything || reached || (i < 3 && child.share >= strong))) return;
          const x1 = from.x + from.side, x2 = to.x, bend = (x2 - x1) * 0.5;
          const path = make("path", { class: "edge", d: `M${x1} ${from.y}C${x1 + bend} ${from.y} ${x2 - bend} ${to.y} ${x2} ${to.y}`,
            "stroke-width": Math.max(0.5, 8 * child.share).toFixed(1) });
          edges.push({ path, from, to, share: child.share });
          lines.append(path);
        });
  }

  function mark() {
    link();
    const related = relatives();
    svg.classList.toggle("picked", related.size > 0);
    for (const [id, node] of nodes) {
      const own = id === key(chosen.layer, chosen.topic);
      node.group.classList.toggle("chosen", own);
      node.group.classList.toggle("related", related.has(id) && !own);
      node.group.setAttribute("aria-pressed", own);
    }
    for (const { path, from, to, share } of edges)
      path.classList.toggle("related", share >= strong && related.has(key(from.layer, from.topic)) && related.has(key(to.layer, to.topic)));
  }

  function focus(node) {
    if (!node) return;
    if (current) current.group.setAttribute("tabindex", "-1");
    current = node;
    node.group.setAttribute("tabindex", "0");
    node.group.focus();
  }

  function neighbour(node, by) {
    const column = [...nodes.values()].filter((each) => each.layer === node.layer).sort((a, b) => a.at - b.at);
    return column[Math.max(0, Math.min(column.length - 1, by(node.at, column.length)))];
  }
  function across(node, step) {
    const links = step < 0 ? childrenOf(node.layer, node.topic) : parentsOf(node.layer, node.topic);
    for (const link of links) {
      const found = nodes.get(key(node.layer + step, link.topic));
      if (found) return found;
    }
    return null;
  }
  place.addEventListener("keydown", (event) => {
    if (!current || !event.target.closest(".node")) return;
    const moves = {
      ArrowDown: () => focus(neighbour(current, (at) => at + 1)),
      ArrowUp: () => focus(neighbour(current, (at) => at - 1)),
      Home: () => focus(neighbour(current, () => 0)),
      End: () => focus(neighbour(current, (at, size) => size - 1)),
      ArrowRight: () => focus(across(current, -1)),
      ArrowLeft: () => focus(across(current, 1)),
      Enter: () => choose(current.layer, current.topic),
      " ": () => choose(current.layer, current.topic),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
  // A choice leaves every box in its place, unless the topic is not drawn yet.
  onChoice(() => {
    if (!chosen.layer || nodes.has(key(chosen.layer, chosen.topic))) {
      mark();
      return;
    }
    extra.clear();
    extra.add(key(chosen.layer, chosen.topic));
    for (const [links, step] of [[childrenOf, -1], [parentsOf, 1]])
      links(chosen.layer, chosen.topic).slice(0, 4).filter((each) => each.share >= strong)
        .forEach((each) => extra.add(key(chosen.layer + step, each.topic)));
    draw();
  });
  $("all-topics").addEventListener("change", draw);
  $("all-links").addEventListener("change", draw);
  $("distinct").addEventListener("change", () => {
    naming.relevance = $("distinct").checked ? 0 : undefined;
    naming.listeners.forEach((listener) => listener());
    chosen.listeners.forEach((listener) => listener());
  });
  naming.listeners.push(draw);
  draw();
  onWidth(place, draw);
})();
