"use strict";
// Draws the charts from the data block, sorts and filters the tables. Strings enter the page as text nodes only.
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = document.querySelector("svg").namespaceURI;
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function make(name, attributes = {}, text = "") {
  const svg = ["svg", "g", "path", "line", "text", "rect"].includes(name);
  const node = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== "") node.textContent = text;
  return node;
}

// -- one look per method, the same in every chart -------------------------------------------------------------------
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const SHAPES = ["M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0Z", "M-3-3H3V3H-3Z", "M0-4L4 3H-4Z", "M0-4.4L4.4 0L0 4.4L-4.4 0Z",
  "M0 4L4-3H-4Z", "M-1.3-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z", "M-4-2.2L-2.2-4L0-1.8L2.2-4L4-2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0Z"];
const others = []; // names that are no method: a bound is grey, the rest take colours as they come
function look(label) {
  let k = DATA.methods.indexOf(label);
  if (k < 0 && label.startsWith("bound")) return { colour: "var(--soft)", dash: "2 3", shape: "" };
  if (k < 0) k = others.includes(label) ? others.indexOf(label) : others.push(label) - 1;
  return { colour: `var(--c${k % DATA.colours})`, dash: DASHES[Math.floor(k / DATA.colours) % 4], shape: SHAPES[k % SHAPES.length] };
}

// -- numbers and logarithmic axes -----------------------------------------------------------------------------------
const power = (k) => "10" + String(k).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
const show = (x) => (x === null ? "" : x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5) ? x.toExponential(1) : String(+x.toPrecision(3)));
function ticks(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first >= 2) {
    const step = Math.ceil((last - first) / 7), found = [];
    for (let k = first; k <= last; k += step) found.push([10 ** k, power(k)]);
    return found;
  }
  let found = [];
  for (const step of [[1, 2, 5], [1, 2, 3, 4, 5, 6, 8], [1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9]]) {
    found = [];
    for (let k = first - 1; k <= last; k++) for (const m of step) if (m * 10 ** k >= low && m * 10 ** k <= high) found.push([m * 10 ** k, show(m * 10 ** k)]);
    if (found.length > 2) break;
  }
  return found;
}

// -- a chart --------------------------------------------------------------------------------------------------------
// spec: title, x, y (axis names), share (y is a share from 0 to 1), series: [{label, name, kind, points: [[x, y]]}]
// kind: line, faint, ladder (independent solves: marked one by one), bound, points, stairs
function chart(host, spec, hidden) {
  const W = Math.min(Math.max(host.clientWidth, 280), 900), H = W < 420 ? 270 : 330, L = 58, R = 14, T = 30, B = 44;
  host.replaceChildren();
  host.className = "chart";
  const series = spec.series.filter((s) => s.points.length && !hidden.has(s.label));
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${spec.title}: ${spec.y} against ${spec.x}` });
  host.append(svg);
  svg.append(make("text", { x: L, y: 16, class: "title" }, spec.title));
  const every = series.flatMap((s) => s.points);
  if (!every.length) { svg.append(make("text", { x: W / 2, y: H / 2, "text-anchor": "middle" }, "nothing to draw")); return; }
  const span = (values) => {
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    const pad = Math.max((high / low) ** 0.04, 1.06);
    return [low / pad, high * pad];
  };
  const [x0, x1] = span(every.map((p) => p[0])), [y0, y1] = spec.share ? [0, 1] : span(every.map((p) => p[1]));
  const px = (x) => L + ((Math.log(x) - Math.log(x0)) / (Math.log(x1) - Math.log(x0))) * (W - L - R);
  const part = spec.share ? (y) => y / 1.03 : (y) => (Math.log(y) - Math.log(y0)) / (Math.log(y1) - Math.log(y0));
  const py = (y) => H - B - part(y) * (H - T - B);
  let last = -Infinity; // of two names that would touch, the second is left out
  for (const [value, name] of ticks(x0, x1)) {
    if (px(value) - last < 34) continue;
    last = px(value);
    svg.append(make("line", { class: "grid", x1: px(value), x2: px(value), y1: T, y2: H - B }), make("text", { x: px(value), y: H - B + 16, "text-anchor": "middle" }, name));
  }
  last = Infinity;
  for (const [value, name] of spec.share ? [0, 0.25, 0.5, 0.75, 1].map((v) => [v, `${100 * v} %`]) : ticks(y0, y1)) {
    if (last - py(value) < 15) continue;
    last = py(value);
    svg.append(make("line", { class: "grid", x1: L, x2: W - R, y1: py(value), y2: py(value) }), make("text", { x: L - 7, y: py(value) + 4, "text-anchor": "end" }, name));
  }
  svg.append(make("line", { class: "axis", x1: L, x2: W - R, y1: H - B, y2: H - B }), make("text", { x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle" }, spec.x));
  for (const s of series) draw(svg, s, px, py, x0, x1);
  hover(host, svg, series, px, py, spec, W);
}

function draw(svg, s, px, py, x0, x1) {
  const style = look(s.label), at = (p) => `${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`;
  let path = s.points.map((p, k) => (k ? "L" : "M") + at(p)).join("");
  if (s.kind === "stairs") {
    path = `M${px(x0).toFixed(1)} ${py(0).toFixed(1)}` + s.points.map((p) => `H${px(p[0]).toFixed(1)}V${py(p[1]).toFixed(1)}`).join("") + `H${px(x1).toFixed(1)}`;
  }
  if (s.kind !== "points") svg.append(make("path", { class: `curve ${s.kind}`, d: path, stroke: style.colour, "stroke-dasharray": s.kind === "bound" ? "2 3" : style.dash, "data-label": s.label }));
  const marked = { line: s.points.slice(-1), ladder: s.points, points: s.points, stairs: s.points }[s.kind] || [];
  for (const p of marked) svg.append(make("path", { class: "dot", d: style.shape, transform: `translate(${at(p)})`, fill: style.colour, "data-label": s.label }));
}

function hover(host, svg, series, px, py, spec, W) {
  const tip = make("div", { class: "tip", hidden: "" });
  host.append(tip);
  const leave = () => { tip.hidden = true; host.classList.remove("focus"); $$(".on", svg).forEach((n) => n.classList.remove("on")); };
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), scale = W / box.width;
    const mx = (event.clientX - box.left) * scale, my = (event.clientY - box.top) * scale;
    let best = null, least = 40 ** 2;
    for (const s of series) for (const p of s.points) {
      const distance = (px(p[0]) - mx) ** 2 + (py(p[1]) - my) ** 2;
      if (distance < least) { least = distance; best = [s, p]; }
    }
    leave();
    if (!best) return;
    const [s, p] = best;
    host.classList.add("focus");
    $$("[data-label]", svg).forEach((n) => n.classList.toggle("on", n.dataset.label === s.label));
    tip.replaceChildren(make("b", {}, s.name || s.label), make("div", {}, `${spec.y} ${spec.share ? Math.round(100 * p[1]) + " %" : show(p[1])} at ${show(p[0])} ${spec.unit || ""}`));
    tip.hidden = false;
    const left = px(p[0]) / scale, flip = left > box.width / 2;
    tip.style.left = flip ? "" : `${left + 12}px`;
    tip.style.right = flip ? `${box.width - left + 12}px` : "";
    tip.style.top = `${Math.max(py(p[1]) / scale - 46, 0)}px`;
  });
}

// Buttons that hide and show methods; a double click leaves one alone.
function legend(host, labels, hidden, redraw) {
  const update = () => { $$("button", host).forEach((b) => b.setAttribute("aria-pressed", String(!hidden.has(b.dataset.label)))); redraw(); };
  for (const label of labels) {
    const style = look(label), button = make("button", { type: "button", "data-label": label, title: "click: hide or show; double click: only this one" });
    const key = make("svg", { viewBox: "0 0 26 10" });
    key.append(make("path", { d: "M0 5H26", stroke: style.colour, "stroke-width": 2, "stroke-dasharray": style.dash }), make("path", { d: style.shape, transform: "translate(13 5)", fill: style.colour }));
    button.append(key, make("span", {}, label));
    button.addEventListener("click", () => { hidden.has(label) ? hidden.delete(label) : hidden.add(label); update(); });
    button.addEventListener("dblclick", () => {
      const alone = labels.every((other) => other === label || hidden.has(other));
      for (const other of labels) alone || other === label ? hidden.delete(other) : hidden.add(other);
      update();
    });
    host.append(button);
  }
  update();
}

function choice(host, options, start, changed) {
  for (const [value, name] of Object.entries(options)) {
    const button = make("button", { type: "button", "aria-pressed": String(value === start) }, name);
    button.addEventListener("click", () => {
      $$("button", host).forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
      changed(value);
    });
    host.append(button);
  }
}

// Charts take the width they have: they are drawn again when it changes, or when a closed section opens.
const drawn = [];
function keep(section, redraw) {
  drawn.push(redraw);
  section.closest("details")?.addEventListener("toggle", redraw);
}
let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => drawn.forEach((redraw) => redraw()), 150); });

const zip = (xs, ys) => xs.map((x, k) => [x, ys[k]]).filter(([x, y]) => x > 0 && y > 0);

// -- per problem ----------------------------------------------------------------------------------------------------
for (const section of $$("[data-task]")) {
  const curves = DATA.tasks[section.dataset.task], hidden = new Set(), hosts = $$(".chart", section);
  const state = { x: "seconds", left: curves.some((c) => c.gap.some((v) => v !== null)) ? "gap" : "own_residual" };
  const redraw = () => hosts.forEach((host, k) => {
    const y = k ? "suboptimality" : state.left;
    const series = curves.map((c) => ({ label: c.label, kind: c.main ? (c.ladder ? "ladder" : "line") : "faint", points: zip(c[state.x], c[y]) }));
    if (k) for (const c of curves) if (c.main && c.bound.length) series.push({ label: c.label, name: `${c.label}: theory's bound`, kind: "bound", points: zip(c[state.x], c.bound) });
    chart(host, { title: DATA.y[y], x: DATA.x[state.x], y: DATA.y[y], unit: state.x, series }, hidden);
  });
  choice($$(".choice.x", section)[0], { seconds: "time", passes: "passes", iterations: "iterations" }, state.x, (v) => { state.x = v; redraw(); });
  choice($$(".choice.y", section)[0], { gap: "gap", own_residual: "own residual" }, state.left, (v) => { state.left = v; redraw(); });
  keep(section, redraw);
  legend($$(".legend", section)[0], [...new Set(curves.map((c) => c.label))], hidden, redraw);
}

// -- across problems ------------------------------------------------------------------------------------------------
for (const section of $$("[data-family]")) {
  const family = DATA.families[section.dataset.family], hidden = new Set(), hosts = $$(".chart", section);
  const spec = (k) => k
    ? { title: "solved within a time", x: "seconds, build included", unit: "s", series: family.seconds }
    : { title: "solved within a multiple of the best time", x: "time over the best method's time", unit: "× the best", series: family.ratio };
  const redraw = () => hosts.forEach((host, k) => {
    const s = spec(k);
    chart(host, { ...s, y: "solved", share: true, series: s.series.map((points, m) => ({ label: family.methods[m], kind: "stairs", points })) }, hidden);
  });
  keep(section, redraw);
  if (hosts.length) legend($$(".legend", section)[0], family.methods.filter((_, m) => family.ratio[m].length), hidden, redraw);
  const select = $$("select", section)[0];
  const pairs = () => $$(".pairs", section)[0].replaceChildren(...family.pairs.filter((p) => p[1] === select.value).map((p) => {
    const row = make("tr");
    const interval = p[3] === null ? "" : `${show(p[3])} – ${show(p[4])}`;
    [p[0], p[8]].forEach((text) => row.append(make("td", {}, text)));
    [[p[2], p[2] === null ? "" : show(p[2]) + " ×"], [p[3], interval], ...[p[5], p[6], p[7]].map((v) => [v, v])].forEach(([v, text]) => row.append(make("td", { class: "n", "data-v": v ?? "" }, text)));
    return row;
  }));
  if (select) { select.addEventListener("change", pairs); pairs(); }
}

// -- time to accuracy -----------------------------------------------------------------------------------------------
const clock = (x) => (x >= 1 ? `${show(x)} s` : x >= 1e-3 ? `${show(1e3 * x)} ms` : `${show(1e6 * x)} µs`);
for (const section of $$("[data-frontier]")) {
  const race = DATA.frontiers[section.dataset.frontier], select = $$("select", section)[0];
  const state = { a: Math.max(DATA.accuracies.indexOf("1.0e-6"), 0), unit: "seconds" };
  const cell = (v, text, kind = "n") => make("td", { class: kind, "data-v": v ?? "" }, text);
  const times = (label) => race.seconds[state.a].map((row) => row[race.methods.indexOf(label)]);
  const redraw = () => {
    $$(".pairs", section)[0].replaceChildren(...race.pairs.filter((p) => p.accuracy === state.a && p.b === select.value).map((p) => {
      const row = make("tr"), multiple = (x) => cell(x, x === null ? "" : `${show(x)} ×`);
      const ran = times(p.a).filter((t) => t !== null), arrived = ran.filter((t) => t >= 0).length;
      row.append(make("td", {}, p.a), cell(arrived, `${arrived} / ${ran.length}`), multiple(p.ratio));
      row.append(cell(p.low, p.low === null ? "" : `${show(p.low)} – ${show(p.high)}`), ...[p.both, p.only_a, p.only_b].map((v) => cell(v, v)));
      row.append(cell(p.contested ? p.first / p.contested : null, `${p.first} / ${p.contested}`), cell(p.close, p.close || ""), multiple(p.least), make("td", { class: "soft" }, p.where));
      return row;
    }));
    $$(".times", section)[0].replaceChildren(...race.problems.map((title, p) => {
      const row = make("tr"), line = race[state.unit][state.a][p], best = Math.min(...line.filter((t) => t !== null && t >= 0));
      row.append(make("td", { class: "first" }, title), ...line.map((t) => {
        const text = t === null ? "" : t < 0 ? "never" : state.unit === "seconds" ? clock(t) : show(t);
        const td = cell(t !== null && t < 0 ? "1e400" : t, "", t !== null && t < 0 ? "n soft" : "n");
        td.append(make(t === best ? "b" : "span", {}, text));
        return td;
      }));
      return row;
    }));
    const floor = race.floors[state.a];
    $$(".floor", section)[0].textContent = floor === null ? "No cell ran twice: the noise is unknown, small ratios mean little." : `Noise floor: two runs of one cell differ by less than ${show(floor)} × in 19 of 20 cases.`;
  };
  choice($$(".choice.accuracy", section)[0], Object.fromEntries(DATA.accuracies.map((a, k) => [`a${k}`, a.replace("1.0e", "1e")])), `a${state.a}`, (v) => { state.a = Number(v.slice(1)); redraw(); });
  choice($$(".choice.unit", section)[0], { seconds: "time", passes: "passes" }, state.unit, (v) => { state.unit = v; redraw(); });
  select.addEventListener("change", redraw);
  redraw();
}

for (const section of $$("[data-special]")) {
  const charts = DATA.special[section.dataset.special], hidden = new Set(), hosts = $$(".chart", section);
  const redraw = () => hosts.forEach((host, k) => {
    const c = charts[k], dots = { line: "ladder", points: "points", bound: "bound" };
    chart(host, { title: `${c.y}: ${c.title}`, x: c.x, y: c.y, series: c.lines.map((l) => ({ label: l.label, kind: dots[l.kind], points: zip(l.x, l.y) })) }, hidden);
  });
  keep(section, redraw);
  legend($$(".legend", section)[0], [...new Set(charts.flatMap((c) => c.lines.map((l) => l.label)))], hidden, redraw);
}

// -- tables ---------------------------------------------------------------------------------------------------------
function value(row, k) {
  const cell = row.cells[k], raw = cell.dataset.v ?? cell.textContent.trim(), x = Number(raw);
  return raw === "" ? null : Number.isNaN(x) ? raw.toLowerCase() : x;
}
for (const table of $$("table.sortable")) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, k) => head.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0];
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map((row) => [value(row, k), row]);
    // what has no value goes last, whichever way
    rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : (typeof a === typeof b ? (a > b) - (a < b) : typeof a === "number" ? -1 : 1) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  }));
}
const filters = $$("#cells [data-filter]");
for (const input of filters) input.addEventListener("input", () => {
  let shown = 0;
  for (const row of $$("#cells tbody tr")) {
    row.hidden = !filters.every((f) => f.value === "" || (f.dataset.filter === "text" ? row.textContent.toLowerCase().includes(f.value.toLowerCase()) : row.dataset[f.dataset.filter] === f.value));
    shown += !row.hidden;
  }
  document.getElementById("shown").textContent = shown;
});
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = getComputedStyle(root).colorScheme === "dark";
  root.dataset.theme = dark ? "light" : "dark";
});
