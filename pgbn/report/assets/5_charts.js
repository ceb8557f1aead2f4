// Bars of the layer widths and lines of the traces.
(() => {
  const most = Math.max(...data.layers.map((info) => Math.max(info.budget, info.weights.length)));
  document.querySelectorAll("[data-width]").forEach((cell) => {
    const info = data.layers[Number(cell.dataset.width) - 1];
    const budget = Math.max(info.budget, info.weights.length);
    const used = info.active.reduce((sum, flag) => sum + flag, 0);
    const bar = make("span"), frame = make("span", { class: "width", "aria-hidden": "true" }, bar);
    frame.style.width = (100 * budget) / most + "%";
    bar.style.width = (100 * used) / budget + "%";
    cell.append(frame);
  });

  function ticks(low, high, count, whole = false) {
    const rough = Math.max((high - low) / count || 1, whole ? 1 : 0), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= rough);
    const list = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) list.push(Math.abs(at) < step * 1e-9 ? 0 : at);
    return list;
  }
  const short = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return (value / 1e6).toPrecision(4).replace(/\.?0+$/, "") + "M";
    if (size >= 1e4) return (value / 1e3).toPrecision(4).replace(/\.?0+$/, "") + "k";
    return String(Number(value.toPrecision(4)));
  };

  function chart(place, series) {
    const width = place.clientWidth, height = 170, left = 58, bottom = 24, top = 16;
    const finite = series.values.flat().filter((value) => value !== null);
    if (!finite.length || width < 50) return;
    // The first sweeps start far away; they must not compress the rest into a line. Numbers of
    // topics are shown completely.
    const whole = finite.every(Number.isInteger);
    const sorted = finite.slice().sort((a, b) => a - b), at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
    const spread = at(0.98) - at(0.05) || Math.abs(at(0.5)) * 0.01 || 1;
    const low = whole ? at(0) : Math.max(at(0), at(0.05) - 0.3 * spread), high = whole ? at(1) : Math.min(at(1), at(0.98) + 0.3 * spread);
    const pad = 0.06 * (high - low || spread);
    const first = series.sweeps[0], last = series.sweeps[series.sweeps.length - 1];
    const x = (sweep) => left + ((sweep - first) / (last - first || 1)) * (width - left - 8);
    const y = (value) => top + (1 - (value - low + pad) / (high - low + 2 * pad)) * (height - top - bottom);
    const svg = make("svg", { width, height, role: "img", "aria-label": `${series.name} along the sweeps; numbers in the table above` });
    svg.append(make("rect", { class: "settled", x: x(series.settled), y: top, width: Math.max(x(last) - x(series.settled), 0), height: height - top - bottom }));
    for (const value of ticks(low, high, 4, whole))
      svg.append(make("line", { class: "axis", x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
        make("text", { class: "soft", x: left - 7, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    for (const sweep of ticks(first, last, Math.max(5, width / 130)))
      svg.append(make("text", { class: "soft", x: x(sweep), y: height - 6, "text-anchor": x(sweep) > width - 40 ? "end" : "middle" }, short(sweep)));
    let named = -Infinity; // where the last name of a layer stands: one that would run into it is left out
    for (const [sweep, label] of data.stages.filter(([start]) => start > first && start < last)) {
      svg.append(make("line", { class: "stage", x1: x(sweep), x2: x(sweep), y1: top, y2: height - bottom }));
      if (x(sweep) - named < 60) continue;
      named = x(sweep);
      svg.append(make("text", { class: "soft", x: named, y: 11, "text-anchor": "middle" }, "+ " + label));
    }
    // Lines from outside are drawn too, and cut at the frame.
    const frame = make("svg", { x: 0, y: top - 2, width, height: height - top - bottom + 4, viewBox: `0 ${top - 2} ${width} ${height - top - bottom + 4}` });
    svg.append(frame);
    series.values.forEach((values, chain) => {
      let path = "", down = false;
      values.forEach((value, i) => {
        if (value !== null) path += (down ? "L" : "M") + x(series.sweeps[i]).toFixed(1) + " " + y(value).toFixed(1);
        down = value !== null;
      });
      frame.append(make("path", { class: "trace", d: path, stroke: `var(--c${chain % 8})`, "stroke-dasharray": chain >= 8 ? "4 2" : undefined }));
    });
    place.replaceChildren(svg);
  }
  const place = $("trace-place");
  if (!place) return;
  const figures = data.series.map((series) => {
    const inner = make("div");
    place.append(make("figure", {}, make("figcaption", {}, series.name), inner));
    return [inner, series];
  });
  const draw = () => figures.forEach(([inner, series]) => chart(inner, series));
  draw();
  onWidth(place, draw);
})();
