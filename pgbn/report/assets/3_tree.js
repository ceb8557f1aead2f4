// The hierarchy as a tree: every topic in use once, under the topic above that holds most of it.
(() => {
  const tree = $("tree");
  if (!tree) return;
  const few = 30; // lines with which the tree begins unfolded by a layer
  const children = new Map(), items = new Map();
  const key = (layer, topic) => layer + "/" + topic;
  const byWeight = (layer) => (a, b) => data.layers[layer - 1].weights[b] - data.layers[layer - 1].weights[a];
  const used = (layer) => data.layers[layer - 1].topics.map((_, topic) => topic)
    .filter((topic) => data.layers[layer - 1].active[topic]).sort(byWeight(layer));
  for (let layer = depth - 1; layer >= 1; layer--)
    for (const topic of used(layer)) {
      const parent = parentsOf(layer, topic).find((link) => data.layers[layer].active[link.topic]);
      if (!parent) continue;
      const at = key(layer + 1, parent.topic);
      children.set(at, [...(children.get(at) || []), topic]);
    }

  function line(layer, topic, most) {
    const id = key(layer, topic), own = children.get(id) || [], weight = data.layers[layer - 1].weights[topic];
    const bar = make("span", { class: "share", "aria-hidden": "true" });
    bar.style.width = Math.max((100 * weight) / most, 0.5) + "%";
    const twist = make("span", { class: "twist", "aria-hidden": "true" });
    const empty = layer > 1 && !own.length ? "shares its topics with other themes" : ""; // which hold more of them
    const row = make("div", { class: "row" }, twist, make("span", { class: "bar" }, bar, make("bdi", {}, mixed(nameOf(layer, topic, 6))),
      ...(empty ? [make("span", { class: "number" }, ` ${empty}`)] : [])),
      make("span", { class: "number" }, percent(weight)));
    const size = own.length ? `, holds ${several(own.length, "topic")} of layer ${layer - 1}` : empty && `, ${empty}`;
    const item = make("li", { role: "treeitem", tabindex: "-1", "data-topic": id, "aria-level": depth - layer + 1, "aria-selected": "false",
      "aria-label": `${sayTopic(layer, topic)}: ${nameOf(layer, topic, 6).map(isolate).join(", ")}; ${percent(weight)}${size}` }, row);
    if (own.length) {
      item.setAttribute("aria-expanded", "false");
      item.append(make("ul", { role: "group" }, ...own.map((child) => line(layer - 1, child, Math.max(...data.layers[layer - 2].weights)))));
    }
    twist.addEventListener("click", (event) => { event.stopPropagation(); fold(item, item.getAttribute("aria-expanded") === "true"); });
    row.addEventListener("click", () => { focus(item); if (item.getAttribute("aria-expanded") === "false") fold(item, false); choose(layer, topic); });
    items.set(id, item);
    return item;
  }
  const fold = (item, closed) => { if (item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", String(!closed)); };
  const visible = () => [...items.values()].filter((item) => item.getClientRects().length);

  let current = null;
  function focus(item) {
    if (!item) return;
    if (current) current.tabIndex = -1;
    current = item;
    item.tabIndex = 0;
    item.focus();
  }
  const above = (item) => item.parentElement.closest("[role=treeitem]");
  tree.addEventListener("keydown", (event) => {
    if (!current) return;
    const lines = visible().sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    const at = lines.indexOf(current), open = current.getAttribute("aria-expanded");
    const moves = {
      ArrowDown: () => focus(lines[at + 1]),
      ArrowUp: () => focus(lines[at - 1]),
      Home: () => focus(lines[0]),
      End: () => focus(lines[lines.length - 1]),
      ArrowRight: () => (open === "false" ? fold(current, false) : open === "true" && focus(lines[at + 1])),
      ArrowLeft: () => (open === "true" ? fold(current, true) : focus(above(current))),
      Enter: () => choose(...current.dataset.topic.split("/").map(Number)),
      " ": () => choose(...current.dataset.topic.split("/").map(Number)),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });

  function fill() {
    const open = new Set([...items].filter(([, item]) => item.getAttribute("aria-expanded") === "true").map(([id]) => id));
    const first = !items.size, top = used(depth);
    items.clear();
    tree.replaceChildren(...top.map((topic) => line(depth, topic, Math.max(...data.layers[depth - 1].weights))));
    const second = top.reduce((sum, topic) => sum + (children.get(key(depth, topic)) || []).length, 0);
    for (const [id, item] of items)
      fold(item, first ? !(Number(id.split("/")[0]) === depth && top.length + second <= few) : !open.has(id));
    current = tree.firstElementChild;
    if (current) current.tabIndex = 0;
    mark();
  }
  function mark() {
    for (const [id, item] of items) item.setAttribute("aria-selected", String(id === key(chosen.layer, chosen.topic)));
  }

  // The search for a word: all topics that have it among their words, and the topics above them.
  $("tree-search").addEventListener("input", () => {
    const wanted = wantedIn($("tree-search"));
    let found = 0;
    for (const [id, item] of items) {
      const [layer, topic] = id.split("/").map(Number);
      const words = plain(nameOf(layer, topic, 1).concat(wordsOf(layer, topic).map((row) => row.word)).join(" "));
      const hit = wanted.length > 0 && wanted.every((word) => words.includes(word));
      item.classList.toggle("found", hit);
      if (hit) found += 1;
    }
    if (wanted.length)
      for (const item of items.values()) fold(item, !item.querySelector("[role=treeitem].found"));
    $("tree-found").textContent = wanted.length ? `${found} found` : "";
  });
  $("unfold").addEventListener("click", () => items.forEach((item) => fold(item, false)));
  $("fold").addEventListener("click", () => items.forEach((item) => fold(item, true)));
  onChoice(mark);
  naming.listeners.push(fill);
  fill();
})();
