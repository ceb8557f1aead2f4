// Shared by all parts: the data, small helpers, and the chosen topic.
const data = JSON.parse(document.getElementById("data").textContent);
const depth = data.layers.length;
const $ = (id) => document.getElementById(id);

// Text goes into the page as text nodes only, so nothing in it is ever read as HTML.
function make(tag, attributes = {}, ...children) {
  const space = make.svg.has(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
make.svg = new Set(["svg", "g", "path", "rect", "line", "text", "title"]);

const isolate = (word) => "\u2068" + word + "\u2069"; // a word keeps its own direction of writing
const percent = (share) => {
  const value = 100 * share;
  return (value >= 10 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : value > 0 ? "<0.1" : "0") + " %";
};
const grouped = (number) => Number(number).toLocaleString("en").replaceAll(",", "\u202f");
const several = (number, thing) => `${grouped(number)} ${thing}${number === 1 ? "" : "s"}`;

// Text as people type it, for searching.
const plain = (text) => text.normalize("NFKC").toLowerCase();
const wantedIn = (field) => plain(field.value).split(/\s+/).filter(Boolean);

// The words of a topic by relevance λ ln p + (1 − λ) ln(p / share in the corpus); each layer has its
// own λ. The ratios of topics of a few tokens are drawn towards 1.
const relevanceOf = (layer) => data.layers[layer - 1].relevance;
function wordsOf(layer, topic, relevance = relevanceOf(layer), count = data.shown) {
  const [numbers, shares] = data.layers[layer - 1].topics[topic], draw = data.layers[layer - 1].draw[topic];
  const rows = numbers.map((number, i) => ({ word: data.words[number], share: shares[i], common: data.common[number] }));
  if (relevance < 1) {
    const score = (row) => relevance * Math.log(row.share) + (1 - relevance) * Math.log(row.share / row.common + draw);
    rows.sort((a, b) => score(b) - score(a));
  }
  return rows.slice(0, count);
}
// Names are the words by which a layer is read, or, if the reader wants, the most distinctive ones.
const naming = { relevance: undefined, listeners: [] };
// The label of a topic comes first, if it has one: [] or [label].
const labelOf = (layer, topic) => [data.layers[layer - 1].labels?.[topic]].filter((label) => label);
const nameOf = (layer, topic, count = 3) => labelOf(layer, topic).concat(
  wordsOf(layer, topic, naming.relevance, count).map((row) => row.word)).slice(0, count);
const sayTopic = (layer, topic) => [`Layer ${layer}, topic ${topic}`, ...labelOf(layer, topic).map(isolate)].join(": ");
const mixed = (words) => words.map(isolate).join(" ");

// Links between the layers, both ways: {topic, share} with the strongest first. Downwards a share is
// the part of a topic that a topic below makes up; upwards, the part of a topic that goes into one
// above, of all that goes up from it: w_above φ / Σ w_above φ.
const below = data.layers.map(() => []);
const above = data.layers.map((layer) => layer.topics.map(() => []));
(data.links || []).forEach((rows, i) => {
  below[i + 1] = rows.map((row, topic) => {
    const list = [];
    for (let at = 0; at < row.length; at += 2) {
      list.push({ topic: row[at], share: row[at + 1] / 1000 });
      above[i][row[at]].push({ topic, share: (data.layers[i + 1].weights[topic] * row[at + 1]) / 1000 });
    }
    return list;
  });
});
above.forEach((rows) => rows.forEach((row) => {
  const total = row.reduce((sum, link) => sum + link.share, 0) || 1;
  row.forEach((link) => { link.share /= total; });
  row.sort((a, b) => b.share - a.share);
}));
const childrenOf = (layer, topic) => (layer > 1 ? below[layer - 1][topic] : []);
const parentsOf = (layer, topic) => (layer < depth ? above[layer - 1][topic] : []);

function decode(text, type) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new type(bytes.buffer);
}

// One topic may be chosen, and one document opened; every part of the page follows.
const chosen = { layer: 0, topic: -1, document: -1, listeners: [] };
function choose(layer, topic) {
  Object.assign(chosen, { layer, topic, document: -1 });
  chosen.listeners.forEach((listener) => listener());
}
function openDocument(number) {
  chosen.document = number;
  chosen.listeners.forEach((listener) => listener());
}
const onChoice = (listener) => chosen.listeners.push(listener);

// Drawings follow the width of their place.
function onWidth(element, draw) {
  let width = element.clientWidth; // drawn already at this width
  new ResizeObserver(() => {
    if (Math.abs(element.clientWidth - width) < 2) return;
    width = element.clientWidth;
    requestAnimationFrame(draw);
  }).observe(element);
}
