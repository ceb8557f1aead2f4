// The documents as points, coloured by the topic that leads in them.
(() => {
  const canvas = $("map-canvas");
  if (!canvas) return;
  const points = decode(data.map.points, Uint16Array);
  const leading = data.map.leading.map((text) => decode(text, Uint16Array));
  const count = data.map.count, colours = 8, pale = 0.4;
  const tip = $("map-tip"), legend = $("map-legend");
  let layer = data.themes, lit = -1, top = [], cursor = -1; // the cursor of the keyboard is a point
  const numberOf = (i) => (mapNumbers ? mapNumbers[i] : i);
  const spot = (i) => [14 + (points[2 * i] / 65535) * (canvas.clientWidth - 28), 14 + (1 - points[2 * i + 1] / 65535) * (canvas.clientHeight - 28)];

  function draw() {
    const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const palette = Array.from({ length: colours }, (_, i) => style.getPropertyValue("--c" + i).trim());
    const other = style.getPropertyValue("--other").trim(), ink = style.getPropertyValue("--ink").trim();
    const rank = new Map(top.map((topic, i) => [topic, i])), list = leading[layer - 1];
    const radius = count > 6000 ? 1.7 : count > 1500 ? 2.2 : 3.2;
    // Grey points first, so that the coloured ones lie on top; lit ones last of all.
    for (const pass of [0, 1, 2])
      for (let i = 0; i < count; i++) {
        const topic = list[i], place = rank.has(topic) ? rank.get(topic) : -1;
        if (pass !== (topic === lit ? 2 : place < 0 ? 0 : 1)) continue;
        // A chosen topic without a colour of its own is as dark as text: no other topic is. The
        // others keep their colours, which the legend has, but are pale.
        pen.fillStyle = place >= 0 ? palette[place] : pass === 2 ? ink : other;
        pen.globalAlpha = (pass === 2 ? 0.9 : pass ? 0.75 : 0.55) * (lit >= 0 && pass < 2 ? pale : 1);
        const [x, y] = spot(i);
        pen.beginPath();
        pen.arc(x, y, pass === 2 ? radius + 0.6 : radius, 0, 7);
        pen.fill();
      }
    ring(pen, ink, open(), 7);
    if (document.activeElement === canvas) ring(pen, style.getPropertyValue("--accent").trim(), cursor, 10);
  }

  // The place of the open document among the points.
  const open = () => (mapNumbers ? mapNumbers.indexOf(chosen.document) : chosen.document);

  function ring(pen, colour, at, radius) {
    if (at < 0) return;
    const [x, y] = spot(at);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.stroke();
  }

  function entries() {
    const leads = new Map();
    for (let i = 0; i < count; i++) leads.set(leading[layer - 1][i], (leads.get(leading[layer - 1][i]) || 0) + 1);
    const order = [...leads.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    top = order.slice(0, colours).map((entry) => entry[0]);
    const shown = order.slice(0, colours);
    if (lit >= 0 && !top.includes(lit)) shown.push([lit, leads.get(lit) || 0]);
    legend.replaceChildren(...shown.map(([topic, size], i) => {
      const dot = make("span", { class: "dot", "aria-hidden": "true" });
      dot.style.background = i < colours ? `var(--c${i})` : "var(--ink)";
      dot.style.opacity = lit < 0 || topic === lit ? 1 : pale;
      return make("li", {}, make("button", { type: "button", "aria-pressed": topic === lit, "data-topic": `${layer}/${topic}`,
        "aria-label": `${sayTopic(layer, topic)}: ${mixed(nameOf(layer, topic))}, main topic of ${size} documents`,
        onclick: () => (topic === lit ? choose(0, -1) : choose(layer, topic)) },
      dot, make("bdi", {}, mixed(nameOf(layer, topic))), make("span", { class: "number" }, grouped(size))));
    }));
    const others = order.slice(colours).filter(([topic]) => topic !== lit), rest = others.reduce((sum, entry) => sum + entry[1], 0);
    $("map-rest").textContent = rest ? `Grey: ${several(rest, "document")} led by ${several(others.length, "other topic")}.` : "";
  }

  function nearest(event) {
    const frame = canvas.getBoundingClientRect(), px = event.clientX - frame.left, py = event.clientY - frame.top;
    let best = -1, least = 144;
    for (let i = 0; i < count; i++) {
      const [x, y] = spot(i), away = (x - px) ** 2 + (y - py) ** 2;
      if (away < least) { least = away; best = i; }
    }
    return best;
  }
  function point(i) {
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.textContent = `${isolate(titleOf(numberOf(i)))}: ${mixed(nameOf(layer, leading[layer - 1][i]))}`;
    const [x, y] = spot(i);
    tip.style.left = Math.max(4, Math.min(x + 10, canvas.clientWidth - tip.offsetWidth - 6)) + "px";
    tip.style.top = Math.max(4, y - tip.offsetHeight - 14) + "px";
  }
  canvas.addEventListener("pointermove", (event) => point(nearest(event)));
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });

  // By keyboard: an arrow goes to the nearest point in about its direction.
  function towards(dx, dy) {
    const [x, y] = spot(cursor);
    let best = cursor, least = Infinity;
    for (let i = 0; i < count; i++) {
      const [px, py] = spot(i), ahead = (px - x) * dx + (py - y) * dy, beside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      if (ahead > 0 && ahead >= beside && ahead + beside < least) { least = ahead + beside; best = i; }
    }
    return best;
  }
  function move(i) {
    cursor = i;
    point(i);
    $("live").textContent = tip.textContent;
    draw();
  }
  canvas.addEventListener("focus", () => {
    if (!count || !canvas.matches(":focus-visible")) return;
    const first = leading[layer - 1].indexOf(lit >= 0 ? lit : top[0]);
    move(open() >= 0 ? open() : cursor >= 0 ? cursor : Math.max(first, 0));
  });
  canvas.addEventListener("blur", () => { tip.hidden = true; draw(); });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (cursor < 0 || !(moves[event.key] || event.key === "Enter" || event.key === " ")) return;
    event.preventDefault();
    if (moves[event.key]) move(towards(...moves[event.key]));
    else openDocument(numberOf(cursor));
  });
  canvas.addEventListener("click", (event) => {
    const i = nearest(event);
    if (i >= 0) openDocument(numberOf(i));
  });
  $("map-layer").addEventListener("change", () => {
    layer = Number($("map-layer").value);
    lit = chosen.layer === layer ? chosen.topic : -1;
    entries();
    draw();
  });
  onChoice(() => {
    const holder = document.activeElement && legend.contains(document.activeElement) ? document.activeElement.dataset.topic : "";
    if (chosen.layer && chosen.layer !== layer) {
      layer = chosen.layer;
      $("map-layer").value = layer;
      tip.hidden = true; // it tells the topic of another layer
    }
    lit = chosen.layer ? chosen.topic : -1;
    entries();
    const back = holder && legend.querySelector(`[data-topic="${holder}"]`);
    if (back) back.focus();
    draw();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  entries();
  draw();
  onWidth(canvas, draw);
})();
