"use strict";
const runs = JSON.parse(document.getElementById("runs").textContent);
const slider = document.getElementById("step");
const total = Math.max(...runs.map((run) => run.events.length));
slider.max = total;

function text(tag, words, kind) {
  const element = document.createElement(tag);
  element.textContent = words;
  if (kind) element.className = kind;
  return element;
}

function mark(panel, event, done) {
  const stale = new Set(event ? event.stale : []);
  panel.querySelectorAll("[data-node]").forEach((group) => {
    const name = group.dataset.node;
    group.classList.toggle("is-stale", stale.has(name));
    group.classList.toggle("is-read", Boolean(event) && event.reads.includes(name));
    group.classList.toggle("is-up", Boolean(event) && event.upward && event.node === name);
    group.classList.toggle("is-down", Boolean(event) && !event.upward && event.node === name);
    group.classList.toggle("is-fault", Boolean(event) && event.faults.includes(name));
  });
  panel.querySelectorAll("[data-child]").forEach((edge) => {
    const up = event && event.upward && edge.dataset.child === event.node;
    const down = event && !event.upward && edge.dataset.child === event.node;
    edge.classList.toggle("flows-up", Boolean(up) && event.told.includes(edge.dataset.parent));
    edge.classList.toggle("flows-down", Boolean(down));
  });
  panel.querySelectorAll("td[data-at]").forEach((cell) => {
    const at = Number(cell.dataset.at);
    cell.classList.toggle("open", at <= done);
    cell.classList.toggle("now", at === done);
    cell.textContent = at <= done ? cell.dataset.mark : "";
  });
  const now = panel.querySelector("td.now"), wide = panel.querySelector(".scroll");
  wide.scrollLeft = now ? now.offsetLeft - wide.clientWidth / 2 : 0;
}

function tell(panel, event) {
  const place = panel.querySelector(".told");
  place.replaceChildren();
  if (!event) {
    place.append(text("p", "Before the sweep: all values are current. Move the slider."));
    return;
  }
  place.append(text("h3", `Step ${event.number}: ${event.name}`, event.upward ? "up" : "down"));
  const formula = document.createElement("div");
  formula.className = "formulas";
  formula.innerHTML = event.equation; // MathML that this page was made with, no outside text
  place.append(formula);
  for (const line of event.numbers) place.append(text("p", line, "numbers"));
  for (const line of event.words) place.append(text("p", line));
  if (event.why) place.append(text("p", event.why, "fault"));
}

function show() {
  const done = Number(slider.value);
  document.querySelectorAll(".run").forEach((panel, number) => {
    const events = runs[number].events;
    const event = done ? events[Math.min(done, events.length) - 1] : null;
    mark(panel, event, Math.min(done, events.length));
    tell(panel, event);
  });
  const first = runs[0].events[Math.min(done, runs[0].events.length) - 1];
  slider.setAttribute("aria-valuetext", first ? `step ${done}, ${first.name}` : "before the sweep");
  document.getElementById("count").textContent = `${done} of ${total}`;
}

slider.addEventListener("input", show);
function move(by) {
  slider.value = String(Number(slider.value) + by);
  show();
}
document.getElementById("back").addEventListener("click", () => move(-1));
document.getElementById("on").addEventListener("click", () => move(1));
document.addEventListener("keydown", (event) => {
  if (event.target === slider || event.target.tagName === "BUTTON") return;
  if (event.key === "ArrowRight" || event.key === " ") move(1);
  else if (event.key === "ArrowLeft") move(-1);
  else return;
  event.preventDefault();
});
show();
