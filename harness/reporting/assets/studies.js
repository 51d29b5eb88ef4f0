// -- one accuracy and one clock at a time: answer, ranking, profiles, pairs, map, what it depends on ---------------------------
const studies = DATA.studies ?? [], FEW = 5, CROWD = 12;
const key = () => `${STATE.accuracy} ${STATE.clock}`;
const unitKind = () => (STATE.clock === "passes" ? "count" : "time");
const unitName = () => ({ wall: "s", cpu: "s of CPU", passes: "passes" })[STATE.clock];
const clockAxis = () => DATA.clocks[STATE.clock] + (STATE.clock === "passes" ? "" : " (s)");
const items = (host, texts) => host.replaceChildren(...texts.map((parts) => make("li", {}, ...[].concat(parts))));
const heads = (names, more) => make("tr", {}, make("td", { class: "first" }), ...names.map((name) => make("th", { scope: "col" }, make("span", {}, name))), ...more);

// A table of values, as the template makes it.
function fill(table, columns, rows) {
  table.tHead.replaceChildren(make("tr", {}, ...columns.map(([name, kind, meaning], j) => make("th", { scope: "col", class: `${j ? "" : "first"}${kind === "text" ? "" : " n"}`, ...(meaning ? { title: meaning } : {}) }, name))));
  table.tBodies[0].replaceChildren(...rows.map((row) => make("tr", {}, ...row.map((value, j) => {
    const kind = columns[j][1];
    if (!j) return make("th", { scope: "row", class: "first" }, ...breakable(value));
    return kind === "text" ? make("td", {}, value) : make("td", { class: "n", "data-v": (Array.isArray(value) ? value[0] : value) ?? "" }, written(kind, value));
  }))));
  sortable(table);
}
const told = (columns) => columns.map(([name, kind, meaning]) => [name, kind === "cost" ? unitKind() : kind, meaning]);

// -- staircases from times: -1 is never, null is not asked ---------------------------------------------------------------------
const arrived = (x) => x !== null && x >= 0;
const least = (values) => values.filter(arrived).reduce((a, b) => Math.min(a, b), Infinity);
const ratio = (x, base) => Math.max(x, 1e-9) / Math.max(base, 1e-9);
function stairs(values) { // one step for each distinct value
  const sortedValues = values.filter(arrived).sort((a, b) => a - b), found = [];
  sortedValues.forEach((x, k) => { if (sortedValues[k + 1] !== x) found.push([x, (k + 1) / values.length]); });
  return found;
}
const overBest = (rows) => rows.map((row) => { const best = least(row); return row.map((x) => (arrived(x) ? ratio(x, best) : -1)); });
const column = (rows, k) => rows.map((row) => row[k]);

// -- the answer ------------------------------------------------------------------------------------------------------------------
function showAnswer(study, host) {
  const s = study.sections[key()];
  one(".headline", host).textContent = s ? s.headline : `${STATE.accuracy === "as asked" ? "As asked" : `To ${STATE.accuracy}`}, nothing can be compared: no two methods were asked for it.`;
  const texts = (s?.sentences ?? []).map(([, text]) => text), more = one(".more", host);
  items(one(".sentences", host), texts.slice(0, FEW));
  more.hidden = texts.length <= FEW;
  one("summary span", more).textContent = texts.length - FEW;
  items(one(".sentences", more), texts.slice(FEW));
  one(".setting", host).textContent = s?.setting ?? "";
  one(".warnings", host).hidden = !s?.warnings.length;
  items(one(".warnings", host), s?.warnings ?? []);
}

// -- pairs -----------------------------------------------------------------------------------------------------------------------
const inverse = (x) => (x ? 1 / x : null), flipped = (pair) => pair && [inverse(pair[1]), inverse(pair[0])];
function turned([verdict, r, over, timing, median, both, onlyA, onlyB, wins, ties, losses, p]) {
  return [{ faster: "slower", slower: "faster" }[verdict] ?? verdict, inverse(r), flipped(over), flipped(timing), inverse(median), both, onlyB, onlyA, losses, ties, wins, p];
}
function pairsAgainst(study, s, base) {
  const names = [...study.methods, DATA.best], found = {};
  for (const [a, b, ...values] of study.pairs[s.pairs]) {
    if (names[b] === base) found[names[a]] = values;
    else if (names[a] === base) found[names[b]] = turned(values);
  }
  return [...s.order.map((k) => study.methods[k]), DATA.best].filter((name) => found[name]).map((name) => [name, ...found[name]]);
}

// -- the map ---------------------------------------------------------------------------------------------------------------------
const shade = (x) => (x >= 1 ? `h${DATA.steps.filter((step) => x >= step).length}` : `f${DATA.steps.filter((step) => 1 / x >= step).length}`);
const heat = (x) => (x === null ? make("td", { class: "not" }) : Number.isFinite(x) ? make("td", { class: shade(x) }, FORMAT.ratio(x)) : make("td", { class: "never" }, "never"));
function showMap(study, s, table, over) {
  one(".overname", table.closest("section")).textContent = over || "the best on each problem";
  const chosenMethod = study.methods.indexOf(over), compared = new Set(s.compared), lines = [];
  const rows = study.rows.map((p) => {
    const times = s.t[p], base = chosenMethod < 0 ? least(s.order.map((k) => times[k])) : arrived(times[chosenMethod]) ? times[chosenMethod] : Infinity;
    const cells = s.order.map((k) => (times[k] === null ? null : arrived(times[k]) && base < Infinity ? ratio(times[k], base) : arrived(times[k]) && chosenMethod >= 0 ? null : Infinity));
    if (compared.has(p)) lines.push(cells);
    return { problem: study.problems[p], cells, base, out: !compared.has(p) };
  });
  const columns = s.order.map((_, j) => column(lines, j).filter((x) => x !== null).sort((a, b) => a - b));
  const medians = columns.map((values) => (values.length ? Math.sqrt(values[(values.length - 1) >> 1] * values[values.length >> 1]) : null)); // median_ratio
  const reached = s.order.map((k) => s.compared.filter((p) => arrived(s.t[p][k])).length);
  table.classList.toggle("dense", s.order.length > CROWD);
  const total = (name, cells) => make("tr", { class: "totals" }, make("th", { scope: "row", class: "first" }, name), ...cells, make("td"));
  table.replaceChildren(make("thead", {}, heads(s.order.map((k) => study.methods[k]), [make("th", { scope: "col", class: "n" }, over || "best")]),
    total("median ratio", lines.length ? medians.map(heat) : []), total(`reached, of ${s.compared.length}`, lines.length ? reached.map((k) => make("td", {}, String(k))) : [])));
  let body = null, dataset = null;
  for (const row of rows) {
    if (row.problem.dataset !== dataset) {
      dataset = row.problem.dataset;
      body = make("tbody", {}, make("tr", { class: "group" }, make("th", { scope: "rowgroup", class: "first" }, ...breakable(dataset)), make("td", { colspan: s.order.length + 1 })));
      table.append(body);
    }
    body.append(make("tr", row.out ? { class: "out" } : {}, make("th", { scope: "row", class: "first" }, make("a", { href: row.problem.link }, row.problem.told)), ...row.cells.map(heat), make("td", { class: "n" }, row.base < Infinity ? written(unitKind(), row.base) : "")));
  }
}

// -- a study -----------------------------------------------------------------------------------------------------------------------
function options(select, names, value) {
  select.replaceChildren(...names.map(([v, name]) => make("option", { value: v }, name)));
  select.value = names.some(([v]) => v === value) ? value : names[0]?.[0] ?? "";
}

function startStudy(study, k) {
  const answer = one(`[data-answer="${k}"]`), host = one(`[data-study="${k}"]`), hidden = new Set();
  const [ranking, profiles, against, map, effects] = all("section.card", host);
  const section = () => study.sections[key()];
  const names = () => section().order.map((j) => study.methods[j]);
  const base = one(".base", against), other = one(".with", against), over = one(".over", map), feature = one(".feature", effects);

  const drawProfiles = whenSeen(profiles, () => {
    const s = section();
    if (!s) return;
    const t = s.compared.map((p) => s.t[p]), [left, middle, right] = all(".chart", profiles);
    const lines = (columns) => names().map((label, j) => ({ label, kind: "stairs", points: stairs(columns(j)) }));
    const ratios = overBest(t.map((row) => s.order.map((j) => row[j])));
    chart(left, { title: "within a multiple of the best", x: `${DATA.clocks[STATE.clock]} over the best method's`, y: "share", share: true, unit: "× the best", series: lines((j) => column(ratios, j)) }, hidden);
    chart(middle, { title: `within so many ${STATE.clock === "passes" ? "passes" : "seconds"}`, x: `${clockAxis()}, build included`, y: "share", share: true, unit: unitName(), series: lines((j) => column(t, s.order[j])) }, hidden);
    const targets = targetTimes(study, s);
    right.hidden = targets.length <= s.compared.length;
    if (!right.hidden) chart(right, { title: "targets met: problem × accuracy", x: `${clockAxis()}, build included`, y: "share", share: true, unit: unitName(), series: lines((j) => column(targets, s.order[j])) }, hidden);
  });
  const drawPair = whenSeen(one(".pairwise", against), () => {
    const s = section(), pair = [base.value, other.value].map((name) => study.methods.indexOf(name));
    if (!s || pair.includes(-1)) return;
    const ratios = overBest(s.compared.map((p) => pair.map((j) => s.t[p][j])));
    legend(one(".pairwise .legend", against), pair.map((j) => study.methods[j]), new Set(), () => {});
    chart(one(".chart", against), { title: `the two alone: ${base.value}, ${other.value}`, x: `${DATA.clocks[STATE.clock]} over the better one's`, y: "share", share: true, unit: "× the better", series: pair.map((j, m) => ({ label: study.methods[j], kind: "stairs", points: stairs(column(ratios, m)) })) }, new Set());
  });
  const drawEffects = whenSeen(effects, () => {
    const s = section();
    if (!s) return;
    const [left, middle, right] = all(".chart", effects), best = s.compared.map((p) => least(s.order.map((j) => s.t[p][j])));
    const scatter = (chartHost, spec, value) => {
      const series = s.order.map((j) => ({ label: study.methods[j], kind: "points", points: s.compared.map((p, i) => [...value(p, j, i), study.problems[p].title]).filter(([x, y]) => x > 0 && y > 0) }));
      chartHost.hidden = !series.some((line) => line.points.length);
      if (!chartHost.hidden) chart(chartHost, { ...spec, series }, hidden);
    };
    const behind = s.compared.some((p, i) => s.order.some((j) => s.t[p][j] > best[i])); // else every ratio is 1
    left.hidden = one(".controls", effects).hidden = !feature.value || !behind;
    if (!left.hidden) scatter(left, { title: `${DATA.clocks[STATE.clock]} over the best against ${feature.value}`, x: feature.value, y: "time over the best" }, (p, j, i) => [study.problems[p][feature.value], arrived(s.t[p][j]) ? ratio(s.t[p][j], best[i]) : -1]);
    scatter(middle, { title: `peak memory (MB) against ${DATA.clocks[STATE.clock]}`, x: `${clockAxis()} to the accuracy`, y: "peak memory (MB)", unit: unitName() }, (p, j) => [s.t[p][j], study.peak[p][j]]);
    scatter(right, { title: `final certified gap against ${DATA.clocks[STATE.clock]}`, x: `${clockAxis()} to the accuracy`, y: "certified gap at the end", unit: unitName() }, (p, j) => [s.t[p][j], study.gap[p][j] === null ? null : Math.max(study.gap[p][j], 1e-16)]);
  });

  const showPairs = () => {
    const s = section(), rows = pairsAgainst(study, s, base.value);
    against.hidden = !rows.length;
    fill(one("table", against), told(DATA.tables.pairs), rows);
    one(".basename", against).textContent = base.value;
    one(".peers", against).hidden = base.value !== DATA.best && !rows.some(([name]) => name === DATA.best);
    one(".floor", against).textContent = s.floor === null ? "No cell ran twice: the noise is unknown, and every difference counts as a win or a loss." : `Noise: two runs of one cell differ by less than ${FORMAT.ratio(s.floor)} × in 19 of 20 cases.`;
    options(other, names().filter((name) => name !== base.value).map((name) => [name, name]), other.value);
    one(".pairwise", against).hidden = !other.value || s.compared.length < 2 || base.value === DATA.best;
    drawPair();
  };
  for (const card of [against, map]) one(".controls", card).hidden = false;
  const show = () => {
    showAnswer(study, answer);
    const s = section();
    for (const card of [ranking, profiles, against, map, effects]) card.hidden = !s;
    one(".nothing", host).hidden = Boolean(s);
    if (!s) return;
    all(".scope", host).forEach((line) => (line.textContent = s.scope));
    fill(one("table", ranking), told(DATA.tables.ranking), s.ranking);
    one(".shift", ranking).textContent = FORMAT[unitKind()](DATA.shifts[STATE.clock][1]);
    one(".shifts", ranking).textContent = DATA.shifts[STATE.clock].map(FORMAT[unitKind()]).join(", ");
    one(".limits", ranking).textContent = s.limits;
    const left = [...s.dropped, ...study.absent, ...s.others];
    one(".others", ranking).hidden = !left.length;
    items(one(".others ul", ranking), left.map(([name, why]) => [make("b", {}, name), `: ${why}`]));
    profiles.hidden = s.compared.length < 2 || s.order.length < 2;
    const peers = study.pairs[s.pairs].some(([a, b]) => Math.max(a, b) === study.methods.length);
    options(base, [...names(), ...(peers ? [DATA.best] : [])].map((name) => [name, name]), STATE[`base-${k + 1}`] || (names().includes(study.base) ? study.base : names()[0]));
    options(over, [["", "the best on each problem"], ...names().map((name) => [name, name])], STATE[`over-${k + 1}`]);
    options(feature, DATA.features.filter((f) => new Set(s.compared.map((p) => study.problems[p][f]).filter((v) => v !== null)).size > 1).map((f) => [f, f]), feature.value);
    effects.hidden = s.compared.length < 2;
    one(".three", effects).hidden = false;
    one(".correlations", effects).hidden = !s.effects.rows.length;
    fill(one("table", effects), s.effects.columns, s.effects.rows);
    for (const [card, redraw] of [[profiles, drawProfiles], [effects, drawEffects]]) legend(one(".legend", card), names(), hidden, () => { redraw(); all(".legend", host).forEach((l) => all("button[data-label]", l).forEach((b) => b.setAttribute("aria-pressed", String(!hidden.has(b.dataset.label))))); drawProfiles(); drawEffects(); });
    showMap(study, s, one("table", map), over.value);
    showPairs();
    drawProfiles();
    drawEffects();
  };
  const known = (name) => name === "" || name === DATA.best || study.methods.includes(name);
  chosen(`base-${k + 1}`, "", () => { if (section()) { base.value = STATE[`base-${k + 1}`] || base.value; showPairs(); } }, known);
  chosen(`over-${k + 1}`, "", () => { over.value = STATE[`over-${k + 1}`]; if (section()) showMap(study, section(), one("table", map), over.value); }, known);
  base.addEventListener("change", () => choose(`base-${k + 1}`, base.value));
  over.addEventListener("change", () => choose(`over-${k + 1}`, over.value));
  other.addEventListener("change", drawPair);
  feature.addEventListener("change", drawEffects);
  return show;
}

// Times of all (problem, accuracy) targets down to the accuracy that is shown first, where all compared methods were asked.
function targetTimes(study, s) {
  const rows = [];
  for (const name of DATA.accuracies) {
    const at = study.sections[`${name} ${STATE.clock}`];
    if (name === "as asked" || !at || (DATA.first !== "as asked" && Number(name) < 0.999 * Number(DATA.first))) continue;
    const block = s.compared.map((p) => at.t[p]);
    if (block.every((row) => s.order.every((j) => row[j] !== null))) rows.push(...block);
  }
  return rows;
}

if (studies.length) {
  const shows = studies.map(startStudy), showAll = () => { update.forEach((f) => f()); shows.forEach((show) => show()); };
  chosen("accuracy", DATA.first, showAll, (value) => DATA.accuracies.includes(value) && DATA.offered[value]);
  chosen("clock", "wall", showAll, (value) => value in DATA.clocks);
  const update = [
    choice(one("#accuracy"), Object.fromEntries(DATA.accuracies.map((a) => [a, a])), () => STATE.accuracy, (value) => choose("accuracy", value)),
    choice(one("#clock"), { wall: "wall", cpu: "CPU", passes: "passes" }, () => STATE.clock, (value) => choose("clock", value)),
  ];
  for (const button of all("#accuracy button")) if (!DATA.offered[button.dataset.value]) { button.disabled = true; button.title = "no two methods were asked for it"; }
  one(".switch").hidden = false;
  showAll();
}
if (one("#effects")) one("#effects").hidden = false;
for (const section of all("[data-special]")) {
  section.hidden = false;
  const charts = DATA.special[section.dataset.special], hidden = new Set(), hosts = all(".chart", section);
  const redraw = whenSeen(section, () => hosts.forEach((host, k) => {
    const c = charts[k], kinds = { line: "line", points: "points", bound: "bound" };
    chart(host, { title: `${c.y}: ${c.title}`, x: c.x, y: c.y, linear: c.linear, series: c.lines.map((l) => ({ label: l.label, kind: kinds[l.kind], points: c.linear ? l.x.map((x, i) => [x, l.y[i]]).filter(([x, y]) => x > 0 && y !== null) : joined(l.x, l.y) })) }, hidden);
  }));
  legend(one(".legend", section), [...new Set(charts.flatMap((c) => c.lines.map((l) => l.label)))], hidden, redraw);
}
