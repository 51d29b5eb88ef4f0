// -- one look per method, the same in every chart -----------------------------------------------------------------------
const SHAPES = {
  o: "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0Z", s: "M-3-3H3V3H-3Z", "^": "M0-4L4 3H-4Z", D: "M0-4.4L4.4 0L0 4.4L-4.4 0Z", v: "M0 4L4-3H-4Z",
  P: "M-1.3-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z", X: "M-4-2.2L-2.2-4L0-1.8L2.2-4L4-2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0Z",
  "<": "M-4 0L3-4V4Z", ">": "M4 0L-3-4V4Z", h: "M-2-3.6H2L4 0L2 3.6H-2L-4 0Z", p: "M0-4L3.8-1.2L2.4 3.2H-2.4L-3.8-1.2Z",
};
const others = {}; // names that are no method: a bound is grey, the rest take looks as they come
function look(label) {
  const [colour, dash, marker] = DATA.looks[label] ?? (label.startsWith("bound") ? ["soft", "2 3", "o"] : (others[label] ??= DATA.more[Object.keys(others).length % DATA.more.length]));
  // the colours of the palette have a lighter twin for the dark page; those of a sweep are mixed with white there
  return { colour: colour.startsWith("#") ? `color-mix(in srgb, ${colour} var(--pure), white)` : `var(--${colour})`, dash, shape: SHAPES[marker] };
}

// -- axes ---------------------------------------------------------------------------------------------------------------
function decades(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first >= 2) {
    const step = Math.ceil((last - first) / 7), found = [];
    for (let k = first; k <= last; k += step) found.push([10 ** k, power(k)]);
    return found;
  }
  let found = [];
  for (const steps of [[1, 2, 5], [1, 2, 3, 4, 5, 6, 8], [1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9]]) {
    found = [];
    for (let k = first - 1; k <= last; k++) for (const m of steps) if (m * 10 ** k >= low && m * 10 ** k <= high) found.push([m * 10 ** k, short(m * 10 ** k)]);
    if (found.length > 2) return found;
  }
  return evenly(low, high); // less than a third of a factor of two
}
function span(values) {
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  const pad = Math.max((high / low) ** 0.04, 1.06);
  return [low / pad, high * pad];
}

function room(values) {
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  const pad = 0.05 * (high - low) || 0.05 * Math.abs(high) || 1;
  return [low - pad, high + pad];
}
function evenly(low, high) {
  const rough = (high - low) / 5, size = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= rough);
  const values = Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, k) => +((Math.ceil(low / step) + k) * step).toPrecision(10)).filter((v) => v <= high);
  const alike = new Set(values.map(short)).size < values.length; // two ticks would read the same
  return values.map((v) => [v, alike ? digits(v, 4) : short(v)]);
}

// -- a chart ------------------------------------------------------------------------------------------------------------
// spec: title, x, y (names of the axes), unit (of x), share (y is a share from 0 to 1), linear (the y axis; else both are logarithmic),
//       lines: [[y, name]], where something was asked for; from: the least x that is shown
//       series: [{label, name, kind, points: [[x, y, name]]}]; kind: line, ladder, bound, points, stairs, or band with [x, low, high]
function chart(host, spec, hidden) {
  const W = Math.min(Math.max(host.clientWidth, 260), 900), title = broken(spec.title, W), L = 58, R = 14, T = 15 + 15 * title.length, B = 44;
  const H = (W < 420 ? 245 : 315) + 15 * title.length;
  const series = spec.series.filter((s) => s.points.length && !hidden.has(s.label));
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": said(spec, series) });
  host.replaceChildren(svg);
  svg.append(...headline(title, W, L));
  const every = series.flatMap((s) => s.points);
  if (!every.length) { svg.append(make("text", { x: W / 2, y: H / 2, "text-anchor": "middle" }, "every method is hidden")); return; }
  const [x0, x1] = span([...every.map((p) => p[0]), ...(spec.from ? [spec.from] : [])]);
  const ys = [...every.flatMap((p) => p.slice(1).filter((y) => typeof y === "number")), ...(spec.lines ?? []).map(([y]) => y)];
  const [y0, y1] = spec.share ? [0, 1.03] : spec.linear ? room(ys) : span(ys);
  const px = (x) => L + ((Math.log(x) - Math.log(x0)) / (Math.log(x1) - Math.log(x0))) * (W - L - R);
  const part = spec.share || spec.linear ? (y) => (y - y0) / (y1 - y0) : (y) => (Math.log(y) - Math.log(y0)) / (Math.log(y1) - Math.log(y0));
  const py = (y) => H - B - part(y) * (H - T - B);
  let last = -Infinity; // of two names that would touch, the second is left out
  for (const [value, name] of decades(x0, x1)) {
    if (px(value) - last < 40) continue;
    last = px(value);
    svg.append(make("line", { class: "grid", x1: px(value), x2: px(value), y1: T, y2: H - B }), make("text", { x: px(value), y: H - B + 16, "text-anchor": "middle" }, name));
  }
  last = Infinity;
  for (const [value, name] of spec.share ? [0, 0.25, 0.5, 0.75, 1].map((v) => [v, `${100 * v} %`]) : spec.linear ? evenly(y0, y1) : decades(y0, y1)) {
    if (spec.y.endsWith("(%)") && value > 100) continue; // nothing is right more often than always
    if (last - py(value) < 15) continue;
    last = py(value);
    svg.append(make("line", { class: "grid", x1: L, x2: W - R, y1: py(value), y2: py(value) }), make("text", { x: L - 7, y: py(value) + 4, "text-anchor": "end" }, name));
  }
  svg.append(make("line", { class: "axis", x1: L, x2: W - R, y1: H - B, y2: H - B }), make("text", { x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle" }, spec.x));
  for (const [y] of spec.lines ?? []) svg.append(make("line", { class: "target", x1: L, x2: W - R, y1: py(y), y2: py(y) }));
  for (const s of [...series].sort((a, b) => (a.kind !== "band") - (b.kind !== "band"))) draw(svg, s, px, py, x0, x1);
  for (const [y, name] of spec.lines ?? []) svg.append(make("text", { class: "asked", x: W - R, y: py(y) - 4, "text-anchor": "end" }, name));
  hover(host, svg, series.filter((s) => s.kind !== "band"), px, py, spec, W);
}

// The title above the axes; one that is too long has a line for what is behind its colon.
const LETTER = 7.2; // the width of one, at most
const broken = (title, W) => (title.length * LETTER > W - 4 ? title.replace(": ", ":\n") : title).split("\n");
function headline(lines, W, L) {
  const longest = Math.max(...lines.map((line) => line.length)), x = longest * LETTER > W - L ? 4 : L;
  return lines.map((line, k) => make("text", { x, y: 16 + 15 * k, class: "title" }, line));
}

// What a screen reader says of a chart.
function said(spec, series) {
  const names = [...new Set(series.map((s) => s.label))];
  return `Chart. ${spec.title}: ${spec.share ? "share" : spec.y} against ${spec.x}. ${names.length} methods: ${names.slice(0, 12).join(", ")}${names.length > 12 ? " and more" : ""}. The tables have the numbers.`;
}

function draw(svg, s, px, py, x0, x1) {
  const style = look(s.label), at = (x, y) => `${px(x).toFixed(1)} ${py(y).toFixed(1)}`;
  if (s.kind === "band") {
    const edge = [...s.points.map((p) => at(p[0], p[2])), ...[...s.points].reverse().map((p) => at(p[0], p[1]))];
    svg.append(make("path", { class: "band", d: `M${edge.join("L")}Z`, fill: style.colour, "data-label": s.label }));
    return;
  }
  let path = s.points.map((p, k) => (k ? "L" : "M") + at(...p)).join("");
  if (s.kind === "ladder") path = s.points.map((p, k) => (k ? `H${px(p[0]).toFixed(1)}V${py(p[1]).toFixed(1)}` : `M${at(...p)}`)).join("");
  if (s.kind === "stairs") path = `M${at(x0, 0)}` + s.points.map((p) => `H${px(p[0]).toFixed(1)}V${py(p[1]).toFixed(1)}`).join("") + `H${px(x1).toFixed(1)}`;
  if (s.kind !== "points") svg.append(make("path", { class: `curve ${s.kind}`, d: path, stroke: style.colour, "stroke-dasharray": s.kind === "bound" ? "2 3" : style.dash, "data-label": s.label }));
  const few = Math.max(1, Math.floor(s.points.length / 12));
  const marked = { line: s.points.slice(-1), ladder: s.points, points: s.points, stairs: s.points.filter((_, k) => k % few === 0) }[s.kind] || [];
  for (const p of marked) svg.append(make("path", { class: "dot", d: style.shape, transform: `translate(${at(...p)})`, fill: style.colour, "data-label": s.label }));
}

function hover(host, svg, series, px, py, spec, W) {
  const tip = make("div", { class: "tip", hidden: "" });
  host.append(tip);
  const leave = () => { tip.hidden = true; host.classList.remove("focus"); all(".on", svg).forEach((n) => n.classList.remove("on")); };
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
    all("[data-label]", svg).forEach((n) => n.classList.toggle("on", n.dataset.label === s.label));
    tip.replaceChildren(make("b", {}, s.name || s.label), make("div", {}, `${spec.y} ${spec.share ? Math.round(100 * p[1]) + " %" : short(p[1])} at ${short(p[0])} ${spec.unit || ""}`), ...(p[2] ? [make("div", {}, p[2])] : []));
    tip.hidden = false;
    const left = px(p[0]) / scale, flip = left > box.width / 2;
    tip.style.left = flip ? "" : `${left + 12}px`;
    tip.style.right = flip ? `${box.width - left + 12}px` : "";
    tip.style.top = `${Math.max(py(p[1]) / scale - 46, 0)}px`;
  });
}

// Buttons that hide and show methods; a double click leaves one alone.
function legend(host, labels, hidden, redraw) {
  const update = () => { all("button[data-label]", host).forEach((b) => b.setAttribute("aria-pressed", String(!hidden.has(b.dataset.label)))); redraw(); };
  const only = (kept) => { hidden.clear(); for (const label of labels) if (!kept.includes(label)) hidden.add(label); update(); };
  host.replaceChildren();
  for (const label of labels) {
    const style = look(label), button = make("button", { type: "button", "data-label": label, "aria-pressed": String(!hidden.has(label)), title: "click: hide or show; double click: only this one" });
    const key = make("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" });
    key.append(make("path", { d: "M0 5H26", stroke: style.colour, "stroke-width": 2, "stroke-dasharray": style.dash }), make("path", { d: style.shape, transform: "translate(13 5)", fill: style.colour }));
    button.append(key, make("span", {}, label));
    button.addEventListener("click", () => { hidden.has(label) ? hidden.delete(label) : hidden.add(label); update(); });
    button.addEventListener("dblclick", () => only(labels.every((other) => other === label || hidden.has(other)) ? labels : [label]));
    host.append(button);
  }
  if (labels.length > 3) for (const [name, kept] of [["all", labels], ["none", []]]) {
    const button = make("button", { type: "button", class: "soft" }, name);
    button.addEventListener("click", () => only(kept));
    host.append(button);
  }
}

// Buttons of which one is pressed. options: value -> name; state(): the pressed one.
function choice(host, options, state, changed) {
  const update = () => all("button", host).forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.value === state())));
  host.replaceChildren(...Object.entries(options).map(([value, name]) => {
    const button = make("button", { type: "button", "data-value": value }, name);
    button.addEventListener("click", () => { changed(value); update(); });
    return button;
  }));
  update();
  return update;
}

// Charts are drawn when they come near the window, and again when the width they have changes.
const waitingCharts = new Map();
const near = new IntersectionObserver((entries) => entries.forEach((e) => { if (e.isIntersecting) waitingCharts.get(e.target)?.(); }), { rootMargin: "400px" });
function whenSeen(section, redraw) {
  let drawn = false;
  const first = () => { if (!drawn) { drawn = true; redraw(); } };
  waitingCharts.set(section, first);
  near.observe(section);
  addEventListener("beforeprint", () => { if (section.checkVisibility()) first(); });
  const again = () => { if (drawn && section.checkVisibility()) redraw(); };
  again.soon = () => { if (drawn) redraw(); };
  resized.push(again);
  return again.soon;
}
const resized = [];
let waiting = 0, width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(waiting); waiting = setTimeout(() => resized.forEach((redraw) => redraw()), 150); } });

const joined = (xs, ys) => xs.map((x, k) => [x, ys[k]]).filter(([x, y]) => x > 0 && y > 0);
