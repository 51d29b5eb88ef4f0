// -- convergence on one problem -----------------------------------------------------------------------------------------
// Between the least and the greatest that the repeats of a method had reached by then; only where three runs differ.
function band(runs) {
  const drawn = runs.filter((points) => points.length);
  if (drawn.length < 3 || new Set(drawn.map(String)).size < 2) return [];
  const first = Math.max(...drawn.map((p) => p[0][0])), last = Math.max(...drawn.map((p) => p[p.length - 1][0]), first * (1 + 1e-9));
  return Array.from({ length: 40 }, (_, k) => first * (last / first) ** (k / 39)).map((x) => {
    const reached = drawn.map((points) => (points.findLast((p) => p[0] <= x * (1 + 1e-12)) ?? points[0])[1]);
    return [x, Math.min(...reached), Math.max(...reached)];
  });
}

function curveOf(c, x, y) {
  const xs = x === "passes" ? (c.unit ? c.seconds.map((s) => (s === null ? null : s / c.unit)) : []) : c[x] ?? [];
  return joined(xs, c[y] ?? []);
}

for (const section of all("[data-task]")) {
  const task = JSON.parse(one(`script[data-curves="${section.dataset.task}"]`).textContent), curves = task.curves;
  const hidden = new Set(), hosts = all(".chart", section);
  const shows = (x, y) => { const points = curves.filter((c) => c.main).flatMap((c) => curveOf(c, x, y)); return points.length > 1 && points.some((p) => p[1] > 1e-16); };
  const xs = Object.fromEntries(Object.entries({ seconds: "time", passes: "passes", iterations: "iterations" }).filter(([x]) => Object.keys(DATA.y).some((y) => shows(x, y))));
  const ys = (x) => Object.fromEntries(Object.entries(DATA.y).filter(([y]) => shows(x, y)));
  const state = { x: Object.keys(xs)[0], y: ["", ""] };
  const settle = () => { const names = Object.keys(ys(state.x)); ["gap", "suboptimality"].forEach((wish, k) => { if (!names.includes(state.y[k])) state.y[k] = names.includes(wish) ? wish : names.find((n) => n !== state.y[0]) ?? ""; }); };
  settle();
  if (!state.x) continue;
  const redraw = whenSeen(section, () => hosts.forEach((host, k) => {
    const y = state.y[k];
    host.hidden = !y;
    if (!y) { host.replaceChildren(); return; }
    const labels = [...new Set(curves.map((c) => c.label))];
    const series = labels.map((label) => ({ label, kind: "band", points: band(curves.filter((c) => c.label === label).map((c) => curveOf(c, state.x, y))) }));
    for (const c of curves.filter((c) => c.main)) {
      series.push({ label: c.label, kind: c.ladder ? "ladder" : "line", points: curveOf(c, state.x, y) });
      const promised = { suboptimality: c.bound, dual_error: c.dual_bound }[y] ?? [];
      if (state.x === "iterations") series.push({ label: c.label, name: `${c.label}: bound by theory, in expectation where steps are random`, kind: "bound", points: joined(c.iterations, promised) });
      if (state.x === "iterations" && y === "suboptimality" && c.fit) series.push({ label: c.label, name: `${c.label}: × ${digits(c.fit.factor, 3)} per iteration, fitted, not proven`, kind: "bound", points: joined(c.fit.x, c.fit.y) });
    }
    const lines = y === "gap" ? task.targets.map((gap) => [gap, `asked for: ${digits(gap, 2)}`]) : [];
    chart(host, { title: DATA.y[y], x: DATA.x[state.x], y: DATA.y[y], unit: { seconds: "s" }[state.x] ?? state.x, lines, series }, hidden);
  }));
  const menus = all("select.y", section);
  const refill = () => menus.forEach((menu, k) => { menu.replaceChildren(...Object.entries(ys(state.x)).map(([value, name]) => make("option", { value }, name))); menu.value = state.y[k]; });
  menus.forEach((menu, k) => menu.addEventListener("change", () => { state.y[k] = menu.value; redraw(); }));
  choice(one(".choice.x", section), xs, () => state.x, (x) => { state.x = x; settle(); refill(); redraw(); });
  refill();
  legend(one(".legend", section), [...new Set(curves.map((c) => c.label))], hidden, redraw);
}
